/* SPDX-License-Identifier: MIT */
/*
 * empty.c -- an interposer that does nothing: the lower bound of what a preloaded tracer can cost.
 *
 * Room:   inside the measured program, preloaded by bench/run.
 * Keeps:  every call goes to the function the program would have got; nothing is counted.
 * Cost:   one load and one indirect jump per call; the difference to untraced is the price of
 *         interposition.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* name, result, parameters, arguments; malloc, calloc, realloc and free are below, they have an
 * early phase */
#define EMPTY_FORWARDS(X)                                                                   \
        X(memalign, void *, (size_t alignment, size_t size), (alignment, size))             \
        X(aligned_alloc, void *, (size_t alignment, size_t size), (alignment, size))        \
        X(posix_memalign, int, (void **out, size_t alignment, size_t size),                 \
          (out, alignment, size))                                                           \
        X(reallocarray, void *, (void *old, size_t count, size_t size), (old, count, size)) \
        X(valloc, void *, (size_t size), (size))                                            \
        X(pvalloc, void *, (size_t size), (size))

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);

#define EMPTY_POINTER(name, result, parameters, arguments) static result(*real_##name) parameters;
EMPTY_FORWARDS(EMPTY_POINTER)

/* dlsym itself may allocate before the pointers are known: it is served from here and never
 * reused. */
static _Alignas(16) char early[64 * 1024];
static size_t early_used;

static int early_owns(const void *block)
{
        return (uintptr_t)block - (uintptr_t)early < sizeof(early);
}

static void *early_take(size_t size)
{
        size_t start = early_used;
        size = (size + 15) & ~(size_t)15;
        if (size > sizeof(early) - start) {
                errno = ENOMEM;
                return NULL;
        }
        early_used = start + size;
        return early + start;
}

static void find_real(void)
{
        static int busy;
        if (busy)
                return;
        busy = 1;
#define EMPTY_FIND(name, result, parameters, arguments) \
        *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
        EMPTY_FORWARDS(EMPTY_FIND)
        *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
        *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
        *(void **)&real_free = dlsym(RTLD_NEXT, "free");
        *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
        busy = 0;
}

__attribute__((constructor)) static void start(void)
{
        find_real();
}

void *malloc(size_t size)
{
        if (__builtin_expect(!real_malloc, 0)) {
                find_real();
                if (!real_malloc)
                        return early_take(size);
        }
        return real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
        if (__builtin_expect(!real_calloc, 0)) {
                find_real();
                if (!real_calloc)
                        return early_take(count * size);
        }
        return real_calloc(count, size);
}

/* An early block does not know its size: copy as far as the arena goes. */
static void *early_move(void *old, size_t size)
{
        size_t rest = (size_t)(early + sizeof(early) - (char *)old);
        void *fresh = malloc(size);
        if (fresh)
                memcpy(fresh, old, size < rest ? size : rest);
        return fresh;
}

void *realloc(void *old, size_t size)
{
        if (__builtin_expect(early_owns(old), 0))
                return early_move(old, size);
        if (__builtin_expect(!real_realloc, 0))
                find_real();
        return real_realloc(old, size);
}

void free(void *block)
{
        if (__builtin_expect(early_owns(block), 0) || !block)
                return;
        if (__builtin_expect(!real_free, 0))
                find_real();
        real_free(block);
}

#define EMPTY_DEFINE(name, result, parameters, arguments)                                        \
        result name parameters                                                                   \
        {                                                                                        \
                if (__builtin_expect(!real_##name, 0))                                           \
                        find_real();                                                             \
                return real_##name arguments;                                                    \
        }
/* pvalloc, valloc and these have no prototype in every libc's stdlib.h */
void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);
EMPTY_FORWARDS(EMPTY_DEFINE)
