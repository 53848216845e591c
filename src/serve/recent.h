/* SPDX-License-Identifier: MIT */
/*
 * recent.h -- the last few answers, for whoever asks the same again.
 *
 * Room:   outside, serve/ only.
 */
#ifndef SEEP_SERVE_RECENT_H
#define SEEP_SERVE_RECENT_H

#include <stdint.h>

#include "serve/reply.h"

enum { RECENT_PLACES = 8 };

struct recent {
        struct {
                char *order;
                struct reply_body *body;
                uint64_t used_ns;
                uint64_t until_ns; /* then it is out of date */
        } places[RECENT_PLACES];
};

/* NULL: not here, or out of date.  Stays ours. */
struct reply_body *recent_find(struct recent *s, const char *order, uint64_t now_ns);

/* BODY is shared.  What was not asked for longest goes. */
void recent_put(struct recent *s, const char *order, struct reply_body *body, uint64_t until_ns);

void recent_free(struct recent *s);

#endif
