/* SPDX-License-Identifier: MIT */
#include "allocator/musl.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define PAGE 4096u
#define UNIT 16u            /* sizes and places of slots are multiples of it */
#define SLOT_END 4u         /* bytes at the end of a slot that are the next one's */
#define DATA_MOST (64u << 20) /* of a static program, too */
#define AREAS_MOST 65536u
#define AREA_HEAD 24u
#define METAS_MOST ((PAGE - AREA_HEAD) / 40u)

/* As they are in memory, on 64-bit processors. */
struct meta {
        uint64_t previous, next, group;
        uint32_t available, freed; /* by slot: bits */
        uint64_t word; /* last slot: 5 bits, freeable: 1, class: 6, pages of a mapping: the rest */
};
struct area {
        uint64_t check, next;
        int32_t count, padding;
        struct meta metas[METAS_MOST];
};

#define META_LAST(m) ((uint32_t)((m)->word & 31u))
#define META_CLASS(m) ((uint32_t)((m)->word >> 6 & 63u))
#define META_PAGES(m) ((m)->word >> 12)

/* In units, by class. */
static const uint16_t classes[48] = {
        1,   2,   3,   4,   5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
        36,  42,  50,  63,  72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
        584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191
};

struct walk {
        const struct walk_input *in;
        struct walk_blocks *out;
};

static bool read_at(const struct walk *w, uint64_t at, void *to, size_t bytes)
{
        return walk_read(w->in, at, to, bytes);
}

static void trouble(const struct walk *w, uint64_t at, const char *what)
{
        walk_trouble(w->out, "the heap cannot be walked to its end: 0x%llx is no %s of malloc",
                     (unsigned long long)at, what);
}

/* ---- slots ---- */

/* The slot from START to END: the block in it, unless it holds a group. */
static void take_slot(const struct walk *w, uint64_t start, uint64_t end)
{
        uint8_t head[4], tail[4];
        uint64_t block = start, size;
        uint32_t spare, far;

        if (!read_at(w, start - 4, head, sizeof head)) {
                trouble(w, start, "slot");
                return;
        }
        if (head[1] >> 5 == 7) { /* it begins further inside */
                block += UNIT * (uint64_t)(head[2] | head[3] << 8);
                if (block >= end || !read_at(w, block - 4, head, sizeof head)) {
                        trouble(w, start, "slot");
                        return;
                }
        }
        spare = head[1] >> 5;
        if (spare == 6)
                return;
        if (spare == 5 && read_at(w, end - 4, tail, sizeof tail)) {
                memcpy(&far, tail, sizeof far);
                spare = far;
        }
        size = end - block;
        if (spare > size) {
                trouble(w, block, "block");
                return;
        }
        walk_add_block(w->out, block, end - spare);
}

/* ---- groups ---- */

static void take_group(const struct walk *w, uint64_t at, const struct meta *m)
{
        uint64_t back, pages = META_PAGES(m), storage = m->group + UNIT;
        bool mapped = !META_LAST(m) && pages;
        uint64_t stride = mapped                      ? pages * PAGE - UNIT
                          : META_CLASS(m) < 48 ? UNIT * (uint64_t)classes[META_CLASS(m)]
                                                      : 0;

        if (!read_at(w, m->group, &back, sizeof back) || back != at || !stride ||
            m->group % UNIT || pages > UINT64_MAX / PAGE / 2) {
                trouble(w, m->group, "group");
                return;
        }
        walk_add_own(w->out, m->group,
                     pages ? m->group + pages * PAGE : storage + stride * (META_LAST(m) + 1ull));
        for (uint32_t i = 0; i <= META_LAST(m); i++)
                if (!((m->available | m->freed) >> i & 1))
                        take_slot(w, storage + stride * i, storage + stride * (i + 1) - SLOT_END);
}

static void walk_areas(struct walk *w, uint64_t secret, uint64_t at)
{
        struct area *a = heap_zero(1, sizeof *a);

        for (uint32_t steps = 0; at && steps < AREAS_MOST; steps++, at = a->next) {
                if (at % PAGE || !read_at(w, at, a, sizeof *a) || a->check != secret ||
                    a->count < 0 || (uint32_t)a->count > METAS_MOST) {
                        trouble(w, at, "page of descriptors");
                        break;
                }
                walk_add_own(w->out, at, at + PAGE);
                for (int32_t i = 0; i < a->count; i++)
                        if (a->metas[i].group)
                                take_group(w, at + AREA_HEAD + sizeof *a->metas * (uint32_t)i,
                                           &a->metas[i]);
        }
        free(a);
}

/* ---- the context ---- */

/* Words from the secret to the pointer to the first area, without and with a page size. */
static const uint32_t heads[] = { 7, 8 };

/* Whether one is at AT: a descriptor in it has a group that leads back to it. */
static bool is_area(const struct walk *w, uint64_t at, uint64_t secret)
{
        struct area *a = heap_zero(1, sizeof *a);
        bool found = false;

        if (at % PAGE == 0 && read_at(w, at, a, sizeof *a) && a->check == secret && a->count > 0 &&
            (uint32_t)a->count <= METAS_MOST)
                for (int32_t i = 0; i < a->count && !found; i++) {
                        uint64_t back;

                        found = a->metas[i].group && read_at(w, a->metas[i].group, &back, 8) &&
                                back == at + AREA_HEAD + sizeof *a->metas * (uint32_t)i;
                }
        free(a);
        return found;
}

/* Where in WORDS a context may begin: the secret that it has is where it says that the first area
 * is. */
static bool is_context(const struct walk *w, const uint64_t *words, uint64_t *area)
{
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
                *area = words[heads[i]];
                if (words[0] && *area && is_area(w, *area, words[0]))
                        return true;
        }
        return false;
}

static void find_context(struct walk *w, const struct search_range *data)
{
        uint64_t area, *words;
        size_t count;

        words = walk_words(w->in, data, DATA_MOST, &count);
        for (size_t i = 0; i + 10 < count && !w->out->malloc_at; i++)
                if (is_context(w, words + i, &area)) {
                        w->out->malloc_at = data->start + 8 * i;
                        walk_areas(w, words[i], area);
                }
        free(words);
}

/* ---- all of it ---- */

void musl_find(struct walk_blocks *b, const struct walk_input *in)
{
        struct walk w = { in, b };

        *b = (struct walk_blocks){ 0 };
        for (uint32_t i = 0; i < in->data_count && !b->malloc_at; i++)
                find_context(&w, &in->data[i]);
        walk_sort(b);
}
