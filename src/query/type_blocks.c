/* SPDX-License-Identifier: MIT */
/*
 * type_blocks.c -- the type of each block of a recording, and of each call stack.
 *
 * Blocks whose type is known by themselves or by their call stack are where the search begins,
 * together with variables: their pointers say what other blocks are, whose pointers say more.
 *
 * Cost:   each call stack once; each pointer in a block of known type is a look into a table.
 */
#include "query/type_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/packed.h"
#include "query/root_name.h"
#include "query/type_line.h"
#include "query/type_stack.h"
#include "types/spelling.h"

/* ---- names ---- */

/* Rust's containers name their allocator, which is mostly the usual one. */
static void drop_allocator(char *text)
{
        static const char usual[] = ", alloc::alloc::Global";

        for (char *at = strstr(text, usual); at; at = strstr(at, usual))
                memmove(at, at + sizeof usual - 1, strlen(at + sizeof usual - 1) + 1);
}

static uint32_t name_number(struct type_blocks *t, char *text)
{
        uint32_t number;

        drop_allocator(text);
        number = TABLE_NUMBER(&t->table, table_hash_text(text), n, strcmp(t->names[n], text) == 0);
        if (number == t->name_count) {
                t->names = heap_next(t->names, t->name_count, sizeof *t->names);
                t->names[t->name_count++] = heap_text(text);
        }
        return number + 1;
}

static uint32_t name_of_type(struct type_blocks *t, struct variable_type type)
{
        uint32_t *known = lookup_pair(&t->by_type, type.n, 0), number;
        struct str name = { 0 };

        if (*known || !type.n)
                return *known;
        number = variable_type_name(t->s, spelling_plain(t->s, type), &name)
                         ? name_number(t, name.data)
                         : 0;
        str_free(&name);
        *lookup_pair(&t->by_type, type.n, 0) = number;
        return number;
}

static struct type_known known_type(struct type_blocks *t, struct variable_type type,
                                    enum types_way way)
{
        uint32_t name = name_of_type(t, type);

        return name ? (struct type_known){ name, way, type } : (struct type_known){ 0 };
}

/* There are few that differ, and many blocks. */
static void set_block(struct type_blocks *t, uint64_t block, struct type_known known)
{
        uint64_t first = (uint64_t)known.name << 8 | known.way;
        uint32_t *number = lookup_pair(&t->numbers, first, known.type.n);

        if (!*number) {
                t->known = heap_next(t->known, t->known_count, sizeof *t->known);
                t->known[t->known_count++] = known;
                *number = t->known_count;
        }
        t->blocks[block] = *number - 1;
}

/* ---- call stacks ---- */

static struct type_known ask_site(struct type_blocks *t, struct type_lines *lines, uint32_t site)
{
        struct type_known known = { 0 };
        struct str name = { 0 };
        enum type_stack by_stack = type_stack_find(t->p, t->s, &lines->wrappers,
                                                   t->p->sites[site].node, &known.type, &name);
        enum type_line by_line;

        if (by_stack) {
                known.name = name_number(t, name.data);
                known.way = by_stack == TYPE_STACK_TEMPLATE ? TYPES_TEMPLATE : TYPES_FUNCTION;
                str_free(&name);
                return known;
        }
        by_line = type_line_find(lines, site, &known.type, &t->places[site]);
        return by_line ? known_type(t, known.type,
                                    by_line == TYPE_LINE_SOURCE ? TYPES_SOURCE : TYPES_VARIABLE)
                       : (struct type_known){ 0 };
}

/* ---- what blocks say of themselves ---- */

static struct type_known ask_object(struct type_blocks *t, uint64_t vtable)
{
        struct type_known known = { .way = TYPES_VTABLE };
        const char *class = vtable ? variable_class(t->s, vtable, &known.type) : NULL;
        struct str name = { 0 };

        if (!class)
                return (struct type_known){ 0 };
        type_stack_name(class, &name);
        known.name = name_number(t, name.data);
        str_free(&name);
        return known;
}

/* ---- what pointers say ---- */

static void enqueue(struct type_blocks *t, uint64_t block)
{
        if (t->queue && type_of_block(t, block)->type.n)
                t->queue[t->queued++] = (uint32_t)block;
}

/* A pointer of type POINTER leads to the start of BLOCK.  One to bytes may be one to anything:
 * others are heard first. */
static void reach(struct type_blocks *t, uint32_t block, struct variable_type target)
{
        uint64_t bytes = target.n && !type_of_block(t, block)->name
                                 ? variable_type_size(t->s, target)
                                 : 0;

        if (!bytes || bytes > dense_size(&t->dense, block))
                return;
        if (bytes == 1) {
                t->weak[block] = (uint32_t)target.n;
                return;
        }
        set_block(t, block, known_type(t, target, TYPES_HOLDER));
        enqueue(t, block);
}

/* What the pointer at AT of TYPE points to. */
static struct variable_type target_at(struct type_blocks *t, struct variable_type type, uint64_t at)
{
        uint32_t known = *lookup_pair(&t->reached, type.n, at);
        struct variable_type member;
        struct str unused = { 0 };
        uint64_t offset = at;

        if (known)
                return (struct variable_type){ known - 1 };
        variable_path(t->s, type, &offset, &member, &unused);
        str_free(&unused);
        member = offset ? (struct variable_type){ 0 } : variable_target(t->s, member);
        *lookup_pair(&t->reached, type.n, at) = (uint32_t)member.n + 1;
        return member;
}

static void follow_roots(struct type_blocks *t)
{
        for (uint64_t i = 0; i < t->p->hold_count; i++) {
                const struct profile_hold *h = &t->p->holds[i];
                struct root_name name;

                if (h->flags || h->to >= t->p->block_count || type_of_block(t, h->to)->name)
                        continue;
                name = root_name_of(t->p, t->s, i);
                if (name.variable.type.n)
                        reach(t, h->to, target_at(t, name.variable.type, name.offset));
        }
}

/* Pointers to starts, by the block that they are in: B has those from first[b] to first[b + 1].
 * One that lies 4 GiB behind the start of its block is left out. */
struct links {
        uint32_t *first, *to, *at;
};

static struct links links_of(const struct profile *p)
{
        struct links l = { heap_zero(p->block_count + 1, sizeof *l.first),
                           heap_zero(p->pointer_count, sizeof *l.to),
                           heap_zero(p->pointer_count, sizeof *l.at) };
        const struct profile_pointer *list;
        struct packed_pointers w;
        uint32_t made = 0;
        uint64_t count;

        packed_pointers_open(&w, p);
        while ((list = packed_pointers_next(&w, &count)))
                for (uint64_t i = 0; i < count; i++) {
                        if (list[i].flags || list[i].at > UINT32_MAX || made == UINT32_MAX)
                                continue;
                        l.to[made] = list[i].to;
                        l.at[made++] = (uint32_t)list[i].at;
                        l.first[list[i].from + 1]++;
                }
        packed_pointers_close(&w);
        for (uint64_t i = 0; i < p->block_count; i++)
                l.first[i + 1] += l.first[i];
        return l;
}

static void follow_block(struct type_blocks *t, uint32_t block, const struct links *l)
{
        struct variable_type type = type_of_block(t, block)->type;
        uint64_t one = variable_type_size(t->s, type);

        for (uint32_t i = l->first[block]; one && i < l->first[block + 1]; i++)
                if (!type_of_block(t, l->to[i])->name)
                        reach(t, l->to[i], target_at(t, type, l->at[i] % one));
}

static void follow(struct type_blocks *t)
{
        struct links l = links_of(t->p);

        dense_open(&t->dense, t->p);
        t->weak = heap_zero(t->p->block_count, sizeof *t->weak);
        follow_roots(t);
        for (uint64_t i = 0; i < t->queued; i++)
                follow_block(t, t->queue[i], &l);
        free(l.first);
        free(l.to);
        free(l.at);
        for (uint64_t i = 0; i < t->p->block_count; i++)
                if (!type_of_block(t, i)->name)
                        set_block(t, i, known_type(t, (struct variable_type){ t->weak[i] },
                                                   TYPES_HOLDER));
        free(t->queue);
        free(t->weak);
        t->queue = t->weak = NULL;
        dense_close(&t->dense);
}

/* ---- what blocks of one call stack say of each other ---- */

enum { NAME_SEVERAL = UINT32_MAX };

/* OF a site: the name that all its blocks have; NAME_SEVERAL: there are different ones. */
static void hear(uint32_t *of, uint32_t name)
{
        *of = !*of || *of == name ? name : NAME_SEVERAL;
}

/* Objects know better than the line that made them: that may name a base class.  What is not
 * known otherwise is what all the others of the call stack are. */
static void agree_sites(struct type_blocks *t)
{
        uint32_t *objects = heap_zero(t->p->site_count, sizeof *objects),
                 *any = heap_zero(t->p->site_count, sizeof *any);
        struct packed_walk w;

        packed_open(&w, t->p);
        while (packed_next(&w)) {
                const struct type_known *known = type_of_block(t, w.index);

                if (w.block->site >= t->p->site_count || !known->name)
                        continue;
                hear(&any[w.block->site], known->name);
                if (known->way == TYPES_VTABLE)
                        hear(&objects[w.block->site], known->name);
        }
        packed_close(&w);
        for (uint32_t i = 1; i < t->p->site_count; i++) {
                struct type_known *site = &t->sites[i];

                if (objects[i] == NAME_SEVERAL)
                        *site = (struct type_known){ 0 };
                else if (objects[i])
                        *site = (struct type_known){ .name = objects[i], .way = TYPES_VTABLE };
                else if (!site->name && any[i] && any[i] != NAME_SEVERAL)
                        *site = (struct type_known){ .name = any[i], .way = TYPES_ALIKE };
        }
        free(objects);
        free(any);
}

static void agree(struct type_blocks *t)
{
        struct packed_walk w;

        agree_sites(t);
        packed_open(&w, t->p);
        while (packed_next(&w)) {
                uint32_t site = w.block->site;

                if (!type_of_block(t, w.index)->name && site < t->p->site_count &&
                    t->sites[site].name)
                        set_block(t, w.index, (struct type_known){ .name = t->sites[site].name,
                                                                   .way = TYPES_ALIKE });
        }
        packed_close(&w);
}

/* ---- all of it ---- */

static void ask_blocks(struct type_blocks *t)
{
        const struct profile *p = t->p;
        bool leads = p->pointer_count || p->hold_count;
        struct packed_walk w;

        t->blocks = heap_zero(p->block_count, sizeof *t->blocks);
        if (leads)
                t->queue = heap_zero(p->block_count, sizeof *t->queue);
        packed_open(&w, p);
        while (packed_next(&w)) {
                set_block(t, w.index, ask_object(t, w.verdict ? w.verdict->vtable : 0));
                if (!type_of_block(t, w.index)->name && w.block->site < p->site_count)
                        set_block(t, w.index, t->sites[w.block->site]);
                enqueue(t, w.index);
        }
        packed_close(&w);
        if (leads)
                follow(t);
        agree(t);
}

void type_blocks_make(struct type_blocks *t, const struct profile *p, struct symbols *s,
                      const uint8_t *wanted)
{
        struct type_lines lines = { .p = p, .s = s, .options = symbols_options(s) };

        *t = (struct type_blocks){ .p = p, .s = s };
        t->sites = heap_zero(p->site_count, sizeof *t->sites);
        t->places = heap_zero(p->site_count, sizeof *t->places);
        for (uint32_t i = 1; i < p->site_count; i++)
                if (wanted[i]) {
                        t->places[i] = block_origin_again(p, s, i, &lines.wrappers);
                        if (profile_is_seen(p, i))
                                t->sites[i] = ask_site(t, &lines, i);
                }
        type_lines_free(&lines);
        ask_blocks(t);
}

void type_blocks_free(struct type_blocks *t)
{
        for (uint32_t i = 0; i < t->name_count; i++)
                free(t->names[i]);
        free(t->names);
        free(t->sites);
        free(t->places);
        free(t->blocks);
        free(t->known);
        lookup_free(&t->numbers);
        table_free(&t->table);
        lookup_free(&t->by_type);
        lookup_free(&t->reached);
}
