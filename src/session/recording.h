/* SPDX-License-Identifier: MIT */
/*
 * recording.h -- one process being recorded: its clock, its slices, its snapshots,
 * its checkpoints, its end.
 */
#ifndef SEEP_SESSION_RECORDING_H
#define SEEP_SESSION_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/headroom.h"
#include "collect/ahead.h"
#include "collect/collect.h"
#include "collect/events_writer.h"
#include "collect/jit.h"
#include "collect/reclaim.h"
#include "collect/resident.h"
#include "collect/slices.h"
#include "collect/view.h"
#include "profile/model.h"
#include "session/carrier.h"
#include "session/checkpoint.h"
#include "session/control.h"
#include "session/looks.h"
#include "session/options.h"
#include "session/output.h"
#include "session/reports.h"
#include "session/scanner.h"
#include "session/snapshots.h"
#include "wire/hello.h"

struct recording;

/* What is the same for all recordings of a session. */
struct recording_plan {
        uint32_t depth; /* innermost frames to keep, 0 all */
        enum session_follow follow;
        bool visit; /* its agent goes on for nobody when we end, as it did before */
        uint64_t snapshot_every_ms, snapshot_rss_bytes; /* 0 none */
        struct events_writer_bound log;                 /* of the event log */
        uint32_t scan_flags; /* WIRE_SCAN_*, for all searches for leaks */
        int first_tracer; /* who traces the processes already (attach/first_tracer.h); 0 nobody */
        struct output *output;
        bool unread;         /* nobody looks at what a recording without a file ends with */
        uint32_t recordings; /* that are made just now */
        const struct carrier *carrier;
        uint32_t departed;   /* of programs that have left, and whose copies are searched */
        struct reports_author author;
        void *context;
        /* A report is written, or could not be.  ASKER in DUE is the callee's to answer and
         * close. */
        void (*told)(void *context, const struct recording *r, const struct snapshots_due *due,
                     const struct reports_result *result);
        /* A search for leaks that the program asked for (SEEP_LEAK_CHECK) is over. */
        void (*scanned)(void *context, const struct recording *r,
                        const struct scanner_words *words);
};

/* What was told about a process (verbose.h). */
struct recording_told {
        uint32_t modules, threads;
        uint64_t gone_ms, end_ms; /* of modules and threads that went */
        uint64_t forks;
};

struct recording {
        const struct recording_plan *plan;
        struct view view;
        struct slices slices;
        uint32_t pid; /* as we see it */
        int pidfd;    /* -1: the kernel has none for us, the process is looked up by number */
        uint64_t exe_dev, exe_ino; /* of the program when its hello was read; 0 unknown */
        uint64_t stack_start;      /* with carrier->one_program: of the program; 0 unknown */
        bool replaced; /* the same: it was another program already when its hello was read */
        bool exe_doubtful;         /* it had another name then than in the ledger:
                                    * replaced already, or in a chroot */
        char *program, *cwd;
        char *path;       /* of the recording; "" when only reports are wanted */

        struct jit jit;
        struct events_writer *journal; /* NULL: recorded without --events */
        struct events_ids ids;   /* for its log */
        struct collect_name *names; /* by thread of the ledger */
        uint32_t name_count;
        uint32_t named_threads; /* of the ledger, when names were read last */
        uint64_t names_due_ms;

        struct rss rss;
        struct resident resident;
        struct ahead ahead;
        struct snapshots snapshots;
        uint32_t served;          /* marks, as the program was told */
        uint64_t snapshot_due_ms; /* the next of --snapshot-every */
        bool snapshot_rss_done;
        uint32_t signal_state; /* enum ledger_signal_state, at the last look */
        bool told_signal;
        struct recording_told told;

        struct worker reporter;    /* writes reports now; what it tells us are struct
                                    * reports_result[] */
        char unlisted[HEADROOM_WHY_BYTES]; /* why the last profile has no list of live blocks; "" it
                                        * has, or nobody wanted one */
        uint32_t reports_begun;    /* how many of snapshots.due it has */
        uint64_t reports_since_ms; /* since when the oldest one is due */

        struct scanner scanner;
        struct looks looks;
        struct control control;
        uint32_t depth; /* innermost frames to keep, 0 all: as the plan says, until
                         * somebody asks for another */
        bool departed; /* the program has left, and a copy of it is searched */

        struct checkpoint checkpoint;
        struct reclaim reclaim;
};

/* How it ended, in the words of profile/model.h. */
struct recording_end {
        enum profile_end end;
        uint32_t code, signal;
        uint64_t rss_peak_bytes; /* 0 unknown */
        bool rss_seen;           /* what we read ourselves is about all */
        bool starved;            /* the kernel ended it for lack of memory */
        bool goes_on;            /* the program runs, and is left by us (record --duration) */
};

/* A process said hello with the ledger V, which is moved.  PIDFD may be -1; PROGRAM and PATH are
 * moved. */
struct recording *recording_new(const struct view *v, uint32_t pid, int pidfd, char *program,
                                char *path, const struct recording_plan *plan);
/* WRITTEN: what recording_finish() gave is on disk. */
void recording_free(struct recording *r, bool written);

/* At each tick: clock, marks, and whatever is due of slices, snapshots, names and checkpoints.
 * NOW_NS: CLOCK_MONOTONIC. */
void recording_tick(struct recording *r, uint64_t now_ns);

/* Between ticks: totals alone, where they are cut more often than that: so often; 0: not yet. */
void recording_cut(struct recording *r, uint64_t now_ns);
uint64_t recording_step_ms(const struct recording *r);

/* The program says that somebody waits for a mark. */
void recording_knock(struct recording *r, uint64_t now_ns);

/* ASKER, a connection, wants the snapshot of ASK; it will be answered through plan->told, or, of a
 * tag, at once. */
void recording_ask(struct recording *r, const struct wire_request *ask, int asker, uint64_t now_ns);

/* ASKER wants a search for leaks (FLAGS: WIRE_SCAN_*), and will be answered. */
void recording_ask_scan(struct recording *r, const struct wire_request *ask, int asker);

/* ASKER wants a recording of this moment (FLAGS: WIRE_LOOK_*), and will be answered. */
void recording_ask_look(struct recording *r, uint32_t flags, int asker);

/* ASKER wants to know how the recording stands, or wants that changed as ASK says, and will be
 * answered. */
void recording_ask_status(struct recording *r, int asker);
void recording_ask_control(struct recording *r, const struct wire_request *ask, int asker);

/* The process runs another program now, which did not say hello (yet). */
bool recording_has_execed(const struct recording *r);

/* Is it over? */
bool recording_is_gone(const struct recording *r);

/* A child of ours ended: it took CPU_NS and left with STATUS of waitpid().  false: it did not work
 * for R. */
bool recording_child_ended(struct recording *r, pid_t pid, int status, uint64_t cpu_ns);

/* The last look: waits for a checkpoint being written, then fills P, the caller's to write and
 * free. */
void recording_finish(struct recording *r, const struct recording_end *end, uint64_t now_ns,
                      struct profile *p);

#endif
