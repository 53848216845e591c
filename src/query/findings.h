/* SPDX-License-Identifier: MIT */
/*
 * findings.h -- what is wrong with one or several runs: found once, written in many formats.
 *
 * Keeps:  all texts are in its own pool, so that a recording can be released as soon as it was
 *         added.
 */
#ifndef SEEP_QUERY_FINDINGS_H
#define SEEP_QUERY_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "names/string_pool.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/location.h"
#include "base/lookup.h"
#include "query/fold.h"
#include "query/wrapper.h"

/* id, word, Valgrind's word (NULL: it has none), what it is, what to make of it; worst first */
#define FINDINGS_KINDS(X)                                                                       \
        X(DOUBLE_FREE, "double-free", "InvalidFree", "double free",                             \
          "Memory was freed that had already been freed.")                                      \
        X(UNKNOWN_FREE, "unknown-free", "InvalidFree", "invalid free",                          \
          "An address was freed that no allocation function returned.")                         \
        X(MISMATCHED, "mismatched-release", "MismatchedFree", "mismatched free",                \
          "Memory was freed by a function that does not match the one that allocated it, like " \
          "delete for new[].")                                                                  \
        X(DEFINITE, "definite-leak", "Leak_DefinitelyLost", "definitely lost",                  \
          "Nothing points to the memory any more: it cannot be freed.")                         \
        X(INDIRECT, "indirect-leak", "Leak_IndirectlyLost", "indirectly lost",                  \
          "Only lost memory points to it: fixing that leak fixes this one, too.")               \
        X(POSSIBLE, "possible-leak", "Leak_PossiblyLost", "possibly lost",                      \
          "Nothing points to the start of the memory, but something points to its middle.")     \
        X(FORBIDDEN, "forbidden-allocation", NULL, "allocation where none is allowed",          \
          "Memory was allocated below a function that must not allocate (--no-alloc-in).")      \
        X(BUDGET, "broken-budget", NULL, "broken budget",                                       \
          "The program used more than it was allowed, or could not be checked.")                \
        X(UNSEEN, "not-everything-seen", NULL, "not everything was seen",                       \
          "Some memory was not recorded, so finding nothing wrong proves nothing (seep check "  \
          "--allow-unseen accepts that).")

enum finding_kind {
#define FINDING_ENUM(id, word, valgrind, title, text) FINDING_##id,
        FINDINGS_KINDS(FINDING_ENUM)
#undef FINDING_ENUM
        FINDING_KINDS
};

struct finding_frame {
        const char *function;  /* without parameters; "libx.so+0x12" where there is no name */
        const char *signature; /* with them; NULL: there is no name */
        const char *file;      /* as the compiler has it; NULL unknown */
        const char *path;      /* the same, relative to the user's source tree; NULL: not in it */
        const char *module;    /* NULL unknown */
        uint64_t address;      /* of the call, in memory */
        uint32_t line;         /* 0 unknown */
        bool inlined;
        bool folded; /* of a library, or called again (fold.h): people are not shown it */
};

struct finding_stack {
        struct finding_frame *frames; /* innermost first */
        uint32_t count;
        uint32_t place; /* the first frame in the user's source tree; COUNT: none */
        uint32_t own;   /* the first frame of the program or its own libraries; 0 also when there is
                         * none */
};

/* What follows from it; worst first. */
enum finding_state {
        FINDING_BREAKS,  /* a budget */
        FINDING_HINT,    /* nobody asked: possibly lost memory */
        FINDING_ALLOWED, /* within its budget */
        FINDING_KNOWN    /* in the baseline */
};

/* Equal in kind, names and place: one finding, however many processes have it. */
struct finding {
        enum finding_kind kind;
        enum finding_state state;
        uint32_t process;   /* the first that has it */
        uint32_t processes; /* how many have it */
        uint64_t fingerprint; /* of the names of functions ... */
        uint64_t origin_print; /* ... and of those of the origin */
        uint64_t count;       /* leaks: blocks; releases: times; forbidden: calls */
        uint64_t bytes;       /* releases: of the block */
        uint64_t hanging_count, hanging_bytes; /* definite leaks */
        uint64_t known_bytes; /* leaks that grew: what the baseline has of them; 0: they are none */
        uint64_t address;     /* releases: of the first ... */
        uint64_t offset;      /* ... and where that is in the block; 0: its start, or there is no
                               * block */
        uint32_t thread;      /* releases: its number, from 1 on; 0 unknown */
        const char *text;     /* BUDGET, UNSEEN: all that is to be said; FORBIDDEN: the expression;
                               * releases: what happened; else NULL */
        struct finding_stack stack;  /* of the allocation; of the release; of the worst site */
        bool others; /* ... and others of the same functions with other lines */
        struct finding_stack origin; /* releases: of the allocation; no frames: not known */
        struct finding_stack first;  /* double frees: of the first one */
};

struct findings_process {
        const char *program, *exe, *recording; /* as typed; full path; file */
        const char **args;
        uint32_t arg_count;
        uint32_t pid, ppid;
        uint64_t duration_ms;
        uint64_t peak_bytes, live_bytes, allocations;
        const char *ended;   /* "exit 3", "SIGSEGV"; NULL: with 0, or otherwise fine */
        bool crashed;        /* by a signal like SIGSEGV */
        bool is_main;        /* the program that was run, not one that it started */
        const char *unknown; /* why there was no search for leaks; NULL: there was
                              * one, or nobody wanted it */
};

/* A rule of a suppression file and how often it was of use. */
struct findings_rule {
        const char *name, *file; /* file NULL: built in, or the program's own */
        uint32_t line;
        uint64_t times, blocks, bytes;
};

struct budget_verdict;

struct findings {
        struct string_pool texts;
        struct lookup files; /* source files already looked at: 1 is not in the
                              * tree, N + 1 is paths[N - 1] */
        const char **paths;
        uint32_t path_count;
        struct findings_process *processes;
        struct finding *all; /* after findings_settle() worst first */
        struct findings_rule *rules;
        struct budget_verdict *verdicts; /* budget.h; in the order of processes and budgets */
        const char **gone;               /* lines of the baseline that no longer occur */
        uint32_t process_count, count, rule_count, verdict_count, gone_count;
        bool has_baseline;
};

struct findings_request {
        const struct budgets *budgets;        /* which findings are wanted, and what is allowed */
        struct baseline *baseline;            /* NULL none */
        bool accept;                          /* all leaks and invalid frees count as known */
        bool allow_unseen; /* what was seen is judged, and that was all is not asked for */
        const char *const *suppressions;      /* files with rules */
        uint32_t suppression_count;
        const struct location_root *root;
};

struct findings_recording {
        const struct profile *profile;
        struct symbols *symbols;
        const char *path;
        struct fold *fold; /* what people are shown; NULL: everything */
        struct wrappers *wrappers; /* functions that are not the place of anything; of these
                                    * names.  NULL: whole stacks */
        bool running; /* it is of a process as it is now, which is no fault of the recording */
};

/* Add what RECORDING has, as one process more.  What is wrong in the program's own suppressions is
 * told in TROUBLE.  false: E (a file of suppressions cannot be used). */
bool findings_add(struct findings *f, const struct findings_request *r,
                  struct findings_recording *recording, struct str *trouble, struct err *e);

/* All were added: what is equal becomes one, in the order in which it is to be told. */
void findings_settle(struct findings *f);
void findings_free(struct findings *f);

/* For budget.c: an empty finding of the last process, valid until the next; the stack of NODE of
 * the recording, without wrappers; a text of the pool. */
struct finding *findings_new(struct findings *f, enum finding_kind kind, enum finding_state state);
struct finding_stack findings_stack(struct findings *f, const struct findings_request *r,
                                    struct findings_recording *recording, uint32_t node);
const char *findings_keep(struct findings *f, struct str *text);

/* Append "parse < load < main", what a place is known by: what has no name counts as its module; a
 * function that is called again by itself or by those that it called counts once, where it is
 * innermost.  Frames outside that begin a thread are left out. */
void findings_names(const struct finding_stack *stack, struct str *out);

/* A hash of that. */
uint64_t findings_fingerprint(const struct finding_stack *stack);

static inline bool finding_is_leak(enum finding_kind kind)
{
        return kind == FINDING_DEFINITE || kind == FINDING_INDIRECT || kind == FINDING_POSSIBLE;
}

static inline bool finding_is_release(enum finding_kind kind)
{
        return kind == FINDING_DOUBLE_FREE || kind == FINDING_UNKNOWN_FREE ||
               kind == FINDING_MISMATCHED;
}

/* "definite-leak", "Leak_DefinitelyLost" or NULL, "definitely lost", and the sentence. */
struct finding_words {
        const char *word, *valgrind, *title, *text;
};
const struct finding_words *finding_words(enum finding_kind kind);

/* Append "51.2 KB in 50 blocks are definitely lost (and ...)", without place and full stop. */
void finding_say(const struct finding *finding, struct str *out);

/* The frame where it is, for one line: in the source tree, or else in the program; NULL: nothing is
 * known. */
const struct finding_frame *finding_place(const struct finding_stack *stack);

/* Append "function [file:line]". */
void finding_frame_say(const struct finding_frame *frame, struct str *out);

/* A finding about the process as a whole, without a stack to be shown. */
static inline bool finding_is_general(enum finding_kind kind)
{
        return kind == FINDING_BUDGET || kind == FINDING_UNSEEN;
}

/* Findings that break a budget, or tell what was not seen; and whether there is one of those. */
uint32_t findings_broken(const struct findings *f);
bool findings_unseen(const struct findings *f);

/* Whether the check as a whole failed: a budget is broken, or not everything was seen. */
bool findings_failed(const struct findings *f);

#endif
