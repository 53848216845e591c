/* SPDX-License-Identifier: MIT */
/*
 * errand.h -- questions to whoever records a process, asked beside the view so that keys go on working.
 *
 * Room:   outside.  One question at a time.
 */
#ifndef SEEP_TOP_ERRAND_H
#define SEEP_TOP_ERRAND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/model.h"
#include "wire/hello.h"

enum errand_kind { ERRAND_NONE, ERRAND_LOOK, ERRAND_LEAKS, ERRAND_WHY, ERRAND_SNAPSHOT };

struct errand {
        enum errand_kind kind; /* of the question that is under way, or answered */
        uint32_t pid, flags;
        const char *label;     /* of a snapshot */
        bool good;             /* the answer: PROFILE or REPLY, else ERR */
        struct profile profile;
        struct wire_reply reply;
        struct err err;
        uint64_t cost_ns;
        pthread_t thread;
        int done[2]; /* a pipe: readable when there is an answer */
};

bool errand_open(struct errand *e, uint32_t pid, struct err *err);

/* Ask.  Nothing may be under way. */
void errand_start(struct errand *e, enum errand_kind kind, uint32_t flags);

/* When errand_fd() is readable: the answer is there, and is the caller's.  KIND is to be set to ERRAND_NONE when it was taken. */
int errand_fd(const struct errand *e);
void errand_finish(struct errand *e);

/* Ask and wait. */
void errand_now(struct errand *e, enum errand_kind kind, uint32_t flags);

#endif
