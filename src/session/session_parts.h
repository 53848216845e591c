/* SPDX-License-Identifier: MIT */
/*
 * session_parts.h -- what the files of session.h share: the loop, arrivals, and ends of recordings.
 */
#ifndef SEEP_SESSION_SESSION_PARTS_H
#define SEEP_SESSION_SESSION_PARTS_H

#include <poll.h>

#include "breakpoint/breakpoint.h"
#include "session/connections.h"
#include "session/departed.h"
#include "session/diagnosis.h"
#include "session/lingering.h"
#include "session/listener.h"
#include "session/members.h"
#include "session/recording.h"
#include "session/relay.h"
#include "session/session.h"
#include "wire/hello.h"

struct session {
        struct session_options o;
        struct recording_plan plan;
        struct recording_plan injected_plan; /* of children that an agent was written into */
        struct listener listener;
        int endpoint; /* for commands that know the main process only; -1 */
        struct relay relay;
        struct worker breakpoints; /* the process that sets them; pid 0 none */
        struct breakpoint_wishes wishes;
        int timer;
        uint64_t step_ns; /* of the clock; 0: it stands still */
        uint64_t tick_ns; /* when the next whole tick is due */
        uint32_t ticks;
        char environment[WIRE_SESSION_MAX];

        struct recording **recordings;
        uint32_t count, made;
        struct departed departed;
        struct connections connections;
        struct members members;
        struct pollfd *polls;

        pid_t main_pid; /* 0: ended */
        uint32_t main_id;
        uint32_t main_programs; /* how many programs with an agent the main process has been */
        char *main_path;        /* where the recording of the last of them should go */
        char *main_first, *main_last; /* the first and the last of them */
        int status;
        uint64_t kills;                         /* headroom_kills() at the start */
        uint64_t own_rss_bytes, main_rss_bytes; /* the latter 0: not known to be its own */
        struct lingering lingering;
        bool stop, told_stranger, told_elsewhere, told_failed, told_left;
        uint64_t begin_ns;
        struct diagnosis diagnosis;
        struct launch *launch; /* the program on its way to its first allocation; NULL */
        int *dismissed; /* connections of those who want us to leave */
        uint32_t dismissed_count;
        struct launch **launches; /* programs that it starts and that cannot be preloaded */
        uint32_t launch_count;
        char **unfit; /* those of them that cannot be recorded at all: which were told of */
        uint32_t unfit_count;
        uint64_t children_announced, children_come; /* forked ones, with --follow=all */
        uint32_t becoming; /* a process that became another program, which has not said hello; 0 */
        uint64_t becoming_ns; /* since when that is known */
};

/* Tell the user. */
void session_say(struct session *s, enum session_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* ---- session_ends.c ---- */

/* A report was written, or a search that the program asked for is over: callbacks of the plan. */
void session_tell_report(void *context, const struct recording *r, const struct snapshots_due *due,
                         const struct reports_result *result);
void session_tell_scan(void *context, const struct recording *r, const struct scanner_words *words);

/* The main process ended, with s->status. */
void session_finish_main(struct session *s);

/* Finish the recordings of processes that are over; of those that run another program now, which
 * did not say hello; of PID, which has just said hello as another program; all. */
void session_find_ended(struct session *s);
void session_find_execs(struct session *s);
void session_finish_earlier(struct session *s, uint32_t pid);
void session_finish_all(struct session *s);

/* Finish those of programs that have left, and whose search is over; ALL: or goes on. */
void session_finish_departed(struct session *s, bool all);

/* ---- session_attach.c ---- */

/* The program stopped with STATUS on its way to its first allocation. */
void session_launched(struct session *s, int status);

/* G is about to become or to start the program G->file.  true: it is traced, and will be
 * recorded. */
bool session_launch_other(struct session *s, const struct greeting *g);

/* A library was loaded in PID whose functions are to be patched, too. */
bool session_library_came(struct session *s, pid_t pid);

/* PID has changed its state to STATUS.  false: that has nothing to do with those. */
bool session_other_changed(struct session *s, pid_t pid, int status);

/* Finish all recordings, and take the agent out of the processes, which go on. */
void session_leave(struct session *s);

/* FD, a connection, wants us to end; and all of them are told that we have. */
void session_dismiss(struct session *s, int fd);
void session_dismissed(struct session *s);

/* ---- session_arrivals.c ---- */

/* What came through the connection FD, for connections.h.  False: not yet. */
bool session_hear(void *context, int fd);

/* A process with a ledger: one that belongs here, or one that has to do without us. */
void session_meet(struct session *s, struct greeting *g, struct err *e);

/* Take who waits to be accepted; ALL: until nobody does. */
void session_take_hellos(struct session *s, bool all);

#endif
