/* SPDX-License-Identifier: MIT */
/*
 * settle.c -- making a profile that was read safe to use.
 *
 * Keeps:  a whole file passes unchanged.
 */
#include "profile/settle.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "ledger/ledger.h"
#include "profile/parts.h"

#define SETTLE_PAGE 4096u /* bytes of a page where it is not told, and the least that there is */

static bool refers_to(const struct format_table *t, unsigned array)
{
        for (uint32_t k = 0; k < t->column_count; k++)
                if (t->columns[k].refers == array)
                        return true;
        return false;
}

/* Whether an array that is there has records that refer to ARRAY. */
static bool is_needed(const struct profile *p, unsigned array)
{
        for (unsigned other = 0; other < FORMAT_ARRAY_COUNT; other++)
                if (format_count(p, other) && refers_to(&format_tables[other], array))
                        return true;
        return false;
}

/* The entries that lost references end at. */
static void settle_roots(struct profile *p)
{
        if (!p->thread_count && is_needed(p, FORMAT_THREADS)) {
                parts_extend(p, FORMAT_THREADS, 1);
                p->threads[0].name = heap_text("");
                p->thread_count = 1;
        }
        if (!p->site_count && is_needed(p, FORMAT_SITES)) {
                parts_extend(p, FORMAT_SITES, 1);
                p->site_count = 1;
        }
        if (!p->node_count && is_needed(p, FORMAT_NODES)) {
                struct profile_node *n = parts_extend(p, FORMAT_NODES, 2);

                n[0].module = n[1].module = PROFILE_NO_MODULE;
                p->node_count = 2;
        }
}

static void settle_columns(struct profile *p, unsigned array)
{
        const struct format_table *t = &format_tables[array];
        char *records = *format_array(p, array);

        for (uint32_t k = 0; k < t->column_count; k++) {
                const struct format_column *col = &t->columns[k];
                uint64_t limit, count = format_count(p, array);
                uint32_t lost;

                if (col->refers == FORMAT_NONE)
                        continue;
                limit = format_count(p, col->refers);
                lost = col->refers == FORMAT_NODES && limit > 1;
                for (uint64_t i = 0; i < count; i++) {
                        char *field = records + i * t->record_bytes + col->offset;

                        if (format_load(field, 4) >= limit)
                                memcpy(field, &lost, 4);
                }
        }
}

static void settle_modules(struct profile *p)
{
        for (uint32_t i = 0; i < p->module_count; i++) {
                struct profile_module *m = &p->modules[i];

                if (m->end < m->start)
                        m->end = m->start;
                if (m->build_id_bytes > sizeof m->build_id)
                        m->build_id_bytes = sizeof m->build_id;
        }
        for (uint32_t i = 0; i < p->region_count; i++)
                if (p->regions[i].end < p->regions[i].start)
                        p->regions[i].end = p->regions[i].start;
}

/* Time does not run backwards; a range of changes that is not (wholly) there is none, nor one that
 * others have had: whoever passes over all slices passes each change once. */
static void settle_slices(struct profile *p)
{
        uint32_t end = 0;

        for (uint32_t i = 0; i < p->slice_count; i++) {
                struct profile_slice *s = &p->slices[i];

                if (i && s->ms < s[-1].ms)
                        s->ms = s[-1].ms;
                if (s->change_first < end || s->change_first > p->change_count ||
                    s->change_count > p->change_count - s->change_first)
                        s->change_first = s->change_count = 0;
                else
                        end = s->change_first + s->change_count;
        }
}

static bool is_kind(uint32_t kind)
{
        return LEDGER_KIND_IS_RESOURCE(kind) ? kind - LEDGER_KIND_TYPE_FIRST < LEDGER_TYPES_MAX
                                             : kind < LEDGER_KIND_COUNT ||
                                                       kind == PROFILE_KIND_OLDER;
}

/* A resource whose type is lost stays one: it would count as memory else. */
static void settle_kinds(struct profile *p)
{
        uint32_t types = p->type_count;

        for (uint32_t i = 0; i < p->site_count; i++) {
                if (!is_kind(p->sites[i].kind))
                        p->sites[i].kind = LEDGER_KIND_NONE;
                if (LEDGER_KIND_IS_RESOURCE(p->sites[i].kind) &&
                    p->sites[i].kind - LEDGER_KIND_TYPE_FIRST >= types)
                        types = p->sites[i].kind - LEDGER_KIND_TYPE_FIRST + 1;
        }
        if (types > p->type_count)
                parts_extend(p, FORMAT_TYPES, types - p->type_count);
        while (p->type_count < types)
                p->types[p->type_count++] = heap_text("unknown");
}

static void settle_numbers(struct profile *p)
{
        for (uint32_t i = 0; i < p->error_count; i++) {
                if (p->errors[i].type > LEDGER_ERROR_UNKNOWN_FREE)
                        p->errors[i].type = LEDGER_ERROR_NONE;
                if (p->errors[i].release > LEDGER_FAMILY_POOL)
                        p->errors[i].release = LEDGER_FAMILY_NONE;
                if (p->errors[i].wrong >= LEDGER_WRONG_COUNT)
                        p->errors[i].wrong = LEDGER_WRONG_FAMILY;
        }
        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].type > LEDGER_MARK_OUTSIDE)
                        p->marks[i].type = LEDGER_MARK_NONE;
        for (uint32_t i = 0; i < p->jit_count; i++)
                if (p->jit[i].bytes > UINT64_MAX - p->jit[i].start)
                        p->jit[i].bytes = UINT64_MAX - p->jit[i].start;
        for (uint32_t i = 0; i < p->module_count; i++)
                if (p->modules[i].code_end < p->modules[i].code_start)
                        p->modules[i].code_end = p->modules[i].code_start;
        for (uint32_t i = 0; i < p->mapping_count; i++)
                if (p->mappings[i].end < p->mappings[i].start)
                        p->mappings[i].end = p->mappings[i].start;
        if (p->meta.end > PROFILE_END_GONE)
                p->meta.end = PROFILE_END_UNKNOWN;
}

ORDER_BY(compare_blocks, struct profile_block, address)

static int compare_symbols(const void *a, const void *b)
{
        const struct profile_symbol *x = a, *y = b;

        return ORDER(x->module, y->module) ?: ORDER(x->address, y->address) ?:
               ORDER(x->inline_depth, y->inline_depth);
}

ORDER_BY(compare_marks, struct profile_mark, slice)

ORDER_BY(compare_jit, struct profile_jit, start)

ORDER_BY(compare_mappings, struct profile_mapping, start)

static void settle_order(void *records, uint64_t count, size_t size,
                         int (*compare)(const void *, const void *))
{
        for (uint64_t i = 1; i < count; i++) {
                const char *at = (const char *)records + i * size;

                if (compare(at - size, at) > 0) {
                        qsort(records, count, size, compare);
                        return;
                }
        }
}

void settle_orders(struct profile *p)
{
        settle_order(p->blocks, p->blocks ? p->block_count : 0, sizeof *p->blocks, compare_blocks);
        settle_order(p->symbols, p->symbol_count, sizeof *p->symbols, compare_symbols);
        settle_order(p->marks, p->mark_count, sizeof *p->marks, compare_marks);
        settle_order(p->deaths, p->death_count, sizeof *p->deaths, profile_compare_deaths);
        settle_order(p->jit, p->jit_count, sizeof *p->jit, compare_jit);
        settle_order(p->mappings, p->mapping_count, sizeof *p->mappings, compare_mappings);
}

/* A moment without numbers is no mark. */
static void settle_marks(struct profile *p)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < p->mark_count; i++) {
                if (p->marks[i].slice < p->slice_count)
                        p->marks[kept++] = p->marks[i];
                else
                        free(p->marks[i].label);
        }
        p->mark_count = kept;
}

/* Names of modules that are lost belong to nobody. */
static void settle_symbols(struct profile *p)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < p->symbol_count; i++) {
                if (p->symbols[i].module < p->module_count) {
                        p->symbols[kept++] = p->symbols[i];
                        continue;
                }
                free(p->symbols[i].function);
                free(p->symbols[i].file);
        }
        p->symbol_count = kept;
}

static void settle_meta(struct profile_meta *m)
{
#define SETTLE_TEXT(member)                   \
        if (!m->member)                       \
                m->member = heap_text("");
        FORMAT_META_TEXTS(SETTLE_TEXT)
#undef SETTLE_TEXT
        if (!m->machine) { /* from before it was told */
                m->machine = EM_X86_64;
                m->byte_order = ELFDATA2LSB;
                m->page_bytes = SETTLE_PAGE;
        }
        if (m->page_bytes < SETTLE_PAGE || (m->page_bytes & (m->page_bytes - 1)))
                m->page_bytes = SETTLE_PAGE;
}

void settle_profile(struct profile *p, bool whole)
{
        settle_leaks(p, whole);
        settle_symbols(p);
        settle_marks(p);
        settle_roots(p);
        if (!whole) {
                for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++)
                        if (array != FORMAT_SYMBOLS)
                                settle_columns(p, array);
                for (uint32_t i = 0; i < p->node_count; i++)
                        if (p->nodes[i].module >= p->module_count)
                                p->nodes[i].module = PROFILE_NO_MODULE;
        }
        settle_modules(p);
        settle_slices(p);
        settle_kinds(p);
        settle_numbers(p);
        settle_meta(&p->meta);
        settle_orders(p);
}

void settle_missing(const struct profile *p, const uint64_t *declared, struct str *out)
{
        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++) {
                uint64_t have = format_count(p, array);

                if (have >= declared[array])
                        continue;
                if (have)
                        str_format(out, "%s%llu of %llu %s", out->length ? ", " : "",
                                   (unsigned long long)(declared[array] - have),
                                   (unsigned long long)declared[array], format_tables[array].name);
                else
                        str_format(out, "%sall %llu %s", out->length ? ", " : "",
                                   (unsigned long long)declared[array], format_tables[array].name);
        }
}
