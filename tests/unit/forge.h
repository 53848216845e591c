/* SPDX-License-Identifier: MIT */
/*
 * forge.h -- recordings made by hand: stacks with names and numbers that a test can add up itself.
 *
 * Names are stored in the profile, so that no file is needed to find them.
 */
#ifndef SEEP_TESTS_UNIT_FORGE_H
#define SEEP_TESTS_UNIT_FORGE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "ledger/ledger.h"
#include "names/symbol.h"
#include "profile/model.h"

static inline void forge_start(struct profile *p)
{
        *p = (struct profile){ 0 };
        p->meta.program = heap_text("./prog");
        p->meta.machine = EM_X86_64;
        p->meta.duration_ms = 10000;
        p->meta.complete = 1;
        p->meta.end = PROFILE_END_EXIT;
        p->nodes = heap_zero(2, sizeof *p->nodes);
        p->nodes[0].module = p->nodes[1].module = PROFILE_NO_MODULE;
        p->node_count = 2;
        p->sites = heap_zero(1, sizeof *p->sites);
        p->site_count = 1;
        p->threads = heap_zero(1, sizeof *p->threads);
        p->thread_count = 1;
}

static inline uint16_t forge_module(struct profile *p, const char *path)
{
        p->modules = heap_grow(p->modules, p->module_count + 1, sizeof *p->modules);
        p->modules[p->module_count] = (struct profile_module){ .path = heap_text(path) };
        return (uint16_t)p->module_count++;
}

/* A name for the code at PC - 1 of the last module; deeper frames of one address by calling it
 * again.  Addresses must not fall, over all modules. */
static inline void forge_name(struct profile *p, uint64_t pc, uint32_t depth, const char *function,
                              const char *file, uint32_t line)
{
        p->symbols = heap_grow(p->symbols, p->symbol_count + 1, sizeof *p->symbols);
        p->symbols[p->symbol_count++] =
                (struct profile_symbol){ p->module_count - 1, depth, pc - 1, heap_text(function),
                                         heap_text(file),     line,  0 };
}

static inline uint32_t forge_node(struct profile *p, uint32_t parent, uint64_t pc, uint16_t module)
{
        p->nodes = heap_grow(p->nodes, p->node_count + 1, sizeof *p->nodes);
        p->nodes[p->node_count] = (struct profile_node){ pc, parent, module, 0 };
        return p->node_count++;
}

static inline struct profile_site *forge_site(struct profile *p, uint32_t node, uint32_t kind,
                                              uint64_t live_bytes, uint64_t live_blocks)
{
        struct profile_site *site;

        p->sites = heap_grow(p->sites, p->site_count + 1, sizeof *p->sites);
        site = &p->sites[p->site_count++];
        *site = (struct profile_site){ .node = node,
                                       .kind = kind,
                                       .live_bytes = live_bytes,
                                       .live_blocks = live_blocks,
                                       .allocs = live_blocks,
                                       .alloc_bytes = live_bytes };
        return site;
}

static inline void forge_thread(struct profile *p, uint32_t tid, const char *name)
{
        p->threads = heap_grow(p->threads, p->thread_count + 1, sizeof *p->threads);
        p->threads[p->thread_count++] = (struct profile_thread){ .tid = tid,
                                                                 .name = heap_text(name) };
}

static inline void forge_block(struct profile *p, uint64_t address, uint64_t size, uint32_t site,
                               uint32_t thread, uint64_t birth_ms)
{
        p->blocks = heap_grow(p->blocks, p->block_count + 1, sizeof *p->blocks);
        p->blocks[p->block_count++] = (struct profile_block){ address, size, site, thread,
                                                              birth_ms };
}

/* A moment; forge_change adds to the last one, forge_mark names it. */
static inline void forge_slice(struct profile *p, uint64_t ms)
{
        p->slices = heap_grow(p->slices, p->slice_count + 1, sizeof *p->slices);
        p->slices[p->slice_count++] = (struct profile_slice){ .ms = ms,
                                                              .change_first = p->change_count };
}

static inline void forge_change(struct profile *p, uint32_t site, uint64_t live_bytes,
                                uint64_t live_blocks, uint64_t allocs, uint64_t alloc_bytes)
{
        p->changes = heap_grow(p->changes, p->change_count + 1, sizeof *p->changes);
        p->changes[p->change_count++] = (struct profile_change){ site,        0,      live_bytes,
                                                                 live_blocks, allocs, alloc_bytes };
        p->slices[p->slice_count - 1].change_count++;
}

static inline void forge_mark(struct profile *p, uint32_t type, uint32_t seq, const char *label)
{
        p->marks = heap_grow(p->marks, p->mark_count + 1, sizeof *p->marks);
        p->marks[p->mark_count] = (struct profile_mark){ .type = type,
                                                         .seq = seq,
                                                         .slice = p->slice_count - 1,
                                                         .era = p->mark_count + 1,
                                                         .ms = p->slices[p->slice_count - 1].ms,
                                                         .label = heap_text(label) };
        p->mark_count++;
}

static inline void forge_death(struct profile *p, uint32_t site, uint32_t birth, uint32_t death,
                               uint64_t blocks, uint64_t bytes)
{
        p->deaths = heap_grow(p->deaths, p->death_count + 1, sizeof *p->deaths);
        p->deaths[p->death_count++] = (struct profile_death){
                site, birth, death, 0, blocks, bytes
        };
}

/* TEXT of a list without the numbers of its sites. */
static inline void forge_without_sites(char *text)
{
        for (char *at = text; (at = strstr(at, ", site #")) != NULL;) {
                char *end = at + strlen(", site #");

                end += strspn(end, "0123456789");
                memmove(at, end, strlen(end) + 1);
        }
}

static inline struct symbols *forge_symbols(const struct profile *p)
{
        static const struct symbol_options options = { .no_cache = true, .no_debuginfod = true };

        return symbols_new(p, &options);
}

/*
 * The recording most tests use.  Bytes (blocks) not freed, innermost function last:
 *
 *   main/load/parse     600 (6)     parse at a.c:10
 *   main/load/parse     100 (1)     parse at a.c:20
 *   main/load           200 (2)
 *   main/tiny             4 (1)
 *   main/small            3 (3)
 *   main/work/inner      93 (3)     inner is inlined into work
 *   main/load          4096 (1)     by mmap
 */
enum {
        FORGE_SITE_PARSE = 1,
        FORGE_SITE_PARSE_20,
        FORGE_SITE_LOAD,
        FORGE_SITE_TINY,
        FORGE_SITE_SMALL,
        FORGE_SITE_INNER,
        FORGE_SITE_MMAP
};

static inline void forge_usual(struct profile *p)
{
        uint32_t main_load, main_tiny, main_small, main_work, load;
        uint16_t m;

        forge_start(p);
        m = forge_module(p, "/usr/bin/prog");
        forge_name(p, 0x100, 0, "main", "/src/m.c", 1);
        forge_name(p, 0x110, 0, "main", "/src/m.c", 2);
        forge_name(p, 0x120, 0, "main", "/src/m.c", 3);
        forge_name(p, 0x130, 0, "main", "/src/m.c", 4);
        forge_name(p, 0x200, 0, "load", "/src/l.c", 7);
        forge_name(p, 0x300, 0, "parse", "/src/a.c", 10);
        forge_name(p, 0x310, 0, "parse", "/src/a.c", 20);
        forge_name(p, 0x400, 0, "tiny", NULL, 0);
        forge_name(p, 0x500, 0, "small", "/src/s.c", 5);
        forge_name(p, 0x600, 0, "inner", "/src/w.c", 61);
        forge_name(p, 0x600, 1, "work", "/src/w.c", 66);
        main_load = forge_node(p, 0, 0x100, m);
        load = forge_node(p, main_load, 0x200, m);
        main_tiny = forge_node(p, 0, 0x110, m);
        main_small = forge_node(p, 0, 0x120, m);
        main_work = forge_node(p, 0, 0x130, m);
        forge_site(p, forge_node(p, load, 0x300, m), LEDGER_KIND_MALLOC, 600, 6);
        forge_site(p, forge_node(p, load, 0x310, m), LEDGER_KIND_CALLOC, 100, 1);
        forge_site(p, load, LEDGER_KIND_MALLOC, 200, 2);
        forge_site(p, forge_node(p, main_tiny, 0x400, m), LEDGER_KIND_MALLOC, 4, 1);
        forge_site(p, forge_node(p, main_small, 0x500, m), LEDGER_KIND_MALLOC, 3, 3);
        forge_site(p, forge_node(p, main_work, 0x600, m), LEDGER_KIND_NEW, 93, 3);
        forge_site(p, load, LEDGER_KIND_MMAP, 4096, 1);
        p->totals.allocations = 16;
        p->totals.live_blocks = 16;
        p->totals.live_bytes = p->totals.bytes_allocated = 1000;
}

#endif
