/* SPDX-License-Identifier: MIT */
/*
 * reserve.c -- reserves much address space without access, as run-time systems do, and uses other
 * mappings and some heap.
 *
 * Room:   tests only.  Says what each has mapped (fact NAME=BYTES) and the most that was resident
 *         (fact resident=BYTES).
 */
#include "truth.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define RESERVED (4ull << 30)
#define USED (24u << 20)
#define HEAP (100u << 10)

static void *map(size_t bytes, int protection)
{
        void *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                        0);

        if (at == MAP_FAILED)
                truth_die("reserve: no address space\n");
        return at;
}

static void __attribute__((noinline)) keep_back(void)
{
        map(RESERVED, PROT_NONE);
}

static void __attribute__((noinline)) fill_pages(void)
{
        memset(map(USED, PROT_READ | PROT_WRITE), 1, USED);
}

int main(void)
{
        struct rusage used;
        char *heap;

        keep_back();
        fill_pages();
        heap = malloc(HEAP);
        memset(heap, 1, HEAP);
        getrusage(RUSAGE_SELF, &used);
        truth_say("fact keep_back=%llu\n", (unsigned long long)RESERVED);
        truth_say("fact fill_pages=%llu\n", (unsigned long long)USED);
        truth_say("fact resident=%llu\n", (unsigned long long)used.ru_maxrss * 1024);
        return heap[HEAP - 1] != 1;
}
