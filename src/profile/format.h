/* SPDX-License-Identifier: MIT */
/*
 * format.h -- the layout of a `.seep` file as tables; docs/FORMAT.md is the same in words.
 *
 * Keeps:  all numbers are little-endian; section numbers and column order are frozen
 *         within a format version.
 *
 *   header (256 bytes) | section | section | ... | END section
 *   section = head (32 bytes) + body (zstd or plain)
 *
 * An array of the profile is stored in pieces of some thousand records, column after column, so
 * that a file that was cut off still gives the beginning of each array it reached.
 */
#ifndef SEEP_PROFILE_FORMAT_H
#define SEEP_PROFILE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "profile/model.h"

#define FORMAT_MAGIC "\x89SEEP\r\n\x1a"
#define FORMAT_MAGIC_BYTES 8u
#define FORMAT_VERSION 1u
#define FORMAT_HEADER_BYTES 256u
#define FORMAT_HEADER_LEAST 128u /* of writers that knew the first arrays only */
#define FORMAT_SECTION_BYTES 32u
#define FORMAT_SECTION_MARK 0x54434553u /* "SECT" */
#define FORMAT_F_ZSTD 1u

/* Limits that a reader holds every file to, before it allocates. */
#define FORMAT_RAW_MAX (64ull << 20)      /* one section, unpacked */
#define FORMAT_RAW_TOTAL_MAX (4ull << 30) /* all of them */

#define FORMAT_PIECE 65536u      /* records in a section, at most */
#define FORMAT_TEXT_PIECE 1024u  /* the same for arrays with strings */

/* Sections that are no array. */
enum { FORMAT_META = 1, FORMAT_TOTALS = 2, FORMAT_EVENTS = 64, FORMAT_EVENT_SITES = 65,
       FORMAT_SEARCH = 66, FORMAT_END = 255 };

/* Arrays of struct profile in the order of their section numbers: name, number, member, count's
 * member. */
#define FORMAT_ARRAYS(X)                                                       \
        X(MODULES, 3, modules, module_count)                                   \
        X(NODES, 4, nodes, node_count)                                         \
        X(SITES, 5, sites, site_count)                                         \
        X(THREADS, 6, threads, thread_count)                                   \
        X(ERRORS, 7, errors, error_count)                                      \
        X(SLICES, 8, slices, slice_count)                                      \
        X(CHANGES, 9, changes, change_count)                                   \
        X(REGIONS, 10, regions, region_count)                                  \
        X(SYMBOLS, 11, symbols, symbol_count)                                  \
        X(SHARES, 12, shares, share_count)                                     \
        X(BLOCKS, 13, blocks, block_count)                                     \
        X(MARKS, 14, marks, mark_count)                                        \
        X(DEATHS, 15, deaths, death_count)                                     \
        X(HANDLES, 16, handles, handle_count)                                  \
        X(JIT, 17, jit, jit_count)                                             \
        X(TYPES, 18, types, type_count)                                        \
        X(SCANS, 19, scans, scan_count)                                        \
        X(VERDICTS, 20, verdicts, verdict_count)                               \
        X(CONTENTS, 21, contents, content_count)                               \
        X(ROOTS, 22, roots, root_count)                                        \
        X(FRAMES, 23, frames, frame_count)                                     \
        X(HOLDS, 24, holds, hold_count)                                        \
        X(POINTERS, 25, pointers, pointer_count)                               \
        X(MAPPINGS, 26, mappings, mapping_count)

enum format_array {
#define FORMAT_ARRAY_ENUM(name, number, member, count) FORMAT_##name,
        FORMAT_ARRAYS(FORMAT_ARRAY_ENUM)
#undef FORMAT_ARRAY_ENUM
        FORMAT_ARRAY_COUNT,
        FORMAT_NONE /* in a column: refers to no array */
};

#define FORMAT_FIRST_ARRAY 3u /* section number = array + this */
#define FORMAT_ARRAYS_FRONT 11u /* have their count in the first half of the header */
#define FORMAT_ARRAYS_BACK 15u  /* room for so many in the second */

struct format_header {
        uint8_t magic[8];
        uint16_t version;
        uint16_t header_bytes; /* where the first section starts */
        uint32_t section_count; /* with END */
        uint64_t file_bytes;
        uint64_t count[FORMAT_ARRAYS_FRONT]; /* records of each array */
        uint8_t reserved[12];
        uint32_t crc; /* of everything before */
        uint64_t back_count[FORMAT_ARRAYS_BACK];
        uint32_t back_reserved;
        uint32_t back_crc; /* of everything from back_count on */
};

struct format_section {
        uint32_t mark;
        uint16_t type, flags;
        uint64_t stored_bytes, raw_bytes;
        uint32_t body_crc; /* of the stored bytes */
        uint32_t crc;      /* of everything before */
};

_Static_assert(sizeof(struct format_header) == FORMAT_HEADER_BYTES, "frozen");
_Static_assert(offsetof(struct format_header, back_count) == FORMAT_HEADER_LEAST, "frozen");
_Static_assert(FORMAT_ARRAY_COUNT <= FORMAT_ARRAYS_FRONT + FORMAT_ARRAYS_BACK,
               "the header is full");
_Static_assert(sizeof(struct format_section) == FORMAT_SECTION_BYTES, "frozen");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are copied as they are");

/* How a column's values are written; all but text and bytes are varints. */
enum format_coding {
        FORMAT_PLAIN, /* the value */
        FORMAT_DELTA, /* zigzag: minus the record before in this piece (0 before the first) */
        FORMAT_NEAR,  /* zigzag: minus (base - less), two columns that come earlier in the list */
        FORMAT_LAST,  /* zigzag: minus the same column of the last change of the same site (0 if
                       * none) */
        FORMAT_TEXT,  /* length + 1, then the bytes; 0 is NULL */
        FORMAT_NAME,  /* the same; NULL becomes "" */
        FORMAT_BYTES  /* `width` bytes as they are */
};

#define FORMAT_NO_FIELD 0xffffu

struct format_column {
        uint16_t offset, width; /* of the member in its struct */
        uint16_t coding;
        uint16_t refers; /* enum format_array: values must be below its count; FORMAT_NONE: any */
        uint16_t base, less;
};

struct format_table {
        const char *name;
        uint32_t record_bytes;
        uint32_t array_offset, count_offset, count_width; /* in struct profile */
        uint32_t piece;                                   /* records in a section */
        const struct format_column *columns; /* NULL: nodes, which have a coding of their own */
        uint32_t column_count;
        uint32_t late; /* of them, at the end: numbers that files of earlier
                        * versions do not have; 0 there */
};

extern const struct format_table format_tables[FORMAT_ARRAY_COUNT];

uint64_t format_count(const struct profile *p, unsigned array);
void format_set_count(struct profile *p, unsigned array, uint64_t count);
void **format_array(struct profile *p, unsigned array);
/* How ARRAY is packed: FORMAT_BLOCKS, FORMAT_VERDICTS, FORMAT_POINTERS; others NULL. */
struct profile_packed *format_packed(struct profile *p, unsigned array);
const void *format_records(const struct profile *p, unsigned array);

/* Free the strings in COUNT records. */
void format_free_texts(unsigned array, const void *records, uint64_t count);

/* Where the header has the count of ARRAY. */
uint64_t *format_header_count(struct format_header *h, unsigned array);

/* "meta", "nodes", ...; NULL for a number this version does not know. */
const char *format_section_name(uint32_t type);

/* Is it one that struct profile is made of?  Others are an event log, or of a later writer. */
bool format_is_modelled(uint32_t type);

/* Members of struct profile_meta and profile_totals, in the order of the file. */
#define FORMAT_META_TEXTS(X) X(program) X(exe) X(cwd) X(host) X(engine) X(version)
#define FORMAT_META_NUMBERS(X)                                                                \
        X(pid) X(ppid) X(start_realtime_ns) X(duration_ms) X(end) X(exit_code) X(exit_signal) \
        X(flags) X(complete) X(stop_reason) X(depth) X(word_bytes)
#define FORMAT_META_LISTS(X) X(args, arg_count) X(warnings, warning_count)
/* Behind the lists; a file that does not have them is of x86-64. */
#define FORMAT_META_LATE(X) X(machine) X(byte_order) X(page_bytes)
#define FORMAT_TOTALS_NUMBERS(X)                                                              \
        X(allocations) X(frees) X(bytes_allocated) X(live_blocks) X(live_bytes) X(peak_bytes) \
        X(peak_blocks) X(peak_ms) X(peak_error_bytes) X(temporary) X(unknown_frees)           \
        X(double_frees) X(mismatched) X(mmap_calls) X(mmap_bytes) X(mmap_live_bytes)          \
        X(rss_peak_bytes) X(truncated_stacks) X(lost_events) X(untracked_blocks)              \
        X(forks_not_followed) X(verify_captures) X(verify_differences) X(verify_backtraces)   \
        X(verify_backtrace_differences)
/* ... and then, each with its number of classes: */
#define FORMAT_TOTALS_LISTS(X) X(sizes) X(lifetimes)
/* ... and what came later: */
#define FORMAT_TOTALS_LATE(X)                                                                   \
        X(sample_bytes) X(mappings_ms) X(own_malloc) X(forked) X(missed_frees) X(unseen_blocks) \
        X(held_back) X(quarantine_blocks) X(quarantine_bytes) X(quarantine_ms)                  \
        X(omitted) X(omitted_bytes) X(omitted_maps) X(omitted_map_bytes)                        \
        X(ledger_bytes) X(ledger_limit) X(thin_bytes) X(thin_events) X(ledger_full)             \
        X(thin_ms[0]) X(thin_ms[1]) X(thin_ms[2]) X(thin_ms[3]) X(thin_ms[4]) X(thin_ms[5])     \
        X(thin_ms[6]) X(thin_ms[7]) X(modules_not_kept) X(threads_not_kept) X(regions_not_kept) \
        X(handles_not_kept) X(errors_not_kept) X(roots_not_kept) X(marks_not_kept)              \
        X(deaths_not_kept) X(strings_not_kept) X(shut_out) X(mappings_live_bytes)               \
        X(mappings_live_blocks) X(namespaces) X(older) X(attached) X(one_way)

/* CRC-32 (IEEE 802.3, as in zlib and PNG). */
uint32_t format_crc(const void *bytes, size_t count);

static inline uint64_t format_zigzag(uint64_t difference)
{
        return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t format_unzigzag(uint64_t stored)
{
        return stored >> 1 ^ (0 - (stored & 1));
}

/* A member of WIDTH (4 or 8) bytes at FIELD. */
static inline uint64_t format_load(const void *field, unsigned width)
{
        uint64_t whole;
        uint32_t half;

        if (width == 8) {
                memcpy(&whole, field, 8);
                return whole;
        }
        memcpy(&half, field, 4);
        return half;
}

static inline void format_store(void *field, unsigned width, uint64_t value)
{
        uint32_t half = (uint32_t)value;

        if (width == 8)
                memcpy(field, &value, 8);
        else
                memcpy(field, &half, 4);
}

#endif
