/* SPDX-License-Identifier: MIT */
/* test_tcb.c -- what glibc keeps of threads, where the thread pointer lies behind it. */
#include "scan/tcb.h"

#include <elf.h>
#include <string.h>

#include "tap.h"

#define BASE 0xffff80000000ull
#define WORDS 16384u
#define STACK (BASE + 65536) /* of a thread that has ended, up to the end of the memory */
#define END (BASE + 8 * WORDS)
#define FIRST (BASE + 2048) /* thread pointer of the first thread, whose memory begins with it */
#define LAST (END - 512)    /* that of the other one */
#define NODE 1664u          /* the node lies so far below it */
#define HEAD (BASE + 4096)  /* of the list */
#define TID 4321u

static uint64_t memory[WORDS];
static struct freeze_thread first = { .tid = TID, .tp = FIRST };
static struct freeze_far far;
static struct freeze frozen = { .threads = &first, .thread_count = 1, .machine = EM_AARCH64,
                                .far = &far };

/* All or nothing below the memory, as that of a process. */
static size_t read_part(void *context, uint64_t address, void *to, size_t bytes)
{
        (void)context;
        if (address < BASE || address >= END)
                return 0;
        bytes = bytes < END - address ? bytes : END - address;
        memcpy(to, (const uint8_t *)memory + (address - BASE), bytes);
        return bytes;
}

static uint64_t *word(uint64_t address)
{
        return &memory[(address - BASE) / 8];
}

static void link_nodes(uint64_t before, uint64_t after)
{
        *word(before) = after;
        *word(after + 8) = before;
}

static void make(void)
{
        far.read = read_part;
        memset(memory, 0, sizeof memory);
        link_nodes(HEAD, FIRST - NODE);
        link_nodes(FIRST - NODE, LAST - NODE);
        link_nodes(LAST - NODE, HEAD);
        *word(FIRST - NODE + 16) = TID | 7ull << 32;
}

TEST(a_thread_that_has_ended_is_found_at_the_end_of_its_stack)
{
        struct search_range found[4];

        make();
        is_true(tcb_is_known(&frozen));
        is_equal(tcb_find(&frozen, STACK, END, found, 4), 1);
        is_true(found[0].start < LAST - NODE && found[0].start >= STACK);
        is_equal(found[0].end, LAST + 16);
}

TEST(a_stack_without_one_has_none)
{
        struct search_range found[4];

        make();
        *word(HEAD + 8) = FIRST - NODE; /* the list goes past it */
        is_true(tcb_is_known(&frozen));
        is_equal(tcb_find(&frozen, STACK, END, found, 4), 0);
        is_equal(tcb_find(&frozen, STACK, END - 4096, found, 4), 0);
}

TEST(without_the_number_of_the_first_thread_nothing_is_known)
{
        struct search_range found[4];

        make();
        first.tid = TID + 1;
        is_true(!tcb_is_known(&frozen));
        is_equal(tcb_find(&frozen, STACK, END, found, 4), 0);
        first.tid = TID;
}

TAP_MAIN(a_thread_that_has_ended_is_found_at_the_end_of_its_stack, a_stack_without_one_has_none,
         without_the_number_of_the_first_thread_nothing_is_known)
