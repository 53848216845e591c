/* SPDX-License-Identifier: MIT */
/*
 * outbox.h -- a queue of profiles to be sent, oldest first; what to do when the server does not
 * accept them.
 *
 * Keeps:  at most OUTBOX_MAX of them and OUTBOX_BYTES_MAX bytes: then the oldest is dropped.  The
 *         user hears of each kind of trouble once until something was delivered again.
 */
#ifndef SEEP_SERVE_OUTBOX_H
#define SEEP_SERVE_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "serve/push_address.h"
#include "serve/push_http.h"

enum { OUTBOX_MAX = 32 };
#define OUTBOX_BYTES_MAX (64u << 20)

struct outbox_letter {
        struct str url, type, body;
};

struct outbox {
        const struct push_address *to;
        struct push_http *http;
        void (*say)(const char *text);
        struct outbox_letter letters[OUTBOX_MAX]; /* the first one is on its way when http is
                                                   * busy */
        uint32_t count, failures; /* FAILURES: tries one after another that came to nothing */
        uint64_t dropped, due_ns;                 /* not before */
        long told;                                /* status of the trouble that was told; -1 none */
        bool told_drop, finishing, given_up;
};

void outbox_init(struct outbox *o, const struct push_address *t, struct push_http *h,
                 void (*say)(const char *));

/* A profile (pprof) of S, to be sent as soon as it goes. */
void outbox_put(struct outbox *o, const struct push_subject *s, const struct str *pprof);

bool outbox_is_empty(const struct outbox *o);

/* One more would push out none that waits for its turn only: either there is room, or
 * the server is in trouble. */
bool outbox_is_open(const struct outbox *o);

/* When outbox_step() has something to do; UINT64_MAX: not before an answer comes, or a profile. */
uint64_t outbox_due_ns(const struct outbox *o);

/* Take the answer that came, send the next. */
void outbox_step(struct outbox *o);

/* There is little time: tries follow each other quickly, and who does not answer is not asked
 * again. */
void outbox_finish(struct outbox *o);

/* Tell what was not delivered, and drop it.  UNSEEN: how many more there were that never came
 * here. */
void outbox_close(struct outbox *o, uint32_t unseen);

/* ---- a profile as the form that Pyroscope's /ingest takes: multipart/form-data (RFC 7578) ---- */

/* Append the form with PROFILE (pprof, packed) to BODY, and the value of its Content-Type to
 * TYPE. */
void push_form(const struct str *profile, struct str *body, struct str *type);

#endif
