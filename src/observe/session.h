/* SPDX-License-Identifier: MIT */
/*
 * session.h -- one run of `seep record`: the program, those it starts, and their recordings.
 *
 * Room:   outside.  Called by cli/cmd_record.c, in the order open, (spawn), run, close.
 * Keeps:  does not print; tells what happens through the callbacks.
 */
#ifndef SEEP_OBSERVE_SESSION_H
#define SEEP_OBSERVE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/spawn.h"
#include "base/err.h"
#include "observe/output.h"
#include "profile/model.h"

enum session_follow { SESSION_FOLLOW_NONE, SESSION_FOLLOW_EXEC, SESSION_FOLLOW_ALL };

/* How much the user wants to know: details with -v, notes unless -q, troubles always. */
enum session_level { SESSION_DETAIL, SESSION_NOTE, SESSION_TROUBLE };

struct session_options {
        enum session_follow follow;
        uint32_t flags; /* WIRE_F_* */
        uint32_t depth; /* innermost frames to keep, 0 all */
        uint32_t signal; /* that asks for a snapshot; 0 none */
        uint64_t limit_bytes, snapshot_heap_bytes; /* 0 none */
        const char *program; /* as typed */
        uid_t uid;           /* the program's user */
        struct output *output;
        void *context;
        void (*say)(void *context, enum session_level level, const char *text);
        /* A recording is finished and, unless WRITTEN is false, in the file PATH.  P may be moved out (and cleared).
         * IS_MAIN: of the process that was started; what comes last is what it was at the end. */
        void (*done)(void *context, struct profile *p, const char *path, bool written, bool is_main);
        /* A finished recording has another name now. */
        void (*moved)(void *context, const char *from, const char *to);
};

struct session_end {
        int status;         /* as from waitpid() */
        uint32_t recordings;
        char silence[768];  /* when there is no recording: why */
};

struct session;

struct session *session_open(const struct session_options *o, struct err *e);
void session_close(struct session *s);

/* AGENT, or another name for it that LD_PRELOAD can hold; NULL with E filled when there is none. */
const char *session_agent(struct session *s, const char *agent, struct err *e);

/* The value of SEEP_SESSION for the program, and the signals as they were before. */
const char *session_environment(const struct session *s);
const struct spawn_signals *session_signals(const struct session *s);

/* Observe PID, our child, to its end (and with SESSION_FOLLOW_ALL all others to theirs). */
void session_run(struct session *s, pid_t pid, struct session_end *end);

#endif
