/* SPDX-License-Identifier: MIT */
/*
 * leak_threads.c -- blocks that only a thread holds: on its stack, in a register, in its own
 * variables; and what is left of threads that are gone.
 *
 * Room:   tests only.  See leak.h.
 */
#include "leak.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

typedef void *volatile place;

static volatile int ready; /* threads that have their block where it belongs */

static void am_ready(void)
{
        __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
}

/* Start a thread and wait until it is ready. */
static pthread_t start(void *(*body)(void *), void *arg)
{
        pthread_t t;
        int before = ready;
        if (pthread_create(&t, NULL, body, arg))
                truth_die("leak_threads: no thread\n");
        while (ready == before)
                sched_yield();
        return t;
}

static int silent_pipe(void)
{
        int ends[2];
        if (pipe(ends))
                truth_die("leak_threads: no pipe\n");
        return ends[0];
}

/* ---- waiting in system calls, with a pointer in the frame ---- */

#define WAITER(name, maker, size, call)                                        \
        MAKER(maker)                                                           \
        static void *name(void *arg)                                           \
        {                                                                      \
                place held = maker(REACHABLE, size);                           \
                (void)arg;                                                     \
                leak_wipe();                                                   \
                am_ready();                                                    \
                for (;;)                                                       \
                        call;                                                  \
                LEAK_ESCAPE(held);                                             \
                return NULL;                                                   \
        }

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static int quiet;
static char byte;
static const struct timespec long_time = {.tv_sec = 1000000};
static volatile unsigned long turns;

WAITER(in_pause, held_in_pause, 3001, pause())
WAITER(in_read, held_in_read, 3003, if (read(quiet, &byte, 1)) break)
WAITER(in_poll, held_in_poll, 3005, poll(NULL, 0, -1))
WAITER(in_sleep, held_in_sleep, 3007, nanosleep(&long_time, NULL))
WAITER(in_lock, held_in_lock, 3009, pthread_mutex_lock(&taken))
WAITER(in_loop, held_in_loop, 3011, turns++)

MAKER(held_in_condition)

static void *in_condition(void *arg)
{
        place held = held_in_condition(REACHABLE, 3013);
        (void)arg;
        leak_wipe();
        pthread_mutex_lock(&other);
        am_ready();
        for (;;)
                pthread_cond_wait(&never, &other);
        LEAK_ESCAPE(held);
        return NULL;
}

static void waiting(void)
{
        quiet = silent_pipe();
        pthread_mutex_lock(&taken);
        start(in_pause, NULL);
        start(in_read, NULL);
        start(in_poll, NULL);
        start(in_sleep, NULL);
        start(in_lock, NULL);
        start(in_loop, NULL);
        start(in_condition, NULL);
}

/* ---- registers: the address is shown in one, and is nowhere else ---- */

MAKER(in_kept_register)
MAKER(in_waiting_register)
MAKER(in_vector_register)

/* Shown in a register that functions keep, or in one for vectors; then for ever a
 * loop, or the call that waits for a signal. */
#ifdef __aarch64__
#define SHOW_AND_SPIN(hidden)                                                  \
        __asm__ volatile("mvn x19, %0\n\t"                                     \
                         "ldr w9, %1\n\t"                                      \
                         "add w9, w9, #1\n\t"                                  \
                         "str w9, %1\n"                                        \
                         "1: yield\n\t"                                        \
                         "b 1b"                                                \
                         :                                                     \
                         : "r"(hidden), "m"(ready)                             \
                         : "x9", "x19", "memory")
#define SHOW_AND_WAIT(hidden)                                                  \
        __asm__ volatile("mvn x20, %0\n\t"                                     \
                         "ldr w9, %1\n\t"                                      \
                         "add w9, w9, #1\n\t"                                  \
                         "str w9, %1\n"                                        \
                         "1: mov x0, xzr\n\t"                                  \
                         "mov x1, xzr\n\t"                                     \
                         "mov x2, xzr\n\t"                                     \
                         "mov x3, xzr\n\t"                                     \
                         "mov x8, #73\n\t"                                     \
                         "svc #0\n\t"                                          \
                         "b 1b"                                                \
                         :                                                     \
                         : "r"(hidden), "m"(ready)                             \
                         : "x0", "x1", "x2", "x3", "x8", "x9", "x20", "memory")
#define SHOW_IN_VECTOR(hidden)                                                 \
        __asm__ volatile("mov v15.d[1], %0\n\t"                                \
                         "mvn v15.16b, v15.16b\n\t"                            \
                         "ldr w9, %1\n\t"                                      \
                         "add w9, w9, #1\n\t"                                  \
                         "str w9, %1\n"                                        \
                         "1: yield\n\t"                                        \
                         "b 1b"                                                \
                         :                                                     \
                         : "r"(hidden), "m"(ready)                             \
                         : "x9", "v15", "memory")
#define RELAX() __asm__ volatile("yield")
#else
#define SHOW_AND_SPIN(hidden)                                                  \
        __asm__ volatile("mov %0, %%r12\n\t"                                   \
                         "not %%r12\n\t"                                       \
                         "lock incl %1\n"                                      \
                         "1: pause\n\t"                                        \
                         "jmp 1b"                                              \
                         :                                                     \
                         : "r"(hidden), "m"(ready)                             \
                         : "r12", "memory")
#define SHOW_AND_WAIT(hidden)                                                  \
        __asm__ volatile("mov %0, %%rbx\n\t"                                   \
                         "not %%rbx\n\t"                                       \
                         "lock incl %1\n"                                      \
                         "1: mov $34, %%eax\n\t"                               \
                         "syscall\n\t"                                         \
                         "jmp 1b"                                              \
                         :                                                     \
                         : "r"(hidden), "m"(ready)                             \
                         : "rax", "rbx", "rcx", "r11", "memory")
#define SHOW_IN_VECTOR(hidden)                                                 \
        __asm__ volatile("pcmpeqd %%xmm14, %%xmm14\n\t"                        \
                         "movq %0, %%xmm15\n\t"                                \
                         "pxor %%xmm14, %%xmm15\n\t"                           \
                         "lock incl %1\n"                                      \
                         "1: pause\n\t"                                        \
                         "jmp 1b"                                              \
                         :                                                     \
                         : "r"(hidden), "m"(ready)                             \
                         : "xmm14", "xmm15", "memory")
#define RELAX() __builtin_ia32_pause()
#endif

static void *spins(void *arg)
{
        uintptr_t hidden = leak_hidden(in_kept_register(REACHABLE, 3101));
        (void)arg;
        leak_wipe();
        SHOW_AND_SPIN(hidden);
        return NULL;
}

static void *waits(void *arg)
{
        uintptr_t hidden = leak_hidden(in_waiting_register(REACHABLE, 3103));
        (void)arg;
        leak_wipe();
        SHOW_AND_WAIT(hidden);
        return NULL;
}

static void *spins_with_vector(void *arg)
{
        uintptr_t hidden = leak_hidden(in_vector_register(REACHABLE, 3105));
        (void)arg;
        leak_wipe();
        SHOW_IN_VECTOR(hidden);
        return NULL;
}

static void registers(void)
{
        start(spins, NULL);
        start(waits, NULL);
        start(spins_with_vector, NULL);
}

/* ---- what a thread has of its own ---- */

static __thread place own_variable;
static pthread_key_t first_key, last_key;

MAKER(in_own_variable)
MAKER(in_own_key)
MAKER(in_own_late_key)
MAKER(in_argument)

/* Its argument is known to libc alone. */
static void *owner(void *arg)
{
        arg = NULL;
        LEAK_ESCAPE(arg);
        own_variable = in_own_variable(REACHABLE, 3201);
        pthread_setspecific(first_key, in_own_key(REACHABLE, 3203));
        pthread_setspecific(last_key, in_own_late_key(REACHABLE, 3205));
        leak_wipe();
        am_ready();
        for (;;)
                pause();
        return NULL;
}

/* At least 40 keys, so that the last is in a table of its own. */
static void make_keys(void)
{
        if (pthread_key_create(&first_key, NULL))
                truth_die("leak_threads: no key\n");
        for (int i = 0; i < 40; i++)
                if (pthread_key_create(&last_key, NULL))
                        truth_die("leak_threads: no key\n");
}

static void owning(void)
{
        make_keys();
        start(owner, in_argument(REACHABLE, 3207));
}

/* ---- a stack that the program gave ---- */

static place given_stack;

MAKER(stack_block)
MAKER(on_given_stack)

static void *waits_on_given_stack(void *arg)
{
        place held = on_given_stack(REACHABLE, 3303);
        (void)arg;
        leak_wipe();
        am_ready();
        for (;;)
                pause();
        LEAK_ESCAPE(held);
        return NULL;
}

static void own_stack(void)
{
        pthread_t t;
        pthread_attr_t how;
        int before = ready;
        given_stack = stack_block(REACHABLE, 262144 + 16);
        pthread_attr_init(&how);
        if (pthread_attr_setstack(&how, (void *)given_stack, 262144) ||
            pthread_create(&t, &how, waits_on_given_stack, NULL))
                truth_die("leak_threads: no thread on a given stack\n");
        while (ready == before)
                sched_yield();
}

/* ---- a thread that libc does not know; it has no variables of its own, so it calls nothing
 * ---- */

MAKER(on_raw_stack)

static int raw_body(void *arg)
{
        place held = leak_shown((uintptr_t)arg);
        __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
        for (;;)
                RELAX();
        LEAK_ESCAPE(held);
        return 0;
}

static void raw_thread(void)
{
        int before = ready, flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                    CLONE_THREAD | CLONE_SYSVSEM;
        char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uintptr_t hidden = leak_hidden(on_raw_stack(REACHABLE, 3421));
        if (stack == MAP_FAILED || clone(raw_body, stack + 65536, flags, (void *)hidden) < 0)
                truth_die("leak_threads: no thread\n");
        while (ready == before)
                sched_yield();
}

/* ---- threads that are gone ---- */

MAKER(gone_from_stack)
MAKER(gone_from_variable)
MAKER(gone_from_key)

/* In the middle of the frame, where the end of the thread does not come by. */
static void *comes_and_goes(void *arg)
{
        place frame[4096] = {0};
        (void)arg;
        frame[2000] = gone_from_stack(DEFINITE, 3401);
        own_variable = gone_from_variable(DEFINITE, 3403);
        pthread_setspecific(first_key, gone_from_key(DEFINITE, 3405));
        __asm__ volatile("" : : "r"(frame) : "memory");
        am_ready();
        return NULL;
}

static void gone(void)
{
        make_keys();
        pthread_join(start(comes_and_goes, NULL), NULL);
}

/* How many threads the kernel has. */
static int tasks(void)
{
        char text[4096];
        int fd = open("/proc/self/status", O_RDONLY);
        ssize_t n = read(fd, text, sizeof text - 1);
        char *line;
        close(fd);
        text[n > 0 ? n : 0] = 0;
        line = strstr(text, "Threads:");
        return line ? atoi(line + 8) : 1;
}

MAKER(result_block)

static void *returns_block(void *arg)
{
        (void)arg;
        return result_block(REACHABLE, 3411);
}

/* Nobody has asked for its result yet. */
static void result(void)
{
        static pthread_t t;
        if (pthread_create(&t, NULL, returns_block, NULL))
                truth_die("leak_threads: no thread\n");
        while (tasks() > 1)
                sched_yield();
}

/* ---- another arena ---- */

static place arena_pointers[4];

MAKER(arena_lost)
MAKER(arena_kept)
MAKER(arena_neighbour)

static void *fills_arena(void *arg)
{
        (void)arg;
        arena_lost(DEFINITE, 3501);
        arena_pointers[0] = arena_kept(REACHABLE, 3503);
        for (size_t i = 0; i < 4; i++) {
                /* ... and the header of the next chunk shares its last word */
                arena_neighbour(DEFINITE, 3528);
                arena_pointers[1] = malloc(5000);
                arena_neighbour(DEFINITE, 3528);
                free((void *)arena_pointers[1]);
        }
        arena_pointers[1] = NULL;
        arena_neighbour(DEFINITE, 3544);
        am_ready();
        return NULL;
}

static void arena(void)
{
        pthread_join(start(fills_arena, NULL), NULL);
}

static const struct leak_case cases[] = {
        {"waiting", waiting},
        {"registers", registers},
        {"owning", owning},
        {"own_stack", own_stack},
        {"raw_thread", raw_thread},
        {"gone", gone},
        {"result", result},
        {"arena", arena},
        {NULL, NULL},
};

int main(int argc, char **argv)
{
        (void)argc;
        return leak_main(argv, cases);
}
