/* SPDX-License-Identifier: MIT */
/*
 * model.h -- one recording in memory: what every report reads.
 *
 * Room:   outside.  Filled by collect/collect.c (from a ledger) or profile/reader.c (from a
 *         file); read by profile/writer.c and report/.  Knows addresses and ids, never
 *         names (names/ has those).
 * Owns:   all arrays, through profile_free().
 * Keeps:  sizes are the bytes the program asked for.  Heap numbers cover all kinds but mmap and
 *         mremap; those are sites too, with their own numbers, and are summed in totals.mmap_*
 *         only.  Resources (file descriptors, ...) are sites of kinds from LEDGER_KIND_TYPE_FIRST
 *         on; their "bytes" are amounts, in no total.
 */
#ifndef SEEP_PROFILE_MODEL_H
#define SEEP_PROFILE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"

/* How the recorded process ended. */
enum profile_end {
        PROFILE_END_UNKNOWN, /* still running: a checkpoint, or the recording ended first */
        PROFILE_END_EXIT,    /* code */
        PROFILE_END_SIGNAL,  /* signal */
        PROFILE_END_EXEC,    /* replaced by another program */
        PROFILE_END_GONE     /* ended, but it was not our child: no status known */
};

/* A process that was not recorded: its blocks were found by a walk through the allocator's heaps.
 * Their sizes are usable sizes; they have no age, no thread, and instead of a stack one made-up
 * frame that says the size. */
#define PROFILE_ENGINE_WALK "heap-walk"

struct profile_meta {
        char *program;   /* as given on the command line */
        char *exe;       /* full path */
        char **args;     /* args[0] is the program's own idea of its name */
        uint32_t arg_count;
        char *cwd, *host;
        char *engine;    /* how the agent got in: "preload" (session/carrier.h); or
                          * PROFILE_ENGINE_WALK */
        char *version;   /* of seep */
        uint32_t pid, ppid;
        uint64_t start_realtime_ns;
        uint64_t duration_ms;
        uint32_t end;         /* enum profile_end */
        uint32_t exit_code, exit_signal;
        uint32_t flags;       /* WIRE_F_* of the recording */
        uint32_t complete;    /* 0: checkpoint, agent stopped early, or file truncated */
        uint32_t stop_reason; /* enum ledger_stop */
        uint32_t depth;       /* record --depth N, 0 = unlimited */
        uint32_t word_bytes;
        uint32_t machine;     /* e_machine of its program (machine.h) */
        uint32_t byte_order;  /* as ELF tells it: 1 the low byte first, 2 the high one */
        uint32_t page_bytes;
        char **warnings;      /* sentences for the user */
        uint32_t warning_count;
};

struct profile_totals {
        uint64_t allocations, frees, bytes_allocated;
        uint64_t live_blocks, live_bytes;
        uint64_t peak_bytes, peak_blocks, peak_ms, peak_error_bytes;
        uint64_t temporary;
        uint64_t unknown_frees, double_frees, mismatched;
        uint64_t mmap_calls, mmap_bytes, mmap_live_bytes;
        uint64_t rss_peak_bytes;
        uint64_t mappings_ms;  /* when the mappings were last read ... */
        /* ... and what was live then; 0: unknown. */
        uint64_t mappings_live_bytes, mappings_live_blocks;
        uint64_t missed_frees;   /* blocks allocated again while they were live here: their frees
                                  * were not seen */
        uint64_t unseen_blocks;  /* frees of blocks whose allocations were not seen */
        uint64_t one_way; /* functions of custom allocators whose blocks are never seen freed */
        uint64_t shut_out;       /* programs and children that were not recorded because of a
                                  * system call filter */
        uint64_t namespaces;     /* libraries loaded into namespaces of their own (dlmopen), with
                                  * a malloc that is not seen */
        uint64_t older;          /* frees of blocks from before the recording, or before its last
                                  * reset; in no other number */
        uint64_t attached;       /* 1: the process was there before the recording */
        uint64_t held_back;      /* invalid frees that were not passed on (--keep-going) */
        uint64_t quarantine_blocks, quarantine_bytes; /* in quarantine at the end: ... */
        uint64_t quarantine_ms;  /* ... blocks that were freed since then */
        /* Left out (record --omit): heap, mappings. */
        uint64_t omitted, omitted_bytes, omitted_maps, omitted_map_bytes;
        uint64_t sample_bytes; /* not 0: all counts are estimates from one block in so many bytes
                                * (ledger/weight.h) */
        uint64_t ledger_bytes; /* the most memory that the recording took within the program's
                                * limits */
        uint64_t ledger_limit; /* record --limit-ledger; 0 none */
        uint64_t thin_ms[LEDGER_THINS]; /* from then on counts are estimates, from one block in
                                         * ... */
        uint64_t thin_bytes;   /* ... so many bytes; twice as many from each further moment on.
                                * No moment: none are estimates */
        uint64_t thin_events;  /* blocks that were recorded since, each for many */
        uint64_t ledger_full;  /* 1: at the end no new blocks were recorded (see lost_events) */
        /* As in ledger_slot, of the whole process. */
        uint64_t sizes[LEDGER_SIZE_CLASSES], lifetimes[LEDGER_LIFETIME_CLASSES];
        uint64_t truncated_stacks, lost_events, untracked_blocks, forks_not_followed;
        uint64_t modules_not_kept, threads_not_kept, regions_not_kept, handles_not_kept,
                errors_not_kept, roots_not_kept, marks_not_kept, deaths_not_kept,
                strings_not_kept; /* what a table of the ledger had no
                                                    * room for (profile/unseen.h) */
        uint64_t own_malloc; /* 1: the program has its own malloc, which is not seen */
        uint64_t forked;     /* 1: it began as a copy of its parent, with the parent's blocks */
        /* Test mode. */
        uint64_t verify_captures, verify_differences, verify_backtraces,
                verify_backtrace_differences;
};

struct profile_module {
        uint64_t start, end, bias; /* file address = address - bias */
        char *path;
        uint64_t load_ms, gone_ms; /* gone 0: to the end */
        uint32_t flags;            /* LEDGER_MODULE_* */
        uint32_t build_id_bytes;
        uint8_t build_id[20];
        uint64_t code_start, code_end, code_offset; /* its executable mapping, and where that begins
                                                     * in the file; 0: not known */
        uint64_t device, inode; /* of the file; device: major << 32 | minor.  0: none */
};

/* The stack tree.  Node 0 is the root, node 1 the root of stacks whose outer end is missing; a
 * parent's index is always smaller than its child's.  (parent, pc, module, exact) is unique. */
struct profile_node {
        uint64_t pc;     /* return address, unless exact */
        uint32_t parent;
        uint16_t module; /* index into modules; PROFILE_NO_MODULE */
        uint16_t exact;  /* 1: pc was interrupted by a signal: look up pc, not pc - 1 */
};

#define PROFILE_NO_MODULE 0xffffu

/* Kinds of sites are those of the ledger (enum ledger_kind), and this one: blocks from before the
 * recording, found by a walk through the heap during the leak search.  They have a made-up frame
 * instead of a stack, no age and no thread, and are in no count of the recording. */
#define PROFILE_KIND_OLDER 15u
#define PROFILE_KIND_IS_COUNTED(kind) (LEDGER_KIND_IS_HEAP(kind) && (kind) != PROFILE_KIND_OLDER)
#define PROFILE_KIND_OLDER_TEXT "older than the recording"

/* One call stack and kind that allocated.  Site 0 does not exist; ids start at 1 (sites[0] is all
 * zero). */
struct profile_site {
        uint32_t node;
        uint32_t kind; /* enum ledger_kind */
        uint64_t allocs, frees, alloc_bytes;
        uint64_t live_blocks, live_bytes;
        uint64_t peak_blocks, peak_bytes; /* its share of the whole program's peak */
        uint64_t temporary;
        uint64_t lifetime_ms; /* summed over all freed blocks */
};

/* A thread that allocated.  threads[0] is "unknown". */
struct profile_thread {
        uint32_t tid;
        char *name;
        uint64_t start_ms, end_ms; /* end 0: not seen */
        uint64_t allocations, bytes_allocated;
        uint64_t live_blocks, live_bytes; /* allocated by this thread and not freed by any */
};

/* What one thread did at one site; for --thread.  Threads that came after each other with one name
 * may be summed into the first of them.  live and peak: of blocks counted in this slot; frees by
 * others are not subtracted. */
struct profile_share {
        uint32_t site, thread;
        uint64_t allocs, alloc_bytes, frees, free_bytes;
        uint64_t temporary;
};

/* A moment.  Numbers are cumulative: the difference of two slices is what happened between them. */
struct profile_slice {
        uint64_t ms;
        uint64_t live_bytes, live_blocks, allocs, alloc_bytes, frees, rss_bytes;
        uint32_t change_first, change_count; /* into changes: the sites that differ from the last
                                              * slice with sites */
        uint32_t flags, reserved;            /* PROFILE_SLICE_* */
};

/* The sites were not read then: only the totals are of this moment. */
#define PROFILE_SLICE_TOTALS 1u

struct profile_change {
        uint32_t site;
        uint32_t reserved;
        uint64_t live_bytes, live_blocks, allocs, alloc_bytes;
};

/* A named moment: a tag, or a snapshot.  Its numbers are those of its slice, which is never thinned
 * out. */
struct profile_mark {
        uint32_t type;   /* enum ledger_mark_type */
        uint32_t seq;    /* snapshots: 1, 2, ... in order; 0: a tag or a switch, no snapshot */
        uint32_t slice;  /* index into slices */
        uint32_t thread; /* index into threads; 0 unknown, or from outside */
        uint32_t flags;  /* LEDGER_MARK_* */
        uint32_t era;    /* mark of the ledger + 1: blocks born at it or later are of this era or a
                          * later one; 0: made outside */
        uint64_t ms;
        char *label;     /* never NULL */
};

/* Blocks of a site born in one era and freed in the same or a later one.  Only of eras from 1
 * on. */
struct profile_death {
        uint32_t site, birth, death, reserved;
        uint64_t blocks, bytes;
};

/* A resource that was not released. */
struct profile_handle {
        uint64_t handle, amount;
        uint32_t site, thread;
        uint64_t birth_ms;
};

/* Code that was compiled at run time, from /tmp/perf-PID.map.  Sorted by start. */
struct profile_jit {
        uint64_t start, bytes;
        char *name;
};

struct profile_block {
        uint64_t address, size;
        uint32_t site, thread;
        uint64_t birth_ms;
};

struct profile_region {
        uint64_t start, end;
        uint32_t site, thread;
        uint64_t birth_ms;
        uint64_t stack; /* 1: of a thread, mapped by the C library; SITE made the thread */
};

/* A mapping of the process as it was at totals.mappings_ms: where resident memory is.  Sorted by
 * start. */
struct profile_mapping {
        uint64_t start, end;
        uint64_t rss_bytes;
        uint64_t anonymous_bytes; /* of them: not from a file */
        uint32_t flags;           /* PROFILE_MAPPING_* */
        uint32_t watched;         /* not in files: a reader may have to wait (userfaultfd) */
        char *name;               /* a path, "[heap]", "[stack]", ...; "" none */
        uint64_t offset;          /* where it begins in the file */
        uint64_t device, inode;   /* as in modules */
        uint64_t unrecorded_blocks, unrecorded_bytes; /* live blocks in it that are not recorded:
                                                       * allocated while off, or omitted */
};

#define PROFILE_MAPPING_READ 1u
#define PROFILE_MAPPING_WRITE 2u
#define PROFILE_MAPPING_EXECUTE 4u
#define PROFILE_MAPPING_SHARED 8u
#define PROFILE_MAPPING_SERVES 16u /* it has the code of malloc */

/* The allocator that owns a mapping, in bits 8-15 of its flags: name, number, word.  Those of glibc
 * come first. */
#define PROFILE_KEEPERS(X)                                                     \
        X(NONE, 0, "")                /* no allocator, or unknown */           \
        X(HEAP, 1, "malloc heap (main arena)")                                 \
        X(ARENA, 2, "malloc arenas of threads")                                \
        X(CHUNK, 3, "malloc mmapped chunks")                                   \
        X(MALLOC, 4, "malloc")        /* of the C library, in another way */   \
        X(JEMALLOC, 5, "jemalloc")                                             \
        X(TCMALLOC, 6, "tcmalloc")                                             \
        X(MIMALLOC, 7, "mimalloc")                                             \
        X(OTHER, 8, "another allocator")

enum profile_keeper {
#define PROFILE_KEEPER_ENUM(name, number, word) PROFILE_KEEPER_##name = number,
        PROFILE_KEEPERS(PROFILE_KEEPER_ENUM)
#undef PROFILE_KEEPER_ENUM
        PROFILE_KEEPER_COUNT
};

#define PROFILE_MAPPING_KEEPER(flags) ((flags) >> 8 & 0xffu)
#define PROFILE_MAPPING_KEPT(keeper) ((uint32_t)(keeper) << 8)

struct profile_error {
        uint32_t type; /* enum ledger_error_type */
        uint32_t node; /* stack of the release */
        uint32_t alloc_site;
        uint32_t release; /* enum ledger_family */
        uint32_t thread;
        uint64_t address, size, count, first_ms;
        uint32_t free_node; /* of a double free: stack of the first one; 0 unknown */
        uint32_t wrong;     /* of a mismatch: enum ledger_wrong */
        uint64_t alignment; /* of the block; 0 none */
        uint64_t given;     /* size or alignment that the release named; how far an unknown address
                             * was inside of a block of alloc_site */
};

/* Names found earlier and stored with the recording (seep symbolize).  Sorted by (module,
 * address). */
struct profile_symbol {
        uint32_t module, inline_depth; /* frames of one address, innermost (depth 0) first */
        uint64_t address;              /* in the file of the module */
        char *function, *file;         /* NULL unknown */
        uint32_t line, reserved;
};

/* ---- what the search for leaks found ---- */

/* Ordered from harmless to lost; the meaning is Memcheck's. */
#define PROFILE_LEAKS(X)                                                       \
        X(UNKNOWN, 0, "unknown", "not searched for")                           \
        X(REACHABLE, 1, "reachable", "still reachable")                        \
        X(POSSIBLE, 2, "possible", "possibly lost")                            \
        X(INDIRECT, 3, "indirect", "indirectly lost")                          \
        X(DEFINITE, 4, "definite", "definitely lost")

enum profile_leak {
#define PROFILE_LEAK_ENUM(name, number, word, text) PROFILE_LEAK_##name = number,
        PROFILE_LEAKS(PROFILE_LEAK_ENUM)
#undef PROFILE_LEAK_ENUM
        PROFILE_LEAK_COUNT
};

/* When a search was made. */
enum profile_scan_when { PROFILE_SCAN_EXIT, PROFILE_SCAN_EXEC, PROFILE_SCAN_ASKED, PROFILE_SCAN_API,
                         PROFILE_SCAN_SIGNAL, PROFILE_SCAN_CORE };

/* Whether the program was about to go, and waited for it. */
#define PROFILE_SCAN_IS_LAST(when)                                     \
        ((when) == PROFILE_SCAN_EXIT || (when) == PROFILE_SCAN_EXEC || \
         (when) == PROFILE_SCAN_SIGNAL)

#define PROFILE_SCAN_GRAPH 1u      /* pointers, roots and frames are kept: `why` works */
#define PROFILE_SCAN_UNALIGNED 2u  /* pointers were searched at every byte */
#define PROFILE_SCAN_COPY 4u       /* in a copy of the process, which went on meanwhile */
#define PROFILE_SCAN_INCREMENT 8u  /* there was an earlier scan: PROFILE_VERDICT_NEW means
                                    * something */

/* The last search for leaks.  There is one (scan_count 1) or none: nobody asked, or the
 * process ended without a chance. */
struct profile_scan {
        uint64_t ms;
        uint32_t when;  /* enum profile_scan_when */
        uint32_t flags; /* PROFILE_SCAN_* */
        uint32_t threads, roots;
        uint64_t pause_us, scan_us, root_bytes, heap_bytes;
        char *trouble;      /* never NULL.  Not "": nothing was searched, for this reason */
        char *suppressions; /* never NULL: what __lsan_default_suppressions() of the program
                             * returns */
        uint64_t gone;      /* live blocks that the allocator did not have any more: nothing is
                             * said about them */
        uint64_t unseen;    /* blocks that the allocator had and seep did not know */
};

#define PROFILE_VERDICT_NEW 1u     /* not lost at the scan before */
#define PROFILE_VERDICT_IGNORED 2u /* SEEP_IGNORE */
#define PROFILE_VERDICT_IDIOM 4u   /* held by an interior pointer of a known idiom (new[],
                                    * headers in front, ...) only */

/* What became of one block; verdict i is about block i.  None, or as many as blocks. */
struct profile_verdict {
        uint32_t leak;  /* enum profile_leak */
        uint32_t flags; /* PROFILE_VERDICT_* */
        uint32_t head;  /* indirect: 1 + index of the definitely lost block that it hangs on; else
                         * 0 */
        uint32_t reserved;
        uint64_t vtable; /* its first word, when that points into the data of a module; else 0 */
};

/* The first bytes of some lost blocks.  Sorted by block. */
#define PROFILE_CONTENT_BYTES 64u
struct profile_content {
        uint32_t block, bytes;
        uint8_t data[PROFILE_CONTENT_BYTES];
};

#define PROFILE_ROOTS(X)                                                                    \
        X(DATA, 0, "data")         /* of a module */                                        \
        X(STACK, 1, "stack")       /* used part, of thread TID */                           \
        X(REGISTER, 2,                                                                      \
          "register") /* of thread TID; addresses: numbers times 8 (machine_register) */    \
        X(TLS, 3, "tls")           /* variables of thread TID; module 0: unknown */         \
        X(THREAD, 4, "thread")     /* of libc for thread TID: keys (pthread_setspecific) */ \
        X(MAPPING, 5, "mapping")   /* made by the program; REGION tells by whom */          \
        X(API, 6, "root")          /* SEEP_ROOT */                                          \
        X(OTHER, 7, "memory")      /* anonymous memory of unknown origin */                 \
        X(PENDING, 8, "realloc")   /* a block that realloc is about to move */

enum profile_root_kind {
#define PROFILE_ROOT_ENUM(name, number, word) PROFILE_ROOT_##name = number,
        PROFILE_ROOTS(PROFILE_ROOT_ENUM)
#undef PROFILE_ROOT_ENUM
        PROFILE_ROOT_COUNT
};

/* Memory that counts as in use by itself. */
struct profile_root {
        uint64_t start, end;
        uint32_t kind;   /* enum profile_root_kind */
        uint32_t tid;    /* of the thread; 0 none */
        uint32_t module; /* index into modules; PROFILE_NO_MODULE */
        uint32_t region; /* MAPPING: 1 + index into regions; 0 none */
        uint64_t base;   /* TLS: where the module's thread-local variables begin in this thread */
};

/* A frame of a stopped thread: [low, high) of the STACK root with its TID.  Innermost first. */
struct profile_frame {
        uint64_t low, high;
        uint64_t pc;     /* return address, or where the thread was (exact) */
        uint32_t tid;
        uint32_t module; /* index into modules; PROFILE_NO_MODULE */
        uint32_t exact;
        uint32_t reserved;
};

#define PROFILE_POINTER_INTERIOR 1u /* not to the start of the block (nor by a known idiom) */
#define PROFILE_POINTER_IDIOM 2u    /* interior, but of a known idiom: counts as one to the start */
#define PROFILE_POINTER_ARENA 4u    /* no pointer, but as good as one: FROM was carved from TO
                                     * (SEEP_ALLOC); AT is FROM's size */

/* A pointer in a root (FROM: index into roots, AT: its address) ... */
struct profile_hold {
        uint64_t at;
        uint32_t from, to; /* TO: index into blocks */
        uint32_t flags;    /* PROFILE_POINTER_* */
        uint32_t reserved;
};

/* ... and one in a block (FROM: index into blocks, AT: offset in it).  Sorted by (from, at). */
struct profile_pointer {
        uint64_t at;
        uint32_t from, to;
        uint32_t flags;
        uint32_t reserved;
};

/* A list as it is in a file: whole sections (profile/packed.h). */
struct profile_packed {
        char *sections; /* NULL: it is not packed */
        uint64_t bytes;
        uint32_t section_count;
};

/* The event log of a recording that will be written, as whole sections (profile/events_log.h):
 * those at FRONT, those of a file, those at TAIL.  Its maker owns it; empty in a profile that was
 * read. */
struct profile_log {
        const void *front, *tail;
        uint64_t front_bytes, tail_bytes;
        int fd;
        uint64_t offset, bytes;
        uint32_t sections;
};

struct profile {
        struct profile_meta meta;
        struct profile_totals totals;
        struct profile_module *modules;
        struct profile_node *nodes;
        struct profile_site *sites;
        struct profile_thread *threads;
        struct profile_share *shares;
        struct profile_slice *slices;
        struct profile_change *changes;
        struct profile_block *blocks; /* sorted by address */
        struct profile_region *regions;
        struct profile_error *errors;
        struct profile_symbol *symbols;
        struct profile_mark *marks; /* in order of time, as seen from outside: by rising slice */
        struct profile_death *deaths; /* in the order of profile_compare_deaths() */
        struct profile_handle *handles;
        struct profile_jit *jit;
        char **types; /* names of the kinds from LEDGER_KIND_TYPE_FIRST on */
        struct profile_scan *scans;       /* one or none */
        struct profile_verdict *verdicts; /* by block; or none */
        struct profile_content *contents;
        struct profile_root *roots;       /* sorted by kind, then start (registers: tid first) */
        struct profile_frame *frames;
        struct profile_hold *holds;       /* sorted by (from, at) */
        struct profile_pointer *pointers;
        struct profile_mapping *mappings; /* none: they could not be read */
        uint32_t module_count, node_count, site_count, thread_count, share_count, slice_count,
                change_count, region_count, error_count, symbol_count, mark_count, death_count,
                handle_count, jit_count, type_count, scan_count, content_count, root_count,
                frame_count, mapping_count;
        uint64_t block_count, verdict_count, hold_count, pointer_count;
        /* Instead of the arrays: where there are many (profile/packed.h). */
        struct profile_packed packed_blocks, packed_verdicts, packed_pointers;
        struct profile_packed kept; /* searches made while it ran (profile/kept.h); empty in a
                                     * profile that was read */
        struct profile_log log;
        bool truncated; /* the file ended early; this is its intact part */
};

/* Empty a profile and release what it owns.  P itself belongs to the caller. */
void profile_free(struct profile *p);

/* Release the numbers of sites over time and of threads per site. */
void profile_free_course(struct profile *p);

/* The number of slices before the peak.  Times come from two clocks: slices have the time since the
 * start, the peak has that of the ledger's clock, which marks may have moved ahead.  So the order
 * of slices and peak follows from the marks of slices. */
uint32_t profile_slices_before_peak(const struct profile *p);

/* The time of the peak as that of slices: not before the slice before it, nor after the
 * next one, nor after the end. */
uint64_t profile_peak_ms(const struct profile *p);

uint64_t profile_end_ms(const struct profile *p);

/* Bytes of thread stacks among the mappings at the end. */
uint64_t profile_stack_bytes(const struct profile *p);

/* Bytes that the program mapped itself, at the heap's peak or at the end (other moments are
 * unknown).  Without stacks, of which little is resident. */
uint64_t profile_mapped_bytes(const struct profile *p);

/* Whether that is more than the peak of the heap: then reports show it first.  Places that mapped
 * more than was ever resident do not count. */
bool profile_is_mostly_mapped(const struct profile *p);

/* Sites as they were at MS: live_bytes, live_blocks, allocs, alloc_bytes of each site at the last
 * slice that is not later.  OUT has site_count entries; false when there is no such slice. */
bool profile_at(const struct profile *p, uint64_t ms, struct profile_change *out);

/* The last slice with sites, from SLICE backwards. */
uint32_t profile_detail(const struct profile *p, uint32_t slice);

/* The same as profile_at() at a slice, by its index; false when there is none. */
bool profile_at_slice(const struct profile *p, uint32_t slice, struct profile_change *out);

/* Recorded with --no-leak-scan, or before there was a search. */
bool profile_without_search(const struct profile *p);

/* Whether its engine is PROFILE_ENGINE_WALK. */
bool profile_is_walked(const struct profile *p);

/* Recorded with --depth 0. */
bool profile_has_no_stacks(const struct profile *p);

/* Recording began switched off (--start-off). */
bool profile_started_off(const struct profile *p);

/* ... and the program never switched it on. */
bool profile_stayed_off(const struct profile *p);

/* The order of deaths, by site, birth and death; for qsort(). */
int profile_compare_deaths(const void *a, const void *b);

/* The live block that contains ADDRESS; the innermost where blocks lie inside others (parts of an
 * arena); NULL: none. */
const struct profile_block *profile_block_around(const struct profile *p, uint64_t address);

/* Whether counts are estimates, from the start (--sample) or from a moment on (--limit-ledger). */
bool profile_is_sampled(const struct profile *p);

/* How many blocks B stands for: 1 unless P was sampled. */
uint64_t profile_block_times(const struct profile *p, const struct profile_block *b);

/* The last leak search; NULL: there was none, or it failed (scans[0].trouble). */
const struct profile_scan *profile_scanned(const struct profile *p);

/* "exit", "exec", "asked", "api", "signal" for the moment of a scan. */
const char *profile_scan_word(uint32_t when);

/* "malloc arenas of threads", ...; "" for none. */
const char *profile_keeper_word(uint32_t keeper);

/* "definite" and "definitely lost". */
const char *profile_leak_word(uint32_t leak);
const char *profile_leak_text(uint32_t leak);

/* "malloc", or the name of a resource's type. */
const char *profile_kind_name(const struct profile *p, uint32_t kind);

/* PROFILE_KIND_OLDER. */
bool profile_is_older(const struct profile *p, uint32_t site);

/* Whether the allocations of SITE were recorded, so that stack, thread and age are known: not for
 * blocks older than the recording, and not in a process that was not recorded. */
bool profile_is_seen(const struct profile *p, uint32_t site);

/* "tag", "snapshot", ... for the type of a mark. */
const char *profile_mark_word(uint32_t type);

#endif
