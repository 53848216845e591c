/* SPDX-License-Identifier: MIT */
/* info.h -- the results of `seep info`, and its two formats. */
#ifndef SEEP_CLI_INFO_H
#define SEEP_CLI_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/file.h"
#include "profile/model.h"

struct info_names {
        uint32_t asked, named; /* frames of the module: some of them, those with a name */
        bool lines;
};

struct info {
        const char *file;
        bool running; /* FILE is a process */
        struct profile profile;
        struct file_layout layout;
        struct info_names *names; /* per module; NULL: not asked for */
};

/* What is counted: member of struct profile, key in JSON, noun.  Entry 0 of some arrays stands for
 * "unknown" and is not counted: `less` of them. */
#define INFO_COUNTS(X)                                                         \
        X(site_count, "sites", "call sites", 1)                                \
        X(node_count, "nodes", "stack frames", 2)                              \
        X(thread_count, "threads", "threads", 1)                               \
        X(module_count, "modules", "modules", 0)                               \
        X(slice_count, "slices", "time slices", 0)                             \
        X(block_count, "blocks", "live blocks", 0)                             \
        X(region_count, "regions", "mappings", 0)                              \
        X(error_count, "errors", "invalid frees", 0)                           \
        X(symbol_count, "symbols", "stored names", 0)                          \
        X(mark_count, "marks", "tags, snapshots and other marks", 0)           \
        X(death_count, "deaths", "sums of frees between marks", 0)             \
        X(type_count, "types", "types of resources", 0)                        \
        X(handle_count, "handles", "resources held at the end", 0)             \
        X(jit_count, "jit", "names of JIT-compiled code", 0)                   \
        X(content_count, "contents", "first bytes of lost blocks", 0)          \
        X(root_count, "roots", "roots", 0)                                     \
        X(hold_count, "holds", "pointers in roots", 0)                         \
        X(pointer_count, "pointers", "pointers in blocks", 0)

/* The count of MEMBER without its LESS fixed entries. */
uint64_t info_count(uint64_t count, uint64_t less);

void info_text(const struct info *info, struct str *out);
void info_json(const struct info *info, struct str *out);

/* Build id in hex; nothing when there is none. */
void info_build_id(const struct profile_module *m, struct str *out);

/* Sections of one name, summed; false when NAME came earlier than section I. */
struct info_section {
        uint32_t pieces, damaged;
        uint64_t stored_bytes, raw_bytes;
};
bool info_sum_sections(const struct file_layout *l, uint32_t i, struct info_section *sum);

/* The sections of the event log, summed; pieces 0: there is none. */
void info_sum_log(const struct file_layout *l, struct info_section *sum);

/* Blocks by what the search for leaks said about them. */
struct info_class {
        uint64_t blocks, bytes;
};
void info_sum_classes(const struct profile *p, struct info_class sums[PROFILE_LEAK_COUNT]);

/* The search for leaks for people, from column INFO_COLUMN on. */
#define INFO_COLUMN 15
void info_scan_text(const struct profile *p, struct str *out);

/* Flags of the recording (WIRE_F_*) as words. */
struct info_flag {
        uint32_t flag;
        const char *word, *text;
};
#define INFO_FLAG_COUNT 15
extern const struct info_flag info_flags[INFO_FLAG_COUNT];

#endif
