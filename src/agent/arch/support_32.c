/* SPDX-License-Identifier: MIT */
/*
 * support_32.c -- arithmetic with 64 bits that compilers leave to a library where words have 32
 *
 * Room:   inside; any context.  Linked on such processors only; the names are the compiler's.
 * Cost:   some ten instructions for each bit of the quotient.
 */
#include <stdint.h>

#include "agent/guest.h"

uint64_t divide_unsigned(uint64_t n, uint64_t by, uint64_t *rest) __asm__("__udivmoddi4");
uint64_t divide_quotient(uint64_t n, uint64_t by) __asm__("__udivdi3");
uint64_t divide_rest(uint64_t n, uint64_t by) __asm__("__umoddi3");
int64_t divide_signed(int64_t n, int64_t by) __asm__("__divdi3");
int64_t divide_signed_rest(int64_t n, int64_t by) __asm__("__moddi3");
int divide_zeros(uint64_t n) __asm__("__ctzdi2");

/* How many of the 64 bits in front are 0; N is not 0. */
static int leading(uint64_t n)
{
        uint32_t high = (uint32_t)(n >> 32);

        return high ? __builtin_clz(high) : 32 + __builtin_clz((uint32_t)n);
}

uint64_t divide_unsigned(uint64_t n, uint64_t by, uint64_t *rest)
{
        uint64_t quotient = 0;
        int shift;

        if (!by)
                __builtin_trap();
        for (shift = n < by ? -1 : leading(by) - leading(n); shift >= 0; shift--)
                if (n >> shift >= by) {
                        n -= by << shift;
                        quotient |= 1ull << shift;
                }
        if (rest)
                *rest = n;
        return quotient;
}

uint64_t divide_quotient(uint64_t n, uint64_t by)
{
        return divide_unsigned(n, by, 0);
}

uint64_t divide_rest(uint64_t n, uint64_t by)
{
        uint64_t rest;

        divide_unsigned(n, by, &rest);
        return rest;
}

static uint64_t magnitude(int64_t n)
{
        return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

int64_t divide_signed(int64_t n, int64_t by)
{
        uint64_t quotient = divide_unsigned(magnitude(n), magnitude(by), 0);

        return (int64_t)((n < 0) != (by < 0) ? -quotient : quotient);
}

int64_t divide_signed_rest(int64_t n, int64_t by)
{
        uint64_t rest = divide_rest(magnitude(n), magnitude(by));

        return (int64_t)(n < 0 ? -rest : rest);
}

int divide_zeros(uint64_t n)
{
        uint32_t low = (uint32_t)n;

        return low ? __builtin_ctz(low) : 32 + __builtin_ctz((uint32_t)(n >> 32));
}
