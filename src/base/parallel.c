/* SPDX-License-Identifier: MIT */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

#define PARALLEL_STACK_BYTES (512u << 10)

struct parallel {
        parallel_work *work;
        void *context;
        uint32_t parts;
        uint32_t next; /* part that nobody has begun */
};

struct parallel_thread {
        struct parallel *all;
        uint32_t slot;
        pthread_t id;
};

uint32_t parallel_threads(void)
{
        cpu_set_t ours;
        int count = sched_getaffinity(0, sizeof ours, &ours) == 0 ? CPU_COUNT(&ours) : 1;

        return count < 1 ? 1 : (uint32_t)count < PARALLEL_MOST ? (uint32_t)count : PARALLEL_MOST;
}

static void *parallel_loop(void *context)
{
        struct parallel_thread *t = context;
        struct parallel *p = t->all;
        uint32_t part;

        while ((part = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED)) < p->parts)
                p->work(p->context, t->slot, part);
        return NULL;
}

/* How many helpers there are. */
static uint32_t parallel_start(struct parallel_thread *helpers, uint32_t wanted)
{
        uint32_t count = 0;
        pthread_attr_t attr;
        sigset_t all, before;

        if (!wanted || pthread_attr_init(&attr) != 0)
                return 0;
        pthread_attr_setstacksize(&attr, PARALLEL_STACK_BYTES);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        while (count < wanted &&
               pthread_create(&helpers[count].id, &attr, parallel_loop, &helpers[count]) == 0)
                count++;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attr);
        return count;
}

void parallel_run(uint32_t threads, uint32_t parts, parallel_work *work, void *context)
{
        struct parallel p = { .work = work, .context = context, .parts = parts };
        struct parallel_thread each[PARALLEL_MOST];
        uint32_t started;

        threads = threads < parts ? threads : parts;
        threads = threads < 1 ? 1 : threads < PARALLEL_MOST ? threads : PARALLEL_MOST;
        for (uint32_t i = 0; i < threads; i++)
                each[i] = (struct parallel_thread){ .all = &p, .slot = i };
        started = parallel_start(each + 1, threads - 1);
        parallel_loop(&each[0]);
        for (uint32_t i = 1; i <= started; i++)
                pthread_join(each[i].id, NULL);
}
