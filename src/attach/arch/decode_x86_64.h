/* SPDX-License-Identifier: MIT */
/*
 * decode_x86_64.h -- the length of an instruction of x86-64 and i386, and what must change when it
 * is moved.
 *
 * Keeps:  an instruction that it takes has the length that a processor gives it.  What no compiler
 *         writes (XOP, APX, moves of control registers) is refused, as what no processor knows is
 *         as far as one table for all can tell.
 */
#ifndef SEEP_ATTACH_ARCH_DECODE_X86_64_H
#define SEEP_ATTACH_ARCH_DECODE_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECODE_MOST 15u /* bytes of an instruction */

struct decoded {
        uint8_t length;
        uint8_t map; /* of opcodes: 0 one byte, 1 behind 0f, 2 behind 0f 38, 3 behind 0f 3a; more
                      * where vectors have them */
        bool vector; /* with a prefix of vectors (VEX, EVEX): its opcodes are others */
        uint8_t opcode;
        bool has_modrm;
        uint8_t modrm, modrm_at; /* mod of 2 bits, reg of 3, rm of 3 */
        uint8_t rex;             /* 0 none */
        bool short_operands, short_addresses; /* prefixes 66, 67 */
        uint8_t repeat;          /* f2, f3: the last of them; 0 none */
        bool near_data;          /* a memory operand DISTANCE behind it ... */
        bool branch;             /* a jump or call DISTANCE behind it */
        uint8_t distance_at;     /* ... which stands there in 4 bytes */
        int64_t distance;
};

/* The instruction at CODE, of which BYTES can be read; NARROW: of i386.  false: it is none. */
bool decode(const uint8_t *code, size_t bytes, bool narrow, struct decoded *out);

static inline unsigned decoded_mod(const struct decoded *i)
{
        return i->modrm >> 6;
}

static inline unsigned decoded_reg(const struct decoded *i)
{
        return i->modrm >> 3 & 7;
}

static inline unsigned decoded_rm(const struct decoded *i)
{
        return i->modrm & 7;
}

/* One of one byte, or behind 0f. */
static inline bool decoded_is(const struct decoded *i, uint8_t map, uint8_t opcode)
{
        return !i->vector && i->map == map && i->opcode == opcode;
}

#endif
