/* SPDX-License-Identifier: MIT */
/*
 * shapes.cpp -- blocks behind every shape that a stack can have: recursion, inlined functions,
 * callbacks through libraries, wrappers.
 *
 * Room:   tests only; compiled with and without optimisation.
 * Keeps:  each place has a size of its own; nothing is freed, and what is kept is forgotten at the
 *         end.
 *
 * Functions with C names are those that the test expects by name, in the order in which they call
 * each other.
 */
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#define ALONE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))

static void *volatile kept;
static volatile int sink;

extern "C" {

ALONE static void take(size_t size)
{
        kept = malloc(size);
        kept = nullptr;
        sink = 1;
}

/* Wrappers, one within the other: the innermost frame that counts is who called the outermost. */
ALONE static void *xmalloc(size_t size)
{
        void *volatile p = malloc(size);

        sink = 2;
        return p;
}

ALONE static void *xcalloc(size_t size)
{
        void *volatile p = xmalloc(size);

        sink = 3;
        return p;
}

ALONE static void through_wrappers()
{
        kept = xcalloc(801);
        sink = 4;
}

/* A wrapper that is not at the inner end is shown. */
ALONE static void xrealloc_all()
{
        take(802);
        sink = 5;
}

/* Recursion, with a function that vanishes into each level of it. */
static void descend(int n);

INLINE void again(int n)
{
        if (n)
                descend(n - 1);
        else
                take(803);
        sink = n;
}

ALONE static void descend(int n)
{
        again(n);
        sink = n;
}

/* Two functions that call each other. */
static void pong(int n);

ALONE static void ping(int n)
{
        if (n)
                pong(n - 1);
        else
                take(804);
        sink = n;
}

ALONE static void pong(int n)
{
        if (n)
                ping(n - 1);
        else
                take(805);
        sink = n;
}

/* One address, several functions: the innermost of them allocates. */
INLINE void inner_part()
{
        kept = malloc(806);
        sink = 6;
}

INLINE void middle_part()
{
        inner_part();
        sink = 7;
}

ALONE static void host()
{
        middle_part();
        sink = 8;
}

/* The C++ library calls back. */
ALONE static bool less(int a, int b)
{
        static int once;

        if (!once++)
                take(807);
        sink = 9;
        return a < b;
}

ALONE static void sorts()
{
        std::vector<int> numbers = {3, 1, 2};

        std::sort(numbers.begin(), numbers.end(), less);
        sink = numbers[0];
}

ALONE static void called_back(int n)
{
        take(808);
        sink = n;
}

ALONE static void calls_back()
{
        std::function<void(int)> f = called_back;

        f(1);
        sink = 10;
}

/* The C++ library allocates: what counts is what was called of it. */
ALONE static void grows()
{
        kept = new std::vector<char>(809);
        kept = nullptr;
        sink = 11;
}

ALONE static void by_new()
{
        kept = new char[810];
        sink = 12;
}

ALONE static void handler(int)
{
        take(811);
        sink = 13;
}

ALONE static void signals()
{
        std::signal(SIGUSR1, handler);
        std::raise(SIGUSR1);
        sink = 14;
}

ALONE static void once()
{
        take(815);
        sink = 18;
}

ALONE static void calls_once()
{
        std::once_flag flag;

        std::call_once(flag, once);
        sink = 19;
}

ALONE static void in_thread()
{
        take(812);
        sink = 15;
}
}

/* Made before main, ended after it. */
static struct around {
        ALONE around() { take(813); sink = 16; }
        ALONE ~around() { take(814); sink = 17; }
} around_main;

int main()
{
        through_wrappers();
        xrealloc_all();
        descend(2);
        ping(2);
        ping(3);
        host();
        sorts();
        calls_back();
        grows();
        by_new();
        signals();
        calls_once();
        std::thread(in_thread).join();
        kept = nullptr;
        return sink == 0;
}
