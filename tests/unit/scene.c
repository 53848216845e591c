/* SPDX-License-Identifier: MIT */
/*
 * scene.c -- a small memory with blocks, roots and code.
 */
#include "scene.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "specimen.h"

#define PAGE 4096u

struct scene scene_begin(void)
{
        struct scene s = { .heap = heap_zero(SCENE_BYTES, 1),
                           .root = heap_zero(SCENE_ROOT_BYTES, 1),
                           .code = heap_zero(SCENE_CODE_BYTES, 1) };

        s.ranges[0] = (struct search_range){ SCENE_CODE, SCENE_CODE + SCENE_CODE_BYTES };
        scene_root(&s, SCENE_ROOT, SCENE_ROOT + SCENE_ROOT_BYTES, 0);
        return s;
}

void scene_end(struct scene *s)
{
        free(s->heap);
        free(s->root);
        free(s->code);
        free(s->expected);
        search_graph_free(&s->g);
}

uint32_t scene_block(struct scene *s, uint64_t address, uint64_t size)
{
        s->blocks[s->block_count] = (struct search_block){ .address = address, .size = size };
        return s->block_count++;
}

void scene_root(struct scene *s, uint64_t start, uint64_t end, uint32_t flags)
{
        s->roots[s->root_count++] = (struct search_root){ .start = start,
                                                          .end = end,
                                                          .flags = flags };
}

void scene_registers(struct scene *s, uint32_t number, const uint64_t *words, uint32_t count)
{
        s->roots[s->root_count++] = (struct search_root){ .start = 8 * number,
                                                          .end = 8 * (number + count),
                                                          .words = words };
}

void scene_roots_clear(struct scene *s)
{
        s->root_count = 0;
}

/* NULL when nothing is there.  *LEFT: bytes from here on. */
static uint8_t *scene_at(const struct scene *s, uint64_t address, uint64_t *left)
{
        const struct {
                uint64_t start, bytes;
                uint8_t *data;
        } areas[] = { { SCENE_ROOT, SCENE_ROOT_BYTES, s->root },
                      { SCENE_CODE, SCENE_CODE_BYTES, s->code },
                      { SCENE_HEAP, SCENE_BYTES, s->heap } };

        for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
                if (address < areas[i].start || address >= areas[i].start + areas[i].bytes)
                        continue;
                *left = areas[i].start + areas[i].bytes - address;
                return areas[i].data + (address - areas[i].start);
        }
        return NULL;
}

static bool scene_hides(const struct scene *s, uint64_t address)
{
        return s->hidden && address >= s->hidden && address < s->hidden + PAGE;
}

void scene_word(struct scene *s, uint64_t address, uint64_t word)
{
        uint64_t left;

        memcpy(scene_at(s, address, &left), &word, sizeof word);
}

void scene_hide(struct scene *s, uint64_t page)
{
        s->hidden = page;
}

uint64_t scene_load(const struct scene *s, uint64_t address)
{
        uint64_t word = 0, left;

        for (unsigned i = 0; i < 8; i++) {
                const uint8_t *byte = scene_at(s, address + i, &left);

                word |= (uint64_t)(byte && !scene_hides(s, address + i) ? *byte : 0) << 8 * i;
        }
        return word;
}

static size_t scene_read(void *context, uint64_t address, void *to, size_t bytes)
{
        const struct scene *s = context;
        uint64_t left = 0;
        const uint8_t *from = scene_at(s, address, &left);

        if (!from || scene_hides(s, address))
                return 0;
        left = left < bytes ? left : bytes;
        if (s->hidden > address && s->hidden - address < left)
                left = s->hidden - address;
        memcpy(to, from, left);
        return left;
}

static bool scene_expect(void *context, const struct search_range *ranges, uint32_t count)
{
        struct scene *s = context;

        free(s->expected);
        s->expected = malloc((count + 1) * sizeof *ranges);
        s->expected_count = count;
        memcpy(s->expected, ranges, count * sizeof *ranges);
        return true;
}

static bool scene_is_expected(const struct scene *s, uint64_t word)
{
        for (uint32_t i = 0; i < s->expected_count; i++)
                if (word >= s->expected[i].start && word < s->expected[i].end)
                        return true;
        return false;
}

static size_t scene_read_pointers(void *context, uint64_t address, void *to, size_t bytes)
{
        struct scene *s = context;
        size_t got = scene_read(context, address, to, bytes);

        for (size_t i = 0; i + 8 <= got; i += 8) {
                uint64_t word;

                memcpy(&word, (char *)to + i, 8);
                if (scene_is_expected(s, word))
                        continue;
                memset((char *)to + i, 0, 8);
                s->left_out += word != 0;
        }
        return got;
}

static uint64_t scene_next(void *context, uint64_t address, uint64_t end)
{
        static const uint8_t zeros[PAGE];
        uint64_t left;

        while (address < end) {
                uint64_t page = address / PAGE * PAGE;
                const uint8_t *data = scene_at(context, page, &left);

                if (data && memcmp(data, zeros, left < PAGE ? left : PAGE))
                        return address;
                address = page + PAGE;
        }
        return end;
}

static size_t scene_read_nothing(void *context, uint64_t address, void *to, size_t bytes)
{
        (void)context, (void)address, (void)to, (void)bytes;
        return 0;
}

static uint64_t scene_next_of_nothing(void *context, uint64_t address, uint64_t end)
{
        (void)context, (void)address;
        return end;
}

struct search_memory scene_nothing(void)
{
        return (struct search_memory){ .read = scene_read_nothing, .next = scene_next_of_nothing };
}

struct search_input scene_input(struct scene *s)
{
        return (struct search_input){
                .memory = { .context = s,
                            .read = scene_read,
                            .next = s->skip_unused ? scene_next : NULL,
                            .expect = s->far ? scene_expect : NULL,
                            .pointers = s->far ? scene_read_pointers : NULL },
                .blocks = s->blocks,
                .block_count = s->block_count,
                .places = s->places,
                .wider = s->wider,
                .place_count = SCENE_PLACES,
                .roots = s->roots,
                .root_count = s->root_count,
                .code = s->ranges,
                .code_count = 1,
                .unaligned = s->unaligned,
                .no_idioms = s->no_idioms,
                .progress = s->progress,
        };
}

void scene_search(struct scene *s)
{
        struct search_input in = scene_input(s);

        search_graph_free(&s->g);
        search_run(&in, &s->g);
}

/* ---- by chance ---- */

struct dice {
        uint64_t seed;
        uint64_t align; /* of blocks */
        uint64_t large; /* one block in so many; 0 none */
        bool nested;
        bool crowded; /* many pointers, to blocks with room for a header */
        /* what most pointers to blocks of a place are behind; 0 nothing */
        uint64_t headers[SCENE_PLACES];
};

static uint64_t dice_below(struct dice *d, uint64_t count)
{
        return specimen_random(&d->seed) % count;
}

static uint64_t dice_size(struct dice *d)
{
        static const uint64_t sizes[] = { 0, 1, 7, 8, 9, 16, 24, 25, 31, 32, 40, 48, 64, 108, 300 };

        if (d->large && !dice_below(d, d->large))
                return 60000 + dice_below(d, 1300000);
        return sizes[d->crowded ? 7 + dice_below(d, 8)
                                : dice_below(d, sizeof sizes / sizeof *sizes)];
}

/* Blocks carved from [START, END). */
static void scene_carve(struct scene *s, struct dice *d, uint64_t start, uint64_t end,
                        unsigned depth)
{
        uint32_t flags = dice_below(d, 3) ? 0 : 3;

        while (s->block_count < SCENE_MOST - 1) {
                uint64_t size = dice_size(d),
                         gap = dice_below(d, 8) ? dice_below(d, 3) * 16 : dice_below(d, 20000);
                uint64_t address = (start + (depth ? gap % 33 : gap) + d->align - 1) / d->align *
                                   d->align;
                uint32_t block;

                if (address + size + (size == 0) > end)
                        return;
                block = scene_block(s, address, size);
                s->blocks[block].flags = dice_below(d, 6) ? 0 : (uint32_t)dice_below(d, 4) & flags;
                if (d->nested && size > 16 && depth < 3 && !dice_below(d, 2))
                        scene_carve(s, d, address, address + size, depth + 1);
                start = address + (size ? size : 1);
                if (!dice_below(d, depth ? 5 : 30))
                        return;
        }
}

/* Places 1 to 4 have blocks, 5 to 7 are wider ones.  Some keep headers; some blocks are arrays of
 * no elements. */
static void scene_place(struct scene *s, struct dice *d)
{
        static const uint64_t headers[] = { 1, 3, 8, 16, 40, 8, 16 };
        uint64_t used = 1 + dice_below(d, d->crowded ? 2 : 4);

        for (uint32_t i = 1; i < SCENE_PLACES; i++) {
                s->wider[i] = i < 5 && dice_below(d, 2)   ? 5
                              : i < 7 && dice_below(d, 2) ? i < 5 ? 6 : i + 1
                                                          : 0;
                d->headers[i] = dice_below(d, d->crowded ? 5 : 2)
                                        ? headers[dice_below(d, sizeof headers / sizeof *headers)]
                                        : 0;
        }
        for (uint32_t i = 0; i < s->block_count; i++) {
                struct search_block *b = &s->blocks[i];
                bool alone = i + 1 == s->block_count ||
                             s->blocks[i + 1].address > b->address + b->size;

                s->places[i] = dice_below(d, 10) ? 1 + (uint32_t)dice_below(d, used) : 0;
                if (b->size == 8 && alone && !d->nested && !dice_below(d, 3))
                        b->flags |= SEARCH_BLOCK_NO_ELEMENTS;
        }
}

/* A word that means something in this scene. */
static uint64_t scene_meaning(const struct scene *s, struct dice *d,
                              const struct search_block *home)
{
        static const uint64_t offsets[] = { 0, 0, 0, 0, 8, 8, 16, 24, 1, 40 };
        const struct search_block *b = s->block_count ? &s->blocks[dice_below(d, s->block_count)]
                                                      : home;

        switch (dice_below(d, 9) + (d->crowded ? 4 : 0)) {
        case 0:
                return dice_below(d, 9);
        case 1:
                return home->size - 8;
        case 2:
                return home->size - 25;
        case 3:
                return SCENE_CODE + 8 * dice_below(d, 16);
        case 4:
                return b->address + b->size;
        default:
                if (b->size && d->headers[s->places[b - s->blocks]] && dice_below(d, 40))
                        return b->address + d->headers[s->places[b - s->blocks]];
                return b->address + offsets[dice_below(d, sizeof offsets / sizeof *offsets)];
        }
}

static void scene_fill(struct scene *s, struct dice *d, const struct search_block *home,
                       bool shifted)
{
        uint64_t words = home->size / 8 < 24 ? home->size / 8 : 24;

        for (uint64_t i = 0; i < words; i++) {
                uint64_t at = home->address +
                              (home->size > 400 ? dice_below(d, home->size - 8) & ~UINT64_C(7)
                                                : 8 * i);

                if (dice_below(d, 3))
                        scene_word(s,
                                   at + (shifted && at + 16 < home->address + home->size
                                                 ? dice_below(d, 8)
                                                 : 0),
                                   scene_meaning(s, d, home));
        }
}

static void scene_random_roots(struct scene *s, struct dice *d)
{
        const struct search_block area = { .address = SCENE_ROOT, .size = 8 * dice_below(d, 12) };

        s->roots[0].flags = !dice_below(d, d->crowded ? 8 : 2);
        scene_fill(s, d, &area, false);
        if (dice_below(d, 2)) {
                uint64_t start = SCENE_HEAP + dice_below(d, 600);

                scene_root(s, start, start + dice_below(d, 20000), 0);
        }
        for (unsigned i = 0; i < 8; i++)
                s->registers[i] = dice_below(d, 4) ? 0 : scene_meaning(s, d, &area);
        scene_registers(s, (uint32_t)dice_below(d, 20), s->registers, 8);
        /* set when the scene lies still: it may be moved */
        s->roots[s->root_count - 1].words = NULL;
}

void scene_random(struct scene *s, uint64_t seed)
{
        static const uint64_t aligns[] = { 16, 16, 8, 1, 4 };
        struct dice d = { .seed = seed * 0x9e3779b97f4a7c15u };

        d.align = aligns[dice_below(&d, sizeof aligns / sizeof *aligns)];
        d.large = dice_below(&d, 40) ? 0 : 8;
        d.nested = dice_below(&d, 2);
        d.crowded = !dice_below(&d, 3);
        s->unaligned = !dice_below(&d, 4);
        s->skip_unused = dice_below(&d, 2);
        s->no_idioms = !dice_below(&d, 5);
        scene_carve(s, &d, SCENE_HEAP, SCENE_HEAP + SCENE_BYTES, 0);
        scene_place(s, &d);
        for (uint32_t i = 0; i < s->block_count; i++)
                scene_fill(s, &d, &s->blocks[i], s->unaligned);
        for (uint64_t at = 0; at < 256; at += 8)
                if (dice_below(&d, 3))
                        scene_word(s, SCENE_CODE + at,
                                   dice_below(&d, 5) ? SCENE_CODE + dice_below(&d, 4096)
                                                     : dice_below(&d, 3));
        scene_random_roots(s, &d);
        s->roots[s->root_count - 1].words = s->registers;
        if (!dice_below(&d, 4))
                scene_hide(s, SCENE_HEAP + PAGE * dice_below(&d, 4));
}
