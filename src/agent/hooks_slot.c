/* SPDX-License-Identifier: MIT */
/*
 * hooks_slot.c -- functions that seep found by --hook, or because it knows their names: je_malloc,
 * the program's own pools.
 *
 * Room:   inside; called by the program.
 * Keeps:  nothing is known of such a function but the few arguments that its slot names.  All
 *         others are passed on: those in registers, and of those on the stack as many as anybody
 *         has.  The result is passed back in both registers that it may be in.
 */
#include "agent/hook.h"
#include "agent/pool.h"
#include "agent/record.h"
#include "agent/slot.h"

#include "agent/guest.h"

#define ARGUMENTS 12u /* six in registers, six on the stack */

typedef struct {
        uint64_t low, high;
} slot_result;

typedef slot_result (*slot_function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                     uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* One call: where it goes, with what, and for whom. */
struct slot_call {
        const struct wire_inject_slot *slot;
        uint64_t a[ARGUMENTS];
        struct arch_state caller;
};

/* seep writes it before the start: what is zero in the file would be wiped. */
struct wire_inject_slot slot_table[WIRE_INJECT_SLOTS] __attribute__((section(".data")));

static slot_result pass(const struct slot_call *c)
{
        const uint64_t *a = c->a;

        return ((slot_function)(uintptr_t)c->slot->real)(a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                                                         a[7], a[8], a[9], a[10], a[11]);
}

static uint64_t argument(const struct slot_call *c, uint32_t number)
{
        return number && number <= ARGUMENTS ? c->a[number - 1] : 0;
}

static uint64_t bytes_of(const struct slot_call *c)
{
        uint64_t size = argument(c, c->slot->size), bytes;

        if (!c->slot->count)
                return size;
        return __builtin_mul_overflow(size, argument(c, c->slot->count), &bytes) ? 0 : bytes;
}

static uint32_t kind_of(const struct slot_call *c)
{
        static const uint8_t kinds[WIRE_SLOT_KINDS] = {
                [WIRE_SLOT_MALLOC] = LEDGER_KIND_MALLOC,
                [WIRE_SLOT_CALLOC] = LEDGER_KIND_CALLOC,
                [WIRE_SLOT_RESIZED] = LEDGER_KIND_REALLOC,
                [WIRE_SLOT_ALIGNED] = LEDGER_KIND_MEMALIGN,
                [WIRE_SLOT_STORED] = LEDGER_KIND_POSIX_MEMALIGN,
        };

        return kinds[c->slot->kind];
}

/* The block that the call has given; NULL none. */
static void *given(const struct slot_call *c, slot_result r)
{
        void **place = (void **)(uintptr_t)argument(c, c->slot->block);

        if (c->slot->does != WIRE_SLOT_STORE)
                return (void *)(uintptr_t)r.low;
        return (uint32_t)r.low == 0 && place ? *place : NULL;
}

/* Nothing is said about blocks of a place whose releases are not seen. */
static void judge_not(const struct slot_call *c, const struct ledger_block *b)
{
        if (c->slot->one_way && b && LEDGER_BLOCK_LIVE(*b))
                agent_book.sites[LEDGER_BLOCK_SITE(*b)].missed = 1;
}

/* ---- allocators ---- */

static slot_result allocate(struct slot_call *c)
{
        struct thread *t = hook_enter(c->caller);
        slot_result r;
        void *p;

        if (!t) {
                r = pass(c);
                hook_inner(given(c, r));
                return r;
        }
        hook_call(t, c->caller);
        r = pass(c);
        hook_work(t);
        p = given(c, r);
        if (p) {
                record_alloc(t, p, bytes_of(c), kind_of(c), c->caller);
                judge_not(c, shadow_find(&agent_book, &t->writer, (uintptr_t)p));
        }
        hook_leave(t);
        return r;
}

static slot_result resize(struct slot_call *c)
{
        void *old = (void *)(uintptr_t)argument(c, c->slot->block), *p;
        const struct ledger_block *b;
        struct record_taken taken = { 0 };
        struct thread *t = old ? hook_enter(c->caller) : NULL;
        slot_result r;

        if (!old)
                return allocate(c);
        if (!t) {
                hook_inner_gone(old);
                r = pass(c);
                hook_inner(given(c, r));
                return r;
        }
        hook_work(t);
        b = shadow_find(&agent_book, &t->writer, (uintptr_t)old);
        if (b && LEDGER_BLOCK_LIVE(*b))
                taken = record_take(t, old, c->caller);
        hook_call(t, c->caller);
        r = pass(c);
        hook_work(t);
        p = given(c, r);
        if (!p && bytes_of(c)) {
                record_put_back(t, &taken);
        } else {
                record_taken(t, &taken, old);
                if (p) {
                        record_alloc(t, p, bytes_of(c), kind_of(c), c->caller);
                        judge_not(c, shadow_find(&agent_book, &t->writer, (uintptr_t)p));
                }
                t->moving = false;
                t->writer.slot->moving = 0;
        }
        hook_leave(t);
        return r;
}

/* The allocator may have more ways to get a block than we know: one that is unknown is no fault. */
static slot_result release(struct slot_call *c)
{
        void *p = (void *)(uintptr_t)argument(c, c->slot->block);
        struct thread *t = p ? hook_enter(c->caller) : NULL;
        const struct ledger_block *b;
        slot_result r;

        if (!t) {
                hook_inner_gone(p);
                return pass(c);
        }
        hook_work(t);
        b = shadow_find(&agent_book, &t->writer, (uintptr_t)p);
        if (b && LEDGER_BLOCK_LIVE(*b))
                record_free(t, p, ((struct book_release){ .family = LEDGER_FAMILY_C }), c->caller);
        else
                __atomic_add_fetch(agent.head->attached ? &agent.head->older
                                                        : &agent.head->unseen_blocks,
                                   1, __ATOMIC_RELAXED);
        hook_call(t, c->caller);
        r = pass(c);
        hook_leave(t);
        return r;
}

/* ---- pools ---- */

/* What the function calls meanwhile is the program's own as ever: its arenas come from there.  A
 * function of a pool that calls another one is one event.  NULL: no event. */
static struct thread *pool_enter(const struct slot_call *c)
{
        struct thread *t = hook_enter(c->caller);

        if (!t)
                return NULL;
        hook_work(t);
        if (t->pool_sp && stack_nesting(t, c->caller, t->pool_sp) == STACK_NESTED) {
                hook_leave(t);
                return NULL;
        }
        t->pool_sp = c->caller.sp;
        return t;
}

/* The real function: we are outside, but not gone. */
static slot_result pool_pass(struct thread *t, const struct slot_call *c)
{
        slot_result r;

        compiler_barrier();
        t->inside = 0;
        r = pass(c);
        hook_work(t);
        t->pool_sp = 0;
        return r;
}

static uint64_t pool_size(uint64_t address)
{
        const struct ledger_block *b = address ? shadow_pool_entry(&agent_book, address) : NULL;

        return b && LEDGER_BLOCK_LIVE(*b) ? LEDGER_BLOCK_SIZE(*b) : 0;
}

/* What goes is recorded before it can be handed out again. */
static slot_result serve_pool(const struct slot_call *c)
{
        bool goes = c->slot->does == WIRE_SLOT_REALLOC || c->slot->does == WIRE_SLOT_FREE;
        uint64_t old = goes ? argument(c, c->slot->block) : 0, size = 0;
        struct thread *t = pool_enter(c);
        slot_result r;
        void *p;

        if (!t)
                return pass(c);
        if (c->slot->does == WIRE_SLOT_REALLOC)
                size = pool_size(old);
        pool_free(t, old, c->caller);
        r = pool_pass(t, c);
        p = c->slot->does == WIRE_SLOT_FREE ? NULL : given(c, r);
        if (p)
                pool_alloc(t, (uintptr_t)p, bytes_of(c), c->caller);
        else if (size && bytes_of(c)) /* it failed, and the old block stays */
                pool_alloc(t, old, size, c->caller);
        if (p)
                judge_not(c, shadow_pool_entry(&agent_book, (uintptr_t)p));
        hook_leave(t);
        return r;
}

/* ---- where calls arrive ---- */

static __attribute__((noinline)) slot_result serve(struct slot_call *c)
{
        if (c->slot->pool)
                return serve_pool(c);
        switch (c->slot->does) {
        case WIRE_SLOT_REALLOC: return resize(c);
        case WIRE_SLOT_FREE: return release(c);
        default: return allocate(c);
        }
}

#define SLOT(n)                                                                                  \
        static HOOK_KEEPS slot_result slot_##n(uint64_t a, uint64_t b, uint64_t c, uint64_t d,   \
                                               uint64_t e, uint64_t f, uint64_t g, uint64_t h,   \
                                               uint64_t i, uint64_t j, uint64_t k, uint64_t l)   \
        {                                                                                        \
                struct slot_call call = { &slot_table[0x##n],                                    \
                                          { a, b, c, d, e, f, g, h, i, j, k, l },                \
                                          { 0 } };                                               \
                                                                                                 \
                ARCH_FRAME(call.caller);                                                         \
                return serve(&call);                                                             \
        }
#define SLOT_ROW(X, n)                                                                           \
        X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9) X(n##a)  \
        X(n##b) X(n##c) X(n##d) X(n##e) X(n##f)
#define SLOTS(X) SLOT_ROW(X, 0) SLOT_ROW(X, 1) SLOT_ROW(X, 2) SLOT_ROW(X, 3)
#define SLOT_ADDRESS(n) WIRE_ADDRESS(slot_##n),

SLOTS(SLOT)

const union wire_address slot_hooks[WIRE_INJECT_SLOTS] = { SLOTS(SLOT_ADDRESS) };
