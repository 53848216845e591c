/* SPDX-License-Identifier: MIT */
/*
 * format.c -- which members are stored, in which order and coding.
 *
 * Keeps:  the order of columns is the order in the file.
 */
#include "profile/format.h"

#include <stdlib.h>

#define WIDTH(record, member) sizeof(((struct record *)0)->member)
#define FIELD(record, member) offsetof(struct record, member), WIDTH(record, member)
#define PLAIN(record, member) { FIELD(record, member), FORMAT_PLAIN, FORMAT_NONE, 0, 0 }
#define DELTA(record, member) { FIELD(record, member), FORMAT_DELTA, FORMAT_NONE, 0, 0 }
/* columns.c reads LAST as 8 bytes, and a member and what it is NEAR with one width; others do not
 * compile. */
#define ONLY_IF(condition, coding) ((coding) + 0 * sizeof(char[(condition) ? 1 : -1]))
#define LAST(record, member)                                                                       \
        { FIELD(record, member), ONLY_IF(WIDTH(record, member) == 8, FORMAT_LAST), FORMAT_NONE, 0, \
         0 }
#define NAME(record, member) { FIELD(record, member), FORMAT_NAME, FORMAT_NONE, 0, 0 }
#define TEXT(record, member) { FIELD(record, member), FORMAT_TEXT, FORMAT_NONE, 0, 0 }
#define BYTES(record, member) { FIELD(record, member), FORMAT_BYTES, FORMAT_NONE, 0, 0 }
#define REFER(record, member, coding, array) \
        { FIELD(record, member), FORMAT_##coding, FORMAT_##array, 0, 0 }
#define NEAR_CODING(record, member, near) \
        ONLY_IF(WIDTH(record, member) == WIDTH(record, near), FORMAT_NEAR)
#define NEAR(record, member, near)                                               \
        { FIELD(record, member), NEAR_CODING(record, member, near), FORMAT_NONE, \
         offsetof(struct record, near), FORMAT_NO_FIELD }
#define NEAR2(record, member, near, minus)                                       \
        { FIELD(record, member), NEAR_CODING(record, member, near), FORMAT_NONE, \
         offsetof(struct record, near),                                          \
          offsetof(struct record, minus) }
#define REFER_NEAR(record, member, near, array)                                     \
        { FIELD(record, member), NEAR_CODING(record, member, near), FORMAT_##array, \
         offsetof(struct record, near), FORMAT_NO_FIELD }

static const struct format_column modules_columns[] = {
        DELTA(profile_module, start),
        NEAR(profile_module, end, start),
        NEAR(profile_module, bias, start),
        NAME(profile_module, path),
        PLAIN(profile_module, load_ms),
        PLAIN(profile_module, gone_ms),
        PLAIN(profile_module, flags),
        PLAIN(profile_module, build_id_bytes),
        BYTES(profile_module, build_id),
        PLAIN(profile_module, code_start),
        NEAR(profile_module, code_end, code_start),
        PLAIN(profile_module, code_offset),
        PLAIN(profile_module, device),
        PLAIN(profile_module, inode),
};

static const struct format_column sites_columns[] = {
        REFER(profile_site, node, DELTA, NODES),
        PLAIN(profile_site, kind),
        PLAIN(profile_site, allocs),
        PLAIN(profile_site, alloc_bytes),
        PLAIN(profile_site, live_blocks),
        PLAIN(profile_site, live_bytes),
        NEAR2(profile_site, frees, allocs, live_blocks),
        PLAIN(profile_site, peak_blocks),
        PLAIN(profile_site, peak_bytes),
        PLAIN(profile_site, temporary),
        PLAIN(profile_site, lifetime_ms),
};

static const struct format_column threads_columns[] = {
        DELTA(profile_thread, tid),
        NAME(profile_thread, name),
        DELTA(profile_thread, start_ms),
        DELTA(profile_thread, end_ms),
        PLAIN(profile_thread, allocations),
        PLAIN(profile_thread, bytes_allocated),
        PLAIN(profile_thread, live_blocks),
        PLAIN(profile_thread, live_bytes),
};

static const struct format_column errors_columns[] = {
        PLAIN(profile_error, type),
        REFER(profile_error, node, PLAIN, NODES),
        REFER(profile_error, alloc_site, PLAIN, SITES),
        PLAIN(profile_error, release),
        REFER(profile_error, thread, PLAIN, THREADS),
        PLAIN(profile_error, address),
        PLAIN(profile_error, size),
        PLAIN(profile_error, count),
        PLAIN(profile_error, first_ms),
        REFER(profile_error, free_node, PLAIN, NODES),
        PLAIN(profile_error, wrong),
        PLAIN(profile_error, alignment),
        PLAIN(profile_error, given),
};

static const struct format_column slices_columns[] = {
        DELTA(profile_slice, ms),
        DELTA(profile_slice, live_bytes),
        DELTA(profile_slice, live_blocks),
        DELTA(profile_slice, allocs),
        DELTA(profile_slice, alloc_bytes),
        DELTA(profile_slice, frees),
        DELTA(profile_slice, rss_bytes),
        DELTA(profile_slice, change_first),
        PLAIN(profile_slice, change_count),
        PLAIN(profile_slice, flags),
};

static const struct format_column changes_columns[] = {
        REFER(profile_change, site, DELTA, SITES),
        LAST(profile_change, live_bytes),
        LAST(profile_change, live_blocks),
        LAST(profile_change, allocs),
        LAST(profile_change, alloc_bytes),
};

static const struct format_column regions_columns[] = {
        DELTA(profile_region, start),
        NEAR(profile_region, end, start),
        REFER(profile_region, site, PLAIN, SITES),
        REFER(profile_region, thread, PLAIN, THREADS),
        DELTA(profile_region, birth_ms),
        PLAIN(profile_region, stack),
};

static const struct format_column symbols_columns[] = {
        REFER(profile_symbol, module, DELTA, MODULES),
        PLAIN(profile_symbol, inline_depth),
        DELTA(profile_symbol, address),
        TEXT(profile_symbol, function),
        TEXT(profile_symbol, file),
        PLAIN(profile_symbol, line),
};

static const struct format_column shares_columns[] = {
        REFER(profile_share, site, DELTA, SITES),
        REFER(profile_share, thread, PLAIN, THREADS),
        PLAIN(profile_share, allocs),
        PLAIN(profile_share, alloc_bytes),
        NEAR(profile_share, frees, allocs),
        NEAR(profile_share, free_bytes, alloc_bytes),
        PLAIN(profile_share, temporary),
};

static const struct format_column marks_columns[] = {
        PLAIN(profile_mark, type),
        PLAIN(profile_mark, seq),
        REFER(profile_mark, slice, DELTA, SLICES),
        REFER(profile_mark, thread, PLAIN, THREADS),
        PLAIN(profile_mark, flags),
        PLAIN(profile_mark, era),
        DELTA(profile_mark, ms),
        NAME(profile_mark, label),
};

static const struct format_column deaths_columns[] = {
        REFER(profile_death, site, DELTA, SITES),
        DELTA(profile_death, birth),
        DELTA(profile_death, death),
        PLAIN(profile_death, blocks),
        PLAIN(profile_death, bytes),
};

static const struct format_column handles_columns[] = {
        DELTA(profile_handle, handle),
        PLAIN(profile_handle, amount),
        REFER(profile_handle, site, PLAIN, SITES),
        REFER(profile_handle, thread, PLAIN, THREADS),
        DELTA(profile_handle, birth_ms),
};

static const struct format_column jit_columns[] = {
        DELTA(profile_jit, start),
        PLAIN(profile_jit, bytes),
        NAME(profile_jit, name),
};

static const struct format_column types_columns[] = { { 0, sizeof(char *), FORMAT_NAME, FORMAT_NONE,
                                                        0, 0 } };

static const struct format_column blocks_columns[] = {
        DELTA(profile_block, address),
        PLAIN(profile_block, size),
        REFER(profile_block, site, PLAIN, SITES),
        REFER(profile_block, thread, PLAIN, THREADS),
        DELTA(profile_block, birth_ms),
};

static const struct format_column scans_columns[] = {
        PLAIN(profile_scan, ms),
        PLAIN(profile_scan, when),
        PLAIN(profile_scan, flags),
        PLAIN(profile_scan, threads),
        PLAIN(profile_scan, roots),
        PLAIN(profile_scan, pause_us),
        PLAIN(profile_scan, scan_us),
        PLAIN(profile_scan, root_bytes),
        PLAIN(profile_scan, heap_bytes),
        NAME(profile_scan, trouble),
        NAME(profile_scan, suppressions),
        PLAIN(profile_scan, gone),
        PLAIN(profile_scan, unseen),
};

static const struct format_column verdicts_columns[] = {
        PLAIN(profile_verdict, leak),
        PLAIN(profile_verdict, flags),
        DELTA(profile_verdict, head),
        PLAIN(profile_verdict, vtable),
};

static const struct format_column contents_columns[] = {
        REFER(profile_content, block, DELTA, BLOCKS),
        PLAIN(profile_content, bytes),
        BYTES(profile_content, data),
};

static const struct format_column roots_columns[] = {
        DELTA(profile_root, start),
        NEAR(profile_root, end, start),
        PLAIN(profile_root, kind),
        DELTA(profile_root, tid),
        PLAIN(profile_root, module),
        PLAIN(profile_root, region),
        NEAR(profile_root, base, start),
};

static const struct format_column frames_columns[] = {
        DELTA(profile_frame, low),
        NEAR(profile_frame, high, low),
        DELTA(profile_frame, pc),
        DELTA(profile_frame, tid),
        PLAIN(profile_frame, module),
        PLAIN(profile_frame, exact),
};

static const struct format_column holds_columns[] = {
        DELTA(profile_hold, at),
        REFER(profile_hold, from, DELTA, ROOTS),
        REFER(profile_hold, to, DELTA, BLOCKS),
        PLAIN(profile_hold, flags),
};

static const struct format_column pointers_columns[] = {
        REFER(profile_pointer, from, DELTA, BLOCKS),
        REFER_NEAR(profile_pointer, to, from, BLOCKS),
        DELTA(profile_pointer, at),
        PLAIN(profile_pointer, flags),
};

static const struct format_column mappings_columns[] = {
        DELTA(profile_mapping, start),
        NEAR(profile_mapping, end, start),
        PLAIN(profile_mapping, rss_bytes),
        PLAIN(profile_mapping, anonymous_bytes),
        PLAIN(profile_mapping, flags),
        NAME(profile_mapping, name),
        PLAIN(profile_mapping, offset),
        PLAIN(profile_mapping, device),
        PLAIN(profile_mapping, inode),
        PLAIN(profile_mapping, unrecorded_blocks),
        PLAIN(profile_mapping, unrecorded_bytes),
};

#define GROWN(array, member, record, counter, size, list, late)                                \
        [FORMAT_##array] = { #member, sizeof(record), offsetof(struct profile, member),        \
                             offsetof(struct profile, counter), WIDTH(profile, counter), size, \
                                     list,                                                     \
                             sizeof(list) / sizeof(struct format_column), late }
#define TABLE(array, member, record, counter, size, list) \
        GROWN(array, member, record, counter, size, list, 0)

const struct format_table format_tables[FORMAT_ARRAY_COUNT] = {
        GROWN(MODULES, modules, struct profile_module, module_count, FORMAT_TEXT_PIECE,
              modules_columns, 5),
        [FORMAT_NODES] = { "nodes", sizeof(struct profile_node), offsetof(struct profile, nodes),
                           offsetof(struct profile, node_count), WIDTH(profile, node_count),
                           FORMAT_PIECE, NULL, 0, 0 },
        TABLE(SITES, sites, struct profile_site, site_count, FORMAT_PIECE, sites_columns),
        TABLE(THREADS, threads, struct profile_thread, thread_count, FORMAT_TEXT_PIECE,
              threads_columns),
        GROWN(ERRORS, errors, struct profile_error, error_count, FORMAT_PIECE, errors_columns, 4),
        GROWN(SLICES, slices, struct profile_slice, slice_count, FORMAT_PIECE, slices_columns, 1),
        TABLE(CHANGES, changes, struct profile_change, change_count, FORMAT_PIECE, changes_columns),
        GROWN(REGIONS, regions, struct profile_region, region_count, FORMAT_PIECE, regions_columns,
              1),
        TABLE(SYMBOLS, symbols, struct profile_symbol, symbol_count, FORMAT_TEXT_PIECE,
              symbols_columns),
        TABLE(SHARES, shares, struct profile_share, share_count, FORMAT_PIECE, shares_columns),
        TABLE(BLOCKS, blocks, struct profile_block, block_count, FORMAT_PIECE, blocks_columns),
        TABLE(MARKS, marks, struct profile_mark, mark_count, FORMAT_TEXT_PIECE, marks_columns),
        TABLE(DEATHS, deaths, struct profile_death, death_count, FORMAT_PIECE, deaths_columns),
        TABLE(HANDLES, handles, struct profile_handle, handle_count, FORMAT_PIECE, handles_columns),
        TABLE(JIT, jit, struct profile_jit, jit_count, FORMAT_TEXT_PIECE, jit_columns),
        TABLE(TYPES, types, char *, type_count, FORMAT_TEXT_PIECE, types_columns),
        GROWN(SCANS, scans, struct profile_scan, scan_count, FORMAT_TEXT_PIECE, scans_columns, 1),
        TABLE(VERDICTS, verdicts, struct profile_verdict, verdict_count, FORMAT_PIECE,
              verdicts_columns),
        TABLE(CONTENTS, contents, struct profile_content, content_count, FORMAT_PIECE,
              contents_columns),
        TABLE(ROOTS, roots, struct profile_root, root_count, FORMAT_PIECE, roots_columns),
        TABLE(FRAMES, frames, struct profile_frame, frame_count, FORMAT_PIECE, frames_columns),
        TABLE(HOLDS, holds, struct profile_hold, hold_count, FORMAT_PIECE, holds_columns),
        TABLE(POINTERS, pointers, struct profile_pointer, pointer_count, FORMAT_PIECE,
              pointers_columns),
        GROWN(MAPPINGS, mappings, struct profile_mapping, mapping_count, FORMAT_TEXT_PIECE,
              mappings_columns, 5),
};

/* The list of arrays gives the section numbers; they must run in step with the enum. */
#define FORMAT_NUMBER_CHECK(name, number, member, count)               \
        _Static_assert(FORMAT_##name + FORMAT_FIRST_ARRAY == (number), \
                       "section numbers are frozen");
FORMAT_ARRAYS(FORMAT_NUMBER_CHECK)

/* Numbers that are in files. */
_Static_assert(LEDGER_KIND_POOL == 14 && LEDGER_KIND_COUNT == PROFILE_KIND_OLDER &&
                       LEDGER_KIND_TYPE_FIRST == 32,
               "kinds are frozen");
_Static_assert(LEDGER_MARK_OUTSIDE == 9, "types of marks are frozen");
_Static_assert(LEDGER_EVENT_CARVE == 16 && LEDGER_EVENT_THREAD_NAME == 17,
               "types of events are frozen");
_Static_assert(PROFILE_LEAK_COUNT == 5 && PROFILE_ROOT_COUNT == 9,
               "classes of leaks and kinds of roots are frozen");
_Static_assert(LEDGER_SIZE_CLASSES == 42 && LEDGER_LIFETIME_CLASSES == 34, "classes are frozen");

uint64_t format_count(const struct profile *p, unsigned array)
{
        const struct format_table *t = &format_tables[array];

        return format_load((const char *)p + t->count_offset, t->count_width);
}

void format_set_count(struct profile *p, unsigned array, uint64_t count)
{
        const struct format_table *t = &format_tables[array];

        format_store((char *)p + t->count_offset, t->count_width, count);
}

void **format_array(struct profile *p, unsigned array)
{
        return (void **)((char *)p + format_tables[array].array_offset);
}

struct profile_packed *format_packed(struct profile *p, unsigned array)
{
        if (array == FORMAT_BLOCKS)
                return &p->packed_blocks;
        if (array == FORMAT_POINTERS)
                return &p->packed_pointers;
        return array == FORMAT_VERDICTS ? &p->packed_verdicts : NULL;
}

const void *format_records(const struct profile *p, unsigned array)
{
        return *(void *const *)((const char *)p + format_tables[array].array_offset);
}

static bool is_text(const struct format_column *col)
{
        return col->coding == FORMAT_TEXT || col->coding == FORMAT_NAME;
}

void format_free_texts(unsigned array, const void *records, uint64_t count)
{
        const struct format_table *t = &format_tables[array];

        for (uint32_t k = 0; k < t->column_count; k++)
                for (uint64_t i = 0; i < count && is_text(&t->columns[k]); i++)
                        free(*(char *const *)(const void *)((const char *)records +
                                                            i * t->record_bytes +
                                                            t->columns[k].offset));
}

uint64_t *format_header_count(struct format_header *h, unsigned array)
{
        return array < FORMAT_ARRAYS_FRONT ? &h->count[array]
                                           : &h->back_count[array - FORMAT_ARRAYS_FRONT];
}

const char *format_section_name(uint32_t type)
{
        switch (type) {
        case FORMAT_META:
                return "meta";
        case FORMAT_TOTALS:
                return "totals";
        case FORMAT_EVENTS:
                return "events";
        case FORMAT_EVENT_SITES:
                return "event sites";
        case FORMAT_SEARCH:
                return "searches";
        case FORMAT_END:
                return "end";
        }
        return format_is_modelled(type) ? format_tables[type - FORMAT_FIRST_ARRAY].name : NULL;
}

bool format_is_modelled(uint32_t type)
{
        return type == FORMAT_META || type == FORMAT_TOTALS || type == FORMAT_END ||
               (type >= FORMAT_FIRST_ARRAY && type < FORMAT_FIRST_ARRAY + FORMAT_ARRAY_COUNT);
}
