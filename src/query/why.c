/* SPDX-License-Identifier: MIT */
#include "query/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/packed.h"
#include "query/leaks.h"
#include "query/block_origin.h"
#include "query/select.h"
#include "query/wrapper.h"
#include "words/label.h"
#include "words/text.h"

/* ---- what is known about an address that is in no block ---- */

/* Append what the memory is that holds roots there; false: none does. */
static bool tell_root(const struct profile *p, struct symbols *s, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->root_count; i++) {
                struct root_name root_name;

                if (p->roots[i].kind == PROFILE_ROOT_REGISTER || address < p->roots[i].start ||
                    address >= p->roots[i].end)
                        continue;
                root_name = root_name_at(p, s, i, address);
                str_text(out, "it is in ");
                root_name_write(p, s, &root_name, out);
                return true;
        }
        return false;
}

static bool tell_region(const struct profile *p, struct symbols *s, uint64_t address,
                        struct str *out)
{
        for (uint32_t i = 0; i < p->region_count; i++)
                if (address >= p->regions[i].start && address < p->regions[i].end) {
                        str_text(out, p->regions[i].stack
                                              ? "it is in the stack of a thread created by "
                                              : "it is in memory mapped by ");
                        block_origin_write(p, block_origin_of(p, s, p->regions[i].site), 0, out);
                        return true;
                }
        return false;
}

static bool tell_module(const struct profile *p, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (p->modules[i].path && address >= p->modules[i].start &&
                    address < p->modules[i].end) {
                        str_format(out, "it is in %s", label_base(p->modules[i].path));
                        return true;
                }
        return false;
}

static bool tell_error(const struct profile *p, uint64_t address, struct str *out)
{
        for (uint32_t i = 0; i < p->error_count; i++)
                if (p->errors[i].address == address) {
                        str_text(out, "an invalid free of it is in 'seep report --errors'");
                        return true;
                }
        return false;
}

#define NEAR_BYTES 65536u /* a block further away has nothing to do with it */

/* The last block in front of it, or the first behind it when that is nearer. */
static void tell_nearest(const struct profile *p, uint64_t address, struct str *out)
{
        struct profile_block nearest = { 0 };
        uint64_t distance = UINT64_MAX;
        bool behind = false;
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *b = w.block;
                uint64_t away = b->address > address
                                        ? b->address - address
                                        : address - b->address - (b->size ? b->size - 1 : 0);

                if (away < distance) {
                        distance = away;
                        nearest = *b;
                        behind = b->address > address;
                }
        }
        packed_close(&w);
        if (distance > NEAR_BYTES)
                return;
        str_format(out, "%sthe nearest is 0x%" PRIx64 " of ", out->length ? "; " : "",
                   nearest.address);
        text_count(out, (int64_t)nearest.size, "byte");
        if (behind)
                str_format(out, ", 0x%" PRIx64 " bytes after it", distance);
        else if (distance > 1)
                str_format(out, ", which ends 0x%" PRIx64 " bytes before it", distance - 1);
        else
                str_text(out, ", which ends right before it");
}

/* Say what is known about an ADDRESS that is in no block. */
static void why_no_block(const struct profile *p, struct symbols *s, uint64_t address,
                         struct err *e)
{
        struct str known = { 0 };

        if (!tell_root(p, s, address, &known) && !tell_region(p, s, address, &known) &&
            !tell_module(p, address, &known))
                tell_error(p, address, &known);
        tell_nearest(p, address, &known);
        if (!p->block_count)
                str_text(&known, "there were no live blocks at all");
        err_set(e, ERR_EXIT_USAGE,
                "no block at 0x%" PRIx64 " was live then: freed, or never one%s%s", address,
                known.length ? "; " : "", str_get(&known));
        str_free(&known);
}

/* ---- what keeps a block alive ---- */

enum {
        WHY_SAMPLE = 256,   /* blocks of a site whose paths are compared */
        WHY_SPREAD = 257,   /* a prime above that */
        WHY_WALK = 4000000  /* steps of these paths after which no more are looked at: 0.3 s */
};

bool why_possible(const struct profile *p, const char *file, struct err *e)
{
        const struct profile_scan *scan = profile_scanned(p);
        struct str reason = { 0 };

        if (scan && scan->flags & PROFILE_SCAN_GRAPH)
                return true;
        if (!scan) {
                leaks_not_scanned(p, &reason);
                err_set(e, ERR_EXIT_CANNOT_TRACE, "%s does not show what holds a block: %s", file,
                        str_get(&reason));
        } else if (p->truncated) {
                err_set(e, ERR_EXIT_BAD_FILE,
                        "%s does not show what holds a block: that part of the file is missing",
                        file);
        } else {
                text_count(&reason, (int64_t)p->block_count, "block");
                err_set(e, ERR_EXIT_CANNOT_TRACE,
                        "%s does not show what holds a block: with %s the pointers between them "
                        "were not kept; record with --keep-graph", file, str_get(&reason));
        }
        str_free(&reason);
        return false;
}

/* ---- finding out ---- */

static int compare_groups(const void *a, const void *b)
{
        const struct why_group *x = a, *y = b;
        enum graph_rank of_x = graph_rank(x->root_name.root->kind),
                        of_y = graph_rank(y->root_name.root->kind);

        return ORDER(of_x, of_y) ?: ORDER(x->steps, y->steps) ?: ORDER(y->pointers, x->pointers) ?:
               ORDER(x->root_name.at, y->root_name.at);
}

static void add_to_group(struct why *w, uint64_t hold, uint32_t steps)
{
        struct root_name root_name = root_name_of(w->p, w->s, hold);
        struct root_name_key key = root_name_key(w->p, &root_name);
        uint64_t i = w->group_count;

        while (i > 0 &&
               (w->groups[i - 1].key.what != key.what || w->groups[i - 1].key.whose != key.whose))
                i--;
        if (!i) {
                w->groups = heap_grow(w->groups, w->group_count + 1, sizeof *w->groups);
                w->groups[w->group_count++] = (struct why_group){ root_name, key, 0, steps };
                i = w->group_count;
        }
        w->groups[i - 1].pointers++;
        if (steps < w->groups[i - 1].steps)
                w->groups[i - 1].steps = steps;
}

void why_groups(struct why *w)
{
        uint64_t *holds, count = graph_holders(w->graph, w->block, &holds);

        for (uint64_t i = 0; i < count; i++)
                add_to_group(w, holds[i], graph_distance(w->graph, holds[i], w->block));
        free(holds);
        if (w->group_count)
                qsort(w->groups, w->group_count, sizeof *w->groups, compare_groups);
}

static void find_lost(struct why *w)
{
        uint32_t head = dense_verdict(graph_dense(w->graph), w->block).head;
        struct graph_path path;

        w->lost_pointers = graph_pointers_to(w->graph, w->block);
        if (!head || head - 1 == w->block)
                return;
        path = graph_path_below(w->graph, head - 1, w->block);
        if (path.count) {
                w->head = head - 1;
                why_name_path(w, &path);
        }
        graph_path_free(&path);
}

/* Each rank is one owner: the sums by block do not depend on who the owners are. */
static void find_retained(struct why *w)
{
        uint32_t *of_hold = heap_zero(w->p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { of_hold, GRAPH_LOST };
        struct graph_retained r;

        for (uint64_t i = 0; i < w->p->hold_count; i++)
                of_hold[i] = graph_rank(w->p->roots[w->p->holds[i].from].kind);
        graph_retain(w->graph, &owners, &(struct graph_wish){ &w->block, 1, false, false }, &r);
        w->retained = r.asked[0];
        graph_retained_free(&r);
        free(of_hold);
}

static void find_path(struct why *w)
{
        struct graph_path path = graph_path(w->graph, w->block);

        w->leak = dense_leak(graph_dense(w->graph), w->block);
        w->held = path.count || w->leak == PROFILE_LEAK_REACHABLE ||
                  w->leak == PROFILE_LEAK_POSSIBLE;
        if (path.count) {
                if (path.hold != GRAPH_NONE)
                        w->root_name = root_name_of(w->p, w->s, path.hold);
                why_name_path(w, &path);
        } else if (!w->held) {
                find_lost(w);
        }
        graph_path_free(&path);
}

static void find_all(struct why *w)
{
        uint64_t *holds;

        find_path(w);
        find_retained(w);
        w->root_pointers = graph_holders(w->graph, w->block, &holds);
        free(holds);
}

static void start(struct why *w, const struct profile *p, struct symbols *s)
{
        *w = (struct why){ .p = p, .s = s, .block = WHY_NO_BLOCK, .head = WHY_NO_BLOCK,
                           .graph = graph_new(p) };
}

/* ---- by address ---- */

bool why_address(struct why *w, const struct profile *p, struct symbols *s, uint64_t address,
                 struct err *e)
{
        struct profile_block block;

        start(w, p, s);
        if (!dense_around(p, address, &w->block, &block)) {
                why_no_block(p, s, address, e);
                return false;
        }
        w->offset = address - block.address;
        find_all(w);
        return true;
}

/* ---- by site ---- */

/* How a block is held, as far as others of its site may be held the same way: the owner at the root
 * and the sites on the path. */
struct manner {
        struct root_name_key key;
        uint64_t sites; /* a hash of them */
        uint32_t length, block;
};

static struct manner manner_of(struct why *w, uint32_t block)
{
        struct manner m = { .sites = 14695981039346656037ull, .block = block };
        struct graph_path path = graph_path(w->graph, block);
        uint32_t before = 0;

        m.length = path.count;
        if (path.hold != GRAPH_NONE) {
                struct root_name root_name = root_name_of(w->p, w->s, path.hold);

                m.key = root_name_key(w->p, &root_name);
        }
        for (uint32_t i = 0; i < m.length; i++) {
                uint32_t site = dense_site(graph_dense(w->graph), path.blocks[i]);

                /* A list has one manner, however far the block is from its head. */
                if (site != before)
                        m.sites = (m.sites ^ site) * 1099511628211ull;
                before = site;
        }
        if (!m.length && block < w->p->verdict_count)
                m.key = (struct root_name_key){ UINT64_MAX,
                                                dense_leak(graph_dense(w->graph), block) };
        graph_path_free(&path);
        return m;
}

static int compare_manners(const void *a, const void *b)
{
        const struct manner *x = a, *y = b;

        return ORDER(x->key.what, y->key.what) ?: ORDER(x->key.whose, y->key.whose) ?:
               ORDER(x->sites, y->sites) ?: ORDER(x->length, y->length) ?:
               ORDER(x->block, y->block);
}

struct why_span {
        uint64_t first, end;
};

static bool same_owner(const struct manner *a, const struct manner *b)
{
        return a->key.what == b->key.what && a->key.whose == b->key.whose;
}

static bool same_manner(const struct manner *a, const struct manner *b)
{
        return same_owner(a, b) && a->sites == b->sites;
}

/* The longest run of LIST that SAME holds together. */
static struct why_span longest(const struct manner *list, struct why_span in,
                               bool (*same)(const struct manner *a, const struct manner *b))
{
        struct why_span best = { in.first, in.first };

        for (uint64_t first = in.first, end; first < in.end; first = end) {
                for (end = first + 1; end < in.end && same(&list[first], &list[end]); end++)
                        continue;
                if (end - first > best.end - best.first)
                        best = (struct why_span){ first, end };
        }
        return best;
}

/* The most common owner, there the most common manner; of those held so, the one with the median
 * length. */
static void choose_typical(struct why *w, struct manner *list, uint64_t count)
{
        struct why_span owner, alike;

        qsort(list, count, sizeof *list, compare_manners);
        owner = longest(list, (struct why_span){ 0, count }, same_owner);
        alike = longest(list, owner, same_manner);
        w->site_owner = owner.end - owner.first;
        w->site_alike = alike.end - alike.first;
        w->block = list[alike.first + (w->site_alike - 1) / 2].block;
}

static uint32_t sample_blocks(const struct why *w, uint32_t *blocks)
{
        uint64_t every = (w->site_blocks + WHY_SAMPLE - 1) / WHY_SAMPLE, seen = 0;
        uint32_t count = 0;

        for (uint64_t i = 0; i < w->p->block_count; i++)
                if (dense_site(graph_dense(w->graph), (uint32_t)i) == w->site &&
                    seen++ % every == 0)
                        blocks[count++] = (uint32_t)i;
        return count;
}

/* In no order, so that those that were looked at when the walk gets too long are from
 * everywhere. */
static void find_typical(struct why *w)
{
        struct manner *list = heap_zero(WHY_SAMPLE, sizeof *list);
        uint32_t blocks[WHY_SAMPLE], count = sample_blocks(w, blocks);
        uint64_t walked = 0;

        for (uint32_t i = 1; i < WHY_SPREAD && walked < WHY_WALK; i++) {
                uint32_t at = i * 100 % WHY_SPREAD - 1;

                if (at >= count)
                        continue;
                list[w->site_seen] = manner_of(w, blocks[at]);
                walked += list[w->site_seen++].length;
        }
        choose_typical(w, list, w->site_seen);
        free(list);
}

static uint64_t *blocks_by_site(const struct why *w)
{
        uint64_t *blocks = heap_zero(w->p->site_count, sizeof *blocks);

        for (uint64_t i = 0; i < w->p->block_count; i++) {
                uint32_t site = dense_site(graph_dense(w->graph), (uint32_t)i);

                if (site < w->p->site_count)
                        blocks[site]++;
        }
        return blocks;
}

/* Of the sites that are one row with SITE where stacks are shown without library code, that with
 * most of BLOCKS: reports name a row by the first of its sites. */
static uint32_t fullest_of_row(const struct why *w, uint32_t site, const uint64_t *blocks)
{
        struct wrappers usual = { 0 };
        struct select_request r = { .cost = SELECT_LIVE, .wrappers = &usual, .fold = true };
        struct selection sel = { 0 };
        struct err e = { 0 };
        uint32_t best = site;

        if (select_make(&sel, w->p, w->s, &r, &e))
                for (uint32_t i = 1; i < w->p->site_count; i++)
                        if (sel.leaders[i] == sel.leaders[site] && blocks[i] > blocks[best])
                                best = i;
        select_free(&sel);
        wrappers_free(&usual);
        return best;
}

static bool count_site(struct why *w, struct err *e)
{
        const struct profile *p = w->p;
        uint64_t *blocks = blocks_by_site(w);

        if (w->site && w->site < p->site_count && !blocks[w->site])
                w->site = fullest_of_row(w, w->site, blocks);
        w->site_blocks = w->site < p->site_count ? blocks[w->site] : 0;
        free(blocks);
        if (w->site_blocks)
                return true;
        if (!w->site || w->site >= p->site_count)
                return err_set(e, ERR_EXIT_USAGE,
                               "there is no site #%" PRIu32 ": sites are numbered from 1 to %"
                               PRIu32 " ('seep leaks' and 'seep report --retained=sites' list "
                               "them)", w->site, p->site_count ? p->site_count - 1 : 0);
        return err_set(e, ERR_EXIT_USAGE, "no block of site #%" PRIu32 " was live: all were freed",
                       w->site);
}

bool why_site(struct why *w, const struct profile *p, struct symbols *s, uint32_t site,
              struct err *e)
{
        start(w, p, s);
        w->site = site;
        if (!count_site(w, e))
                return false;
        find_typical(w);
        find_all(w);
        w->site_retained = graph_retained_by(w->graph, site);
        return true;
}

void why_path(struct why *w, const struct profile *p, struct symbols *s, struct graph *g,
              uint32_t block)
{
        *w = (struct why){ .p = p, .s = s, .block = block, .head = WHY_NO_BLOCK, .graph = g };
        find_path(w);
}

void why_path_free(struct why *w)
{
        for (uint32_t i = 0; i < w->step_count; i++) {
                str_free(&w->steps[i].member);
                str_free(&w->steps[i].type);
        }
        free(w->steps);
}

void why_free(struct why *w)
{
        why_path_free(w);
        free(w->groups);
        graph_free(w->graph);
}

struct profile_block why_block(const struct why *w, uint32_t block)
{
        return dense_block(graph_dense(w->graph), block);
}
