/* SPDX-License-Identifier: MIT */
/*
 * move_x86_64.c -- one instruction of x86-64, decoded by Zydis; its relative operands keep their
 * targets.
 */
#include "breakpoint/move.h"

#include <string.h>

#include <Zydis/Zydis.h>

#define NEXT_BYTES 14u /* jmp *0(%rip), and the address */

static bool fits(int64_t distance)
{
        return distance == (int32_t)distance;
}

/* Behind COUNT bytes: go on at TO. */
static void add_jump(struct move *m, uint64_t to)
{
        static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

        memcpy(m->bytes + m->count, jump, sizeof jump);
        memcpy(m->bytes + m->count + sizeof jump, &to, sizeof to);
        m->count += NEXT_BYTES;
}

static bool is_rip_relative(const ZydisDecodedInstruction *i)
{
        return (i->attributes & ZYDIS_ATTRIB_HAS_MODRM) && i->raw.modrm.mod == 0 &&
               i->raw.modrm.rm == 5 && i->raw.disp.size == 32;
}

/* Copy the instruction to the end of BYTES; an operand relative to it stays the same one. */
static bool add_copy(struct move *m, const ZydisDecodedInstruction *i, const uint8_t *code,
                     uint64_t moved_by)
{
        int32_t distance;

        memcpy(m->bytes + m->count, code, i->length);
        if (is_rip_relative(i)) {
                int64_t now;

                if (i->address_width != 64)
                        return false;
                memcpy(&distance, code + i->raw.disp.offset, sizeof distance);
                now = distance - (int64_t)moved_by;
                if (!fits(now))
                        return false;
                distance = (int32_t)now;
                memcpy(m->bytes + m->count + i->raw.disp.offset, &distance, sizeof distance);
        }
        m->count += i->length;
        return true;
}

/* call *X: push where it comes back to, and jump. */
static bool add_call(struct move *m, const ZydisDecodedInstruction *i, const uint8_t *code,
                     uint64_t at, uint64_t slot)
{
        uint64_t back = at + i->length;
        uint32_t low = (uint32_t)back, high = (uint32_t)(back >> 32);
        static const uint8_t store[] = { 0xc7, 0x44, 0x24, 0x04 };
        uint8_t *jump;

        if (i->opcode != 0xff || i->raw.modrm.reg != 2 ||
            (i->raw.modrm.mod != 3 && i->raw.modrm.rm == 4 && i->raw.sib.base == 4))
                return false; /* far, or relative to the stack pointer that the push moves */
        m->bytes[m->count] = 0x68;
        memcpy(m->bytes + m->count + 1, &low, sizeof low);
        memcpy(m->bytes + m->count + 5, store, sizeof store);
        memcpy(m->bytes + m->count + 9, &high, sizeof high);
        m->count += 13;
        jump = m->bytes + m->count;
        if (!add_copy(m, i, code, slot + m->count - at))
                return false;
        jump[i->raw.modrm.offset] = (uint8_t)((jump[i->raw.modrm.offset] & 0xc7u) | 4u << 3);
        return true;
}

static bool plan_relative(struct move *m, const ZydisDecodedInstruction *i, uint64_t at)
{
        m->to = at + i->length + (uint64_t)i->raw.imm[0].value.s;
        switch (i->meta.category) {
        case ZYDIS_CATEGORY_CALL: m->how = MOVE_CALL; return true;
        case ZYDIS_CATEGORY_UNCOND_BR: m->how = MOVE_JUMP; return true;
        case ZYDIS_CATEGORY_COND_BR:
                m->how = MOVE_BRANCH;
                m->condition = i->opcode & 0xfu;
                /* loop and jrcxz change or read a register */
                return (i->opcode & 0xf0u) == 0x70 || (i->opcode & 0xf0u) == 0x80;
        default: return false;
        }
}

bool move_plan(struct move *m, const uint8_t *code, uint64_t at, uint64_t slot)
{
        ZydisDecoder decoder;
        ZydisDecodedInstruction i;

        memset(m, 0, sizeof *m);
        if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
                                           ZYDIS_STACK_WIDTH_64)) ||
            !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, MOVE_READ, &i)))
                return false;
        m->length = i.length;
        if (i.raw.imm[0].is_relative)
                return plan_relative(m, &i, at);
        m->how = MOVE_CODE;
        if (!slot)
                return true;
        if (i.meta.category == ZYDIS_CATEGORY_CALL)
                return add_call(m, &i, code, at, slot);
        if (!add_copy(m, &i, code, slot - at) || m->count + NEXT_BYTES > MOVE_BYTES)
                return false;
        add_jump(m, at + i.length);
        return true;
}

enum { FLAG_CARRY = 1, FLAG_PARITY = 4, FLAG_ZERO = 64, FLAG_SIGN = 128, FLAG_OVERFLOW = 2048 };

bool move_holds(uint8_t condition, uint64_t flags)
{
        bool less = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW), holds = false;

        switch (condition >> 1) {
        case 0: holds = flags & FLAG_OVERFLOW; break;
        case 1: holds = flags & FLAG_CARRY; break;
        case 2: holds = flags & FLAG_ZERO; break;
        case 3: holds = flags & (FLAG_CARRY | FLAG_ZERO); break;
        case 4: holds = flags & FLAG_SIGN; break;
        case 5: holds = flags & FLAG_PARITY; break;
        case 6: holds = less; break;
        case 7: holds = less || (flags & FLAG_ZERO); break;
        }
        return holds != (condition & 1);
}
