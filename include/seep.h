/* SPDX-License-Identifier: MIT */
/*
 * seep.h -- tell seep about your program: named moments, own allocators, own resources.
 *
 * Include it and use the macros; nothing needs to be linked.  Without seep each costs a test of a
 * pointer and does nothing.  C99 or C++11; seep.h(3) explains each macro.
 */
#ifndef SEEP_H
#define SEEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEEP_API_VERSION 1

/* The library that seep loads into the program defines these; in all other runs they are NULL. */
extern void seep_tag(const char *name) __attribute__((weak));
extern void seep_snapshot(const char *label) __attribute__((weak));
extern void seep_enable(void) __attribute__((weak));
extern void seep_disable(void) __attribute__((weak));
extern void seep_alloc(const void *block, size_t size) __attribute__((weak));
extern void seep_free(const void *block) __attribute__((weak));
extern void seep_acquire(const char *type, uint64_t handle, uint64_t amount) __attribute__((weak));
extern void seep_release(const char *type, uint64_t handle) __attribute__((weak));
extern void seep_ignore(const void *block) __attribute__((weak));
extern void seep_root(const void *start, size_t size) __attribute__((weak));
extern size_t seep_leak_check(void) __attribute__((weak));

/*
 * A program that is not position-independent gets the address of a weak function fixed at link
 * time, as NULL.  There the loader is asked, once per macro and place.
 */
#if defined __PIC__ || defined __PIE__ || !defined __linux__
#define SEEP_CALL(function, type, call)                                        \
        do {                                                                   \
                if (function)                                                  \
                        function call;                                         \
        } while (0)
#define SEEP_LEAK_CHECK() (seep_leak_check ? seep_leak_check() : (size_t)0)
#else
/* Another name for it, because <dlfcn.h> may declare it too, and differently in C++. */
extern void *seep_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));

#define SEEP_CALL(function, type, call)                                                           \
        do {                                                                                      \
                static void (*volatile seep_found_) type;                                         \
                static volatile int seep_asked_;                                                  \
                if (!seep_asked_) {                                                               \
                        seep_found_ = __extension__(void(*) type)(seep_dlsym_ ?                   \
                                                                  seep_dlsym_(NULL,               \
                                                                              #function) : NULL); \
                        seep_asked_ = 1;                                                          \
                }                                                                                 \
                if (seep_found_)                                                                  \
                        seep_found_ call;                                                         \
        } while (0)

static inline size_t seep_leak_check_found(void)
{
        size_t (*found)(void) = __extension__(size_t(*)(void))(
                seep_dlsym_ ? seep_dlsym_(NULL, "seep_leak_check") : NULL);

        return found ? found() : 0;
}
#define SEEP_LEAK_CHECK() seep_leak_check_found()
#endif

/* A named moment: reports can show what happened between two of them. */
#define SEEP_TAG(name) SEEP_CALL(seep_tag, (const char *), (name))

/* The same, and a report of what changed since the last one is written before the call returns. */
#define SEEP_SNAPSHOT(label) SEEP_CALL(seep_snapshot, (const char *), (label))

/* Recording of new blocks on and off, counted: two DISABLEs need two ENABLEs.  Releases of
 * recorded blocks are always seen. */
#define SEEP_ENABLE() SEEP_CALL(seep_enable, (void), ())
#define SEEP_DISABLE() SEEP_CALL(seep_disable, (void), ())

/* A block that an allocator of the program's own handed out or got back. */
#define SEEP_ALLOC(ptr, size) SEEP_CALL(seep_alloc, (const void *, size_t), ((ptr), (size)))
#define SEEP_FREE(ptr) SEEP_CALL(seep_free, (const void *), (ptr))

/* Anything with a handle: "texture", 17, 4096.  The handle may be a number or a pointer. */
#define SEEP_RESOURCE_ACQUIRE(type, handle, amount)                 \
        SEEP_CALL(seep_acquire, (const char *, uint64_t, uint64_t), \
                  ((type), (uint64_t)(uintptr_t)(handle), (uint64_t)(amount)))
#define SEEP_RESOURCE_RELEASE(type, handle)                                    \
        SEEP_CALL(seep_release, (const char *, uint64_t), ((type), (uint64_t)(uintptr_t)(handle)))

/* For the search for leaks: a block that is meant to be lost; memory that holds pointers; search
 * now. */
#define SEEP_IGNORE(ptr) SEEP_CALL(seep_ignore, (const void *), (ptr))
#define SEEP_ROOT(ptr, size) SEEP_CALL(seep_root, (const void *, size_t), ((ptr), (size)))

#ifdef __cplusplus
}
#endif

#endif
