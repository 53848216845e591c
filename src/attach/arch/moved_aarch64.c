/* SPDX-License-Identifier: MIT */
#include "attach/arch/moved_aarch64.h"

#include <string.h>

#define TO_X16 0xd61f0200u /* br x16 */

/* ---- what an instruction is ---- */

static bool is_condition(uint32_t w)
{
        return (w & 0xff000000u) == 0x54000000u; /* b.cond */
}

static bool is_compare(uint32_t w)
{
        return (w & 0x7e000000u) == 0x34000000u; /* cbz, cbnz */
}

static bool is_test(uint32_t w)
{
        return (w & 0x7e000000u) == 0x36000000u; /* tbz, tbnz */
}

static bool is_address(uint32_t w)
{
        return (w & 0x1f000000u) == 0x10000000u; /* adr, adrp */
}

static bool is_literal(uint32_t w)
{
        return (w & 0x3b000000u) == 0x18000000u; /* ldr from near, prfm */
}

bool moved_target(uint32_t w, uint64_t at, uint64_t *to)
{
        if (moved_is_jump(w) || moved_is_call(w))
                *to = at + (uint64_t)moved_signed(w, 0, 26) * 4;
        else if (is_condition(w) || is_compare(w))
                *to = at + (uint64_t)moved_signed(w, 5, 19) * 4;
        else if (is_test(w))
                *to = at + (uint64_t)moved_signed(w, 5, 14) * 4;
        else
                return false;
        return true;
}

/* Not: what is no instruction, and calls with signatures. */
bool moved_is_possible(uint32_t w)
{
        return w >> 16 && !moved_is_trap(w) &&
               ((w & 0xfe000000u) != 0xd6000000u || moved_ends_flow(w) ||
                moved_is_call_through(w));
}

/* ---- writing them ---- */

static bool put(struct moved *m, uint32_t word)
{
        if (m->used + sizeof word > m->room)
                return false;
        memcpy(m->code + m->used, &word, sizeof word);
        m->used += (uint32_t)sizeof word;
        return true;
}

bool moved_reaches(uint64_t from, uint64_t to)
{
        return from - to < MOVED_REACH || to - from < MOVED_REACH;
}

uint32_t moved_branch(uint64_t from, uint64_t to)
{
        return 0x14000000u | ((uint32_t)((to - from) >> 2) & 0x03ffffffu);
}

/* ldr xN, VALUE */
static bool put_value(struct moved *m, uint32_t number, uint64_t value)
{
        if (m->literals == MOVED_LITERALS)
                return false;
        m->values[m->literals] = value;
        m->users[m->literals++] = (uint8_t)m->used;
        return put(m, 0x58000000u | number);
}

bool moved_jump(struct moved *m, uint64_t to)
{
        uint64_t here = m->place + m->used;

        return moved_reaches(here, to) ? put(m, moved_branch(here, to))
                                       : put_value(m, 16, to) && put(m, TO_X16);
}

/* W with its target, in the COUNT bits from 5 on, two instructions behind it: there a jump stands
 * that is passed by where the condition does not hold. */
static bool put_condition(struct moved *m, uint32_t w, unsigned count, uint64_t to)
{
        uint32_t mask = ((1u << count) - 1) << 5, around;

        if (!put(m, (w & ~mask) | 2u << 5))
                return false;
        around = m->used;
        if (!put(m, 0) || !moved_jump(m, to))
                return false;
        w = moved_branch(around, m->used);
        memcpy(m->code + around, &w, sizeof w);
        return true;
}

/* adr, adrp: what they give is a constant now. */
static bool put_address(struct moved *m, uint32_t w, uint64_t at)
{
        uint64_t near = (uint64_t)moved_signed(w, 5, 19) << 2 | (w >> 29 & 3);

        return put_value(m, w & 31, w >> 31 ? (at & ~0xfffull) + (near << 12) : at + near);
}

/* A load from a place near the instruction: the place becomes a constant.  Of vector registers by
 * way of x16. */
static bool put_literal(struct moved *m, uint32_t w, uint64_t at)
{
        static const uint32_t general[] = { 0xb9400000u, 0xf9400000u, 0xb9800000u };
        static const uint32_t vector[] = { 0xbd400000u, 0xfd400000u, 0x3dc00000u };
        uint64_t place = at + (uint64_t)moved_signed(w, 5, 19) * 4;
        uint32_t kind = w >> 30, number = w & 31;

        if (kind == 3)
                return put(m, 0xd503201fu); /* prfm: a nop */
        if (w >> 26 & 1)
                return put_value(m, 16, place) && put(m, vector[kind] | 16u << 5 | number);
        return put_value(m, number, place) && put(m, general[kind] | number << 5 | number);
}

/* With the return address that it would have left. */
static bool put_call(struct moved *m, uint32_t w, uint64_t at)
{
        uint32_t number = w >> 5 & 31;

        if (moved_is_call(w))
                return put_value(m, 30, at + MOVED_BYTES) &&
                       moved_jump(m, at + (uint64_t)moved_signed(w, 0, 26) * 4);
        return put(m, 0xaa0003f0u | number << 16) && /* mov x16, xN */
               put_value(m, 30, at + MOVED_BYTES) && put(m, TO_X16);
}

bool moved_put(struct moved *m, uint32_t w, uint64_t at)
{
        uint64_t to = 0;

        moved_target(w, at, &to);
        if (moved_is_call(w) || moved_is_call_through(w))
                return put_call(m, w, at);
        if (moved_is_jump(w))
                return moved_jump(m, to);
        if (is_condition(w) || is_compare(w))
                return put_condition(m, w, 19, to);
        if (is_test(w))
                return put_condition(m, w, 14, to);
        if (is_address(w))
                return put_address(m, w, at);
        return is_literal(w) ? put_literal(m, w, at) : put(m, w);
}

bool moved_end(struct moved *m)
{
        if (m->used % 8 && !put(m, 0))
                return false;
        for (uint32_t i = 0; i < m->literals; i++) {
                uint32_t w, away = (m->used - m->users[i]) / 4;

                memcpy(&w, m->code + m->users[i], sizeof w);
                w |= away << 5;
                memcpy(m->code + m->users[i], &w, sizeof w);
                if (!put(m, (uint32_t)m->values[i]) || !put(m, (uint32_t)(m->values[i] >> 32)))
                        return false;
        }
        return true;
}
