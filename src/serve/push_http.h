/* SPDX-License-Identifier: MIT */
/*
 * push_http.h -- HTTP requests to a server, one at a time, by libcurl.
 *
 * Keeps:  the library is loaded when somebody pushes, and only in the process that does; seep
 *         itself does not need it.  Never blocks but in push_http_wait().
 */
#ifndef SEEP_SERVE_PUSH_HTTP_H
#define SEEP_SERVE_PUSH_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct push_http;

struct push_result {
        long status;          /* of HTTP; 0: there was no answer */
        uint64_t again_s;     /* Retry-After; 0 none */
        char why[256];        /* no answer: the reason.  Else the begin of what the server says, one
                               * line */
};

/* NULL with E filled: there is no libcurl. */
struct push_http *push_http_new(struct err *e);
void push_http_free(struct push_http *h);

/* POST BODY, which must stay until the end.  Only when there is no other. */
void push_http_start(struct push_http *h, const char *url, const char *type,
                     const struct str *body);
bool push_http_is_busy(const struct push_http *h);

/* Go on with the request for at most PATIENCE_MS, or until FD is readable: true. */
bool push_http_wait(struct push_http *h, int fd, uint64_t patience_ms);

/* true: the request is over, and R tells how it went. */
bool push_http_end(struct push_http *h, struct push_result *r);

#endif
