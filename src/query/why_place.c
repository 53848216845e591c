/* SPDX-License-Identifier: MIT */
/* why_place.c -- the site that a function or a source line stands for. */
#include <string.h>

#include "base/quantity.h"
#include "ledger/ledger.h"
#include "query/walk.h"
#include "query/why.h"

/* What was asked for, in its parts. */
struct place {
        const char *word;
        size_t file; /* letters of it that name a file; 0: it is no FILE:LINE */
        uint64_t line;
};

static struct place place_of(const char *word)
{
        const char *colon = strrchr(word, ':');
        struct place place = { word, 0, 0 };

        if (colon && colon > word && colon[-1] != ':' && quantity_number(colon + 1, &place.line))
                place.file = (size_t)(colon - word);
        return place;
}

/* Whether the first END letters of TEXT are the first LENGTH ones of the word, or end with
 * them behind a border: of folders or of scopes. */
static bool ends_with(const char *text, size_t end, const struct place *place, size_t length)
{
        char border = length == place->file ? '/' : ':';

        if (!length || end < length || strncmp(text + end - length, place->word, length) != 0)
                return false;
        return end == length || text[end - length - 1] == border;
}

/* "put" and "Cache::put" are "ns::Cache::put(int)". */
static bool is_function(const char *name, const struct place *place)
{
        return strcmp(name, place->word) == 0 ||
               ends_with(name, strcspn(name, "("), place, strlen(place->word));
}

static bool fits(const struct place *place, const struct symbol_frame *frame)
{
        if (frame->function && is_function(frame->function, place))
                return true;
        return place->file && frame->file && frame->line == place->line &&
               ends_with(frame->file, strlen(frame->file), place, place->file);
}

static bool passes(const struct place *place, const struct profile *p, struct symbols *s,
                   uint32_t node)
{
        struct walk w = walk_own(p, s, node);

        while (walk_next(&w))
                if (fits(place, w.frame))
                        return true;
        return false;
}

bool why_place(struct why *w, const struct profile *p, struct symbols *s, const char *word,
               struct err *e)
{
        struct place place = place_of(word);
        uint32_t best = 0, count = 0;

        for (uint32_t i = 1; i < p->site_count; i++) {
                const struct profile_site *site = &p->sites[i];

                if (!site->live_blocks || !LEDGER_KIND_IS_HEAP(site->kind) || site->node <= 1 ||
                    !passes(&place, p, s, site->node))
                        continue;
                count++;
                if (!best || site->live_bytes > p->sites[best].live_bytes)
                        best = i;
        }
        *w = (struct why){ 0 };
        if (!best)
                return err_set(e, ERR_EXIT_USAGE,
                               "no live block was allocated by '%s': an address (0x55d0c3a0e2a0), "
                               "a site (#12), a function or FILE:LINE is expected", word);
        if (!why_site(w, p, s, best, e))
                return false;
        w->place = word;
        w->place_sites = count;
        return true;
}
