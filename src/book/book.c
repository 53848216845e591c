/* SPDX-License-Identifier: MIT */
/* book.c -- a ledger from its first byte on: its layout, its counters, its texts. */
#include "book/book.h"

/* A program with 32 bits has no more than 4 GiB of address space, or 3: of these 0.5 are
 * reserved, for 200 to 400 MiB of small blocks. */
#define WORDS(wide, narrow) (sizeof(void *) == 8 ? (wide) : (narrow))

/* Reserved sizes of parts, and whether they may be less where address space is limited. */
static const struct {
        uint64_t bytes, least; /* 0: always as large */
} part_sizes[LEDGER_PARTS] = {
        [LEDGER_HEAD] = { 64ull << 10, 0 },
        [LEDGER_NODES] = { WORDS(1ull << 30, 64ull << 20), BOOK_STEP },
        [LEDGER_SITES] = { WORDS(256ull << 20, 16ull << 20), BOOK_STEP },
        [LEDGER_SLOTS] = { WORDS(16384, 512) * sizeof(struct ledger_slot),
                           256 * sizeof(struct ledger_slot) },
        [LEDGER_COUNTERS] = { WORDS(64ull << 30, 64ull << 20), BOOK_STEP },
        [LEDGER_CHUNKS] = { 4ull << 20, 0 },
        [LEDGER_SHADOW] = { WORDS(256ull << 30, 192ull << 20), 2 * LEDGER_SHADOW_CHUNK_BYTES },
        [LEDGER_THREADS] = { (LEDGER_THREADS_MAX + 1) * sizeof(struct ledger_thread), 0 },
        [LEDGER_MODULES] = { 32768 * sizeof(struct ledger_module), BOOK_STEP },
        [LEDGER_REGIONS] = { WORDS(256ull << 20, 16ull << 20), BOOK_STEP },
        [LEDGER_ERRORS] = { 4096 * sizeof(struct ledger_error), 0 },
        [LEDGER_STRINGS] = { WORDS(64ull << 20, 8ull << 20), BOOK_STEP },
        [LEDGER_MARKS] = { LEDGER_MARKS_MAX * sizeof(struct ledger_mark), 0 },
        [LEDGER_DEATHS] = { LEDGER_DEATHS_MAX * sizeof(struct ledger_death), 0 },
        [LEDGER_HANDLES] = { WORDS(256ull << 20, 16ull << 20), BOOK_STEP },
        [LEDGER_JOURNAL] = { 16ull << 20, 0 },
        [LEDGER_OWN] = { 16ull << 20, 0 },
        [LEDGER_ROOTS] = { LEDGER_ROOTS_MAX * sizeof(struct ledger_range), 0 },
        [LEDGER_ORDER] = { WORDS(256ull << 20, 16ull << 20), BOOK_STEP },
};

static uint64_t part_size(enum ledger_part part, unsigned shift)
{
        uint64_t size = part_sizes[part].bytes, least = part_sizes[part].least;

        if (least)
                size = size >> shift > least ? size >> shift : least;
        return (size + BOOK_STEP - 1) & ~(BOOK_STEP - 1);
}

uint64_t book_layout(struct ledger_head *head, unsigned shift)
{
        uint64_t offset = 0;

        for (int part = 0; part < LEDGER_PARTS; part++) {
                uint64_t size = part_size(part, shift);

                if (size >= BOOK_LARGE)
                        offset = (offset + BOOK_HUGE - 1) & ~(BOOK_HUGE - 1);
                if (head)
                        head->part[part] = (struct ledger_extent){ .offset = offset, .size = size };
                offset += size;
        }
        if (!head)
                return offset;
        head->part[LEDGER_HEAD].committed = BOOK_STEP;
        head->magic = LEDGER_MAGIC;
        head->version = LEDGER_VERSION;
        head->head_size = sizeof *head;
        head->file_size = offset;
        head->word_bytes = sizeof(void *);
        head->machine = LEDGER_MACHINE;
        head->node_count = 2;
        head->site_count = head->thread_count = head->string_bytes = 1;
        return offset;
}

void book_begin(struct book *k, struct ledger_head *head)
{
        k->head = head;
        k->nodes = book_part(k, LEDGER_NODES);
        k->sites = book_part(k, LEDGER_SITES);
        k->slots = book_part(k, LEDGER_SLOTS);
        k->counters = book_part(k, LEDGER_COUNTERS);
        k->shadow = book_part(k, LEDGER_SHADOW);
}

uint32_t book_string(struct book *k, const char *text)
{
        uint32_t *used = &k->head->string_bytes, at = __atomic_load_n(used, __ATOMIC_RELAXED),
                 length = 1;
        char *to;

        while (text[length - 1])
                length++;
        do {
                if (!book_commit(k, LEDGER_STRINGS, (uint64_t)at + length)) {
                        __atomic_add_fetch(&k->head->strings_not_kept, 1, __ATOMIC_RELAXED);
                        return 0;
                }
        } while (!__atomic_compare_exchange_n(used, &at, at + length, false, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED));
        to = (char *)book_part(k, LEDGER_STRINGS) + at;
        for (uint32_t i = 0; i < length; i++)
                to[i] = text[i];
        return at;
}

struct ledger_counter *book_counter_new(struct book *k, struct book_writer *w, uint32_t site)
{
        uint32_t number = __atomic_add_fetch(&k->head->counter_chunk_count, 1, __ATOMIC_RELAXED);

        if (site / LEDGER_COUNTERS_PER_CHUNK >= LEDGER_CHUNKS_PER_SLOT ||
            !book_commit(k, LEDGER_COUNTERS, (uint64_t)number * LEDGER_COUNTER_CHUNK_BYTES)) {
                book_full(k, LEDGER_STOP_COUNTERS_FULL);
                return NULL;
        }
        __atomic_store_n(&w->slot->chunk[site / LEDGER_COUNTERS_PER_CHUNK], number,
                         __ATOMIC_RELEASE);
        return book_counter(k, w, site);
}
