/* SPDX-License-Identifier: MIT */
/*
 * match.c -- which stacks of two recordings are the same.
 *
 * Keeps:  an entry is (caller's entry, frame: file and place in it): walking a stack from its outer
 *         end gives the same entry for the same stack of either recording.
 */
#include "query/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "words/label.h"

/* A frame of either recording.  FILE NULL: PLACE is a name of the pool. */
struct match_place {
        const void *file;
        uint64_t place;
};

enum {
        MATCH_ROOT = 1,
        MATCH_FIRST = 3 /* 1 and 2 stand for the two roots of a tree of stacks */
};

/* ---- files ---- */

static bool same_build(const struct profile_module *a, const struct profile_module *b)
{
        return a->build_id_bytes == b->build_id_bytes &&
               memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

static bool is_program(const struct profile *p, const struct profile_module *module)
{
        return p->meta.exe && module->path && strcmp(p->meta.exe, module->path) == 0;
}

/* The same library or program, whatever its build. */
static bool same_name(const struct profile *p, const struct profile_module *a,
                      const struct profile *q, const struct profile_module *b)
{
        if (!a->path || !b->path)
                return false;
        return strcmp(label_base(a->path), label_base(b->path)) == 0 ||
               (is_program(p, a) && is_program(q, b));
}

/* The module of Q with the name of MODULE of P but another build, when none has the
 * same build; else UINT32_MAX. */
static uint32_t other_build(const struct profile *p, const struct profile_module *module,
                            const struct profile *q)
{
        uint32_t other = UINT32_MAX;

        for (uint32_t i = 0; module->build_id_bytes && i < q->module_count; i++) {
                if (!q->modules[i].build_id_bytes || !same_name(p, module, q, &q->modules[i]))
                        continue;
                if (same_build(module, &q->modules[i]))
                        return UINT32_MAX;
                other = i;
        }
        return other;
}

static const char *file_of(struct match *m, const struct profile_module *module)
{
        struct str name = { 0 };
        const char *file;

        for (uint32_t i = 0; i < module->build_id_bytes; i++)
                str_format(&name, "%02x", module->build_id[i]);
        if (!name.length)
                str_format(&name, "file %s", module->path ? module->path : "");
        file = string_pool_text(&m->texts, str_get(&name));
        str_free(&name);
        return file;
}

static void name_files(struct match *m, enum match_side side)
{
        const struct profile *p = m->side[side].sel->profile, *q = m->side[!side].sel->profile;

        m->side[side].files = heap_zero(p->module_count, sizeof *m->side[side].files);
        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *module = &p->modules[i];
                /* Else code that another run makes elsewhere. */
                bool known = !(module->flags & LEDGER_MODULE_ANONYMOUS);

                if (p == q || (known && other_build(p, module, q) == UINT32_MAX))
                        m->side[side].files[i] = file_of(m, module);
        }
}

bool match_rebuilt(const struct match *m, uint32_t index, uint32_t *old)
{
        const struct profile *p = m->side[MATCH_NEW].sel->profile,
                             *q = m->side[MATCH_OLD].sel->profile;

        *old = p == q ? UINT32_MAX : other_build(p, &p->modules[index], q);
        return *old != UINT32_MAX;
}

/* ---- stacks ---- */

static void add_number(struct match *m, uint32_t number)
{
        m->numbers = heap_next(m->numbers, m->number_count, sizeof *m->numbers);
        m->numbers[m->number_count++] = number;
}

static void add_place(struct match *m, const struct match_place *at)
{
        struct function_key key = { .name = (uintptr_t)at->place, .file = (uintptr_t)at->file };

        add_number(m, function_key_number(&m->frames, &key));
}

/* A frame without a name: all that is known is the file it is in, or else its address. */
static struct match_place nameless(struct match *m, const struct profile *p,
                                   const struct profile_node *node)
{
        const char *path = node->module < p->module_count ? p->modules[node->module].path : NULL;

        if (path)
                return (struct match_place){
                        NULL, (uint64_t)(uintptr_t)string_pool_text(&m->texts, label_base(path)) };
        return (struct match_place){ string_pool_text(&m->texts, "address"), node->pc };
}

/* What is at ORIGIN, a node of the profile of R. */
static void add_places(struct match *m, const struct match_recording *r, uint32_t origin)
{
        const struct profile *p = r->sel->profile;
        const struct profile_node *node = &p->nodes[origin];
        const char *file = node->module < p->module_count ? r->files[node->module] : NULL;
        const struct symbol_frame *frames;
        uint32_t count;

        if (file) {
                add_number(m, 1);
                add_place(m, &(struct match_place){
                                     file, (node->pc - p->modules[node->module].bias) << 1 |
                                                   node->exact });
                return;
        }
        count = symbols_node(r->symbols, origin, &frames);
        add_number(m, count);
        for (uint32_t i = 0; i < count; i++) {
                const char *name = string_pool_text(&m->texts, symbol_name(&frames[i]));
                struct match_place at_name = { NULL, (uint64_t)(uintptr_t)name };

                if (!name)
                        at_name = nameless(m, p, node);
                add_place(m, &at_name);
        }
}

/* The frames at NODE from LEVEL outwards, called by CALLER.  What goes by its place in a file
 * is one. */
static uint32_t match_node(struct match *m, struct match_recording *r, struct wrapper_frame at,
                           uint32_t caller)
{
        uint32_t origin = select_origin(r->sel, at.node),
                 *known = &symbols_place(&r->places, r->sel->profile, origin)->value;
        const uint32_t *numbers;

        if (!*known) {
                *known = m->number_count + 1;
                add_places(m, r, origin);
        }
        numbers = &m->numbers[*known - 1];
        for (uint32_t i = numbers[0]; i > (numbers[0] > 1 ? at.level : 0); i--)
                caller = branches_child(&m->entries, caller, numbers[i]);
        return caller;
}

uint32_t match_stack(struct match *m, enum match_side side, struct wrapper_frame from)
{
        struct match_recording *r = &m->side[side];
        uint32_t outer = from.level ? select_parent(r->sel, from.node) : from.node, count = 0, id,
                 node = outer;

        for (; node > 1 && !r->ids[node]; node = select_parent(r->sel, node)) {
                if (count == m->path_room) {
                        m->path_room = m->path_room ? m->path_room * 2 : 256;
                        m->path = heap_grow(m->path, m->path_room, sizeof *m->path);
                }
                m->path[count++] = node;
        }
        id = node > 1 ? r->ids[node] : MATCH_ROOT + node;
        while (count--)
                id = r->ids[m->path[count]] = match_node(
                        m, r, (struct wrapper_frame){ m->path[count], 0 }, id);
        return from.level ? match_node(m, r, from, id) : id;
}

void match_start(struct match *m, const struct selection *const sel[MATCH_SIDES],
                 struct symbols *const s[MATCH_SIDES])
{
        *m = (struct match){ 0 };
        for (int i = 0; i < MATCH_SIDES; i++) {
                m->side[i] = (struct match_recording){ .sel = sel[i], .symbols = s[i] };
                m->side[i].ids = heap_zero(sel[i]->node_count, sizeof *m->side[i].ids);
        }
        branches_start(&m->entries, MATCH_FIRST, 0);
        for (int i = 0; i < MATCH_SIDES; i++)
                name_files(m, (enum match_side)i);
}

void match_settle(struct match *m)
{
        for (int i = 0; i < MATCH_SIDES; i++) {
                free(m->side[i].ids);
                m->side[i].ids = NULL;
        }
        branches_free(&m->entries);
}

void match_free(struct match *m)
{
        match_settle(m);
        for (int i = 0; i < MATCH_SIDES; i++) {
                free(m->side[i].files);
                lookup_free(&m->side[i].places);
        }
        free(m->numbers);
        free(m->path);
        function_free(&m->frames);
        string_pool_free(&m->texts);
}
