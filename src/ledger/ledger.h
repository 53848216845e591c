/* SPDX-License-Identifier: MIT */
/*
 * ledger.h -- the shared memory that is the profile of one process.
 *
 * Room:   both sides; layout only, no code that runs.  The agent writes, the observer reads
 *         (and writes nothing but the words marked so in the head).
 * Keeps:  every place is an offset into one sparse file, found through head->part[]; a table grows
 *         inside its part and never moves.  Counters are aligned 64-bit words, written by one
 *         thread only; a reader may see a moment between two words of one event, never half a word.
 *
 * Processors: every field has a fixed width, and an address takes 64 bits also where a word of the
 * program has 32; numbers are in the byte order of the machine.  So agent and observer of one
 * machine agree whatever their word size, as long as 64-bit words lie at multiples of 8 (asserted
 * below; i386 has to be told).  A 32-bit agent writes the same layout with three differences: a
 * 64-bit store may be seen in two halves, so what a reader takes while the program runs may be off
 * by one event in the upper half (counters above 4 GiB only); its parts are small (book/book.c);
 * and blocks of 16 bytes make it use planes 1 to 4.
 *
 * The file is a memfd that the agent makes and sends to the observer (wire/hello.h).  Its parts:
 *
 *   HEAD     struct ledger_head
 *   NODES    struct ledger_node[]     the stack tree; node 0 root, node 1 root of cut-off stacks
 *   SITES    struct ledger_site[]     (node, kind) pairs that allocated; site 0 is unused
 *   SLOTS    struct ledger_slot[]     one per running thread, reused after its death
 *   COUNTERS chunks of struct ledger_counter, found through slot->chunk[]
 *   CHUNKS   struct ledger_chunk[]    which addresses each shadow chunk covers
 *   SHADOW   chunks of struct ledger_block, one entry per 32 bytes of address space
 *   THREADS  struct ledger_thread[]   everyone who ever allocated; thread 0 is "unknown"
 *   MODULES  struct ledger_module[]   every program and library ever mapped, each once
 *   REGIONS  struct ledger_region[]   what mmap gave, and stacks of threads; in no order
 *   ERRORS   struct ledger_error[]    invalid frees
 *   STRINGS  NUL-terminated paths and names; offset 0 is ""
 *   MARKS    struct ledger_mark[]     tags, snapshots and other named moments, in order
 *   DEATHS   struct ledger_death[]    blocks born and freed between marks (a hash table)
 *   HANDLES  struct ledger_handle[]   resources that the program holds
 *   JOURNAL  struct ledger_event[]    ring of events, with record --events
 *   OWN      struct ledger_range[]    the agent's private memory, which is none of the program's
 *   ROOTS    struct ledger_range[]    memory that holds pointers, as the program told (SEEP_ROOT)
 *   ORDER    the agent's alone: the order of REGIONS (agent/order.h)
 */
#ifndef SEEP_LEDGER_LEDGER_H
#define SEEP_LEDGER_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#define LEDGER_MAGIC 0x3172676450454553ull /* "SEEPdgr1" */
#define LEDGER_VERSION 9u

enum ledger_part {
        LEDGER_HEAD,
        LEDGER_NODES,
        LEDGER_SITES,
        LEDGER_SLOTS,
        LEDGER_COUNTERS,
        LEDGER_CHUNKS,
        LEDGER_SHADOW,
        LEDGER_THREADS,
        LEDGER_MODULES,
        LEDGER_REGIONS,
        LEDGER_ERRORS,
        LEDGER_STRINGS,
        LEDGER_MARKS,
        LEDGER_DEATHS,
        LEDGER_HANDLES,
        LEDGER_JOURNAL,
        LEDGER_OWN,
        LEDGER_ROOTS,
        LEDGER_ORDER,
        LEDGER_PARTS
};

/* How memory was asked for.  Families decide which release fits (LEDGER_FAMILY). */
#define LEDGER_KINDS(X)                                                        \
        X(NONE, 0, "none", NONE)                                               \
        X(MALLOC, 1, "malloc", C)                                              \
        X(CALLOC, 2, "calloc", C)                                              \
        X(REALLOC, 3, "realloc", C)                                            \
        X(REALLOCARRAY, 4, "reallocarray", C)                                  \
        X(POSIX_MEMALIGN, 5, "posix_memalign", C)                              \
        X(ALIGNED_ALLOC, 6, "aligned_alloc", C)                                \
        X(MEMALIGN, 7, "memalign", C)                                          \
        X(VALLOC, 8, "valloc", C)                                              \
        X(PVALLOC, 9, "pvalloc", C)                                            \
        X(NEW, 10, "new", NEW)                                                 \
        X(NEW_ARRAY, 11, "new[]", NEW_ARRAY)                                   \
        X(MMAP, 12, "mmap", MAP)                                               \
        X(MREMAP, 13, "mremap", MAP)                                           \
        X(POOL, 14, "pool", POOL)

enum ledger_family {
        LEDGER_FAMILY_NONE,
        LEDGER_FAMILY_C,
        LEDGER_FAMILY_NEW,
        LEDGER_FAMILY_NEW_ARRAY,
        LEDGER_FAMILY_MAP,
        LEDGER_FAMILY_POOL /* blocks of the program's own allocators (SEEP_ALLOC) */
};

enum ledger_kind {
#define LEDGER_KIND_ENUM(name, number, text, family) LEDGER_KIND_##name = number,
        LEDGER_KINDS(LEDGER_KIND_ENUM)
#undef LEDGER_KIND_ENUM
        LEDGER_KIND_COUNT
};

/* Kinds of resources, in the order in which the program named them: LEDGER_KIND_TYPE_FIRST + i is
 * head->type_name[i].  Their amounts are no memory and in no sum of bytes of the heap. */
#define LEDGER_KIND_TYPE_FIRST 32u
#define LEDGER_TYPES_MAX 192u
#define LEDGER_KIND_IS_MAPPED(kind) ((kind) == LEDGER_KIND_MMAP || (kind) == LEDGER_KIND_MREMAP)
#define LEDGER_KIND_IS_RESOURCE(kind) \
        ((kind) >= LEDGER_KIND_TYPE_FIRST && (kind) < LEDGER_KIND_NEW_ALIGNED)
#define LEDGER_KIND_IS_HEAP(kind) (!LEDGER_KIND_IS_MAPPED(kind) && !LEDGER_KIND_IS_RESOURCE(kind))

/*
 * Kinds with an alignment, in sites of the ledger only: readers make ALIGNED_ALLOC, NEW and
 * NEW_ARRAY of them (LEDGER_KIND_PLAIN).  A kind of its own for each power of two, because the
 * release must name the same one, and a block has no bits left to keep it.  A block of aligned new
 * has LEDGER_KIND_SEE_SITE.
 */
#define LEDGER_KIND_SEE_SITE 15u
#define LEDGER_KIND_ALIGNED_ALLOC_BY 16u /* + log2 of the alignment, at most 15 */
#define LEDGER_KIND_NEW_ALIGNED 224u     /* + log2; from 240 on the same for new[] */
#define LEDGER_KIND_NEW_ARRAY_ALIGNED 240u
#define LEDGER_KIND_ALIGNMENT(kind) (1ull << ((kind) & 15u))
#define LEDGER_KIND_HAS_ALIGNMENT(kind)       \
        ((kind) >= LEDGER_KIND_NEW_ALIGNED || \
         ((kind) >= LEDGER_KIND_ALIGNED_ALLOC_BY && (kind) < LEDGER_KIND_TYPE_FIRST))
#define LEDGER_KIND_PLAIN(kind)                                                \
        (!LEDGER_KIND_HAS_ALIGNMENT(kind)           ? (kind)                   \
         : (kind) >= LEDGER_KIND_NEW_ARRAY_ALIGNED  ? LEDGER_KIND_NEW_ARRAY    \
         : (kind) >= LEDGER_KIND_NEW_ALIGNED        ? LEDGER_KIND_NEW          \
                                                    : LEDGER_KIND_ALIGNED_ALLOC)

/* Why the agent stopped recording; the program went on in every case. */
#define LEDGER_STOPS(X)                                                        \
        X(NOT, 0, "recording")                                                 \
        X(NO_MEMORY, 1, "no memory left for the ledger")                       \
        X(NODES_FULL, 2, "more distinct stack frames than the ledger can hold") \
        X(SITES_FULL, 3, "more distinct call stacks than the ledger can hold") \
        X(COUNTERS_FULL, 4, "more counters than the ledger can hold")          \
        X(SHADOW_FULL, 5, "more address space in use than the ledger can hold") \
        X(BY_USER, 6, "switched off")                                          \
        X(SANDBOX, 7, "its sandbox (seccomp) allows no more memory")

enum ledger_stop {
#define LEDGER_STOP_ENUM(name, number, text) LEDGER_STOP_##name = number,
        LEDGER_STOPS(LEDGER_STOP_ENUM)
#undef LEDGER_STOP_ENUM
};

struct ledger_extent {
        uint64_t offset;    /* of the part, from the start of the file */
        uint64_t size;      /* reserved; pages never touched cost nothing */
        uint64_t committed; /* made writable so far */
};

/* Flags given to the agent at the start (wire/hello.h: WIRE_F_*), kept here for the reader. */

/* Bytes [first, end) of SHADOW, in pages, that the observer is about to take away: whoever changes
 * STATE from _WANTED first decides. */
struct ledger_reclaim {
        uint32_t first, end;
        uint32_t state; /* enum ledger_reclaim_state */
};

enum ledger_reclaim_state {
        LEDGER_RECLAIM_NONE,
        LEDGER_RECLAIM_WANTED,
        LEDGER_RECLAIM_KEPT,  /* by the program: there is a block again */
        LEDGER_RECLAIM_TAKEN, /* by the observer: what is written now may be lost */
        LEDGER_RECLAIM_GONE   /* what is written now stays */
};

/* Steps by which a ledger with little room left is thinned (record --limit-ledger): from this
 * moment on one block in MEAN bytes is recorded, for many (weight.h).  Its entry has
 * LEDGER_KIND_THINNED; which step it is of is told by its birth. */
struct ledger_thin {
        uint64_t mean;
        uint32_t from_ms, reserved;
};

#define LEDGER_THINS 8u
#define LEDGER_KIND_THINNED 12u /* in entries of blocks only: the kind is that of the site */

/* What the observer saw last, of a ledger that has a limit. */
struct ledger_look {
        uint64_t present;    /* bytes of memory behind it ... */
        uint64_t opened;     /* ... when all parts together had so many committed, */
        uint64_t events;     /* so many allocations, or (thinned) recorded blocks, had been */
        uint64_t thin_count; /* ... in so many steps */
};

#define LEDGER_RECLAIMS 64u
#define LEDGER_RECLAIM_PAGE 4096u

#define LEDGER_SERVED_NEVER UINT32_MAX

/* At head->special_at: new blocks are not recorded. */
#define LEDGER_SPECIAL_OFF 1u

struct ledger_head {
        uint64_t magic;
        uint32_t version;
        uint32_t head_size;
        uint64_t file_size;
        uint32_t pid, ppid;
        uint32_t flags;
        uint32_t word_bytes;
        uint32_t machine, page_bytes; /* LEDGER_MACHINE; of a page of memory */
        uint64_t start_realtime_ns;
        uint64_t start_monotonic_ns;
        uint64_t parent_start_monotonic_ns; /* of the ledger this was copied from at fork, else 0 */
        struct ledger_extent part[LEDGER_PARTS];

        /* Counts of entries in use (NODES, SITES, ... in entries, STRINGS in bytes). */
        uint32_t node_count;
        uint32_t site_count;
        uint32_t slot_count;
        uint32_t counter_chunk_count;
        uint32_t shadow_chunk_count;
        uint32_t thread_count;
        uint32_t module_count;
        uint32_t error_count;
        uint32_t string_bytes;
        uint32_t region_count; /* entries of REGIONS, unused ones too */
        uint32_t region_seq; /* odd while REGIONS or HANDLES are being changed */
        uint32_t stop_reason;

        uint64_t truncated_captures; /* stacks whose outer end could not be reached */
        uint64_t lost_events;        /* recorded nowhere; 0 in a complete ledger */
        uint64_t untracked_blocks;   /* the shadow cannot hold them: not aligned to 8 */
        uint64_t faults_not_kept;    /* invalid frees beyond what ERRORS can hold */
        uint64_t forks_not_followed; /* children that allocated without being recorded */
        uint64_t forks_followed;     /* children that will say hello, counted before they exist */
        uint64_t verify_captures;    /* test mode: stacks compared, and how many differed */
        uint64_t verify_differences;
        uint64_t verify_backtraces;
        uint64_t verify_backtrace_differences;

        char exe[1024];      /* what /proc/self/exe named */
        char command[4096];  /* /proc/self/cmdline: arguments, each ended by NUL */
        uint32_t command_bytes;
        uint32_t own_malloc; /* 1: the executable itself defines malloc, and is asked before us */

        uint32_t own_module; /* 1 + index of the module that is the agent; 0 unknown */
        uint32_t mark_count;
        uint32_t marks_not_kept; /* beyond LEDGER_MARKS_MAX */
        uint32_t deaths_not_kept; /* releases that DEATHS had no room for */
        uint32_t handle_count;    /* entries of HANDLES, free ones too */
        uint32_t type_count;
        uint32_t type_name[LEDGER_TYPES_MAX]; /* in STRINGS */
        uint32_t signal;       /* whose arrival asks for a snapshot; 0 none */
        uint32_t signal_state; /* enum ledger_signal_state */
        uint32_t off;          /* 1: new blocks are not recorded now (SEEP_DISABLE, --start-off) */
        uint32_t limit_hits;   /* how often an allocation would have passed limit_bytes */
        uint64_t limit_bytes;  /* --limit-heap, 0 none */
        uint64_t sample_bytes; /* record --sample: one block in so many bytes (weight.h); 0: all */
        uint64_t allocator;    /* where the real malloc is; 0 unknown */
        int64_t wait_offset;   /* of struct ledger_wait from the thread pointer on; 0 unknown */
        uint32_t wipes;        /* 1: some memory would not be in a copy (MADV_WIPEONFORK) */
        uint32_t own_count;
        uint32_t root_count;
        uint32_t roots_not_kept;
        uint32_t fork_several; /* 1: its other threads went on while it was copied:
                                * of blocks not younger ... */
        uint32_t fork_ms;      /* ... than this, some may be there that are not, and the reverse */
        uint32_t emulated;        /* 1: the process is an emulator (qemu-user), the program in it */
        uint32_t aligned_kinds;   /* 1: some sites have LEDGER_KIND_HAS_ALIGNMENT */
        uint64_t missed_frees;    /* live blocks that were handed out again: release not seen */
        uint64_t unseen_blocks;   /* releases of blocks that were allocated past us */
        uint32_t deepbind_taken;  /* libraries whose RTLD_DEEPBIND was taken away from dlopen ... */
        uint32_t deepbind_name;   /* ... the first of them, in STRINGS */
        uint32_t deepbind_kept;   /* ... or left, as asked */
        uint32_t quarantine_from_ms; /* the oldest block in the quarantine was freed then */
        uint64_t quarantine_blocks, quarantine_bytes; /* in it now */
        uint64_t held_back;       /* invalid frees that were not passed on (--keep-going) */
        uint32_t omit;            /* record --omit, in STRINGS; 0 none */
        uint32_t shut_out;        /* programs whose filter of system calls forbids recording */
        uint32_t leaving;         /* 1: the process is about to become another program */
        uint32_t unrecorded;      /* 1: there may be blocks that are not recorded */
        uint32_t modules_not_kept; /* beyond what MODULES can hold: frames without names */
        uint32_t threads_not_kept; /* without an entry of their own (LEDGER_THREAD_OTHERS) */
        uint32_t regions_not_kept; /* mappings beyond what REGIONS can hold; in lost_events, too */
        uint32_t handles_not_kept; /* resources beyond what HANDLES can hold; in lost_events, too */
        uint32_t namespaces;       /* libraries of dlmopen that have a malloc of their own */
        uint32_t attached;         /* 1: the process was there before (agent/inject.h) */
        uint32_t strings_not_kept; /* beyond what STRINGS can hold: they are empty */
        uint32_t one_way;          /* functions of custom allocators whose blocks are never seen to
                                    * go, because what releases them could not be hooked */

        /* record --limit-ledger (agent/thin.c). */
        uint64_t ledger_limit; /* bytes of memory; 0 none */
        uint64_t thin_at;      /* with so many the next step is due */
        uint64_t thin_events;  /* blocks recorded since the first step */
        uint32_t thin_count;   /* steps made */
        uint32_t thin_full;    /* 1: new blocks are only counted, in lost_events */
        struct ledger_thin thin[LEDGER_THINS];

        /* A thread waits for a search for leaks.  One at a time: whoever sets scan_holder. */
        uint32_t scan_asked;  /* raised with each request ... */
        uint32_t scan_reason; /* ... enum ledger_scan */
        uint32_t scan_holder; /* tid of the thread that waits; 0 none; futex */
        uint64_t scan_sp;     /* its stack from here on is the program's, what is below is ours */
        uint64_t scan_context; /* the ucontext of a signal that ends it; 0: it called us */

        /* Written by the observer.  Milliseconds since start_monotonic_ns; the agent
         * raises it at a mark and at a fork, so that blocks before and after differ in birth; the
         * observer only ever raises it. */
        _Alignas(64) uint32_t tick_ms;
        uint32_t observer;
        uint32_t served; /* marks [0, served) are done with: snapshot taken, report written.  Agents
                          * wait on it (futex).  LEDGER_SERVED_NEVER: the observer has nothing to do
                          * with this process, and nobody need wait for anything */
        uint32_t scan_done;     /* requests up to this one are answered: futex */
        uint64_t scan_definite; /* blocks found to be definitely lost by the last one */
        /* Shadow of addresses that hold no block any more is given back (collect/reclaim.h).
         * RECLAIMS is raised by the observer when it begins, to an odd number, and when it is done.
         * A thread that has written an entry looks whether its own copy of it is still right: if
         * not, it goes and makes sure that the entry stays (book/shadow.c). */
        uint32_t reclaims;
        struct ledger_reclaim reclaim[LEDGER_RECLAIMS];
        struct ledger_look look;
        uint32_t working;       /* the last tick with a search or a report under way */
        uint32_t filters;       /* of system calls (seccomp) that its first thread has */

        /* The ring of events.  RESERVED counts all; event i is entry i % (part size / 32). */
        _Alignas(64) uint64_t journal_reserved;
        _Alignas(64) uint64_t journal_read; /* by the observer: [0, read) may be overwritten */
        uint32_t journal_wake;              /* raised by the observer with journal_read; futex */
        uint32_t journal_waiting;           /* threads that wait for room */
        uint32_t journal_closed;            /* by the observer: no more events (--max-file) */

        /* The peak; written by the thread that reaches a new one. */
        _Alignas(64) uint32_t epoch;
        uint32_t at_peak;     /* 1: nothing was freed since the maximum: it is what is live */
        uint32_t several;     /* 1: several threads allocate: totals in batches (book/peak.c) */
        uint32_t peak_tick_ms;
        uint64_t peak_bytes;       /* one thread: exact.  Several: the largest live_bytes */
        uint64_t peak_error_bytes; /* there may have been this much more than peak_bytes; 0: no */
        int64_t batch;             /* several threads: what one may gain before it is added */
        uint64_t unseen;           /* what all together may have gained or lost unseen */
        _Alignas(64) uint64_t live_bytes; /* 0 while one thread is alone */
        uint64_t flushes;                 /* additions to it since unseen became larger; about */

        uint64_t special_at; /* where the agent keeps what an event must do besides: the observer
                              * changes LEDGER_SPECIAL_OFF there, while the process stands still */
        uint64_t older;      /* releases of blocks that are older than the
                              * recording, or than its last reset */
        uint64_t rejoin_at;  /* where another observer begins (wire/rejoin.h); 0: nowhere */
        uint32_t ending;     /* the signal that is about to end the program; 0 none.  Of a process
                              * that is not our child, nobody else tells us */
        uint32_t unused;
};

/* (parent, return address) pairs; a stack is its innermost node.  Parents are older than children.
 * The same pair may exist twice (two threads met it at once): the reader merges. */
struct ledger_node {
        uint64_t pc_module; /* see LEDGER_NODE_* */
        uint32_t parent;
        uint32_t site;      /* first site: kind << 24 | site, 0 none; others: site->next */
};

/* A frame of a module has the address in its file (return address less module->bias), so that it is
 * the same wherever that is loaded; one without a module has the address itself. */
#define LEDGER_NODE_PC(pc_module) ((pc_module) & 0xffffffffffffull)
#define LEDGER_NODE_MODULE(pc_module) ((uint32_t)((pc_module) >> 48) & 0x7fffu)
#define LEDGER_NODE_EXACT (1ull << 63) /* interrupted by a signal: pc, no return address */
#define LEDGER_NODE_NO_MODULE 0x7fffu
#define LEDGER_NODE_ROOT 0u
#define LEDGER_NODE_CUT 1u /* stacks below this root lost their outer end */

#define LEDGER_SITES_MAX (1u << 24)

struct ledger_site {
        uint32_t node;
        uint32_t next;
        uint32_t kind;
        uint32_t missed; /* 1: a release of one of its blocks was not seen: do not judge by it */
};

/* What one slot saw at one site.  live = alloc - free, summed over all slots (one slot alone
 * may be negative: it frees what others allocated).  At the peak: the saved values if EPOCH
 * is head->epoch and head->at_peak is 0, the live ones otherwise.  lifetime_ms = sum over
 * frees of (death - birth). */
struct ledger_counter {
        uint64_t allocs;
        uint64_t alloc_bytes;
        uint64_t frees;
        uint64_t free_bytes;
        int64_t peak_bytes;
        uint64_t lifetime_ms;
        uint64_t temporary;
        int32_t peak_blocks;
        uint32_t epoch;
};

#define LEDGER_COUNTERS_PER_CHUNK 1024u
#define LEDGER_CHUNKS_PER_SLOT 16384u
#define LEDGER_COUNTER_CHUNK_BYTES (LEDGER_COUNTERS_PER_CHUNK * sizeof(struct ledger_counter))

#define LEDGER_SIZE_CLASSES 42u
#define LEDGER_LIFETIME_CLASSES 34u

/* Counters of site S in a slot: chunk[S / 1024] is 0 (none) or 1 + a chunk's index in COUNTERS. */
struct ledger_slot {
        uint32_t used;   /* 0 free, 1 taken, 2 changing hands */
        uint32_t tid;
        uint32_t thread; /* index into THREADS */
        uint32_t reserved;
        uint64_t allocs, alloc_bytes, frees, free_bytes; /* heap only, all sites and threads */
        uint64_t flushed_bytes;        /* of its live total: already in head->live_bytes */
        uint64_t moving, moving_bytes; /* a block that realloc has in hand; 0 none */
        uint64_t omitted, omitted_bytes, omitted_maps, omitted_map_bytes; /* record --omit */
        uint64_t base_allocs, base_alloc_bytes; /* when a thread without an entry took it */
        uint64_t pad[1];
        uint64_t sizes[LEDGER_SIZE_CLASSES];         /* 0: 0 bytes, k: 2^(k-1) .. 2^k - 1 */
        uint64_t lifetimes[LEDGER_LIFETIME_CLASSES]; /* releases by age in ms, likewise */
        uint8_t fill[4096 - 128 - 8 * (LEDGER_SIZE_CLASSES + LEDGER_LIFETIME_CLASSES)];
        uint32_t chunk[LEDGER_CHUNKS_PER_SLOT];
};

struct ledger_thread {
        uint32_t tid;
        uint32_t slot;
        uint32_t start_ms;
        uint32_t end_ms; /* 0 while alive or unknown */
        char name[16];
        uint64_t base_allocs, base_alloc_bytes; /* the slot's totals when this thread took it ... */
        uint64_t last_allocs, last_alloc_bytes; /* ... and when the next did; 0 while held */
};

/* Later threads share the last entry: it has no name, and in last_* what those of them counted that
 * are gone; of those that hold a slot that is what it counted since slot->base_*. */
#define LEDGER_THREADS_MAX 65535u
#define LEDGER_THREAD_OTHERS (LEDGER_THREADS_MAX - 1)

/*
 * One live (or just freed) block.  An entry covers 32 bytes of address space; which of the four
 * 8-byte places inside them the block starts at is in `sub`.
 *
 *   a   bits  0-31 site          32-63 size, low half
 *   b   bits  0-31 birth in ms   32-47 thread   48-51 kind (12, 15: see the site)
 *             52 ignored   53 live   54-55 sub   56-63 size, high byte
 *
 * a = b = 0: never used.  live = 0: a tombstone, the rest describes the block that was freed here
 * last, with its death in the place of its birth.  site = 0: a block that is not recorded (an
 * allocator's own, got while recording was off, or left out); with a birth: one that was, before
 * the recording was reset.  ignored: SEEP_IGNORE.
 *
 * Bits left: none of the 128, but for these.  The site has 32 bits and needs 24 (LEDGER_SITES_MAX),
 * because counters are found through LEDGER_CHUNKS_PER_SLOT chunks of 1024; bits 24-31 of `a` are 0
 * and the first to take.  Of the 16 kinds 13 (mremap) is no block's.  A fact that is the same for
 * all blocks of a call belongs to the site: a new kind there (up to 255) costs nothing here
 * (LEDGER_KIND_SEE_SITE).  A fact of a single block that few blocks have belongs into a part of its
 * own, by address, as regions and handles have theirs.  A third word would cost every program half
 * as much memory again, and the hot path a cache line in every third event.
 */
struct ledger_block {
        uint64_t a, b;
};

#define LEDGER_BLOCK_SITE(blk) ((uint32_t)(blk).a)
#define LEDGER_BLOCK_SIZE(blk) (((blk).a >> 32) | ((blk).b >> 56) << 32)
#define LEDGER_BLOCK_BIRTH_MS(blk) ((uint32_t)(blk).b)
#define LEDGER_BLOCK_THREAD(blk) ((uint32_t)((blk).b >> 32) & 0xffffu)
#define LEDGER_BLOCK_KIND(blk) ((uint32_t)((blk).b >> 48) & 0xfu)
#define LEDGER_BLOCK_IGNORED(blk) ((uint32_t)((blk).b >> 52) & 1u)
#define LEDGER_BLOCK_LIVE(blk) ((uint32_t)((blk).b >> 53) & 1u)
#define LEDGER_BLOCK_SUB(blk) ((uint32_t)((blk).b >> 54) & 3u)
#define LEDGER_SIZE_MAX ((1ull << 40) - 1)

#define LEDGER_SHADOW_SPAN (4ull << 20) /* address space covered by a chunk */
#define LEDGER_SHADOW_GRANULE 32ull
#define LEDGER_SHADOW_ENTRIES (LEDGER_SHADOW_SPAN / LEDGER_SHADOW_GRANULE)
#define LEDGER_SHADOW_CHUNK_BYTES (LEDGER_SHADOW_ENTRIES * sizeof(struct ledger_block))

/* Chunk i of SHADOW covers [base, base + SPAN).  Plane 0: one block per granule.  Planes 1-4: the
 * blocks that start at place 0-3 of a granule, for allocators with blocks of 8 or 16 bytes.  Planes
 * 5-8: the same for blocks of the program's own pools.  Planes 9-12: for those of its blocks that
 * start one byte behind such a place, and so on up to 33-36, seven bytes behind. */
struct ledger_chunk {
        uint64_t base;
        uint32_t plane;
        uint32_t ready;
};

#define LEDGER_PLANE_POOL 5u
#define LEDGER_PLANES 37u
/* bytes behind. */
#define LEDGER_PLANE_LOW(plane)         \
        ((plane) > LEDGER_PLANE_POOL && \
         (plane) < LEDGER_PLANES ? ((plane) - LEDGER_PLANE_POOL) / 4u : 0u)

/* Where it is, or was last.  The same path and the same content (build id) are the same module;
 * while it is mapped more than once at a time, it has a PLACE for each further time. */
struct ledger_module {
        uint64_t start, end; /* of the whole object in memory */
        uint64_t bias;       /* address in memory = address in the file + bias */
        uint32_t path;       /* in STRINGS */
        uint32_t load_ms;    /* when it was first seen */
        uint32_t gone_ms;    /* 0: still mapped when last looked */
        uint32_t flags;      /* LEDGER_MODULE_* */
        uint32_t build_id_bytes;
        uint8_t build_id[20];
        uint64_t dev, ino;   /* dev: major << 32 | minor */
        uint64_t code_start, code_end, code_offset; /* executable mapping, place in file */
};

#define LEDGER_MODULE_ANONYMOUS 1u /* executable memory without a file (JIT) */
#define LEDGER_MODULE_NO_CFI 2u
#define LEDGER_MODULE_PLACE 4u /* no node names it: another place of code with its path */
#define LEDGER_MODULE_READ 8u  /* headers were read: bias and build id are true, also when 0 */
#define LEDGER_MODULE_TOLD 3u  /* the flags that profiles have */

#define LEDGER_MODULES_MAX 0x7fffu /* what a node's 15 bits can name, less the number for "none" */

struct ledger_region {
        uint64_t start, end; /* an end of 0: not in use.  It is written last and cleared first */
        uint64_t ticket; /* order of birth, against races between threads */
        uint32_t site;
        uint32_t birth_ms;
        uint32_t thread;
        uint32_t flags; /* LEDGER_REGION_* */
};

#define LEDGER_REGION_STACK 1u /* of a thread; mapped, and some day unmapped, by the C library */
#define LEDGER_REGION_PIECE 2u /* behind an unmapped part: counted with what is before */
#define LEDGER_REGION_UNUSED(flags) ((flags) >> 12) /* of a stack: not in it, at its end */

/* In each thread.  WAITING: it is in a call that goes on with the time that is left when it fails
 * with EINTR and INTERRUPTED was set by us. */
struct ledger_wait {
        volatile uint8_t waiting, interrupted;
};

struct ledger_range {
        uint64_t start, end; /* empty: not in use any more */
};

#define LEDGER_ROOTS_MAX 65536u

enum ledger_scan { LEDGER_SCAN_NONE, LEDGER_SCAN_EXIT, LEDGER_SCAN_EXEC, LEDGER_SCAN_CHECK,
                   LEDGER_SCAN_SIGNAL };

enum ledger_error_type {
        LEDGER_ERROR_NONE,
        LEDGER_ERROR_DOUBLE_FREE,
        LEDGER_ERROR_MISMATCHED,
        LEDGER_ERROR_UNKNOWN_FREE
};

struct ledger_error {
        uint32_t type;
        uint32_t node;       /* stack of the offending release */
        uint32_t alloc_site; /* 0 unknown */
        uint32_t first_ms;
        uint64_t address;    /* of the first one */
        uint64_t count;
        uint32_t release;    /* enum ledger_family of the release */
        uint32_t thread;
        uint64_t size;
        uint32_t first_free; /* node: of a double free, the stack of the first one; 0 unknown */
        uint8_t wrong;       /* enum ledger_wrong, of a mismatch */
        uint8_t alignment;   /* of the block: log2, 0 none */
        uint16_t reserved;
        uint64_t given; /* size or alignment of the release; unknown address: offset in a block */
};

/* What does not fit, when a block is released in another way than it was made. */
enum ledger_wrong {
        LEDGER_WRONG_FAMILY,    /* new with free, new[] with delete, ... */
        LEDGER_WRONG_SIZE,      /* sized delete or free_sized of another size */
        LEDGER_WRONG_ALIGNMENT, /* release with another alignment, or none (0) */
        LEDGER_WRONG_COUNT
};

/* A moment that the program or the user marked.  Mark i ends era i and begins era i + 1; era 0 is
 * before the first.  A block was born in the era of the last mark with ms <= its birth. */
enum ledger_mark_type {
        LEDGER_MARK_NONE,
        LEDGER_MARK_TAG,      /* SEEP_TAG */
        LEDGER_MARK_SNAPSHOT, /* SEEP_SNAPSHOT */
        LEDGER_MARK_SIGNAL,
        LEDGER_MARK_LIMIT,    /* --limit-heap passed */
        LEDGER_MARK_HEAP,     /* --snapshot-at-heap passed */
        LEDGER_MARK_EXIT,     /* the program is about to exit and waits for its last report */
        LEDGER_MARK_ENABLE,
        LEDGER_MARK_DISABLE,
        LEDGER_MARK_OUTSIDE   /* by the observer: command, timer, threshold; in profiles only */
};

struct ledger_mark {
        uint32_t type;
        uint32_t ready; /* 1: written completely */
        uint32_t ms;
        uint32_t thread;
        uint32_t label; /* in STRINGS */
        uint32_t flags; /* LEDGER_MARK_* */
        uint64_t reserved;
};

#define LEDGER_MARK_EXACT 1u  /* no block born before it has its ms as birth */
#define LEDGER_MARK_WAITED 2u /* the thread waits to be served: counters are those of the mark */
#define LEDGER_MARKS_MAX 65536u

/* Blocks of a site that were born in one era (from 1 on) and freed in another or the same. */
struct ledger_death {
        uint64_t key; /* 0 free; see LEDGER_DEATH_* */
        uint64_t blocks, bytes;
};

#define LEDGER_DEATHS_MAX (1u << 20)
#define LEDGER_DEATH_KEY(site, birth, death) \
        ((uint64_t)(site) << 40 | (uint64_t)(birth) << 20 | (death))
#define LEDGER_DEATH_SITE(key) ((uint32_t)((key) >> 40))
#define LEDGER_DEATH_BIRTH(key) ((uint32_t)((key) >> 20) & 0xfffffu)
#define LEDGER_DEATH_DEATH(key) ((uint32_t)(key) & 0xfffffu)

/* Something with a handle that the program acquired; its kind is that of the site. */
struct ledger_handle {
        uint64_t handle, amount;
        uint32_t site; /* 0: this entry is free */
        uint32_t birth_ms;
        uint32_t thread;
        uint32_t next; /* the agent's own */
};

/* One event of the journal.  What ADDRESS, SIZE and SITE mean is told by the type. */
enum ledger_event_type {
        LEDGER_EVENT_NONE,
        LEDGER_EVENT_ALLOC,        /* block, bytes, site; kind */
        LEDGER_EVENT_FREE,         /* block, return address, stack node (0 unless --free-stacks) */
        LEDGER_EVENT_TAKE,         /* realloc begins: as FREE; the next MOVE or PUT_BACK ends it */
        LEDGER_EVENT_MOVE,         /* realloc succeeded: as ALLOC (unless to 0 bytes) */
        LEDGER_EVENT_PUT_BACK,     /* realloc failed: the block taken is alive again */
        LEDGER_EVENT_MAP,          /* start, bytes in whole pages, site; kind mmap or mremap */
        LEDGER_EVENT_UNMAP,        /* start, bytes in whole pages; before the call */
        LEDGER_EVENT_UNMAP_FAILED, /* the same thread's last UNMAP did not happen */
        LEDGER_EVENT_BAD_FREE,     /* address, return address, stack node, ledger_error_type */
        LEDGER_EVENT_ACQUIRE,      /* handle, amount, site; kind of the resource */
        LEDGER_EVENT_RELEASE,      /* handle, return address, 0; kind of the resource */
        LEDGER_EVENT_MARK,         /* index of the mark; kind: enum ledger_mark_type */
        LEDGER_EVENT_THREAD,       /* a thread's first event: its tid */
        LEDGER_EVENT_THREAD_END,   /* tid; made when somebody notices */
        LEDGER_EVENT_MODULE,       /* index of a loaded module, where it starts in memory */
        LEDGER_EVENT_CARVE,        /* arena, bytes (signed) now counted as pool blocks, site */
        LEDGER_EVENT_THREAD_NAME,  /* 16 bytes in ADDRESS and SIZE, first byte lowest */
        LEDGER_EVENT_IGNORE,       /* block: SEEP_IGNORE; in journals only */
        LEDGER_EVENT_STACK,        /* start, bytes: what MAP told is a thread's stack; as IGNORE */
        LEDGER_EVENT_TYPES
};

struct ledger_event {
        uint32_t stamp; /* written last: the low half of 1 + the event's number */
        uint8_t type, kind;
        uint16_t thread; /* index into THREADS */
        uint32_t site;
        uint32_t ms;
        uint64_t address, size;
};

enum ledger_signal_state {
        LEDGER_SIGNAL_NONE,
        LEDGER_SIGNAL_OURS,    /* its arrival makes a mark */
        LEDGER_SIGNAL_PROGRAM, /* the program has a handler of its own, or ignores it */
        LEDGER_SIGNAL_BEFORE   /* it was not at its default when the program started */
};

_Static_assert(_Alignof(struct ledger_extent) == 8, "one layout for all processors");
_Static_assert(sizeof(struct ledger_mark) == 32, "frozen");
_Static_assert(sizeof(struct ledger_death) == 24, "frozen");
_Static_assert(sizeof(struct ledger_handle) == 32, "frozen");
_Static_assert(sizeof(struct ledger_event) == 32, "frozen");
_Static_assert(sizeof(struct ledger_node) == 16, "frozen");
_Static_assert(sizeof(struct ledger_site) == 16, "frozen");
_Static_assert(sizeof(struct ledger_counter) == 64, "frozen: one cache line");
_Static_assert(sizeof(struct ledger_slot) == 4096 + 65536, "frozen");
_Static_assert(sizeof(struct ledger_thread) == 64, "frozen");
_Static_assert(sizeof(struct ledger_block) == 16, "frozen");
_Static_assert(sizeof(struct ledger_chunk) == 16, "frozen");
_Static_assert(sizeof(struct ledger_module) == 104, "frozen");
_Static_assert(sizeof(struct ledger_region) == 40, "frozen");
_Static_assert(sizeof(struct ledger_error) == 64, "frozen");
_Static_assert(LEDGER_SHADOW_CHUNK_BYTES == 2u << 20, "frozen");

#endif
