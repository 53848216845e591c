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

/* Without syscall(), which may be the one. */
static long raw_call(long number, const long *a)
{
        register long d __asm__("r10") = a[3], e __asm__("r8") = a[4], f __asm__("r9") = a[5];
        long result;

        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(d), "r"(e), "r"(f)
                         : "rcx", "r11", "memory");
        return result;
}

/* Before any child. */
__attribute__((constructor)) static unsigned *shared(void)
{
        if (!counts)
                counts = (unsigned *)raw_call(SYS_mmap,
                                              (const long[6]){ 0, 1 << 16, 3, 0x21, -1, 0 });
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

                raw_call(SYS_write, (const long[6]){ 1, (long)line,
                                                     snprintf(line, sizeof line, "own %s %u\n",
                                                              names[i], seen[i]) });
        }
}
