/* SPDX-License-Identifier: MIT */
#include "profile/events_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define FIRST_ROOM 4096u /* blocks */
#define NEAR_STEPS 8u    /* dead blocks skipped in search of a neighbour */

const char *events_end_text(enum events_end end)
{
        static const char *const text[] = {
#define EVENTS_END_TEXT(name, number, words) [number] = words,
                EVENTS_ENDS(EVENTS_END_TEXT)
#undef EVENTS_END_TEXT
        };

        return end < EVENTS_END_COUNT ? text[end] : "damaged";
}

void events_model_open(struct events_model *m)
{
        *m = (struct events_model){ .room = FIRST_ROOM };
        m->order = heap_zero(m->room, sizeof *m->order);
        m->lanes = heap_zero(EVENTS_LANES, sizeof *m->lanes);
        m->sites = heap_zero(EVENTS_SITES, sizeof *m->sites);
        m->after_two = heap_zero(EVENTS_CONTEXTS, sizeof *m->after_two);
        m->after_one = heap_zero(EVENTS_CONTEXTS, sizeof *m->after_one);
}

void events_model_close(struct events_model *m)
{
        free(m->order);
        free(m->lanes);
        free(m->sites);
        free(m->after_two);
        free(m->after_one);
}

/* ---- live blocks ---- */

bool events_model_room(struct events_model *m)
{
        uint32_t kept = 0;

        if (m->count < m->room)
                return false;
        for (uint32_t i = 0; i < m->count; i++)
                if (m->order[i].live)
                        m->order[kept++] = m->order[i];
        m->count = kept;
        for (uint32_t i = 0; i < EVENTS_LANES; i++)
                m->lanes[i].last = kept;
        while (m->room < 2 * (uint64_t)kept)
                m->room *= 2;
        m->order = heap_grow(m->order, m->room, sizeof *m->order);
        return true;
}

static void events_model_add(struct events_model *m, const struct events_block *b)
{
        m->order[m->count] = *b;
        m->order[m->count++].live = true;
}

void events_model_remove(struct events_model *m, uint32_t at)
{
        m->order[at].live = false;
}

uint32_t events_model_near(const struct events_model *m, uint32_t last, int step)
{
        uint32_t at = last + (uint32_t)step;

        for (uint32_t i = 0; i < NEAR_STEPS && at < m->count; i++, at += (uint32_t)step)
                if (m->order[at].live)
                        return at;
        return EVENTS_NOWHERE;
}

/* ---- memory that is free ---- */

/* Chunks of glibc: 8 bytes more than asked for, in steps of 16, at least 32. */
static uint64_t chunk_bytes(uint64_t size)
{
        return size < 24 ? 32 : (size + 8 + 15) & ~15ull;
}

static uint32_t class_of(uint64_t size)
{
        uint64_t chunk = chunk_bytes(size) / 16;

        return chunk < 64 ? (uint32_t)chunk : 64 + ((uint32_t)chunk * 0x9e3779b1u >> 26);
}

static void lane_give(struct events_lane *l, uint64_t size, uint64_t address)
{
        uint32_t class = class_of(size);

        if (l->freed_count[class] == EVENTS_FREED) {
                memmove(l->freed[class], l->freed[class] + 1,
                        (EVENTS_FREED - 1) * sizeof **l->freed);
                l->freed_count[class]--;
        }
        l->freed[class][l->freed_count[class]++] = address;
}

uint32_t events_lane_depth(const struct events_lane *l, uint64_t size, uint64_t address)
{
        uint32_t class = class_of(size), count = l->freed_count[class];

        for (uint32_t depth = 0; depth < count; depth++)
                if (l->freed[class][count - 1 - depth] == address)
                        return depth;
        return EVENTS_NOWHERE;
}

bool events_lane_reuse(struct events_lane *l, uint64_t size, uint32_t depth, uint64_t *address)
{
        uint32_t class = class_of(size), count = l->freed_count[class];
        uint64_t *at;

        if (depth >= count)
                return false;
        at = &l->freed[class][count - 1 - depth];
        *address = *at;
        memmove(at, at + 1, depth * sizeof *at);
        l->freed_count[class]--;
        return true;
}

/* ---- after an event ---- */

static void remember(struct events_lane *l, uint32_t site, uint32_t salt)
{
        l->history = l->history << 16 | (site + salt) * 0x9e3779b1u >> 16;
}

void events_model_allocated(struct events_model *m, struct events_lane *l,
                            const struct ledger_event *e)
{
        struct events_site *s = events_model_site(m, e->site);
        struct events_block b = { e->address, e->size, e->site, e->kind, true };

        s->size = e->size;
        s->kind = e->kind;
        *events_model_after_two(m, l) = e->site;
        *events_model_after_one(m, l) = e->site;
        remember(l, e->site, 0);
        if (e->type == LEDGER_EVENT_MOVE && l->has_taken) {
                if (l->taken.address != e->address)
                        lane_give(l, l->taken.size, l->taken.address);
                l->has_taken = false;
        }
        events_model_add(m, &b);
}

void events_model_freed(struct events_model *m, struct events_lane *l, uint32_t at,
                        const struct ledger_event *e)
{
        const struct events_block *b = &m->order[at];
        struct events_site *s = events_model_site(m, b->site);

        s->caller = e->size;
        s->node = e->site;
        l->last = at;
        remember(l, b->site, 0x10001);
        if (e->type == LEDGER_EVENT_TAKE) {
                l->taken = *b;
                l->taken_by = e->thread;
                l->has_taken = true;
        } else {
                lane_give(l, b->size, b->address);
        }
        events_model_remove(m, at);
}

bool events_model_put_back(struct events_model *m, struct events_lane *l,
                           const struct ledger_event *e)
{
        if (e->type != LEDGER_EVENT_PUT_BACK || !l->has_taken || l->taken_by != e->thread)
                return false;
        l->has_taken = false;
        events_model_add(m, &l->taken);
        return true;
}

void events_model_new_memory(struct events_lane *l, const struct ledger_event *e)
{
        l->cursor = e->address + chunk_bytes(e->size);
}
