/* SPDX-License-Identifier: MIT */
/*
 * account.c -- events seen at breakpoints, put into the book.
 *
 * Keeps:  the same order as in the agent (agent/record.h): a release before the real one, an
 *         allocation after it.
 */
#include "breakpoint/arch/arch.h"
#include "breakpoint/parts.h"

#include <string.h>

#include "attach/procfs.h"
#include "book/count.h"
#include "book/error.h"
#include "book/shadow.h"

/* ---- threads ---- */

static uint32_t slot_take(struct target *t)
{
        struct ledger_head *h = t->book.head;

        for (uint32_t i = 0; i < h->slot_count; i++)
                if (!book_slot(&t->book, i)->used)
                        return i;
        if (!book_commit(&t->book, LEDGER_SLOTS,
                         (h->slot_count + 1ull) * sizeof(struct ledger_slot)))
                return UINT32_MAX;
        return h->slot_count++;
}

static struct ledger_thread *record_of(struct target *t, uint32_t number)
{
        return (struct ledger_thread *)book_part(&t->book, LEDGER_THREADS) + number;
}

/* An entry of its own among the threads; later ones share the last. */
static uint32_t record_new(struct task *t)
{
        struct target *g = t->target;
        struct ledger_head *h = g->book.head;
        uint32_t number = h->thread_count;
        struct ledger_thread *r;

        if (number >= LEDGER_THREAD_OTHERS) {
                h->thread_count = LEDGER_THREADS_MAX;
                h->threads_not_kept++;
                number = LEDGER_THREAD_OTHERS;
        }
        if (!book_commit(&g->book, LEDGER_THREADS, (number + 1ull) * sizeof *r))
                return 0;
        if (number == LEDGER_THREAD_OTHERS) {
                t->writer.slot->base_allocs = t->writer.slot->allocs;
                t->writer.slot->base_alloc_bytes = t->writer.slot->alloc_bytes;
                return number;
        }
        r = record_of(g, number);
        *r = (struct ledger_thread){ .tid = (uint32_t)t->tid, .slot = t->writer.index,
                                     .start_ms = book_now_ms(&g->book),
                                     .base_allocs = t->writer.slot->allocs,
                                     .base_alloc_bytes = t->writer.slot->alloc_bytes };
        process_thread_name((uint32_t)g->pid, (uint32_t)t->tid, r->name);
        h->thread_count++;
        return number;
}

bool account_begin(struct task *t)
{
        struct target *g = t->target;
        uint32_t index;

        if (t->slot)
                return true;
        index = slot_take(g);
        if (index == UINT32_MAX) {
                g->book.head->lost_events++;
                return false;
        }
        t->writer = (struct book_writer){ .slot = book_slot(&g->book, index), .index = index,
                                          .span = UINT64_MAX };
        t->writer.slot->used = 1;
        t->writer.slot->tid = (uint32_t)t->tid;
        t->writer.record = record_new(t);
        t->writer.slot->thread = t->writer.record;
        t->slot = index + 1;
        peak_thread_joined(&g->book);
        return true;
}

void account_end(struct task *t)
{
        struct target *g = t->target;
        struct ledger_slot *s = t->writer.slot;
        struct ledger_thread *r;

        if (!t->slot)
                return;
        r = record_of(g, t->writer.record);
        if (t->writer.record == LEDGER_THREAD_OTHERS) {
                r->last_allocs += s->allocs - s->base_allocs;
                r->last_alloc_bytes += s->alloc_bytes - s->base_alloc_bytes;
                s->base_allocs = s->allocs;
                s->base_alloc_bytes = s->alloc_bytes;
        } else if (t->writer.record) {
                process_thread_name((uint32_t)g->pid, (uint32_t)t->tid, r->name);
                r->end_ms = book_now_ms(&g->book) | 1;
                r->last_allocs = s->allocs;
                r->last_alloc_bytes = s->alloc_bytes;
        }
        s->used = 0;
        t->slot = 0;
}

/* ---- allocations ---- */

/* Its release was not seen. */
static void missed(struct task *t, struct ledger_block *b, uint64_t address)
{
        struct book *k = &t->target->book;
        struct ledger_block gone = *b;
        struct ledger_counter *c;

        if (!LEDGER_BLOCK_SITE(gone))
                return;
        k->head->missed_frees++;
        k->sites[LEDGER_BLOCK_SITE(gone)].missed = 1;
        shadow_bury(b, book_now_ms(k));
        c = book_counter(k, &t->writer, LEDGER_BLOCK_SITE(gone));
        if (c)
                count_remove(k, &t->writer, c,
                             (struct count_blocks){ address, LEDGER_BLOCK_SIZE(gone), 1,
                                                    book_now_ms(k) - LEDGER_BLOCK_BIRTH_MS(gone) });
}

static bool is_omitted(const struct task *t)
{
        const struct code *c = *tracer.wishes->omit
                                       ? codes_find(t->target, arch_pc(&t->registers) - 1)
                                       : NULL;

        return c && c->omitted;
}

/* It is nobody's business but may come back. */
static void leave_out(struct task *t, uint64_t address, uint64_t size)
{
        struct book *k = &t->target->book;
        struct ledger_block *b = shadow_new(k, &t->writer, address);

        t->writer.slot->omitted++;
        t->writer.slot->omitted_bytes += size;
        if (b)
                shadow_write(k, &t->writer, b,
                             shadow_block(address, shadow_size(size), LEDGER_KIND_MALLOC,
                                          book_now_ms(k)));
        t->writer.last = 0;
}

void account_alloc(struct task *t, uint64_t address, uint64_t size, uint32_t kind)
{
        struct book *k = &t->target->book;
        struct ledger_block *b, what;
        struct ledger_counter *c;
        uint32_t site;

        if (is_omitted(t)) {
                leave_out(t, address, size);
                return;
        }
        site = walk_site(t, kind);
        c = site ? book_counter(k, &t->writer, site) : NULL;
        b = c ? shadow_new(k, &t->writer, address) : NULL;
        if (!b) {
                k->head->lost_events++;
                return;
        }
        size = shadow_size(size);
        if (b->b & SHADOW_LIVE)
                missed(t, b, address);
        count_add(k, &t->writer, c, (struct count_blocks){ address, size, 1, 0 });
        what = shadow_block(address, size, kind, book_now_ms(k));
        what.a |= site;
        shadow_write(k, &t->writer, b, what);
}

/* ---- releases ---- */

/* T's registers become those of the caller of the function that it has just entered. */
static void to_caller(struct task *t)
{
        uint64_t back = 0;

        call_back(t, &back);
        arch_return(&t->registers, back);
}

static void note(struct task *t, struct ledger_error *f, uint64_t address)
{
        struct arch_registers here = t->registers;

        to_caller(t);
        f->node = walk_node(t);
        t->registers = here;
        f->thread = t->writer.record;
        f->address = address;
        t->writer.last = 0;
        error_note(&t->target->book, f);
}

#define CHUNK_FLAGS 7u
#define CHUNK_MAPPED 2u

/* Is ADDRESS the start of a block in use, as glibc keeps them (agent/fault.c)? */
static bool is_glibc_block(const struct target *t, uint64_t address)
{
        uint64_t head[2], next[2], size;

        if (address % 16 || !target_read(t, address - 16, head, sizeof head))
                return false;
        size = head[1] & ~(uint64_t)CHUNK_FLAGS;
        if (size < 32 || size % 16 || size >= LEDGER_SIZE_MAX)
                return false;
        if (head[1] & CHUNK_MAPPED)
                return (address - 16 - head[0]) % 4096 == 0 && (head[0] + size) % 4096 == 0;
        return target_read(t, address - 16 + size, next, sizeof next) && (next[1] & 1) &&
               (next[1] & ~(uint64_t)CHUNK_FLAGS) >= 16;
}

/* Other allocators have functions of their own, and what those gave may go by free. */
static bool is_block(const struct target *t, uint64_t address)
{
        const struct ledger_head *h = t->book.head;

        if (t->glibc)
                return is_glibc_block(t, address);
        if (address % 8)
                return false;
        for (uint32_t plane = 1; plane < LEDGER_PLANE_POOL; plane++)
                if (shadow_entry(&t->book, address, plane))
                        return true;
        return h->missed_frees || h->unseen_blocks;
}

/* A call that comes from the same library, past its table of calls that others may take over: at
 * the end of a thread glibc frees so what it kept for it, which the program has freed before. */
static bool is_of_allocator(const struct task *t)
{
        const struct target *g = t->target;
        const struct code *here = codes_find(g, arch_pc(&t->registers));
        uint64_t back = 0;

        return here && strcmp(here->path, g->book.head->exe) != 0 && call_back(t, &back) &&
               codes_find(g, back - 1) == here && !codes_slot(g, back);
}

/* A release of what is no live block for us: whether something is wrong with it. */
static void unknown_release(struct task *t, const struct ledger_block *b, uint64_t address,
                            uint32_t family)
{
        struct target *g = t->target;
        struct ledger_head *h = g->book.head;
        struct ledger_error f =
                error_of(b ? LEDGER_ERROR_DOUBLE_FREE : LEDGER_ERROR_UNKNOWN_FREE, b, family);

        t->writer.last = 0;
        if (is_of_allocator(t))
                return;
        if (!b && g->dropped && address % 8 == 0) {
                g->dropped--; /* what a call got that ended by an exception */
                return;
        }
        if (b ? h->missed_frees || h->unseen_blocks : is_block(g, address) || h->lost_events) {
                h->unseen_blocks++;
                return;
        }
        note(t, &f, address);
}

static void release(struct task *t, struct ledger_block *b, uint64_t address)
{
        struct book *k = &t->target->book;
        struct ledger_block gone = *b;
        struct ledger_counter *c = book_counter(k, &t->writer, LEDGER_BLOCK_SITE(gone));

        shadow_bury(b, book_now_ms(k));
        if (c)
                count_remove(k, &t->writer, c,
                             (struct count_blocks){ address, LEDGER_BLOCK_SIZE(gone), 1,
                                                    book_now_ms(k) - LEDGER_BLOCK_BIRTH_MS(gone) });
}

static void check_fit(struct task *t, const struct ledger_block *b, uint64_t address,
                      const struct book_release *r)
{
        struct ledger_error f = { .type = LEDGER_ERROR_NONE };

        if (!t->target->nameless && !error_fits(b, *r))
                f = error_mismatch(&t->target->book, b, r);
        if (f.type)
                note(t, &f, address);
}

void account_free(struct task *t, uint64_t address, const struct book_release *r)
{
        struct book *k = &t->target->book;
        struct ledger_block *b = shadow_find(k, &t->writer, address);

        if (!b || !LEDGER_BLOCK_LIVE(*b)) {
                unknown_release(t, b, address, r->family);
        } else if (!LEDGER_BLOCK_SITE(*b)) {
                *b = (struct ledger_block){ 0 };
                t->writer.last = 0;
        } else {
                check_fit(t, b, address, r);
                release(t, b, address);
        }
}

/* ---- realloc ---- */

void account_take(struct task *t, uint64_t address)
{
        struct book *k = &t->target->book;
        struct ledger_block *b = shadow_find(k, &t->writer, address);

        t->call.place = NULL;
        if (!b || !LEDGER_BLOCK_LIVE(*b)) {
                unknown_release(t, b, address, LEDGER_FAMILY_C);
                return;
        }
        t->call.place = b;
        t->call.block = *b;
        if (LEDGER_BLOCK_SITE(*b)) {
                check_fit(t, b, address, &(struct book_release){ .family = LEDGER_FAMILY_C });
                shadow_bury(b, book_now_ms(k));
        } else {
                *b = (struct ledger_block){ 0 };
        }
        t->writer.slot->moving_bytes = LEDGER_BLOCK_SIZE(t->call.block);
        t->writer.slot->moving = address;
}

void account_put_back(struct task *t)
{
        t->writer.last = 0;
        if (t->call.place)
                shadow_put(&t->target->book, &t->writer, t->call.place, t->call.block);
        t->writer.slot->moving = 0;
}

void account_taken(struct task *t, uint64_t address)
{
        struct book *k = &t->target->book;
        struct ledger_counter *c = NULL;

        if (t->call.place && LEDGER_BLOCK_SITE(t->call.block))
                c = book_counter(k, &t->writer, LEDGER_BLOCK_SITE(t->call.block));
        if (c)
                count_remove(k, &t->writer, c,
                             (struct count_blocks){
                                     address, LEDGER_BLOCK_SIZE(t->call.block), 1,
                                     book_now_ms(k) - LEDGER_BLOCK_BIRTH_MS(t->call.block) });
        t->writer.slot->moving = 0;
}
