/* SPDX-License-Identifier: MIT */
#include "query/wrapper_learn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/heap.h"
#include "base/lookup.h"
#include "query/fold.h"
#include "query/walk.h"
#include "query/wrapper.h"

/* That many functions ask for that many sizes; ROUNDS: one may pass on to another. */
enum { LEARN_CALLERS = 3, LEARN_SIZES = 3, LEARN_ROUNDS = 4, LEARN_SITES = 512 };

/* A function that may be one. */
struct candidate {
        const char *function;
        const char *callers[LEARN_CALLERS];
        uint64_t sizes[LEARN_SIZES];
        uint32_t caller_count, size_count;
};

struct learner {
        const struct profile *profile;
        struct symbols *symbols;
        struct wrappers usual;
        uint32_t sites[LEARN_SITES], site_count;
        struct lookup numbers; /* by name: 1 + which candidate */
        struct candidate *list;
        uint32_t count;
};

/* What the call stack of SITE stands for. */
static uint64_t weight_of(const struct profile_site *site)
{
        return site->peak_bytes > site->live_bytes ? site->peak_bytes : site->live_bytes;
}

/* The largest call stacks, as a heap whose root is the smallest of them. */
static void sink(struct learner *l, uint32_t at)
{
        const struct profile_site *sites = l->profile->sites;

        for (uint32_t least = at;; at = least) {
                uint32_t site = l->sites[at];

                for (uint32_t k = 2 * at + 1; k <= 2 * at + 2 && k < l->site_count; k++)
                        if (weight_of(&sites[l->sites[k]]) < weight_of(&sites[l->sites[least]]))
                                least = k;
                if (least == at)
                        return;
                l->sites[at] = l->sites[least];
                l->sites[least] = site;
        }
}

static void choose_sites(struct learner *l)
{
        const struct profile *p = l->profile;

        for (uint32_t i = 1; i < p->site_count; i++) {
                if (p->sites[i].node <= 1 || !p->sites[i].allocs)
                        continue;
                if (l->site_count < LEARN_SITES) {
                        l->sites[l->site_count++] = i;
                        for (uint32_t k = l->site_count / 2; l->site_count == LEARN_SITES && k;)
                                sink(l, --k);
                } else if (weight_of(&p->sites[i]) > weight_of(&p->sites[l->sites[0]])) {
                        l->sites[0] = i;
                        sink(l, 0);
                }
        }
}

/* "Pool<int>::allocate(unsigned long) const": whether the last part, before what is in brackets,
 * says that it allocates. */
static bool says_alloc(const char *function)
{
        const char *last = function, *end = function;
        size_t depth = 0;

        for (const char *c = function; *c; c++) {
                depth += *c == '<' || *c == '(';
                if (!depth && *c == ':')
                        last = c + 1;
                if (!depth)
                        end = c + 1;
                depth -= (*c == '>' || *c == ')') && depth;
        }
        for (; last + strlen("alloc") <= end; last++)
                if (strncasecmp(last, "alloc", strlen("alloc")) == 0)
                        return true;
        return false;
}

static struct candidate *candidate_of(struct learner *l, const char *function)
{
        uint32_t *number = lookup_pointer(&l->numbers, function);

        if (!*number) {
                l->list = heap_next(l->list, l->count, sizeof *l->list);
                l->list[l->count] = (struct candidate){ .function = function };
                *number = ++l->count;
        }
        return &l->list[*number - 1];
}

static void add_caller(struct candidate *c, const char *caller)
{
        for (uint32_t i = 0; i < c->caller_count; i++)
                if (c->callers[i] == caller)
                        return;
        if (c->caller_count < LEARN_CALLERS)
                c->callers[c->caller_count++] = caller;
}

static void add_size(struct candidate *c, uint64_t size)
{
        for (uint32_t i = 0; i < c->size_count; i++)
                if (c->sizes[i] == size)
                        return;
        if (c->size_count < LEARN_SIZES)
                c->sizes[c->size_count++] = size;
}

/* Who allocates at SITE behind all wrappers, and who called that. */
static void look_at(struct learner *l, uint32_t site)
{
        const struct profile_site *of = &l->profile->sites[site];
        struct walk w = walk_own(l->profile, l->symbols, of->node);
        struct candidate *found;
        const char *function;

        do {
                if (!walk_next(&w))
                        return;
        } while (wrappers_or_library(&l->usual, w.frame));
        function = symbol_name(w.frame);
        if (!function || !says_alloc(function) ||
            fold_kind_of(l->profile, w.node, w.frame) != FOLD_OWN)
                return;
        found = candidate_of(l, function);
        add_size(found, of->alloc_bytes / of->allocs);
        while (walk_next(&w) && w.frame->function == function)
                continue;
        if (w.frame->function != function)
                add_caller(found, w.frame->function);
}

/* Whether something was learned. */
static bool learn_round(struct learner *l)
{
        bool learned = false;

        l->count = 0;
        for (uint32_t i = 0; i < l->site_count; i++)
                look_at(l, l->sites[i]);
        for (uint32_t i = 0; i < l->count; i++) {
                const struct candidate *c = &l->list[i];

                if (c->caller_count == LEARN_CALLERS && c->size_count == LEARN_SIZES)
                        learned |= symbols_add_wrapper(l->symbols, c->function);
        }
        lookup_free(&l->numbers);
        return learned;
}

void wrapper_learn(const struct profile *p, struct symbols *s)
{
        struct learner l = { .profile = p, .symbols = s };

        choose_sites(&l);
        for (uint32_t i = 0; i < LEARN_ROUNDS && learn_round(&l); i++)
                continue;
        free(l.list);
        wrappers_free(&l.usual);
}

void wrapper_learn_both(const struct profile *a, struct symbols *of_a, const struct profile *b,
                        struct symbols *of_b)
{
        wrapper_learn(a, of_a);
        wrapper_learn(b, of_b);
        symbols_share_wrappers(of_a, of_b);
        symbols_share_wrappers(of_b, of_a);
}
