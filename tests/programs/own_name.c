/* SPDX-License-Identifier: MIT */
/* own_name.c -- a program's own functions with names that libc has too.  OWN: the one name; without
 * it all of the list HOOKS.  WEAK: as weak aliases.  Each counts and passes the call on to the next
 * function of that name behind the program, or of the name TO(i); children count too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long function(long, long, long, long, long, long, long, long);

#ifndef TO
#define TO(i) names[i]
#endif

void own_tell(void);

enum {
#define X(name, ...) OWN_##name,
#ifdef OWN
        X(one)
#else
#include HOOKS
#endif
#undef X
        OWN_COUNT
};

static const char *const names[] = {
#define X(name, symbol, ...) symbol,
#ifdef OWN
        X(one, OWN)
#else
#include HOOKS
#endif
#undef X
};

static function *next[OWN_COUNT];
static unsigned *counts; /* shared with children */

/* Before any child. */
__attribute__((constructor)) static unsigned *shared(void)
{
        if (!counts)
                counts = (unsigned *)syscall(SYS_mmap, 0, 1 << 16, 3, 0x21, -1, 0);
        return counts;
}

static function *count(int i)
{
        __atomic_add_fetch(&shared()[i], 1, __ATOMIC_RELAXED);
        if (!next[i])
                next[i] = (function *)dlsym(RTLD_NEXT, TO(i));
        return next[i];
}

#ifdef WEAK
#define DEFINE(name, symbol)                                                   \
        static function own_##name __asm__("own_body_" #name) __attribute__((used)); \
        function weak_##name __asm__(symbol) __attribute__((weak, alias("own_body_" #name)));
#else
#define DEFINE(name, symbol) function own_##name __asm__(symbol);
#endif

#define X(name, symbol, ...)                                                   \
        DEFINE(name, symbol)                                                   \
        long own_##name(long a, long b, long c, long d, long e, long f, long g, long h) \
        {                                                                      \
                function *real = count(OWN_##name);                            \
                                                                               \
                if (real)                                                      \
                        return real(a, b, c, d, e, f, g, h);                   \
                errno = ENOSYS;                                                \
                return -1;                                                     \
        }
#ifdef OWN
X(one, OWN)
#else
#include HOOKS
#endif

void own_tell(void)
{
        unsigned seen[OWN_COUNT];

        for (int i = 0; i < OWN_COUNT; i++)
                seen[i] = shared()[i];
        for (int i = 0; i < OWN_COUNT; i++) {
                char line[100];

                syscall(SYS_write, 1, line, snprintf(line, sizeof line, "own %s %u\n", names[i], seen[i]));
        }
}
