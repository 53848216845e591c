/* SPDX-License-Identifier: MIT */
#include "scan/scan_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/parallel.h"
#include "collect/collect.h"
#include "ledger/ledger.h"
#include "profile/format.h"
#include "profile/packed.h"
#include "profile/unseen.h"
#include "scan/older.h"

#define CONTENTS_MAX 65536u
#define CONTENTS_READ 16384u

/* 1 + the block of the profile that the searched block I is; 0 none. */
static uint32_t number_of(const struct scan_result *r, uint64_t i)
{
        return r->block_of ? r->block_of[i] : (uint32_t)i + 1;
}

/* ---- verdicts ---- */

static bool was_lost(const struct scan_result *r, const struct profile_block *b)
{
        uint64_t low = FIND_FIRST(r->lost_count, i, r->lost[i].address < b->address);

        return low < r->lost_count && r->lost[low].address == b->address &&
               r->lost[low].birth_ms == b->birth_ms;
}

/* An allocator holds what it got for itself in its own data, which is not searched. */
static bool is_allocators(const struct scan_result *r, const struct profile *p, uint32_t site)
{
        return r->roots->allocator != PROFILE_NO_MODULE &&
               p->nodes[p->sites[site].node].module == r->roots->allocator;
}

/* Whether block NUMBER of W's profile is lost since the last search.  The numbers rise. */
static bool is_new(const struct scan_result *r, struct packed_walk *w, uint64_t number)
{
        while (w->next <= number)
                if (!packed_next(w))
                        return false;
        return !was_lost(r, w->block);
}

/* Of the searched block I. */
static uint8_t class_of(const struct scan_result *r, const struct profile *p, uint64_t i)
{
        uint8_t leak = r->graph->leak[i];

        return leak == PROFILE_LEAK_UNKNOWN ||
                               (leak > PROFILE_LEAK_REACHABLE && is_allocators(r, p, r->places[i]))
                       ? PROFILE_LEAK_REACHABLE
                       : leak;
}

/* About the searched block I.  W: over the blocks of P. */
static struct profile_verdict judge(const struct scan_result *r, const struct profile *p,
                                    uint64_t i, struct packed_walk *w)
{
        const struct search_graph *g = r->graph;
        struct profile_verdict v = { .leak = class_of(r, p, i), .vtable = g->vtables[i] };

        v.head = g->head[i] ? number_of(r, g->head[i] - 1) : 0;
        if (r->blocks[i].flags & SEARCH_BLOCK_IGNORED)
                v.flags |= PROFILE_VERDICT_IGNORED;
        if (g->idiom[i])
                v.flags |= PROFILE_VERDICT_IDIOM;
        if (r->lost && v.leak >= PROFILE_LEAK_INDIRECT && is_new(r, w, number_of(r, i) - 1))
                v.flags |= PROFILE_VERDICT_NEW;
        return v;
}

static const struct profile_verdict unsearched = { .leak = PROFILE_LEAK_REACHABLE };

/* So many blocks about which nothing was found. */
static void add_unsearched(struct packer *verdicts, uint64_t count)
{
        while (count--)
                packer_add(verdicts, &unsearched);
}

/* Verdicts on their way into a profile, some at a time and by several threads. */
struct verdicts {
        const struct scan_result *r;
        const struct profile *p;
        struct packed_walk w; /* over its blocks, where it matters which were lost before */
        uint64_t *first; /* by FORMAT_PIECE blocks of P: the first searched block in them or
                          * behind them.  NULL: they have the same numbers */
        uint64_t definite;
};

/* Numbers of blocks rise, but not all that were searched have one. */
static void find_first(struct verdicts *d)
{
        uint64_t count = d->r->graph->block_count, pieces = d->p->block_count / FORMAT_PIECE + 1;
        uint64_t known = 0;

        if (!d->r->block_of)
                return;
        d->first = heap_zero(pieces, sizeof *d->first);
        for (uint64_t i = 0; i < count; i++)
                for (; known < pieces && number_of(d->r, i) > known * FORMAT_PIECE; known++)
                        d->first[known] = i;
        for (; known < pieces; known++)
                d->first[known] = count;
}

static void fill_verdicts(void *context, uint64_t first, uint64_t count, void *records)
{
        struct verdicts *d = context;
        const struct scan_result *r = d->r;
        struct profile_verdict *to = records;
        uint64_t searched = r->graph->block_count, definite = 0;
        uint64_t i = d->first ? d->first[first / FORMAT_PIECE] : first;

        for (uint64_t k = first; k < first + count; k++, to++) {
                while (i < searched && !number_of(r, i))
                        i++;
                *to = i < searched && number_of(r, i) == k + 1 ? judge(r, d->p, i++, &d->w)
                                                               : unsearched;
                definite += to->leak == PROFILE_LEAK_DEFINITE;
        }
        __atomic_add_fetch(&d->definite, definite, __ATOMIC_RELAXED);
}

/* Blocks whose first bytes are kept, in the order of their addresses. */
struct starts {
        struct profile_content *at;
        uint64_t *address;
        uint32_t count;
};

/* From number FIRST on, as many as fit into one read: lost blocks often lie close together, and a
 * call for each would cost more than the search.  Returns the next. */
static uint32_t read_starts(const struct scan_result *r, struct starts *s, uint32_t first)
{
        uint8_t bytes[CONTENTS_READ];
        uint64_t start = s->address[first], wanted = 0, got;
        uint32_t end = first;

        for (; end < s->count; end++) {
                uint64_t last = s->address[end] + s->at[end].bytes - start;

                if (last > sizeof bytes)
                        break;
                wanted = last > wanted ? last : wanted;
        }
        got = freeze_read(r->freeze, start, bytes, wanted);
        for (uint32_t i = first; i < end; i++) {
                struct profile_content *c = &s->at[i];
                uint64_t offset = s->address[i] - start, left = got > offset ? got - offset : 0;

                if (left < c->bytes && i > first)
                        return i; /* something before it cannot be read */
                c->bytes = left < c->bytes ? (uint32_t)left : c->bytes;
                memcpy(c->data, bytes + offset, c->bytes);
        }
        return end;
}

static void add_contents(const struct scan_result *r, struct profile *p)
{
        const struct search_graph *g = r->graph;
        struct starts s = { 0 };

        for (uint64_t i = 0; i < g->block_count && s.count < CONTENTS_MAX; i++) {
                uint64_t size = r->blocks[i].size;

                if (!number_of(r, i) || class_of(r, p, i) < PROFILE_LEAK_POSSIBLE)
                        continue;
                s.at = heap_next(s.at, s.count, sizeof *s.at);
                s.address = heap_next(s.address, s.count, sizeof *s.address);
                s.address[s.count] = r->blocks[i].address;
                s.at[s.count++] = (struct profile_content){
                        .block = number_of(r, i) - 1,
                        .bytes = size < PROFILE_CONTENT_BYTES ? (uint32_t)size
                                                              : PROFILE_CONTENT_BYTES,
                };
        }
        for (uint32_t i = 0; i < s.count;)
                i = read_starts(r, &s, i);
        free(s.address);
        p->contents = s.at;
        p->content_count = s.count;
}

/* Only a search can know. */
static void warn_about_bypass(struct profile *p, enum unseen reason)
{
        struct str text = { 0 };

        if (unseen_say(p, reason, &text))
                collect_warn(p, "%s", str_get(&text));
        str_free(&text);
}

uint64_t scan_store_verdicts(const struct scan_result *r, struct profile *p)
{
        struct verdicts d = { .r = r, .p = p };
        struct packed_source from = { .context = &d, .count = p->block_count,
                                      .threads = r->lost ? 1 : parallel_threads(),
                                      .fill = fill_verdicts };

        packed_open(&d.w, p);
        find_first(&d);
        packed_make(p, PACKED_VERDICTS, &from);
        add_contents(r, p);
        warn_about_bypass(p, UNSEEN_GONE);
        warn_about_bypass(p, UNSEEN_HEAP);
        packed_close(&d.w);
        free(d.first);
        return d.definite;
}

/* ---- graph ---- */

static uint32_t pointer_flags(uint32_t to)
{
        return (to & SEARCH_LINK_INTERIOR ? PROFILE_POINTER_INTERIOR : 0) |
               (to & SEARCH_LINK_IDIOM ? PROFILE_POINTER_IDIOM : 0);
}

static void store_holds(const struct scan_result *r, struct profile *p)
{
        const struct search_graph *g = r->graph;

        p->holds = heap_zero(g->hold_count, sizeof *p->holds);
        for (uint64_t i = 0; i < g->hold_count; i++) {
                const struct search_hold *h = &g->holds[i];
                uint32_t block = number_of(r, SEARCH_LINK_TO(*h));

                if (block)
                        p->holds[p->hold_count++] = (struct profile_hold){
                                .at = h->at, .from = h->root, .to = block - 1,
                                .flags = pointer_flags(h->to) };
        }
}

static struct profile_pointer pointer_of(const struct search_graph *g, const struct search_link *l,
                                         uint64_t size)
{
        if (l->at == SEARCH_AT_ARENA)
                return (struct profile_pointer){ .at = size, .flags = PROFILE_POINTER_ARENA };
        return (struct profile_pointer){ .at = (uint64_t)l->at * g->unit,
                                         .flags = pointer_flags(l->to) };
}

/* Links of and to blocks that the profile has not got are left out. */
static void leave_unlisted(const struct scan_result *r)
{
        struct search_graph *g = r->graph;
        uint64_t kept = 0, next = 0, listed = 0;

        while (listed < g->block_count && number_of(r, listed))
                listed++;
        if (listed == g->block_count)
                return;
        for (uint64_t i = 0; i < g->block_count; i++) {
                uint64_t k = next;

                next = g->first[i + 1];
                for (; k < next; k++)
                        if (number_of(r, i) && number_of(r, SEARCH_LINK_TO(g->links[k])))
                                g->links[kept++] = g->links[k];
                g->first[i + 1] = kept;
        }
        g->link_count = kept;
}

static void fill_pointers(void *context, uint64_t first, uint64_t count, void *records)
{
        const struct scan_result *r = context;
        const struct search_graph *g = r->graph;
        struct profile_pointer *to = records;
        /* The block of the first one. */
        uint64_t block = FIND_FIRST(g->block_count, i, g->first[i + 1] <= first);

        for (uint64_t k = first; k < first + count; k++, to++) {
                const struct search_link *l = &g->links[k];

                while (g->first[block + 1] <= k)
                        block++;
                *to = pointer_of(g, l, r->blocks[block].size);
                to->from = number_of(r, block) - 1;
                to->to = number_of(r, SEARCH_LINK_TO(*l)) - 1;
        }
}

static void store_pointers(struct scan_result *r, struct profile *p)
{
        struct packed_source from = { .context = r, .threads = parallel_threads(),
                                      .fill = fill_pointers };

        leave_unlisted(r);
        from.count = r->graph->link_count;
        packed_make(p, PACKED_POINTERS, &from);
}

void scan_store_graph(struct scan_result *r, struct profile *p)
{
        p->roots = r->roots->at;
        p->root_count = r->roots->count;
        r->roots->at = NULL;
        store_holds(r, p);
        store_pointers(r, p);
}

/* ---- what a search found just before the end of a process, put into the recording of that end
 * ---- */

static bool comes_before(const struct profile_block *a, const struct profile_block *b)
{
        return a->address < b->address || (a->address == b->address && a->size > b->size);
}

static bool is_same(const struct profile_block *a, const struct profile_block *b)
{
        return a->address == b->address && a->size == b->size && a->birth_ms == b->birth_ms;
}

/* By block of ONE: 1 + the same block in P; 0: it is gone. */
static uint32_t *match_blocks(const struct profile *one, const struct profile *p)
{
        uint32_t *map = heap_zero(one->block_count, sizeof *map);
        struct packed_walk w, other;
        bool more;

        packed_open(&w, one);
        packed_open(&other, p);
        more = packed_next(&other);
        while (packed_next(&w)) {
                while (more && comes_before(other.block, w.block))
                        more = packed_next(&other);
                if (more && is_same(other.block, w.block)) {
                        map[w.index] = (uint32_t)other.index + 1;
                        more = packed_next(&other);
                }
        }
        packed_close(&w);
        packed_close(&other);
        return map;
}

static uint32_t same_module(const struct profile *one, const struct profile *p, uint32_t module)
{
        const struct profile_module *m = module < one->module_count ? &one->modules[module] : NULL;

        /* Addresses of what was found are those of that time. */
        for (uint32_t i = 0; m && i < p->module_count; i++)
                if (p->modules[i].start == m->start && p->modules[i].bias == m->bias &&
                    strcmp(p->modules[i].path, m->path) == 0)
                        return i;
        return PROFILE_NO_MODULE;
}

static uint32_t same_region(const struct profile *one, const struct profile *p, uint32_t region)
{
        const struct profile_region *r = region && region <= one->region_count
                                                 ? &one->regions[region - 1]
                                                 : NULL;
        uint32_t i = r ? collect_regions_up_to(p, r->start) : 0;

        return i && p->regions[i - 1].start == r->start ? i : 0;
}

/* The map keeps the order. */
static void move_verdicts(const struct profile *one, const uint32_t *map, struct profile *p)
{
        struct packer *verdicts = packer_verdicts(p);
        struct packed_walk w;
        uint64_t made = 0;

        packed_open(&w, one);
        while (packed_next(&w)) {
                struct profile_verdict v = *w.verdict;

                if (!map[w.index])
                        continue;
                add_unsearched(verdicts, map[w.index] - 1 - made);
                made = map[w.index];
                v.head = v.head && v.head <= one->block_count ? map[v.head - 1] : 0;
                packer_add(verdicts, &v);
        }
        add_unsearched(verdicts, p->block_count - made);
        packed_close(&w);
        packer_end(verdicts, p);
}

static void move_roots(struct profile *one, struct profile *p)
{
        p->roots = one->roots;
        p->root_count = one->root_count;
        p->frames = one->frames;
        p->frame_count = one->frame_count;
        one->roots = NULL;
        one->frames = NULL;
        one->root_count = one->frame_count = 0;
        for (uint32_t i = 0; i < p->root_count; i++) {
                p->roots[i].module = same_module(one, p, p->roots[i].module);
                p->roots[i].region = same_region(one, p, p->roots[i].region);
        }
        for (uint32_t i = 0; i < p->frame_count; i++)
                p->frames[i].module = same_module(one, p, p->frames[i].module);
}

/* The map keeps the order, so what was sorted stays so. */
static void move_pointers(struct profile *one, const uint32_t *map, struct profile *p)
{
        p->holds = one->holds;
        p->pointers = one->pointers;
        one->holds = NULL;
        one->pointers = NULL;
        for (uint64_t i = 0; i < one->hold_count; i++)
                if (map[p->holds[i].to]) {
                        p->holds[p->hold_count] = p->holds[i];
                        p->holds[p->hold_count++].to = map[p->holds[i].to] - 1;
                }
        for (uint64_t i = 0; i < one->pointer_count; i++)
                if (map[p->pointers[i].from] && map[p->pointers[i].to]) {
                        struct profile_pointer l = p->pointers[i];

                        l.from = map[l.from] - 1;
                        l.to = map[l.to] - 1;
                        p->pointers[p->pointer_count++] = l;
                }
        one->hold_count = one->pointer_count = 0;
}

void scan_merge(struct profile *scanned, struct profile *p)
{
        uint32_t *map;

        if (p->totals.attached)
                older_copy(scanned, p);
        map = match_blocks(scanned, p);
        if (scanned->verdict_count == scanned->block_count) {
                move_verdicts(scanned, map, p);
                p->contents = scanned->contents;
                scanned->contents = NULL;
                for (uint32_t i = 0; i < scanned->content_count; i++)
                        if (map[p->contents[i].block]) {
                                p->contents[p->content_count] = p->contents[i];
                                p->contents[p->content_count++].block = map[p->contents[i].block] -
                                                                        1;
                        }
                scanned->content_count = 0;
                move_roots(scanned, p);
                move_pointers(scanned, map, p);
        }
        p->scans = scanned->scans;
        p->scan_count = scanned->scan_count;
        scanned->scans = NULL;
        scanned->scan_count = 0;
        warn_about_bypass(p, UNSEEN_GONE);
        warn_about_bypass(p, UNSEEN_HEAP);
        free(map);
        profile_free(scanned);
}

/* ---- the same, when nothing happened in between ---- */

static bool are_same_sites(const struct profile *one, const struct profile *p, uint64_t *blocks)
{
        *blocks = 0;
        if (one->site_count != p->site_count)
                return false;
        for (uint32_t i = 1; i < p->site_count; i++) {
                const struct profile_site *a = &one->sites[i], *b = &p->sites[i];

                if (a->kind != b->kind || a->allocs != b->allocs || a->frees != b->frees ||
                    a->live_bytes != b->live_bytes)
                        return false;
                *blocks += LEDGER_KIND_IS_HEAP(b->kind) ? b->live_blocks : 0;
        }
        return true;
}

static bool are_same_threads(const struct profile *one, const struct profile *p)
{
        if (one->thread_count != p->thread_count)
                return false;
        for (uint32_t i = 0; i < p->thread_count; i++)
                if (one->threads[i].tid != p->threads[i].tid)
                        return false;
        return true;
}

static void take_lists(struct profile *scanned, struct profile *p)
{
        p->packed_blocks = scanned->packed_blocks;
        p->block_count = scanned->block_count;
        p->packed_verdicts = scanned->packed_verdicts;
        p->verdict_count = scanned->verdict_count;
        scanned->packed_blocks = scanned->packed_verdicts = (struct profile_packed){ 0 };
        p->contents = scanned->contents;
        p->content_count = scanned->content_count;
        p->holds = scanned->holds;
        p->hold_count = scanned->hold_count;
        p->pointers = scanned->pointers;
        p->packed_pointers = scanned->packed_pointers;
        p->pointer_count = scanned->pointer_count;
        p->scans = scanned->scans;
        p->scan_count = scanned->scan_count;
        scanned->contents = NULL;
        scanned->holds = NULL;
        scanned->packed_pointers = (struct profile_packed){ 0 };
        scanned->pointers = NULL;
        scanned->scans = NULL;
        scanned->block_count = scanned->verdict_count = scanned->hold_count = 0;
        scanned->pointer_count = 0;
        scanned->content_count = scanned->scan_count = 0;
        move_roots(scanned, p);
        warn_about_bypass(p, UNSEEN_GONE);
        warn_about_bypass(p, UNSEEN_HEAP);
}

bool scan_adopt(struct profile *scanned, struct profile *p)
{
        uint64_t blocks;
        bool same = !p->totals.attached && !p->totals.untracked_blocks && !p->totals.lost_events &&
                    are_same_sites(scanned, p, &blocks) && are_same_threads(scanned, p) &&
                    scanned->block_count == blocks && scanned->verdict_count == blocks &&
                    scanned->scan_count == 1;

        for (uint32_t i = 0; same && i < p->thread_count; i++) {
                p->threads[i].live_blocks = scanned->threads[i].live_blocks;
                p->threads[i].live_bytes = scanned->threads[i].live_bytes;
        }
        if (same)
                take_lists(scanned, p);
        profile_free(scanned);
        return same;
}

void scan_leave_findings(struct profile *p)
{
        for (uint32_t i = 0; i < p->site_count; i++)
                p->sites[i].node = 0;
        p->node_count = p->error_count = p->symbol_count = p->mark_count = p->slice_count = 0;
        p->change_count = p->share_count = p->death_count = p->jit_count = p->handle_count = 0;
        p->mapping_count = 0;
        p->kept = (struct profile_packed){ 0 };
}
