/* SPDX-License-Identifier: MIT */
/*
 * support_arm.c -- what compilers call on 32-bit arm beside support_32.c, by the names of its
 * run-time ABI; and the functions that unwind tables name, which nobody calls: our own unwinder
 * reads them.
 *
 * Room:   inside; any context.
 */
#include <stdint.h>

#include "agent/arch/arch.h"

#include "agent/guest.h"

#if defined(__arm__)

void support_unwind_0(void) __asm__("__aeabi_unwind_cpp_pr0");
void support_unwind_1(void) __asm__("__aeabi_unwind_cpp_pr1");
void support_unwind_2(void) __asm__("__aeabi_unwind_cpp_pr2");
uint32_t support_divide(uint32_t n, uint32_t by) __asm__("__aeabi_uidiv");
int32_t support_divide_signed(int32_t n, int32_t by) __asm__("__aeabi_idiv");
uint64_t support_divide_both(uint32_t n, uint32_t by) __asm__("__aeabi_uidivmod");
uint64_t support_divide_signed_both(int32_t n, int32_t by) __asm__("__aeabi_idivmod");
uint64_t support_divide_64(uint64_t n, uint64_t by, uint64_t *rest) __asm__("__udivmoddi4");
uint64_t support_divide_signed_64(int64_t n, int64_t by, int64_t *rest)
        __asm__("seep_signed_divide_64");
int64_t support_quotient(int64_t n, int64_t by) __asm__("__divdi3");

void support_unwind_0(void)
{
}

void support_unwind_1(void)
{
}

void support_unwind_2(void)
{
}

uint32_t support_divide(uint32_t n, uint32_t by)
{
        uint32_t quotient = 0;

        if (!by)
                __builtin_trap();
        for (int shift = n < by ? -1 : __builtin_clz(by) - __builtin_clz(n); shift >= 0; shift--)
                if (n >> shift >= by) {
                        n -= by << shift;
                        quotient |= 1u << shift;
                }
        return quotient;
}

int32_t support_divide_signed(int32_t n, int32_t by)
{
        uint32_t quotient = support_divide(n < 0 ? -(uint32_t)n : (uint32_t)n,
                                           by < 0 ? -(uint32_t)by : (uint32_t)by);

        return (int32_t)((n < 0) != (by < 0) ? -quotient : quotient);
}

/* The quotient in r0, the rest in r1. */
uint64_t support_divide_both(uint32_t n, uint32_t by)
{
        uint32_t quotient = support_divide(n, by);

        return (uint64_t)(n - quotient * by) << 32 | quotient;
}

uint64_t support_divide_signed_both(int32_t n, int32_t by)
{
        uint32_t quotient = (uint32_t)support_divide_signed(n, by);

        return (uint64_t)((uint32_t)n - quotient * (uint32_t)by) << 32 | quotient;
}

uint64_t support_divide_signed_64(int64_t n, int64_t by, int64_t *rest)
{
        int64_t quotient = support_quotient(n, by);

        *rest = (int64_t)((uint64_t)n - (uint64_t)quotient * (uint64_t)by);
        return (uint64_t)quotient;
}

/* The quotient in r0 and r1, the rest in r2 and r3: no function of C gives both. */
#define BOTH(name, divide)                                                     \
        __asm__(".pushsection .text\n"                                         \
                ".balign 4\n"                                                  \
                ".thumb_func\n"                                                \
                ".type " name ", %function\n"                                  \
                ".globl " name "\n"                                            \
                ".hidden " name "\n" name ":\n"                                \
                "        .fnstart\n"                                           \
                "        push {r4, lr}\n"                                      \
                "        .save {r4, lr}\n"                                     \
                "        sub sp, sp, #16\n"                                    \
                "        .pad #16\n"                                           \
                "        add r4, sp, #8\n"                                     \
                "        str r4, [sp]\n"                                       \
                "        bl " divide "\n"                                      \
                "        ldr r2, [sp, #8]\n"                                   \
                "        ldr r3, [sp, #12]\n"                                  \
                "        add sp, sp, #16\n"                                    \
                "        pop {r4, pc}\n"                                       \
                "        .fnend\n"                                             \
                ".size " name ", . - " name "\n"                               \
                ".popsection")

BOTH("__aeabi_uldivmod", "__udivmoddi4");
BOTH("__aeabi_ldivmod", "seep_signed_divide_64");

#endif
