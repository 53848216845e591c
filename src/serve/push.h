/* SPDX-License-Identifier: MIT */
/*
 * push.h -- profiles of recorded processes, sent to a continuous-profiling server every few
 * seconds.
 *
 * Room:   outside.  Around a run (record --push URL): open before the program is started, program
 *         when it is, recorded for each finished recording, close at the end.  docs/PUSH.md has
 *         what goes over the wire.
 * Keeps:  a process of its own looks and sends; the observer and the program never wait for it,
 *         push_close() at most PUSH_PATIENCE_MS.  It ends when the observer ends.  What a slow or
 *         dead server does not take is kept up to a limit, then dropped, and that is said.
 */
#ifndef SEEP_SERVE_PUSH_H
#define SEEP_SERVE_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "names/symbol.h"
#include "profile/model.h"

#define PUSH_EVERY_MS 10000u    /* when nothing else is said */
#define PUSH_EVERY_MIN_MS 1000u /* the server counts in seconds */
#define PUSH_PATIENCE_MS 4000u

struct push_request {
        const char *url;    /* of the server:
                             * http[s]://[USER:PASSWORD@]HOST[:PORT][/PATH][?name=APP&...] */
        uint64_t every_ms;  /* 0: PUSH_EVERY_MS */
        const char *const *labels; /* "KEY=VALUE", beside program, pid and hostname */
        uint32_t label_count;
        const struct symbol_options *names; /* NULL: the usual, without servers for debug files */
        void (*say)(const char *text);      /* a sentence for the user, in the process that
                                             * sends; NULL: nobody listens */
};

struct push;

/* NULL with E filled: the URL or a label is wrong (exit code 2), or there is no
 * library to send with (3). */
struct push *push_open(const struct push_request *r, struct err *e);

/* The program runs as PID: what is recorded together with it can be looked at.  P
 * may be NULL here and below. */
void push_program(struct push *p, uint32_t pid);

/* A recording is finished, and in the file PATH (NULL: in none): the last interval is sent from
 * it. */
void push_recorded(struct push *p, const struct profile *recording, const char *path);

/* Let what is left be sent, for a short while, and end.  False: the process that sends had to be
 * ended, or did so early, and could not tell what is missing. */
bool push_close(struct push *p);

#endif
