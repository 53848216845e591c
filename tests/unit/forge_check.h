/* SPDX-License-Identifier: MIT */
/*
 * forge_check.h -- recordings made by hand, judged: what `seep check` would find in them.
 */
#ifndef SEEP_TESTS_UNIT_FORGE_CHECK_H
#define SEEP_TESTS_UNIT_FORGE_CHECK_H

#include "forge_leaks.h"
#include "query/baseline.h"
#include "query/budget.h"
#include "query/findings.h"

static struct location_root forge_tree = { (char[]){ "/src" } };

/* No leaks, no wrong releases: what is judged without any option. */
static inline struct budgets forge_default(void)
{
        return (struct budgets){
                .limits = { [BUDGET_LEAKS] = { .set = true }, [BUDGET_BAD_FREES] = { .set = true } }
        };
}

/* Judge P, as one process more. */
static inline bool forge_check(struct findings *f, const struct profile *p, const struct budgets *b,
                               struct baseline *known)
{
        struct findings_request request = { .budgets = b, .baseline = known, .root = &forge_tree };
        struct wrappers usual = { 0 };
        struct findings_recording recording = {
                .profile = p, .symbols = forge_symbols(p), .path = "a.seep", .wrappers = &usual
        };
        struct str trouble = { 0 };
        struct err e = { 0 };
        bool good = findings_add(f, &request, &recording, &trouble, &e);

        str_free(&trouble);
        wrappers_free(&usual);
        symbols_free(recording.symbols);
        return good;
}

/* A wrong release by main/small, of a block from main/tiny. */
static inline void forge_error(struct profile *p, uint32_t type, uint64_t count)
{
        p->errors = heap_grow(p->errors, p->error_count + 1, sizeof *p->errors);
        p->errors[p->error_count++] = (struct profile_error){
                .type = type,
                .node = p->sites[FORGE_SITE_SMALL].node,
                .alloc_site = FORGE_SITE_TINY,
                .address = 0x4000,
                .size = 4,
                .count = count
        };
        p->totals.double_frees += type == LEDGER_ERROR_DOUBLE_FREE ? count : 0;
        p->totals.mismatched += type == LEDGER_ERROR_MISMATCHED ? count : 0;
        p->totals.unknown_frees += type == LEDGER_ERROR_UNKNOWN_FREE ? count : 0;
}

#endif
