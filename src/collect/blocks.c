/* SPDX-License-Identifier: MIT */
#include "collect/blocks.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "base/parallel.h"
#include "collect/counters.h"
#include "collect/marks.h"
#include "collect/shadow_walk.h"
#include "profile/packed.h"

/* One part of the shadow, and what was found in it. */
struct blocks_part {
        struct blocks *of;
        uint32_t slot; /* of who reads it */
        struct blocks_entry *all; /* entries */
        uint64_t count, room;
        struct blocks_entry *own; /* of them, those that are blocks of the profile; ALL if all
                                   * are */
        uint64_t own_count;
        bool mixed;    /* not all are */
        bool unsorted; /* planes of the shadow overlap in it */
        uint64_t senseless, looked_at_bytes;
};

/* Parts are read some at a time, each by a thread; then the next ones. */
#define BLOCKS_PARTS_MOST (2 * PARALLEL_MOST)

/* What is alive of a thread. */
struct blocks_sum {
        uint64_t blocks, bytes;
};

struct blocks {
        struct blocks_sites sites;
        struct profile *p;
        struct packer *packer;
        struct blocks_listener *listener; /* NULL: there is none */
        struct shadow_parts *shadow;
        uint32_t first, at_hand; /* part of the shadow that is parts[0], and how many there are */
        struct blocks_part parts[BLOCKS_PARTS_MOST];
        uint64_t before[BLOCKS_PARTS_MOST + 1]; /* blocks in all parts before */
        uint64_t told[BLOCKS_PARTS_MOST + 1];   /* entries in all parts before, and earlier */
        struct blocks_sum *sums[PARALLEL_MOST]; /* by slot, by thread of the profile */
        bool pools; /* blocks may lie in others */
        struct profile_block arena; /* the last that is none of a pool */
        uint64_t count, senseless, looked_at_bytes;
        uint64_t expected; /* blocks that the counters know of; UINT64_MAX: they cannot be trusted
                            * to */
        uint32_t threads;
};

/* An arena, then what was carved from it. */
static int by_address(const void *a, const void *b)
{
        const struct blocks_entry *x = a, *y = b;

        return ORDER(x->address, y->address)
                       ?: ORDER(LEDGER_BLOCK_SIZE(y->entry), LEDGER_BLOCK_SIZE(x->entry));
}

static struct profile_block block_of(const struct blocks *b, const struct blocks_entry *e)
{
        uint32_t thread = LEDGER_BLOCK_THREAD(e->entry);

        return (struct profile_block){
                .address = e->address,
                .size = LEDGER_BLOCK_SIZE(e->entry),
                .site = blocks_site(&b->sites, &e->entry),
                .thread = thread < b->p->thread_count ? thread : 0,
                .birth_ms = LEDGER_BLOCK_BIRTH_MS(e->entry),
        };
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

/* In their order: it matters where there are pools. */
static void add_all_to_threads(struct blocks *b)
{
        for (uint32_t i = 0; i < b->at_hand; i++)
                for (uint64_t k = 0; k < b->parts[i].own_count; k++) {
                        struct profile_block one = block_of(b, &b->parts[i].own[k]);

                        add_to_thread(b, &one);
                }
}

/* Where there are none, each thread of ours has sums. */
static void sum_up(struct blocks_part *part)
{
        struct blocks *b = part->of;
        struct blocks_sum *sums = b->sums[part->slot];

        if (!sums)
                sums = b->sums[part->slot] = heap_zero(b->p->thread_count, sizeof *sums);
        for (uint64_t i = 0; i < part->own_count; i++) {
                struct profile_block one = block_of(b, &part->own[i]);
                uint64_t times = profile_block_times(b->p, &one);

                sums[one.thread].blocks += times;
                sums[one.thread].bytes += times * one.size;
        }
}

static void add_sums(struct blocks *b)
{
        for (uint32_t slot = 0; slot < PARALLEL_MOST; slot++) {
                for (uint32_t i = 0; b->sums[slot] && i < b->p->thread_count; i++) {
                        b->p->threads[i].live_blocks += b->sums[slot][i].blocks;
                        b->p->threads[i].live_bytes += b->sums[slot][i].bytes;
                }
                free(b->sums[slot]);
        }
}

static bool has_pools(const struct profile *p)
{
        for (uint32_t i = 0; i < p->site_count; i++)
                if (p->sites[i].kind == LEDGER_KIND_POOL)
                        return true;
        return false;
}

/* ---- a part ---- */

static void take(void *context, const struct ledger_block *from, uint64_t address)
{
        struct blocks_part *part = context;
        const struct blocks *b = part->of;
        bool ours = LEDGER_BLOCK_LIVE(*from) && LEDGER_BLOCK_SITE(*from);

        /* What is not ours is an allocator's own, or older than the last reset. */
        if (ours && !blocks_site(&b->sites, from)) {
                part->senseless++;
                ours = false;
        }
        if (!ours && !b->listener)
                return;
        if (part->count == part->room) {
                part->room = part->room ? part->room * 2 : 1024;
                part->all = heap_grow(part->all, part->room, sizeof *part->all);
        }
        part->mixed |= !ours;
        part->own_count += ours;
        part->all[part->count++] = (struct blocks_entry){ *from, address };
        part->unsorted |= part->count > 1 && by_address(&part->all[part->count - 2],
                                                        &part->all[part->count - 1]) > 0;
}

/* Blocks of the profile alone, if there are others or they must be sorted. */
static void choose_own(struct blocks_part *part)
{
        uint64_t count = 0;

        part->own = part->all;
        if (!part->mixed && !part->unsorted)
                return;
        part->own = heap_grow(NULL, part->own_count, sizeof *part->own);
        for (uint64_t i = 0; i < part->count; i++)
                if (blocks_site(&part->of->sites, &part->all[i].entry))
                        part->own[count++] = part->all[i];
        if (part->unsorted)
                qsort(part->own, count, sizeof *part->own, by_address);
}

static void read_part(void *context, uint32_t slot, uint32_t number)
{
        struct blocks *b = context;
        struct blocks_part *part = &b->parts[number];
        struct shadow_visitor visitor = { .context = part, .take = take,
                                          .dead = b->listener && b->listener->dead,
                                          .dead_since_ms = b->listener ? b->listener->dead_since_ms
                                                                       : 0 };

        *part = (struct blocks_part){ .of = b, .slot = slot, .all = part->all,
                                      .room = part->room };
        part->looked_at_bytes = shadow_parts_read(b->shadow, b->first + number, &visitor);
        choose_own(part);
        if (!b->pools)
                sum_up(part);
}

/* ---- parts, in their order ---- */

static void fill_blocks(void *context, uint64_t first, uint64_t count, void *records)
{
        const struct blocks *b = context;
        struct profile_block *to = records;

        for (uint32_t part = 0; count; part++) {
                uint64_t end = b->before[part + 1];

                for (; first < end && count; first++, count--)
                        *to++ = block_of(b, &b->parts[part].own[first - b->before[part]]);
        }
}

/* To whoever listens. */
static void tell_part(void *context, uint32_t slot, uint32_t number)
{
        struct blocks *b = context;
        const struct blocks_part *part = &b->parts[number];

        (void)slot;
        b->listener->take(b->listener->context, part->all, b->told[number], part->count,
                          &b->sites, part->unsorted);
}

static void tell(struct blocks *b)
{
        uint32_t last = b->at_hand;

        for (uint32_t i = 0; i < last; i++)
                b->told[i + 1] = b->told[i] + b->parts[i].count;
        b->listener->expect(b->listener->context, b->told[last] - b->told[0]);
        parallel_run(b->threads, last, tell_part, b);
        b->told[0] = b->told[last];
}

static void let_go(struct blocks_part *part)
{
        if (part->own != part->all)
                free(part->own);
        part->own = NULL;
}

/* The next ones; false: there are none. */
static bool read_some(struct blocks *b)
{
        uint32_t left = shadow_parts_count(b->shadow) - b->first, most = 2 * b->threads;
        struct packed_source from = { .context = b, .threads = b->threads, .fill = fill_blocks };

        b->at_hand = left < most ? left : most;
        parallel_run(b->threads, b->at_hand, read_part, b);
        for (uint32_t i = 0; i < b->at_hand; i++) {
                b->before[i + 1] = b->before[i] + b->parts[i].own_count;
                b->senseless += b->parts[i].senseless;
                b->looked_at_bytes += b->parts[i].looked_at_bytes;
        }
        from.count = b->before[b->at_hand];
        b->count += from.count;
        if (b->listener)
                tell(b);
        if (b->pools)
                add_all_to_threads(b);
        packer_add_all(b->packer, &from);
        for (uint32_t i = 0; i < b->at_hand; i++)
                let_go(&b->parts[i]);
        b->first += b->at_hand;
        return b->at_hand;
}

static bool has_all(const struct blocks *b)
{
        return b->count == b->expected && b->looked_at_bytes >= BLOCKS_ALWAYS_BYTES;
}

static uint64_t expected_blocks(const struct profile *p)
{
        uint64_t blocks = 0;

        for (uint32_t i = 1; i < p->site_count; i++)
                blocks += LEDGER_KIND_IS_HEAP(p->sites[i].kind) ? p->sites[i].live_blocks : 0;
        return blocks;
}

/* Of a small heap all is read before a thread has begun. */
#define THREADS_WORTH_BYTES (16u << 20)

uint64_t blocks_read(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                     bool ended, struct profile *p)
{
        struct blocks b = { .sites = { site_map, site_count }, .p = p, .pools = has_pools(p),
                            .packer = packer_blocks(p), .listener = v->listener,
                            .shadow = shadow_parts_open(v) };
        bool dead = v->listener && v->listener->dead;

        b.threads = v->present_bytes < THREADS_WORTH_BYTES ? 1 : parallel_threads();
        if (v->listener)
                v->listener->heard = true;
        b.expected = ended && !v->head.sample_bytes && !v->head.thin_count ? expected_blocks(p)
                                                                           : UINT64_MAX;
        while ((dead || !has_all(&b)) && read_some(&b))
                ;
        packer_end(b.packer, p); /* sites and threads are those of P */
        add_sums(&b);
        for (uint32_t i = 0; i < p->thread_count; i++)
                if ((int64_t)p->threads[i].live_bytes < 0)
                        p->threads[i].live_bytes = 0;
        for (uint32_t i = 0; i < BLOCKS_PARTS_MOST; i++)
                free(b.parts[i].all);
        shadow_parts_close(b.shadow);
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
