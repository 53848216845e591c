/* SPDX-License-Identifier: MIT */
/*
 * queue.c -- changes to lists that threads and signal handlers share.
 *
 * Room:   inside; any context.
 */
#include "agent/queue.h"

#include "agent/sys.h"

#include "agent/guest.h"

#define OPERATIONS 4096u

static struct operation *operations;
static struct operation *pending;
static uint64_t last_ticket;
static uint32_t lock;

bool queue_start(void)
{
        operations = sys_memory(OPERATIONS * sizeof *operations);
        return operations != NULL;
}

void queue_forked(void)
{
        lock = 0;
}

uint64_t queue_ticket(void)
{
        return __atomic_add_fetch(&last_ticket, 1, __ATOMIC_ACQ_REL);
}

/* Pending operations, oldest ticket first. */
static struct operation *sorted_pending(void)
{
        struct operation *list = __atomic_exchange_n(&pending, NULL, __ATOMIC_ACQUIRE), *sorted = NULL;

        while (list) {
                struct operation *o = list, **place = &sorted;

                list = o->next;
                while (*place && (*place)->ticket < o->ticket)
                        place = &(*place)->next;
                o->next = *place;
                *place = o;
        }
        return sorted;
}

static void apply_pending(struct thread *t)
{
        while (__atomic_load_n(&pending, __ATOMIC_ACQUIRE)) {
                if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
                        return; /* the holder will look again after letting go */
                __atomic_add_fetch(&agent.head->region_seq, 1, __ATOMIC_RELEASE);
                for (struct operation *o = sorted_pending(), *next; o; o = next) {
                        next = o->next;
                        o->apply(t, o);
                        __atomic_store_n(&o->used, 0, __ATOMIC_RELEASE);
                }
                __atomic_add_fetch(&agent.head->region_seq, 1, __ATOMIC_RELEASE);
                __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        }
}

struct operation *queue_new(void)
{
        static uint32_t cursor;

        for (uint32_t i = 0; i < OPERATIONS; i++) {
                struct operation *o = &operations[__atomic_fetch_add(&cursor, 1, __ATOMIC_RELAXED) % OPERATIONS];

                if (!__atomic_exchange_n(&o->used, 1, __ATOMIC_ACQUIRE))
                        return o;
        }
        __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
        return NULL;
}

void queue_submit(struct thread *t, struct operation *o)
{
        o->next = __atomic_load_n(&pending, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&pending, &o->next, o, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                ;
        apply_pending(t);
}
