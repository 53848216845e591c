/* SPDX-License-Identifier: MIT */
/* glibc.c -- the blocks of glibc's malloc: its heaps from chunk to chunk, and mapped blocks. */
#include "allocator/glibc.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/glibc_parts.h"
#include "base/find.h"
#include "base/heap.h"

#define GAP_MOST (1ull << 30) /* bytes that somebody else got by brk between two pieces */

/* ---- reading ---- */

/* Memory from AT on.  A part of it may be gone; what is asked for need not be.  Where chunks are so
 * far apart that a read costs less than the pages between (measured: not with one, well before
 * eight), their heads alone are read; not from another machine, where each read is a journey. */
static void move_window(struct glibc_walk *w, uint64_t at)
{
        bool heads = w->window_next && w->stride >= GLIBC_FAR && !w->in->memory.pointers;
        uint64_t unit = heads ? GLIBC_HEADER : GLIBC_PAGE;
        size_t bytes = heads ? 2 * GLIBC_HEADER : w->window_next ? GLIBC_WINDOW : GLIBC_PAGE;

        w->window_at = at / unit * unit;
        w->window_bytes = w->in->memory.read(w->in->memory.context, w->window_at, w->window, bytes);
}

bool glibc_word(struct glibc_walk *w, uint64_t at, uint64_t *out)
{
        uint64_t into = at - w->window_at;

        if (at < w->window_at || into + w->width > w->window_bytes) {
                move_window(w, at);
                into = at - w->window_at;
                if (into + w->width > w->window_bytes)
                        return false;
        }
        *out = walk_number(w->in, w->window + into, w->width);
        return true;
}

/* ---- whose memory ---- */

bool glibc_owns(const struct glibc_walk *w, uint64_t address)
{
        const struct walk_blocks *b = w->out;
        uint32_t i = (uint32_t)FIND_FIRST(b->own_count, k, b->own[k].start <= address);

        return i && address < b->own[i - 1].end;
}

/* ---- from chunk to chunk ---- */

static bool is_in(const uint64_t *list, uint64_t count, uint64_t chunk)
{
        uint64_t i = FIND_FIRST(count, k, list[k] < chunk);

        return i < count && list[i] == chunk;
}

/* The second word of a chunk. */
static bool read_size(struct glibc_walk *w, uint64_t chunk, uint64_t *out)
{
        return glibc_word(w, chunk + w->width, out);
}

/* Bytes of a chunk that is no block: the end of a piece of memory. */
static uint64_t fence(const struct glibc_walk *w)
{
        return w->head;
}

/* What follows a chunk of SIZE at AT, with its own size in *NEXT; false: it can be none. */
static bool is_sound(struct glibc_walk *w, const struct glibc_piece *p, uint64_t at, uint64_t word,
                     uint64_t *next)
{
        uint64_t size = GLIBC_SIZE(word);

        return size >= w->minimum && size % w->alignment == 0 && size <= p->end - at &&
               !(word & (GLIBC_MAPPED | GLIBC_NOT_MAIN) & ~p->flag) &&
               at + size + w->head <= p->end && read_size(w, at + size, next);
}

/* What is done with a chunk in use. */
typedef void glibc_see(struct glibc_walk *w, uint64_t chunk, uint64_t size);

static void see_block(struct glibc_walk *w, uint64_t chunk, uint64_t size)
{
        if (!is_in(w->free_chunks, w->free_count, chunk) &&
            !is_in(w->caches, w->cache_count, chunk))
                walk_add_block(w->out, chunk + w->head, chunk + size + w->width);
}

/* Walk P.  Where it ends: at top, behind fence posts, or (*SOUND false) at what is no chunk.  SEE
 * gets all that are in use; NULL: nobody. */
static uint64_t walk_piece(struct glibc_walk *w, const struct glibc_piece *p, glibc_see *see,
                           bool *sound)
{
        uint64_t at = p->start, word, next = 0;

        *sound = true;
        while (at != p->top) {
                uint64_t size;

                if (at + w->head > p->end || !read_size(w, at, &word))
                        break;
                size = GLIBC_SIZE(word);
                if (size == fence(w) ||
                    (p->flag && word == GLIBC_IN_USE)) /* at the very end of 0 bytes */
                        return at + fence(w);
                if (!is_sound(w, p, at, word, &next))
                        break;
                /* In front of a post of no bytes there is another one, of any size. */
                if (see && GLIBC_SIZE(next) && next & GLIBC_IN_USE)
                        see(w, at, size);
                at += size;
                w->stride = (7 * w->stride + (size < GLIBC_WINDOW ? size : GLIBC_WINDOW)) / 8;
        }
        *sound = at == p->top;
        return at;
}

static void lost_way(struct glibc_walk *w, const struct glibc_piece *p, uint64_t at)
{
        uint64_t word = 0;

        read_size(w, at, &word);
        walk_trouble(w->out,
                     "the heap at 0x%llx cannot be walked to its end: 0x%llx bytes from its start "
                     "the size of a block is 0x%llx",
                     (unsigned long long)p->start, (unsigned long long)(at - p->start),
                     (unsigned long long)word);
}

/* ---- the main arena ---- */

static bool is_post(struct glibc_walk *w, uint64_t at)
{
        uint64_t word;

        return read_size(w, at, &word) && GLIBC_SIZE(word) == fence(w);
}

/* Somebody else has used brk between two pieces: the next one begins where a walk leads to top, or
 * to a post again. */
static uint64_t next_piece(struct glibc_walk *w, const struct glibc_piece *p, uint64_t at)
{
        struct glibc_piece next = *p;

        for (next.start = glibc_chunk_from(w, at);
             next.start < p->end && next.start - at < GAP_MOST; next.start += w->alignment) {
                uint64_t word, end;
                bool sound;

                if (next.start == p->top)
                        return next.start;
                if (!read_size(w, next.start, &word) || !(word & GLIBC_IN_USE) ||
                    GLIBC_SIZE(word) < w->minimum)
                        continue;
                end = walk_piece(w, &next, NULL, &sound);
                if (sound && (end == p->top || is_post(w, end)))
                        return next.start;
        }
        return 0;
}

/* Piece after piece.  Two posts end all but the last. */
static void walk_main(struct glibc_walk *w, struct glibc_piece p, glibc_see *see)
{
        for (;;) {
                bool sound;
                uint64_t at = walk_piece(w, &p, see, &sound);

                if (!sound)
                        lost_way(w, &p, at);
                if (!sound || at == p.top)
                        return;
                p.start = next_piece(w, &p, is_post(w, at) ? at + fence(w) : at);
                if (!p.start && p.top)
                        walk_trouble(w->out, "the heap around 0x%llx ends before its last block",
                                     (unsigned long long)at);
                if (!p.start)
                        return;
        }
}

static const struct mapping *brk_mapping(const struct glibc_walk *w)
{
        for (uint32_t i = 0; !w->brk_start && i < w->in->maps->count; i++)
                if (strncmp(w->in->maps->at[i].path, "[heap]", 6) == 0)
                        return &w->in->maps->at[i];
        return w->brk_start ? mappings_find(w->in->maps, w->brk_start) : NULL;
}

/* Mappings that follow each other are one piece: the kernel may divide it (mprotect, core files).
 * */
static uint64_t end_of(const struct glibc_walk *w, const struct mapping *m)
{
        const struct mappings *all = w->in->maps;

        while (m + 1 < all->at + all->count && m[1].start == m->end && m[1].writable &&
               (m[1].anonymous || strncmp(m[1].path, "[heap]", 6) == 0))
                m++;
        return m->end;
}

static void add_piece(struct glibc_walk *w, struct glibc_piece p)
{
        w->pieces = heap_grow(w->pieces, w->piece_count + 1, sizeof *w->pieces);
        w->pieces[w->piece_count++] = p;
}

/* Returns whether top is in it. */
static bool find_brk(struct glibc_walk *w, const struct glibc_arena *a)
{
        const struct mapping *m = brk_mapping(w);
        struct glibc_piece p = { 0 };

        if (!m || a->top == a->bins - w->head)
                return false;
        p.start = glibc_chunk_from(w, w->brk_start ? w->brk_start : m->start);
        p.end = end_of(w, m);
        p.top = a->top >= p.start && a->top < p.end ? a->top : 0;
        if (p.top || w->brk_start) {
                walk_add_own(w->out, p.start, p.end);
                add_piece(w, p);
        }
        return p.top;
}

static bool is_plain(const struct mapping *m)
{
        return m->readable && m->writable && !m->shared &&
               (m->anonymous || strncmp(m->path, "[anon", 5) == 0);
}

/* The piece of A that begins at START in M; its end, or 0: there is none. */
static uint64_t mapped_piece(struct glibc_walk *w, const struct glibc_arena *a, uint64_t start,
                             const struct mapping *m)
{
        struct glibc_piece p = { .start = start, .end = m->end };
        uint64_t word, end;
        bool sound;

        p.top = a->top >= start && a->top < m->end ? a->top : 0;
        if (!read_size(w, start, &word) || (word & 7) != GLIBC_IN_USE ||
            GLIBC_SIZE(word) < w->minimum)
                return 0;
        end = walk_piece(w, &p, NULL, &sound);
        if (!sound || (end != p.top && !is_post(w, end)) || !read_size(w, end, &word))
                return 0;
        end += GLIBC_SIZE(word) < m->end - end ? GLIBC_SIZE(word) : m->end - end;
        walk_add_own(w->out, start, end);
        add_piece(w, p);
        return end;
}

/* Where brk had no room malloc maps memory, and the arena is in pieces all over: each begins with a
 * page. */
static void find_mapped_pieces(struct glibc_walk *w, const struct glibc_arena *a)
{
        for (uint32_t i = 0; i < w->in->maps->count; i++) {
                const struct mapping *m = &w->in->maps->at[i];

                for (uint64_t at = m->start, end; is_plain(m) && at < m->end;) {
                        end = mapped_piece(w, a, at + w->lead, m);
                        at = end ? (end + GLIBC_PAGE - 1) / GLIBC_PAGE * GLIBC_PAGE
                                 : at + GLIBC_PAGE;
                }
        }
}

/* ---- arenas of threads ---- */

/* Bytes: of the bins and their map, next, the sizes. */
static uint32_t behind_bins(const struct glibc_walk *w)
{
        return GLIBC_BINS * w->head + GLIBC_BIN_MAP + 5 * w->width;
}

static void find_heaps(struct glibc_walk *w, const struct glibc_arena *a)
{
        uint64_t heap = a->top & ~(a->heap_most - 1), first = a->at & ~(a->heap_most - 1), previous;
        struct glibc_heap_info h;

        for (uint32_t steps = 0; heap && steps < GLIBC_HEAPS_MOST; steps++, heap = previous) {
                struct glibc_piece p = { .start = heap + (a->at - first), .flag = GLIBC_NOT_MAIN };

                previous = glibc_heap_at(w, heap, a, &h);
                if (!h.arena)
                        break;
                if (heap == first)
                        p.start = glibc_chunk_from(w, a->bins + behind_bins(w));
                p.end = heap + h.size;
                p.top = a->top >= heap && a->top < p.end ? a->top : 0;
                walk_add_own(w->out, heap, heap + h.writable);
                add_piece(w, p);
        }
        if (heap)
                walk_trouble(w->out, "the heaps of the arena at 0x%llx do not lead to its first",
                             (unsigned long long)a->at);
}

/* ---- blocks with a mapping of their own ---- */

/* memalign moves the start of such a block, and leaves what was there: where is it, when the one at
 * AT has SIZE bytes? */
static uint64_t aligned_start(struct glibc_walk *w, uint64_t at, uint64_t size)
{
        for (uint64_t alignment = 2 * w->alignment; alignment && alignment < size;
             alignment *= 2) {
                uint64_t mem = (at + w->head + alignment - 1) & ~(alignment - 1), word[2];
                uint64_t lead = mem - w->head - at;

                if (lead && lead < w->minimum)
                        lead += alignment;
                if (lead && lead < size && walk_read_words(w->in, at + lead, word, 2) &&
                    word[0] == lead + w->lead && word[1] == ((size - lead) | GLIBC_MAPPED))
                        return at + lead;
        }
        return at;
}

/* The mapped blocks of M, page by page. */
static uint64_t walk_mapped(struct glibc_walk *w, const struct mapping *m)
{
        uint64_t at = m->start, sum = 0;

        while (at < m->end) {
                uint64_t before, word, size, chunk;

                if (w->in->memory.next) {
                        at = w->in->memory.next(w->in->memory.context, at, m->end) / GLIBC_PAGE *
                             GLIBC_PAGE;
                        if (at >= m->end)
                                break;
                }
                chunk = at + w->lead;
                size = glibc_word(w, chunk, &before) && read_size(w, chunk, &word) &&
                                       before == w->lead && (word & 7) == GLIBC_MAPPED
                               ? GLIBC_SIZE(word) + w->lead
                               : 0;
                if (glibc_owns(w, at) || size < GLIBC_PAGE || size % GLIBC_PAGE ||
                    size > m->end - at) {
                        at += GLIBC_PAGE;
                        continue;
                }
                chunk = aligned_start(w, chunk, size - w->lead);
                walk_add_block(w->out, chunk + w->head, at + size);
                sum += size;
                at += size;
        }
        return sum;
}

static void find_mapped(struct glibc_walk *w)
{
        uint64_t sum = 0;

        w->window_bytes = 0;
        for (uint32_t i = 0; i < w->in->maps->count; i++)
                if (is_plain(&w->in->maps->at[i]))
                        sum += walk_mapped(w, &w->in->maps->at[i]);
        if (w->mapped_bytes != sum && w->brk_start)
                walk_trouble(
                        w->out,
                        "blocks with a mapping of their own have %llu bytes, and %llu were found",
                        (unsigned long long)w->mapped_bytes, (unsigned long long)sum);
}

/* ---- all of it ---- */

static void find_pieces(struct glibc_walk *w)
{
        for (uint32_t i = 0; i < w->arena_count; i++) {
                struct glibc_arena *a = &w->arenas[i];
                bool found;

                if (a->heap_most) {
                        find_heaps(w, a);
                        continue;
                }
                walk_add_own(w->out, a->at, a->bins + behind_bins(w));
                found = i == 0 &&
                        find_brk(w, a); /* another main arena is that of a namespace (dlmopen) */
                if (a->top != a->bins - w->head && (a->split || !found))
                        find_mapped_pieces(w, a);
        }
        walk_sort(w->out); /* for glibc_owns() */
}

static void walk_pieces(struct glibc_walk *w, glibc_see *see)
{
        for (uint32_t i = 0; i < w->piece_count; i++) {
                const struct glibc_piece *p = &w->pieces[i];
                uint64_t end;
                bool sound = true;

                if (!p->flag)
                        walk_main(w, *p, see);
                else if (end = walk_piece(w, p, see, &sound), !sound)
                        lost_way(w, p, end);
        }
}

/* Blocks that lie in others are none: somebody has written over their sizes, or never was malloc's.
 * */
static void settle(struct walk_blocks *b)
{
        uint64_t kept = 0;

        walk_sort(b);
        for (uint64_t i = 0; i < b->count; i++)
                if (!kept || b->at[i].start >= b->at[kept - 1].end)
                        b->at[kept++] = b->at[i];
        b->count = kept;
}

void glibc_find(struct walk_blocks *b, const struct walk_input *in)
{
        struct glibc_walk w = { .in = in, .out = b, .window = heap_zero(GLIBC_WINDOW, 1) };

        w.width = walk_width(in);
        w.head = 2 * w.width;
        w.minimum = 4 * w.width;
        w.alignment = in->alignment;
        w.lead = (w.alignment - w.head % w.alignment) % w.alignment;
        *b = (struct walk_blocks){ 0 };
        glibc_find_arenas(&w);
        if (w.arena_count) {
                b->malloc_at = w.arenas[0].at;
                find_pieces(&w);
                if (in->tls_unknown)
                        walk_pieces(&w, glibc_see_cache);
                glibc_find_free(&w);
                w.window_next = true;
                walk_pieces(&w, see_block);
                w.window_next = false;
                find_mapped(&w);
                settle(b);
        }
        free(w.arenas);
        free(w.pieces);
        free(w.free_chunks);
        free(w.caches);
        free(w.window);
}
