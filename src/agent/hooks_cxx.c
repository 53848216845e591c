/* SPDX-License-Identifier: MIT */
/*
 * hooks_cxx.c -- every form of operator new and delete.
 *
 * Room:   inside; called by the program.
 * Keeps:  a real operator that throws leaves through our frame: nothing is to be cleaned up there
 *         (hook.h).  The library that has the operators may be loaded long after us, hence REAL().
 */
#include "agent/hook.h"
#include "agent/limit.h"
#include "agent/record.h"

#include "agent/guest.h"

/* With record --no-cxx the operators are not looked at: the malloc and free inside them are. */
static inline __attribute__((always_inline)) struct thread *cxx_enter(struct arch_state caller)
{
        if (unlikely(!agent_on() || (agent.flags & WIRE_F_NO_CXX)))
                return NULL;
        return hook_enter(caller);
}

#define NEW(NAME, SYMBOL, KIND, PARAMETERS, ARGUMENTS)                    \
        void *hook_##NAME PARAMETERS HOOK(SYMBOL);                        \
        void *hook_##NAME PARAMETERS                                      \
        {                                                                 \
                struct arch_state caller;                                 \
                struct thread *t;                                         \
                void *p;                                                  \
                                                                          \
                ARCH_FRAME(caller);                                       \
                t = cxx_enter(caller);                                    \
                if (unlikely(!t))                                         \
                        return REAL(NAME##_) ARGUMENTS;                   \
                t->refusing = unlikely(agent.special & SPECIAL_REFUSE) && \
                        limit_holds_for(caller.pc);                       \
                hook_call(t, caller);                                     \
                p = REAL(NAME##_) ARGUMENTS;                              \
                hook_work(t);                                             \
                t->refusing = false;                                      \
                if (likely(p != NULL))                                    \
                        record_alloc(t, p, size, KIND, caller);           \
                hook_leave(t);                                            \
                return p;                                                 \
        }

#ifdef SEEP_INJECTED

/* No unwinder of the program's knows our frames, so nothing may be thrown through them: memory is
 * got as the library's operator gets it, and where there is none the hook ends in a jump to that
 * operator, as if we had not been called (test_attach_programs.py).  Other operators than a C++
 * library's are left alone. */
#define NEW_THROWING(NAME, SYMBOL, KIND, PARAMETERS, ARGUMENTS, GET)           \
        static __attribute__((noinline)) void *try_##NAME(size_t size, size_t align, \
                                                          struct arch_state caller) \
        {                                                                      \
                struct thread *t = cxx_enter(caller);                          \
                size_t bytes = size;                                           \
                void *p;                                                       \
                                                                               \
                (void)align;                                                   \
                if (unlikely(!t))                                              \
                        return NULL;                                           \
                LIMIT_SIZE(t, size, size);                                     \
                hook_call(t, caller);                                          \
                p = GET;                                                       \
                hook_work(t);                                                  \
                if (likely(p != NULL))                                         \
                        record_alloc(t, p, bytes, KIND, caller);               \
                hook_leave(t);                                                 \
                return p;                                                      \
        }                                                                      \
        void *hook_##NAME PARAMETERS HOOK(SYMBOL);                             \
        void *hook_##NAME PARAMETERS                                           \
        {                                                                      \
                struct arch_state caller;                                      \
                void *p;                                                       \
                                                                               \
                ARCH_FRAME(caller);                                            \
                p = try_##NAME(size, ALIGN, caller);                           \
                return likely(p != NULL) ? p : real.NAME##_ ARGUMENTS;         \
        }

#define ROUNDED ((size + align - 1) & ~(align - 1))

#endif

#define DELETE(NAME, SYMBOL, R, PARAMETERS, ARGUMENTS)                         \
        void hook_##NAME PARAMETERS HOOK(SYMBOL);                              \
        void hook_##NAME PARAMETERS                                            \
        {                                                                      \
                struct arch_state caller;                                      \
                struct thread *t;                                              \
                                                                               \
                ARCH_FRAME(caller);                                            \
                t = unlikely(!p) ? NULL : cxx_enter(caller);                   \
                if (unlikely(!t)) {                                            \
                        REAL(NAME##_) ARGUMENTS;                               \
                        return;                                                \
                }                                                              \
                hook_work(t);                                                  \
                if (likely(record_free(t, p, (struct book_release)R, caller))) { \
                        hook_call(t, caller);                                  \
                        REAL(NAME##_) ARGUMENTS;                               \
                } else {                                                       \
                        hook_kept(t, caller);                                  \
                }                                                              \
                hook_leave(t);                                                 \
        }

#define ONE LEDGER_KIND_NEW
#define ARRAY LEDGER_KIND_NEW_ARRAY
#define ONE_BY hook_aligned_kind(LEDGER_KIND_NEW_ALIGNED, align)
#define ARRAY_BY hook_aligned_kind(LEDGER_KIND_NEW_ARRAY_ALIGNED, align)

#ifdef SEEP_INJECTED
#define ALIGN 0
NEW_THROWING(new, "_Znw" ARCH_SIZE, ONE, (size_t size), (size), real.malloc_(size ? size : 1))
NEW_THROWING(new_array, "_Zna" ARCH_SIZE, ARRAY, (size_t size), (size),
             real.malloc_(size ? size : 1))
#undef ALIGN
#define ALIGN align
NEW_THROWING(new_aligned, "_Znw" ARCH_SIZE "St11align_val_t", ONE_BY, (size_t size, size_t align),
             (size, align), real.aligned_alloc_ ? real.aligned_alloc_(align, ROUNDED) : NULL)
NEW_THROWING(new_array_aligned, "_Zna" ARCH_SIZE "St11align_val_t", ARRAY_BY,
             (size_t size, size_t align), (size, align),
             real.aligned_alloc_ ? real.aligned_alloc_(align, ROUNDED) : NULL)
#else
NEW(new, "_Znw" ARCH_SIZE, ONE, (size_t size), (size))
NEW(new_array, "_Zna" ARCH_SIZE, ARRAY, (size_t size), (size))
NEW(new_aligned, "_Znw" ARCH_SIZE "St11align_val_t", ONE_BY, (size_t size, size_t align),
    (size, align))
NEW(new_array_aligned, "_Zna" ARCH_SIZE "St11align_val_t", ARRAY_BY,
    (size_t size, size_t align), (size, align))
#endif
NEW(new_nothrow, "_Znw" ARCH_SIZE "RKSt9nothrow_t", ONE, (size_t size, const void *tag),
    (size, tag))
NEW(new_array_nothrow, "_Zna" ARCH_SIZE "RKSt9nothrow_t", ARRAY, (size_t size, const void *tag),
    (size, tag))
NEW(new_aligned_nothrow, "_Znw" ARCH_SIZE "St11align_val_tRKSt9nothrow_t", ONE_BY,
    (size_t size, size_t align, const void *tag), (size, align, tag))
NEW(new_array_aligned_nothrow, "_Zna" ARCH_SIZE "St11align_val_tRKSt9nothrow_t", ARRAY_BY,
    (size_t size, size_t align, const void *tag), (size, align, tag))

#undef ONE
#undef ARRAY
#undef ONE_BY
#undef ARRAY_BY
#define ONE .family = LEDGER_FAMILY_NEW
#define ARRAY .family = LEDGER_FAMILY_NEW_ARRAY
#define SIZED .sized = true, .size = size
#define BY .aligned = true, .align = align

#define PLAIN_ONE { ONE }
#define PLAIN_ARRAY { ARRAY }
#define SIZED_ONE { ONE, SIZED }
#define SIZED_ARRAY { ARRAY, SIZED }
#define ONE_BY { ONE, BY }
#define ARRAY_BY { ARRAY, BY }
#define SIZED_ONE_BY { ONE, SIZED, BY }
#define SIZED_ARRAY_BY { ARRAY, SIZED, BY }

DELETE(delete, "_ZdlPv", PLAIN_ONE, (void *p), (p))
DELETE(delete_array, "_ZdaPv", PLAIN_ARRAY, (void *p), (p))
DELETE(delete_nothrow, "_ZdlPvRKSt9nothrow_t", PLAIN_ONE, (void *p, const void *tag), (p, tag))
DELETE(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", PLAIN_ARRAY, (void *p, const void *tag),
       (p, tag))
DELETE(delete_sized, "_ZdlPv" ARCH_SIZE, SIZED_ONE, (void *p, size_t size), (p, size))
DELETE(delete_array_sized, "_ZdaPv" ARCH_SIZE, SIZED_ARRAY, (void *p, size_t size), (p, size))
DELETE(delete_aligned, "_ZdlPvSt11align_val_t", ONE_BY, (void *p, size_t align), (p, align))
DELETE(delete_array_aligned, "_ZdaPvSt11align_val_t", ARRAY_BY, (void *p, size_t align), (p, align))
DELETE(delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", ONE_BY,
       (void *p, size_t align, const void *tag), (p, align, tag))
DELETE(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", ARRAY_BY,
       (void *p, size_t align, const void *tag), (p, align, tag))
DELETE(delete_sized_aligned, "_ZdlPv" ARCH_SIZE "St11align_val_t", SIZED_ONE_BY,
       (void *p, size_t size, size_t align), (p, size, align))
DELETE(delete_array_sized_aligned, "_ZdaPv" ARCH_SIZE "St11align_val_t", SIZED_ARRAY_BY,
       (void *p, size_t size, size_t align), (p, size, align))
