/* SPDX-License-Identifier: MIT */
/*
 * support_powerpc.c -- words of 64 bits that several threads change, on a processor that changes
 * 32 bits in one step.
 *
 * Room:   inside; any context.  The names are the compiler's.
 * Keeps:  each operation is one step for all others; a program that is ended at any instruction
 *         leaves a whole word, the old one or the new.
 *
 * Loading and storing: a register of the floating-point unit, which keeps bits as they are.  The
 * architecture promises one access for an aligned double with 64 bits only, but every processor
 * with 32 bits and such a unit has a path of 64 bits to its cache.
 *
 * Changing: nearly always the upper half stays, because a program with addresses of 32 bits has no
 * larger sums; counters pass 2^32, and differences pass 0.  Then the lower half is changed with a
 * reservation.  That is for the cache line, so it is lost as well when the upper half is written
 * before the store.
 *
 * Otherwise (WIDE) one at a time, with all signals blocked, so that no handler finds it taken by
 * the thread that it interrupted:
 *
 *     changing the lower half                 changing both
 *     reserve and load the lower half         wide = 1
 *     load the upper half                     store the lower half as it is: reservations
 *     wide? then be the one of the right        of before are lost
 *     store the lower half, if reserved       load both, store both as one, wide = 0
 *
 * Whoever reserves after that store sees `wide`.  Two cases in which it stays set: a child that was
 * forked in that moment, and a holder that does not come to run, so a wait is not longer than so
 * many turns.  Then the word is taken all the same; at worst one of two changes is lost.
 *
 * No word is stored (support_store) while others change it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/sys.h"

#include "agent/guest.h"

#if defined(__powerpc__)

#define WIDE_TURNS 10000u

uint64_t support_load(const uint64_t *at, int order) __asm__("__atomic_load_8");
void support_store(uint64_t *at, uint64_t value, int order) __asm__("__atomic_store_8");
uint64_t support_exchange(uint64_t *at, uint64_t value, int order) __asm__("__atomic_exchange_8");
bool support_compare(uint64_t *at, uint64_t *expected, uint64_t value, bool weak, int success,
                     int failure) __asm__("__atomic_compare_exchange_8");
uint64_t support_add(uint64_t *at, uint64_t by, int order) __asm__("__atomic_fetch_add_8");
uint64_t support_subtract(uint64_t *at, uint64_t by, int order) __asm__("__atomic_fetch_sub_8");
uint64_t support_or(uint64_t *at, uint64_t bits, int order) __asm__("__atomic_fetch_or_8");
uint64_t support_and(uint64_t *at, uint64_t bits, int order) __asm__("__atomic_fetch_and_8");

static uint32_t wide; /* somebody changes both halves of a word */

/* Every order is the strongest. */
static void order_all(void)
{
        __asm__ volatile("sync" : : : "memory");
}

static uint64_t load(const uint64_t *at)
{
        uint64_t value;

        __asm__ volatile("lfd 0, %1\n\t"
                         "stfd 0, %0"
                         : "=m"(value)
                         : "m"(*at)
                         : "fr0");
        return value;
}

static void store(uint64_t *at, uint64_t value)
{
        __asm__ volatile("lfd 0, %1\n\t"
                         "stfd 0, %0"
                         : "=m"(*at)
                         : "m"(value)
                         : "fr0");
}

static uint32_t *low_half(uint64_t *at)
{
        return (uint32_t *)at + 1;
}

/* From OLD to NEW, which has the same upper half; whether that was done.  (sync: what is loaded
 * after the reservation is not loaded ahead of it.) */
static bool change_low(uint64_t *at, uint64_t old, uint64_t new)
{
        uint32_t seen, done = 0;

        __asm__ volatile("lwarx %1, 0, %2\n\t"
                         "sync\n\t"
                         "cmpw %1, %5\n\t"
                         "bne- 1f\n\t"
                         "lwz %1, %4\n\t"
                         "cmpw %1, %6\n\t"
                         "bne- 1f\n\t"
                         "lwz %1, %7\n\t"
                         "cmpwi %1, 0\n\t"
                         "bne- 1f\n\t"
                         "stwcx. %3, 0, %2\n\t"
                         "bne- 1f\n\t"
                         "li %0, 1\n"
                         "1:"
                         : "+&r"(done), "=&r"(seen)
                         : "r"(low_half(at)), "r"((uint32_t)new), "m"(*(uint32_t *)at),
                           "r"((uint32_t)old), "r"((uint32_t)(old >> 32)), "m"(wide)
                         : "memory", "cr0");
        return done;
}

static void wide_take(void)
{
        uint32_t nobody = 0;

        for (uint32_t turn = 0; turn < WIDE_TURNS; turn++, nobody = 0) {
                if (__atomic_compare_exchange_n(&wide, &nobody, 1, false, __ATOMIC_SEQ_CST,
                                                __ATOMIC_RELAXED))
                        break;
                sys_yield();
        }
        order_all();
}

/* From OLD to NEW, whatever they are. */
static bool change_both(uint64_t *at, uint64_t old, uint64_t new)
{
        uint64_t signals = sys_block_signals(~0ull);
        bool same;

        wide_take();
        __atomic_fetch_or(low_half(at), 0, __ATOMIC_SEQ_CST);
        order_all();
        same = load(at) == old;
        if (same)
                store(at, new);
        __atomic_store_n(&wide, 0, __ATOMIC_SEQ_CST);
        sys_restore_signals(signals);
        return same;
}

static bool change(uint64_t *at, uint64_t old, uint64_t new)
{
        bool done;

        order_all();
        if (old >> 32 == new >> 32 && !__atomic_load_n(&wide, __ATOMIC_RELAXED))
                done = change_low(at, old, new);
        else
                done = change_both(at, old, new);
        order_all();
        return done;
}

uint64_t support_load(const uint64_t *at, int order)
{
        uint64_t value;

        (void)order;
        order_all();
        value = load(at);
        order_all();
        return value;
}

void support_store(uint64_t *at, uint64_t value, int order)
{
        (void)order;
        order_all();
        store(at, value);
        order_all();
}

/* What OLD becomes. */
enum { EXCHANGE, ADD, OR, AND };

static uint64_t becomes(uint64_t old, int how, uint64_t by)
{
        switch (how) {
        case ADD: return old + by;
        case OR: return old | by;
        case AND: return old & by;
        default: return by;
        }
}

static uint64_t update(uint64_t *at, int how, uint64_t by)
{
        uint64_t old;

        do
                old = load(at);
        while (!change(at, old, becomes(old, how, by)));
        return old;
}

bool support_compare(uint64_t *at, uint64_t *expected, uint64_t value, bool weak, int success,
                     int failure)
{
        uint64_t old = *expected, seen;

        (void)weak, (void)success, (void)failure;
        do {
                if (change(at, old, value))
                        return true;
                seen = load(at);
        } while (seen == old); /* only the reservation was lost */
        *expected = seen;
        return false;
}

uint64_t support_exchange(uint64_t *at, uint64_t value, int order)
{
        (void)order;
        return update(at, EXCHANGE, value);
}

uint64_t support_add(uint64_t *at, uint64_t by, int order)
{
        (void)order;
        return update(at, ADD, by);
}

uint64_t support_subtract(uint64_t *at, uint64_t by, int order)
{
        (void)order;
        return update(at, ADD, -by);
}

uint64_t support_or(uint64_t *at, uint64_t bits, int order)
{
        (void)order;
        return update(at, OR, bits);
}

uint64_t support_and(uint64_t *at, uint64_t bits, int order)
{
        (void)order;
        return update(at, AND, bits);
}

#endif
