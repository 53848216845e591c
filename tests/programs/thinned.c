/* SPDX-License-Identifier: MIT */
/*
 * thinned.c -- a heap that outgrows what its recording may take (record --limit-ledger).
 *
 *     thinned small [THREADS]   first blocks that stay, then blocks of three sizes, of which every
 *                               other one is freed or grown; then half of
 *                               the first ones is freed
 *     thinned large             large blocks that are never touched, more and more of them
 *     thinned crowd             64 threads at once, in the first moment, with a few small blocks
 *                               each
 *
 * Tells on standard output, for each function that allocates: allocations, bytes allocated, live
 * blocks, live bytes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST 300000
#define ROUNDS 200000
#define LARGE 20000
#define THREADS_MAX 8
#define CROWD 64
#define CROWD_BLOCKS 1000

struct sums {
        unsigned long allocations, bytes, live_blocks, live_bytes;
};

static struct sums first_sums, later_sums;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *first_blocks[FIRST];
static int threads = 1;

__attribute__((noinline)) static void *first(size_t size)
{
        void *p = malloc(size);

        first_sums.allocations++;
        first_sums.bytes += size;
        first_sums.live_blocks++;
        first_sums.live_bytes += size;
        return p;
}

__attribute__((noinline)) static void *later(size_t size, struct sums *s)
{
        void *p = malloc(size);

        s->allocations++;
        s->bytes += size;
        s->live_blocks++;
        s->live_bytes += size;
        return p;
}

__attribute__((noinline)) static void *grown(void *p, size_t old, size_t size, struct sums *s)
{
        p = realloc(p, size);
        s->live_blocks--;
        s->live_bytes -= old;
        s->allocations++;
        s->bytes += size;
        s->live_blocks++;
        s->live_bytes += size;
        return p;
}

static void add_up(const struct sums *own)
{
        pthread_mutex_lock(&lock);
        later_sums.allocations += own->allocations;
        later_sums.bytes += own->bytes;
        later_sums.live_blocks += own->live_blocks;
        later_sums.live_bytes += own->live_bytes;
        pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
        static const size_t sizes[] = { 24, 200, 3000 };
        static void *volatile kept[THREADS_MAX];
        struct sums own = { 0, 0, 0, 0 };
        long number = (long)argument;

        for (int i = 0; i < ROUNDS / threads; i++) {
                size_t size = sizes[i % 3];
                void **p = later(size, &own);

                if (i % 4 == 1) {
                        free(p);
                        own.live_blocks--;
                        own.live_bytes -= size;
                        continue;
                }
                if (i % 4 == 3)
                        p = grown(p, size, size * 2, &own);
                *p = kept[number];
                kept[number] = p;
        }
        add_up(&own);
        return NULL;
}

static void tell(const char *name, const struct sums *s)
{
        printf("%s %lu %lu %lu %lu\n", name, s->allocations, s->bytes, s->live_blocks,
               s->live_bytes);
}

static void small(void)
{
        pthread_t ids[THREADS_MAX];

        for (int i = 0; i < FIRST; i++)
                first_blocks[i] = first(40);
        for (long i = 1; i < threads; i++)
                pthread_create(&ids[i], NULL, work, (void *)i);
        work(NULL);
        for (int i = 1; i < threads; i++)
                pthread_join(ids[i], NULL);
        for (int i = 0; i < FIRST; i += 2) {
                free(first_blocks[i]);
                first_sums.live_blocks--;
                first_sums.live_bytes -= 40;
        }
}

static void large(void)
{
        static void *kept[LARGE];

        for (int i = 0; i < LARGE; i++)
                if (!(kept[i] = later(1 << 20, &later_sums)))
                        exit(9);
}

static pthread_barrier_t all_there;

static void *one_of_many(void *argument)
{
        static void *kept[CROWD][CROWD_BLOCKS];
        struct sums own = { 0, 0, 0, 0 };

        pthread_barrier_wait(&all_there);
        for (int i = 0; i < CROWD_BLOCKS; i++)
                kept[(long)argument][i] = later(10, &own);
        add_up(&own);
        pthread_barrier_wait(&all_there);
        return NULL;
}

static void crowd(void)
{
        pthread_t ids[CROWD];

        pthread_barrier_init(&all_there, NULL, CROWD);
        for (long i = 0; i < CROWD; i++)
                pthread_create(&ids[i], NULL, one_of_many, (void *)i);
        for (int i = 0; i < CROWD; i++)
                pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
        if (argc > 2)
                threads = (int)strtol(argv[2], NULL, 10);
        if (argc > 1 && argv[1][0] == 'l')
                large();
        else if (argc > 1 && argv[1][0] == 'c')
                crowd();
        else
                small();
        tell("first", &first_sums);
        tell("later", &later_sums);
        return 0;
}
