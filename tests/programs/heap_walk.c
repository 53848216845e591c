/* SPDX-License-Identifier: MIT */
/*
 * heap_walk.c -- gets and frees blocks of all kinds and prints those that are live.
 *
 * usage: heap_walk WAY...
 *
 * Each live block is a line "ADDRESS USABLE" (hexadecimal, decimal) on descriptor 3, at the end
 * comes "ready".  Then the program waits until its standard input ends.  WAY: plain, threads, trim,
 * align, foreign, holes, mapped, lost.  Compiled with OWN_CORE it writes a core file of itself,
 * "core", instead of waiting (own_core.h).
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef OWN_CORE
#include "own_core.h"
#endif

#define MOST 200000

static void *blocks[MOST];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed = 12345;

static unsigned long next(unsigned long most)
{
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return (unsigned long)((seed >> 33) % most);
}

static void keep(void *block)
{
        pthread_mutex_lock(&lock);
        blocks[count++] = block;
        pthread_mutex_unlock(&lock);
}

static void drop(int i)
{
        free(blocks[i]);
        blocks[i] = blocks[--count];
}

static void fill(void *block, size_t bytes)
{
        memset(block, 0x5a, bytes < 64 ? bytes : 64);
}

/* Freed in every order: tcache, fast bins, unsorted, small and large bins, joined with
 * neighbours. */
static void plain(int rounds, size_t most)
{
        for (int i = 0; i < rounds; i++) {
                size_t bytes = next(3) ? next(400) : next(most);
                void *block = next(2) ? malloc(bytes) : calloc(1, bytes);

                if (!block) /* glibc of i386, now and then, without a heap that grows */
                        continue;
                fill(block, bytes);
                keep(block);
                if (count > 50 && next(5) < 3)
                        drop((int)next((unsigned long)count));
                if (count > 50 && next(20) == 0) {
                        int k = (int)next((unsigned long)count);

                        block = realloc(blocks[k], 1 + next(most));
                        blocks[k] = block ? block : blocks[k];
                }
        }
}

static pthread_barrier_t started, stay;

static void *thread_main(void *argument)
{
        void *own[400];
        unsigned number = (unsigned)(uintptr_t)argument;

        for (int i = 0; i < 400; i++)
                own[i] = malloc(8 + (unsigned)(i * 37 + (int)number * 11) % 3000);
        for (int i = 0; i < 400; i += 3)
                free(own[i]);
        for (int i = 0; i < 400; i++)
                if (i % 3)
                        keep(own[i]);
        if (number == 1) /* several heaps in one arena */
                for (int i = 0; i < 1100; i++) {
                        void *large = malloc(100000);

                        if (i % 10)
                                keep(large);
                        else
                                free(large);
                }
#ifdef OWN_CORE
        if (number % 3 != 2)
                core_enter(__builtin_frame_address(0));
#endif
        pthread_barrier_wait(&started);
        if (number % 3 != 2)
                pthread_barrier_wait(&stay);
        return NULL;
}

static void threads(void)
{
        pthread_t all[6];

        pthread_barrier_init(&started, NULL, 7);
        pthread_barrier_init(&stay, NULL, 5);
        for (uintptr_t i = 0; i < 6; i++)
                pthread_create(&all[i], NULL, thread_main, (void *)i);
        pthread_barrier_wait(&started);
        for (int i = 2; i < 6; i += 3) /* their caches are given back */
                pthread_join(all[i], NULL);
        for (int i = 0; i < 60; i++) /* from another thread than got them */
                drop((int)next((unsigned long)count));
}

static void align(void)
{
        for (size_t alignment = 16; alignment <= 65536; alignment *= 2)
                for (size_t bytes = 1; bytes < 3000000; bytes *= 7) {
                        void *block = NULL;

                        if (posix_memalign(&block, alignment, bytes) == 0)
                                keep(block);
                }
}

static void mapped(void)
{
        for (int i = 0; i < 40; i++) {
                void *block = malloc(200000 + next(3000000));

                keep(block);
                mmap(NULL, 4096 * (1 + next(3)), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (i % 4 == 0)
                        drop(count - 1);
        }
}

/* Somebody else moves the end of the heap. */
static void foreign(void)
{
        for (int i = 0; i < 5; i++) {
                char *other = sbrk(1000 + (intptr_t)next(5000));

                memset(other, 0x11, 900);
                plain(500, 30000);
        }
}

/* No room behind the heap: malloc maps memory for its main arena. */
static void holes(void)
{
        char *end = sbrk(0);

        end = (char *)(((uintptr_t)end + 4095) & ~(uintptr_t)4095);
        mmap(end, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        plain(3000, 60000);
#ifdef M_TOP_PAD /* musl has none of these */
        mallopt(M_TOP_PAD, 0);
#endif
        plain(2000, 60000);
}

static void trim(void)
{
        plain(2000, 20000);
        for (int i = count; i > 100; i--)
                drop(i - 1);
#ifdef M_MXFAST
        malloc_trim(0);
#endif
        plain(300, 2000);
#ifdef M_MXFAST
        mallopt(M_MXFAST, 160);
#endif
        plain(500, 300);
}

/* A pair that nobody holds, and one that is held. */
struct pair {
        struct pair *other;
        char name[120];
};

struct pair *held_by_global;
static __thread void *held_by_thread;

static void __attribute__((noinline)) lost(void)
{
        struct pair *one = calloc(1, sizeof *one);

        held_by_global = calloc(1, sizeof *held_by_global);
        held_by_global->other = calloc(1, 200);
        held_by_thread = calloc(1, 400);
        strcpy(held_by_global->name, "held");
        one->other = calloc(1, 300);
        strcpy(one->name, "lost");
}

static void __attribute__((noinline)) wipe_stack(void)
{
        char volatile room[8192];

        for (size_t i = 0; i < sizeof room; i++)
                room[i] = 0;
}

/* An address that is left over in a register counts as in use. */
static void wipe_registers(void)
{
#ifdef __x86_64__
        __asm__ volatile("xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor "
                         "%%r11d, %%r11d\n\t"
                         "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, "
                         "%%xmm2\n\tpxor %%xmm3, %%xmm3" ::
                                 : "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3");
#endif
}

static void do_it(const char *way)
{
        if (strcmp(way, "plain") == 0)
                plain(20000, 20000);
        else if (strcmp(way, "threads") == 0)
                threads();
        else if (strcmp(way, "trim") == 0)
                trim();
        else if (strcmp(way, "align") == 0)
                align();
        else if (strcmp(way, "foreign") == 0)
                foreign();
        else if (strcmp(way, "holes") == 0)
                holes();
        else if (strcmp(way, "mapped") == 0)
                mapped();
        else if (strcmp(way, "lost") == 0)
                lost();
}

int main(int argc, char **argv)
{
        char line[64];

        for (int i = 1; i < argc; i++)
                do_it(argv[i]);
        for (int i = 0; i < count; i++) {
                int length = snprintf(line, sizeof line, "%lx %zu\n", (unsigned long)blocks[i],
                                      malloc_usable_size(blocks[i]));

                if (write(3, line, (size_t)length) != length)
                        return 1;
        }
        wipe_stack();
        wipe_registers();
        if (write(3, "ready\n", 6) != 6)
                return 1;
#ifdef OWN_CORE
        core_write("core", argv[0], __builtin_frame_address(0));
#else
        while (read(0, line, sizeof line) > 0)
                ;
#endif
        return 0;
}
