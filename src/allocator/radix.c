/* SPDX-License-Identifier: MIT */
#include "allocator/radix.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define DATA_MOST (64u << 20) /* of a static program, too */
#define CANDIDATES_MOST 4096u
#define SPARSE_REACH 64u
#define SPARSE_MOST 16u
#define WALK_WORDS 4096u

struct leaf {
        const struct radix *r;
        uint64_t number;
        bool known;
};

/* Calls ACT for each word of the leaf AT that is not 0, until it says that this is enough.  Most
 * of a leaf was never used. */
static void each_word(const struct walk_input *in, uint64_t at, struct leaf *l,
                      bool (*act)(struct leaf *l, uint32_t index, uint64_t word))
{
        const struct search_memory *m = &in->memory;
        uint64_t *words = heap_zero(WALK_WORDS, sizeof *words), from = at,
                 end = at + 8 * l->r->leaf_words;
        bool more = true;

        while (more && from < end) {
                uint64_t used = m->next ? m->next(m->context, from, end) : from, bytes;

                from = used > from ? used & ~7ull : from;
                bytes = end - from < 8ull * WALK_WORDS ? end - from : 8ull * WALK_WORDS;
                if (from >= end || !walk_read(in, from, words, bytes))
                        break;
                for (uint64_t i = 0; more && i < bytes / 8; i++)
                        if (words[i])
                                more = act(l, (uint32_t)((from - at) / 8 + i), words[i]);
                from += bytes;
        }
        free(words);
}

/* The first word that a leaf has tells which it is. */
static bool learn(struct leaf *l, uint32_t index, uint64_t word)
{
        uint64_t page;

        l->known = l->r->learn(l->r->context, word, &page) && page % l->r->leaf_words == index;
        if (l->known)
                l->number = page / l->r->leaf_words;
        return false;
}

static void look_at_leaf(const struct walk_input *in, uint64_t at, struct leaf *l)
{
        const struct radix *r = l->r;
        uint64_t word;

        if (!r->word) {
                each_word(in, at, l, learn);
                return;
        }
        l->number = r->page / r->leaf_words;
        l->known = walk_read(in, at + 8 * (r->page % r->leaf_words), &word, sizeof word) &&
                   word == r->word;
}

static bool take(struct leaf *l, uint32_t index, uint64_t word)
{
        l->r->take(l->r->context, l->number * l->r->leaf_words + index, word);
        return true;
}

/* ---- the root ---- */

static bool may_be_leaf(const struct radix *r, const struct walk_input *in, uint64_t at)
{
        const struct mapping *m = at % 64 ? NULL : mappings_find(in->maps, at);

        return m && m->writable && (m->anonymous || strncmp(m->path, "[heap]", 6) == 0) &&
               m->end - at >= 8 * r->leaf_words;
}

/* Most words of the root are 0, unlike those of a program's own arrays. */
static bool is_sparse(const uint64_t *words, size_t count, size_t at)
{
        size_t from = at > SPARSE_REACH ? at - SPARSE_REACH : 0, used = 0;

        for (size_t i = from; i < count && i <= at + SPARSE_REACH; i++)
                used += words[i] != 0;
        return used <= SPARSE_MOST;
}

/* Where the root is in the COUNT words of a module's data; COUNT: it is not there. */
static size_t find_root(const struct radix *r, const struct walk_input *in, const uint64_t *words,
                        size_t count, bool sparse)
{
        uint32_t tried = 0;

        for (size_t i = 0; i < count && (r->word || tried < CANDIDATES_MOST); i++) {
                struct leaf l = { .r = r };

                if (!words[i] || !may_be_leaf(r, in, words[i]) ||
                    (sparse && !is_sparse(words, count, i)))
                        continue;
                tried++;
                look_at_leaf(in, words[i], &l);
                if (l.known && l.number <= i && i - l.number + r->root_words <= count)
                        return i - (size_t)l.number;
        }
        return count;
}

uint64_t radix_walk(const struct radix *r, const struct walk_input *in,
                    const struct search_range *data)
{
        uint64_t *words;
        size_t count, root;

        if (data->end - data->start < 8 * r->root_words)
                return 0;
        words = walk_words(in, data, DATA_MOST, &count);
        root = find_root(r, in, words, count, true);
        if (root == count) /* very much address space, all in one piece */
                root = find_root(r, in, words, count, false);
        for (uint64_t i = 0; root < count && i < r->root_words; i++)
                if (words[root + i])
                        each_word(in, words[root + i], &(struct leaf){ .r = r, .number = i }, take);
        free(words);
        return root < count ? data->start + 8 * root : 0;
}
