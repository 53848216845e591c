/* SPDX-License-Identifier: MIT */
/*
 * segments.c -- address space cut into ranges, the last word about each address counts.
 *
 * Room:   outside.
 * Cost:   a move of what lies behind, for each change: there are hundreds of segments, not millions.
 */
#include "observe/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* The first segment that ends after ADDRESS. */
static uint32_t find(const struct segments *s, uint64_t address)
{
        uint32_t low = 0, high = s->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (s->at[middle].end <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void insert(struct segments *s, uint32_t index, struct profile_root r)
{
        if (s->count == s->room) {
                s->room = s->room ? s->room * 2 : 64;
                s->at = heap_grow(s->at, s->room, sizeof *s->at);
        }
        memmove(s->at + index + 1, s->at + index, (s->count - index) * sizeof *s->at);
        s->at[index] = r;
        s->count++;
}

static void drop(struct segments *s, uint32_t index, uint32_t count)
{
        memmove(s->at + index, s->at + index + count, (s->count - index - count) * sizeof *s->at);
        s->count -= count;
}

void segments_erase(struct segments *s, uint64_t start, uint64_t end)
{
        uint32_t first = find(s, start), last;

        if (start >= end)
                return;
        if (first < s->count && s->at[first].start < start && s->at[first].end > end) {
                struct profile_root behind = s->at[first];

                behind.start = end;
                s->at[first].end = start;
                insert(s, first + 1, behind);
                return;
        }
        if (first < s->count && s->at[first].start < start)
                s->at[first++].end = start;
        for (last = first; last < s->count && s->at[last].end <= end; last++)
                ;
        drop(s, first, last - first);
        if (first < s->count && s->at[first].start < end)
                s->at[first].start = end;
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

        return i < s->count && s->at[i].start <= address ? s->at[i].kind : PROFILE_ROOT_COUNT;
}

void segments_free(struct segments *s)
{
        free(s->at);
        *s = (struct segments){ 0 };
}
