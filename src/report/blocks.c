/* SPDX-License-Identifier: MIT */
/* blocks.c -- each block that was not freed: address, size, time, age, thread, stack. */
#include "report/views.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "ledger/ledger.h"
#include "profile/packed.h"
#include "report/stack.h"
#include "words/csv.h"
#include "words/text.h"

#define BLOCKS_RUN (1u << 20) /* blocks that are sorted at once */

static bool is_larger(const struct profile_block *x, const struct profile_block *y)
{
        return x->size != y->size ? x->size > y->size : x->address < y->address;
}

/* Of a sampled recording, which has no other blocks: how many there were like this one.
 * Regions are never sampled. */
static uint64_t times_of(const struct profile *p, const struct profile_block *block)
{
        return LEDGER_KIND_IS_MAPPED(p->sites[block->site].kind) ? 1
                                                                 : profile_block_times(p, block);
}

static void blocks_line(const struct profile *p, const struct profile_block *block, int color,
                        struct str *out)
{
        uint64_t end = p->meta.duration_ms;
        size_t start = out->length;

        str_format(out, "0x%" PRIx64, block->address);
        text_pad(out, start, 16);
        text_color(out, color, TEXT_BOLD);
        text_number(out, (int64_t)block->size);
        str_text(out, " B");
        text_plain(out, color);
        if (profile_is_sampled(p)) {
                str_text(out, ", stands for ");
                text_number(out, (int64_t)times_of(p, block));
        }
        if (!profile_is_seen(p, block->site)) {
                str_format(out, ", site #%" PRIu32 "\n", block->site);
                return;
        }
        str_text(out, ", at ");
        text_time(out, block->birth_ms);
        str_text(out, ", age ");
        text_time(out, end > block->birth_ms ? end - block->birth_ms : 0);
        if (block->thread < p->thread_count && p->threads[block->thread].tid) {
                str_text(out, ", thread ");
                text_name(out, p->threads[block->thread].name);
                str_format(out, " (%" PRIu32 ")", p->threads[block->thread].tid);
        }
        str_format(out, ", by %s\n", profile_kind_name(p, p->sites[block->site].kind));
}

static void blocks_csv(struct stack_writer *w, const struct profile_block *block)
{
        const struct profile *p = w->sel->profile;
        struct str *out = w->out;
        const struct profile_thread *thread =
                &p->threads[block->thread < p->thread_count ? block->thread : 0];

        str_format(out, "0x%" PRIx64 ",", block->address);
        csv_number(out, block->size);
        csv_number(out, block->birth_ms);
        csv_number(out, thread->tid);
        csv_text(out, thread->name);
        csv_text(out, profile_kind_name(p, p->sites[block->site].kind));
        csv_number(out, times_of(p, block));
        csv_stack(w, (struct wrapper_frame){ p->sites[block->site].node, 0 });
        csv_end(out);
}

static bool blocks_wanted(const struct profile *p, const struct profile_block *block,
                          const uint8_t *chosen, const struct filter *f)
{
        if (block->site >= p->site_count || !chosen[block->site])
                return false;
        return !f || block->thread >= p->thread_count ||
               filter_thread(f, &p->threads[block->thread]);
}

/* Blocks in order: the list is sorted in runs, which are merged as they are written.  Sorting all
 * of it would need it twice. */
struct blocks_order {
        struct profile_block *list;
        uint64_t count;
        bool oldest_first;
        uint64_t *at; /* by run: what comes next of it */
        uint64_t runs;
};

static bool comes_first(const struct blocks_order *o, const struct profile_block *x,
                        const struct profile_block *y)
{
        return o->oldest_first && x->birth_ms != y->birth_ms ? x->birth_ms < y->birth_ms
                                                             : is_larger(x, y);
}

/* KEYS and COPY have room for a run. */
static void order_run(const struct blocks_order *o, struct profile_block *run, uint32_t count,
                      uint64_t *keys, struct profile_block *copy)
{
        uint32_t *order = arrange_start(count);

        for (uint32_t i = 0; i < count; i++)
                keys[i] = run[i].address;
        arrange_by(order, count, keys);
        for (uint32_t i = 0; i < count; i++)
                keys[i] = ~run[i].size;
        arrange_by(order, count, keys);
        for (uint32_t i = 0; i < count; i++)
                keys[i] = o->oldest_first ? run[i].birth_ms : 0;
        arrange_by(order, count, keys);
        memcpy(copy, run, count * sizeof *run);
        for (uint32_t i = 0; i < count; i++)
                run[i] = copy[order[i]];
        free(order);
}

static void order_start(struct blocks_order *o)
{
        uint64_t most = o->count < BLOCKS_RUN ? o->count : BLOCKS_RUN;
        struct profile_block *copy = heap_grow(NULL, most, sizeof *copy);
        uint64_t *keys = heap_grow(NULL, most, sizeof *keys);

        o->runs = (o->count + BLOCKS_RUN - 1) / BLOCKS_RUN;
        o->at = heap_zero(o->runs, sizeof *o->at);
        for (uint64_t i = 0; i < o->runs; i++) {
                o->at[i] = i * BLOCKS_RUN;
                order_run(o, o->list + o->at[i],
                          (uint32_t)(o->count - o->at[i] < BLOCKS_RUN ? o->count - o->at[i]
                                                                      : BLOCKS_RUN),
                          keys, copy);
        }
        free(keys);
        free(copy);
}

static const struct profile_block *order_next(struct blocks_order *o)
{
        const struct profile_block *next = NULL;
        uint64_t run = 0;

        for (uint64_t i = 0; i < o->runs; i++) {
                if (o->at[i] == o->count || (o->at[i] == (i + 1) * BLOCKS_RUN))
                        continue;
                if (!next || comes_first(o, &o->list[o->at[i]], next)) {
                        next = &o->list[o->at[i]];
                        run = i;
                }
        }
        o->at[run]++;
        return next;
}

static void blocks_list(const struct selection *sel, struct symbols *s, struct profile_block *list,
                        uint64_t count, const struct blocks_options *options, struct str *out)
{
        uint64_t shown = options->limit && options->limit < count ? options->limit : count;
        struct blocks_order order = { .list = list, .count = count,
                                      .oldest_first = options->oldest_first };
        const struct profile_block *soon[STACK_AHEAD];
        struct stack_writer stacks;

        order_start(&order);
        if (options->csv)
                csv_start(&stacks, sel, s, out);
        else
                stack_start(&stacks, sel, s, "    ", out);
        for (uint64_t i = 0; i < shown && i < STACK_AHEAD; i++)
                soon[i] = order_next(&order);
        for (uint64_t i = 0; i < shown; i++) {
                const struct profile_block *block = soon[i % STACK_AHEAD];

                if (i + STACK_AHEAD < shown) {
                        soon[i % STACK_AHEAD] = order_next(&order);
                        stack_expect(&stacks,
                                     sel->profile->sites[soon[i % STACK_AHEAD]->site].node);
                }
                progress_tell(sel->progress, i, shown);
                if (options->csv) {
                        blocks_csv(&stacks, block);
                } else {
                        blocks_line(sel->profile, block, options->color, out);
                        stack_add_site(&stacks, sel->profile->sites[block->site].node);
                        str_char(out, '\n');
                }
                str_drain(out);
        }
        free(order.at);
        if (shown < count && !options->csv) {
                text_number(out, (int64_t)(count - shown));
                str_format(out, " more (-n %" PRIu32 ")\n", options->limit);
        }
        stack_end(&stacks);
}

/* The blocks or regions that are to be listed. */
struct blocks_found {
        const char *noun, *what;
        struct profile_block *list;
        uint64_t count, room, times, bytes;
};

static void blocks_take(struct blocks_found *f, const struct profile *p,
                        const struct profile_block *block)
{
        if (f->count == f->room) {
                f->room += f->room / 2 + 1024;
                f->list = heap_grow(f->list, f->room, sizeof *f->list);
        }
        f->list[f->count++] = *block;
        f->times += times_of(p, block);
        f->bytes += times_of(p, block) * block->size;
}

static void blocks_part(const struct selection *sel, struct symbols *s, struct blocks_found *f,
                        const struct blocks_options *options, struct str *out)
{
        if (!options->csv) {
                text_count(out, (int64_t)f->times, f->noun);
                str_format(out, " %s, ", f->what);
                text_number(out, (int64_t)f->bytes);
                str_text(out, " B");
                if (f->times != f->count) {
                        str_text(out, ": estimates from ");
                        text_count(out, (int64_t)f->count, f->noun);
                }
                str_text(out, "\n\n");
        }
        blocks_list(sel, s, f->list, f->count, options, out);
        free(f->list);
}

static struct blocks_found blocks_of_heap(const struct selection *sel,
                                          const struct select_part *part,
                                          const struct blocks_options *options)
{
        uint8_t *chosen = select_sites(sel, part);
        struct blocks_found found = { .noun = "block",
                                      .what = part == &sel->older ? PROFILE_KIND_OLDER_TEXT
                                                                  : "not freed" };
        struct packed_walk w;

        packed_open(&w, sel->profile);
        while (packed_next(&w))
                if (blocks_wanted(sel->profile, w.block, chosen, options->filter))
                        blocks_take(&found, sel->profile, w.block);
        packed_close(&w);
        free(chosen);
        return found;
}

static struct blocks_found blocks_of_regions(const struct selection *sel,
                                             const struct blocks_options *options)
{
        uint8_t *chosen = select_sites(sel, &sel->mapped);
        struct blocks_found found = { .noun = "region", .what = "mapped by mmap" };

        for (uint32_t i = 0; i < sel->profile->region_count; i++) {
                const struct profile_region *r = &sel->profile->regions[i];
                struct profile_block block = { r->start, r->end - r->start, r->site, r->thread,
                                               r->birth_ms };

                if (blocks_wanted(sel->profile, &block, chosen, options->filter))
                        blocks_take(&found, sel->profile, &block);
        }
        free(chosen);
        return found;
}

void blocks_write(const struct selection *sel, struct symbols *s,
                  const struct blocks_options *options, struct str *out)
{
        struct blocks_found found = blocks_of_heap(sel, &sel->heap, options);

        if (options->csv)
                csv_names(out, "address,size,birth_ms,tid,thread,kind,times,stack");
        blocks_part(sel, s, &found, options, out);
        if (sel->older.count) {
                found = blocks_of_heap(sel, &sel->older, options);
                blocks_part(sel, s, &found, options, out);
        }
        if (!sel->profile->region_count || !sel->mapped.count)
                return;
        found = blocks_of_regions(sel, options);
        blocks_part(sel, s, &found, options, out);
}
