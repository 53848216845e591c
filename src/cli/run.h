/* SPDX-License-Identifier: MIT */
/* run.h -- run a program and record it, as `record` and `check` do. */
#ifndef SEEP_CLI_RUN_H
#define SEEP_CLI_RUN_H

#include <stdbool.h>

#include "attach/emulator.h"
#include "cli/record.h"
#include "cli/roster.h"
#include "remote/server.h"
#include "serve/push.h"
#include "session/session.h"

struct run {
        const struct record *wishes;
        char **program_argv;
        struct emulation emulation; /* how it is run if it is of another processor */
        struct push *push;    /* NULL: nothing is sent to a server */
        struct output *output; /* while it runs */
        struct server *server; /* NULL: no other machine looks at it */
        struct roster roster; /* filled while recording; the caller's to free */
        bool visit;           /* session_options.visit: nothing is written */
        bool started;         /* false: the program was never there */
        int killed_by;        /* the signal that ended the program; 0: it exited */
        /* All recordings are finished; the program may go on (END->running), and then is waited
         * for. */
        void (*recorded)(struct run *r, const struct session_end *end);
};

/* The program's own status, 128+N when signal N killed it; when it was not started, after a
 * message, the reason as a status of ours. */
int run_program(struct run *r);

/* Record the process PID, which runs, until it ends or we are told to; program_argv is NULL.  0, or
 * after a message the reason as a status of ours. */
int run_attached(struct run *r, pid_t pid);

/* What whoever started a process of ours to run a program hears of it. */
struct run_news {
        uint32_t pid;
        char path[1024]; /* its recording, which is written; "": it was started */
};

/* From now on send struct run_news to FD, a socket. */
void run_tell(int fd);

/* The words at the end of a recording: for `recorded`. */
void run_conclude(struct run *r, const struct session_end *end);

#endif
