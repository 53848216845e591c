/* SPDX-License-Identifier: MIT */
/*
 * weight.h -- sampling (record --sample): which allocations are recorded, and how many others each
 * stands for.
 *
 * Room:   both sides; whole numbers only, since the agent must not touch the
 *         program's vector registers.
 *
 * Sample points lie on the axis of allocated bytes as a Poisson process with one point in MEAN
 * bytes, so that a block of SIZE bytes is taken with the chance 1 - e^(-SIZE / MEAN) and stands for
 * 1 / chance blocks.  That is rounded up or down by a throw of dice, so that sums are right on
 * average; the dice are a hash of what is known of the block as long as it lives, so that its
 * release takes off what its allocation added.
 */
#ifndef SEEP_LEDGER_WEIGHT_H
#define SEEP_LEDGER_WEIGHT_H

#include <stdint.h>

#define WEIGHT_MEAN_MAX (1ull << 34)
#define WEIGHT_ONE (1ull << 62)
#define WEIGHT_LOG2_E 0xb8aa3b295c17f0bcull /* times 2^63 */
#define WEIGHT_LN_2 0xb17217f8ull           /* times 2^32 */

static inline uint64_t weight_mix(uint64_t x)
{
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
}

/* The low half of A * B >> SHIFT; SHIFT at most 64. */
static inline uint64_t weight_times(uint64_t a, uint64_t b, unsigned shift)
{
#ifdef __SIZEOF_INT128__
        return (uint64_t)((unsigned __int128)a * b >> shift);
#else
        uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), left = (a >> 32) * (b & UINT32_MAX),
                 right = (a & UINT32_MAX) * (b >> 32);
        uint64_t middle = (low >> 32) + (left & UINT32_MAX) + (right & UINT32_MAX);
        uint64_t high = (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32);

        low = (low & UINT32_MAX) | middle << 32;
        return !shift ? low : shift == 64 ? high : low >> shift | high << (64 - shift);
#endif
}

/* 2^-Y times WEIGHT_ONE; Y times 2^40. */
static inline uint64_t weight_power(uint64_t y)
{
        /* 2^-(1/2), 2^-(1/4), 2^-(1/8), ... */
        static const uint64_t roots[40] = {
        0x2d413cccfe779921ull, 0x35d13f32b5a75abdull, 0x3ab031b9f7490e4cull, 0x3d495f454921b30bull,
        0x3ea0ecb6dc8a80cfull, 0x3f4f83033d21b05dull, 0x3fa784571ee3e213ull, 0x3fd3b2d65447b229ull,
        0x3fe9d59487236bb4ull, 0x3ff4e9d4703df843ull, 0x3ffa74acbdf6c9d5ull, 0x3ffd3a46ffc6e30full,
        0x3ffe9d1fa8010199ull, 0x3fff4e8ede053ad5ull, 0x3fffa747318376acull, 0x3fffd3a38961e6ffull,
        0x3fffe9d1c0d8fd14ull, 0x3ffff4e8df7680c5ull, 0x3ffffa746f7dc0ecull, 0x3ffffd3a37af8098ull,
        0x3ffffe9d1bd3e854ull, 0x3fffff4e8de8fe2cull, 0x3fffffa746f44197ull, 0x3fffffd3a37a116bull,
        0x3fffffe9d1bd04deull, 0x3ffffff4e8de8179ull, 0x3ffffffa746f407full, 0x3ffffffd3a37a030ull,
        0x3ffffffe9d1bd014ull, 0x3fffffff4e8de809ull, 0x3fffffffa746f404ull, 0x3fffffffd3a37a02ull,
        0x3fffffffe9d1bd01ull, 0x3ffffffff4e8de81ull, 0x3ffffffffa746f40ull, 0x3ffffffffd3a37a0ull,
        0x3ffffffffe9d1bd0ull, 0x3fffffffff4e8de8ull, 0x3fffffffffa746f4ull, 0x3fffffffffd3a37aull
        };
        uint64_t power = y >> 40 < 62 ? WEIGHT_ONE >> (y >> 40) : 0;

        for (unsigned i = 0; i < 40; i++)
                if (y >> (39 - i) & 1)
                        power = weight_times(power, roots[i], 62);
        return power;
}

/* The chance that a block of SIZE bytes is taken, times WEIGHT_ONE; never 0. */
static inline uint64_t weight_chance(uint64_t size, uint64_t mean)
{
        uint64_t share = WEIGHT_LOG2_E / mean; /* of one byte, in powers of two, times 2^63 */

        if (size / mean >= 40)
                return WEIGHT_ONE;
        return WEIGHT_ONE - weight_power(weight_times(size ? size : 1, share, 23)) + 1;
}

/* How many blocks like this one it stands for. */
static inline uint64_t weight_of(uint64_t address, uint64_t size, uint64_t birth_ms, uint64_t mean)
{
        uint64_t chance = weight_chance(size, mean), rest = WEIGHT_ONE % chance;
        uint64_t dice = weight_mix(address ^ weight_mix(size << 32 ^ birth_ms)) >> 2;

        return WEIGHT_ONE / chance + (chance < WEIGHT_ONE && weight_times(dice, chance, 62) < rest);
}

/* How many bytes to the next sample point, for a random number RANDOM. */
static inline uint64_t weight_distance(uint64_t random, uint64_t mean)
{
        unsigned zeros = (unsigned)__builtin_clzll(random | 1);
        uint64_t x = (random | 1) << zeros, log = 0;

        for (int i = 0; i < 24; i++) {
                /* The logarithm, digit by digit: a square that reaches 2 is a 1. */
                uint64_t high = weight_times(x, x, 64);

                log = log << 1 | high >> 63;
                x = high >> 63 ? high : weight_times(x, x, 63);
        }
        log = ((uint64_t)(zeros + 1) << 24) - log;
        return weight_times(weight_times(log, mean, 0), WEIGHT_LN_2, 56);
}

#endif
