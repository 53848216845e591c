/* SPDX-License-Identifier: MIT */
#include "collect/blocks.h"

#include <stdlib.h>

#include "base/heap.h"
#include "collect/counters.h"
#include "collect/marks.h"
#include "collect/shadow_walk.h"
#include "profile/packed.h"

struct blocks {
        const uint32_t *site_map;
        uint32_t site_count;
        struct profile *p;
        struct packer *packer;
        const struct blocks_listener *listener; /* NULL: there is none */
        struct profile_block *near; /* those of one stretch of the address space: planes of the
                                     * shadow may overlap in it */
        uint64_t near_count, near_room, near_at;
        struct profile_block arena; /* the last that is none of a pool */
        uint64_t count, senseless;
        uint64_t expected; /* blocks that the counters know of; UINT64_MAX: they cannot be trusted
                            * to */
};

static int by_address(const void *a, const void *b)
{
        const struct profile_block *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        /* An arena, then what was carved from it. */
        return (x->size < y->size) - (x->size > y->size);
}

/* ---- whose they are ---- */

static bool is_inside(const struct profile_block *b, const struct profile_block *arena)
{
        return b->address >= arena->address && b->address - arena->address < arena->size;
}

/* Blocks of a pool are taken off the one that they lie in, as the sites do it. */
static void add_to_thread(struct blocks *b, const struct profile_block *one)
{
        struct profile *p = b->p;
        uint64_t times = profile_block_times(p, one);

        p->threads[one->thread].live_blocks += times;
        p->threads[one->thread].live_bytes += times * one->size;
        if (p->sites[one->site].kind != LEDGER_KIND_POOL)
                b->arena = *one;
        else if (is_inside(one, &b->arena))
                p->threads[b->arena.thread].live_bytes -= one->size;
}

/* ---- one after another ---- */

static bool is_sorted(const struct blocks *b)
{
        for (uint64_t i = 1; i < b->near_count; i++)
                if (by_address(&b->near[i - 1], &b->near[i]) > 0)
                        return false;
        return true;
}

static void pass_on(struct blocks *b)
{
        if (!is_sorted(b))
                qsort(b->near, b->near_count, sizeof *b->near, by_address);
        for (uint64_t i = 0; i < b->near_count; i++) {
                add_to_thread(b, &b->near[i]);
                packer_add(b->packer, &b->near[i]);
        }
        b->near_count = 0;
}

static void take(void *context, const struct ledger_block *from, uint64_t address)
{
        struct blocks *b = context;
        struct profile *p = b->p;
        bool live = LEDGER_BLOCK_LIVE(*from);
        uint32_t raw = LEDGER_BLOCK_SITE(*from), thread = LEDGER_BLOCK_THREAD(*from);
        uint32_t site = live && raw < b->site_count ? b->site_map[raw] : 0;

        if (b->listener)
                b->listener->take(b->listener->context, from, address, site);
        if (raw == 0 || !live)
                return; /* an allocator's own, or older than the last reset */
        if (site == 0) {
                b->senseless++;
                return;
        }
        if (address / LEDGER_SHADOW_SPAN != b->near_at) {
                pass_on(b);
                b->near_at = address / LEDGER_SHADOW_SPAN;
        }
        if (b->near_count == b->near_room) {
                b->near_room = b->near_room ? b->near_room * 2 : 1024;
                b->near = heap_grow(b->near, b->near_room, sizeof *b->near);
        }
        b->near[b->near_count++] = (struct profile_block){
                .address = address,
                .size = LEDGER_BLOCK_SIZE(*from),
                .site = site,
                .thread = thread < p->thread_count ? thread : 0,
                .birth_ms = LEDGER_BLOCK_BIRTH_MS(*from),
        };
        b->count++;
}

static bool has_all(void *context, uint64_t looked_at_bytes)
{
        const struct blocks *b = context;

        return b->count == b->expected && looked_at_bytes >= BLOCKS_ALWAYS_BYTES;
}

static uint64_t expected_blocks(const struct profile *p)
{
        uint64_t blocks = 0;

        for (uint32_t i = 1; i < p->site_count; i++)
                blocks += LEDGER_KIND_IS_HEAP(p->sites[i].kind) ? p->sites[i].live_blocks : 0;
        return blocks;
}

uint64_t blocks_read(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                     bool ended, struct profile *p)
{
        struct blocks b = { .site_map = site_map, .site_count = site_count, .p = p,
                            .packer = packer_blocks(p), .listener = v->listener };
        bool dead = v->listener && v->listener->dead;
        struct shadow_visitor visitor = { .context = &b, .take = take, .dead = dead,
                                          .enough = dead ? NULL : has_all };

        if (v->listener)
                v->listener->heard = true;
        b.expected = ended && !v->head.sample_bytes && !v->head.thin_count ? expected_blocks(p)
                                                                           : UINT64_MAX;
        shadow_walk(v, &visitor);
        pass_on(&b);
        packer_end(b.packer, p); /* sites and threads are those of P */
        for (uint32_t i = 0; i < p->thread_count; i++)
                if ((int64_t)p->threads[i].live_bytes < 0)
                        p->threads[i].live_bytes = 0;
        free(b.near);
        return b.senseless;
}

/* ---- before a list is made ---- */

#define LIST_BASE_BYTES (8u << 20)
#define LIST_SHORT_BYTES (16u << 20)
#define LIST_BLOCK 16u /* packed (profile/packed.h), and what a file is written from */

uint64_t blocks_count(const struct view *v)
{
        uint32_t slots = counters_slots(v);
        uint64_t blocks = 0;

        for (uint32_t i = 0; i < slots; i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                blocks += slot.allocs - slot.frees;
        }
        return (int64_t)blocks > 0 ? blocks : 0;
}

/* Short ones are not worth asking for. */
bool blocks_may_list(const struct view *v, pid_t program, char why[HEADROOM_WHY_BYTES])
{
        uint64_t blocks = blocks_count(v), most = v->present_bytes / sizeof(struct ledger_block);
        uint64_t bytes = LIST_BASE_BYTES + (blocks < most ? blocks : most) * LIST_BLOCK;
        struct headroom room;

        *why = 0;
        if (bytes < LIST_SHORT_BYTES)
                return true;
        headroom_find(&room, "", program);
        return headroom_allows(&room, bytes, why);
}

/* ---- things with a handle that a program holds: file descriptors, textures, locks ---- */

#define RESOURCES_NAME_BYTES 128u

void resources_types(const struct view *v, struct profile *p)
{
        p->type_count = v->head.type_count < LEDGER_TYPES_MAX ? v->head.type_count
                                                              : LEDGER_TYPES_MAX;
        p->types = heap_zero(p->type_count, sizeof *p->types);
        for (uint32_t i = 0; i < p->type_count; i++)
                p->types[i] = marks_text(v, v->head.type_name[i], RESOURCES_NAME_BYTES);
}

void resources_handles(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                       struct profile *p)
{
        uint32_t count = v->head.handle_count;
        struct ledger_handle *raw = view_table(v, LEDGER_HANDLES, &count, sizeof *raw);

        p->handles = heap_zero(count, sizeof *p->handles);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t site = raw[i].site < site_count ? site_map[raw[i].site] : 0;

                if (!site || !LEDGER_KIND_IS_RESOURCE(p->sites[site].kind))
                        continue;
                p->handles[p->handle_count++] = (struct profile_handle){
                        .handle = raw[i].handle,
                        .amount = raw[i].amount,
                        .site = site,
                        .thread = raw[i].thread < p->thread_count ? raw[i].thread : 0,
                        .birth_ms = raw[i].birth_ms,
                };
        }
        free(raw);
}
