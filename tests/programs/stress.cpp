// SPDX-License-Identifier: MIT
/*
 * stress.cpp -- every way to make a stack change under a cache of it: recursion, alloca, realigned
 * frames, longjmp, exceptions, signals on both stacks, coroutines, libraries that come and go; in
 * several threads at once.
 *
 * Room:   tests only.  stress ROUNDS THREADS PLUG_A PLUG_B; for the mode that compares each
 *         captured stack with a full unwind.
 */
#include "truth.h"

#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>

struct walk {
        uint64_t state;
        int left;
        jmp_buf out;
        bool jump_armed;
        ucontext_t home, away;
        bool away_open;
        void *slot[64];
};

static thread_local walk *self;
static const char *plug_path[2];

static unsigned dice(unsigned sides)
{
        self->state = self->state * 6364136223846793005ull + 1442695040888963407ull;
        return (unsigned)(self->state >> 33) % sides;
}

__attribute__((noinline)) static void touch()
{
        void **slot = &self->slot[dice(64)];
        free(*slot);
        *slot = malloc(dice(300));
        self->left--;
}

static void wander(int depth);

__attribute__((noinline)) static void plain(int depth)
{
        touch();
        wander(depth);
        touch();
}

__attribute__((noinline)) static void with_alloca(int depth)
{
        size_t n = 16 + dice(2000);
        volatile char *p = (volatile char *)alloca(n);
        p[0] = p[n - 1] = 1;
        touch();
        wander(depth);
        p[n / 2] = 2;
        touch();
}

__attribute__((noinline)) static void realigned(int depth)
{
        alignas(64) volatile char buffer[64];
        buffer[0] = 1;
        touch();
        wander(depth);
        buffer[1] = buffer[0];
}

__attribute__((noinline)) static void realigned_with_alloca(int depth)
{
        alignas(128) volatile char buffer[64];
        size_t n = 16 + dice(500);
        volatile char *p = (volatile char *)alloca(n);
        buffer[0] = p[0] = 1;
        wander(depth);
        touch();
        self->state += buffer[0] == p[0];
}

__attribute__((noinline, force_align_arg_pointer)) static void realigned_by_attribute(int depth)
{
        touch();
        wander(depth);
        touch();
}

__attribute__((noinline)) static void catching(int depth)
{
        try {
                wander(depth);
                if (dice(2))
                        throw std::runtime_error("out");
        } catch (const std::exception &) {
                touch();
                if (dice(4) == 0)
                        throw;
        }
        touch();
}

__attribute__((noinline)) static void landing(int depth)
{
        if (self->jump_armed) {
                plain(depth);
                return;
        }
        self->jump_armed = true;
        if (!setjmp(self->out)) {
                try {
                        wander(depth);
                } catch (...) {
                        self->jump_armed = false;
                        throw;
                }
        }
        self->jump_armed = false;
        touch();
}

static void on_signal(int)
{
        touch();
        touch();
}

__attribute__((noinline, unused)) static void signalled(int depth)
{
        raise(dice(2) ? SIGUSR1 : SIGUSR2);
        wander(depth);
        raise(SIGUSR1);
}

static void away_body()
{
        for (int i = 0; i < 4; i++) {
                touch();
                swapcontext(&self->away, &self->home);
                touch();
        }
}

/* No exception and no jump may leave a coroutine: it only touches. */
__attribute__((noinline)) static void coroutine(int depth)
{
        const size_t bytes = 64 << 10;
        if (self->away_open) {
                plain(depth);
                return;
        }
        void *stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                           0);
        if (stack == MAP_FAILED)
                truth_die("stress: no stack\n");
        self->away_open = true;
        getcontext(&self->away);
        self->away.uc_stack.ss_sp = stack;
        self->away.uc_stack.ss_size = bytes;
        self->away.uc_link = &self->home;
        makecontext(&self->away, away_body, 0);
        for (int i = 0; i < 5; i++) {
                swapcontext(&self->home, &self->away);
                touch();
        }
        munmap(stack, bytes);
        self->away_open = false;
        touch();
}

__attribute__((noinline)) static void plugged(int depth)
{
        int which = (int)dice(2);
        void *library = dlopen(plug_path[which], RTLD_NOW | RTLD_LOCAL);
        void *(*allocate)(size_t) = library ? (void *(*)(size_t))dlsym(library, which ? "outer_b"
                                                                                      : "outer_a")
                                            : nullptr;
        if (!allocate)
                truth_die("stress: no plug\n");
        void *p = allocate(dice(200));
        free(allocate(20));
        dlclose(library);
        free(p);
        touch();
        wander(depth);
}

static int compare(const void *a, const void *b)
{
        touch();
        return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sorting(int depth)
{
        int numbers[5];
        for (int &n : numbers)
                n = (int)dice(100);
        qsort(numbers, 5, sizeof numbers[0], compare);
        wander(depth);
}

static void wander(int depth)
{
        static void (*const ways[])(int) = { plain,
                                             plain,
                                             with_alloca,
                                             realigned,
                                             realigned_with_alloca,
                                             realigned_by_attribute,
                                             catching,
                                             landing,
#ifndef WITHOUT_SIGNALS
                                             signalled,
#endif
                                             coroutine,
                                             sorting };
        if (self->left <= 0 || depth <= 0)
                return;
        if (self->jump_armed && dice(30) == 0)
                longjmp(self->out, 1);
        for (unsigned n = 1 + dice(2); n; n--) {
                if (dice(400) == 0)
                        plugged(depth - 1);
                ways[dice(sizeof ways / sizeof ways[0])](depth - 1);
        }
}

static void *body(void *arg)
{
        walk *w = (walk *)arg;
        static thread_local char other_stack[65536];
        stack_t alt = {};
        alt.ss_sp = other_stack;
        alt.ss_size = sizeof other_stack;
        sigaltstack(&alt, nullptr);
        self = w;
        while (w->left > 0) {
                w->jump_armed = false;
                try {
                        wander(8 + (int)dice(40));
                } catch (const std::exception &) {
                        touch();
                }
        }
        for (void *p : w->slot)
                free(p);
        return nullptr;
}

int main(int argc, char **argv)
{
        static walk walks[16];
        pthread_t t[16];
        int threads = argc > 2 ? atoi(argv[2]) : 4;
        if (argc < 5 || threads > 16)
                return 2;
        plug_path[0] = argv[3];
        plug_path[1] = argv[4];
        struct sigaction act = {};
        act.sa_handler = on_signal;
        sigaction(SIGUSR1, &act, nullptr);
        act.sa_flags = SA_ONSTACK;
        sigaction(SIGUSR2, &act, nullptr);
        for (int i = 0; i < threads; i++) {
                walks[i].state = 77u + (unsigned)i;
                walks[i].left = atoi(argv[1]);
                if (pthread_create(&t[i], nullptr, body, &walks[i]))
                        return 1;
        }
        for (int i = 0; i < threads; i++)
                pthread_join(t[i], nullptr);
        tell("done\n");
}
