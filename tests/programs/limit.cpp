// SPDX-License-Identifier: MIT
/*
 * limit.cpp -- takes memory until it gets no more, in a way of choice, and says how that looked:
 * limit WAY [MIB].
 *
 * Room:   tests only.  Without a limit it stops after MIB (default 32) blocks of 1 MiB.
 */
#include "truth.h"

#include <cstdlib>
#include <malloc.h>
#include <new>
#include <pthread.h>

static const size_t MIB = 1 << 20;
static void *block[4096];
static int count, most = 32;

static void *take(size_t size)
{
        void *p = malloc(size);
        if (p)
                TRUTH_GOT(p, size);
        return p;
}

static void fill()
{
        errno = 0;
        while (count < most && (block[count] = take(MIB)))
                count++;
        tell("filled: %s\n", count == most     ? "no limit"
                             : errno == ENOMEM ? "ENOMEM"
                                               : strerror(errno));
        truth_say("fact filled=%d\n", count);
}

static void drop(int n)
{
        while (n-- > 0 && count > 0) {
                truth_gone(block[--count]);
                free(block[count]);
        }
}

static void say(const char *what, void *p)
{
        tell("%s: %s\n", what, p ? "memory" : errno == ENOMEM ? "ENOMEM" : strerror(errno));
        errno = 0;
        free(p);
}

/* Each entry point with two MiB, when there is no more than one left. */
static void every_entry()
{
        void *untouched = &count, *p = untouched;
        errno = 0;
        say("malloc", malloc(2 * MIB));
        say("calloc", calloc(2, MIB));
        say("realloc of nothing", realloc(nullptr, 2 * MIB));
        say("reallocarray", reallocarray(nullptr, 2, MIB));
        say("aligned_alloc", aligned_alloc(64, 2 * MIB));
        say("memalign", memalign(64, 2 * MIB));
        say("valloc", valloc(2 * MIB));
        say("pvalloc", pvalloc(2 * MIB));
        int result = posix_memalign(&p, 64, 2 * MIB);
        tell("posix_memalign: %d, pointer %s\n", result, p == untouched ? "untouched" : "changed");
        p = operator new(2 * MIB, std::nothrow);
        tell("new nothrow: %s\n", p ? "memory" : "null");
        try {
                operator delete(operator new(2 * MIB));
                tell("new: memory\n");
        } catch (const std::bad_alloc &) {
                tell("new: bad_alloc\n");
        }
        try {
                delete[] new char[2 * MIB];
                tell("new[]: memory\n");
        } catch (const std::bad_alloc &) {
                tell("new[]: bad_alloc\n");
        }
}

static void failed_realloc()
{
        char *old = static_cast<char *>(block[0]), *grown;
        memset(old, 'x', MIB);
        grown = static_cast<char *>(realloc(old, 3 * MIB));
        tell("realloc: %s, old %s\n",
             grown             ? "memory"
             : errno == ENOMEM ? "ENOMEM"
                               : strerror(errno),
             old[MIB - 1] == 'x' ? "kept" : "lost");
        grown = static_cast<char *>(realloc(old, MIB / 2));
        tell("shrink: %s\n", grown && grown[0] == 'x' ? "fine" : "failed");
        truth_gone(old);
        truth_got("failed_realloc", grown, MIB / 2);
        block[0] = grown;
}

static void entries()
{
        fill();
        every_entry();
        failed_realloc();
        drop(4);
        tell("after freeing: %s\n", (block[count] = take(2 * MIB)) ? "memory" : "null");
        count += block[count] != nullptr;
}

/* A handler that makes room: new tries again. */
static void make_room()
{
        tell("handler\n");
        drop(3);
}

static void handler()
{
        fill();
        std::set_new_handler(make_room);
        void *p = operator new(2 * MIB);
        tell("new: %s\n", p ? "memory" : "null");
        operator delete(p);
}

/* A thread that is being made takes memory, too: that must not be refused. */
static pthread_barrier_t all_there;

static void *thread(void *)
{
        pthread_barrier_wait(&all_there);
        for (int i = 0; i < 4000; i++) {
                void *p = take(16384);
                if (!p)
                        break;
                if (i % 2) {
                        truth_gone(p);
                        free(p);
                }
        }
        return nullptr;
}

static void threads()
{
        pthread_t t[8];
        pthread_barrier_init(&all_there, nullptr, 9);
        for (pthread_t &one : t)
                if (pthread_create(&one, nullptr, thread, nullptr))
                        truth_die("limit: no thread\n");
        pthread_barrier_wait(&all_there);
        for (pthread_t &one : t)
                pthread_join(one, nullptr);
        tell("joined\n");
}

int main(int argc, char **argv)
{
        const char *way = argc > 1 ? argv[1] : "fill";
        most = argc > 2 ? atoi(argv[2]) : most;
        if (!strcmp(way, "entries"))
                entries();
        else if (!strcmp(way, "handler"))
                handler();
        else if (!strcmp(way, "threads"))
                threads();
        else if (!strcmp(way, "twice")) {
                fill();
                drop(most);
                fill();
        } else
                fill();
        truth_print();
        return 0;
}
