/* SPDX-License-Identifier: MIT */
/*
 * flat.c -- one entry per call stack, with all its costs.
 *
 * Room:   outside.
 */
#include "report/flat.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "ledger/ledger.h"
#include "report/stack.h"
#include "report/text.h"

enum { FLAT_COLUMNS = 80 };

static const struct {
        const char *word, *text;
        bool bytes;
} flat_keys[] = {
#define FLAT_KEY_ROW(id, word, text, bytes) { word, text, bytes },
        FLAT_KEYS(FLAT_KEY_ROW)
#undef FLAT_KEY_ROW
};

struct flat_entry {
        const struct select_row *row;
        int64_t value;
};

bool flat_key_named(const char *word, enum flat_key *key)
{
        for (int i = 0; i < FLAT_KEY_COUNT; i++)
                if (strcmp(word, flat_keys[i].word) == 0) {
                        *key = (enum flat_key)i;
                        return true;
                }
        return false;
}

enum flat_key flat_key_of(enum select_cost cost)
{
        static const enum flat_key keys[] = { [SELECT_LIVE] = FLAT_LIVE_BYTES,
                                              [SELECT_PEAK] = FLAT_PEAK_BYTES,
                                              [SELECT_TOTAL] = FLAT_ALLOC_BYTES,
                                              [SELECT_ALLOCS] = FLAT_ALLOCS,
                                              [SELECT_TEMPORARY] = FLAT_TEMPORARY };

        return keys[cost];
}

/* What only the profile's other lists know, per site: the age of the oldest block, or the number of bad releases. */
static uint64_t *flat_extra(const struct profile *p, enum flat_key key)
{
        uint64_t *extra = heap_zero(p->site_count, sizeof *extra);
        uint32_t type = key == FLAT_BAD_FREES ? LEDGER_ERROR_DOUBLE_FREE : LEDGER_ERROR_MISMATCHED;

        for (uint64_t i = 0; key == FLAT_AGE && i < p->block_count; i++) {
                const struct profile_block *block = &p->blocks[i];
                uint64_t age = p->meta.duration_ms > block->birth_ms ? p->meta.duration_ms - block->birth_ms : 0;

                if (block->site < p->site_count && age > extra[block->site])
                        extra[block->site] = age;
        }
        for (uint32_t i = 0; key != FLAT_AGE && i < p->error_count; i++)
                if (p->errors[i].type == type && p->errors[i].alloc_site < p->site_count)
                        extra[p->errors[i].alloc_site] += p->errors[i].count;
        return extra;
}

static int64_t flat_value(const struct select_row *row, enum flat_key key, const uint64_t *extra)
{
        switch (key) {
        case FLAT_LIVE_BYTES:
                return (int64_t)row->live_bytes;
        case FLAT_LIVE_BLOCKS:
                return (int64_t)row->live_blocks;
        case FLAT_PEAK_BYTES:
                return (int64_t)row->peak_bytes;
        case FLAT_ALLOC_BYTES:
                return (int64_t)row->alloc_bytes;
        case FLAT_ALLOCS:
                return (int64_t)row->allocs;
        case FLAT_TEMPORARY:
                return (int64_t)row->temporary;
        case FLAT_AVERAGE:
                return row->allocs ? (int64_t)(row->alloc_bytes / row->allocs) : 0;
        default:
                return (int64_t)extra[row->site];
        }
}

static int entry_compare(const void *a, const void *b)
{
        const struct flat_entry *x = a, *y = b;

        if (x->value != y->value)
                return x->value > y->value ? -1 : 1;
        return x->row->site < y->row->site ? -1 : x->row->site > y->row->site;
}

/* What the numbers of KEY are: those that a moment changes, then the others. */
static void flat_what(const struct selection *sel, enum flat_key key, struct str *out)
{
        bool live = key == FLAT_LIVE_BYTES || key == FLAT_LIVE_BLOCKS;

        if (key == FLAT_LIVE_BLOCKS && sel->moment > SELECT_OF_THREADS)
                str_text(out, "blocks: ");
        if (live && sel->moment == SELECT_OF_PEAK)
                str_text(out, "live at the peak");
        else if (live && sel->moment == SELECT_OF_TIME)
                str_format(out, "live at %s", sel->when);
        else if (live && sel->moment == SELECT_OF_RANGE)
                str_text(out, "change");
        else if (key == FLAT_ALLOC_BYTES && sel->moment == SELECT_OF_TIME)
                str_format(out, "allocated until %s", sel->when);
        else if (key == FLAT_ALLOC_BYTES && sel->moment == SELECT_OF_RANGE)
                str_format(out, "allocated from %s", sel->when);
        else
                str_text(out, flat_keys[key].text);
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
                str_format(l->out, "%*s", (int)l->indent, "");
        l->begun = true;
        str_text(l->out, str_get(part));
        str_free(part);
}

/* "WHAT 600 B in 6 blocks" */
static void line_amount(struct flat_line *l, const char *what, uint64_t bytes, const char *by, uint64_t count,
                        const char *noun)
{
        struct str part = { 0 };

        str_format(&part, "%s ", what);
        text_size(&part, (int64_t)bytes);
        if (noun) {
                str_format(&part, " %s ", by);
                text_count(&part, (int64_t)count, noun);
        }
        line_add(l, &part);
}

static void line_number(struct flat_line *l, uint64_t count, const char *what)
{
        struct str part = { 0 };

        text_number(&part, (int64_t)count);
        str_format(&part, " %s", what);
        line_add(l, &part);
}

static void line_sums(struct flat_line *l, const struct selection *sel, const struct select_row *sums, bool blocks)
{
        static const char *const calls[] = { [SELECT_OF_RUN] = "in all",
                                             [SELECT_OF_THREADS] = "in all",
                                             [SELECT_OF_PEAK] = "in all",
                                             [SELECT_OF_TIME] = "until then",
                                             [SELECT_OF_RANGE] = "allocated" };
        struct str live = { 0 };

        flat_what(sel, FLAT_LIVE_BYTES, &live);
        line_amount(l, str_get(&live), sums->live_bytes, "in", sums->live_blocks, blocks ? "block" : NULL);
        if (sel->moment == SELECT_OF_RUN && sums->peak_bytes)
                line_amount(l, "at the peak", sums->peak_bytes, "", 0, NULL);
        line_amount(l, calls[sel->moment], sums->alloc_bytes, "by", sums->allocs, "call");
        str_free(&live);
}

/* Numbers that are not known for the moment are left out. */
static void flat_costs(const struct selection *sel, const struct select_row *row, struct str *out)
{
        struct flat_line l = { out, out->length, 6, false };
        bool of_time = sel->moment == SELECT_OF_TIME || sel->moment == SELECT_OF_RANGE;

        line_sums(&l, sel, row, true);
        line_number(&l, row->frees, "freed");
        if (!of_time && row->temporary)
                line_number(&l, row->temporary, "temporary");
        if (row->frees && (sel->moment == SELECT_OF_RUN || sel->moment == SELECT_OF_PEAK)) {
                struct str part = { 0 };

                str_text(&part, "lived ");
                text_time(&part, row->lifetime_ms / row->frees);
                line_add(&l, &part);
        }
        str_char(out, '\n');
}

static void flat_entry(const struct selection *sel, const struct flat_entry *entry, uint32_t number,
                       const struct flat_options *options, struct str *out)
{
        size_t start = out->length;

        str_format(out, "%4u. ", number);
        text_color(out, options->color, TEXT_BOLD);
        if (flat_keys[options->key].bytes)
                text_size(out, entry->value);
        else
                text_number(out, entry->value);
        text_plain(out, options->color);
        text_pad(out, start, 18);
        str_char(out, ' ');
        flat_what(sel, options->key, out);
        str_format(out, ", by %s", profile_kind_name(sel->profile, entry->row->kind));
        if (entry->row->merged > 1)
                str_format(out, " (%u stacks)", entry->row->merged);
        str_char(out, '\n');
        flat_costs(sel, entry->row, out);
}

/* In a range, a stack that only became less has no new bytes, but belongs to what happened. */
static bool flat_shown(const struct selection *sel, const struct flat_entry *entry)
{
        return entry->value != 0 || (sel->moment == SELECT_OF_RANGE && entry->row->live_bytes != 0);
}

static void flat_part(const struct selection *sel, const struct select_part *part, struct symbols *s,
                      const struct flat_options *options, struct str *out)
{
        struct flat_entry *entries = heap_zero(part->count, sizeof *entries);
        uint64_t *extra = flat_extra(sel->profile, options->key);
        uint32_t count = 0, shown;

        for (uint32_t i = 0; i < part->count; i++) {
                entries[count] = (struct flat_entry){ &part->rows[i], flat_value(&part->rows[i], options->key, extra) };
                count += flat_shown(sel, &entries[count]);
        }
        qsort(entries, count, sizeof *entries, entry_compare);
        shown = options->limit && options->limit < count ? options->limit : count;
        for (uint32_t i = 0; i < shown; i++) {
                flat_entry(sel, &entries[i], i + 1, options, out);
                stack_write(sel, s, (struct wrapper_frame){ entries[i].row->node, entries[i].row->level }, "        ",
                            out);
                str_char(out, '\n');
        }
        if (shown < count) {
                str_text(out, "      ");
                text_number(out, count - shown);
                str_format(out, " more stack%s (-n %u)\n", count - shown == 1 ? "" : "s", options->limit);
        }
        free(extra);
        free(entries);
}

static void flat_head(const struct selection *sel, const struct select_part *part, const char *what, struct str *out)
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

void flat_write(const struct selection *sel, struct symbols *s, const struct flat_options *options, struct str *out)
{
        flat_head(sel, &sel->heap, "heap", out);
        flat_part(sel, &sel->heap, s, options, out);
        if (!sel->mapped.count || options->key == FLAT_TEMPORARY)
                return;
        flat_head(sel, &sel->mapped, "mapped by mmap", out);
        flat_part(sel, &sel->mapped, s, options, out);
}
