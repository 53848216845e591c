/* SPDX-License-Identifier: MIT */
#include "scan/contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "leak/gather.h"
#include "scan/heap_walk.h"

#define BATCH 256u
#define TEXT_LEAST 4u
#define FRAME 16u /* bytes of code that a made-up frame has */

enum content { CONTENT_OTHER, CONTENT_TEXT, CONTENT_OBJECT };

#define FIRST 16u /* bytes of a block that are looked at */

/* Printable up to a NUL, which is in the first bytes or behind them. */
static bool is_text(const uint8_t text[FIRST])
{
        uint32_t i = 0;

        while (i < FIRST && ((text[i] >= ' ' && text[i] < 127) || text[i] == '\n' ||
                             text[i] == '\t' || text[i] >= 0xc2))
                i++;
        return i >= TEXT_LEAST && (i == FIRST || !text[i]);
}

/* Tables of virtual functions are in memory of a module that the program cannot write. */
static bool is_vtable(const struct contents *c, uint64_t word)
{
        const struct mapping *m = mappings_find(&c->maps, word);

        if (!word || word % search_width(c->f->narrow) || !m || m->writable || !m->readable)
                return false;
        for (uint32_t i = 0; i < c->p->module_count; i++)
                if (word >= c->p->modules[i].start && word < c->p->modules[i].end)
                        return true;
        return false;
}

/* TEXT has its first bytes, WORD is the first word of them.  The bytes of an address may all be
 * printable. */
static struct contents_kind kind_of(const struct contents *c, uint64_t bytes,
                                    const uint8_t text[FIRST], uint64_t word)
{
        if (is_vtable(c, word))
                return (struct contents_kind){ bytes, word, CONTENT_OBJECT };
        if (is_text(text) && !mappings_find(&c->maps, word))
                return (struct contents_kind){ bytes, 0, CONTENT_TEXT };
        return (struct contents_kind){ bytes, 0, CONTENT_OTHER };
}

static uint32_t number_of(struct contents *k, struct contents_kind one)
{
        uint32_t n = TABLE_NUMBER(&k->table, table_hash(one.bytes << 2 | one.content, one.vtable),
                                  i,
                                  k->at[i].bytes == one.bytes && k->at[i].vtable == one.vtable &&
                                          k->at[i].content == one.content);

        if (n == k->count) {
                k->at = heap_next(k->at, k->count, sizeof *k->at);
                k->at[k->count++] = one;
        }
        return n;
}

static void name_kind(const struct contents_kind *k, struct str *out)
{
        static const char *const words[] = {
                [CONTENT_OTHER] = "", [CONTENT_TEXT] = ", text", [CONTENT_OBJECT] = ", object"
        };

        str_format(out, "[%llu bytes%s]", (unsigned long long)k->bytes, words[k->content]);
}

uint32_t contents_name_sites(struct profile *p, char **names, uint32_t count, uint32_t kind)
{
        uint32_t site = p->site_count ? p->site_count : 1, node = p->node_count ? p->node_count : 2;
        uint32_t made = 0; /* frames that were made up before: addresses where no code is */

        p->site_count = site + count;
        p->node_count = node + count;
        p->sites = heap_grow(p->sites, p->site_count, sizeof *p->sites);
        p->nodes = heap_grow(p->nodes, p->node_count, sizeof *p->nodes);
        while (made < p->jit_count && p->jit[made].start == FRAME * (made + 1ull))
                made++;
        p->jit = heap_grow(p->jit, p->jit_count + count + 1, sizeof *p->jit);
        memmove(p->jit + made + count, p->jit + made, (p->jit_count - made) * sizeof *p->jit);
        p->jit_count += count;
        if (site == 1)
                p->sites[0] = (struct profile_site){ 0 };
        if (node == 2)
                p->nodes[0] = p->nodes[1] = (struct profile_node){ .module = PROFILE_NO_MODULE };
        for (uint32_t i = 0; i < count; i++) {
                uint64_t pc = FRAME * (made + i + 1ull);

                p->jit[made + i] = (struct profile_jit){ pc, FRAME, names[i] };
                p->nodes[node + i] = (struct profile_node){ .pc = pc,
                                                            .module = PROFILE_NO_MODULE,
                                                            .exact = 1 };
                p->sites[site + i] = (struct profile_site){ .node = node + i, .kind = kind };
        }
        return site;
}

uint32_t contents_store(const struct contents *c, struct profile *p, uint32_t kind)
{
        char **names = heap_zero(c->count, sizeof *names);
        uint32_t first;

        for (uint32_t i = 0; i < c->count; i++) {
                struct str name = { 0 };

                name_kind(&c->at[i], &name);
                names[i] = heap_text(str_get(&name));
                str_free(&name);
        }
        first = contents_name_sites(p, names, c->count, kind);
        free(names);
        return first;
}

/* WORDS as they are in the program's memory. */
static void put_back(const struct contents *c, const uint64_t *words, uint8_t text[FIRST])
{
        uint32_t width = search_width(c->f->narrow);

        for (uint32_t i = 0; i < FIRST / width; i++) {
                uint64_t whole = c->f->turned ? __builtin_bswap64(words[i]) : words[i];
                uint32_t half = c->f->turned ? __builtin_bswap32((uint32_t)words[i])
                                             : (uint32_t)words[i];

                memcpy(text + i * width, c->f->narrow ? (void *)&half : (void *)&whole, width);
        }
}

void contents_look(struct contents *c, const struct search_range *blocks, uint64_t count,
                   uint32_t *kinds)
{
        struct search_memory memory = heap_walk_memory(c->f);
        uint32_t width = search_width(c->f->narrow), each = FIRST / width;

        for (uint64_t i = 0; i < count;) {
                uint64_t addresses[BATCH * FIRST / 4], words[BATCH * FIRST / 4];
                uint64_t n = count - i < BATCH ? count - i : BATCH;

                for (uint64_t j = 0; j < n * each; j++)
                        addresses[j] = blocks[i + j / each].start + width * (j % each);
                gather_words(&memory, addresses, words, n * each);
                for (uint64_t j = 0; j < n; j++, i++) {
                        uint8_t text[FIRST];

                        put_back(c, words + each * j, text);
                        kinds[i] = number_of(c, kind_of(c, blocks[i].end - blocks[i].start, text,
                                                        words[each * j]));
                }
        }
}

void contents_open(struct contents *c, const struct freeze *f, const struct profile *p)
{
        *c = (struct contents){ .f = f, .p = p };
        mappings_parse(&c->maps, f->maps);
}

void contents_free(struct contents *c)
{
        mappings_free(&c->maps);
        table_free(&c->table);
        free(c->at);
        *c = (struct contents){ 0 };
}
