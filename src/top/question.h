/* SPDX-License-Identifier: MIT */
/*
 * question.h -- requests to the observer of a process, made beside the view so that keys still
 * work.
 *
 * Room:   outside.  One question at a time.
 */
#ifndef SEEP_TOP_QUESTION_H
#define SEEP_TOP_QUESTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/model.h"
#include "wire/hello.h"

enum question_kind { QUESTION_NONE, QUESTION_LOOK, QUESTION_LEAKS, QUESTION_WHY,
                     QUESTION_SNAPSHOT };

enum question_fate { QUESTION_ASKED, QUESTION_ABANDONED, QUESTION_ANSWERED };

struct question {
        enum question_kind kind; /* of the question that is under way, or answered */
        uint32_t pid, flags;
        const char *label;     /* of a snapshot */
        bool good;             /* the answer: PROFILE or REPLY, else ERR */
        struct profile profile;
        struct wire_reply reply;
        struct err err;
        uint64_t cost_ns;
        pthread_t thread;
        int done[2]; /* a pipe: readable when there is an answer */
        _Atomic int fate; /* enum question_fate: who of both sides frees it */
};

bool question_open(struct question *e, uint32_t pid, struct err *err);

/* Ask.  Nothing may be under way. */
void question_start(struct question *e, enum question_kind kind, uint32_t flags);

/* When question_fd() is readable: the answer is there, and is the caller's.  KIND is to be set to
 * QUESTION_NONE when it was taken. */
int question_fd(const struct question *e);
void question_finish(struct question *e);

/* Nobody wants the answer any more: E, which is on the heap, is freed now or when it has come. */
void question_abandon(struct question *e);

/* Ask and wait. */
void question_now(struct question *e, enum question_kind kind, uint32_t flags);

#endif
