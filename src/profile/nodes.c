/* SPDX-License-Identifier: MIT */
/*
 * nodes.c -- the stack tree on disk: distinct frames once, then two small numbers per node.
 *
 * Keeps:  frames are numbered in the order in which they are written, over all
 *         NODES sections of a file.
 * Cost:   cc1plus on a small file: 624,000 nodes in 478 kB, less than a byte each.
 *
 * Most nodes repeat a (module, address) that other stacks have too: those 624,000
 * have 11,900 distinct frames.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/parts.h"

void nodes_state_free(struct nodes_state *s)
{
        free(s->frames);
        table_free(&s->numbers);
        free(s->frame_of);
        memset(s, 0, sizeof *s);
}

static void add_frame(struct nodes_state *s, struct nodes_frame frame)
{
        s->frames = heap_next(s->frames, s->frame_count, sizeof *s->frames);
        s->frames[s->frame_count++] = frame;
}

static int compare_frames(const void *a, const void *b)
{
        const struct nodes_frame *x = *(struct nodes_frame *const *)a,
                                 *y = *(struct nodes_frame *const *)b;

        return ORDER(x->pc, y->pc) ?: ORDER(x->module, y->module) ?: ORDER(x->exact, y->exact);
}

/* Number and write the frames from OLD on, lowest address first: small differences. */
static void put_frames(struct nodes_state *s, uint32_t old, struct str *body)
{
        uint32_t count = s->frame_count - old;
        struct nodes_frame **order = heap_zero(count, sizeof(struct nodes_frame *));
        uint64_t before = 0;

        for (uint32_t i = 0; i < count; i++)
                order[i] = &s->frames[old + i];
        qsort(order, count, sizeof *order, compare_frames);
        str_varint(body, count);
        for (uint32_t i = 0; i < count; i++) {
                order[i]->id = old + i;
                str_varint(body, order[i]->pc - before);
                before = order[i]->pc;
        }
        for (uint32_t i = 0; i < count; i++)
                str_varint(body, (order[i]->module + 1u) & 0xffff);
        for (uint32_t i = 0; i < count; i++)
                str_varint(body, order[i]->exact);
        free(order);
}

static uint32_t learn_frame(struct nodes_state *s, const struct profile_node *n)
{
        uint32_t number = TABLE_NUMBER(&s->numbers,
                                       table_hash(n->pc, (uint64_t)n->module << 1 | n->exact), i,
                                       s->frames[i].pc == n->pc &&
                                               s->frames[i].module == n->module &&
                                               s->frames[i].exact == n->exact);

        if (number == s->frame_count)
                add_frame(s,
                          (struct nodes_frame){ .pc = n->pc, .module = n->module,
                                                .exact = n->exact });
        return number;
}

/* What the reader would refuse is not written. */
static bool check_node(const struct profile *p, uint64_t i, struct err *e)
{
        const struct profile_node *n = &p->nodes[i];

        if (n->parent >= i && i)
                return err_set(e, ERR_EXIT_FINDINGS,
                               "the recording contradicts itself: nodes[%llu] has the parent %u",
                               (unsigned long long)i, n->parent);
        if (n->module != PROFILE_NO_MODULE && n->module >= p->module_count)
                return err_set(e, ERR_EXIT_FINDINGS,
                               "the recording contradicts itself: nodes[%llu] is in module %u of "
                               "%u", (unsigned long long)i, n->module, p->module_count);
        return true;
}

bool nodes_put(struct nodes_state *s, const struct profile *p, uint64_t first, uint64_t count,
               struct str *body, struct err *e)
{
        uint32_t old = s->frame_count;
        char *to;

        if (!s->frame_of)
                s->frame_of = heap_grow(NULL, FORMAT_PIECE, sizeof *s->frame_of);
        for (uint64_t i = first; i < first + count; i++) {
                if (!check_node(p, i, e))
                        return false;
                s->frame_of[i - first] = learn_frame(s, &p->nodes[i]);
        }
        put_frames(s, old, body);
        to = str_room(body, 2 * count * STR_VARINT_MAX);
        for (uint64_t i = 0; i < count; i++)
                to = str_varint_at(to, s->frames[s->frame_of[i]].id);
        for (uint64_t i = first; i < first + count; i++)
                to = str_varint_at(to, i ? i - p->nodes[i].parent : 0);
        str_end(body, to);
        return true;
}

static void get_frames(struct nodes_state *s, uint64_t modules, struct cursor *c)
{
        uint64_t count = cursor_varint(c), pc = 0;
        uint32_t old = s->frame_count;

        if (count > FORMAT_PIECE || count > cursor_left(c) / 3)
                c->bad = true;
        for (uint64_t i = 0; i < count && !c->bad; i++) {
                pc += cursor_varint(c);
                add_frame(s, (struct nodes_frame){ .pc = pc });
        }
        for (uint32_t i = old; i < s->frame_count && !c->bad; i++) {
                uint64_t module = cursor_varint(c) - 1;

                if (module != UINT64_MAX && (module >= modules || module >= PROFILE_NO_MODULE))
                        c->bad = true;
                s->frames[i].module = (uint16_t)module;
        }
        for (uint32_t i = old; i < s->frame_count && !c->bad; i++) {
                uint64_t exact = cursor_varint(c);

                s->frames[i].exact = (uint16_t)exact;
                c->bad |= exact > UINT16_MAX;
        }
}

static void get_tree(const struct nodes_state *s, struct profile_node *nodes, uint64_t first,
                     uint64_t count, struct cursor *c)
{
        for (uint64_t i = 0; i < count && !c->bad; i++) {
                uint64_t id = cursor_varint(c);

                if (id >= s->frame_count) {
                        c->bad = true;
                        return;
                }
                nodes[i].pc = s->frames[id].pc;
                nodes[i].module = s->frames[id].module;
                nodes[i].exact = s->frames[id].exact;
        }
        for (uint64_t i = 0; i < count; i++) {
                uint64_t distance = cursor_varint(c), index = first + i;

                if (c->bad || distance > index || !distance != !index) {
                        c->bad = true;
                        return;
                }
                nodes[i].parent = (uint32_t)(index - distance);
        }
}

bool nodes_get(struct nodes_state *s, struct profile *p, uint64_t count, uint64_t modules,
               struct cursor *c)
{
        uint32_t old = s->frame_count;

        if (count > FORMAT_PIECE || count > cursor_left(c) / 2)
                return false;
        get_frames(s, modules, c);
        if (!c->bad)
                get_tree(s, parts_extend(p, FORMAT_NODES, count), p->node_count, count, c);
        if (c->bad) {
                s->frame_count = old;
                return false;
        }
        p->node_count += (uint32_t)count;
        return true;
}
