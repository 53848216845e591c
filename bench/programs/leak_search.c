/* SPDX-License-Identifier: MIT */
/*
 * leak_search.c -- how fast leak/run.c is: heaps of 1 GiB with few and many blocks, few and many
 * pointers.
 *
 *     leak_search [BLOCKS [PERCENT [MIB [HEADER]]]]      one heap, or without arguments the usual
 *                                                        ones
 *
 * PERCENT of all words are pointers, an eighth of them interior; others are small numbers and
 * random bits.  Memory is read with memcpy. With HEADER no pointer is to the start of a block, but
 * to so many bytes behind it.  The search has a thread for each processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/parallel.h"
#include "leak/run.h"
#include "leak/search.h"
#include "leak/huge_array.h"

#define ROOTS 100u
#define PLACES 1000u /* that allocated the blocks */
#define ROUNDS 3u /* the quickest counts: others use the machine, too */

struct heap {
        uint64_t *words;
        uint64_t bytes;
        struct search_block *blocks;
        uint64_t block_count;
        uint32_t *places;
        uint64_t header; /* bytes */
};

struct watch {
        struct progress progress;
        double passed, passed_cpu; /* when the last piece had been searched */
};

static double now(clockid_t clock)
{
        struct timespec t;

        clock_gettime(clock, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t random_word(void)
{
        static uint64_t state = 88172645463325252u;

        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

static void tell(struct progress *p, uint64_t done, uint64_t all)
{
        (void)done, (void)all;
        ((struct watch *)p)->passed = now(CLOCK_MONOTONIC);
        ((struct watch *)p)->passed_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
}

static size_t read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
        (void)context;
        memcpy(to, (const void *)address, bytes);
        return bytes;
}

static void heap_make(struct heap *h, uint64_t blocks, uint64_t bytes)
{
        uint64_t each = bytes / blocks / 16 * 16;

        h->bytes = bytes;
        h->block_count = blocks;
        h->blocks = huge_array_zero(blocks, sizeof *h->blocks);
        h->places = huge_array_zero(blocks, sizeof *h->places);
        h->words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!h->blocks || h->words == MAP_FAILED) {
                fprintf(stderr, "leak_search: no memory for %llu blocks\n",
                        (unsigned long long)blocks);
                exit(3);
        }
        for (uint64_t i = 0; i < blocks; i++)
                h->places[i] = 1 + (uint32_t)(i % (PLACES - 1));
        for (uint64_t i = 0; i < blocks; i++)
                h->blocks[i] = (struct search_block){ .address = (uint64_t)h->words + i * each + 16,
                                                      .size = each - 16 };
}

static void heap_fill(struct heap *h, unsigned percent)
{
        for (uint64_t i = 0; i < h->bytes / 8; i++) {
                uint64_t dice = random_word();
                const struct search_block *b = &h->blocks[(dice >> 16) % h->block_count];

                if (dice % 100 < percent)
                        h->words[i] = b->address + (dice >> 8 & 7 || h->header
                                                            ? h->header
                                                            : 8 * (dice >> 11 & 31) % b->size);
                else
                        h->words[i] = dice & 0x100 ? dice >> 48 : dice;
        }
        for (uint64_t i = 0; h->header >= 8 && i < h->block_count; i++)
                *(uint64_t *)(h->blocks[i].address + h->header - 8) = 1;
}

static void quickest(double *of, double one, unsigned round)
{
        *of = round && *of < one ? *of : one;
}

static void measure(uint64_t blocks, unsigned percent, uint64_t bytes, uint64_t header)
{
        static const uint32_t wider[PLACES];
        struct heap h = { .header = header };
        struct watch watch = { .progress = { .tell = tell } };
        uint64_t roots[ROOTS];
        struct search_root root = { .end = sizeof roots, .words = roots };
        double pass = 0, marking = 0, pass_cpu = 0, marking_cpu = 0;
        uint64_t links = 0;

        heap_make(&h, blocks, bytes);
        heap_fill(&h, percent);
        for (unsigned i = 0; i < ROOTS; i++)
                roots[i] = h.blocks[random_word() % blocks].address + header;
        for (unsigned i = 0; i < ROUNDS; i++) {
                struct search_graph g;
                double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID), end,
                       end_cpu;

                search_run(&(struct search_input){ .memory = { .context = &h, .read = read_memory },
                                                   .blocks = h.blocks,
                                                   .block_count = blocks,
                                                   .places = h.places,
                                                   .wider = wider,
                                                   .place_count = PLACES,
                                                   .roots = &root,
                                                   .root_count = 1,
                                                   .threads = parallel_threads(),
                                                   .progress = &watch.progress },
                           &g);
                end = now(CLOCK_MONOTONIC);
                end_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
                quickest(&pass, watch.passed - start, i);
                quickest(&marking, end - watch.passed, i);
                quickest(&pass_cpu, watch.passed_cpu - start_cpu, i);
                quickest(&marking_cpu, end_cpu - watch.passed_cpu, i);
                links = g.link_count;
                search_graph_free(&g);
        }
        printf("%9llu blocks %3u %% pointers: %5.2f GB/s, marking %5.2f s, %llu links; processor "
               "time %.2f and %.2f s\n",
               (unsigned long long)blocks, percent, (double)bytes / 1e9 / pass, marking,
               (unsigned long long)links, pass_cpu, marking_cpu);
        fflush(stdout);
        munmap(h.words, h.bytes);
        free(h.blocks);
        free(h.places);
}

int main(int argc, char **argv)
{
        static const uint64_t counts[] = { 1000, 100000, 10000000 };
        uint64_t mib = argc > 3 ? strtoull(argv[3], NULL, 10) : 1024;

        if (argc > 1) {
                measure(strtoull(argv[1], NULL, 10), argc > 2 ? (unsigned)atoi(argv[2]) : 10,
                        mib << 20, argc > 4 ? strtoull(argv[4], NULL, 10) : 0);
                return 0;
        }
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                for (unsigned percent = 2; percent <= 25;
                     percent = percent == 2 ? 10 : percent + 15)
                        measure(counts[i], percent, mib << 20, 0);
        return 0;
}
