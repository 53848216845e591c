/* SPDX-License-Identifier: MIT */
/*
 * check.h -- the options of `seep check`.
 */
#ifndef SEEP_CLI_CHECK_H
#define SEEP_CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/place.h"
#include "cli/names.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/record.h"
#include "query/baseline.h"
#include "query/budget.h"
#include "query/expression.h"
#include "query/findings.h"
#include "query/location.h"

/* The first options are the budgets, in the order of BUDGETS. */
#define CHECK_OPTIONS(X)                                                                          \
        X(CHECK_MAX_PEAK, "max-peak", 0, "SIZE", "the heap at its largest, like 200M")            \
        X(CHECK_MAX_LIVE, "max-live", 0, "SIZE", "the heap at the end")                           \
        X(CHECK_MAX_ALLOCS, "max-allocs", 0, "N", "calls that allocate")                          \
        X(CHECK_MAX_LEAKED, "max-leaked", 0, "SIZE", "definitely and indirectly lost memory")     \
        X(CHECK_MAX_LEAKS, "max-leaks", 0, "N", "definitely and indirectly lost blocks")          \
        X(CHECK_MAX_BAD_FREES, "max-bad-frees", 0, "N", "double, mismatched and invalid frees")   \
        X(CHECK_MAX_RSS, "max-rss", 0, "SIZE", "resident memory of the process at its largest")   \
        X(CHECK_MAX_GROWTH, "max-growth", 0, "RATE", "what keeps growing, like 100K/s or 1M/h")   \
        X(CHECK_NO_ALLOC_IN, "no-alloc-in", 0, "RE",                                              \
          "no allocation in or below matching functions (may be repeated)")                       \
        X(CHECK_HEAD_EXCEPT, NULL, 0, NULL, "what is not counted:")                               \
        X(CHECK_BASELINE, "baseline", 0, "FILE",                                                  \
          "leaks and invalid frees listed in FILE, or found in that recording")                   \
        X(CHECK_WRITE_BASELINE, "write-baseline", 0, "FILE",                                      \
          "write those of this run to FILE; all count as known")                                  \
        X(CHECK_TOLERANCE, "tolerance", 0, "PCT",                                                 \
          "how much more a leak of the baseline may lose (10)")                                   \
        X(CHECK_SUPPRESSIONS, "suppressions", 0, "FILE",                                          \
          "leaks that rules in FILE match, in LSan or Valgrind syntax (may be repeated)")         \
        X(CHECK_PROCESS, "process", 0, "RE",                                                      \
          "check only processes whose program matches (may be repeated)")                         \
        X(CHECK_ALLOW_UNSEEN, "allow-unseen", 0, NULL,                                            \
          "do not fail because seep did not see some of the memory")                              \
        X(CHECK_HEAD_RESULTS, NULL, 0, NULL, "results:")                                          \
        X(CHECK_ERROR_EXITCODE, "error-exitcode", 0, "N",                                         \
          "the exit status when a budget is broken (1)")                                          \
        X(CHECK_ANNOTATE, "annotate", 0, "WHERE", "auto (default: on GitHub), github, none",      \
          "auto|github|none")                                                                     \
        X(CHECK_SARIF, "sarif", 0, "FILE", "write SARIF 2.1.0, for code scanning")                \
        X(CHECK_JUNIT, "junit", 0, "FILE", "write JUnit XML, for test reports")                   \
        X(CHECK_VALGRIND_XML, "valgrind-xml", 0, "FILE",                                          \
          "write Valgrind's XML (protocol 4), for its plug-ins")                                  \
        X(CHECK_SOURCE_ROOT, "source-root", 0, "DIR",                                             \
          "make paths relative to DIR (the git repository, else here)")                           \
        X(CHECK_JSON, "json", 0, NULL,                                                            \
          "print budgets and findings as JSON; the program's stdout goes to stderr")              \
        X(CHECK_LIMIT, "limit", 'n', "N", "at most N findings with their stacks (10)")            \
        COLOR_OPTION(X, CHECK)                                                                    \
        X(CHECK_QUIET, "quiet", 'q', NULL, "print broken budgets only")                           \
        X(CHECK_HEAD_RUN, NULL, 0, NULL, "how a program is run, as with 'seep record':")          \
        X(CHECK_OUTPUT, "output", 'o', "FILE",                                                    \
          "where to keep the recordings (default: a temporary directory)")                        \
        X(CHECK_KEEP, "keep", 0, "DIR",                                                           \
          "keep the recordings of processes that failed in DIR, made if needed")                  \
        X(CHECK_FORCE, "force", 'f', NULL,                                                        \
          "replace files; reports of an earlier check are replaced without it")                   \
        X(CHECK_FOLLOW, "follow", 0, "WHICH",                                                     \
          "child processes: none, exec (those that run a program) or all (all)", "none|exec|all") \
        X(CHECK_NO_CXX, "no-cxx", 0, NULL,                                                        \
          "record new and delete as the malloc and free that they call")                          \
        RECORD_OMIT_OPTION(X, CHECK)                                                              \
        RECORD_HOOK_OPTION(X, CHECK)                                                              \
        X(CHECK_ENGINE, "engine", 0, "HOW",                                                       \
          "how calls are seen: auto (what suits the program), preload or inject (auto)",          \
          RECORD_ENGINES)                                                                         \
        RECORD_PYTHON_OPTION(X, CHECK)                                                            \
        X(CHECK_USER, "user", 0, "NAME", "run the program as this user (for root)")               \
        X(CHECK_HEAD_GUARD, NULL, 0, NULL, "on in a check, off in 'seep record':")                \
        RECORD_GUARD_OPTIONS(X, CHECK)                                                            \
        X(CHECK_VERBOSE, "verbose", 'v', NULL, "report what is done")                             \
        NAMES_OPTIONS(X, CHECK)                                                                   \
        LAST_OPTIONS(X, CHECK)

enum { CHECK_OPTIONS(OPTION_ENUM) CHECK_COUNT };

/* id, option: reports for other tools */
#define CHECK_FILES(X)                                                         \
        X(SARIF, CHECK_SARIF)                                                  \
        X(JUNIT, CHECK_JUNIT)                                                  \
        X(VALGRIND_XML, CHECK_VALGRIND_XML)

enum check_file {
#define CHECK_FILE_ENUM(id, option) CHECK_FILE_##id,
        CHECK_FILES(CHECK_FILE_ENUM)
#undef CHECK_FILE_ENUM
        CHECK_FILE_COUNT
};

/* As in the values of the option. */
enum { CHECK_ANNOTATE_AUTO, CHECK_ANNOTATE_GITHUB, CHECK_ANNOTATE_NONE };

struct check {
        struct budgets budgets;
        const char *baseline_file, *write_baseline;
        const char **suppressions;
        uint32_t suppression_count;
        struct expressions processes;
        const char *files[CHECK_FILE_COUNT]; /* NULL: not wanted */
        struct place places[CHECK_FILE_COUNT + 1]; /* of those, and of the baseline; looked
                                                    * up before anything is run */
        bool looked_up;
        const char *source_root;
        const char *keep; /* folder; NULL: none */
        int error_status, annotate;
        bool json, force, quiet, error_status_set, allow_unseen, quarantine_set;
        bool hinted; /* that names are missing */
        bool running; /* what is judged now is a process as it is, not a file */
        uint32_t limit;
        enum pager_color color;
        struct names names;
        struct record record;

        char **recordings; /* operands ... */
        int recording_count;
        char **program_argv; /* ... or what is to be run */
        int killed_by;       /* the signal that ended it; 0: it exited */

        struct baseline baseline; /* what BASELINE_FILE has */
        struct location_root root;
        struct findings findings;
};

/* Take one option.  0, or, after a message, the status to exit with.  Then all were
 * taken: do they fit together? */
int check_take(void *check, int which, const char *value);
int check_settle(struct check *c);
void check_free(struct check *c);

/* Judge the recordings of the operands, or of the program that is run.  The program's status
 * (0 without one) is in *STATUS.  false: there is no result, and *STATUS is, after a
 * message, the one to exit with. */
bool check_run(struct check *c, int *status);

/* The baseline, the suppressions and the places of files, before anything is run.  0, or the
 * status. */
int check_prepare(struct check *c);

/* Reports that were asked for. */
bool check_may_write(struct check *c, struct err *e);
bool check_write_files(struct check *c, struct err *e);
void check_drop_files(struct check *c);

#endif
