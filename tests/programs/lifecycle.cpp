// SPDX-License-Identifier: MIT
/*
 * lifecycle.cpp -- allocations before main, after it, and at the end of threads: constructors,
 * destructors, atexit, thread-specific destructors.
 *
 * Room:   tests only.  The truth is printed by the last function that runs.
 */
#include "truth.h"

#include <cstdlib>
#include <pthread.h>

static void *kept_by_constructor, *kept_by_object;

__attribute__((destructor(101))) static void last_destructor(void)
{
        void *p = malloc(1001);
        TRUTH_GOT(p, 1001);
        truth_print();
}

__attribute__((constructor(101))) static void first_constructor(void)
{
        kept_by_constructor = malloc(1002);
        TRUTH_GOT(kept_by_constructor, 1002);
}

struct global_object {
        global_object();
        ~global_object();
};

global_object::global_object()
{
        kept_by_object = malloc(1003);
        truth_got("global_object::global_object", kept_by_object, 1003);
}

global_object::~global_object()
{
        void *p = malloc(1004);
        truth_got("global_object::~global_object", p, 1004);
        truth_gone(kept_by_object);
        free(kept_by_object);
}

static global_object object;

static void at_exit_handler(void)
{
        void *p = malloc(1005);
        TRUTH_GOT(p, 1005);
        truth_gone(kept_by_constructor);
        free(kept_by_constructor);
}

static pthread_key_t key;

/* Sets its own key again, so that the libc calls it in its second round too. */
static void key_destructor(void *value)
{
        void *p = malloc(1006);
        TRUTH_GOT(p, 1006);
        truth_gone(value);
        free(value);
        static __thread int round;
        if (round++ == 0)
                pthread_setspecific(key, p);
}

struct thread_object {
        void *held = nullptr;
        ~thread_object();
};

thread_object::~thread_object()
{
        void *p = malloc(1007);
        truth_got("thread_object::~thread_object", p, 1007);
        truth_gone(held);
        free(held);
}

static thread_local thread_object per_thread;

static void *thread_body(void *)
{
        per_thread.held = malloc(1008);
        TRUTH_GOT(per_thread.held, 1008);
        void *p = malloc(1009);
        TRUTH_GOT(p, 1009);
        pthread_setspecific(key, p);
        return nullptr;
}

int main()
{
        atexit(at_exit_handler);
        pthread_key_create(&key, key_destructor);
        for (int i = 0; i < 3; i++) {
                pthread_t t;
                if (pthread_create(&t, nullptr, thread_body, nullptr))
                        return 1;
                pthread_join(t, nullptr);
        }
}
