/* SPDX-License-Identifier: MIT */
/*
 * reply.h -- a reply to an HTTP client: a head, and a body that several replies may share.
 */
#ifndef SEEP_SERVE_REPLY_H
#define SEEP_SERVE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* name, number, its words */
#define REPLY_STATUSES(X)                                                                       \
        X(OK, 200, "OK")                                                                        \
        X(SAME, 304, "Not Modified")                                                            \
        X(WRONG, 400, "Bad Request")                                                            \
        X(FORBIDDEN, 403, "Forbidden")                                                          \
        X(UNKNOWN, 404, "Not Found")                                                            \
        X(METHOD, 405, "Method Not Allowed")                                                    \
        X(LATE, 408, "Request Timeout")                                                         \
        X(LARGE, 431, "Request Header Fields Too Large")                                        \
        X(FAILED, 500, "Internal Server Error")

enum reply_status {
#define REPLY_ENUM(name, number, words) REPLY_##name = number,
        REPLY_STATUSES(REPLY_ENUM)
#undef REPLY_ENUM
};

enum reply_type { REPLY_HTML, REPLY_DATA, REPLY_JSON };

/* Counted; the last who leaves it frees it. */
struct reply_body {
        struct str text;
        enum reply_type type;
        enum reply_status status;
        uint64_t tag; /* by content: the same for the same bytes */
        uint32_t users;
};

/* Made from TEXT, which is moved; of one user. */
struct reply_body *reply_body(enum reply_status status, enum reply_type type, struct str *text);

/* {"error": TEXT} */
struct reply_body *reply_error(enum reply_status status, const char *text);

struct reply_body *reply_share(struct reply_body *b);
void reply_leave(struct reply_body *b); /* NULL: nothing */

/* "\"0123456789abcdef\"" */
void reply_tag(const struct reply_body *b, char out[20]);

/* Append the head for B, or (SAME) for the answer that the client has it already. */
void reply_head(const struct reply_body *b, bool same, bool close, struct str *out);

#endif
