/* SPDX-License-Identifier: MIT */
/*
 * support_riscv64.c -- what compilers call on RISC-V, which has no instruction for it before its
 * extensions; of ours, as everything inside, and hidden.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/arch.h"

#include "agent/guest.h"

int support_leading_zeros(uint64_t word) __asm__("__clzdi2");
int support_trailing_zeros(uint64_t word) __asm__("__ctzdi2");
bool support_exchange_byte(uint8_t *at, uint8_t *expected, uint8_t desired, int success,
                           int failure) __asm__("__atomic_compare_exchange_1");
uint8_t support_or_byte(uint8_t *at, uint8_t bits, int order) __asm__("__atomic_fetch_or_1");

int support_leading_zeros(uint64_t word)
{
        int zeros = 0;

        for (int half = 32; half; half /= 2)
                if (!(word >> (64 - half))) {
                        zeros += half;
                        word <<= half;
                }
        return zeros;
}

int support_trailing_zeros(uint64_t word)
{
        return 63 - support_leading_zeros(word & -word);
}

/* The word that the byte lies in, and how far from its low end. */
static uint32_t *word_of(const uint8_t *at, uint32_t *shift)
{
        *shift = 8 * ((uintptr_t)at & 3);
        return (uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
}

bool support_exchange_byte(uint8_t *at, uint8_t *expected, uint8_t desired, int success,
                           int failure)
{
        uint32_t shift, *word = word_of(at, &shift), now = __atomic_load_n(word, __ATOMIC_SEQ_CST);

        (void)success, (void)failure;
        while ((uint8_t)(now >> shift) == *expected)
                if (__atomic_compare_exchange_n(word, &now,
                                                (now & ~(0xffu << shift)) |
                                                        (uint32_t)desired << shift,
                                                true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                        return true;
        *expected = (uint8_t)(now >> shift);
        return false;
}

uint8_t support_or_byte(uint8_t *at, uint8_t bits, int order)
{
        uint32_t shift, *word = word_of(at, &shift);

        (void)order;
        return (uint8_t)(__atomic_fetch_or(word, (uint32_t)bits << shift, __ATOMIC_SEQ_CST) >>
                         shift);
}
