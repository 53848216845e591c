/* SPDX-License-Identifier: MIT */
/*
 * hooks_sandbox.c -- the ways into a sandbox: filters of system calls (seccomp) are loaded.
 *
 * Room:   inside; called by the program, also in children of vfork.
 * Keeps:  libseccomp and others go through the C library's syscall().  What a program does with
 *         system call instructions of its own is seen by the observer, a little later.
 */
#include "agent/hook.h"
#include "agent/sandbox.h"
#include "agent/sys.h"

#include "agent/guest.h"

long hook_syscall(long number, long a, long b, long c, long d, long e, long f) HOOK("syscall");

#define SET_NAME 15
#define SET_SECCOMP 22
#define BY_PRCTL_STRICT 1
#define BY_PRCTL_FILTER 2
#define SET_STRICT 0
#define SET_FILTER 1

/* Programs ask whether filters are known with a filter that is nowhere. */
static int enter(bool strict, const void *program)
{
        return strict ? sandbox_enter(NULL) : program ? sandbox_enter(program) : SANDBOX_NONE;
}

#define PRCTL(NAME, SYMBOL)                                                    \
        int hook_##NAME(int option, long a, long b, long c, long d) HOOK(SYMBOL); \
        int hook_##NAME(int option, long a, long b, long c, long d)            \
        {                                                                      \
                int filter = SANDBOX_NONE, result;                             \
                                                                               \
                if (option == SET_SECCOMP && (a == BY_PRCTL_STRICT || a == BY_PRCTL_FILTER)) \
                        filter = enter(a == BY_PRCTL_STRICT, (const void *)b); \
                result = REAL(NAME##_)(option, a, b, c, d);                    \
                sandbox_entered(filter, result == 0);                          \
                if (option == SET_NAME)                                        \
                        thread_renamed();                                      \
                return result;                                                 \
        }

PRCTL(prctl, "prctl")
#if ARCH_TWO_TIMES
PRCTL(prctl_64, "__prctl_time64")
#endif

/* The strict mode takes neither flags nor a filter; libseccomp asks for it so that it fails. */
static long load_filter(long operation, long flags, const void *program)
{
        bool strict = operation == SET_STRICT;
        int filter = strict && (flags || program) ? SANDBOX_NONE : enter(strict, program);
        long result = REAL(syscall_)(SYS_seccomp, operation, flags, (long)program, 0, 0, 0);

        sandbox_entered(filter, result >= 0);
        return result;
}

/* All arguments that there may be are passed on, as the C library does: those that the program did
 * not give are whatever is in their registers, or in its frame. */
long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        if (unlikely(number == SYS_seccomp) && (a == SET_STRICT || a == SET_FILTER))
                return load_filter(a, b, (const void *)c);
        if (unlikely(number == SYS_prctl))
                return hook_prctl((int)a, b, c, d, e);
        return REAL(syscall_)(number, a, b, c, d, e, f);
}
