/* SPDX-License-Identifier: MIT */
#include "report/flat.h"

#include <stdlib.h>
#include <string.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "ledger/ledger.h"
#include "profile/packed.h"
#include "profile/reserve.h"
#include "query/errors.h"
#include "query/growth.h"
#include "report/stack.h"
#include "report/views.h"
#include "words/text.h"

enum { FLAT_COLUMNS = 80 };

struct flat_entry {
        const struct select_row *row;
        int64_t value, second; /* order; the second where the first is equal */
        double rate;           /* of its growth, when that comes first */
};

/* Sizes of the blocks of one row that are not freed. */
struct flat_sizes {
        uint64_t least, most;
};

struct flat {
        const struct selection *sel;
        struct symbols *symbols;
        const struct flat_options *options;
        const struct growth *growth; /* by site; NULL: the moment has none */
        struct flat_sizes *sizes;    /* by site; NULL: not known for the moment */
        const bool *stacks;          /* by site: mapped stacks of threads */
        bool whole;                  /* also rows whose key is zero */
        struct str *out;
};

/* By site: the age of its oldest block. */
static void extra_ages(const struct selection *sel, uint64_t *extra)
{
        const struct profile *p = sel->profile;
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                uint64_t age = p->meta.duration_ms > w.block->birth_ms
                                       ? p->meta.duration_ms - w.block->birth_ms
                                       : 0;

                if (w.block->site < p->site_count && age > extra[sel->leaders[w.block->site]])
                        extra[sel->leaders[w.block->site]] = age;
        }
        packed_close(&w);
}

/* By site: when something was allocated or released last, as far as the course of the run tells. */
static void extra_last(const struct selection *sel, uint64_t *extra)
{
        const struct profile *p = sel->profile;

        for (uint32_t i = 0; i < p->slice_count; i++) {
                const struct profile_slice *slice = &p->slices[i];

                for (uint32_t k = 0; k < slice->change_count; k++) {
                        uint32_t site = p->changes[slice->change_first + k].site;

                        if (site < p->site_count && slice->ms > extra[sel->leaders[site]])
                                extra[sel->leaders[site]] = slice->ms;
                }
        }
}

/* By site: its largest block. */
static void extra_largest(const struct selection *sel, uint64_t *extra)
{
        const struct profile *p = sel->profile;
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w))
                if (w.block->site < p->site_count &&
                    w.block->size > extra[sel->leaders[w.block->site]])
                        extra[sel->leaders[w.block->site]] = w.block->size;
        packed_close(&w);
}

/* Whether ERROR counts for KEY: bad frees are those that no block was there for. */
static bool error_counts(const struct profile_error *error, enum sort_key key)
{
        return (error->type == LEDGER_ERROR_MISMATCHED) == (key == SORT_MISMATCHED);
}

/* By site: how often its blocks were released wrongly. */
static void extra_errors(const struct selection *sel, enum sort_key key, uint64_t *extra)
{
        const struct profile *p = sel->profile;

        for (uint32_t i = 0; i < p->error_count; i++) {
                uint32_t origin = errors_origin(p, &p->errors[i]);

                if (origin && error_counts(&p->errors[i], key))
                        extra[sel->leaders[origin]] += p->errors[i].count;
        }
}

/* By site: what it lost, definitely or indirectly. */
static void extra_leaks(const struct selection *sel, const struct leaks *l, bool bytes,
                        uint64_t *extra)
{
        for (uint32_t i = 1; l && l->scan && i < sel->profile->site_count; i++) {
                struct leaks_sum of[PROFILE_LEAK_COUNT];

                leaks_of_site(l, i, of);
                extra[i] = bytes ? of[PROFILE_LEAK_DEFINITE].bytes + of[PROFILE_LEAK_INDIRECT].bytes
                                 : of[PROFILE_LEAK_DEFINITE].blocks +
                                           of[PROFILE_LEAK_INDIRECT].blocks;
        }
}

/* What only the profile's other lists know, per site. */
static uint64_t *flat_extra(const struct flat *f, enum sort_key key)
{
        uint64_t *extra = heap_zero(f->sel->profile->site_count, sizeof *extra);

        switch (key) {
        case SORT_AGE:
                extra_ages(f->sel, extra);
                break;
        case SORT_BAD_FREES:
        case SORT_MISMATCHED:
                extra_errors(f->sel, key, extra);
                break;
        case SORT_LAST:
                extra_last(f->sel, extra);
                break;
        case SORT_LARGEST:
                extra_largest(f->sel, extra);
                break;
        case SORT_LEAKED_BYTES:
        case SORT_LEAKED_BLOCKS:
                extra_leaks(f->sel, f->options->leaks, key == SORT_LEAKED_BYTES, extra);
                break;
        default:
                break;
        }
        return extra;
}

static int64_t flat_value(const struct select_row *row, enum sort_key key, const uint64_t *extra)
{
        switch (key) {
        case SORT_LIVE_BYTES:
                return (int64_t)row->live_bytes;
        case SORT_LIVE_BLOCKS:
                return (int64_t)row->live_blocks;
        case SORT_PEAK_BYTES:
                return (int64_t)row->peak_bytes;
        case SORT_ALLOC_BYTES:
                return (int64_t)row->alloc_bytes;
        case SORT_ALLOCS:
                return (int64_t)row->allocs;
        case SORT_TEMPORARY:
                return (int64_t)row->temporary;
        case SORT_AVERAGE:
                return row->live_blocks ? (int64_t)row->live_bytes / (int64_t)row->live_blocks : 0;
        default:
                return (int64_t)extra[row->site];
        }
}

/* What decides between equal values: bytes behind blocks and calls, one kind of bad
 * release behind the other. */
static enum sort_key flat_second(enum sort_key key)
{
        switch (key) {
        case SORT_LIVE_BYTES:
                return SORT_LIVE_BLOCKS;
        case SORT_ALLOCS:
        case SORT_TEMPORARY:
                return SORT_ALLOC_BYTES;
        case SORT_ALLOC_BYTES:
                return SORT_ALLOCS;
        case SORT_BAD_FREES:
                return SORT_MISMATCHED;
        case SORT_MISMATCHED:
                return SORT_BAD_FREES;
        default:
                return SORT_LIVE_BYTES;
        }
}

/* Largest first; where all is equal, as the sites are numbered. */
static struct flat_entry *entries_ordered(struct flat_entry *entries, uint32_t count)
{
        struct flat_entry *ordered = heap_full(count, sizeof *ordered);
        uint64_t *keys = heap_grow(NULL, count, sizeof *keys);
        uint32_t *order = arrange_start(count);

        for (uint32_t i = 0; i < count; i++)
                keys[i] = entries[i].row->site;
        arrange_by(order, count, keys);
        for (uint32_t i = 0; i < count; i++)
                keys[i] = arrange_down(entries[i].second);
        arrange_by(order, count, keys);
        for (uint32_t i = 0; i < count; i++)
                keys[i] = arrange_down(entries[i].value);
        arrange_by(order, count, keys);
        for (uint32_t i = 0; i < count; i++) {
                /* Never below 0: in the order of its bits. */
                memcpy(&keys[i], &entries[i].rate, sizeof *keys);
                keys[i] = ~keys[i];
        }
        arrange_by(order, count, keys);
        for (uint32_t i = 0; i < count; i++)
                ordered[i] = entries[order[i]];
        free(keys);
        free(order);
        free(entries);
        return ordered;
}

/* What the numbers of KEY are: those that a moment changes, then the others. */
static void flat_what(const struct selection *sel, enum sort_key key, struct str *out)
{
        bool live = key == SORT_LIVE_BYTES || key == SORT_LIVE_BLOCKS;

        if (key == SORT_LIVE_BLOCKS && sel->moment > SELECT_OF_THREADS)
                str_text(out, "blocks: ");
        if (live && sel->moment == SELECT_OF_PEAK)
                str_text(out, "live at the peak");
        else if (live && sel->moment == SELECT_OF_TIME)
                str_format(out, "live at %s", sel->when);
        else if (live && sel->moment == SELECT_OF_RANGE)
                str_text(out, sel->survivors ? "still live" : "change");
        else if (key == SORT_ALLOC_BYTES && sel->moment == SELECT_OF_TIME)
                str_format(out, "allocated until %s", sel->when);
        else if (key == SORT_ALLOC_BYTES && sel->moment == SELECT_OF_RANGE)
                str_format(out, "allocated from %s", sel->when);
        else
                str_text(out, sort_key_text(key));
}

/* A line of parts with commas between; it goes on, indented, where the next part would not fit. */
struct flat_line {
        struct str *out;
        size_t start; /* of the line in OUT */
        size_t indent;
        bool begun;
};

static void line_add(struct flat_line *l, struct str *part)
{
        bool fits = l->out->length - l->start + 2 + part->length < FLAT_COLUMNS;

        if (l->begun)
                str_text(l->out, fits ? ", " : ",\n");
        if (l->begun && !fits)
                l->start = l->out->length;
        if (!l->begun || !fits)
                text_pad(l->out, l->out->length, l->indent);
        l->begun = true;
        str_text(l->out, str_get(part));
        str_free(part);
}

/* "WHAT 600 B in 6 blocks" */
static void line_amount(struct flat_line *l, const char *what, uint64_t bytes, const char *by,
                        uint64_t count, const char *noun)
{
        struct str part = { 0 };

        str_text(&part, what);
        str_char(&part, ' ');
        text_size(&part, (int64_t)bytes);
        if (noun) {
                str_char(&part, ' ');
                str_text(&part, by);
                str_char(&part, ' ');
                text_count(&part, (int64_t)count, noun);
        }
        line_add(l, &part);
}

static void line_number(struct flat_line *l, uint64_t count, const char *what)
{
        struct str part = { 0 };

        text_number(&part, (int64_t)count);
        str_char(&part, ' ');
        str_text(&part, what);
        line_add(l, &part);
}

static void line_sums(struct flat_line *l, const struct selection *sel,
                      const struct select_row *sums, bool blocks)
{
        static const char *const calls[] = { [SELECT_OF_RUN] = "in all",
                                             [SELECT_OF_THREADS] = "in all",
                                             [SELECT_OF_PEAK] = "in all",
                                             [SELECT_OF_TIME] = "until then",
                                             [SELECT_OF_RANGE] = "allocated" };
        struct str live = { 0 };

        flat_what(sel, SORT_LIVE_BYTES, &live);
        line_amount(l, str_get(&live), sums->live_bytes, "in", sums->live_blocks,
                    blocks ? "block" : NULL);
        if (sel->moment == SELECT_OF_RUN && sums->peak_bytes)
                line_amount(l, "at the peak", sums->peak_bytes, "", 0, NULL);
        line_amount(l, calls[sel->moment], sums->alloc_bytes, "by", sums->allocs, "call");
        str_free(&live);
}

static void line_sizes(struct flat_line *l, const struct select_row *row,
                       const struct flat_sizes *sizes)
{
        struct str part = { 0 };

        str_text(&part, "blocks of ");
        text_size(&part, (int64_t)sizes->least);
        if (sizes->most != sizes->least) {
                str_text(&part, " to ");
                text_size(&part, (int64_t)sizes->most);
                str_text(&part, " (average ");
                text_size(&part, (int64_t)(row->live_bytes / row->live_blocks));
                str_char(&part, ')');
        }
        line_add(l, &part);
}

/* What only the whole run tells. */
static void line_run(struct flat_line *l, const struct flat *f, const struct select_row *row)
{
        struct str part = { 0 };

        if (f->sel->moment == SELECT_OF_RUN && row->live_blocks && row->frees) {
                text_share(&part, (double)row->live_blocks, (double)row->allocs);
                str_text(&part, " alive");
                line_add(l, &part);
        }
        if (f->sizes && row->live_blocks && f->sizes[row->site].most)
                line_sizes(l, row, &f->sizes[row->site]);
        if (f->growth && f->growth[row->site].class != GROWTH_UNKNOWN &&
            !(f->options->growing_first && f->growth[row->site].class == GROWTH_GROWS)) {
                growth_write(&f->growth[row->site], &part);
                line_add(l, &part);
        }
}

/* Numbers that are not known for the moment are left out. */
static void flat_costs(const struct flat *f, const struct select_row *row)
{
        struct flat_line l = { f->out, f->out->length, 6, false };
        enum select_moment moment = f->sel->moment;

        line_sums(&l, f->sel, row, true);
        line_number(&l, row->frees, "freed");
        if (moment != SELECT_OF_TIME && moment != SELECT_OF_RANGE && row->temporary)
                line_number(&l, row->temporary, "temporary");
        if (row->frees && (moment == SELECT_OF_RUN || moment == SELECT_OF_PEAK)) {
                struct str part = { 0 };

                str_text(&part, "lived ");
                text_time(&part, row->lifetime_ms / row->frees);
                line_add(&l, &part);
        }
        line_run(&l, f, row);
        str_char(f->out, '\n');
}

static void flat_entry(const struct flat *f, const struct flat_entry *entry, uint32_t number)
{
        struct str *out = f->out;
        size_t start = out->length;

        text_item(out, number);
        text_color(out, f->options->color, TEXT_BOLD);
        /* What orders the entry: its rate, if that comes first, else its key. */
        if (entry->rate > 0)
                growth_rate(entry->rate, f->out);
        else if (sort_key_is_bytes(f->options->key))
                text_size(f->out, entry->value);
        else
                text_number(f->out, entry->value);
        text_plain(out, f->options->color);
        text_pad(out, start, 18);
        str_char(out, ' ');
        if (entry->rate > 0)
                str_text(out, growth_word(GROWTH_GROWS));
        else
                flat_what(f->sel, f->options->key, out);
        str_text(out, ", by ");
        str_text(out, profile_kind_name(f->sel->profile, entry->row->kind));
        if (f->stacks[entry->row->site])
                str_text(out, " (stacks of threads)");
        else if (LEDGER_KIND_IS_MAPPED(entry->row->kind) &&
                 reserve_is(f->sel->profile, entry->row->peak_bytes))
                str_text(out, " (more than was ever resident)");
        str_format(out, ", site #%u", entry->row->site);
        if (entry->row->merged > 1)
                str_format(out, " (%u stacks)", entry->row->merged);
        str_char(out, '\n');
        flat_costs(f, entry->row);
}

/* Is there anything in it but zeros? */
static bool flat_happened(const struct select_row *row)
{
        return row->allocs || row->frees || row->live_bytes || row->live_blocks ||
               row->peak_bytes || row->peak_blocks;
}

/* In a range, a stack that only became less has no new bytes, but belongs to what happened; what
 * grew until the end of the program and was freed there is worth a look too. */
static bool flat_shown(const struct flat *f, const struct flat_entry *entry)
{
        const struct selection *sel = f->sel;

        if (f->whole || f->options->key == SORT_LAST)
                return flat_happened(entry->row);
        return entry->value != 0 || entry->rate > 0 ||
               (sel->moment == SELECT_OF_RANGE && entry->row->live_bytes != 0);
}

static struct flat_entry *flat_entries(const struct flat *f, const struct select_part *part,
                                       uint32_t *count)
{
        struct flat_entry *entries = heap_full(part->count, sizeof *entries);
        enum sort_key key = f->options->key, second = flat_second(key);
        uint64_t *extra = flat_extra(f, key), *extra_second = flat_extra(f, second);

        *count = 0;
        for (uint32_t i = 0; i < part->count; i++) {
                const struct select_row *row = &part->rows[i];
                struct flat_entry *entry = &entries[*count];

                *entry = (struct flat_entry){ row, flat_value(row, key, extra),
                                              flat_value(row, second, extra_second), 0 };
                if (f->options->growing_first && f->growth)
                        entry->rate = f->growth[row->site].bytes_per_s;
                *count += flat_shown(f, entry);
        }
        free(extra);
        free(extra_second);
        return entries_ordered(entries, *count);
}

const struct select_row **flat_order(const struct selection *sel, const struct select_part *part,
                                     const struct flat_options *options,
                                     const struct growth *growth, uint32_t *count)
{
        struct flat f = { .sel = sel, .options = options, .growth = growth, .whole = true };
        struct flat_entry *entries = flat_entries(&f, part, count);
        const struct select_row **rows = heap_zero(*count, sizeof *rows);

        for (uint32_t i = 0; i < *count; i++)
                rows[i] = entries[i].row;
        free(entries);
        return rows;
}

/* What is to be said of the stacks that have nothing of KEY and are not listed. */
static const char *flat_nothing(const struct selection *sel, enum sort_key key, bool one)
{
        bool live = key == SORT_LIVE_BYTES || key == SORT_LIVE_BLOCKS;

        if (key == SORT_PEAK_BYTES ||
            (live && (sel->moment == SELECT_OF_PEAK || sel->moment == SELECT_OF_TIME)))
                return "held nothing then";
        if (live && (sel->moment != SELECT_OF_RANGE || sel->survivors))
                return one ? "holds nothing" : "hold nothing";
        return one ? "has none" : "have none";
}

/* Which stacks are not listed: those beyond the limit, and those without. */
static void flat_rest(const struct flat *f, uint32_t beyond, uint32_t without)
{
        if (beyond) {
                str_text(f->out, "      ");
                text_number(f->out, beyond);
                str_format(f->out, " more stack%s (-n %u)\n", beyond == 1 ? "" : "s",
                           f->options->limit);
        }
        if (without) {
                str_text(f->out, "      ");
                text_number(f->out, without);
                str_format(f->out, " more %s\n",
                           flat_nothing(f->sel, f->options->key, without == 1));
        }
        if (beyond || without)
                str_char(f->out, '\n');
}

static void flat_part(const struct flat *f, const struct select_part *part)
{
        uint32_t count, shown, limit = f->options->limit;
        struct flat_entry *entries = flat_entries(f, part, &count);
        struct stack_writer stacks;

        stack_start(&stacks, f->sel, f->symbols, "        ", f->out);
        shown = limit && limit < count ? limit : count;
        for (uint32_t i = 0; i < shown; i++) {
                struct wrapper_frame from = { entries[i].row->node, entries[i].row->level };

                if (i + STACK_AHEAD < shown)
                        stack_expect(&stacks, entries[i + STACK_AHEAD].row->node);
                progress_tell(f->sel->progress, i, shown);
                flat_entry(f, &entries[i], i + 1);
                stack_add(&stacks, from);
                str_char(f->out, '\n');
                str_drain(f->out);
        }
        flat_rest(f, count - shown, part->count - count);
        stack_end(&stacks);
        free(entries);
}

static void flat_head(const struct selection *sel, const struct select_part *part, const char *what,
                      struct str *out)
{
        struct flat_line l = { out, out->length, 0, false };
        struct select_row sums = { 0 };
        struct str first = { 0 };

        for (uint32_t i = 0; i < part->count; i++) {
                sums.live_bytes += part->rows[i].live_bytes;
                sums.peak_bytes += part->rows[i].peak_bytes;
                sums.alloc_bytes += part->rows[i].alloc_bytes;
                sums.allocs += part->rows[i].allocs;
        }
        str_text(&first, what);
        if (sel->moment == SELECT_OF_RANGE)
                str_format(&first, " from %s", sel->when);
        str_text(&first, ": ");
        text_count(&first, part->count, "stack");
        line_add(&l, &first);
        line_sums(&l, sel, &sums, false);
        str_text(out, "\n\n");
}

/* "growth: 2 stacks that grow 3.4 KiB/s in all; 10 bounded, 3 once" */
static void flat_growth(const struct flat *f)
{
        uint32_t count[GROWTH_CLASSES] = { 0 };
        double rate = 0;

        for (uint32_t i = 0; i < f->sel->heap.count; i++) {
                const struct growth *g = &f->growth[f->sel->heap.rows[i].site];

                count[g->class]++;
                rate += g->bytes_per_s;
        }
        str_text(f->out, "growth: ");
        if (count[GROWTH_UNKNOWN]) {
                str_text(f->out,
                         "the recording has too few time slices to tell (see 'seep help growth')\n"
                         "\n");
                return;
        }
        text_count(f->out, count[GROWTH_GROWS], "stack");
        str_text(f->out, count[GROWTH_GROWS] == 1 ? " that grows" : " that grow");
        if (count[GROWTH_GROWS]) {
                str_char(f->out, ' ');
                growth_rate(rate, f->out);
                str_text(f->out, " in all");
        }
        str_format(f->out, "; %u bounded, %u once\n\n", count[GROWTH_BOUNDED], count[GROWTH_ONCE]);
}

/* By site that leads a row: the smallest and the largest block not freed. */
static struct flat_sizes *flat_sizes_of(const struct selection *sel)
{
        const struct profile *p = sel->profile;
        struct flat_sizes *sizes = heap_zero(p->site_count, sizeof *sizes);
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                struct flat_sizes *of;

                if (w.block->site >= p->site_count)
                        continue;
                of = &sizes[sel->leaders[w.block->site]];
                if (!of->most || w.block->size < of->least)
                        of->least = w.block->size;
                if (w.block->size > of->most)
                        of->most = w.block->size;
        }
        packed_close(&w);
        return sizes;
}

struct growth *flat_judge(const struct selection *sel)
{
        struct growth_span span = { 0, UINT64_MAX };

        if (sel->moment == SELECT_OF_THREADS)
                return NULL;
        if (sel->moment == SELECT_OF_RANGE)
                span = (struct growth_span){ moment_ms(sel->profile, &sel->from),
                                             moment_ms(sel->profile, &sel->to) };
        else if (sel->moment != SELECT_OF_RUN)
                span.to_ms = moment_ms(sel->profile, &sel->at);
        return growth_judge_span(sel->profile, sel->leaders, span);
}

/* Releases of memory that no known stack allocated: all that is known of them is who released
 * it. */
static void flat_strangers(const struct flat *f)
{
        const struct profile *p = f->sel->profile;
        uint8_t *skip = heap_zero(p->error_count, 1);
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->error_count; i++) {
                skip[i] = !error_counts(&p->errors[i], SORT_BAD_FREES) ||
                          errors_origin(p, &p->errors[i]);
                count += !skip[i];
        }
        if (count) {
                str_text(f->out, "invalid frees:\n\n");
                errors_write(f->sel, f->symbols,
                             &(struct errors_options){ f->options->limit, skip }, f->out);
        }
        free(skip);
}

void flat_write(const struct selection *sel, struct symbols *s, const struct flat_options *options,
                struct str *out)
{
        struct growth *growth = flat_judge(sel);
        bool *stacks = reserve_stacks(sel->profile);
        struct flat f = { .sel = sel, .symbols = s, .options = options, .growth = growth,
                          .stacks = stacks, .out = out };

        if (sel->moment == SELECT_OF_RUN)
                f.sizes = flat_sizes_of(sel);
        flat_head(sel, &sel->heap, select_memory_text(sel), out);
        if (options->growing_first && f.growth)
                flat_growth(&f);
        flat_part(&f, &sel->heap);
        if (sel->mapped.count && options->key != SORT_TEMPORARY) {
                flat_head(sel, &sel->mapped, sel->memory == SELECT_BOTH
                                                     ? "address space, little of it used"
                                                     : "mapped by mmap", out);
                flat_part(&f, &sel->mapped);
        }
        if (options->key == SORT_BAD_FREES)
                flat_strangers(&f);
        free(f.sizes);
        free(stacks);
        free(growth);
}
