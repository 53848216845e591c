/* SPDX-License-Identifier: MIT */
#include "query/residence.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/own.h"
#include "words/text.h"

#define RESIDENCE_PAGE 4096u /* where it is not told */
#define RESIDENCE_HEAP (64ull << 20) /* glibc's heaps for threads lie at multiples of it */
#define RESIDENCE_LEAST (4ull << 20) /* free memory that is worth a word */
#define RESIDENCE_SPACE (1ull << 47) /* no block is larger */
#define RESIDENCE_HEADER 12u /* of a block of unknown size, on average */

/* ---- blocks ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
        return (n + to - 1) / to * to;
}

/* The next of STEPS sizes between two powers of 2. */
static uint64_t class_of(uint64_t size, uint64_t steps)
{
        uint64_t power = 128;

        if (size <= power)
                return round_up(size ? size : 1, 16);
        while (power * 2 < size)
                power *= 2;
        return round_up(size, power / steps);
}

/* What a block of SIZE takes; the sizes in a damaged file may be anything. */
static uint64_t taken_by(uint32_t keeper, uint64_t size, uint64_t page)
{
        if (size >= RESIDENCE_SPACE)
                return size;
        switch (keeper) {
        case PROFILE_KEEPER_CHUNK:
                return round_up(size + 16, page);
        case PROFILE_KEEPER_JEMALLOC:
                return class_of(size, 4);
        case PROFILE_KEEPER_TCMALLOC:
        case PROFILE_KEEPER_MIMALLOC:
                return class_of(size, 8);
        default:
                return size + 8 <= 32 ? 32 : round_up(size + 8, 16);
        }
}

/* What lies in one mapping. */
struct content {
        uint64_t page;
        uint64_t blocks, bytes, taken;
        uint64_t whole; /* pages between blocks */
        uint64_t top;   /* pages above all blocks of an arena of threads */
        uint64_t unrecorded; /* bytes that blocks take which are in no list */
        uint64_t end;   /* of the last block */
        bool chunks; /* each block begins where one with a mapping of its own does */
};

static uint64_t whole_pages(uint64_t from, uint64_t to, uint64_t page)
{
        from = round_up(from, page);
        to = to / page * page;
        return to > from ? to - from : 0;
}

/* One more block, which KEEPER keeps.  C->end: where the one before ends. */
static void add_block(struct content *c, uint32_t keeper, const struct profile_block *b,
                      uint64_t times)
{
        uint64_t taken = taken_by(keeper, b->size, c->page);

        c->blocks += times;
        c->bytes += times * b->size;
        c->taken += times * taken;
        c->chunks &= b->address % c->page == 16;
        c->whole += whole_pages(c->end, b->address < 16 ? 0 : b->address - 16, c->page);
        if (b->address + taken > c->end)
                c->end = b->address + taken;
}

static void end_content(struct content *c, uint32_t keeper, const struct profile_mapping *m)
{
        uint64_t above = whole_pages(c->end, m->end, c->page);

        *(keeper == PROFILE_KEEPER_ARENA ? &c->top : &c->whole) += above;
        if (m->unrecorded_blocks)
                c->unrecorded = m->unrecorded_blocks *
                                taken_by(keeper, m->unrecorded_bytes / m->unrecorded_blocks,
                                         c->page);
}

/* What is in M; when malloc keeps it and all of its blocks are such, as what has mappings of its
 * own. */
static struct content look_into(struct residence *r, const struct profile_mapping *m,
                                uint32_t *keeper)
{
        uint64_t page = r->p->meta.page_bytes;
        struct content c = { .page = page ? page : RESIDENCE_PAGE, .chunks = true,
                             .end = m->start }, apart = c;

        for (; r->more && r->walk.block->address < m->end; r->more = packed_next(&r->walk)) {
                const struct profile_block *b = r->walk.block;
                uint64_t times = profile_block_times(r->p, b);

                add_block(&c, *keeper, b, times);
                if (c.chunks)
                        add_block(&apart, PROFILE_KEEPER_CHUNK, b, times);
        }
        if (*keeper == PROFILE_KEEPER_MALLOC && c.blocks && c.chunks) {
                *keeper = PROFILE_KEEPER_CHUNK;
                c = apart;
        }
        end_content(&c, *keeper, m);
        return c;
}

/* Without a list of the blocks each mapping gets its part of what is known of all. */
static void share_out(struct residence *r, const struct residence_part *part, struct content *c)
{
        double all = r->unknown_rss ? (double)r->unknown_rss : 1;
        double before = (double)r->unknown_before / all,
               after = before + (double)part->rss_bytes / all;

        *c = (struct content){ .unrecorded = c->unrecorded };
        before = before < 1 ? before : 1;
        after = after < 1 ? after : 1;
        if (part->keeper == PROFILE_KEEPER_CHUNK) {
                c->bytes = c->taken = part->rss_bytes;
                return;
        }
        r->unknown_before += part->rss_bytes;
        c->blocks = (uint64_t)((double)r->unknown_blocks * after) -
                    (uint64_t)((double)r->unknown_blocks * before);
        c->bytes = (uint64_t)((double)r->unknown_live * after) -
                   (uint64_t)((double)r->unknown_live * before);
        c->taken = c->bytes + RESIDENCE_HEADER * c->blocks;
}

/* ---- whose a mapping is ---- */

static bool is_anonymous(const struct profile_mapping *m)
{
        const uint32_t rights = PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE;

        return (m->flags & (rights | PROFILE_MAPPING_SHARED)) == rights &&
               (!m->name[0] || strcmp(m->name, "[heap]") == 0 || strncmp(m->name, "[anon", 5) == 0);
}

/* A heap of glibc for threads as the kernel sees it, where nobody could read it: what is not used
 * yet follows, up to the next multiple. */
static bool looks_like_heap(const struct profile *p, uint32_t i)
{
        const struct profile_mapping *m = &p->mappings[i],
                                     *next = i + 1 < p->mapping_count ? m + 1 : NULL;

        return m->start % RESIDENCE_HEAP == 0 && next && next->start == m->end && !next->name[0] &&
               !(next->flags &
                 (PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE | PROFILE_MAPPING_EXECUTE)) &&
               next->end >= m->start + RESIDENCE_HEAP && m->end < m->start + RESIDENCE_HEAP;
}

/* Whether REGION was mapped by the allocator itself. */
static bool is_allocators(const struct residence *r, const struct profile_region *region)
{
        const struct profile *p = r->p;
        uint32_t node = region->site < p->site_count ? p->sites[region->site].node : 0;

        return node < p->node_count && p->nodes[node].pc >= r->serves_from &&
               p->nodes[node].pc < r->serves_to;
}

/* The keeper of mapping I, before its blocks are known.  Beside the stack of a thread, in the same
 * mapping, may be anything of the C library's. */
static uint32_t keeper_of(const struct residence *r, uint32_t i,
                          const struct profile_region *region)
{
        const struct profile_mapping *m = &r->p->mappings[i];
        uint32_t keeper = PROFILE_MAPPING_KEEPER(m->flags);
        bool has = r->more && r->walk.block->address < m->end;

        if (region && region->stack)
                region = NULL;
        if (!is_anonymous(m))
                return PROFILE_KEEPER_NONE;
        if (keeper >= PROFILE_KEEPER_COUNT)
                keeper = PROFILE_KEEPER_OTHER;
        if (keeper >= PROFILE_KEEPER_MALLOC && region && !has && !is_allocators(r, region))
                return PROFILE_KEEPER_NONE; /* the program's, where the allocator once had memory */
        if (keeper)
                return keeper;
        if (strcmp(m->name, "[heap]") == 0)
                return r->other ? r->other : PROFILE_KEEPER_HEAP;
        if (region)
                return r->other && is_allocators(r, region) ? r->other : PROFILE_KEEPER_NONE;
        if (!r->other && looks_like_heap(r->p, i))
                return PROFILE_KEEPER_ARENA;
        return !has ? PROFILE_KEEPER_NONE : r->other ? r->other : PROFILE_KEEPER_MALLOC;
}

/* ---- the walk ---- */

ORDER_BY(compare_regions, struct profile_region, start)

/* What the program, or its allocator, mapped in M by a call that was seen; NULL nothing. */
static const struct profile_region *region_in(struct residence *r, const struct profile_mapping *m)
{
        while (r->region < r->p->region_count && r->regions[r->region].end <= m->start)
                r->region++;
        return r->region < r->p->region_count && r->regions[r->region].start < m->end
                       ? &r->regions[r->region]
                       : NULL;
}

static void find_serving(struct residence *r)
{
        const struct profile *p = r->p;

        for (uint32_t i = 0; i < p->mapping_count; i++) {
                const struct profile_mapping *m = &p->mappings[i];

                if (PROFILE_MAPPING_KEEPER(m->flags) > PROFILE_KEEPER_MALLOC)
                        r->other = PROFILE_MAPPING_KEEPER(m->flags) < PROFILE_KEEPER_COUNT
                                           ? PROFILE_MAPPING_KEEPER(m->flags)
                                           : PROFILE_KEEPER_OTHER;
                if (m->flags & PROFILE_MAPPING_SERVES) {
                        r->serves_from = m->start;
                        r->serves_to = m->end;
                }
        }
}

/* The list of blocks is that of the end.  The mappings are, when they were looked at while the
 * process waited there for the search; otherwise they may be old, and blocks that were freed since
 * would seem to have been free. */
static bool is_of_one_moment(const struct profile *p)
{
        const struct profile_scan *scan = profile_scanned(p);

        return scan && PROFILE_SCAN_IS_LAST(scan->when) &&
               (p->block_count || !p->totals.live_blocks);
}

/* What was live when the mappings were looked at.  Earlier recordings do not say: a slice was cut
 * then, too.  Where that was dropped, the larger of its neighbours. */
static void find_live(struct residence *r)
{
        const struct profile *p = r->p;
        const struct profile_slice *s = p->slices;
        bool known = p->totals.mappings_live_blocks;
        uint32_t i = 0;

        r->unknown_blocks = known ? p->totals.mappings_live_blocks : p->totals.live_blocks;
        r->unknown_live = known ? p->totals.mappings_live_bytes : p->totals.live_bytes;
        if (known || !p->slice_count)
                return;
        while (i + 1 < p->slice_count && s[i].ms < p->totals.mappings_ms)
                i++;
        if (i && s[i].ms != p->totals.mappings_ms && s[i - 1].live_bytes > s[i].live_bytes)
                i--;
        r->unknown_blocks = s[i].live_blocks;
        r->unknown_live = s[i].live_bytes;
}

static void find_unknown(struct residence *r)
{
        const struct profile *p = r->p;
        uint64_t chunks = 0;

        r->guessed = !is_of_one_moment(p);
        if (!r->guessed)
                return;
        for (uint32_t i = 0; i < p->mapping_count; i++) {
                uint32_t keeper = keeper_of(r, i, region_in(r, &p->mappings[i]));

                if (keeper == PROFILE_KEEPER_CHUNK)
                        chunks += p->mappings[i].rss_bytes;
                else if (keeper)
                        r->unknown_rss += p->mappings[i].rss_bytes;
        }
        r->region = 0;
        find_live(r);
        r->unknown_live -= least(r->unknown_live, chunks);
}

void residence_start(struct residence *r, const struct profile *p)
{
        *r = (struct residence){ .p = p,
                                 .regions = heap_zero(p->region_count, sizeof *r->regions) };
        if (p->region_count) {
                memcpy(r->regions, p->regions, p->region_count * sizeof *r->regions);
                qsort(r->regions, p->region_count, sizeof *r->regions, compare_regions);
        }
        packed_open_blocks(&r->walk, p);
        r->more = packed_next(&r->walk);
        find_serving(r);
        find_unknown(r);
}

void residence_end(struct residence *r)
{
        packed_close(&r->walk);
        free(r->regions);
        *r = (struct residence){ 0 };
}

/* Pages that are not resident are among those without a block. */
static void divide(struct residence_part *out, const struct content *c)
{
        uint64_t missing = out->bytes - least(out->rss_bytes, out->bytes);

        out->blocks = c->blocks;
        out->live_bytes = c->bytes;
        out->headers_bytes = c->taken > c->bytes ? c->taken - c->bytes : 0;
        out->used_bytes = least(c->bytes, out->rss_bytes);
        out->overhead_bytes = least(out->headers_bytes, out->rss_bytes - out->used_bytes);
        out->free_bytes = out->rss_bytes - out->used_bytes - out->overhead_bytes;
        out->unrecorded_bytes = least(c->unrecorded, out->free_bytes);
        out->free_bytes -= out->unrecorded_bytes;
        if (out->keeper == PROFILE_KEEPER_CHUNK || !out->keeper) {
                out->rest_bytes = out->free_bytes;
                out->free_bytes = 0;
        }
        out->top_bytes = least(c->top - least(c->top, missing), out->free_bytes);
        missing -= least(c->top, missing);
        out->whole_bytes = least(c->whole > missing ? c->whole - missing : 0,
                                 out->free_bytes - out->top_bytes);
}

/* Of a process that was there before, what is no recorded block may be an older one. */
static void doubt_free(struct residence_part *out)
{
        out->unrecorded_bytes += out->free_bytes;
        out->free_bytes = out->whole_bytes = out->top_bytes = 0;
}

bool residence_next(struct residence *r, struct residence_part *out,
                    const struct profile_region **region)
{
        const struct profile *p = r->p;
        const struct profile_mapping *m;
        struct content c;

        if (r->mapping >= p->mapping_count)
                return false;
        m = &p->mappings[r->mapping];
        *region = region_in(r, m);
        while (r->more && r->walk.block->address < m->start)
                r->more = packed_next(&r->walk);
        *out = (struct residence_part){ .keeper = keeper_of(r, r->mapping++, *region),
                                        .mappings = 1,
                                        .guessed = r->guessed,
                                        .bytes = m->end - m->start,
                                        .rss_bytes = m->rss_bytes };
        c = look_into(r, m, &out->keeper);
        if (out->keeper && r->guessed)
                share_out(r, out, &c);
        divide(out, &c);
        if (p->totals.attached)
                doubt_free(out);
        return true;
}

/* ---- all of them ---- */

static void add_part(struct residence_part *to, const struct residence_part *part)
{
        to->keeper = part->keeper;
        to->guessed = part->guessed;
        to->mappings += part->mappings;
        to->bytes += part->bytes;
        to->rss_bytes += part->rss_bytes;
        to->blocks += part->blocks;
        to->live_bytes += part->live_bytes;
        to->used_bytes += part->used_bytes;
        to->overhead_bytes += part->overhead_bytes;
        to->free_bytes += part->free_bytes;
        to->whole_bytes += part->whole_bytes;
        to->top_bytes += part->top_bytes;
        to->unrecorded_bytes += part->unrecorded_bytes;
        to->rest_bytes += part->rest_bytes;
        to->headers_bytes += part->headers_bytes;
}

void residence_sum(const struct profile *p, struct residence_sums *out)
{
        const struct profile_region *region;
        struct residence_part part;
        struct residence r;

        residence_start(&r, p);
        *out = (struct residence_sums){ .guessed = r.guessed };
        while (residence_next(&r, &part, &region)) {
                if (!part.keeper && !region && own_mapping(p, &p->mappings[r.mapping - 1]))
                        continue;
                out->rss_bytes += part.rss_bytes;
                if (!part.keeper)
                        continue;
                add_part(&out->parts[part.keeper], &part);
                out->free_bytes += part.free_bytes;
                out->whole_bytes += part.whole_bytes;
        }
        residence_end(&r);
}

const struct residence_part *residence_wasted(const struct residence_sums *s)
{
        const struct residence_part *most = &s->parts[0];

        for (uint32_t i = 1; i < PROFILE_KEEPER_COUNT; i++)
                if (s->parts[i].free_bytes > most->free_bytes)
                        most = &s->parts[i];
        return s->free_bytes >= RESIDENCE_LEAST && s->free_bytes > s->rss_bytes / 2 ? most : NULL;
}

/* malloc_trim() gives back whole pages below the last block, in all arenas; above it, in the main
 * one only.  There free() does, when what it joins has 64 KiB: small blocks are not joined. */
static void advise_trim(const struct residence_part *part, struct str *out)
{
        if (part->guessed) {
                str_text(out, "malloc_trim(0) gives back what is in whole pages");
                return;
        }
        if (part->top_bytes > part->free_bytes / 2) {
                str_text(out, "a free() of 64 KiB or more in each gives it back");
                return;
        }
        if (part->whole_bytes < part->free_bytes / 2)
                str_text(out, "it lies between live blocks; ");
        str_text(out, "malloc_trim(0) gives back ");
        text_size(out, (int64_t)part->whole_bytes);
}

void residence_advice(const struct residence_part *part, struct str *out)
{
        switch (part->keeper) {
        case PROFILE_KEEPER_ARENA:
                advise_trim(part, out);
                str_text(out, "; fewer arenas: MALLOC_ARENA_MAX=2");
                break;
        case PROFILE_KEEPER_HEAP:
                advise_trim(part, out);
                break;
        case PROFILE_KEEPER_JEMALLOC:
                str_text(out, "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 gives it back at "
                              "once, background_thread:true soon");
                break;
        case PROFILE_KEEPER_TCMALLOC:
                str_text(out, "TCMALLOC_RELEASE_RATE=10 gives it back over time, "
                              "TCMALLOC_AGGRESSIVE_DECOMMIT=1 at once");
                break;
        case PROFILE_KEEPER_MIMALLOC:
                str_text(out, "mi_collect(true) or MIMALLOC_PURGE_DELAY=0 (before 2.1: "
                              "MIMALLOC_DECOMMIT_DELAY=0) gives it back");
                break;
        default:
                str_text(out, "see the allocator's manual for how to return it");
                break;
        }
}
