/* SPDX-License-Identifier: MIT */
/* ask.h -- requests to the observer of a process. */
#ifndef SEEP_SESSION_ASK_H
#define SEEP_SESSION_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/model.h"
#include "wire/hello.h"

/* ---- where questions go ---- */

/* Somebody who answers for processes of another machine.  FILE: NULL, or for a descriptor that
 * comes with the answer. */
struct ask_route {
        bool (*ask)(void *context, const struct wire_request *request, struct wire_reply *reply,
                    int *file, struct err *e);
        void *context;
};

/* From now on all questions of this process go through ROUTE, which must stay; NULL: to this
 * machine, as usual. */
void ask_through(const struct ask_route *route);
bool ask_is_routed(void);

/* From now on they go to the session whose socket is PATH; and while it has not answered, TICK is
 * called every ASK_TICK_S. */
#define ASK_TICK_S 4
void ask_session(const char *path, void (*tick)(void *context), void *context);

/* REQUEST as it is.  FILE: -1 before. */
bool ask_forward(const struct wire_request *request, struct wire_reply *reply, int *file,
                 struct err *e);

/* ---- questions ---- */

/* The path of the observer's socket in VALUE, a value of SEEP_SESSION; NULL: it is none of ours. */
const char *ask_session_path(const char *value);

/* The shell knows the number of seep, not that of the program: when *PID is a seep, make it what
 * that records.  false with E filled: there is no one such program. */
bool ask_program(uint32_t *pid, struct err *e);

/* Have a snapshot of PID taken, named LABEL (cut off when too long), and wait until its report is
 * written.  false with E filled: PID is not recorded, or nobody answers.  When OUT has a status
 * other than 0 its text says why. */
bool ask_snapshot(uint32_t pid, const char *label, struct wire_reply *out, struct err *e);

/* The same, but the moment gets a name only: no number, no report. */
bool ask_tag(uint32_t pid, const char *label, struct wire_reply *out, struct err *e);

/* Have PID searched for leaks now (FLAGS: WIRE_SCAN_*) and fill P, the caller's to free,
 * with a recording of this moment.  false with E filled: PID is not recorded, nobody
 * answers, or it cannot be searched. */
bool ask_scan(uint32_t pid, uint32_t flags, struct profile *p, struct err *e);

/* Fill P, the caller's to free, with a recording of PID as it is now, without a search for leaks;
 * FLAGS: WIRE_LOOK_*.  The process does not notice.  false with E filled: as above. */
bool ask_look(uint32_t pid, uint32_t flags, struct profile *p, struct err *e);

/* A recording of this moment, in memory. */
struct ask_image {
        uint32_t pid;
        uint32_t flags; /* as ask_look() or, with SEARCH, ask_scan() has them */
        bool search;
        uint32_t seq; /* of a search: the snapshot that it is kept with; 0 none */
        int fd;               /* -1: none */
        char path[32];        /* to read it from, while FD is open */
        char recording[1024]; /* of a look: the file that the recording will be in; "" none */
};

/* Get the image of I->pid, for whoever reads it in another way than ask_look() and ask_scan()
 * do. */
bool ask_for_image(struct ask_image *i, struct err *e);
void ask_image_close(struct ask_image *i);

/* How the recording of PID stands.  false with E filled: as above. */
bool ask_status(uint32_t pid, struct wire_status *out, struct err *e);

struct ask_change {
        enum wire_control what;
        uint32_t number; /* of WIRE_CONTROL_DEPTH */
};

/* Have the recording of PID changed, and wait until it is; how it stands then. */
bool ask_control(uint32_t pid, struct ask_change change, struct wire_status *out, struct err *e);

/* For a list: the same as ask_status(), at once and without words. */
enum ask_answered { ASK_NOT_RECORDED, ASK_REFUSED, ASK_SILENT, ASK_ANSWERED };
enum ask_answered ask_glance(uint32_t pid, struct wire_status *out);

/* Whether PID has ended. */
bool ask_is_gone(uint32_t pid);

/* Have whoever records PID end the recording, and wait until it is written; the program goes on.
 * false with E filled: as above. */
bool ask_leave(uint32_t pid, struct err *e);

/* The processes that are recorded by whoever records PID, at most MAX of them in OUT.  Returns how
 * many; 0 with E filled: as above. */
uint32_t ask_processes(uint32_t pid, uint32_t *out, uint32_t max, struct err *e);

#endif
