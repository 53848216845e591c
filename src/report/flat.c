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

static void flat_amount(struct str *out, const char *before, uint64_t bytes, const char *after)
{
        str_text(out, before);
        text_size(out, (int64_t)bytes);
        str_text(out, after);
}

static void flat_count(struct str *out, const char *before, uint64_t count, const char *after)
{
        str_text(out, before);
        text_number(out, (int64_t)count);
        str_text(out, after);
}

static void flat_costs(const struct select_row *row, struct str *out)
{
        flat_amount(out, "      not freed ", row->live_bytes, "");
        flat_count(out, " in ", row->live_blocks, " blocks");
        flat_amount(out, ", peak ", row->peak_bytes, "");
        flat_amount(out, ", in all ", row->alloc_bytes, "");
        flat_count(out, " by ", row->allocs, " calls");
        flat_count(out, ", ", row->frees, " freed");
        flat_count(out, ", ", row->temporary, " temporary");
        if (row->frees && (int64_t)row->frees > 0) {
                str_text(out, ", lived ");
                text_time(out, row->lifetime_ms / row->frees);
        }
        str_char(out, '\n');
}

static void flat_entry(const struct flat_entry *entry, uint32_t number, const struct flat_options *options,
                       struct str *out)
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
        str_format(out, " %s, by %s", flat_keys[options->key].text, profile_kind_name(entry->row->kind));
        if (entry->row->merged > 1)
                str_format(out, " (%u stacks)", entry->row->merged);
        str_char(out, '\n');
        flat_costs(entry->row, out);
}

static void flat_part(const struct selection *sel, const struct select_part *part, struct symbols *s,
                      const struct flat_options *options, struct str *out)
{
        struct flat_entry *entries = heap_zero(part->count, sizeof *entries);
        uint64_t *extra = flat_extra(sel->profile, options->key);
        uint32_t count = 0, shown;

        for (uint32_t i = 0; i < part->count; i++) {
                entries[count] = (struct flat_entry){ &part->rows[i], flat_value(&part->rows[i], options->key, extra) };
                count += entries[count].value != 0;
        }
        qsort(entries, count, sizeof *entries, entry_compare);
        shown = options->limit && options->limit < count ? options->limit : count;
        for (uint32_t i = 0; i < shown; i++) {
                flat_entry(&entries[i], i + 1, options, out);
                stack_write(sel, s, entries[i].row->node, "        ", out);
                str_char(out, '\n');
        }
        if (shown < count)
                str_format(out, "      %u more stacks (-n %u)\n", count - shown, options->limit);
        free(extra);
        free(entries);
}

static void flat_head(const struct select_part *part, const char *what, struct str *out)
{
        uint64_t live = 0, peak = 0, all = 0, calls = 0;

        for (uint32_t i = 0; i < part->count; i++) {
                live += part->rows[i].live_bytes;
                peak += part->rows[i].peak_bytes;
                all += part->rows[i].alloc_bytes;
                calls += part->rows[i].allocs;
        }
        str_format(out, "%s: %u stacks", what, part->count);
        flat_amount(out, ", not freed ", live, "");
        if (peak)
                flat_amount(out, ", peak ", peak, "");
        flat_amount(out, ", in all ", all, "");
        flat_count(out, " by ", calls, " calls\n\n");
}

void flat_write(const struct selection *sel, struct symbols *s, const struct flat_options *options, struct str *out)
{
        flat_head(&sel->heap, "heap", out);
        flat_part(sel, &sel->heap, s, options, out);
        if (!sel->mapped.count || options->key == FLAT_PEAK_BYTES || options->key == FLAT_TEMPORARY)
                return;
        flat_head(&sel->mapped, "mapped by mmap", out);
        flat_part(sel, &sel->mapped, s, options, out);
}
