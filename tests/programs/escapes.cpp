// SPDX-License-Identifier: MIT
/*
 * escapes.cpp -- leaving an allocation by longjmp or by an exception; whatever is allocated
 * afterwards must still be counted, with its whole stack.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <csetjmp>
#include <cstdlib>
#include <new>
#include <stdexcept>

static jmp_buf out;
static const size_t too_much = (size_t)1 << 54;

static void jumping_handler()
{
        longjmp(out, 1);
}

static void throwing_handler()
{
        throw std::bad_alloc();
}

__attribute__((noinline)) static void *after_jump(size_t n)
{
        void *p = malloc(n);
        TRUTH_GOT(p, n);
        return p;
}

__attribute__((noinline)) static void *after_throw(size_t n)
{
        void *p = ::operator new(n);
        TRUTH_GOT(p, n);
        return p;
}

__attribute__((noinline)) static void deep_new(int depth)
{
        if (depth)
                deep_new(depth - 1);
        else
                ::operator delete(::operator new(too_much));
}

__attribute__((noinline)) static void jump_round(int i)
{
        std::set_new_handler(jumping_handler);
        if (!setjmp(out))
                deep_new(i % 20);
        void *p = after_jump(30);
        if (i % 2) {
                truth_gone(p);
                free(p);
        }
}

__attribute__((noinline)) static void throw_round(int i)
{
        std::set_new_handler(i % 2 ? throwing_handler : nullptr);
        try {
                deep_new(i % 20);
        } catch (const std::bad_alloc &) {
        }
        void *p = after_throw(40);
        if (i % 4) {
                truth_gone(p);
                ::operator delete(p);
        }
}

__attribute__((noinline)) static void rethrow(int depth)
{
        try {
                if (depth)
                        rethrow(depth - 1);
                else
                        throw std::runtime_error("far");
        } catch (...) {
                void *p = after_throw(50);
                truth_gone(p);
                ::operator delete(p);
                throw;
        }
}

int main()
{
        for (int i = 0; i < 200; i++)
                jump_round(i);
        for (int i = 0; i < 200; i++)
                throw_round(i);
        for (int i = 0; i < 20; i++)
                try {
                        rethrow(10);
                } catch (const std::exception &e) {
                        tell("%s\n", e.what());
                }
        truth_print();
}
