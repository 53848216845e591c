/* SPDX-License-Identifier: MIT */
#include "allocator/musl.h"

#include <stdlib.h>

#include "base/heap.h"

#define PAGE 4096u
#define UNIT 16u            /* sizes and places of slots are multiples of it */
#define SLOT_END 4u         /* bytes at the end of a slot that are the next one's */
#define DATA_MOST (64u << 20) /* of a static program, too */
#define AREAS_MOST 65536u
#define CONTEXT_WORDS 12u
/* What malloc keeps of a group.  In memory: three pointers (to neighbours and to the group), two
 * numbers of 32 bits, and a word: 5 bits for the last slot, 1, 6 for the class, pages in the rest;
 * with the high byte first they begin at the high end. */
struct meta {
        uint64_t group, pages; /* of a mapping; 0: it is none */
        uint32_t available, freed; /* by slot: bits */
        uint32_t last, class_;
};
/* A page of these: the secret, a pointer to the next one, how many. */
struct area {
        uint64_t check, next;
        uint32_t count;
        uint8_t page[PAGE];
};

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

static uint32_t area_head(const struct walk *w)
{
        return 8 + 2 * walk_width(w->in);
}

static uint32_t meta_bytes(const struct walk *w)
{
        return 8 + 4 * walk_width(w->in);
}

static bool is_high_first(const struct walk *w)
{
        return w->in->memory.turned == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static bool read_area(const struct walk *w, uint64_t at, struct area *a)
{
        uint32_t width = walk_width(w->in);

        if (at % PAGE || !read_at(w, at, a->page, PAGE))
                return false;
        a->check = walk_number(w->in, a->page, 8);
        a->next = walk_number(w->in, a->page + 8, width);
        a->count = (uint32_t)walk_number(w->in, a->page + 8 + width, 4);
        return a->count <= (PAGE - area_head(w)) / meta_bytes(w);
}

static struct meta meta_of(const struct walk *w, const struct area *a, uint32_t i)
{
        const uint8_t *at = a->page + area_head(w) + meta_bytes(w) * i;
        uint32_t width = walk_width(w->in), bits = 8 * width;
        uint64_t word = walk_number(w->in, at + 3 * width + 8, width);
        bool high = is_high_first(w);

        return (struct meta){
                .group = walk_number(w->in, at + 2 * width, width),
                .pages = high ? word & (UINT64_MAX >> (64 - bits + 12)) : word >> 12,
                .available = (uint32_t)walk_number(w->in, at + 3 * width, 4),
                .freed = (uint32_t)walk_number(w->in, at + 3 * width + 4, 4),
                .last = (uint32_t)(high ? word >> (bits - 5) : word & 31),
                .class_ = (uint32_t)(high ? word >> (bits - 12) & 63 : word >> 6 & 63),
        };
}

/* ---- slots ---- */

/* The slot from START to END: the block in it, unless it holds a group. */
static void take_slot(const struct walk *w, uint64_t start, uint64_t end)
{
        uint8_t head[4], tail[4];
        uint64_t block = start, size;
        uint32_t spare;

        if (!read_at(w, start - 4, head, sizeof head)) {
                walk_ends(w->out, start, "slot of malloc");
                return;
        }
        if (head[1] >> 5 == 7) { /* it begins further inside */
                block += UNIT * walk_number(w->in, head + 2, 2);
                if (block >= end || !read_at(w, block - 4, head, sizeof head)) {
                        walk_ends(w->out, start, "slot of malloc");
                        return;
                }
        }
        spare = head[1] >> 5;
        if (spare == 6)
                return;
        if (spare == 5 && read_at(w, end - 4, tail, sizeof tail))
                spare = (uint32_t)walk_number(w->in, tail, sizeof tail);
        size = end - block;
        if (spare > size) {
                walk_ends(w->out, block, "block of malloc");
                return;
        }
        walk_add_block(w->out, block, end - spare);
}

/* ---- groups ---- */

static void take_group(const struct walk *w, uint64_t at, const struct meta *m)
{
        uint64_t back, pages = m->pages, storage = m->group + UNIT;
        bool mapped = !m->last && pages;
        uint64_t stride = mapped           ? pages * PAGE - UNIT
                          : m->class_ < 48 ? UNIT * (uint64_t)classes[m->class_]
                                           : 0;

        if (!walk_read_words(w->in, m->group, &back, 1) || back != at || !stride ||
            m->group % UNIT || pages > UINT64_MAX / PAGE / 2) {
                walk_ends(w->out, m->group, "group of malloc");
                return;
        }
        walk_add_own(w->out, m->group,
                     pages ? m->group + pages * PAGE : storage + stride * (m->last + 1ull));
        for (uint32_t i = 0; i <= m->last; i++)
                if (!((m->available | m->freed) >> i & 1))
                        take_slot(w, storage + stride * i, storage + stride * (i + 1) - SLOT_END);
}

static void walk_areas(struct walk *w, uint64_t secret, uint64_t at)
{
        struct area *a = heap_zero(1, sizeof *a);

        for (uint32_t steps = 0; at && steps < AREAS_MOST; steps++, at = a->next) {
                if (!read_area(w, at, a) || a->check != secret) {
                        walk_ends(w->out, at, "page of descriptors of malloc");
                        break;
                }
                walk_add_own(w->out, at, at + PAGE);
                for (uint32_t i = 0; i < a->count; i++) {
                        struct meta m = meta_of(w, a, i);

                        if (m.group)
                                take_group(w, at + area_head(w) + meta_bytes(w) * i, &m);
                }
        }
        free(a);
}

/* ---- the context ---- */

/* Words from behind the secret to the pointer to the first area, without and with a page size. */
static uint32_t words_between(const struct walk *w, bool page_size)
{
        return page_size + 8 / walk_width(w->in) + 5;
}

/* Whether one is at AT: a descriptor in it has a group that leads back to it. */
static bool is_area(const struct walk *w, uint64_t at, uint64_t secret)
{
        struct area *a = heap_zero(1, sizeof *a);
        bool found = false;

        if (read_area(w, at, a) && a->check == secret)
                for (uint32_t i = 0; i < a->count && !found; i++) {
                        uint64_t group = meta_of(w, a, i).group, back;

                        found = group && walk_read_words(w->in, group, &back, 1) &&
                                back == at + area_head(w) + meta_bytes(w) * i;
                }
        free(a);
        return found;
}

/* Where in WORDS a context may begin: the secret that it has is where it says that the first area
 * is. */
static bool is_context(const struct walk *w, const uint64_t *words, uint64_t *secret,
                       uint64_t *area)
{
        uint32_t secret_words = 8 / walk_width(w->in);
        bool high = is_high_first(w);

        *secret = secret_words == 1 ? words[0] : words[high] | words[!high] << 32;
        for (uint32_t i = 0; i < 2; i++) {
                *area = words[secret_words + words_between(w, i)];
                if (*secret && *area && is_area(w, *area, *secret))
                        return true;
        }
        return false;
}

static void find_context(struct walk *w, const struct search_range *data)
{
        uint64_t secret, area, *words;
        size_t count;

        words = walk_words(w->in, data, DATA_MOST, &count);
        for (size_t i = 0; i + CONTEXT_WORDS < count && !w->out->malloc_at; i++)
                if (is_context(w, words + i, &secret, &area)) {
                        w->out->malloc_at = data->start + walk_width(w->in) * i;
                        walk_areas(w, secret, area);
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
        b->libc_takes = b->malloc_at;
        walk_sort(b);
}
