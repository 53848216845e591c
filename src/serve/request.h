/* SPDX-License-Identifier: MIT */
/*
 * request.h -- the head of an HTTP/1.1 request, parsed without trust.
 *
 * Room:   outside, serve/ only.  Pure: no process, no descriptor.
 * Keeps:  all texts point into what was parsed and are not terminated.  What a browser
 *         never sends is refused, not repaired: bare line feeds, folded lines, control
 *         characters, two Hosts, bodies.
 */
#ifndef SEEP_SERVE_REQUEST_H
#define SEEP_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define REQUEST_BYTES_MAX 8192u
#define REQUEST_HEADERS_MAX 100u

struct request_text {
        const char *at; /* NULL: there is none */
        size_t length;
};

/* POST: without a body; with one it is another. */
enum request_method { REQUEST_GET, REQUEST_HEAD, REQUEST_POST, REQUEST_OTHER };

struct request {
        enum request_method method;
        struct request_text path, query; /* as sent: nothing is decoded */
        struct request_text host, if_none_match;
        bool close;   /* no further request will come, or may */
        size_t bytes; /* of the whole head */
};

enum request_state {
        REQUEST_WHOLE,
        REQUEST_PART,  /* so far, so good: more must come */
        REQUEST_WRONG, /* not HTTP as we know it */
        REQUEST_LARGE
};

enum request_state request_parse(struct request *r, const char *data, size_t length);

bool request_is(const struct request_text *text, const char *word);

/* One "NAME=VALUE" of a query after another; *REST begins as the query and is what is left of
 * it.  NAME and VALUE are decoded, and the caller's to free.  false: no further one, or (E
 * filled) it is not well-formed. */
bool request_parameter(struct request_text *rest, struct str *name, struct str *value,
                       struct err *e);

#endif
