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

/* Blocks in order: they are taken in runs, each of which is sorted and packed, and which are merged
 * as they are written.  All of them as an array would be 32 bytes for each. */
struct blocks_run {
        struct profile blocks; /* of which nothing else is used */
        struct packed_walk walk;
        bool more; /* the walk stands at a block */
};

/* The blocks or regions that are to be listed. */
struct blocks_found {
        const char *noun, *what;
        const struct profile *p;
        const struct blocks_options *options;
        struct profile_block *list, *copy; /* the run that is being filled, and to sort it */
        uint64_t *keys;
        uint64_t length, room;
        struct blocks_run *runs;
        uint32_t run_count;
        uint64_t count, times, bytes;
};

static bool comes_first(const struct blocks_found *f, const struct profile_block *x,
                        const struct profile_block *y)
{
        return f->options->oldest_first && x->birth_ms != y->birth_ms ? x->birth_ms < y->birth_ms
                                                                      : is_larger(x, y);
}

static void run_sort(struct blocks_found *f)
{
        uint32_t count = (uint32_t)f->length, *order = arrange_start(count);

        f->copy = heap_grow(f->copy, f->room, sizeof *f->copy);
        f->keys = heap_grow(f->keys, f->room, sizeof *f->keys);
        for (uint32_t i = 0; i < count; i++)
                f->keys[i] = f->list[i].address;
        arrange_by(order, count, f->keys);
        for (uint32_t i = 0; i < count; i++)
                f->keys[i] = ~f->list[i].size;
        arrange_by(order, count, f->keys);
        for (uint32_t i = 0; i < count; i++)
                f->keys[i] = f->options->oldest_first ? f->list[i].birth_ms : 0;
        arrange_by(order, count, f->keys);
        for (uint32_t i = 0; i < count; i++)
                f->copy[i] = f->list[order[i]];
        free(order);
}

/* What was taken becomes a run: of more than will be listed, only the first ones. */
static void run_end(struct blocks_found *f)
{
        uint64_t limit = f->options->limit, count = f->length;
        struct blocks_run *run;
        struct packer *packer;

        if (!count)
                return;
        run_sort(f);
        if (limit && limit < count)
                count = limit;
        f->runs = heap_grow(f->runs, f->run_count + 1u, sizeof *f->runs);
        run = &f->runs[f->run_count++];
        *run = (struct blocks_run){ .blocks = { .site_count = f->p->site_count,
                                                .thread_count = f->p->thread_count } };
        packer = packer_blocks(&run->blocks);
        for (uint64_t i = 0; i < count; i++)
                packer_add(packer, &f->copy[i]);
        if (!packer_end(packer, &run->blocks)) { /* of a thread that is not there, say */
                run->blocks.blocks = f->copy;
                run->blocks.block_count = count;
                f->copy = NULL;
        }
        f->length = 0;
}

static void blocks_take(struct blocks_found *f, const struct profile_block *block)
{
        if (f->length == BLOCKS_RUN)
                run_end(f);
        if (f->length == f->room) {
                f->room = f->room ? f->room * 2 : 1024;
                f->list = heap_grow(f->list, f->room, sizeof *f->list);
        }
        f->list[f->length++] = *block;
        f->count++;
        f->times += times_of(f->p, block);
        f->bytes += times_of(f->p, block) * block->size;
}

/* No more are taken. */
static void order_start(struct blocks_found *f)
{
        run_end(f);
        free(f->list);
        free(f->copy);
        free(f->keys);
        for (uint32_t i = 0; i < f->run_count; i++) {
                packed_open_blocks(&f->runs[i].walk, &f->runs[i].blocks);
                f->runs[i].more = packed_next(&f->runs[i].walk);
        }
}

static struct profile_block order_next(struct blocks_found *f)
{
        struct profile_block next;
        struct blocks_run *first = NULL;

        for (uint32_t i = 0; i < f->run_count; i++)
                if (f->runs[i].more &&
                    (!first || comes_first(f, f->runs[i].walk.block, first->walk.block)))
                        first = &f->runs[i];
        if (!first)
                return (struct profile_block){ 0 };
        next = *first->walk.block;
        first->more = packed_next(&first->walk);
        return next;
}

static void order_end(struct blocks_found *f)
{
        for (uint32_t i = 0; i < f->run_count; i++) {
                packed_close(&f->runs[i].walk);
                f->runs[i].blocks.site_count = f->runs[i].blocks.thread_count = 0;
                profile_free(&f->runs[i].blocks);
        }
        free(f->runs);
}

static void blocks_list(const struct selection *sel, struct symbols *s, struct blocks_found *f,
                        struct str *out)
{
        const struct blocks_options *options = f->options;
        uint64_t shown = options->limit && options->limit < f->count ? options->limit : f->count;
        struct profile_block soon[STACK_AHEAD];
        struct stack_writer stacks;

        order_start(f);
        if (options->csv)
                csv_start(&stacks, sel, s, out);
        else
                stack_start(&stacks, sel, s, "    ", out);
        for (uint64_t i = 0; i < shown && i < STACK_AHEAD; i++)
                soon[i] = order_next(f);
        for (uint64_t i = 0; i < shown; i++) {
                struct profile_block block = soon[i % STACK_AHEAD];

                if (i + STACK_AHEAD < shown) {
                        soon[i % STACK_AHEAD] = order_next(f);
                        stack_expect(&stacks,
                                     sel->profile->sites[soon[i % STACK_AHEAD].site].node);
                }
                progress_tell(sel->progress, i, shown);
                if (options->csv) {
                        blocks_csv(&stacks, &block);
                } else {
                        blocks_line(sel->profile, &block, options->color, out);
                        stack_add_site(&stacks, sel->profile->sites[block.site].node);
                        str_char(out, '\n');
                }
                str_drain(out);
        }
        order_end(f);
        if (shown < f->count && !options->csv) {
                text_number(out, (int64_t)(f->count - shown));
                str_format(out, " more (-n %" PRIu32 ")\n", options->limit);
        }
        stack_end(&stacks);
}

static void blocks_part(const struct selection *sel, struct symbols *s, struct blocks_found *f,
                        struct str *out)
{
        if (!f->options->csv) {
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
        blocks_list(sel, s, f, out);
}

static struct blocks_found blocks_of_heap(const struct selection *sel,
                                          const struct select_part *part,
                                          const struct blocks_options *options)
{
        uint8_t *chosen = select_sites(sel, part);
        struct blocks_found found = { .noun = "block",
                                      .what = part == &sel->older ? PROFILE_KIND_OLDER_TEXT
                                                                  : "not freed",
                                      .p = sel->profile, .options = options };
        struct packed_walk w;

        packed_open(&w, sel->profile);
        while (packed_next(&w))
                if (blocks_wanted(sel->profile, w.block, chosen, options->filter))
                        blocks_take(&found, w.block);
        packed_close(&w);
        free(chosen);
        return found;
}

static struct blocks_found blocks_of_regions(const struct selection *sel,
                                             const struct blocks_options *options)
{
        uint8_t *chosen = select_sites(sel, &sel->mapped);
        struct blocks_found found = { .noun = "region", .what = "mapped by mmap",
                                      .p = sel->profile, .options = options };

        for (uint32_t i = 0; i < sel->profile->region_count; i++) {
                const struct profile_region *r = &sel->profile->regions[i];
                struct profile_block block = { r->start, r->end - r->start, r->site, r->thread,
                                               r->birth_ms };

                if (blocks_wanted(sel->profile, &block, chosen, options->filter))
                        blocks_take(&found, &block);
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
        blocks_part(sel, s, &found, out);
        if (sel->older.count) {
                found = blocks_of_heap(sel, &sel->older, options);
                blocks_part(sel, s, &found, out);
        }
        if (!sel->profile->region_count || !sel->mapped.count)
                return;
        found = blocks_of_regions(sel, options);
        blocks_part(sel, s, &found, out);
}
