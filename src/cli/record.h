/* SPDX-License-Identifier: MIT */
/* record.h -- how to record: the options of `seep record`, which plain LD_PRELOAD
 * takes from SEEP_OPTIONS. */
#ifndef SEEP_CLI_RECORD_H
#define SEEP_CLI_RECORD_H

#include <stdbool.h>

#include "attach/custom.h"
#include "attach/engine.h"
#include "cli/option.h"
#include "query/suppress.h"
#include "serve/push.h"
#include "session/session.h"

/* What `check` does unless told otherwise, and `record` when asked: it changes the program. */
#define RECORD_GUARD_OPTIONS(X, prefix)                                                        \
        X(prefix##_KEEP_GOING, "keep-going", 0, NULL,                                          \
          "do not pass invalid frees on, so that the program continues")                       \
        X(prefix##_NO_KEEP_GOING, "no-keep-going", 0, NULL, "pass invalid frees on")           \
        X(prefix##_QUARANTINE, "quarantine", 0, "SIZE",                                        \
          "delay the reuse of freed blocks, up to SIZE, to detect double frees; 0: off")       \
        X(prefix##_FILL, "fill", 0, "[BYTE]", "fill new memory (0xa5) and clear freed memory") \
        X(prefix##_NO_FILL, "no-fill", 0, NULL, "do not fill memory")                          \
        X(prefix##_DEEPBIND, "deepbind", 0, NULL,                                              \
          "keep RTLD_DEEPBIND in dlopen; allocations of such libraries are not seen")

#define RECORD_OMIT_OPTION(X, prefix)                                                          \
        X(prefix##_OMIT, "omit", 0, "RE",                                                      \
          "ignore allocations made by programs and libraries whose path matches, like libfoo " \
          "(may be repeated)")

#define RECORD_PYTHON_OPTION(X, prefix)                                                    \
        X(prefix##_PYTHON, "python", 0, NULL,                                              \
          "name functions of Python (3.12 or later): sets PYTHONPERFSUPPORT=1 and "         \
          "PYTHONMALLOC=malloc for the program")

/* Words of --engine, in the order of enum engine. */
#define RECORD_ENGINES "auto|preload|inject|breakpoint"

#define RECORD_HOOK_OPTION(X, prefix)                                                              \
        X(prefix##_HOOK, "hook", 0, "WORDS",                                                       \
          "also record the program's own functions: alloc=NAME[:ARG],free=NAME (also calloc=, "    \
          "realloc=; ARG: which argument is the size, of free the block; NAME: also a pattern, "   \
          "or MODULE+0xADDRESS; may be repeated)")

#define RECORD_FIRST_OPTIONS(X)                                                                    \
        X(RECORD_OUTPUT, "output", 'o', "FILE",                                                    \
          "where to write (%p pid, %e program, %n number; PROGRAM.PID.seep)")                      \
        X(RECORD_FORCE, "force", 'f', NULL, "replace FILE if it exists")                           \
        X(RECORD_DEPTH, "depth", 'd', "N",                                                         \
          "keep the N innermost frames of each stack; 0 none (all)")                               \
        X(RECORD_FOLLOW, "follow", 0, "WHICH",                                                     \
          "child processes: none, exec (those that run a program) or all (exec)", "none|exec|all") \
        X(RECORD_KEEP_SMALL, "keep-small", 0, NULL,                                                \
          "keep the recordings of small processes, too: below 1% of the main one's peak they are " \
          "only counted")

#define RECORD_LAST_WHAT_OPTIONS(X)                                                                \
        X(RECORD_DURATION, "duration", 0, "TIME",                                                  \
          "stop recording after TIME; the program continues")                                      \
        X(RECORD_START_OFF, "start-off", 0, NULL,                                                  \
          "record nothing until the program calls SEEP_ENABLE()")                                  \
        X(RECORD_NO_MMAP, "no-mmap", 0, NULL,                                                      \
          "do not record mmap, munmap, mremap and stacks of threads")                              \
        X(RECORD_NO_CXX, "no-cxx", 0, NULL,                                                        \
          "record new and delete as the malloc and free that they call")                           \
        RECORD_OMIT_OPTION(X, RECORD)                                                              \
        RECORD_HOOK_OPTION(X, RECORD)                                                              \
        X(RECORD_TRACK_GPU, "track-gpu", 0, NULL,                                                  \
          "record memory of graphics processors too: cudaMalloc, hipMalloc, cuMemAlloc, ...")      \
        X(RECORD_TRACK_FDS, "track-fds", 0, NULL,                                                  \
          "record file descriptors too: open, socket, dup, close, ...")                            \
        X(RECORD_FREE_STACKS, "free-stacks", 0, NULL, "record the call stack of each free too")    \
        X(RECORD_SAMPLE, "sample", 0, "[SIZE]",                                                    \
          "sample: record about one block per SIZE bytes allocated; for production (512K; 0: "     \
          "every block)")                                                                          \
        X(RECORD_LIMIT_LEDGER, "limit-ledger", 0, "SIZE",                                          \
          "limit on the memory that recording takes; near it, only a sample of blocks is recorded")

/* Also of `seep attach`. */
#define RECORD_WHAT_OPTIONS(X)                                                                     \
        RECORD_FIRST_OPTIONS(X)                                                                    \
        X(RECORD_WAIT, "wait", 0, "WHOM",                                                          \
          "when the program has ended, wait for the processes that it started: all, at most "      \
          "TIME, or program: do not wait (--follow=all: all, else program)")                       \
        RECORD_LAST_WHAT_OPTIONS(X)

#define RECORD_SNAPSHOT_HEAD(X)                 \
        X(RECORD_HEAD_SNAPSHOTS, NULL, 0, NULL, \
          "snapshots; each requested one also writes a report, PROGRAM-PID-N.memlog:")

/* Also of `seep attach`. */
#define RECORD_WHEN_OPTIONS(X)                                                                     \
        X(RECORD_EVERY, "snapshot-every", 0, "TIME", "take a snapshot every TIME, like 10s")       \
        X(RECORD_AT_RSS, "snapshot-at-rss", 0, "SIZE",                                             \
          "take one snapshot when SIZE is resident, like 2G")                                      \
        X(RECORD_AT_HEAP, "snapshot-at-heap", 0, "SIZE",                                           \
          "take one snapshot when SIZE is allocated, like 500M")                                   \
        X(RECORD_LIMIT_HEAP, "limit-heap", 0, "SIZE",                                              \
          "stop the program, with a report, if it would allocate more")                            \
        X(RECORD_LIMIT_ACTION, "limit-action", 0, "WHAT",                                          \
          "at that limit: abort, enomem (the allocation fails) or snapshot (only a report) "       \
          "(abort)",                                                                               \
          "abort|enomem|snapshot")                                                                 \
        X(RECORD_HEAD_LEAKS, NULL, 0, NULL, "leaks; searched for when the program ends:")          \
        X(RECORD_NO_SCAN, "no-leak-scan", 0, NULL, "do not search for leaks")                      \
        X(RECORD_WALK_HEAP, "walk-heap", 0, NULL,                                                  \
          "in a process that ran before, find older blocks, too, by walking through its heap "     \
          "(default)")                                                                             \
        X(RECORD_SUPPRESSIONS, "suppressions", 0, "FILE",                                          \
          "suppress leaks that rules in FILE match, in LSan or Valgrind syntax (may be repeated)") \
        X(RECORD_KEEP_GRAPH, "keep-graph", 0, NULL,                                                \
          "keep all pointers for seep why, even with more than 1 million blocks")                  \
        X(RECORD_UNALIGNED, "unaligned", 0, NULL,                                                  \
          "search for pointers at every byte, not only at multiples of 8")                         \
        X(RECORD_HEAD_GUARD, NULL, 0, NULL,                                                        \
          "invalid frees and stale pointers (these change what the program does):")                \
        RECORD_GUARD_OPTIONS(X, RECORD)                                                            \
        X(RECORD_HEAD_EVENTS, NULL, 0, NULL, "event log:")                                         \
        X(RECORD_EVENTS, "events", 0, NULL,                                                        \
          "record every allocation and free, in order (see seep events)")                          \
        X(RECORD_MAX_FILE, "max-file", 0, "SIZE", "end the event log at SIZE, like 1G")            \
        X(RECORD_MAX_FILES, "max-files", 0, "N",                                                   \
          "at SIZE, start a new part of the log instead, and keep the last N parts")               \
        X(RECORD_HEAD_PUSH, NULL, 0, NULL,                                                         \
          "for a continuous-profiling server (Pyroscope); implies --sample:")                      \
        X(RECORD_PUSH, "push", 0, "URL", "send profiles to URL, like http://pyroscope:4040")       \
        X(RECORD_PUSH_EVERY, "every", 0, "TIME", "send one every TIME (10s)")                      \
        X(RECORD_PUSH_LABEL, "label", 0, "KEY=VALUE",                                              \
          "add a label to what is sent (may be repeated)")                                         \
        X(RECORD_HEAD_WORDS, NULL, 0, NULL, "messages:")                                           \
        X(RECORD_NO_SUMMARY, "no-summary", 0, NULL, "no summary at the end")                       \
        X(RECORD_QUIET, "quiet", 'q', NULL, "print errors only")                                   \
        X(RECORD_VERBOSE, "verbose", 'v', NULL,                                                    \
          "report forks, execs, exits, libraries; -vv: more")                                      \
        LAST_OPTIONS(X, RECORD)

/* Of programs that we start. */
#define RECORD_ENGINE_OPTIONS(X)                                                               \
        X(RECORD_ENGINE, "engine", 0, "HOW",                                                   \
          "how calls are seen: auto (what suits the program), preload, inject, or breakpoint " \
          "(slow) "                                                                            \
          "(auto)",                                                                            \
          RECORD_ENGINES)                                                                      \
        X(RECORD_NO_HARDWARE, "no-hardware", 0, NULL,                                          \
          "accepted, without effect: hardware breakpoints are never used")

#define RECORD_PID_OPTION(X)                                                                   \
        X(RECORD_PID, "pid", 'p', "PID",                                                       \
          "record this process, which runs already; also a NAME, and together with a program " \
          "(may be repeated)")

#define RECORD_START_OPTIONS(X)                                                                \
        X(RECORD_USER, "user", 0, "NAME", "run the program as this user (for root)")           \
        X(RECORD_EXIT_CODE, "exit-code", 0, NULL,                                              \
          "if signal N killed the program, exit with 128+N instead of dying by N")             \
        RECORD_PYTHON_OPTION(X, RECORD)                                                        \
        RECORD_SNAPSHOT_HEAD(X)                                                                \
        X(RECORD_SIGNAL, "signal", 0, "SIG",                                                   \
          "a signal that requests a snapshot, like USR1 (none; plain LD_PRELOAD: USR1)")       \
        RECORD_WHEN_OPTIONS(X)

#define RECORD_OPTIONS(X)       \
        RECORD_WHAT_OPTIONS(X)   \
        RECORD_ENGINE_OPTIONS(X) \
        RECORD_PID_OPTION(X)     \
        RECORD_START_OPTIONS(X)

#define ATTACH_OPTIONS(X) RECORD_WHAT_OPTIONS(X) RECORD_SNAPSHOT_HEAD(X) RECORD_WHEN_OPTIONS(X)

enum { RECORD_OPTIONS(OPTION_ENUM) RECORD_COUNT };

/* What the options say. */
struct record {
        const char *pattern; /* NULL: not given */
        const char *user;
        enum engine engine;
        struct custom custom; /* --hook */
        bool sample_given, wait_given;
        const char **processes; /* --pid */
        uint32_t process_count;
        const char *push;     /* URL; NULL none */
        uint64_t push_every_ms;
        const char **push_labels;
        uint32_t push_label_count;
        bool force, quiet, no_summary, action_given, exit_code, walk_heap, python, keep_small;
        struct suppressions *suppressions; /* NULL: none given */
        struct session_options session; /* all but the callbacks, the program and the place */
};

void record_start(struct record *r);

/* What `seep check` begins with: a run that is made to show faults. */
void record_guard(struct record *r);
void record_free(struct record *r);

/* The place in record_options of an option of another table; OPTION_WRONG: it is none of them. */
int record_option(const struct option_entry *other);

/* Take one option.  0, or, after a message, the status to exit with. */
int record_take(struct record *r, int which, const char *value);

/* All options were taken: do they fit together?  0, or the status. */
int record_settle(struct record *r);

/* Start what sends profiles to a server; CARRIER: on behalf of a program that did not ask for it
 * (borrowed), no trouble is told and no cache made.  NULL in OUT: nobody wants it.  false: E. */
bool record_open_push(const struct record *r, const struct carrier *carrier, struct push **out,
                      struct err *e);

/* The author of reports: MTrace's form, with names and lines as far as they are on this machine.
 * CONTEXT: the struct symbol_options. */
void record_write_report(void *context, const struct profile *p, uint32_t from, uint32_t to,
                         struct str *out);

#endif
