/* SPDX-License-Identifier: MIT */
#include "serve/latest.h"

#include <stdlib.h>
#include <string.h>

static void forget_profile(struct latest *s)
{
        if (s->profile)
                profile_free(s->profile);
        free(s->profile);
        s->profile = NULL;
}

void latest_take(struct latest *s, struct profile *p, const struct symbol_options *names)
{
        static const struct symbol_options usual = { .no_debuginfod = true, .raw = true };

        if (!s->symbols || !symbols_follow(s->symbols, p)) {
                symbols_free(s->symbols);
                s->symbols = symbols_new(p, names ? names : &usual);
        }
        forget_profile(s);
        s->profile = p;
}

struct latest *latest_take_among(struct latest *all, uint32_t count, struct profile *p,
                                 const struct symbol_options *names)
{
        struct latest chosen;
        uint32_t i = 0;

        while (i < count - 1 && !(all[i].symbols && symbols_follow(all[i].symbols, p)))
                i++;
        chosen = all[i];
        memmove(all + 1, all, i * sizeof *all);
        all[0] = chosen;
        latest_take(all, p, names);
        return all;
}

void latest_free(struct latest *s)
{
        symbols_free(s->symbols);
        s->symbols = NULL;
        forget_profile(s);
}
