/* SPDX-License-Identifier: MIT */
/*
 * filter.c -- which stacks a report shows: regular expressions over function and module names.
 *
 * Room:   outside.
 * Cost:   an expression is tried once per distinct name, a stack is walked only to the first node already decided.
 */
#include "report/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "report/label.h"

enum filter_verdict { FILTER_UNSEEN, FILTER_NOTHING, FILTER_IN, FILTER_OUT };

struct filter_name {
        const char *name; /* by pointer: the resolver has each name once */
        enum filter_verdict verdict;
};

struct filter_memo {
        uint8_t *frames;  /* verdict of the frames from this node outwards, per node */
        uint8_t *modules; /* whether a frame from this node outwards is in a wanted module */
        uint8_t *wanted;  /* per module */
        struct filter_name *names;
        size_t room, count;
};

bool filter_add(struct filter *f, enum filter_kind kind, const char *expression, struct err *e)
{
        regex_t compiled;
        char why[256];
        int status = regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB);

        if (status != 0) {
                regerror(status, &compiled, why, sizeof why);
                return err_set(e, ERR_EXIT_USAGE, "'%s' is not a regular expression: %s", expression, why);
        }
        f->all[kind] = heap_grow(f->all[kind], f->count[kind] + 1, sizeof *f->all[kind]);
        f->all[kind][f->count[kind]++] = compiled;
        return true;
}

void filter_free(struct filter *f)
{
        for (int kind = 0; kind < FILTER_KINDS; kind++) {
                for (uint32_t i = 0; i < f->count[kind]; i++)
                        regfree(&f->all[kind][i]);
                free(f->all[kind]);
        }
        if (f->memo) {
                free(f->memo->frames);
                free(f->memo->modules);
                free(f->memo->wanted);
                free(f->memo->names);
                free(f->memo);
        }
        *f = (struct filter){ 0 };
}

static bool filter_matches(const struct filter *f, enum filter_kind kind, const char *text)
{
        for (uint32_t i = 0; i < f->count[kind]; i++)
                if (regexec(&f->all[kind][i], text, 0, NULL, 0) == 0)
                        return true;
        return false;
}

static enum filter_verdict filter_judge(const struct filter *f, const char *name)
{
        if (filter_matches(f, FILTER_EXCLUDE, name))
                return FILTER_OUT;
        return filter_matches(f, FILTER_INCLUDE, name) ? FILTER_IN : FILTER_NOTHING;
}

static struct filter_memo *filter_remember(struct filter *f, const struct profile *p)
{
        struct filter_memo *m = f->memo;

        if (m)
                return m;
        m = f->memo = heap_zero(1, sizeof *m);
        m->frames = heap_zero(p->node_count, 1);
        m->modules = heap_zero(p->node_count, 1);
        m->wanted = heap_zero(p->module_count, 1);
        for (uint32_t i = 0; i < p->module_count; i++)
                m->wanted[i] = p->modules[i].path && filter_matches(f, FILTER_MODULE, p->modules[i].path);
        m->room = 1024;
        m->names = heap_zero(m->room, sizeof *m->names);
        return m;
}

static struct filter_name *filter_slot(struct filter_memo *m, const char *name)
{
        size_t i = ((uintptr_t)name * 0x9e3779b97f4a7c15ull >> 24) & (m->room - 1);

        while (m->names[i].name && m->names[i].name != name)
                i = (i + 1) & (m->room - 1);
        return &m->names[i];
}

static void filter_widen(struct filter_memo *m)
{
        struct filter_name *old = m->names;
        size_t old_room = m->room;

        m->room *= 2;
        m->names = heap_zero(m->room, sizeof *m->names);
        for (size_t i = 0; i < old_room; i++)
                if (old[i].name)
                        *filter_slot(m, old[i].name) = old[i];
        free(old);
}

static enum filter_verdict filter_known_name(struct filter *f, const char *name)
{
        struct filter_name *slot;

        if (f->memo->count * 2 >= f->memo->room)
                filter_widen(f->memo);
        slot = filter_slot(f->memo, name);
        if (!slot->name) {
                *slot = (struct filter_name){ name, filter_judge(f, name) };
                f->memo->count++;
        }
        return slot->verdict;
}

static enum filter_verdict filter_node(struct filter *f, const struct profile *p, struct symbols *s, uint32_t node)
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
static enum filter_verdict filter_frames(struct filter *f, const struct profile *p, struct symbols *s, uint32_t node)
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

static bool filter_modules(struct filter *f, const struct profile *p, uint32_t node)
{
        uint8_t *known = f->memo->modules;
        enum filter_verdict verdict = FILTER_OUT;
        uint32_t at;

        for (at = node; at > 1; at = p->nodes[at].parent) {
                uint16_t module = p->nodes[at].module;

                if (known[at])
                        verdict = known[at];
                else if (module < p->module_count && f->memo->wanted[module])
                        verdict = FILTER_IN;
                if (known[at] || verdict == FILTER_IN)
                        break;
        }
        for (uint32_t i = node; i > 1; i = p->nodes[i].parent) {
                known[i] = (uint8_t)verdict;
                if (i == at)
                        break;
        }
        return verdict == FILTER_IN;
}

bool filter_stack(struct filter *f, const struct profile *p, struct symbols *s, uint32_t node)
{
        enum filter_verdict verdict;

        if (!f->count[FILTER_INCLUDE] && !f->count[FILTER_EXCLUDE] && !f->count[FILTER_MODULE])
                return true;
        filter_remember(f, p);
        if (f->count[FILTER_MODULE] && !filter_modules(f, p, node))
                return false;
        if (!f->count[FILTER_INCLUDE] && !f->count[FILTER_EXCLUDE])
                return true;
        verdict = filter_frames(f, p, s, node);
        if (verdict == FILTER_NOTHING)
                return f->count[FILTER_INCLUDE] == 0;
        return verdict == FILTER_IN;
}

bool filter_thread(const struct filter *f, const struct profile_thread *thread)
{
        char number[16];

        if (!f->count[FILTER_THREAD])
                return true;
        snprintf(number, sizeof number, "%" PRIu32, thread->tid);
        return filter_matches(f, FILTER_THREAD, thread->name ? thread->name : "") ||
               filter_matches(f, FILTER_THREAD, number);
}
