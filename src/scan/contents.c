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

/* Printable up to a NUL, which is in WORDS or behind them. */
static bool is_text(const uint64_t words[2])
{
        const uint8_t *text = (const uint8_t *)words;
        uint32_t i = 0;

        while (i < 16 && ((text[i] >= ' ' && text[i] < 127) || text[i] == '\n' || text[i] == '\t' ||
                          text[i] >= 0xc2))
                i++;
        return i >= TEXT_LEAST && (i == 16 || !text[i]);
}

/* Tables of virtual functions are in memory of a module that the program cannot write. */
static bool is_vtable(const struct contents *c, uint64_t word)
{
        const struct mapping *m = word % 8 == 0 && word ? mappings_find(&c->maps, word) : NULL;

        if (!m || m->writable || !m->readable)
                return false;
        for (uint32_t i = 0; i < c->p->module_count; i++)
                if (word >= c->p->modules[i].start && word < c->p->modules[i].end)
                        return true;
        return false;
}

/* The bytes of an address may all be printable. */
static struct contents_kind kind_of(const struct contents *c, uint64_t bytes,
                                    const uint64_t words[2])
{
        if (is_vtable(c, words[0]))
                return (struct contents_kind){ bytes, words[0], CONTENT_OBJECT };
        if (is_text(words) && !mappings_find(&c->maps, words[0]))
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

void contents_look(struct contents *c, const struct search_range *blocks, uint64_t count,
                   uint32_t *kinds)
{
        struct search_memory memory = heap_walk_memory(c->f);

        for (uint64_t i = 0; i < count;) {
                uint64_t addresses[2 * BATCH], words[2 * BATCH];
                uint64_t n = count - i < BATCH ? count - i : BATCH;

                for (uint64_t j = 0; j < n; j++) {
                        addresses[2 * j] = blocks[i + j].start;
                        addresses[2 * j + 1] = blocks[i + j].start + 8;
                }
                gather_words(&memory, addresses, words, 2 * n);
                for (uint64_t j = 0; j < n; j++, i++)
                        kinds[i] = number_of(c, kind_of(c, blocks[i].end - blocks[i].start,
                                                        words + 2 * j));
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
