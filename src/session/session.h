/* SPDX-License-Identifier: MIT */
/*
 * session.h -- one run of `seep record`: the program, those it starts, and their recordings.
 *
 * Room:   outside.  Called by cli/cmd_record.c, in the order open, (spawn), run, (wait), close, and
 *         by cli/cmd_attend.c, which observes a process that it did not start.
 * Keeps:  does not print; tells what happens through the callbacks.
 */
#ifndef SEEP_SESSION_SESSION_H
#define SEEP_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/spawn.h"
#include "base/err.h"
#include "profile/model.h"
#include "session/options.h"

struct session_end {
        int status;         /* as from waitpid() */
        bool running;       /* the program goes on without us (--duration): see session_wait() */
        uint32_t recordings;
        char diagnosis[768];  /* when there is no recording: why */
};

struct session;

struct session *session_open(const struct session_options *o, struct err *e);
void session_close(struct session *s);

/* AGENT, or another name for it that LD_PRELOAD can hold; NULL with E filled when there is none. */
const char *session_agent(struct session *s, const char *agent, struct err *e);

/* With a carrier that has breakpoints: PID is to be traced from now on (spawn.h). */
bool session_trace(void *session, pid_t pid, struct err *e);

/* Before a program that started us goes on: PID may have been another program until now, whose
 * observer writes its last report first. */
void session_take_over(struct session *s, pid_t pid);

/* The value of SEEP_SESSION for the program, and the signals as they were before. */
const char *session_environment(const struct session *s);
const char *session_socket(const struct session *s); /* where it can be asked (ask.h) */
const struct spawn_signals *session_signals(const struct session *s);

/* With carrier->leaves: begin to record the process PID, which runs.  false: E, and it is as
 * before. */
bool session_attach(struct session *s, pid_t pid, struct err *e);

/* For spawn_request.born: PID is to get the agent at its first allocation.
 * SESSION: a struct session. */
bool session_launch(void *session, pid_t pid, struct err *e);

/* Observe PID to its end (and with SESSION_FOLLOW_ALL all others to theirs).  Not our child
 * (carrier.h): it may be 0, for the first that says hello. */
void session_run(struct session *s, pid_t pid, struct session_end *end);

/* Observe nobody any more, but stay with the program, pass signals on to it, and learn its
 * status. */
void session_wait(struct session *s, struct session_end *end);

#endif
