/* SPDX-License-Identifier: MIT */
#include "query/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "ledger/ledger.h"
#include "profile/packed.h"
#include "profile/reserve.h"
#include "query/merge.h"
#include "query/wrapper_learn.h"
#include "query/survivors.h"

static const struct {
        const char *word, *heading;
        bool counts;
} select_costs[] = {
#define SELECT_COST_ROW(id, word, heading, counts) { word, heading, counts },
        SELECT_COSTS(SELECT_COST_ROW)
#undef SELECT_COST_ROW
};

static enum select_moment select_moment_of(const struct select_request *r)
{
        if (r->from.type != MOMENT_NONE)
                return SELECT_OF_RANGE;
        if (r->at.type == MOMENT_PEAK)
                return SELECT_OF_PEAK;
        if (r->at.type != MOMENT_NONE && r->at.type != MOMENT_END)
                return SELECT_OF_TIME;
        return filter_has(r->filter, FILTER_THREAD) ? SELECT_OF_THREADS : SELECT_OF_RUN;
}

static bool is_of_time(enum select_moment moment)
{
        return moment == SELECT_OF_TIME || moment == SELECT_OF_RANGE;
}

static void select_name_time(struct selection *sel, const struct select_request *r)
{
        uint64_t end = sel->profile->meta.duration_ms;
        struct str text = { 0 };

        if (sel->moment == SELECT_OF_TIME) {
                struct moment at = r->at;

                if (end && at.ms > end)
                        at.ms = end;
                moment_name(sel->profile, &at, &text);
        }
        if (sel->moment == SELECT_OF_RANGE) {
                moment_name(sel->profile, &r->from, &text);
                str_text(&text, " to ");
                moment_name(sel->profile, &r->to, &text);
        }
        snprintf(sel->when, sizeof sel->when, "%s", str_get(&text));
        str_free(&text);
}

static void select_name(struct selection *sel, const struct select_request *r)
{
        const char *cost = r->cost == SELECT_TOTAL ? "allocated" : select_costs[r->cost].heading;
        bool live = r->cost == SELECT_LIVE;
        bool mapped = r->memory == SELECT_MMAP || r->memory == SELECT_BOTH;

        sel->moment = select_moment_of(r);
        sel->survivors = sel->moment == SELECT_OF_RANGE && !r->change &&
                         survivors_known(sel->profile, &r->from, &r->to);
        select_name_time(sel, r);
        if (sel->moment == SELECT_OF_TIME)
                snprintf(sel->heading, sizeof sel->heading, "%s %s %s", live ? "live" : cost,
                         live ? "at" : "until", sel->when);
        else if (sel->survivors && live)
                snprintf(sel->heading, sizeof sel->heading, "allocated from %s and still live then",
                         sel->when);
        else if (sel->moment == SELECT_OF_RANGE)
                snprintf(sel->heading, sizeof sel->heading, "%s from %s", live ? "change" : cost,
                         sel->when);
        else
                snprintf(sel->heading, sizeof sel->heading, "%s",
                         live && sel->moment == SELECT_OF_PEAK   ? "live at the peak"
                         : mapped && r->cost == SELECT_PEAK ? "when the heap was at its peak"
                                                            : select_costs[r->cost].heading);
        if (mapped) {
                size_t length = strlen(sel->heading);

                snprintf(sel->heading + length, sizeof sel->heading - length, ", %s",
                         select_memory_text(sel));
        }
}

static const struct {
        const char *word, *text;
} select_memories[] = { [SELECT_APART] = { "", "heap" },
                        [SELECT_HEAP] = { "heap", "heap" },
                        [SELECT_MMAP] = { "mmap", "mapped by mmap" },
                        [SELECT_BOTH] = { "both", "heap and mmap" } };

const char *select_memory_word(enum select_memory memory)
{
        return select_memories[memory].word;
}

const char *select_memory_text(const struct selection *sel)
{
        return select_memories[sel->memory].text;
}

bool select_memory_named(const char *name, enum select_memory *memory)
{
        for (enum select_memory i = SELECT_HEAP; i < SELECT_MEMORY_COUNT; i++)
                if (strcmp(select_memories[i].word, name) == 0) {
                        *memory = i;
                        return true;
                }
        return false;
}

struct select_known select_known(const struct selection *sel)
{
        bool run = sel->moment == SELECT_OF_RUN, threads = sel->moment == SELECT_OF_THREADS,
             peak = sel->moment == SELECT_OF_PEAK;

        return (struct select_known){ .calls = !peak, .peak = run || peak,
                                      .temporary = run || threads, .lifetimes = run,
                                      .end = run || threads };
}

bool select_counts(enum select_cost cost)
{
        return select_costs[cost].counts;
}

const char *select_cost_word(enum select_cost cost)
{
        return select_costs[cost].word;
}

bool select_cost_named(const char *word, enum select_cost *cost)
{
        for (int i = 0; i < SELECT_COST_COUNT; i++)
                if (strcmp(word, select_costs[i].word) == 0) {
                        *cost = (enum select_cost)i;
                        return true;
                }
        return false;
}

int64_t select_weight(const struct selection *sel, uint64_t bytes, uint64_t count)
{
        return (int64_t)(select_costs[sel->cost].counts ? count : bytes);
}

static bool select_is_map(uint32_t kind)
{
        return LEDGER_KIND_IS_MAPPED(kind);
}

/* One row per site (row i is site i), with the numbers of the whole run. */
static struct select_row *rows_of_run(const struct profile *p)
{
        struct select_row *rows = heap_full(p->site_count, sizeof *rows);

        for (uint32_t i = 1; i < p->site_count; i++) {
                const struct profile_site *site = &p->sites[i];

                rows[i] = (struct select_row){
                        .site = i,
                        .node = site->node,
                        .kind = site->kind,
                        .merged = 1,
                        .allocs = site->allocs,
                        .frees = site->frees,
                        .alloc_bytes = site->alloc_bytes,
                        .live_blocks = site->live_blocks,
                        .live_bytes = site->live_bytes,
                        .peak_blocks = site->peak_blocks,
                        .peak_bytes = site->peak_bytes,
                        .temporary = site->temporary,
                        .lifetime_ms = site->lifetime_ms,
                };
        }
        return rows;
}

static void rows_of_peak(struct select_row *rows, uint32_t count)
{
        for (uint32_t i = 1; i < count; i++) {
                rows[i].live_bytes = rows[i].peak_bytes;
                rows[i].live_blocks = rows[i].peak_blocks;
        }
}

/* SIGN 1 adds, UINT64_MAX subtracts.  What a slice does not tell stays zero. */
static void rows_add_moment(struct select_row *rows, const struct profile_change *then,
                            uint32_t count, uint64_t sign)
{
        for (uint32_t i = 1; i < count; i++) {
                struct select_row *row = &rows[i];

                row->allocs += sign * then[i].allocs;
                row->alloc_bytes += sign * then[i].alloc_bytes;
                row->live_bytes += sign * then[i].live_bytes;
                row->live_blocks += sign * then[i].live_blocks;
        }
}

static void rows_clear(struct select_row *rows, uint32_t count)
{
        for (uint32_t i = 1; i < count; i++) {
                struct select_row *r = &rows[i];

                r->allocs = r->frees = r->alloc_bytes = r->live_blocks = r->live_bytes = 0;
                r->peak_blocks = r->peak_bytes = r->temporary = 0;
                r->lifetime_ms = 0;
        }
}

/* The numbers of all sites at a moment.  false: there is no slice that early. */
static bool sites_at(const struct profile *p, const struct moment *m, struct profile_change *out)
{
        switch (m->type) {
        case MOMENT_START:
                memset(out, 0, p->site_count * sizeof *out);
                return true;
        case MOMENT_TIME:
                return profile_at(p, m->ms, out);
        case MOMENT_MARK:
                return profile_at_slice(p, p->marks[m->mark].slice, out);
        default:
                for (uint32_t i = 1; i < p->site_count; i++) {
                        const struct profile_site *site = &p->sites[i];

                        out[i] = (struct profile_change){ i, 0, site->live_bytes, site->live_blocks,
                                                          site->allocs, site->alloc_bytes };
                }
                return true;
        }
}

static void rows_of_range(struct select_row *rows, const struct profile *p,
                          const struct select_request *r, struct profile_change *then)
{
        if (sites_at(p, &r->from, then)) /* no slice that early: nothing had happened */
                rows_add_moment(rows, then, p->site_count, UINT64_MAX);
        if (sites_at(p, &r->to, then))
                rows_add_moment(rows, then, p->site_count, 1);
}

static bool rows_of_moment(struct select_row *rows, const struct profile *p,
                           const struct select_request *r, struct err *e)
{
        struct profile_change *then = heap_zero(p->site_count, sizeof *then);
        const struct moment *last = r->from.type == MOMENT_NONE ? &r->at : &r->to;
        bool good = sites_at(p, last, then);

        rows_clear(rows, p->site_count);
        if (!good)
                err_set(e, ERR_EXIT_USAGE,
                        "the recording has no time slice that early (the first is at %llu ms)",
                        p->slice_count ? (unsigned long long)p->slices[0].ms : 0ull);
        else if (last == &r->at)
                rows_add_moment(rows, then, p->site_count, 1);
        else
                rows_of_range(rows, p, r, then);
        for (uint32_t i = 1; i < p->site_count; i++)
                rows[i].frees = rows[i].allocs - rows[i].live_blocks;
        free(then);
        return good;
}

/* Calls by what each thread did, live numbers by the blocks it made. */
static void rows_of_threads(struct select_row *rows, const struct profile *p,
                            const struct filter *f)
{
        uint8_t *wanted = heap_zero(p->thread_count, 1);
        struct packed_walk w;

        for (uint32_t i = 0; i < p->thread_count; i++)
                wanted[i] = filter_thread(f, &p->threads[i]);
        rows_clear(rows, p->site_count);
        for (uint32_t i = 0; i < p->share_count; i++) {
                const struct profile_share *share = &p->shares[i];

                if (share->thread >= p->thread_count || !wanted[share->thread] ||
                    share->site >= p->site_count)
                        continue;
                rows[share->site].allocs += share->allocs;
                rows[share->site].alloc_bytes += share->alloc_bytes;
                rows[share->site].frees += share->frees;
                rows[share->site].temporary += share->temporary;
        }
        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *block = w.block;

                if (block->thread >= p->thread_count || !wanted[block->thread] ||
                    block->site >= p->site_count)
                        continue;
                rows[block->site].live_blocks += profile_block_times(p, block);
                rows[block->site].live_bytes += profile_block_times(p, block) * block->size;
        }
        packed_close(&w);
        for (uint32_t i = 0; i < p->region_count; i++) {
                const struct profile_region *region = &p->regions[i];

                if (region->thread >= p->thread_count || !wanted[region->thread] ||
                    region->site >= p->site_count)
                        continue;
                rows[region->site].live_blocks++;
                rows[region->site].live_bytes += (region->end - region->start);
        }
        free(wanted);
}

static void row_choose(struct select_row *row, enum select_cost cost)
{
        switch (cost) {
        case SELECT_PEAK:
                row->bytes = row->peak_bytes;
                row->count = row->peak_blocks;
                break;
        case SELECT_TOTAL:
        case SELECT_ALLOCS:
                row->bytes = row->alloc_bytes;
                row->count = row->allocs;
                break;
        case SELECT_TEMPORARY:
                row->count = row->temporary;
                break;
        default:
                row->bytes = row->live_bytes;
                row->count = row->live_blocks;
        }
}

static void part_add(struct select_part *part, const struct select_row *row)
{
        part->rows[part->count++] = *row;
        part->total_bytes += row->bytes;
        part->total_count += row->count;
}

/* NULL: it is not asked for.  RESERVED: of it little was used, so that it would hide the heap in
 * one sum. */
static struct select_part *part_of(struct selection *sel, uint32_t kind, bool reserved)
{
        if (kind == PROFILE_KIND_OLDER)
                return &sel->older;
        if (sel->memory == (select_is_map(kind) ? SELECT_HEAP : SELECT_MMAP))
                return NULL;
        return select_is_map(kind) && (sel->memory == SELECT_APART ||
                                       (sel->memory == SELECT_BOTH && reserved))
                       ? &sel->mapped
                       : &sel->heap;
}

/* Room for the rows of the other parts than the heap. */
static void make_room(struct selection *sel)
{
        const struct profile *p = sel->profile;
        uint32_t mapped = 0, older = 0;

        for (uint32_t i = 1; i < p->site_count; i++) {
                mapped += select_is_map(p->sites[i].kind);
                older += p->sites[i].kind == PROFILE_KIND_OLDER;
        }
        sel->mapped.rows = heap_zero(mapped, sizeof *sel->mapped.rows);
        sel->older.rows = heap_zero(older, sizeof *sel->older.rows);
}

/* The rows of the heap stay in ROWS, which is theirs then: they only move down. */
static void select_sort_out(struct selection *sel, struct select_row *rows, struct symbols *s,
                            const struct select_request *r)
{
        const struct profile *p = sel->profile;
        bool *reserved = reserve_sites(p);
        struct select_part *part;

        sel->whole = sel->moment == SELECT_OF_RUN && !r->resources && r->memory == SELECT_APART;
        sel->heap.rows = rows;
        make_room(sel);
        for (uint32_t i = 1; i < p->site_count; i++) {
                struct select_row *row = &rows[i];

                progress_tell(sel->progress, i, p->site_count);
                row_choose(row, sel->cost);
                if (LEDGER_KIND_IS_RESOURCE(row->kind) != r->resources)
                        continue;
                if (!row->allocs && !row->frees && !row->live_blocks && !row->peak_blocks &&
                    !row->temporary && !row->live_bytes)
                        continue;
                if (r->filter && !filter_stack(r->filter, p, s, row->node)) {
                        sel->whole = false;
                        continue;
                }
                part = part_of(sel, row->kind, reserved[i]);
                if (part)
                        part_add(part, row);
        }
        free(reserved);
        sel->heap.rows = heap_grow(rows, sel->heap.count, sizeof *rows);
}

struct wrapper_frame select_trim(const struct selection *sel, struct symbols *s, uint32_t node)
{
        return sel->fold ? fold_trim(sel->fold, node)
                         : wrappers_trim(sel->wrappers, sel->profile, s, node);
}

static void part_trim(const struct selection *sel, struct symbols *s, struct select_part *part)
{
        for (uint32_t i = 0; i < part->count; i++) {
                struct wrapper_frame end = select_trim(sel, s, part->rows[i].node);

                progress_tell(sel->progress, i, part->count);
                part->rows[i].node = end.node;
                part->rows[i].level = end.level;
        }
}

/* Stacks as they are shown: without wrappers, of at most some frames; those that became equal are
 * one. */
static void select_shorten(struct selection *sel, struct symbols *s, const struct select_request *r)
{
        bool trims = r->wrappers && !r->marked;

        if (r->each_site || (!trims && !r->depth_merge))
                return;
        if (trims) {
                part_trim(sel, s, &sel->heap);
                part_trim(sel, s, &sel->mapped);
                part_trim(sel, s, &sel->older);
        }
        if (r->depth_merge)
                cut_stacks(sel, r->depth_merge);
        merge_rows(sel);
}

static bool select_possible(const struct select_request *r, const struct profile *p, struct err *e)
{
        bool by_thread = filter_has(r->filter, FILTER_THREAD);
        bool by_time = is_of_time(select_moment_of(r));

        if (by_thread && by_time)
                return err_set(e, ERR_EXIT_USAGE,
                               "--thread cannot be combined with --at TIME or --range: time slices "
                               "do not tell threads apart");
        if (by_thread && r->cost == SELECT_PEAK)
                return err_set(e, ERR_EXIT_USAGE,
                               "--thread cannot be combined with the peak: it is the whole "
                               "program's; use --cost live or total");
        if (by_time && (r->cost == SELECT_PEAK || r->cost == SELECT_TEMPORARY))
                return err_set(e, ERR_EXIT_USAGE,
                               "--at TIME and --range know the costs live, total and allocs only");
        if (r->at.type == MOMENT_PEAK &&
            (by_thread || (r->cost != SELECT_PEAK && r->cost != SELECT_LIVE)))
                return err_set(e, ERR_EXIT_USAGE,
                               "--at peak knows what was live then, of all threads: no other "
                               "--cost and no --thread");
        if (by_time && !p->slice_count && r->at.type != MOMENT_START)
                return err_set(e, ERR_EXIT_USAGE,
                               "the recording has no time slices: it ended too soon for --at TIME "
                               "and --range");
        return true;
}

bool select_make(struct selection *sel, const struct profile *p, struct symbols *s,
                 const struct select_request *asked, struct err *e)
{
        struct select_request known = *asked, *r = &known;
        struct select_row *rows;
        bool good = true;

        /* All numbers are of the moments whose stacks are known, and headings name these. */
        known.at = moment_stacks(p, &asked->at);
        known.from = moment_stacks(p, &asked->from);
        known.to = moment_stacks(p, &asked->to);

        *sel = (struct selection){ .profile = p,
                                   .cost = r->cost,
                                   .memory = r->memory,
                                   .node_count = p->node_count,
                                   .wrappers = r->wrappers,
                                   .progress = r->progress,
                                   .columns = r->columns,
                                   .at = r->at,
                                   .from = r->from,
                                   .to = r->to,
                                   .change = r->change };
        select_name(sel, r);
        if (!select_possible(r, p, e))
                return false;
        if (r->wrappers && r->fold && !r->marked && !r->depth_merge) {
                /* Frames are counted as they are. */
                wrapper_learn(p, s);
                sel->fold = fold_new(p, s, r->wrappers);
                sel->fold->recursion = r->recursion;
        }
        sel->leaders = heap_zero(p->site_count, sizeof *sel->leaders);
        for (uint32_t i = 0; i < p->site_count; i++)
                sel->leaders[i] = i;
        rows = rows_of_run(p);
        if (sel->moment == SELECT_OF_PEAK)
                rows_of_peak(rows, p->site_count);
        else if (is_of_time(sel->moment))
                good = rows_of_moment(rows, p, r, e);
        else if (filter_has(r->filter, FILTER_THREAD))
                rows_of_threads(rows, p, r->filter);
        if (sel->survivors)
                survivors_count(rows, p, &r->from, &r->to);
        if (good) {
                select_sort_out(sel, rows, s, r);
                select_shorten(sel, s, r);
        } else {
                free(rows);
        }
        return good;
}

uint8_t *select_sites(const struct selection *sel, const struct select_part *part)
{
        uint32_t count = sel->profile->site_count;
        uint8_t *leads = heap_zero(count, 1), *chosen = heap_zero(count, 1);

        for (uint32_t i = 0; i < part->count; i++)
                leads[part->rows[i].site] = 1;
        for (uint32_t i = 1; i < count; i++)
                chosen[i] = leads[sel->leaders[i]];
        free(leads);
        return chosen;
}

void select_free(struct selection *sel)
{
        free(sel->heap.rows);
        free(sel->mapped.rows);
        free(sel->older.rows);
        free(sel->leaders);
        free(sel->parents);
        free(sel->origins);
        fold_free(sel->fold);
        *sel = (struct selection){ 0 };
}

/* ---- the nodes of a selection's tree that its stacks pass through ---- */

static void needed_part(const struct selection *sel, const struct select_part *part,
                        uint8_t *needed)
{
        for (uint32_t i = 0; i < part->count; i++)
                for (uint32_t at = part->rows[i].node; at > 1 && !needed[at];
                     at = select_parent(sel, at))
                        needed[at] = 1;
}

uint8_t *needed_nodes(const struct selection *sel)
{
        uint8_t *needed = heap_zero(sel->node_count, 1);

        needed_part(sel, &sel->heap, needed);
        needed_part(sel, &sel->mapped, needed);
        needed_part(sel, &sel->older, needed);
        return needed;
}
