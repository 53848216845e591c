/* SPDX-License-Identifier: MIT */
/*
 * forge_leaks.h -- a search for leaks made by hand: blocks, verdicts, roots and who points to whom.
 *
 * On top of forge.h.  Blocks and roots are known by their index; add blocks by rising address and
 * everything else in the order that model.h asks for.
 */
#ifndef SEEP_TESTS_UNIT_FORGE_LEAKS_H
#define SEEP_TESTS_UNIT_FORGE_LEAKS_H

#include "forge.h"

static inline struct profile_scan *forge_scan(struct profile *p, uint64_t ms, uint32_t when,
                                              uint32_t flags)
{
        p->scans = heap_zero(1, sizeof *p->scans);
        p->scan_count = 1;
        p->scans[0] = (struct profile_scan){ .ms = ms,
                                             .when = when,
                                             .flags = flags,
                                             .threads = 1,
                                             .trouble = heap_text(""),
                                             .suppressions = heap_text("") };
        return &p->scans[0];
}

/* A block and what became of it.  HEAD is the index of the block that an indirect one hangs on;
 * others do not look at it. */
static inline uint32_t forge_judged(struct profile *p, uint64_t address, uint64_t size,
                                    uint32_t site, uint32_t leak, uint32_t head)
{
        forge_block(p, address, size, site, 0, p->block_count * 10);
        p->verdicts = heap_grow(p->verdicts, p->block_count, sizeof *p->verdicts);
        p->verdicts[p->verdict_count++] = (struct profile_verdict){
                .leak = leak, .head = leak == PROFILE_LEAK_INDIRECT ? head + 1 : 0
        };
        return (uint32_t)p->block_count - 1;
}

static inline void forge_content(struct profile *p, uint32_t block, const void *bytes,
                                 uint32_t count)
{
        p->contents = heap_grow(p->contents, p->content_count + 1, sizeof *p->contents);
        p->contents[p->content_count] = (struct profile_content){ .block = block, .bytes = count };
        memcpy(p->contents[p->content_count++].data, bytes, count);
}

/* The caller sets module, region and base where there is one. */
static inline struct profile_root *forge_root(struct profile *p, uint32_t kind, uint32_t tid,
                                              uint64_t start, uint64_t end)
{
        p->roots = heap_grow(p->roots, p->root_count + 1, sizeof *p->roots);
        p->roots[p->root_count] = (struct profile_root){
                .start = start, .end = end, .kind = kind, .tid = tid, .module = PROFILE_NO_MODULE
        };
        return &p->roots[p->root_count++];
}

static inline struct profile_frame *forge_frame(struct profile *p, uint32_t tid, uint64_t low,
                                                uint64_t high, uint64_t pc)
{
        p->frames = heap_grow(p->frames, p->frame_count + 1, sizeof *p->frames);
        p->frames[p->frame_count] = (struct profile_frame){
                .low = low, .high = high, .pc = pc, .tid = tid
        };
        return &p->frames[p->frame_count++];
}

static inline struct profile_hold *forge_hold(struct profile *p, uint32_t root, uint64_t at,
                                              uint32_t to)
{
        p->holds = heap_grow(p->holds, p->hold_count + 1, sizeof *p->holds);
        p->holds[p->hold_count] = (struct profile_hold){ .at = at, .from = root, .to = to };
        return &p->holds[p->hold_count++];
}

static inline struct profile_pointer *forge_pointer(struct profile *p, uint32_t from, uint64_t at,
                                                    uint32_t to)
{
        p->pointers = heap_grow(p->pointers, p->pointer_count + 1, sizeof *p->pointers);
        p->pointers[p->pointer_count] = (struct profile_pointer){ .at = at,
                                                                  .from = from,
                                                                  .to = to };
        return &p->pointers[p->pointer_count++];
}

/*
 * The blocks of forge_usual(), searched.  Block i is at 0x10000 + i * 0x100, born at 10 i ms.
 *
 *   block        size  site      class       held by
 *   0            100   PARSE     definite    nobody                          0 -> 1 -> 2: a list
 *   1, 2         100   PARSE     indirect    0
 *   3            100   PARSE     reachable   global at 0x600010              3 -> 4 -> 5
 *   4            100   PARSE     reachable   3
 *   5            100   PARSE     reachable   4, and the stack, frame of main
 *   6            100   PARSE_20  definite    nobody; begins with "hello, leak"
 *   7            100   LOAD      definite    8; not lost at the scan before  7 -> 8 -> 7: a cycle
 *   8            100   LOAD      indirect    7
 *   9              4   TINY      possible    global at 0x600020, interior
 *   10             1   SMALL     reachable   thread-local variable at offset 0x10
 *   11             1   SMALL     reachable   nobody; SEEP_IGNORE
 *   12             1   SMALL     reachable   register 1
 *   13            31   INNER     reachable   the mapping, at 0x20008         13 -> 14
 *   14            31   INNER     reachable   13, interior of a known idiom; has a vtable
 *   15            31   INNER     possible    the stack, frame of inner, interior
 *
 *   definite 300 bytes (3), indirect 300 (3), possible 35 (2), reachable 365 (8).  With the global
 *   at 0x600010 would go 3 and 4, with the mapping 13 and 14.
 */
enum { FORGE_ROOT_DATA, FORGE_ROOT_STACK, FORGE_ROOT_REGISTER, FORGE_ROOT_TLS, FORGE_ROOT_MAPPING };
enum { FORGE_TID = 100 };

static inline void forge_leaky_blocks(struct profile *p)
{
        enum {
                R = PROFILE_LEAK_REACHABLE,
                P = PROFILE_LEAK_POSSIBLE,
                I = PROFILE_LEAK_INDIRECT,
                D = PROFILE_LEAK_DEFINITE
        };
        static const struct { uint32_t size, site, leak, head, flags;
        } rows[] = {
                { 100, FORGE_SITE_PARSE, D, 0, 0 },
                { 100, FORGE_SITE_PARSE, I, 0, 0 },
                { 100, FORGE_SITE_PARSE, I, 0, 0 },
                { 100, FORGE_SITE_PARSE, R, 0, 0 },
                { 100, FORGE_SITE_PARSE, R, 0, 0 },
                { 100, FORGE_SITE_PARSE, R, 0, 0 },
                { 100, FORGE_SITE_PARSE_20, D, 0, 0 },
                { 100, FORGE_SITE_LOAD, D, 0, PROFILE_VERDICT_NEW },
                { 100, FORGE_SITE_LOAD, I, 7, PROFILE_VERDICT_NEW },
                { 4, FORGE_SITE_TINY, P, 0, 0 },
                { 1, FORGE_SITE_SMALL, R, 0, 0 },
                { 1, FORGE_SITE_SMALL, R, 0, PROFILE_VERDICT_IGNORED },
                { 1, FORGE_SITE_SMALL, R, 0, 0 },
                { 31, FORGE_SITE_INNER, R, 0, 0 },
                { 31, FORGE_SITE_INNER, R, 0, PROFILE_VERDICT_IDIOM },
                { 31, FORGE_SITE_INNER, P, 0, 0 },
        };

        for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                forge_judged(p, 0x10000 + i * 0x100, rows[i].size, rows[i].site, rows[i].leak,
                             rows[i].head);
                p->verdicts[i].flags = rows[i].flags;
        }
        p->verdicts[14].vtable = 0x601010;
        forge_content(p, 0, "\0\1\1\0\0\0\0\0", 8); /* 0x10100 */
        forge_content(p, 6, "hello, leak", 12);
}

static inline void forge_leaky_roots(struct profile *p)
{
        struct profile_root *tls;

        p->regions = heap_zero(1, sizeof *p->regions);
        p->regions[p->region_count++] = (struct profile_region){ .start = 0x20000,
                                                                 .end = 0x21000,
                                                                 .site = FORGE_SITE_MMAP };
        forge_root(p, PROFILE_ROOT_DATA, 0, 0x600000, 0x602000)->module = 0;
        forge_root(p, PROFILE_ROOT_STACK, FORGE_TID, 0x7fff0000, 0x7fff0200);
        forge_root(p, PROFILE_ROOT_REGISTER, FORGE_TID, 0, 16 * 8);
        tls = forge_root(p, PROFILE_ROOT_TLS, FORGE_TID, 0x30000, 0x30080);
        tls->module = 0;
        tls->base = 0x30040;
        forge_root(p, PROFILE_ROOT_MAPPING, 0, 0x20000, 0x21000)->region = 1;
        forge_frame(p, FORGE_TID, 0x7fff0000, 0x7fff0100, 0x5ff)->exact = 1; /* inner, in work */
        forge_frame(p, FORGE_TID, 0x7fff0100, 0x7fff0200, 0x130);            /* main, m.c:4 */
}

static inline void forge_leaky_pointers(struct profile *p)
{
        forge_hold(p, FORGE_ROOT_DATA, 0x600010, 3);
        forge_hold(p, FORGE_ROOT_DATA, 0x600020, 9)->flags = PROFILE_POINTER_INTERIOR;
        forge_hold(p, FORGE_ROOT_STACK, 0x7fff0040, 15)->flags = PROFILE_POINTER_INTERIOR;
        forge_hold(p, FORGE_ROOT_STACK, 0x7fff0180, 5);
        forge_hold(p, FORGE_ROOT_REGISTER, 8, 12);
        forge_hold(p, FORGE_ROOT_TLS, 0x30050, 10);
        forge_hold(p, FORGE_ROOT_MAPPING, 0x20008, 13);
        forge_pointer(p, 0, 0, 1);
        forge_pointer(p, 1, 8, 2);
        forge_pointer(p, 3, 8, 4);
        forge_pointer(p, 4, 0, 5);
        forge_pointer(p, 7, 16, 8);
        forge_pointer(p, 8, 16, 7);
        forge_pointer(p, 13, 16, 14)->flags = PROFILE_POINTER_IDIOM;
}

static inline void forge_leaky(struct profile *p)
{
        struct profile_scan *scan;

        forge_usual(p);
        p->modules[0].end = 0x700000;
        forge_thread(p, FORGE_TID, "main");
        scan = forge_scan(p, 9990, PROFILE_SCAN_EXIT, PROFILE_SCAN_GRAPH | PROFILE_SCAN_INCREMENT);
        forge_leaky_blocks(p);
        forge_leaky_roots(p);
        forge_leaky_pointers(p);
        scan->roots = p->root_count;
        scan->root_bytes = 0x2000 + 0x200 + 16 * 8 + 0x80 + 0x1000;
        scan->heap_bytes = p->totals.live_bytes;
        scan->pause_us = 1500;
        scan->scan_us = 2500;
}

#endif
