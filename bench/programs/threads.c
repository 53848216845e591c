/* SPDX-License-Identifier: MIT */
/*
 * threads.c -- ns of CPU per event when several threads allocate and free at once.
 *
 * Room:   a measured program of bench/run:  threads MODE THREADS PAIRS   (PAIRS are per thread)
 * Prints: "ns_per_event N.NN": CPU time of the worker threads over their mallocs and frees, so that
 * a machine with
 *         fewer processors than threads measures the same thing.
 * Modes:  private   each thread frees what it allocated itself.
 *         handover  thread i hands every block to thread i+1, which frees it (needs 2 threads or
 *                   more).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, RING_SLOTS = 256, BURST = 32 };

/* One producer, one consumer; head and tail on lines of their own. */
struct ring {
        _Alignas(64) _Atomic unsigned long head;
        _Alignas(64) _Atomic unsigned long tail;
        _Alignas(64) void *slot[RING_SLOTS];
};

struct worker {
        pthread_t thread;
        struct ring *in, *out;
        long pairs;
        double cpu_ns;
};

static struct ring rings[THREADS_MAX];
static struct worker workers[THREADS_MAX];
static pthread_barrier_t ready;

static double thread_cpu_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static size_t block_bytes(long i)
{
        return 16 + (size_t)(i & 15) * 16;
}

static __attribute__((noinline)) void run_private(struct worker *w)
{
        void *kept[BURST] = {0};
        for (long i = 0; i < w->pairs; i++) {
                free(kept[i % BURST]);
                kept[i % BURST] = malloc(block_bytes(i));
                *(volatile char *)kept[i % BURST] = 1;
        }
        for (int i = 0; i < BURST; i++)
                free(kept[i]);
}

/* Fill the ring as far as it goes; returns how many blocks went out. */
static __attribute__((noinline)) long hand_out(struct ring *r, long i, long pairs)
{
        unsigned long head = atomic_load_explicit(&r->head, memory_order_relaxed);
        unsigned long room = RING_SLOTS -
                             (head - atomic_load_explicit(&r->tail, memory_order_acquire));
        long count = room < BURST ? (long)room : BURST;
        if (count > pairs - i)
                count = pairs - i;
        for (long k = 0; k < count; k++) {
                void *block = malloc(block_bytes(i + k));
                *(volatile char *)block = 1;
                r->slot[(head + (unsigned long)k) % RING_SLOTS] = block;
        }
        atomic_store_explicit(&r->head, head + (unsigned long)count, memory_order_release);
        return count;
}

/* Free what the neighbour handed over; returns how many blocks came in. */
static __attribute__((noinline)) long take_in(struct ring *r)
{
        unsigned long tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
        unsigned long head = atomic_load_explicit(&r->head, memory_order_acquire);
        for (unsigned long k = tail; k != head; k++)
                free(r->slot[k % RING_SLOTS]);
        atomic_store_explicit(&r->tail, head, memory_order_release);
        return (long)(head - tail);
}

static __attribute__((noinline)) void run_handover(struct worker *w)
{
        long out = 0, in = 0;
        while (out < w->pairs || in < w->pairs) {
                long sent = hand_out(w->out, out, w->pairs);
                long received = take_in(w->in);
                out += sent;
                in += received;
                if (!sent && !received)
                        sched_yield();
        }
}

static void *work(void *argument)
{
        struct worker *w = argument;
        pthread_barrier_wait(&ready);
        double from = thread_cpu_ns();
        if (w->in)
                run_handover(w);
        else
                run_private(w);
        w->cpu_ns = thread_cpu_ns() - from;
        return NULL;
}

static double run_all(int threads, long pairs, int handover)
{
        double ns = 0;
        pthread_barrier_init(&ready, NULL, (unsigned)threads);
        for (int i = 0; i < threads; i++) {
                struct worker *w = &workers[i];
                w->pairs = pairs;
                w->out = handover ? &rings[i] : NULL;
                w->in = handover ? &rings[(i + threads - 1) % threads] : NULL;
                if (pthread_create(&w->thread, NULL, work, w)) {
                        perror("threads: pthread_create");
                        exit(1);
                }
        }
        for (int i = 0; i < threads; i++) {
                pthread_join(workers[i].thread, NULL);
                ns += workers[i].cpu_ns;
        }
        return ns / (2.0 * (double)pairs * threads);
}

int main(int argc, char **argv)
{
        int threads = argc == 4 ? atoi(argv[2]) : 0;
        long pairs = argc == 4 ? atol(argv[3]) : 0;
        int handover = argc == 4 && !strcmp(argv[1], "handover");
        if (threads < 1 || threads > THREADS_MAX || pairs < 1 || (handover && threads < 2)) {
                fprintf(stderr, "usage: threads private|handover THREADS PAIRS\n");
                return 2;
        }
        printf("ns_per_event %.2f\n", run_all(threads, pairs, handover));
        return 0;
}
