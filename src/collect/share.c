/* SPDX-License-Identifier: MIT */
/*
 * share.c -- how much memory the ledger of a program takes.
 *
 * Room:   outside.
 */
#include "collect/share.h"

#include <sys/stat.h>

#include "collect/counters.h"

#define SLOTS_MAX 1024u /* more would take too long at each tick: then what was opened counts */
#define PUT(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)

static uint64_t count_events(const struct view *v)
{
        uint32_t slots = counters_slots(v);
        uint64_t sum = 0;

        if (v->head.thin_count)
                return v->head.thin_events;
        for (uint32_t i = 0; i < slots && slots <= SLOTS_MAX; i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                sum += slot.allocs;
        }
        return sum;
}

void share_tick(struct view *v, bool calm)
{
        struct ledger_head *shared = v->head.ledger_limit ? view_shared(v) : NULL;
        uint64_t opened = 0, events;
        struct stat st;
        struct err e;

        if (!shared || !view_refresh(v, &e))
                return;
        for (int part = 0; part < LEDGER_PARTS; part++)
                opened += v->head.part[part].committed;
        events = count_events(v);
        if (fstat(v->fd, &st) < 0) /* last: what came meanwhile may count twice, but is not missed */
                return;
        PUT(&shared->look.present, (uint64_t)st.st_blocks * 512);
        PUT(&shared->look.events, events);
        PUT(&shared->look.thin_count, v->head.thin_count);
        PUT(&shared->look.opened, opened);
        /* It may have become full in places that were opened long ago: each thread looks when it next records a block. */
        if (calm && v->present_bytes >= v->head.thin_at && !v->head.thin_full && !(v->head.reclaims & 1))
                __atomic_add_fetch(&shared->reclaims, 2, __ATOMIC_RELEASE);
}
