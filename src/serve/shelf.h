/* SPDX-License-Identifier: MIT */
/*
 * shelf.h -- the last few answers, for whoever asks the same again.
 *
 * Room:   outside, serve/ only.
 */
#ifndef SEEP_SERVE_SHELF_H
#define SEEP_SERVE_SHELF_H

#include <stdint.h>

#include "serve/reply.h"

enum { SHELF_PLACES = 8 };

struct shelf {
        struct {
                char *order;
                struct reply_body *body;
                uint64_t used_ns;
                uint64_t until_ns; /* then it is out of date */
        } places[SHELF_PLACES];
};

/* NULL: not here, or out of date.  Stays the shelf's. */
struct reply_body *shelf_find(struct shelf *s, const char *order, uint64_t now_ns);

/* BODY is shared.  What was not asked for longest goes. */
void shelf_put(struct shelf *s, const char *order, struct reply_body *body, uint64_t until_ns);

void shelf_free(struct shelf *s);

#endif
