/* SPDX-License-Identifier: MIT */
/*
 * forge_graph.c -- a recording with a large graph of blocks, to see how large its file is and how
 * long reports of it take.
 *
 * usage: forge_graph FILE [BLOCKS]      1,000,000 blocks with 3 pointers each unless told otherwise
 *
 * A third of the pointers lead to a neighbour, as in lists and trees that were built in one go, a
 * third are tables (blocks of 1,000 pointers to blocks of rising age), a third lead anywhere.
 * Prints the bytes of each array and the time of writing and reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "forge_leaks.h"
#include "profile/file.h"
#include "sample.h"

enum { GRAPH_TABLE = 1000, GRAPH_ROOTS = 300, GRAPH_HOLDS = 10 };

static double now(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void graph_blocks(struct profile *p, uint32_t blocks, uint64_t *state)
{
        static const uint64_t sizes[] = { 24, 32, 48, 48, 64, 100, 1 << 10 };
        uint64_t address = 0x555555600000;

        p->blocks = heap_zero(blocks, sizeof *p->blocks);
        p->verdicts = heap_zero(blocks, sizeof *p->verdicts);
        for (uint32_t i = 0; i < blocks; i++) {
                uint64_t size = i % (GRAPH_TABLE * 4) ? sizes[sample_random(state) % 7]
                                                      : 8 * GRAPH_TABLE;
                bool lost = sample_random(state) % 100 == 0;

                p->blocks[i] = (struct profile_block){
                        address, size, 1 + (uint32_t)(sample_random(state) % (p->site_count - 1)),
                        0, i / 1000
                };
                p->verdicts[i] = (struct profile_verdict){ .leak = lost ? PROFILE_LEAK_DEFINITE
                                                                        : PROFILE_LEAK_REACHABLE };
                if (sample_random(state) % 10 == 0)
                        p->verdicts[i].vtable = 0x555555558010 + sample_random(state) % 40 * 64;
                address += (size + 23) & ~15ull;
        }
        p->block_count = p->verdict_count = blocks;
}

/* Tables hold blocks of rising index; others hold a neighbour and any block, at the offsets of a
 * few types. */
static void graph_pointers(struct profile *p, uint32_t blocks, uint64_t *state)
{
        p->pointers = heap_zero(blocks * 3ull + GRAPH_TABLE, sizeof *p->pointers);
        for (uint32_t i = 0; i < blocks; i++) {
                uint64_t at = 8 * (p->blocks[i].site % 3);
                uint32_t count = i % (GRAPH_TABLE * 4) ? 2 + i % 2 : GRAPH_TABLE;

                for (uint32_t k = 0; k < count; k++, at += 8) {
                        uint64_t to = k ? sample_random(state) : i + 1 + sample_random(state) % 4;

                        if (count == GRAPH_TABLE)
                                to = i + k * 4ull, at = k * 8ull;
                        p->pointers[p->pointer_count++] = (struct profile_pointer){
                                .at = at, .from = i, .to = (uint32_t)(to % blocks)
                        };
                }
        }
}

static void graph_holds(struct profile *p, uint32_t blocks, uint64_t *state)
{
        for (uint32_t i = 0; i < GRAPH_ROOTS; i++)
                forge_root(p, PROFILE_ROOT_DATA, 0, 0x7f0000000000 + i * 0x10000ull,
                           0x7f0000001000 + i * 0x10000ull)
                        ->module = 0;
        for (uint32_t i = 0; i < GRAPH_ROOTS * GRAPH_HOLDS; i++)
                forge_hold(p, i / GRAPH_HOLDS,
                           p->roots[i / GRAPH_HOLDS].start + i % GRAPH_HOLDS * 24,
                           (uint32_t)(sample_random(state) % blocks));
}

static int tell(const struct profile *p, const char *path)
{
        struct profile q;
        struct file_layout l;
        struct err e = { 0 };
        double start = now(), written, read;

        if (!file_write(p, path, &e))
                return fprintf(stderr, "forge_graph: %s\n", e.text), 1;
        written = now();
        if (!file_read(&q, path, &e) || !file_sections(&l, path, &e))
                return fprintf(stderr, "forge_graph: %s\n", e.text), 1;
        read = now();
        for (uint32_t i = 0, next; i < l.count; i = next) {
                uint64_t stored = 0, raw = 0;

                for (next = i; next < l.count && l.sections[next].type == l.sections[i].type;
                     next++)
                        stored += l.sections[next].stored_bytes, raw += l.sections[next].raw_bytes;
                printf("%-10s %10llu bytes, %10llu unpacked\n", l.sections[i].name,
                       (unsigned long long)stored, (unsigned long long)raw);
        }
        printf("written in %.0f ms, read in %.0f ms, %llu bytes\n", (written - start) * 1e3,
               (read - written) * 1e3, (unsigned long long)l.bytes);
        file_sections_free(&l);
        profile_free(&q);
        return 0;
}

int main(int argc, char **argv)
{
        uint32_t blocks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
        uint64_t state = 1;
        struct profile p;
        int status;

        if (argc < 2 || argc > 3 || !blocks) {
                fputs("usage: forge_graph FILE [BLOCKS]\n", stderr);
                return 2;
        }
        forge_usual(&p);
        forge_scan(&p, 9990, PROFILE_SCAN_EXIT, PROFILE_SCAN_GRAPH);
        graph_blocks(&p, blocks, &state);
        graph_holds(&p, blocks, &state);
        graph_pointers(&p, blocks, &state);
        status = tell(&p, argv[1]);
        profile_free(&p);
        return status;
}
