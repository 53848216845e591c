/* SPDX-License-Identifier: MIT */
/* diagnosis.h -- why no agent said hello. */
#ifndef SEEP_SESSION_DIAGNOSIS_H
#define SEEP_SESSION_DIAGNOSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct diagnosis {
        char exe[1024];     /* what runs, at the last look */
        char first[1024];   /* what ran at the first */
        const char *obstacle; /* of exe, see program_obstacle() */
        bool seen, has_preload, has_agent, is_filtered;
        /* Ulimit -f, -v, -d: too small for a ledger, at the last look. */
        bool files_limited, space_limited, data_limited;
        bool starved; /* we had no descriptor left for it */
        bool launched;      /* it was to be recorded by injection, at its first allocation ... */
        char refused[sizeof((struct err *)0)->text]; /* ... which could not be; "" */
        bool left; /* the program became another one, of which nothing was heard */
};

/* Look at PID, which runs as UID. */
void diagnosis_look(struct diagnosis *s, pid_t pid, uid_t uid);

/* The part of that which can also be looked at when PID has just ended: it may have limited
 * itself, or a shell before it. */
void diagnosis_limits(struct diagnosis *s, pid_t pid);

/* The reason, as one sentence about PROGRAM, which ended with STATUS of waitpid(). */
void diagnosis_explain(const struct diagnosis *s, const char *program, int status, char *out,
                       size_t room);

/* Why nothing was heard of what the program became. */
const char *diagnosis_left(const struct diagnosis *s);

#endif
