/* SPDX-License-Identifier: MIT */
/*
 * blocks.c -- each block that was not freed: address, size, time, age, thread, stack.
 *
 * Room:   outside.
 */
#include "report/blocks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "ledger/ledger.h"
#include "report/csv.h"
#include "report/stack.h"
#include "report/text.h"

static int larger_first(const void *a, const void *b)
{
        const struct profile_block *x = a, *y = b;

        if (x->size != y->size)
                return x->size > y->size ? -1 : 1;
        return x->address < y->address ? -1 : x->address > y->address;
}

static int older_first(const void *a, const void *b)
{
        const struct profile_block *x = a, *y = b;

        return x->birth_ms != y->birth_ms ? (x->birth_ms < y->birth_ms ? -1 : 1) : larger_first(a, b);
}

/* Of a sampled recording, which has no other blocks: how many there were like this one.  Regions are never sampled. */
static uint64_t times_of(const struct profile *p, const struct profile_block *block)
{
        return LEDGER_KIND_IS_MAPPED(p->sites[block->site].kind) ? 1 : profile_block_times(p, block);
}

static void blocks_line(const struct profile *p, const struct profile_block *block, int color, struct str *out)
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
        const struct profile_thread *thread = &p->threads[block->thread < p->thread_count ? block->thread : 0];

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

static bool blocks_wanted(const struct profile *p, const struct profile_block *block, const uint8_t *chosen,
                          const struct filter *f)
{
        if (block->site >= p->site_count || !chosen[block->site])
                return false;
        return !f || block->thread >= p->thread_count || filter_thread(f, &p->threads[block->thread]);
}

static void blocks_list(const struct selection *sel, struct symbols *s, struct profile_block *list, uint64_t count,
                        const struct blocks_options *options, struct str *out)
{
        uint64_t shown = options->limit && options->limit < count ? options->limit : count;
        struct stack_writer stacks;

        qsort(list, count, sizeof *list, options->oldest_first ? older_first : larger_first);
        if (options->csv) {
                csv_start(&stacks, sel, s, out);
                for (uint64_t i = 0; i < shown; i++) {
                        blocks_csv(&stacks, &list[i]);
                        str_drain(out);
                }
                stack_end(&stacks);
                return;
        }
        stack_start(&stacks, sel, s, "    ", out);
        for (uint64_t i = 0; i < shown; i++) {
                progress_tell(sel->progress, i, shown);
                blocks_line(sel->profile, &list[i], options->color, out);
                stack_add_site(&stacks, sel->profile->sites[list[i].site].node);
                str_char(out, '\n');
                str_drain(out);
        }
        if (shown < count) {
                text_number(out, (int64_t)(count - shown));
                str_format(out, " more (-n %" PRIu32 ")\n", options->limit);
        }
        stack_end(&stacks);
}

static void blocks_part(const struct selection *sel, struct symbols *s, const struct profile_block *all,
                        uint64_t all_count, const struct select_part *part, const char *noun, const char *what,
                        const struct blocks_options *options, struct str *out)
{
        struct profile_block *list = heap_zero(all_count, sizeof *list);
        uint8_t *chosen = select_sites(sel, part);
        uint64_t count = 0, times = 0, bytes = 0;

        for (uint64_t i = 0; i < all_count; i++)
                if (blocks_wanted(sel->profile, &all[i], chosen, options->filter)) {
                        list[count++] = all[i];
                        times += times_of(sel->profile, &all[i]);
                        bytes += times_of(sel->profile, &all[i]) * all[i].size;
                }
        if (!options->csv) {
                text_count(out, (int64_t)times, noun);
                str_format(out, " %s, ", what);
                text_number(out, (int64_t)bytes);
                str_text(out, " B");
                if (times != count) {
                        str_text(out, ": estimates from ");
                        text_count(out, (int64_t)count, noun);
                }
                str_text(out, "\n\n");
        }
        blocks_list(sel, s, list, count, options, out);
        free(chosen);
        free(list);
}

void blocks_write(const struct selection *sel, struct symbols *s, const struct blocks_options *options, struct str *out)
{
        const struct profile *p = sel->profile;
        struct profile_block *regions;

        if (options->csv)
                csv_names(out, "address,size,birth_ms,tid,thread,kind,times,stack");
        blocks_part(sel, s, p->blocks, p->block_count, &sel->heap, "block", "not freed", options, out);
        if (!p->region_count || !sel->mapped.count)
                return;
        regions = heap_zero(p->region_count, sizeof *regions);
        for (uint32_t i = 0; i < p->region_count; i++)
                regions[i] = (struct profile_block){ p->regions[i].start, p->regions[i].end - p->regions[i].start,
                                                     p->regions[i].site, p->regions[i].thread, p->regions[i].birth_ms };
        blocks_part(sel, s, regions, p->region_count, &sel->mapped, "region", "mapped by mmap", options, out);
        free(regions);
}
