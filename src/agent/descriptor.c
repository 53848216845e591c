/* SPDX-License-Identifier: MIT */
#include "agent/descriptor.h"

#include "agent/agent.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define DESCRIPTOR_BYTES 2304u    /* struct pthread is about so large */
#define DESCRIPTOR_END (8u << 10) /* it begins nearer to the end of the stack */
#define DESCRIPTOR_WORDS 32u      /* read at once */

/* The four words of struct pthread that tell. */
struct descriptor {
        arch_word block, bytes; /* stackblock, stackblock_size: with the guard,
                                 * which is at the lower end */
        arch_word guard, reported_guard;
};

/* Where they are in struct pthread, which differs between versions, and how far from the end of the
 * stack that begins, which does not differ between threads.  0: not known yet. */
static uint32_t known_place, known_distance;

static bool read_words(uint64_t at, void *to, uint64_t bytes)
{
        return sys_peek(agent.pid, at, to, bytes);
}

static bool is_whole(uint64_t bytes)
{
        return bytes % SYS_PAGE == 0;
}

/* Whether D, found in the struct pthread THREAD, is what it looks like. */
static bool is_stack(const struct descriptor *d, uint64_t thread)
{
        uint64_t end = d->block + d->bytes;

        return d->block && is_whole(d->block) && d->block < thread && thread < end &&
               end - thread < DESCRIPTOR_END && is_whole(d->guard) && is_whole(d->reported_guard) &&
               d->guard < thread - d->block && d->reported_guard < d->bytes;
}

/* The offset of the words in THREAD; 0 not found. */
static uint32_t search_words(uint64_t thread, struct descriptor *out)
{
        arch_word words[DESCRIPTOR_WORDS];

        for (uint32_t at = 0; at < DESCRIPTOR_BYTES; at += sizeof words - sizeof *out) {
                if (!read_words(thread + at, words, sizeof words))
                        return 0;
                for (uint32_t i = 0; i + sizeof *out / sizeof *words <= DESCRIPTOR_WORDS; i++) {
                        *out = *(const struct descriptor *)&words[i];
                        if (is_stack(out, thread))
                                return at + (uint32_t)sizeof *words * i;
                }
        }
        return 0;
}

bool descriptor_find(uint64_t name, struct descriptor_stack *out)
{
        uint32_t place = __atomic_load_n(&known_place, __ATOMIC_ACQUIRE);
        struct descriptor d;
        arch_word thread;

        if (!read_words(name, &thread, sizeof thread) || thread % 16)
                return false;
        if (place && (!read_words(thread + place, &d, sizeof d) || !is_stack(&d, thread)))
                return false;
        if (!place) {
                place = search_words(thread, &d);
                if (!place)
                        return false;
                __atomic_store_n(&known_distance, (uint32_t)(d.block + d.bytes - thread),
                                 __ATOMIC_RELAXED);
                __atomic_store_n(&known_place, place, __ATOMIC_RELEASE);
        }
        *out = (struct descriptor_stack){ d.block + d.guard, d.block + d.bytes };
        return true;
}

/* One that is mapped no more may have made room for anything: what is there must still tell of this
 * stack.  Its guard may have changed. */
bool descriptor_is_there(const struct descriptor_stack *stack)
{
        uint64_t thread = stack->end - __atomic_load_n(&known_distance, __ATOMIC_RELAXED);
        struct descriptor d;

        return read_words(thread + __atomic_load_n(&known_place, __ATOMIC_RELAXED), &d, sizeof d) &&
               is_stack(&d, thread) && d.block + d.bytes == stack->end && d.block <= stack->start;
}
