/* SPDX-License-Identifier: MIT */
/*
 * filter.c -- which stacks a report shows: regular expressions over function and module names.
 *
 * Cost:   an expression is tried once per distinct name, a stack is walked only to the
 *         first node already decided.
 */
#include "query/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "base/lookup.h"
#include "words/label.h"

enum filter_verdict { FILTER_UNSEEN, FILTER_NOTHING, FILTER_IN, FILTER_OUT };

struct filter_memo {
        uint8_t *frames;  /* verdict of the frames from this node outwards, per node */
        uint8_t *modules; /* verdict of the modules from this node outwards, per node */
        struct lookup names;
};

bool filter_add(struct filter *f, enum filter_kind kind, const char *expression, struct err *e)
{
        return expressions_add(&f->of[kind], expression, e);
}

void filter_free(struct filter *f)
{
        for (int kind = 0; kind < FILTER_KINDS; kind++)
                expressions_free(&f->of[kind]);
        if (f->memo) {
                free(f->memo->frames);
                free(f->memo->modules);
                lookup_free(&f->memo->names);
                free(f->memo);
        }
        *f = (struct filter){ 0 };
}

void filter_forget(struct filter *f)
{
        if (!f->memo)
                return;
        free(f->memo->frames);
        free(f->memo->modules);
        f->memo->frames = f->memo->modules = NULL;
}

bool filter_matches(const struct expressions *x, const char *name)
{
        size_t length = label_length(name);
        struct str bare = { 0 };
        bool found = expressions_match(x, name);

        if (!found && x->count && name[length]) {
                str_bytes(&bare, name, length);
                found = expressions_match(x, str_get(&bare));
                str_free(&bare);
        }
        return found;
}

static enum filter_verdict filter_judge(const struct filter *f, const char *name)
{
        if (filter_matches(&f->of[FILTER_EXCLUDE], name))
                return FILTER_OUT;
        return filter_matches(&f->of[FILTER_INCLUDE], name) ? FILTER_IN : FILTER_NOTHING;
}

static uint8_t *filter_judge_modules(const struct filter *f, const struct profile *p)
{
        uint8_t *verdicts = heap_zero(p->module_count, 1);

        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *path = p->modules[i].path;

                verdicts[i] = FILTER_NOTHING;
                if (path && expressions_match(&f->of[FILTER_NOT_MODULE], path))
                        verdicts[i] = FILTER_OUT;
                else if (path && expressions_match(&f->of[FILTER_MODULE], path))
                        verdicts[i] = FILTER_IN;
        }
        return verdicts;
}

/* A parent's number is smaller than its child's, so one pass decides all stacks. */
static void filter_judge_nodes(struct filter *f, const struct profile *p, struct symbols *s)
{
        uint8_t *verdicts = filter_judge_modules(f, p), *of = f->memo->modules;

        for (uint32_t i = 0; i < p->node_count; i++) {
                const struct profile_node *n = &p->nodes[i];
                uint32_t above = i > 1 ? n->parent : 0;

                of[i] = i > 1 ? of[above] : FILTER_NOTHING;
                if (i <= 1)
                        continue;
                if (!symbols_is_start(s, i) && n->module < p->module_count &&
                    verdicts[n->module] != FILTER_NOTHING)
                        of[i] = verdicts[n->module];
        }
        free(verdicts);
}

static struct filter_memo *filter_remember(struct filter *f, const struct profile *p,
                                           struct symbols *s)
{
        struct filter_memo *m = f->memo;

        if (m && m->frames)
                return m;
        if (!m)
                m = f->memo = heap_zero(1, sizeof *m);
        m->frames = heap_zero(p->node_count, 1);
        m->modules = heap_zero(p->node_count, 1);
        if (filter_has(f, FILTER_MODULE) || filter_has(f, FILTER_NOT_MODULE))
                filter_judge_nodes(f, p, s);
        return m;
}

static enum filter_verdict filter_known_name(struct filter *f, const char *name)
{
        uint32_t *known = lookup_pointer(&f->memo->names, name);

        if (!*known)
                *known = filter_judge(f, name);
        return (enum filter_verdict)*known;
}

static enum filter_verdict filter_node(struct filter *f, const struct profile *p, struct symbols *s,
                                       uint32_t node)
{
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(s, node, &frames);
        enum filter_verdict verdict = FILTER_NOTHING;

        for (uint32_t i = 0; i < count && verdict == FILTER_NOTHING; i++) {
                struct str label = { 0 };

                if (frames[i].function) {
                        verdict = filter_known_name(f, frames[i].function);
                        continue;
                }
                label_function(p, node, &frames[i], &label);
                verdict = filter_judge(f, str_get(&label));
                str_free(&label);
        }
        return verdict;
}

/* Walk outwards until a node is decided, then write the verdict to all on the way. */
static enum filter_verdict filter_frames(struct filter *f, const struct profile *p,
                                         struct symbols *s, uint32_t node)
{
        uint8_t *known = f->memo->frames;
        enum filter_verdict verdict = FILTER_NOTHING;
        uint32_t at;

        for (at = node; at > 1; at = p->nodes[at].parent) {
                verdict = known[at] ? known[at] : filter_node(f, p, s, at);
                if (known[at] || verdict != FILTER_NOTHING)
                        break;
        }
        for (uint32_t i = node; i > 1; i = p->nodes[i].parent) {
                known[i] = (uint8_t)verdict;
                if (i == at)
                        break;
        }
        return verdict;
}

static bool filter_passes(enum filter_verdict verdict, bool includes)
{
        return verdict == FILTER_IN || (verdict != FILTER_OUT && !includes);
}

bool filter_stack(struct filter *f, const struct profile *p, struct symbols *s, uint32_t node)
{
        bool by_module = filter_has(f, FILTER_MODULE) || filter_has(f, FILTER_NOT_MODULE);
        bool by_name = filter_has(f, FILTER_INCLUDE) || filter_has(f, FILTER_EXCLUDE);

        if (!by_module && !by_name)
                return true;
        filter_remember(f, p, s);
        if (by_module && !filter_passes(f->memo->modules[node], filter_has(f, FILTER_MODULE)))
                return false;
        return !by_name ||
               filter_passes(filter_frames(f, p, s, node), filter_has(f, FILTER_INCLUDE));
}

bool filter_thread(const struct filter *f, const struct profile_thread *thread)
{
        char number[16];

        if (!filter_has(f, FILTER_THREAD))
                return true;
        snprintf(number, sizeof number, "%" PRIu32, thread->tid);
        return expressions_match(&f->of[FILTER_THREAD], thread->name ? thread->name : "") ||
               expressions_match(&f->of[FILTER_THREAD], number);
}
