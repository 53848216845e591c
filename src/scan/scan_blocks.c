/* SPDX-License-Identifier: MIT */
#include "scan/scan_blocks.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "base/parallel.h"
#include "collect/shadow_walk.h"
#include "leak/huge_array.h"

/* ---- reading ---- */

/* Nothing is said about a block when the release of another one from the same place was not seen,
 * or when it is from before a fork that other threads did not wait for: it may be free. */
static bool is_doubtful(const struct scan_entries *e, const struct ledger_block *b)
{
        uint32_t site = LEDGER_BLOCK_SITE(*b);

        if (e->fork_several && LEDGER_BLOCK_BIRTH_MS(*b) <= e->fork_ms)
                return true;
        return site < e->site_count && e->sites[site].missed;
}

static int by_address(const void *a, const void *b)
{
        const struct search_block *x = a, *y = b;

        return ORDER(x->address, y->address) ?: ORDER((uint64_t)y->size, (uint64_t)x->size);
}

static void make_room(struct scan_entries *e, uint64_t room)
{
        e->room = room;
        e->at = huge_array_grow(e->at, room, sizeof *e->at);
        if (e->placed)
                e->places = huge_array_grow(e->places, room, sizeof *e->places);
}

/* What B is to a search; false: nothing. */
static bool entry_of(const struct scan_entries *e, const struct ledger_block *b, uint64_t address,
                     struct search_block *to)
{
        bool live = LEDGER_BLOCK_LIVE(*b), recorded = LEDGER_BLOCK_SITE(*b) != 0;
        bool late = LEDGER_BLOCK_BIRTH_MS(*b) >= e->since_ms; /* of one that is not live: death */
        uint64_t size = LEDGER_BLOCK_SIZE(*b);

        if (live ? !recorded && !size : !late)
                return false;
        *to = (struct search_block){
                .address = address,
                .size = size,
                .flags = (LEDGER_BLOCK_IGNORED(*b) || is_doubtful(e, b) ? SEARCH_BLOCK_IGNORED
                                                                       : 0) |
                         (recorded ? 0 : SEARCH_BLOCK_PASSAGE) |
                         (!live || (recorded && late) ? SCAN_ENTRY_LATE : 0) |
                         (LEDGER_BLOCK_KIND(*b) == LEDGER_KIND_POOL ? SCAN_ENTRY_POOL : 0),
        };
        return true;
}

static void note_ms(struct scan_entries *e, uint32_t ms)
{
        uint32_t before = __atomic_load_n(&e->newest_ms, __ATOMIC_RELAXED);

        while (ms > before && ms < UINT32_MAX &&
               !__atomic_compare_exchange_n(&e->newest_ms, &before, ms, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
                ;
}

static void expect(void *context, uint64_t count)
{
        struct scan_entries *e = context;

        while (e->room - e->count < count)
                make_room(e, 2 * e->room);
        e->count += count;
}

/* Where nothing is taken is a hole, which is closed at the end. */
static void take(void *context, const struct blocks_entry *list, uint64_t first, uint64_t count,
                 const struct blocks_sites *sites, bool unsorted)
{
        struct scan_entries *e = context;
        uint64_t listed = 0, holes = 0;
        uint32_t newest_ms = 0;

        for (uint64_t i = 0; i < count; i++) {
                const struct ledger_block *b = &list[i].entry;
                uint32_t place = blocks_site(sites, b), ms = LEDGER_BLOCK_BIRTH_MS(*b);

                if (!entry_of(e, b, list[i].address, &e->at[first + i])) {
                        e->at[first + i] = (struct search_block){ .flags = SCAN_ENTRY_HOLE };
                        holes++;
                        continue;
                }
                e->places[first + i] = place;
                listed += place != 0;
                newest_ms = ms > newest_ms && ms < UINT32_MAX ? ms : newest_ms;
        }
        note_ms(e, newest_ms);
        __atomic_add_fetch(&e->listed, listed, __ATOMIC_RELAXED);
        __atomic_add_fetch(&e->holes, holes, __ATOMIC_RELAXED);
        if (unsorted)
                __atomic_store_n(&e->unsorted, true, __ATOMIC_RELAXED);
}

static void close_holes(struct scan_entries *e)
{
        uint64_t kept = 0;

        for (uint64_t i = 0; i < e->count && e->holes; i++)
                if (!(e->at[i].flags & SCAN_ENTRY_HOLE)) {
                        e->at[kept] = e->at[i];
                        e->places[kept++] = e->places[i];
                }
        e->count = e->holes ? kept : e->count;
        e->holes = 0;
}

static void take_unplaced(void *context, const struct ledger_block *b, uint64_t address)
{
        struct scan_entries *e = context;

        if (e->count == e->room)
                make_room(e, 2 * e->room);
        if (!entry_of(e, b, address, &e->at[e->count]))
                return;
        note_ms(e, LEDGER_BLOCK_BIRTH_MS(*b));
        e->count++;
        e->unsorted |= e->count > 1 && by_address(&e->at[e->count - 2], &e->at[e->count - 1]) > 0;
}

#define PAGES_PART ((uint64_t)16 << 20)

struct pages {
        char *start;
        uint64_t bytes;
};

static void make_some_pages(void *context, uint32_t slot, uint32_t part)
{
        const struct pages *all = context;
        uint64_t done = part * PAGES_PART, left = all->bytes - done;

        (void)slot;
        heap_ready(all->start + done, left < PAGES_PART ? left : PAGES_PART);
}

/* All of it will be written: whoever writes it need not wait for pages to be cleared. */
static void make_pages(void *start, uint64_t bytes)
{
        struct pages all = { start, bytes };

        parallel_run(parallel_threads(), (uint32_t)((bytes + PAGES_PART - 1) / PAGES_PART),
                     make_some_pages, &all);
}

static void entries_open(struct scan_entries *e, const struct view *v, uint32_t since_ms,
                         bool placed)
{
        uint64_t most = v->present_bytes / sizeof(struct ledger_block), count = blocks_count(v);

        count = count < most ? count : most;
        *e = (struct scan_entries){ .since_ms = since_ms,
                                    .placed = placed,
                                    .fork_several = v->head.fork_several != 0,
                                    .fork_ms = v->head.fork_ms };
        if (v->head.missed_frees || v->head.one_way) {
                e->site_count = v->head.site_count;
                e->sites = view_table(v, LEDGER_SITES, &e->site_count, sizeof *e->sites);
        }
        make_room(e, count + 1024);
        make_pages(e->at, count * sizeof *e->at);
        make_pages(e->places, placed ? count * sizeof *e->places : 0);
}

struct blocks_listener scan_entries_begin(struct scan_entries *e, const struct view *v,
                                          uint32_t since_ms)
{
        entries_open(e, v, since_ms, true);
        return (struct blocks_listener){ .context = e, .expect = expect, .take = take,
                                         .dead = since_ms != UINT32_MAX,
                                         .dead_since_ms = since_ms };
}

void scan_entries_end(struct scan_entries *e)
{
        close_holes(e);
        if (!e->unsorted)
                return;
        qsort(e->at, e->count, sizeof *e->at, by_address);
        free(e->places);
        e->places = NULL;
}

void scan_entries_read(struct scan_entries *e, const struct view *v, uint32_t since_ms)
{
        struct shadow_visitor visitor = { .context = e, .take = take_unplaced,
                                          .dead = since_ms != UINT32_MAX,
                                          .dead_since_ms = since_ms };

        entries_open(e, v, since_ms, false);
        shadow_walk(v, &visitor);
        scan_entries_end(e);
}

void scan_entries_free(struct scan_entries *e)
{
        free(e->at);
        free(e->places);
        free(e->sites);
        *e = (struct scan_entries){ 0 };
}

uint64_t scan_entries_find(const struct scan_entries *e, uint64_t address)
{
        return FIND_FIRST(e->count, i, e->at[i].address < address);
}

uint32_t scan_moving(const struct view *v, struct search_range **out)
{
        uint32_t slots = view_count(v, LEDGER_SLOTS, v->head.slot_count,
                                    sizeof(struct ledger_slot)),
                 count = 0;

        *out = heap_zero(slots, sizeof **out);
        for (uint32_t i = 0; i < slots; i++) {
                uint64_t moving[2];

                view_read(v, LEDGER_SLOTS,
                          i * sizeof(struct ledger_slot) + offsetof(struct ledger_slot, moving),
                          moving, sizeof moving);
                if (moving[0] && moving[1] <= LEDGER_SIZE_MAX)
                        (*out)[count++] = (struct search_range){ moving[0], moving[0] + moving[1] };
        }
        return count;
}

/* ---- choosing ---- */

#define PASSAGE_MAX (64ull << 20) /* glibc never keeps larger blocks in its arenas */

struct choice {
        struct search_block *at;
        uint32_t *known; /* of passages */
        uint64_t count, room, known_room;
};

static void add(struct choice *c, struct search_block block)
{
        if (c->count == c->room) {
                c->room = c->room ? c->room * 2 : 4096;
                c->at = heap_grow(c->at, c->room, sizeof *c->at);
        }
        c->at[c->count++] = block;
}

/* Of the one that was added last. */
static void note_known(struct choice *c, uint32_t bytes)
{
        if (c->known_room < c->room) {
                c->known_room = c->room;
                c->known = heap_grow(c->known, c->known_room, sizeof *c->known);
        }
        c->known[c->count - 1] = bytes;
}

/* There at the moment, and after it still. */
static bool is_certain(const struct search_block *e)
{
        return !(e->flags & SCAN_ENTRY_LATE);
}

/* Where the certain blocks have been passed, and where the next one begins. */
struct sweep {
        const struct choice *certain;
        const struct mappings *mappings;
        uint64_t next, end;
};

/* Bytes from E on that lie in the same mapping; 0: nothing is mapped there. */
static uint64_t mapped_from(const struct sweep *s, const struct search_block *e)
{
        const struct mapping *m = mappings_find(s->mappings, e->address);

        return m ? m->end - e->address : 0;
}

/* A passage goes where no certain block is.  UNCERTAIN: what was there at the moment has been
 * replaced, perhaps by something smaller, so it reaches as far as it can: to the next certain
 * block, or to the end of the mapping, behind which others are on their own. */
static void add_passage(struct choice *to, struct sweep *s, const struct search_block *e,
                        bool uncertain)
{
        const struct search_block *b = s->certain->at;
        uint64_t last = to->count ? to->at[to->count - 1].address + to->at[to->count - 1].size : 0;
        struct search_block part = { .address = e->address, .size = e->size,
                                     .flags = SEARCH_BLOCK_PASSAGE };
        uint64_t room;

        while (s->next < s->certain->count && b[s->next].address <= e->address) {
                if (b[s->next].address + b[s->next].size > s->end)
                        s->end = b[s->next].address + b[s->next].size;
                s->next++;
        }
        if (s->end > part.address || (s->next && b[s->next - 1].address == part.address))
                return;
        room = s->next < s->certain->count ? b[s->next].address - part.address : UINT64_MAX;
        if (uncertain && part.size < PASSAGE_MAX)
                part.size = PASSAGE_MAX;
        if (part.size > room)
                part.size = room;
        room = mapped_from(s, &part);
        if (part.size > room)
                part.size = room;
        if (last > part.address) { /* it begins in the one before */
                struct search_block *over = &to->at[to->count - 1];

                if (part.address + part.size > last)
                        over->size = part.address + part.size - over->address;
                return;
        }
        if (!part.size)
                return;
        add(to, part);
        note_known(to, e->size < UINT32_MAX ? (uint32_t)e->size : UINT32_MAX);
}

/* Entries of both lists in order of address, those that are certain left out. */
static void find_passages(const struct scan_moment *m, const struct choice *certain,
                          struct choice *passages)
{
        const struct scan_entries *now = m->now, *before = m->before;
        struct sweep s = { .certain = certain, .mappings = m->mappings };
        uint64_t i = 0, j = 0;

        while (i < now->count || j < before->count) {
                bool first = j == before->count ||
                             (i < now->count && by_address(&now->at[i], &before->at[j]) <= 0);
                const struct search_block *e = first ? &now->at[i++] : &before->at[j++];

                if (!first || !is_certain(e))
                        add_passage(passages, &s, e, first);
        }
}

static bool comes_before(const struct search_block *a, const struct search_block *b)
{
        return a->address != b->address ? a->address < b->address : a->size > b->size;
}

/* Both in one list, in order. */
static void join(const struct choice *certain, const struct choice *passages, struct scan_list *out)
{
        uint64_t i = 0, j = 0;

        out->count = certain->count + passages->count;
        out->at = huge_array_zero(out->count, sizeof *out->at);
        out->known = heap_zero(out->count, sizeof *out->known);
        while (i < certain->count || j < passages->count) {
                bool first = j == passages->count ||
                             (i < certain->count &&
                              !comes_before(&passages->at[j], &certain->at[i]));

                out->at[i + j] = first ? certain->at[i] : passages->at[j];
                if (!first)
                        out->known[i + j] = passages->known[j];
                i += first;
                j += !first;
        }
}

/* Whether what was read afterwards is all there was. */
static bool are_all_certain(const struct scan_moment *m)
{
        uint64_t i = 0;

        if (!m->before)
                return true;
        while (i < m->now->count && is_certain(&m->now->at[i]))
                i++;
        return i == m->now->count && !m->before->count;
}

void scan_blocks(const struct scan_moment *m, struct scan_list *out)
{
        struct choice certain = { 0 }, passages = { 0 };

        *out = (struct scan_list){ .at = m->now->at, .count = m->now->count };
        if (are_all_certain(m))
                return;
        for (uint64_t i = 0; i < m->now->count; i++)
                if (is_certain(&m->now->at[i]))
                        add(&certain, m->now->at[i]);
        find_passages(m, &certain, &passages);
        *out = (struct scan_list){ .at = certain.at, .count = certain.count };
        if (!passages.count)
                return;
        join(&certain, &passages, out);
        free(certain.at);
        free(passages.at);
        free(passages.known);
}
