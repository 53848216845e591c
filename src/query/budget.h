/* SPDX-License-Identifier: MIT */
/*
 * budget.h -- budgets of a process (check --max-...), and whether it kept them.
 *
 * Keeps:  what cannot be judged is not kept: a budget on leaks without a search for them, any
 *         budget on a recording that is not whole.
 */
#ifndef SEEP_QUERY_BUDGET_H
#define SEEP_QUERY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "query/findings.h"
#include "query/leaks.h"
#include "query/select.h"

/* id, option, what is counted (NULL: bytes), and how it goes on; --no-alloc-in
 * comes last, it has no number */
#define BUDGETS(X)                                                             \
        X(PEAK, "max-peak", NULL, " at the peak")                              \
        X(LIVE, "max-live", NULL, " at the end")                               \
        X(ALLOCS, "max-allocs", "allocation", "")                              \
        X(LEAKED, "max-leaked", NULL, " lost")                                 \
        X(LEAKS, "max-leaks", "block", " lost")                                \
        X(BAD_FREES, "max-bad-frees", "invalid free", "")                      \
        X(RSS, "max-rss", NULL, " of RSS at most")                             \
        X(GROWTH, "max-growth", "byte per hour", " of growth")                 \
        X(NO_ALLOC, "no-alloc-in", "allocation", "")

enum budget {
#define BUDGET_ENUM(id, option, noun, rest) BUDGET_##id,
        BUDGETS(BUDGET_ENUM)
#undef BUDGET_ENUM
        BUDGET_COUNT
};

struct budget_limit {
        bool set;
        uint64_t most;
        const char *typed; /* as the user wrote it; NULL: it is the default */
};

struct budgets {
        struct budget_limit limits[BUDGET_COUNT]; /* of NO_ALLOC nothing but SET */
        const char **expressions;                 /* of NO_ALLOC: each is a budget of its
                                                   * own; they were tried before */
        uint32_t expression_count;
};

struct budget_verdict {
        enum budget budget;
        uint32_t process;
        bool kept;
        uint64_t most, measured;
        uint64_t measured_bytes; /* LEAKS: of those blocks; NO_ALLOC: of those calls */
        const char *typed;  /* the limit, or the expression */
        const char *reason; /* why it cannot be judged; NULL: it was measured */
        uint64_t unseen;    /* NO_ALLOC: calls whose stack does not reach the program's start */
        bool idle;          /* NO_ALLOC: the program has no function that matches: misspelt? */
        const char *worst;  /* "function [file:line]"; NULL: nothing is known */
        uint64_t worst_part; /* of what was measured */
        uint64_t worst_bytes; /* LEAKS: of those blocks */
};

/* What a process has that counts: without what is suppressed and what the baseline has. */
struct budget_tally {
        const struct selection *sel;
        uint64_t blocks, bytes; /* definitely and indirectly lost */
        uint64_t releases;      /* that went wrong */
        uint32_t first;         /* its findings begin here */
};

const char *budget_option(enum budget budget);
bool budget_is_size(enum budget budget);

static inline bool budgets_want_leaks(const struct budgets *b)
{
        return b->limits[BUDGET_LEAKED].set || b->limits[BUDGET_LEAKS].set;
}

/* Judge the last process of F; what exceeds a limit becomes a finding of its own. */
void budget_judge(struct findings *f, const struct findings_request *r,
                  struct findings_recording *recording, const struct budget_tally *tally);

/* Append "--max-peak 10M", "--no-alloc-in '^audio_'". */
void budget_name(const struct budget_verdict *v, struct str *out);

/* Append what was measured, or why it was not: "12.3 MiB at the peak; most by parse [a.c:10] (8.0
 * MiB)". */
void budget_say(const struct budget_verdict *v, struct str *out);

uint32_t budgets_broken(const struct findings *f);

#endif
