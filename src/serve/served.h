/* SPDX-License-Identifier: MIT */
/*
 * served.h -- what is served: recordings, or a running process, and the data of each view of them.
 *
 * Room:   outside, serve/ only.  Opened by serve.c; answers are made in the process of producer.c.
 * Keeps:  a process is looked at only when somebody asks, and not more often than every
 *         SERVED_EVERY_MS.
 */
#ifndef SEEP_SERVE_SERVED_H
#define SEEP_SERVE_SERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "page/page.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "serve/latest.h"

#define SERVED_EVERY_MS 2000u

struct served {
        const struct serve_request *request;
        struct latest latest; /* of a process, at LOOKED_NS */
        struct page_recording recording;
        uint64_t looked_ns;
        uint32_t failures; /* to look, one after another */
        bool live;         /* more will come */
};

/* false with E filled: the process cannot be looked at. */
bool served_open(struct served *x, const struct serve_request *r, struct err *e);
void served_close(struct served *x);

/* NOW, which is ours from now on, is the newest that is known of the process. */
void served_take(struct served *x, struct profile *now);

/* Every parameter of QUERY to TAKE, with INTO. */
bool served_parameters(struct request_text query,
                       bool (*take)(void *, const char *, const char *, struct err *), void *into,
                       struct err *e);

/* Append the data of the view that QUERY asks for.  false with E filled: exit code 2, the query is
 * wrong. */
bool served_data(struct served *x, struct request_text query, struct str *out, struct err *e);

/* Append the text of a source file, as JSON.  Only files that a function of the recording is in, by
 * the path that stands there. */
bool served_source(struct served *x, struct request_text query, struct str *out, struct err *e);

#endif
