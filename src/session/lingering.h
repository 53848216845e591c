/* SPDX-License-Identifier: MIT */
/*
 * lingering.h -- processes that still run when the program has ended: whether to wait for them, and
 * what to say.
 */
#ifndef SEEP_SESSION_LINGERING_H
#define SEEP_SESSION_LINGERING_H

#include <stdbool.h>
#include <stdint.h>

#include "session/recording.h"

#define LINGERING_ALL UINT64_MAX

struct lingering {
        uint64_t wait_ms; /* after the program's end; LINGERING_ALL: as long as anybody is left */
        uint64_t end_ns, children_end_ns; /* 0 not settled yet */
        bool told;
};

/* Who may be left. */
struct lingering_among {
        struct recording *const *recordings;
        uint32_t count;
        const char *session;   /* as in the environment of those who belong to it */
        uint64_t announced, come; /* forked children that were to say hello, and that did */
};

bool lingering_lasts(struct lingering *l, const struct lingering_among *a);

/* A child that was announced may be there and has not said hello. */
bool lingering_children(struct lingering *l, const struct lingering_among *a);

/* Who is waited for, the first time that somebody asks: "a.out (pid 12), sh (pid 13) and 2 others".
 * The caller's to free(); NULL: known. */
char *lingering_news(struct lingering *l, const struct lingering_among *a);

#endif
