/* SPDX-License-Identifier: MIT */
/*
 * real.h -- the functions that the program would have got without us.
 *
 * Room:   inside; any context.
 * Keeps:  found by walking the loader's own list of objects behind ours, so nothing of libc is
 *         called and nothing allocates.  An object loaded later (a C++ extension of a C program) is
 *         found when first needed.
 */
#ifndef SEEP_AGENT_REAL_H
#define SEEP_AGENT_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/arch.h"

/* Functions that we only call: they read something. */
#define REAL_READ(X)                                                           \
        X(errno_location, "__errno_location")                                  \
        X(malloc_usable_size, "malloc_usable_size")                            \
        X(backtrace, "backtrace")                                              \
        X(cxa_atexit, "__cxa_atexit")                                          \
        X(cxa_at_quick_exit, "__cxa_at_quick_exit")                            \
        X(on_exit_, "on_exit")                                                 \
        X(fileno_, "fileno")                                                   \
        X(dirfd_, "dirfd")                                                     \
        X(attr_getstack, "pthread_attr_getstack")                              \
        X(register_atfork, "__register_atfork")                                \
        X(gnu_get_libc_version, "gnu_get_libc_version")

/* As cudaMalloc3D() and hipMalloc3D() have them. */
struct gpu_pitched {
        uint64_t pointer;
        size_t pitch, width, height;
};

struct gpu_extent {
        size_t width, height, depth;
};

struct real {
#define X(name, symbol, result, parameters) result(*name) parameters;
#include "agent/hooks.def"
#if ARCH_TWO_TIMES
#include "agent/hooks_time64.def"
#endif
#ifdef SEEP_GPU
#include "agent/hooks_gpu.def"
#endif
#undef X
        int *(*errno_location)(void);
        size_t (*malloc_usable_size)(void *);
        int (*backtrace)(void **, int);
        int (*cxa_atexit)(void (*)(void *), void *, void *);
        int (*cxa_at_quick_exit)(void (*)(void *), void *);
        int (*on_exit_)(void (*)(int, void *), void *);
        int (*fileno_)(void *);
        int (*dirfd_)(void *);
        int (*attr_getstack)(const void *, uint64_t *, uint64_t *);
        int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
        const char *(*gnu_get_libc_version)(void);
#ifdef SEEP_INJECTED
        void (*dl_debug_state)(void);
#endif
};

extern struct real real __attribute__((visibility("hidden")));

/* Look up everything that can be found now.  Safe to repeat. */
void real_find(void);

/* Whether the program has a malloc of its own that comes before ours: then no hook
 * will ever be called for it. */
bool real_is_bypassed(void);

/* Whether the program has an operator new or delete of its own.  In front of ours, new and delete
 * of one block may go through us or past us, each on its own, because the library's other forms
 * call it.  Behind ours, in a library, it may hand out what malloc did not give. */
bool real_has_own_operators(void);

/* Whether malloc is glibc's own. */
bool real_is_glibc(void);

/* Where the code of glibc's loader is: agent.loader. */
void real_find_loader(void);

/* Look again for one function that was missing: &real.NAME.  When no object has it:
 * one that fails with ENOSYS. */
void *real_need(void *member);

/* Whether a library of CUDA, its driver or HIP was loaded since the last call.  By a thread that
 * the loader calls whenever its list has changed, and that holds its lock. */
bool real_gpu_came(void);

/* Libraries went: the C++ operators may have been theirs, and are looked up again when needed. */
void real_forget_cxx(void);

/* The path of the library that we are. */
const char *real_library(void);

#define REAL(name)                                                             \
        ({                                                                     \
                __typeof__(real.name) found_ = real.name;                      \
                                                                               \
                likely(found_ != NULL) ? found_ : (__typeof__(real.name))real_need(&real.name); \
        })

#endif
