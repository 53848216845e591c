/* SPDX-License-Identifier: MIT */
/*
 * recording.h -- one process being recorded: its clock, its slices, its checkpoints, its end.
 *
 * Room:   outside.  Called by observe/session.c.
 */
#ifndef SEEP_OBSERVE_RECORDING_H
#define SEEP_OBSERVE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/collect.h"
#include "observe/output.h"
#include "observe/slices.h"
#include "observe/view.h"
#include "profile/model.h"

struct recording {
        struct view view;
        struct slices slices;
        uint32_t pid; /* as we see it */
        int pidfd;    /* -1: the kernel has none for us, the process is looked up by number */
        int statm;    /* /proc/PID/statm; -1 when it cannot be read */
        uint64_t exe_dev, exe_ino; /* of the program when its hello was read; 0 unknown */
        bool exe_doubtful;         /* it had another name then than in the ledger: replaced already, or in a chroot */
        char *program, *cwd, *path;
        uint32_t depth;

        struct collect_name *names; /* by thread of the ledger */
        uint32_t name_count;
        uint64_t names_due_ms;

        uint64_t rss_last_bytes, rss_peak_bytes;

        pid_t writer; /* the process that writes a checkpoint now; 0 none */
        uint64_t checkpoint_due_ms;
        bool checkpoint_failed;
};

/* How it ended, in the words of profile/model.h. */
struct recording_end {
        enum profile_end end;
        uint32_t code, signal;
        uint64_t rss_peak_bytes; /* 0 unknown */
};

/* A process said hello with the ledger V, which is moved.  PIDFD may be -1; PROGRAM and PATH are moved. */
struct recording *recording_new(const struct view *v, uint32_t pid, int pidfd, char *program, char *path, uint32_t depth);
void recording_free(struct recording *r);

/* At each tick: clock, and whatever is due of slices, names and checkpoints.  NOW_NS: CLOCK_MONOTONIC. */
void recording_tick(struct recording *r, uint64_t now_ns, struct output *o);

/* The process runs another program now, which did not say hello (yet). */
bool recording_has_execed(const struct recording *r);

/* Is it over?  For processes without a pidfd. */
bool recording_is_gone(const struct recording *r);

/* The checkpoint's writer ended: it took CPU_NS and left with STATUS of waitpid(). */
void recording_checkpoint_done(struct recording *r, int status, uint64_t cpu_ns, uint64_t now_ns);

/* The last look: waits for a checkpoint being written, then fills P, the caller's to write and free. */
void recording_finish(struct recording *r, const struct recording_end *end, uint64_t now_ns, struct profile *p);

#endif
