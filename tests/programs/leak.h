/* SPDX-License-Identifier: MIT */
/*
 * leak.h -- programs that lose memory on purpose and tell which blocks are lost, and how.
 *
 * Room:   tests only; included by the leak_* programs.
 * Keeps:  the verdict must not depend on luck: a block's address is nowhere but where its case puts
 *         it.  Makers are functions of their own, never inlined or cloned; after each case
 *         leak_wipe() clears the dead part of the stack and the registers.
 *
 * Usage:  PROGRAM CASE... [wait]   several cases in one process; with "wait" it says "ready" when
 *         the blocks are in place and goes on at the end of its input.
 * Lines:  leak CLASS FUNCTION BYTES BLOCKS   (descriptor 3)
 */
#ifndef SEEP_TESTS_LEAK_H
#define SEEP_TESTS_LEAK_H

#define TRUTH_BLOCKS 16
#include "truth.h"

#include <stdlib.h>

#ifdef __clang__
#define LEAK_ALONE __attribute__((noinline, unused))
#else
#define LEAK_ALONE __attribute__((noipa, unused))
#endif

#define DEFINITE "definite"
#define INDIRECT "indirect"
#define POSSIBLE "possible"
#define REACHABLE "reachable"

/* What the compiler knows about P ends here. */
#define LEAK_ESCAPE(p) __asm__ volatile("" : "+r"(p) : : "memory")

struct leak_sum {
        const char *kind, *function;
        size_t bytes, blocks;
};

#define LEAK_SUMS 128
static struct leak_sum leak_sums[LEAK_SUMS];

/* FUNCTION has made a block that will be of class KIND at the end. */
LEAK_ALONE static void leak_note(const char *kind, const char *function, size_t bytes)
{
        struct leak_sum *s = leak_sums;
        truth_lock();
        while (s->kind && (strcmp(s->function, function) || strcmp(s->kind, kind)))
                if (++s == leak_sums + LEAK_SUMS)
                        truth_die("leak: too many functions\n");
        s->kind = kind;
        s->function = function;
        s->bytes += bytes;
        s->blocks++;
        truth_unlock();
}

__attribute__((unused)) static void leak_tell(void)
{
        for (struct leak_sum *s = leak_sums; s < leak_sums + LEAK_SUMS && s->kind; s++)
                truth_say("leak %s %s %zu %zu\n", s->kind, s->function, s->bytes, s->blocks);
}

/* A new block is all zero: no stale word in it points anywhere. */
LEAK_ALONE static void *leak_blank(void *p, size_t size)
{
        if (!p)
                truth_die("leak: no memory\n");
        memset(p, 0, size);
        LEAK_ESCAPE(p);
        return p;
}

/* A function that makes blocks of SIZE bytes; KIND is what they will be. */
#define MAKER(name)                                                            \
        LEAK_ALONE static void *name(const char *kind, size_t size)            \
        {                                                                      \
                void *p = malloc(size);                                        \
                leak_note(kind, #name, size);                                  \
                return leak_blank(p, size);                                    \
        }

/* Clears 64 KiB below the caller's frame, and every register that a call may change. */
#ifdef __aarch64__
void leak_wipe(void) __asm__("leak_wipe");
__asm__(".text\n"
        ".p2align 4\n"
        ".type leak_wipe, %function\n"
        "leak_wipe:\n"
        "        sub sp, sp, #65536\n"
        "        mov x0, sp\n"
        "        mov x1, #4096\n"
        "1:      stp xzr, xzr, [x0], #16\n"
        "        subs x1, x1, #1\n"
        "        b.ne 1b\n"
        "        mov sp, x0\n"
        "        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18\n"
        "        mov x\\n, xzr\n"
        "        .endr\n"
        "        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, "
        "28, 29, 30, 31\n"
        "        movi v\\n\\().2d, #0\n"
        "        .endr\n"
        "        .irp n, 8, 9, 10, 11, 12, 13, 14, 15\n" /* a function keeps their lower half */
        "        mov v\\n\\().d[1], xzr\n"
        "        .endr\n"
        "        ret\n"
        ".size leak_wipe, .-leak_wipe\n");
#elif !defined(__x86_64__) /* run by qemu, which keeps registers where nobody looks for pointers */
LEAK_ALONE static void leak_wipe(void)
{
        volatile uint64_t below[8192];

        for (int i = 0; i < 8192; i++)
                below[i] = 0;
}
#else
void leak_wipe(void) __asm__("leak_wipe");
__asm__(".text\n"
        ".p2align 4\n"
        ".type leak_wipe, @function\n"
        "leak_wipe:\n"
        "        sub $65536, %rsp\n"
        "        mov %rsp, %rdi\n"
        "        mov $8192, %ecx\n"
        "        xor %eax, %eax\n"
        "        rep stosq\n"
        "        add $65536, %rsp\n"
        "        xor %edx, %edx\n"
        "        xor %esi, %esi\n"
        "        xor %edi, %edi\n"
        "        xor %r8d, %r8d\n"
        "        xor %r9d, %r9d\n"
        "        xor %r10d, %r10d\n"
        "        xor %r11d, %r11d\n"
        "        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "        pxor %xmm\\n, %xmm\\n\n"
        "        .endr\n"
        "        ret\n"
        ".size leak_wipe, .-leak_wipe\n");
#endif

/* An address that no search may find, and back. */
static inline uintptr_t leak_hidden(const void *p)
{
        return ~(uintptr_t)p;
}

static inline void *leak_shown(uintptr_t hidden)
{
        return (void *)~hidden;
}

static int leak_waits; /* "wait" was among the arguments */

/* The blocks are in place: whoever waits for that may look; goes on at the end of the input. */
__attribute__((unused)) static void leak_pause(void)
{
        char c;
        if (!leak_waits)
                return;
        tell("ready\n");
        while (read(0, &c, 1) > 0)
                ;
}

__attribute__((unused)) static void leak_ready(void)
{
        leak_tell();
        leak_pause();
}

struct leak_case {
        const char *name;
        void (*run)(void);
};

LEAK_ALONE static void leak_run(const struct leak_case *cases, const char *name)
{
        while (cases->name && strcmp(cases->name, name))
                cases++;
        if (!cases->name)
                truth_die("leak: no such case\n");
        cases->run();
        leak_wipe();
}

__attribute__((unused)) static int leak_main(char **argv, const struct leak_case *cases)
{
        size_t count = 0;
        while (argv[count])
                count++;
        leak_waits = count > 1 && !strcmp(argv[count - 1], "wait");
        for (size_t i = 1; i < count - (size_t)leak_waits; i++)
                leak_run(cases, argv[i]);
        leak_ready();
        leak_wipe();
        return 0;
}

#endif
