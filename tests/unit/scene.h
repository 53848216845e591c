/* SPDX-License-Identifier: MIT */
/*
 * scene.h -- a small memory with blocks, roots and code, made by hand or by chance, to be searched
 * for pointers.
 *
 *     struct scene s = scene_begin(); scene_block(&s, SCENE_HEAP, 32);              blocks in the
 *     order of addresses, the larger first scene_word(&s, SCENE_ROOT, SCENE_HEAP);       a pointer
 *     to it scene_search(&s);                             s.g has the result; may be repeated after
 *     changes scene_end(&s);
 */
#ifndef SEEP_TESTS_UNIT_SCENE_H
#define SEEP_TESTS_UNIT_SCENE_H

#include "leak/run.h"
#include "leak/search.h"

#define SCENE_ROOT UINT64_C(0x10000000) /* a root from the beginning */
#define SCENE_ROOT_BYTES 512u
#define SCENE_CODE UINT64_C(0x20000000)
#define SCENE_CODE_BYTES 4096u
#define SCENE_HEAP UINT64_C(0x300000000)
#define SCENE_BYTES (4u << 20)
#define SCENE_MOST 64u /* blocks, roots */
#define SCENE_PLACES 8u

struct scene {
        uint8_t *heap, *root, *code;
        struct search_block blocks[SCENE_MOST];
        uint32_t block_count;
        /* as in struct search_input; of blocks made by hand 0 */
        uint32_t places[SCENE_MOST], wider[SCENE_PLACES];
        struct search_root roots[SCENE_MOST];
        uint32_t root_count;
        struct search_range ranges[1];
        uint64_t hidden; /* a page that cannot be read; 0 none */
        bool unaligned, no_idioms, skip_unused;
        bool far; /* words that lead nowhere are not read */
        struct search_range *expected; /* where others lead, when it is far */
        uint32_t expected_count;
        uint64_t left_out; /* words that were read as zero, and are not */
        struct progress *progress;
        uint64_t registers[8]; /* of scene_random() */
        struct search_graph g;
};

struct scene scene_begin(void);
void scene_end(struct scene *s);
uint32_t scene_block(struct scene *s, uint64_t address, uint64_t size);
void scene_root(struct scene *s, uint64_t start, uint64_t end, uint32_t flags);
void scene_registers(struct scene *s, uint32_t number, const uint64_t *words, uint32_t count);
void scene_roots_clear(struct scene *s);
void scene_word(struct scene *s, uint64_t address, uint64_t word);
void scene_hide(struct scene *s, uint64_t page);
struct search_input scene_input(struct scene *s);
void scene_search(struct scene *s);

/* What is at ADDRESS; bytes that cannot be read are 0. */
uint64_t scene_load(const struct scene *s, uint64_t address);

/* Memory of which no byte can be read. */
struct search_memory scene_nothing(void);

/* Blocks, roots and words by chance: nested ones, odd sizes and addresses, pointers of all
 * kinds. */
void scene_random(struct scene *s, uint64_t seed);

#endif
