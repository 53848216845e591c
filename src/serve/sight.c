/* SPDX-License-Identifier: MIT */
#include "serve/sight.h"

#include <stdlib.h>
#include <string.h>

static void forget_profile(struct sight *s)
{
        if (s->profile)
                profile_free(s->profile);
        free(s->profile);
        s->profile = NULL;
}

void sight_take(struct sight *s, struct profile *p, const struct symbol_options *names)
{
        static const struct symbol_options usual = { .no_debuginfod = true, .raw = true };

        if (!s->symbols || !symbols_follow(s->symbols, p)) {
                symbols_free(s->symbols);
                s->symbols = symbols_new(p, names ? names : &usual);
        }
        forget_profile(s);
        s->profile = p;
}

struct sight *sight_take_among(struct sight *all, uint32_t count, struct profile *p, const struct symbol_options *names)
{
        struct sight chosen;
        uint32_t i = 0;

        while (i < count - 1 && !(all[i].symbols && symbols_follow(all[i].symbols, p)))
                i++;
        chosen = all[i];
        memmove(all + 1, all, i * sizeof *all);
        all[0] = chosen;
        sight_take(all, p, names);
        return all;
}

void sight_free(struct sight *s)
{
        symbols_free(s->symbols);
        s->symbols = NULL;
        forget_profile(s);
}
