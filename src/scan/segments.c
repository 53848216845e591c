/* SPDX-License-Identifier: MIT */
/*
 * segments.c -- address space cut into ranges, the last word about each address counts.
 *
 * Cost:   a change moves what lies between it and the last change: those who come in the order
 *         of addresses cost nothing.
 */
#include "scan/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"

static struct profile_root *get(const struct segments *s, uint32_t i)
{
        return &s->at[i < s->before ? i : i + (s->room - s->count)];
}

const struct profile_root *segments_get(const struct segments *s, uint32_t i)
{
        return get(s, i);
}

/* The first segment that ends after ADDRESS. */
static uint32_t find(const struct segments *s, uint64_t address)
{
        return (uint32_t)FIND_FIRST(s->count, i, get(s, i)->end <= address);
}

/* Have the unused room before number INDEX. */
static void open_at(struct segments *s, uint32_t index)
{
        uint32_t unused = s->room - s->count;

        if (index < s->before)
                memmove(s->at + index + unused, s->at + index, (s->before - index) * sizeof *s->at);
        else if (index > s->before)
                memmove(s->at + s->before, s->at + s->before + unused,
                        (index - s->before) * sizeof *s->at);
        s->before = index;
}

static void insert(struct segments *s, uint32_t index, struct profile_root r)
{
        if (s->count == s->room) {
                open_at(s, s->count);
                s->room = s->room ? s->room * 2 : 64;
                s->at = heap_grow(s->at, s->room, sizeof *s->at);
        }
        open_at(s, index);
        s->at[s->before++] = r;
        s->count++;
}

static void drop(struct segments *s, uint32_t index, uint32_t count)
{
        if (!count)
                return;
        open_at(s, index);
        s->count -= count;
}

void segments_erase(struct segments *s, uint64_t start, uint64_t end)
{
        uint32_t first = find(s, start), last;

        if (start >= end)
                return;
        if (first < s->count && get(s, first)->start < start && get(s, first)->end > end) {
                struct profile_root behind = *get(s, first);

                behind.start = end;
                get(s, first)->end = start;
                insert(s, first + 1, behind);
                return;
        }
        if (first < s->count && get(s, first)->start < start)
                get(s, first++)->end = start;
        for (last = first; last < s->count && get(s, last)->end <= end; last++)
                ;
        drop(s, first, last - first);
        if (first < s->count && get(s, first)->start < end)
                get(s, first)->start = end;
}

void segments_put(struct segments *s, struct profile_root r)
{
        if (r.start >= r.end)
                return;
        segments_erase(s, r.start, r.end);
        insert(s, find(s, r.start), r);
}

uint32_t segments_kind(const struct segments *s, uint64_t address)
{
        uint32_t i = find(s, address);

        return i < s->count && get(s, i)->start <= address ? get(s, i)->kind : PROFILE_ROOT_COUNT;
}

void segments_free(struct segments *s)
{
        free(s->at);
        *s = (struct segments){ 0 };
}
