/* SPDX-License-Identifier: MIT */
/*
 * fault.c -- releases that went wrong: whether they did, and by which stack
 * (book/error.h keeps them).
 *
 * What is no live block for us may be one for the allocator: code that calls it past us
 * (RTLD_DEEPBIND, functions found by dlsym in the C library) allocates what the program
 * releases through us.  Such a release is counted, not judged.  With glibc the words around a
 * block tell whether it is one; elsewhere, and for a block that we saw freed, the evidence is
 * that releases were missed before.
 */
#include "agent/fault.h"

#include "agent/arena.h"
#include "agent/own.h"
#include "agent/pool.h"
#include "agent/quarantine.h"
#include "agent/real.h"
#include "agent/record.h"
#include "agent/ring.h"
#include "agent/stack.h"
#include "agent/sys.h"

#include "agent/guest.h"

/* ---- is it one of the allocator's? ---- */

#define CHUNK_MAPPED 2u
#define CHUNK_OTHER_ARENA 4u
#define CHUNK_FLAGS 7u
/* In front of a block: the size of what is before, and its own with flags. */
#define CHUNK_HEAD (2 * sizeof(arch_word))
#define CHUNK_LEAST (2 * CHUNK_HEAD)
#define CHUNK_ALIGN (CHUNK_HEAD > _Alignof(long double) ? CHUNK_HEAD : _Alignof(long double))
/* glibc: heaps of threads begin at multiples of this. */
#define ARENA_HEAP_SPAN (sizeof(arch_word) == 8 ? 64ull << 20 : 1ull << 20)

/* COUNT words at ADDRESS, wherever that points; false when there is no memory. */
static bool read_words(uint64_t address, arch_word *words, size_t count)
{
        if (agent.sandboxed) /* which may not let us ask */
                return false;
        return sys_peek(agent.pid, address, words, count * sizeof *words);
}

static bool is_chunk_size(uint64_t size)
{
        return size >= CHUNK_LEAST && size % CHUNK_ALIGN == 0 && size < LEDGER_SIZE_MAX;
}

/* The memory that malloc gets from brk(): from where the kernel began it to where it is now. */
static bool is_in_heap(uint64_t address)
{
        return address >= agent.heap_start && address < (uint64_t)sys_call3(SYS_brk, 0, 0, 0);
}

/* Is ADDRESS the start of a block in use, as glibc keeps them?  In front of it is its size with
 * flags; behind it the next block, whose flags say that the one in front is in use. */
static bool is_glibc_block(uint64_t address)
{
        uint64_t chunk = address - CHUNK_HEAD, size;
        arch_word head[2], next[2];

        if (address % CHUNK_ALIGN || !read_words(chunk, head, 2))
                return false;
        size = head[1] & ~(uint64_t)CHUNK_FLAGS;
        if (!is_chunk_size(size))
                return false;
        if (head[1] & CHUNK_MAPPED)
                return (chunk - head[0]) % SYS_PAGE == 0 && (head[0] + size) % SYS_PAGE == 0;
        if (!read_words(chunk + size, next, 2) || !(next[1] & 1) ||
            (next[1] & ~(uint64_t)CHUNK_FLAGS) < CHUNK_HEAD)
                return false;
        if (head[1] & CHUNK_OTHER_ARENA)
                return read_words(address & ~(ARENA_HEAP_SPAN - 1), head, 1) && head[0] &&
                       head[0] % CHUNK_ALIGN == 0;
        return shadow_entry(&agent_book, address,
                            agent_book.spread ? 1 + shadow_sub(address) : 0) ||
               is_in_heap(address);
}

#define CHUNK_FAST 128u /* freed ones up to here may look as if they were in use */

/* What glibc writes behind the first word of a freed block that waits in its cache for the next one
 * of that size; found out by freeing one.  0: it does not. */
static uint64_t cache_key(void)
{
        arch_word *probe = real.malloc_(3 * sizeof *probe), key[2] = { 0, 0 };

        if (!probe)
                return 0;
        probe[1] = 0;
        real.free_(probe);
        read_words((uintptr_t)probe, key, 2);
        return key[1];
}

#define EARLY_MS 1000u

/* Whether calls that were under way when we came may have had to do with what happened at MS. */
static bool is_early(uint32_t ms)
{
        return ms <= EARLY_MS;
}

/* Has the block at ADDRESS, which we saw freed, been handed out again past us?
 * Small ones cannot be told. */
static bool is_in_use_again(uint64_t address)
{
        arch_word words[4], key;

        if (!agent.glibc || quarantine_freed_by(address) || !is_glibc_block(address) ||
            !read_words(address - CHUNK_HEAD, words, 4))
                return false;
        if ((words[1] & ~(uint64_t)CHUNK_FLAGS) <= CHUNK_FAST)
                return false;
        key = cache_key();
        return key && words[3] != key;
}

/* Other allocators' blocks, and those that we saw freed, can be told by experience only. */
static bool is_bypassed(void)
{
        const struct ledger_head *h = agent.head;

        return h->missed_frees || h->unseen_blocks || h->deepbind_kept;
}

/* Other allocators have functions of their own (mallocx), and what those gave may go by free: an
 * address among blocks, in none of them, may be such a one. */
static bool is_among_blocks(uint64_t address)
{
        for (uint32_t plane = 1; plane < SHADOW_POOL; plane++)
                if (shadow_entry(&agent_book, address, plane))
                        return true;
        return false;
}

/* Forked while other threads were at work: what they did just then is half in our ledger
 * (life.c). */
static bool is_of_parent(const struct ledger_block *block)
{
        return agent.head->fork_several &&
               (!block || LEDGER_BLOCK_BIRTH_MS(*block) <= agent.head->fork_ms);
}

/* A release that may be right although we know of no such block. */
static bool is_doubtful(const struct ledger_block *block, const struct pool_block *around,
                        uint64_t address)
{
        if (block)
                return is_bypassed() || is_of_parent(block) || is_in_use_again(address);
        if (agent.head->lost_events)
                return true; /* its allocation may be the one that was lost */
        if (around->site)
                return false;
        return agent.glibc ? is_glibc_block(address)
                           : address % 8 == 0 && (is_bypassed() || is_among_blocks(address));
}

/* A process that was there before us has blocks that we do not know.  A call that was under way
 * when we came may have given one whose address we saw released since. */
static bool is_older(const struct ledger_block *block, const struct pool_block *around)
{
        return agent.head->attached && (block ? is_early((uint32_t)block->b) : !around->site);
}

/* ---- noting ---- */

static void note(struct thread *t, struct ledger_error *f, uint64_t address,
                 struct arch_state caller)
{
        if (agent.flags & WIRE_F_NO_STACKS ? stack_none(t) : stack_capture_whole(t, caller))
                f->node = stack_node(t);
        f->thread = t->writer.record;
        f->address = address;
        ring_put(t, LEDGER_EVENT_BAD_FREE, (uint8_t)f->type, f->node, address, caller.pc);
        t->writer.last = 0;
        error_note(&agent_book, f);
}

void fault_prepare(void)
{
        error_prepare(&agent_book);
}

void fault_note(struct thread *t, enum ledger_error_type type, const struct ledger_block *block,
                uint64_t address, uint32_t family, struct arch_state caller)
{
        struct ledger_error f = error_of(type, block, family);

        note(t, &f, address, caller);
}

bool fault_release(struct thread *t, const struct ledger_block *block, uint64_t address,
                   uint32_t family, struct arch_state caller)
{
        struct ledger_error f = error_of(block ? LEDGER_ERROR_DOUBLE_FREE
                                               : LEDGER_ERROR_UNKNOWN_FREE,
                                         block, family);
        struct pool_block around = { 0, 0, 0 };

        if (own_is_inner(caller.pc)) /* glibc empties the cache of a thread that ends */
                return true;
        if (!block)
                around = pool_around(t, address);
        if (is_older(block, &around)) {
                __atomic_add_fetch(&agent.head->older, 1, __ATOMIC_RELAXED);
                t->writer.last = 0;
                return true;
        }
        if (is_doubtful(block, &around, address)) {
                if (!is_of_parent(block))
                        __atomic_add_fetch(&agent.head->unseen_blocks, 1, __ATOMIC_RELAXED);
                t->writer.last = 0;
                return true;
        }
        if (around.site) { /* into the middle of it */
                f.alloc_site = around.site;
                f.size = around.size;
                f.given = address - around.start;
        }
        f.first_free = block ? quarantine_freed_by(address) : 0;
        note(t, &f, address, caller);
        if (!(agent.flags & WIRE_F_KEEP_GOING))
                return true;
        __atomic_add_fetch(&agent.head->held_back, 1, __ATOMIC_RELAXED);
        return false;
}

/* Some allocators have one function for free and operator delete.  A patch at its start does not
 * tell by which of its names it was called, so nothing can be said about that. */
bool fault_has_names(void)
{
#ifdef SEEP_INJECTED
        uintptr_t one = (uintptr_t)real.delete_, all = (uintptr_t)real.delete_array_;

        return !one || (one != all && one != (uintptr_t)real.free_ && all != (uintptr_t)real.free_);
#else
        return true;
#endif
}

void fault_mismatch(struct thread *t, const struct ledger_block *block, uint64_t address,
                    const struct book_release *r, struct arch_state caller)
{
        struct ledger_error f = error_mismatch(&agent_book, block, r);

        if (agent.head->attached && is_early(LEDGER_BLOCK_BIRTH_MS(*block)))
                /* Of an operator new that was called before we came: only its malloc was seen. */
                return;
        if (f.type && fault_has_names())
                note(t, &f, address, caller);
}
