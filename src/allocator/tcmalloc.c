/* SPDX-License-Identifier: MIT */
#include "allocator/tcmalloc.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/radix.h"
#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"

#define PAGE_SHIFT 13u
#define ROOT_WORDS (1u << 17)
#define LEAF_WORDS (1u << 18)
#define LENGTH_MOST (1ull << 35) /* pages of a span */
#define CLASSES_MOST 128u
#define CLASSES_LEAST 40u
#define CLASS_BYTES_MOST (1u << 20)
#define SPAN_MOST (8u << 20)  /* bytes of a span with objects */
#define DATA_MOST (64u << 20) /* of a static program, too */
#define CACHES_MOST 65536u
#define CACHE_ALIGNMENT 64u
#define LIST_MOST (1u << 24) /* objects of a list */
#define SLOTS_MOST 64u
#define CENTER_WORDS 152u /* from one class to the next */

struct span {
        uint64_t start, length; /* in pages */
        uint64_t next, previous, objects;
        uint32_t bits, padding;
};

#define SPAN_TAKEN(s) ((s)->bits & 0xffffu)     /* objects that somebody has */
#define SPAN_CLASS(s) ((s)->bits >> 16 & 0xffu) /* 0: one block */
#define SPAN_SAMPLED(s) ((s)->bits >> 26 & 1u)
#define SPAN_FREE(s) ((s)->bits >> 24 & 3u) /* its pages are nobody's */

/* ThreadCache::FreeList. */
struct list {
        uint64_t head;
        uint32_t length, low_water, most, overages;
        int32_t bytes, padding;
};

struct cache {
        struct list list[CLASSES_MOST];
        uint64_t more[8]; /* the next and the one before are among them */
};

/* CentralFreeList from its number on. */
struct center {
        uint64_t class;
        struct span empty, nonempty; /* heads of lists */
        uint64_t spans, count;
        struct {
                uint64_t head, tail;
        } slot[SLOTS_MOST];
        uint32_t used, room, most;
};

struct walk {
        const struct walk_input *in;
        struct walk_blocks *out;
        uint32_t class_bytes[CLASSES_MOST], class_count;
        uint64_t *caches; /* that were met */
        uint32_t cache_count;
        uint64_t *free; /* sorted: objects in caches and on their way */
        uint64_t free_count, free_met;
        bool centered;              /* the center was found */
        uint64_t known, known_page; /* a span, and where its pages begin */
        uint64_t next_page;         /* behind the last span */
        uint8_t *data;              /* of a span */
        uint8_t *spare;             /* by object of a span: it is free */
};

/* ---- classes ---- */

/* Whether the table begins at SIZES, of which COUNT are there. */
static bool take_classes(struct walk *w, const int32_t *sizes, size_t count)
{
        uint32_t n = 1;

        if (count < CLASSES_MOST || sizes[0] || sizes[1] != 8 || sizes[2] != 16)
                return false;
        while (n < CLASSES_MOST && sizes[n] > sizes[n - 1] && sizes[n] % 8 == 0 &&
               sizes[n] <= (int32_t)CLASS_BYTES_MOST)
                n++;
        if (n < CLASSES_LEAST || (n < CLASSES_MOST && sizes[n]))
                return false;
        for (uint32_t i = 0; i < n; i++)
                w->class_bytes[i] = (uint32_t)sizes[i];
        w->class_count = n;
        return true;
}

static void find_classes(struct walk *w, const uint64_t *words, size_t count, uint64_t start)
{
        const int32_t *sizes = (const int32_t *)(const void *)words;

        (void)start;
        for (size_t i = 0; i < 2 * count && !w->class_count; i++)
                take_classes(w, sizes + i, 2 * count - i);
}

/* ---- objects that are free ---- */

static bool take_object(struct walk *w, uint64_t *at)
{
        w->free = heap_next(w->free, w->free_count, sizeof *w->free);
        w->free[w->free_count++] = *at;
        return *at && walk_read(w->in, *at, at, sizeof *at);
}

static bool is_cache(const struct walk *w, const struct cache *c)
{
        for (uint32_t i = 1; i < w->class_count; i++)
                if (c->list[i].bytes != (int32_t)w->class_bytes[i] ||
                    !c->list[i].head != !c->list[i].length)
                        return false;
        return true;
}

/* Add the cache at AT to those that were met, if it is one. */
static void meet_cache(struct walk *w, uint64_t at)
{
        struct list one;
        struct cache c;

        if (at % CACHE_ALIGNMENT || !mappings_find(w->in->maps, at) ||
            !walk_read(w->in, at + sizeof one, &one, sizeof one) ||
            one.bytes != (int32_t)w->class_bytes[1])
                return;
        for (uint32_t i = 0; i < w->cache_count; i++)
                if (w->caches[i] == at)
                        return;
        if (w->cache_count == CACHES_MOST || !walk_read(w->in, at, &c, sizeof c) ||
            !is_cache(w, &c))
                return;
        w->caches = heap_next(w->caches, w->cache_count, sizeof *w->caches);
        w->caches[w->cache_count++] = at;
}

static void take_cache(struct walk *w, const struct cache *c, uint64_t at)
{
        for (uint32_t i = 1; i < w->class_count; i++) {
                uint64_t object = c->list[i].head;

                for (uint32_t k = 0; k < c->list[i].length; k++)
                        if (!take_object(w, &object)) {
                                walk_ends(w->out, at, "cache of tcmalloc 2.10");
                                return;
                        }
        }
}

/* The caches that the data leads to; of all, the list begins there. */
static void find_caches(struct walk *w, const uint64_t *words, size_t count, uint64_t start)
{
        (void)start;
        for (size_t i = 0; i < count; i++)
                if (words[i])
                        meet_cache(w, words[i]);
}

static void take_caches(struct walk *w)
{
        for (uint32_t i = 0; i < w->cache_count; i++) {
                uint64_t at = w->caches[i];
                struct cache c;

                if (!walk_read(w->in, at, &c, sizeof c))
                        continue;
                for (size_t k = 0; k < sizeof c.more / sizeof *c.more; k++)
                        if (c.more[k])
                                meet_cache(w, c.more[k]);
                walk_add_own(w->out, at, at + sizeof c);
                take_cache(w, &c, at);
        }
}

/* ---- the center ---- */

static bool read_span(const struct walk *w, uint64_t at, struct span *s)
{
        return at % 8 == 0 && walk_read(w->in, at, s, sizeof *s) && s->length &&
               s->length < LENGTH_MOST && s->start < LENGTH_MOST;
}

/* The first span of a class is one by which the map is found. */
static void know_span(struct walk *w, uint64_t at, uint64_t class)
{
        struct span s;

        if (w->known || !read_span(w, at, &s) || SPAN_CLASS(&s) != class)
                return;
        w->known = at;
        w->known_page = s.start;
}

static void take_center(struct walk *w, const struct center *c, uint64_t at)
{
        for (uint32_t i = 0; i < c->used && i < SLOTS_MOST; i++) {
                uint64_t object = c->slot[i].head, last = 0;

                for (uint32_t k = 0; object && last != c->slot[i].tail && k < LIST_MOST; k++) {
                        last = object;
                        if (!take_object(w, &object))
                                break;
                }
                if (last != c->slot[i].tail)
                        walk_ends(w->out, at, "list of tcmalloc 2.10");
        }
        know_span(w, c->empty.next, c->class);
        know_span(w, c->nonempty.next, c->class);
}

/* Structures that are numbered, one for each class. */
static void find_center(struct walk *w, const uint64_t *words, size_t count, uint64_t start)
{
        size_t all = (size_t)w->class_count * CENTER_WORDS, i = 0;
        bool found = false;

        for (; !w->centered && !found && i + all <= count; i++) {
                found = true;
                for (uint32_t c = 0; found && c < w->class_count; c++)
                        found = words[i + c * CENTER_WORDS] == c;
        }
        for (uint32_t c = 1; found && c < w->class_count; c++) {
                size_t at = i - 1 + c * CENTER_WORDS;

                take_center(w, (const struct center *)(const void *)(words + at), start + 8 * at);
        }
        w->centered |= found;
}

/* ---- spans ---- */

/* Its free objects are in SPARE then: those of its own list, and *ELSEWHERE ones of others. */
static bool take_lists(struct walk *w, const struct span *s, uint64_t bytes, uint32_t total,
                       uint32_t *elsewhere)
{
        uint64_t start = s->start << PAGE_SHIFT, end = start + total * bytes, i;
        uint32_t listed = 0;

        memset(w->spare, 0, total);
        if (s->objects && !walk_read(w->in, start, w->data, end - start))
                return false;
        for (uint64_t at = s->objects; at; listed++) {
                uint64_t index = (at - start) / bytes;

                if (at < start || at >= end || (at - start) % bytes || w->spare[index])
                        return false;
                w->spare[index] = 1;
                memcpy(&at, w->data + (at - start), sizeof at);
        }
        i = FIND_FIRST(w->free_count, k, w->free[k] < start);
        for (*elsewhere = 0; i < w->free_count && w->free[i] < end; i++, ++*elsewhere) {
                uint64_t index = (w->free[i] - start) / bytes;

                if ((w->free[i] - start) % bytes || w->spare[index])
                        return false;
                w->spare[index] = 1;
        }
        return listed + SPAN_TAKEN(s) == total && *elsewhere <= SPAN_TAKEN(s);
}

static void take_objects(struct walk *w, const struct span *s)
{
        uint32_t class = SPAN_CLASS(s), elsewhere;
        uint64_t bytes = class < w->class_count ? w->class_bytes[class] : 0,
                 all = s->length << PAGE_SHIFT, start = s->start << PAGE_SHIFT;

        if (!bytes || all > SPAN_MOST ||
            !take_lists(w, s, bytes, (uint32_t)(all / bytes), &elsewhere)) {
                walk_ends(w->out, start, "span of tcmalloc 2.10");
                return;
        }
        w->free_met += elsewhere;
        for (uint32_t i = 0; i < all / bytes; i++)
                if (!w->spare[i])
                        walk_add_block(w->out, start + i * bytes, start + (i + 1) * bytes);
}

/* Blocks that were chosen for a sample have a span of their own, whatever their size: OBJECTS leads
 * to that. */
static uint64_t block_bytes(const struct walk *w, const struct span *s)
{
        uint64_t all = s->length << PAGE_SHIFT, asked = all;

        if (SPAN_SAMPLED(s) && !walk_read(w->in, s->objects, &asked, sizeof asked))
                return all;
        for (uint32_t i = 1; i < w->class_count; i++)
                if (w->class_bytes[i] >= asked && w->class_bytes[i] <= all)
                        return w->class_bytes[i];
        return all;
}

/* What is entered for pages inside of a span may be old: only its first page counts. */
static void take_page(void *context, uint64_t page, uint64_t word)
{
        struct walk *w = context;
        struct span s;

        if (page < w->next_page || !read_span(w, word, &s) || s.start != page)
                return;
        w->next_page = page + s.length;
        walk_add_own(w->out, page << PAGE_SHIFT, w->next_page << PAGE_SHIFT);
        if (SPAN_FREE(&s))
                return;
        if (SPAN_CLASS(&s))
                take_objects(w, &s);
        else
                walk_add_block(w->out, page << PAGE_SHIFT,
                               (page << PAGE_SHIFT) + block_bytes(w, &s));
}

/* ---- all of it ---- */

static void each_data(struct walk *w, void (*find)(struct walk *w, const uint64_t *words,
                                                   size_t count, uint64_t start))
{
        for (uint32_t i = 0; i < w->in->data_count; i++) {
                size_t count;
                uint64_t *words = walk_words(w->in, &w->in->data[i], DATA_MOST, &count);

                find(w, words, count, w->in->data[i].start);
                free(words);
        }
}

void tcmalloc_find(struct walk_blocks *b, const struct walk_input *in)
{
        struct walk w = { .in = in, .out = b };
        struct radix map = { ROOT_WORDS, LEAF_WORDS, take_page, &w, 0, 0, NULL };

        *b = (struct walk_blocks){ 0 };
        if (in->memory.narrow || in->memory.turned)
                return;
        each_data(&w, find_classes);
        if (w.class_count)
                each_data(&w, find_caches);
        if (w.cache_count)
                each_data(&w, find_center);
        if (w.centered)
                take_caches(&w);
        map.page = w.known_page;
        map.word = w.known;
        if (w.free_count)
                qsort(w.free, w.free_count, sizeof *w.free, order_u64);
        w.data = heap_zero(SPAN_MOST, 1);
        w.spare = heap_zero(SPAN_MOST / 8, 1);
        for (uint32_t i = 0; w.known && i < in->data_count && !b->malloc_at; i++)
                b->malloc_at = radix_walk(&map, in, &in->data[i]);
        if (b->malloc_at && w.free_met != w.free_count)
                walk_ends(b, b->malloc_at, "map that has all spans of tcmalloc 2.10");
        walk_sort(b);
        free(w.caches);
        free(w.free);
        free(w.data);
        free(w.spare);
}
