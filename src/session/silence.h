/* SPDX-License-Identifier: MIT */
/* silence.h -- why nobody said hello. */
#ifndef SEEP_SESSION_SILENCE_H
#define SEEP_SESSION_SILENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct silence {
        char exe[1024];     /* what runs, at the last look */
        char first[1024];   /* what ran at the first */
        const char *obstacle; /* of exe, see program_obstacle() */
        bool seen, has_preload, has_agent, is_filtered;
        bool files_limited, space_limited, data_limited; /* ulimit -f, -v, -d: too small for a ledger, at the last look */
        bool left; /* the program became another one, of which nothing was heard */
};

/* Look at PID, which runs as UID. */
void silence_look(struct silence *s, pid_t pid, uid_t uid);

/* The part of that which can also be looked at when PID has just ended: it may have limited itself, or a shell before it. */
void silence_limits(struct silence *s, pid_t pid);

/* The reason, as one sentence about PROGRAM, which ended with STATUS of waitpid(). */
void silence_explain(const struct silence *s, const char *program, int status, char *out, size_t room);

/* Why nothing was heard of what the program became. */
const char *silence_left(const struct silence *s);

#endif
