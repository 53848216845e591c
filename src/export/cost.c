/* SPDX-License-Identifier: MIT */
#include "export/cost.h"

#include <string.h>

const struct cost_name cost_names[COST_COUNT] = {
#define COST_ROW(id, word, other, title, pprof, unit, select) \
        { word, other, title, pprof, unit, select },
        COSTS(COST_ROW)
#undef COST_ROW
};

bool cost_named(const char *word, enum cost_kind *cost)
{
        for (int i = 0; i < COST_COUNT; i++)
                if (strcmp(word, cost_names[i].word) == 0 ||
                    strcmp(word, cost_names[i].other) == 0) {
                        *cost = (enum cost_kind)i;
                        return true;
                }
        return false;
}

enum cost_kind cost_selected(const struct selection *sel)
{
        switch (sel->cost) {
        case SELECT_PEAK:
                return COST_PEAK_BYTES;
        case SELECT_TOTAL:
                return COST_ALLOC_BYTES;
        case SELECT_ALLOCS:
                return COST_ALLOC_COUNT;
        case SELECT_TEMPORARY:
                return COST_TEMP_COUNT;
        default:
                return COST_LIVE_BYTES;
        }
}

void cost_start(struct cost_source *c, const struct selection *sel, struct symbols *s)
{
        bool of_run = sel->moment == SELECT_OF_RUN, of_peak = sel->moment == SELECT_OF_PEAK;

        *c = (struct cost_source){ .sel = sel };
        if (of_run)
                leaks_make_sums(&c->leaks, sel, s);
        for (int i = 0; i < COST_COUNT; i++)
                c->known[i] = true;
        c->known[COST_ALLOC_COUNT] = c->known[COST_ALLOC_BYTES] = !of_peak;
        c->known[COST_PEAK_COUNT] = c->known[COST_PEAK_BYTES] = of_run || of_peak;
        c->known[COST_LEAKED_COUNT] = c->known[COST_LEAKED_BYTES] = c->leaks.scan != NULL;
        c->known[COST_TEMP_COUNT] = of_run || sel->moment == SELECT_OF_THREADS;
}

void cost_end(struct cost_source *c)
{
        leaks_free(&c->leaks);
}

struct costs cost_of_row(const struct cost_source *c, const struct select_row *row)
{
        struct leaks_sum leak[PROFILE_LEAK_COUNT];
        struct costs costs = { { [COST_ALLOC_COUNT] = row->allocs,
                                 [COST_ALLOC_BYTES] = row->alloc_bytes,
                                 [COST_LIVE_COUNT] = row->live_blocks,
                                 [COST_LIVE_BYTES] = row->live_bytes,
                                 [COST_PEAK_COUNT] = row->peak_blocks,
                                 [COST_PEAK_BYTES] = row->peak_bytes,
                                 [COST_TEMP_COUNT] = row->temporary } };

        if (leaks_of_site(&c->leaks, row->site, leak)) {
                costs.of[COST_LEAKED_COUNT] = leak[PROFILE_LEAK_DEFINITE].blocks +
                                              leak[PROFILE_LEAK_INDIRECT].blocks;
                costs.of[COST_LEAKED_BYTES] = leak[PROFILE_LEAK_DEFINITE].bytes +
                                              leak[PROFILE_LEAK_INDIRECT].bytes;
        }
        return costs;
}

void cost_add(struct costs *to, const struct costs *more)
{
        for (int i = 0; i < COST_COUNT; i++)
                to->of[i] += more->of[i];
}

bool cost_any(const struct costs *c)
{
        for (int i = 0; i < COST_COUNT; i++)
                if (c->of[i])
                        return true;
        return false;
}
