/* SPDX-License-Identifier: MIT */
/*
 * trampoline.h -- the code that Python makes for each of its functions (3.12 on), where it is known
 *
 * It has neither unwind tables nor a frame pointer.  Processors that are not here: a stack is cut
 * off there unless the interpreter keeps frame pointers.
 */
#ifndef SEEP_AGENT_ARCH_TRAMPOLINE_H
#define SEEP_AGENT_ARCH_TRAMPOLINE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__LP64__)

/* FRAME: bytes between its stack pointer and its caller's; BEFORE, BEHIND: bytes of its code around
 * the address that its call returns to. */
enum { TRAMPOLINE_FRAME = 16, TRAMPOLINE_BEFORE = 6, TRAMPOLINE_BEHIND = 5 };

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret.  PC: behind the call. */
static inline bool trampoline_is(uint64_t pc)
{
        const uint8_t *p = (const uint8_t *)pc;

        return p[-6] == 0x48 && p[-5] == 0x83 && p[-4] == 0xec && p[-3] == 8 && p[-2] == 0xff &&
               p[-1] == 0xd1 && p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4 && p[3] == 8 &&
               p[4] == 0xc3;
}

#else

enum { TRAMPOLINE_FRAME = 0, TRAMPOLINE_BEFORE = 0, TRAMPOLINE_BEHIND = 1 };

static inline bool trampoline_is(uint64_t pc)
{
        (void)pc;
        return false;
}

#endif

#endif
