/* SPDX-License-Identifier: MIT */
/*
 * address.h -- an address in the recorded program: eight bytes, also when its words have four.
 *
 * Room:   both sides, which may be of different word size; layout only.
 * Keeps:  the program fills OWN, by constants as well; others read WHOLE.
 */
#ifndef SEEP_WIRE_ADDRESS_H
#define SEEP_WIRE_ADDRESS_H

#include <stdint.h>

#define WIRE_HALVES (UINTPTR_MAX < UINT64_MAX)
#define WIRE_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

union wire_address {
        struct {
#if WIRE_HALVES && WIRE_BIG_ENDIAN
                uint32_t zero;
#endif
                uintptr_t at;
#if WIRE_HALVES && !WIRE_BIG_ENDIAN
                uint32_t zero;
#endif
        } own;
        uint64_t whole;
};

#define WIRE_ADDRESS(of) { .own = { .at = (uintptr_t)(of) } }

#endif
