/* SPDX-License-Identifier: MIT */
/* player.h -- the view of a recording, moment by moment. */
#ifndef SEEP_TOP_PLAYER_H
#define SEEP_TOP_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"
#include "profile/model.h"
#include "top/picture.h"

struct player {
        const struct profile *p;
        struct symbols *symbols;
        struct history history;
        uint32_t *numbers;
        struct filter *threads; /* as in live.h; slices do not tell threads apart, so it is of the
                                 * end */
        uint32_t at;            /* slice; slice_count: the end */
        struct history_moment now, then, last;
};

/* At the end.  P must outlive R. */
void player_open(struct player *r, const struct profile *p, const struct symbol_options *names);
void player_free(struct player *r);

/* Go to slice AT; what is beyond the last one is the end. */
void player_go(struct player *r, uint32_t at);

/* The time of a slice, or of the end. */
uint64_t player_ms(const struct player *r, uint32_t at);

/* The last one that is not later than MS. */
uint32_t player_find(const struct player *r, uint64_t ms);

/* The slice of the mark before (BACK) or behind the present moment, and that mark; NULL: there is
 * none. */
const struct profile_mark *player_mark(const struct player *r, bool back);

struct picture player_picture(struct player *r);

#endif
