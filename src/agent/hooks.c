/* SPDX-License-Identifier: MIT */
/*
 * hooks.c -- the C allocation functions.
 *
 * Room:   inside; called by the program.  The exported names are asm labels, so guest.h holds here
 *         too.
 * Keeps:  result and errno are the real function's; the agent itself never touches errno.
 */
#include "agent/fill.h"
#include "agent/hook.h"
#include "agent/limit.h"
#include "agent/quarantine.h"
#include "agent/record.h"
#include "agent/sys.h"

#include "agent/guest.h"

void *hook_malloc(size_t size) HOOK("malloc") HOOK_KEEPS;
void *hook_calloc(size_t count, size_t size) HOOK("calloc") HOOK_KEEPS;
void *hook_realloc(void *old, size_t size) HOOK("realloc") HOOK_KEEPS;
void *hook_reallocarray(void *old, size_t count, size_t size) HOOK("reallocarray") HOOK_KEEPS;
int hook_posix_memalign(void **out, size_t align, size_t size) HOOK("posix_memalign") HOOK_KEEPS;
void *hook_aligned_alloc(size_t align, size_t size) HOOK("aligned_alloc") HOOK_KEEPS;
void *hook_memalign(size_t align, size_t size) HOOK("memalign") HOOK_KEEPS;
void *hook_valloc(size_t size) HOOK("valloc") HOOK_KEEPS;
void *hook_pvalloc(size_t size) HOOK("pvalloc") HOOK_KEEPS;
void hook_free(void *p) HOOK("free") HOOK_KEEPS;
void hook_cfree(void *p) HOOK("cfree") HOOK_KEEPS;
void hook_free_sized(void *p, size_t size) HOOK("free_sized") HOOK_KEEPS;
void hook_free_aligned_sized(void *p, size_t align, size_t size)
        HOOK("free_aligned_sized") HOOK_KEEPS;

/* Nobody has so much: asked for in order to fail. */
#define ROOM_MOST (sizeof(size_t) == 8 ? 1ull << 40 : 1ull << 31)

/* There is no memory, but blocks are kept back: true when they were released, so
 * that it can be tried again. */
static bool make_room(size_t size)
{
        return agent.special & SPECIAL_QUARANTINE && (uint64_t)size < ROOM_MOST &&
               quarantine_empty();
}

/* An allocating hook: CALL is the real call, BYTES what the program asked for. */
#define ALLOCATE(KIND, CALL, BYTES)                                            \
        struct arch_state caller;                                              \
                                                                               \
        ARCH_FRAME(caller);                                                    \
        ALLOCATE_FOR(KIND, CALL, BYTES)

#define ALLOCATE_FOR(KIND, CALL, BYTES)                                        \
        struct thread *t = hook_enter(caller);                                 \
        void *p;                                                               \
                                                                               \
        if (unlikely(!t)) {                                                    \
                if (unlikely(agent.special & SPECIAL_REFUSE))                  \
                        size = limit_inner_size(size);                         \
                p = CALL;                                                      \
                return hook_inner(p || !make_room(size) ? p : CALL);           \
        }                                                                      \
        LIMIT_SIZE(t, size, BYTES);                                            \
        hook_call(t, caller);                                                  \
        p = CALL;                                                              \
        if (unlikely(!p) && make_room(size))                                   \
                p = CALL;                                                      \
        hook_work(t);                                                          \
        if (likely(p != NULL))                                                 \
                record_alloc(t, p, BYTES, KIND, caller);                       \
        hook_leave(t);                                                         \
        return p

/* In a thread that has other things under way, or none yet; and with what must be asked before. */
static __attribute__((noinline)) void *malloc_slowly(size_t size, struct arch_state caller)
{
        ALLOCATE_FOR(LEDGER_KIND_MALLOC, real.malloc_(size), size);
}

void *hook_malloc(size_t size)
{
        struct thread *t = hook_quick();
        struct arch_state caller;
        void *p;

        if (unlikely(!t || agent.special & (SPECIAL_REFUSE | SPECIAL_QUARANTINE))) {
                ARCH_FRAME(caller);
                return malloc_slowly(size, caller);
        }
        ARCH_FRAME(caller);
        hook_call(t, caller);
        p = real.malloc_(size);
        hook_work(t);
        ARCH_FRAME(caller); /* read again: cheaper than kept across the call */
        if (likely(p != NULL))
                record_alloc(t, p, size, LEDGER_KIND_MALLOC, caller);
        hook_quick_leave(t);
        return p;
}

/* glibc's loader has a table for each thread with an entry for each object that has thread-local
 * variables (its dtv).  Ours is one of them: what the program would have without us is less by it.
 * No other calloc of the loader has elements of this size, and none of its blocks but such a table
 * is resized that did not come from malloc. */
#define TABLE_ENTRY (2 * sizeof(arch_word))

static size_t own_entry(struct arch_state caller)
{
        return caller.pc - agent.loader < agent.loader_bytes ? TABLE_ENTRY : 0;
}

void *hook_calloc(size_t count, size_t size)
{
        ALLOCATE(LEDGER_KIND_CALLOC, real.calloc_(count, size),
                 count * size - (unlikely(size == TABLE_ENTRY) ? own_entry(caller) : 0));
}

void *hook_aligned_alloc(size_t align, size_t size)
{
        ALLOCATE(hook_aligned_kind(LEDGER_KIND_ALIGNED_ALLOC_BY, align),
                 real.aligned_alloc_(align, size), size);
}

void *hook_memalign(size_t align, size_t size)
{
        ALLOCATE(LEDGER_KIND_MEMALIGN, real.memalign_(align, size), size);
}

void *hook_valloc(size_t size)
{
        ALLOCATE(LEDGER_KIND_VALLOC, real.valloc_(size), size);
}

void *hook_pvalloc(size_t size)
{
        ALLOCATE(LEDGER_KIND_PVALLOC, real.pvalloc_(size), size);
}

int hook_posix_memalign(void **out, size_t align, size_t size)
{
        struct arch_state caller;
        struct thread *t;
        int result;

        ARCH_FRAME(caller);
        t = hook_enter(caller);
        if (!t) {
                result = real.posix_memalign_(out, align, size);
                hook_inner(result == 0 ? *out : NULL);
                return result;
        }
        LIMIT_SIZE(t, size, size);
        hook_call(t, caller);
        result = real.posix_memalign_(out, align, size);
        hook_work(t);
        if (result == 0 && *out)
                record_alloc(t, *out, size, LEDGER_KIND_POSIX_MEMALIGN, caller);
        hook_leave(t);
        return result;
}

/* realloc to size 0 either frees (glibc) or gives a small block; NULL then means
 * failure only if errno says so. */
static bool failed(const void *result, size_t bytes)
{
        if (result)
                return false;
        return bytes != 0 || (real.errno_location && *real.errno_location() == SYS_ENOMEM);
}

/* realloc of what is no block, which must not be passed on: as if there were no memory. */
static void *refuse(struct thread *t)
{
        hook_leave(t);
        if (real.errno_location)
                *real.errno_location() = SYS_ENOMEM;
        return NULL;
}

/* What realloc keeps of a block: all that the allocator gave, because programs may ask how
 * much that is and use it. */
static size_t usable(void *p)
{
        return real.malloc_usable_size ? real.malloc_usable_size(p) : SIZE_MAX;
}

struct request {
        void *old;
        size_t bytes;
        bool array;
};

/* To size 0, glibc frees; what others do is theirs to do. */
static bool can_move(const struct record_taken *taken, size_t bytes)
{
        return taken->entry && LEDGER_BLOCK_SIZE(taken->block) <= agent.quarantine &&
               real.malloc_usable_size && (bytes || agent.glibc);
}

/* The block TAKEN has been resized to P, or freed if that is NULL: keep it back. */
static void *leave_behind(struct thread *t, struct arch_state caller,
                          const struct record_taken *taken, struct request q, void *p)
{
        struct book_release r = { .family = LEDGER_FAMILY_C };

        if (agent.special & SPECIAL_FILL)
                fill_gone((uintptr_t)q.old, LEDGER_BLOCK_SIZE(taken->block));
        record_taken(t, taken, q.old);
        if (p && LEDGER_BLOCK_KIND(taken->block) != LEDGER_KIND_MALLOC)
                q.bytes -= own_entry(caller);
        if (p)
                record_alloc(t, p, q.bytes,
                             q.array ? LEDGER_KIND_REALLOCARRAY : LEDGER_KIND_REALLOC, caller);
        t->moving = false;
        t->writer.slot->moving = 0;
        if (quarantine_put(t, &taken->block, (uintptr_t)q.old, &r, caller)) {
                hook_call(t, caller);
                quarantine_drain();
        } else {
                hook_call(t, caller);
                real.free_(q.old);
        }
        hook_leave(t);
        return p;
}

/* realloc of the block TAKEN with a quarantine: always a new block, so that the old one can be kept
 * back. */
static void *move(struct thread *t, struct arch_state caller, const struct record_taken *taken,
                  struct request q)
{
        size_t size = q.bytes, kept;
        void *p;

        if (!q.bytes)
                return leave_behind(t, caller, taken, q, NULL);
        LIMIT_SIZE(t, size, record_growth(taken, q.bytes));
        hook_call(t, caller);
        p = real.malloc_(size);
        if (!p && make_room(size))
                p = real.malloc_(size);
        hook_work(t);
        if (!p) {
                record_put_back(t, taken);
                hook_leave(t);
                return NULL;
        }
        kept = usable(q.old);
        arch_copy(p, q.old, kept < q.bytes ? kept : q.bytes);
        if (agent.special & SPECIAL_FILL)
                fill_grown(p, kept, q.bytes);
        return leave_behind(t, caller, taken, q, p);
}

/* Both forms of realloc of a block; COUNT 1 for realloc itself. */
static void *resize(struct thread *t, struct arch_state caller, void *old, size_t count,
                    size_t size, bool array)
{
        size_t bytes = count * size;
        int *error = bytes == 0 && real.errno_location ? real.errno_location() : NULL, before = 0;
        struct record_taken taken;
        size_t kept = 0; /* of the old block, by fill_grown */
        bool bad;
        void *p;

        hook_work(t);
        taken = record_take(t, old, caller);
        if (unlikely(taken.refused))
                return refuse(t);
        if (unlikely(agent.special & SPECIAL_QUARANTINE) && can_move(&taken, bytes))
                return move(t, caller, &taken, (struct request){ old, bytes, array });
        LIMIT_SIZE(t, size, record_growth(&taken, bytes));
        if (unlikely(agent.special & SPECIAL_FILL) && taken.entry)
                kept = usable(old);
        if (error) {
                before = *error;
                *error = 0;
        }
        hook_call(t, caller);
        p = array ? real.reallocarray_(old, count, size) : real.realloc_(old, size);
        hook_work(t);
        if (p && (taken.entry || taken.unrecorded)) {
                /* What was in the block is there now, and nobody knows yet. */
                t->writer.slot->moving_bytes = bytes;
                t->writer.slot->moving = (uintptr_t)p;
        }
        bad = failed(p, bytes);
        if (error && *error == 0)
                *error = before;
        if (taken.entry && book_kind(&agent_book, &taken.block) != LEDGER_KIND_MALLOC)
                bytes -= own_entry(caller);
        if (bad) {
                record_put_back(t, &taken);
        } else {
                record_taken(t, &taken, old);
                if (p && kept)
                        fill_grown(p, kept, bytes);
                if (p)
                        record_alloc(t, p, bytes,
                                     array ? LEDGER_KIND_REALLOCARRAY : LEDGER_KIND_REALLOC,
                                     caller);
                t->moving = false;
                t->writer.slot->moving = 0;
        }
        hook_leave(t);
        return p;
}

void *hook_realloc(void *old, size_t size)
{
        struct arch_state caller;
        struct thread *t;
        void *p;

        ARCH_FRAME(caller);
        t = hook_enter(caller);
        if (!t) {
                hook_inner_gone(old);
                return hook_inner(real.realloc_(old, size));
        }
        if (likely(old != NULL))
                return resize(t, caller, old, 1, size, false);
        LIMIT_SIZE(t, size, size);
        hook_call(t, caller);
        p = real.realloc_(old, size);
        hook_work(t);
        if (p)
                record_alloc(t, p, size, LEDGER_KIND_REALLOC, caller);
        hook_leave(t);
        return p;
}

void *hook_reallocarray(void *old, size_t count, size_t size)
{
        struct arch_state caller;
        struct thread *t;
        size_t bytes;
        void *p;

        ARCH_FRAME(caller);
        t = hook_enter(caller);
        if (!t) {
                hook_inner_gone(old);
                return hook_inner(real.reallocarray_(old, count, size));
        }
        if (likely(old && !__builtin_mul_overflow(count, size, &bytes)))
                return resize(t, caller, old, count, size, true);
        LIMIT_SIZE(t, size, count * size);
        hook_call(t, caller);
        p = real.reallocarray_(old, count, size);
        hook_work(t);
        if (p)
                record_alloc(t, p, count * size, LEDGER_KIND_REALLOCARRAY, caller);
        hook_leave(t);
        return p;
}

/* A releasing hook: recorded before the address can be reused. */
#define RELEASE(R, CALL)                                                       \
        struct arch_state caller;                                              \
                                                                               \
        ARCH_FRAME(caller);                                                    \
        RELEASE_FOR(R, CALL)

#define RELEASE_FOR(R, CALL)                                                   \
        struct thread *t;                                                      \
                                                                               \
        t = unlikely(!p) ? (agent_on(), NULL) : hook_enter(caller);            \
        if (unlikely(!t)) {                                                    \
                hook_inner_gone(p);                                            \
                CALL;                                                          \
                return;                                                        \
        }                                                                      \
        hook_work(t);                                                          \
        if (likely(record_free(t, p, R, caller))) {                            \
                hook_call(t, caller);                                          \
                CALL;                                                          \
        } else {                                                               \
                hook_kept(t, caller);                                          \
        }                                                                      \
        hook_leave(t);

#define PLAIN ((struct book_release){ .family = LEDGER_FAMILY_C })
#define SIZED ((struct book_release){ .family = LEDGER_FAMILY_C, .sized = true, .size = size })
#define ALIGNED                                                                            \
        ((struct book_release){ .family = LEDGER_FAMILY_C, .sized = true, .aligned = true, \
                               .size = size, .align = align })

/* In a thread that has other things under way, or none yet. */
static __attribute__((noinline)) void free_slowly(void *p, struct arch_state caller)
{
        RELEASE_FOR(PLAIN, real.free_(p))
}

/* A block that record_free_quick() leaves to others. */
static __attribute__((noinline)) void free_odd(struct thread *t, void *p, struct arch_state caller)
{
        if (record_free_slow(t, p, &PLAIN, &caller)) {
                hook_call(t, caller);
                real.free_(p);
        } else {
                hook_kept(t, caller);
        }
        hook_quick_leave(t);
}

void hook_free(void *p)
{
        struct thread *t = hook_quick();
        struct arch_state caller;

        if (unlikely(!t || !p)) {
                ARCH_FRAME(caller);
                free_slowly(p, caller);
                return;
        }
        /* The allocator's own words: they come while we look for ours. */
        __builtin_prefetch((const uint8_t *)p - 2 * sizeof(arch_word), 1);
        hook_work(t);
        if (unlikely(!record_free_quick(t, p, PLAIN))) {
                ARCH_FRAME(caller);
                free_odd(t, p, caller);
                return;
        }
        ARCH_FRAME(caller); /* of which only the stack pointer is read here */
        hook_call(t, caller);
        real.free_(p);
        hook_quick_leave(t);
}

/* Libraries that lack one of these get a plain free: that is what they are. */
void hook_cfree(void *p)
{
        RELEASE(PLAIN, (real.cfree_ ? real.cfree_ : real.free_)(p))
}

void hook_free_sized(void *p, size_t size)
{
        RELEASE(SIZED, real.free_sized_ ? real.free_sized_(p, size) : real.free_(p))
}

void hook_free_aligned_sized(void *p, size_t align, size_t size)
{
        RELEASE(ALIGNED,
                real.free_aligned_sized_ ? real.free_aligned_sized_(p, align, size) : real.free_(p))
}
