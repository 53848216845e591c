/* SPDX-License-Identifier: MIT */
/* record.h -- how to record: the options of `seep record`, which plain LD_PRELOAD takes from SEEP_OPTIONS. */
#ifndef SEEP_CLI_RECORD_H
#define SEEP_CLI_RECORD_H

#include <stdbool.h>

#include "cli/option.h"
#include "query/suppress.h"
#include "serve/push.h"
#include "session/session.h"

/* What `check` does unless told otherwise, and `record` when asked: it changes the program. */
#define RECORD_GUARD_OPTIONS(X, prefix)                                                                         \
        X(prefix##_KEEP_GOING, "keep-going", 0, NULL, "do not pass an invalid free on, so that the program goes on")    \
        X(prefix##_NO_KEEP_GOING, "no-keep-going", 0, NULL, "pass invalid frees on, as they come")              \
        X(prefix##_QUARANTINE, "quarantine", 0, "SIZE",                                                         \
          "keep freed blocks back until they take SIZE, so that a second free is seen; 0 none")                 \
        X(prefix##_FILL, "fill", 0, "[BYTE]", "overwrite fresh memory (0xa5) and clear freed memory")           \
        X(prefix##_NO_FILL, "no-fill", 0, NULL, "leave memory as it is")                                        \
        X(prefix##_DEEPBIND, "deepbind", 0, NULL, "leave RTLD_DEEPBIND to dlopen; such libraries allocate unseen")

#define RECORD_OMIT_OPTION(X, prefix)                                                                           \
        X(prefix##_OMIT, "omit", 0, "RE",                                                                       \
          "leave out what a program or library allocates whose path matches, like libfoo (may be repeated)")

#define RECORD_OPTIONS(X)                                                                                       \
        X(RECORD_OUTPUT, "output", 'o', "FILE",                                                                 \
          "where to (%p pid, %e program, %n number; PROGRAM.PID.seep)")                                         \
        X(RECORD_FORCE, "force", 'f', NULL, "replace FILE when it exists")                                      \
        X(RECORD_DEPTH, "depth", 'd', "N", "keep the N innermost frames of each stack; 0 none (all)")           \
        X(RECORD_FOLLOW, "follow", 0, "WHICH",                                                                  \
          "child processes: none, exec (those that run a program) or all (exec)", "none|exec|all")              \
        X(RECORD_WAIT, "wait", 0, "WHOM",                                                                       \
          "when the program has ended, wait for what it started: program (no), all, or at most TIME (--follow=all: all, else program)") \
        X(RECORD_DURATION, "duration", 0, "TIME", "stop recording after TIME; the program goes on")             \
        X(RECORD_START_OFF, "start-off", 0, NULL, "record nothing before the program calls SEEP_ENABLE()")      \
        X(RECORD_NO_MMAP, "no-mmap", 0, NULL, "do not record mmap, munmap, mremap and stacks of threads")       \
        X(RECORD_NO_CXX, "no-cxx", 0, NULL, "see new and delete as the malloc and free that they call")         \
        RECORD_OMIT_OPTION(X, RECORD)                                                                           \
        X(RECORD_TRACK_FDS, "track-fds", 0, NULL, "record file descriptors too: open, socket, dup, close, ...") \
        X(RECORD_FREE_STACKS, "free-stacks", 0, NULL, "record the call stack of each release too")              \
        X(RECORD_SAMPLE, "sample", 0, "[SIZE]",                                                                 \
          "record one block in SIZE bytes that are allocated, each for many; for production (512K; 0: every block)") \
        X(RECORD_LIMIT_LEDGER, "limit-ledger", 0, "SIZE",                                                     \
          "memory that recording may take from the program's; when it comes near, a few blocks are recorded for many") \
        X(RECORD_USER, "user", 0, "NAME", "run the program as this user (for root)")                            \
        X(RECORD_EXIT_CODE, "exit-code", 0, NULL, "when signal N killed the program, exit with 128+N, not by N") \
        X(RECORD_HEAD_SNAPSHOTS, NULL, 0, NULL, "snapshots; those asked for also write a report, PROGRAM-PID-N.memlog:") \
        X(RECORD_SIGNAL, "signal", 0, "SIG", "a signal that asks for one, like USR1 (none; plain LD_PRELOAD: USR1)")                    \
        X(RECORD_EVERY, "snapshot-every", 0, "TIME", "take one each TIME, like 10s")                            \
        X(RECORD_AT_RSS, "snapshot-at-rss", 0, "SIZE", "take one when SIZE is resident, like 2G; once")         \
        X(RECORD_AT_HEAP, "snapshot-at-heap", 0, "SIZE", "take one when SIZE is allocated, like 500M; once")    \
        X(RECORD_LIMIT_HEAP, "limit-heap", 0, "SIZE", "stop the program, with a report, when it would allocate more") \
        X(RECORD_LIMIT_ACTION, "limit-action", 0, "WHAT",                                                       \
          "at that limit: abort, enomem (the allocation fails) or snapshot (only a report) (abort)",            \
          "abort|enomem|snapshot")                                                                              \
        X(RECORD_HEAD_LEAKS, NULL, 0, NULL, "leaks; searched for when the program ends:")                       \
        X(RECORD_NO_SCAN, "no-leak-scan", 0, NULL, "do not search; the program ends at once")                   \
        X(RECORD_SUPPRESSIONS, "suppressions", 0, "FILE",                                                       \
          "leaks that are not told at the end, as LSan or Valgrind write it (may be repeated)")                 \
        X(RECORD_KEEP_GRAPH, "keep-graph", 0, NULL, "keep who points to whom also above 1 million blocks, for seep why") \
        X(RECORD_UNALIGNED, "unaligned", 0, NULL, "search for pointers at every byte, not only at multiples of 8") \
        X(RECORD_HEAD_GUARD, NULL, 0, NULL, "invalid frees and stale pointers; these change what the program does:") \
        RECORD_GUARD_OPTIONS(X, RECORD)                                                                         \
        X(RECORD_HEAD_EVENTS, NULL, 0, NULL, "event log:")                                                      \
        X(RECORD_EVENTS, "events", 0, NULL, "keep every allocation and release, in order (see seep events)")    \
        X(RECORD_MAX_FILE, "max-file", 0, "SIZE", "end the event log when it takes SIZE, like 1G")              \
        X(RECORD_MAX_FILES, "max-files", 0, "N", "go on with a new part instead, and keep the last N of them")  \
        X(RECORD_HEAD_PUSH, NULL, 0, NULL, "for a continuous-profiling server (Pyroscope); implies --sample:")     \
        X(RECORD_PUSH, "push", 0, "URL", "send profiles to URL, like http://pyroscope:4040")                     \
        X(RECORD_PUSH_EVERY, "every", 0, "TIME", "one each TIME (10s)")                                         \
        X(RECORD_PUSH_LABEL, "label", 0, "KEY=VALUE", "put a label on what is sent (may be repeated)")          \
        X(RECORD_HEAD_WORDS, NULL, 0, NULL, "what is said:")                                                    \
        X(RECORD_NO_SUMMARY, "no-summary", 0, NULL, "no numbers at the end")                                    \
        X(RECORD_QUIET, "quiet", 'q', NULL, "say nothing but errors")                                           \
        X(RECORD_VERBOSE, "verbose", 'v', NULL, "say what is done: forks, execs, exits, libraries; -vv more")   \
        CONFIG_OPTION(X, RECORD)                                                                                       \
        X(RECORD_HELP, "help", 'h', NULL, "this text")

enum { RECORD_OPTIONS(OPTION_ENUM) RECORD_COUNT };

/* What the options say. */
struct record {
        const char *pattern; /* NULL: not given */
        const char *user;
        bool sample_given, wait_given;
        const char *push;     /* URL; NULL none */
        uint64_t push_every_ms;
        const char **push_labels;
        uint32_t push_label_count;
        bool force, quiet, no_summary, action_given, exit_code;
        struct suppressions *suppressions; /* NULL: none given */
        struct session_options session; /* all but the callbacks, the program and the place */
};

void record_start(struct record *r);

/* What `seep check` begins with: a run that is made to show faults. */
void record_guard(struct record *r);
void record_free(struct record *r);

/* Take one option.  0, or, after a message, the status to exit with. */
int record_take(struct record *r, int which, const char *value);

/* All options were taken: do they fit together?  0, or the status. */
int record_settle(struct record *r);

/* Start what sends profiles to a server; ATTENDED: on behalf of a program that did not ask for it, so that no trouble is told and no cache
 * made.  NULL in OUT: nobody wants it.  false: E. */
bool record_open_push(const struct record *r, bool attended, struct push **out, struct err *e);

/* The author of reports: MTrace's form, with names and lines as far as they are on this machine.  CONTEXT: the struct symbol_options. */
void record_write_report(void *context, const struct profile *p, uint32_t from, uint32_t to, struct str *out);

#endif
