/* SPDX-License-Identifier: MIT */
/*
 * hooks.c -- the C allocation functions.
 *
 * Room:   inside; called by the program.  The exported names are asm labels, so guest.h holds here too.
 * Keeps:  result and errno are the real function's; the agent itself never touches errno.
 */
#include "agent/hook.h"
#include "agent/record.h"
#include "agent/sys.h"

#include "agent/guest.h"

void *hook_malloc(size_t size) HOOK("malloc");
void *hook_calloc(size_t count, size_t size) HOOK("calloc");
void *hook_realloc(void *old, size_t size) HOOK("realloc");
void *hook_reallocarray(void *old, size_t count, size_t size) HOOK("reallocarray");
int hook_posix_memalign(void **out, size_t align, size_t size) HOOK("posix_memalign");
void *hook_aligned_alloc(size_t align, size_t size) HOOK("aligned_alloc");
void *hook_memalign(size_t align, size_t size) HOOK("memalign");
void *hook_valloc(size_t size) HOOK("valloc");
void *hook_pvalloc(size_t size) HOOK("pvalloc");
void hook_free(void *p) HOOK("free");
void hook_cfree(void *p) HOOK("cfree");
void hook_free_sized(void *p, size_t size) HOOK("free_sized");
void hook_free_aligned_sized(void *p, size_t align, size_t size) HOOK("free_aligned_sized");

/* An allocating hook: CALL is the real call, BYTES what the program asked for. */
#define ALLOCATE(KIND, CALL, BYTES)                                            \
        struct hook h;                                                         \
        void *p;                                                               \
                                                                               \
        ARCH_FRAME(h.caller);                                                  \
        hook_enter(&h);                                                        \
        p = CALL;                                                              \
        if (likely(h.thread != NULL)) {                                        \
                hook_returned(&h);                                             \
                if (likely(p != NULL))                                         \
                        record_alloc(h.thread, p, BYTES, KIND, &h.caller);     \
                hook_leave(&h);                                                \
        }                                                                      \
        return p

void *hook_malloc(size_t size)
{
        ALLOCATE(LEDGER_KIND_MALLOC, real.malloc_(size), size);
}

void *hook_calloc(size_t count, size_t size)
{
        ALLOCATE(LEDGER_KIND_CALLOC, real.calloc_(count, size), count * size);
}

void *hook_aligned_alloc(size_t align, size_t size)
{
        ALLOCATE(LEDGER_KIND_ALIGNED_ALLOC, real.aligned_alloc_(align, size), size);
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
        struct hook h;
        int result;

        ARCH_FRAME(h.caller);
        hook_enter(&h);
        result = real.posix_memalign_(out, align, size);
        if (likely(h.thread != NULL)) {
                hook_returned(&h);
                if (result == 0 && *out)
                        record_alloc(h.thread, *out, size, LEDGER_KIND_POSIX_MEMALIGN, &h.caller);
                hook_leave(&h);
        }
        return result;
}

/* realloc to size 0 either frees (glibc) or gives a small block; NULL then means failure only if errno says so. */
static bool failed(const void *result, size_t bytes)
{
        if (result)
                return false;
        return bytes != 0 || (real.errno_location && *real.errno_location() == SYS_ENOMEM);
}

/* Both forms of realloc; COUNT 1 for realloc itself. */
static inline __attribute__((always_inline)) void *resize(struct hook *h, void *old, size_t count, size_t size, bool array)
{
        size_t bytes = count * size;
        struct record_taken taken = record_take(h->thread, old, &h->caller);
        int *error = bytes == 0 && real.errno_location ? real.errno_location() : NULL, kept = 0;
        bool bad;
        void *p;

        if (error) {
                kept = *error;
                *error = 0;
        }
        p = array ? real.reallocarray_(old, count, size) : real.realloc_(old, size);
        hook_returned(h);
        bad = failed(p, bytes);
        if (error && *error == 0)
                *error = kept;
        if (bad) {
                record_put_back(h->thread, &taken);
        } else {
                record_taken(h->thread, &taken, old);
                if (p)
                        record_alloc(h->thread, p, bytes, array ? LEDGER_KIND_REALLOCARRAY : LEDGER_KIND_REALLOC, &h->caller);
        }
        hook_leave(h);
        return p;
}

void *hook_realloc(void *old, size_t size)
{
        struct hook h;
        void *p;

        ARCH_FRAME(h.caller);
        hook_enter(&h);
        if (likely(h.thread && old))
                return resize(&h, old, 1, size, false);
        p = real.realloc_(old, size);
        if (h.thread) {
                hook_returned(&h);
                if (p)
                        record_alloc(h.thread, p, size, LEDGER_KIND_REALLOC, &h.caller);
                hook_leave(&h);
        }
        return p;
}

void *hook_reallocarray(void *old, size_t count, size_t size)
{
        struct hook h;
        size_t bytes;
        void *p;

        ARCH_FRAME(h.caller);
        hook_enter(&h);
        if (likely(h.thread && old && !__builtin_mul_overflow(count, size, &bytes)))
                return resize(&h, old, count, size, true);
        p = real.reallocarray_(old, count, size);
        if (h.thread) {
                hook_returned(&h);
                if (p)
                        record_alloc(h.thread, p, count * size, LEDGER_KIND_REALLOCARRAY, &h.caller);
                hook_leave(&h);
        }
        return p;
}

/* A releasing hook: recorded before the address can be reused. */
#define RELEASE(FAMILY, CALL)                                                  \
        struct hook h;                                                         \
                                                                               \
        if (unlikely(!p)) {                                                    \
                agent_on();                                                    \
                CALL;                                                          \
                return;                                                        \
        }                                                                      \
        ARCH_FRAME(h.caller);                                                  \
        hook_enter(&h);                                                        \
        if (likely(h.thread != NULL))                                          \
                record_free(h.thread, p, FAMILY, &h.caller);                   \
        CALL;                                                                  \
        if (likely(h.thread != NULL)) {                                        \
                hook_returned(&h);                                             \
                hook_leave(&h);                                                \
        }

void hook_free(void *p)
{
        RELEASE(LEDGER_FAMILY_C, real.free_(p))
}

/* Libraries that lack one of these get a plain free: that is what they are. */
void hook_cfree(void *p)
{
        RELEASE(LEDGER_FAMILY_C, (real.cfree_ ? real.cfree_ : real.free_)(p))
}

void hook_free_sized(void *p, size_t size)
{
        RELEASE(LEDGER_FAMILY_C, real.free_sized_ ? real.free_sized_(p, size) : real.free_(p))
}

void hook_free_aligned_sized(void *p, size_t align, size_t size)
{
        RELEASE(LEDGER_FAMILY_C, real.free_aligned_sized_ ? real.free_aligned_sized_(p, align, size) : real.free_(p))
}
