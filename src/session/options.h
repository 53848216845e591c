/* SPDX-License-Identifier: MIT */
/* options.h -- the options of a recording, and the functions that hear of its events. */
#ifndef SEEP_SESSION_OPTIONS_H
#define SEEP_SESSION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/custom.h"
#include "profile/model.h"
#include "session/carrier.h"
#include "session/output.h"
#include "session/reports.h"
#include "wire/regex.h"

enum session_follow { SESSION_FOLLOW_NONE, SESSION_FOLLOW_EXEC, SESSION_FOLLOW_ALL };

/* How much the user wants to know: all with -vv, details with -v, notes on a terminal, advice
 * unless -q, troubles always. */
enum session_level { SESSION_TRACE, SESSION_DETAIL, SESSION_NOTE, SESSION_ADVICE, SESSION_TROUBLE };

struct session_options {
        enum session_follow follow;
        uint32_t flags; /* WIRE_F_* */
        uint32_t depth; /* innermost frames to keep, 0 all */
        uint32_t signal; /* that asks for a snapshot; 0 none */
        uint64_t limit_bytes, snapshot_heap_bytes; /* 0 none */
        const char *limit_text;                    /* as typed */
        uint64_t snapshot_every_ms, snapshot_rss_bytes, duration_ms; /* 0 none */
        uint64_t wait_ms; /* for others when the program has ended (session/lingering.h) */
        uint64_t sample_bytes;   /* one block in so many is recorded; 0 all */
        uint64_t quarantine_bytes; /* of freed blocks that are kept back; 0 none */
        uint64_t ledger_bytes;     /* of memory that the ledger may take; 0 any */
        uint32_t fill;             /* 256 + the byte for fresh and freed memory; 0 none */
        char omit[REGEX_MAX + 1];  /* objects whose allocations are left out: an
                                    * expression (wire/regex.h); "" none */
        uint64_t max_file_bytes; /* of the event log; 0 any */
        uint32_t max_files;      /* parts of so many bytes that are kept; 0: it ends */
        uint32_t scan_flags;     /* WIRE_SCAN_*, for all searches for leaks */
        uint32_t verbose;    /* how many -v: what is worth finding out */
        const struct carrier *carrier;
        const char *image, *library; /* with carrier->leaves: paths of the agent
                                      * (attach/inject.h) */
        const struct custom *custom; /* functions that --hook names; NULL none */
        bool gpu; /* with carrier->leaves: functions of graphics processors, too */
        const char *program; /* as typed; NULL: it was not us who started it */
        bool visit; /* a recording that a seep that is gone has left goes on without us, too */
        uid_t uid;           /* the program's user */
        struct output *output;
        struct reports_author author; /* of reports */
        void *context;
        void (*say)(void *context, enum session_level level, const char *text);
        /* A recording is finished and, unless WRITTEN is false, in the file PATH.  P may be
         * moved out (and cleared).  IS_MAIN: of the process that was started; what comes last
         * is what it was at the end.  NULL: nobody looks at what is not written. */
        void (*done)(void *context, struct profile *p, const char *path, bool written,
                     bool is_main);
        /* The process PID, running PROGRAM, has a new report. */
        void (*reported)(void *context, const char *program, uint32_t pid, const char *path);
        /* A finished recording has another name now. */
        void (*moved)(void *context, const char *from, const char *to);
};

#endif
