/* SPDX-License-Identifier: MIT */
#include "scan/older.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "profile/packed.h"
#include "scan/contents.h"
#include "scan/unrecorded.h"

/* ---- finding ---- */

bool older_walk(struct older *o, const struct freeze *f, struct err *e)
{
        *o = (struct older){ 0 };
        unrecorded_about(&o->modules, f);
        unrecorded_modules(&o->modules, f);
        return heap_walk(&o->walk, f, &o->modules, e);
}

/* Whether a list has a block in R; pools are carved from blocks. */
static bool has_block(const struct scan_entries *e, const struct search_range *r)
{
        for (uint64_t i = scan_entries_find(e, r->start);
             i < e->count && (e->at[i].address < r->end || e->at[i].address == r->start); i++)
                if (!(e->at[i].flags & SCAN_ENTRY_POOL))
                        return true;
        return false;
}

static struct search_block entry_of(const struct older *o, const struct search_range *block)
{
        return (struct search_block){
                .address = block->start,
                .size = block->end - block->start,
                .flags = walk_is_inner(&o->walk, block->start) ? SEARCH_BLOCK_INNER : 0,
        };
}

/* Both lists are in order. */
static void add_entries(const struct older *o, struct scan_entries *e)
{
        struct search_block *all = heap_zero(e->count + o->count, sizeof *all);
        uint64_t i = 0, k = 0;

        while (i < e->count || k < o->count) {
                bool first = k == o->count ||
                             (i < e->count && e->at[i].address < o->at[k].start);

                all[i + k] = first ? e->at[i] : entry_of(o, &o->at[k]);
                i += first;
                k += !first;
        }
        free(e->at);
        free(e->places);
        e->places = NULL;
        e->at = all;
        e->count += o->count;
}

void older_choose(struct older *o, struct scan_entries *now, const struct scan_entries *before)
{
        o->at = heap_zero(o->walk.count, sizeof *o->at);
        for (uint64_t i = 0; i < o->walk.count; i++)
                if (!has_block(now, &o->walk.at[i]) && !has_block(before, &o->walk.at[i]))
                        o->at[o->count++] = o->walk.at[i];
        add_entries(o, now);
}

void older_free(struct older *o)
{
        walk_blocks_free(&o->walk);
        profile_free(&o->modules);
        free(o->at);
        *o = (struct older){ 0 };
}

/* ---- storing ---- */

static bool comes_before(const struct profile_block *a, const struct profile_block *b)
{
        return a->address != b->address ? a->address < b->address : a->size > b->size;
}

static void count(struct profile *p, const struct profile_block *b)
{
        p->sites[b->site].live_blocks++;
        p->sites[b->site].live_bytes += b->size;
}

/* P's blocks and the COUNT at MORE, which are in order. */
static void join(struct profile *p, const struct profile_block *more, uint64_t more_count)
{
        struct profile old = *p;
        struct packer *packer = packer_blocks(p);
        struct packed_walk w;
        uint64_t k = 0;

        packed_open(&w, &old);
        while (packed_next(&w)) {
                for (; k < more_count && comes_before(&more[k], w.block); k++)
                        packer_add(packer, &more[k]);
                packer_add(packer, w.block);
        }
        for (; k < more_count; k++)
                packer_add(packer, &more[k]);
        packed_close(&w);
        p->packed_blocks = (struct profile_packed){ 0 };
        p->blocks = NULL;
        p->block_count = 0;
        packer_end(packer, p);
        free(old.packed_blocks.sections);
        free(old.blocks);
}

void older_store(const struct older *o, const struct freeze *f, struct profile *p)
{
        struct profile_block *blocks = heap_zero(o->count, sizeof *blocks);
        uint32_t *kinds = heap_zero(o->count, sizeof *kinds), first;
        struct contents c;

        contents_open(&c, f, &o->modules);
        contents_look(&c, o->at, o->count, kinds);
        first = contents_store(&c, p, PROFILE_KIND_OLDER);
        contents_free(&c);
        for (uint64_t i = 0; i < o->count; i++) {
                blocks[i] = (struct profile_block){ .address = o->at[i].start,
                                                    .size = o->at[i].end - o->at[i].start,
                                                    .site = first + kinds[i] };
                count(p, &blocks[i]);
        }
        join(p, blocks, o->count);
        free(blocks);
        free(kinds);
}

/* ---- from one recording to another ---- */

static const char *name_of(const struct profile *p, const struct profile_site *site)
{
        uint64_t pc = p->nodes[site->node].pc;
        uint32_t i = (uint32_t)FIND_FIRST(p->jit_count, k, p->jit[k].start < pc);

        return i < p->jit_count && p->jit[i].start == pc ? p->jit[i].name : "";
}

/* By site of FROM: the one that P has for it; 0: it is none of an older block. */
static uint32_t *copy_sites(const struct profile *from, struct profile *p)
{
        uint32_t *to = heap_zero(from->site_count, sizeof *to), count = 0, first;
        char **names = heap_zero(from->site_count, sizeof *names);

        for (uint32_t i = 1; i < from->site_count; i++)
                if (profile_is_older(from, i))
                        names[count++] = heap_text(name_of(from, &from->sites[i]));
        first = contents_name_sites(p, names, count, PROFILE_KIND_OLDER);
        for (uint32_t i = 1; i < from->site_count; i++)
                if (profile_is_older(from, i))
                        to[i] = first++;
        free(names);
        return to;
}

/* The older blocks of FROM as those of P, but for addresses that P has a block at. */
static uint64_t copy_blocks(const struct profile *from, struct profile *p, const uint32_t *sites,
                            struct profile_block **out)
{
        struct packed_walk w, known;
        uint64_t count = 0, end = 0;
        bool more;

        packed_open(&w, from);
        packed_open(&known, p);
        more = packed_next(&known);
        while (packed_next(&w)) {
                struct profile_block b = *w.block;

                if (!profile_is_older(from, b.site))
                        continue;
                for (; more && known.block->address < b.address + b.size;
                     more = packed_next(&known))
                        if (p->sites[known.block->site].kind != LEDGER_KIND_POOL)
                                end = known.block->address + known.block->size;
                if (end > b.address)
                        continue;
                b.site = sites[b.site];
                *out = heap_next(*out, count, sizeof **out);
                (*out)[count++] = b;
        }
        packed_close(&w);
        packed_close(&known);
        return count;
}

void older_copy(const struct profile *from, struct profile *p)
{
        struct profile_block *blocks = NULL;
        uint32_t *sites = copy_sites(from, p);
        uint64_t found = copy_blocks(from, p, sites, &blocks);

        for (uint64_t i = 0; i < found; i++)
                count(p, &blocks[i]);
        join(p, blocks, found);
        free(blocks);
        free(sites);
}

/* ---- in hand ---- */

#define HANDS_WORDS 128u /* of a stack: what malloc and free have in hand */
#define HANDS_CHUNK 16u  /* bytes of a chunk before its block */

/* Malloc and free know blocks by their chunks.  One that a thread is just getting
 * or releasing is not lost. */
static void spare(struct scan_entries *e, const struct freeze *f, const struct freeze_thread *t)
{
        uint64_t words[FREEZE_REGISTERS_MOST + HANDS_WORDS] = { 0 };

        memcpy(words, t->registers, sizeof t->registers);
        freeze_read(f, t->sp, words + FREEZE_REGISTERS_MOST, HANDS_WORDS * sizeof *words);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                uint64_t block = words[i] + HANDS_CHUNK, k = scan_entries_find(e, block);

                if (k < e->count && e->at[k].address == block)
                        e->at[k].flags |= SEARCH_BLOCK_IGNORED;
        }
}

void older_spare_in_hand(struct scan_entries *e, const struct freeze *f, const struct profile *p,
                         uint64_t malloc_at)
{
        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *m = &p->modules[i];

                for (uint32_t k = 0;
                     malloc_at >= m->start && malloc_at < m->end && k < f->thread_count; k++)
                        if (f->threads[k].pc >= m->start && f->threads[k].pc < m->end)
                                spare(e, f, &f->threads[k]);
        }
}
