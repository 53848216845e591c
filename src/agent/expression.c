/* SPDX-License-Identifier: MIT */
/*
 * expression.c -- the little stack machine of DWARF expressions, as unwind tables use it.
 *
 * Room:   inside; any context.
 * Keeps:  it reads its own bytes and, where it may, memory that was asked for (reach.h); it
 *         never goes back, so it ends.
 */
#include "agent/cfi.h"

#include "agent/cfi_bytes.h"
#include "agent/reach.h"

#include "agent/guest.h"

#define DEPTH 16

struct machine {
        struct cfi_bytes code;
        const struct cfi_frame *frame;
        uint64_t stack[DEPTH];
        uint32_t depth;
};

static uint64_t take(struct machine *m)
{
        return m->depth ? m->stack[--m->depth] : 0;
}

static bool put(struct machine *m, uint64_t value)
{
        if (m->depth == DEPTH)
                return false;
        m->stack[m->depth++] = value;
        return true;
}

/* The one quotient that does not fit is an exception of the processor. */
static uint64_t divide(int64_t a, int64_t b)
{
        return b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
}

/* Operations with two operands: 0x1a-0x27 (and, minus, ...) and 0x29-0x2e (comparisons). */
static bool two_operands(struct machine *m, uint8_t op)
{
        uint64_t b = take(m), a = take(m);

        switch (op) {
        case 0x1a: return put(m, a & b);
        case 0x1b: return b && put(m, divide((int64_t)a, (int64_t)b));
        case 0x1c: return put(m, a - b);
        case 0x1d: return b && put(m, a % b);
        case 0x1e: return put(m, a * b);
        case 0x21: return put(m, a | b);
        case 0x22: return put(m, a + b);
        case 0x24: return put(m, b < 64 ? a << b : 0);
        case 0x25: return put(m, b < 64 ? a >> b : 0);
        case 0x26: return put(m, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)));
        case 0x27: return put(m, a ^ b);
        case 0x29: return put(m, a == b);
        case 0x2a: return put(m, (int64_t)a >= (int64_t)b);
        case 0x2b: return put(m, (int64_t)a > (int64_t)b);
        case 0x2c: return put(m, (int64_t)a <= (int64_t)b);
        case 0x2d: return put(m, (int64_t)a < (int64_t)b);
        case 0x2e: return put(m, a != b);
        default: return false;
        }
}

static bool deref(struct machine *m, uint64_t bytes)
{
        uint64_t value;

        if (!m->frame->thread || !bytes || bytes > sizeof(arch_word) ||
            !reach_word(m->frame->thread, take(m), &value))
                return false;
        if (LEDGER_BIG_ENDIAN)
                value >>= 8 * (sizeof(arch_word) - bytes);
        return put(m, value & ~0ull >> (64 - 8 * bytes));
}

static bool branch(struct machine *m, bool taken)
{
        int16_t distance = (int16_t)cfi_fixed(&m->code, 2);

        if (taken && distance < 0) /* no loops: none is needed, and none can hang us */
                return false;
        if (taken)
                cfi_skip(&m->code, (uint64_t)distance);
        return true;
}

static bool step(struct machine *m, uint8_t op)
{
        uint64_t a, b;

        if (op >= 0x30 && op <= 0x4f)
                return put(m, op - 0x30u);
        if (op >= 0x70 && op <= 0x8f && op - 0x70 < ARCH_REGS)
                return put(m, m->frame->registers[op - 0x70] + (uint64_t)cfi_sleb(&m->code));
        switch (op) {
        case 0x03: return put(m, cfi_fixed(&m->code, sizeof(arch_word)));     /* addr */
        case 0x06: return deref(m, sizeof(arch_word));
        case 0x08: return put(m, cfi_fixed(&m->code, 1));                     /* const1u */
        case 0x09: return put(m, (uint64_t)(int64_t)(int8_t)cfi_fixed(&m->code, 1));
        case 0x0a: return put(m, cfi_fixed(&m->code, 2));
        case 0x0b: return put(m, (uint64_t)(int64_t)(int16_t)cfi_fixed(&m->code, 2));
        case 0x0c: return put(m, cfi_fixed(&m->code, 4));
        case 0x0d: return put(m, (uint64_t)(int64_t)(int32_t)cfi_fixed(&m->code, 4));
        case 0x0e:
        case 0x0f: return put(m, cfi_fixed(&m->code, 8));
        case 0x10: return put(m, cfi_uleb(&m->code));                         /* constu */
        case 0x11: return put(m, (uint64_t)cfi_sleb(&m->code));               /* consts */
        case 0x12: a = take(m); return put(m, a) && put(m, a);                /* dup */
        case 0x13: take(m); return true;                                      /* drop */
        case 0x16: b = take(m); a = take(m); return put(m, b) && put(m, a);   /* swap */
        case 0x1f: return put(m, -take(m));                                   /* neg */
        case 0x20: return put(m, ~take(m));                                   /* not */
        case 0x23: a = take(m); return put(m, a + cfi_uleb(&m->code));        /* plus_uconst */
        case 0x28: return branch(m, take(m) != 0);                            /* bra */
        case 0x2f: return branch(m, true);                                    /* skip */
        case 0x94: return deref(m, cfi_fixed(&m->code, 1));                   /* deref_size */
        case 0x96: return true;                                               /* nop */
        default: return two_operands(m, op);
        }
}

bool cfi_evaluate(const struct cfi_rule *r, const struct cfi_frame *frame, uint64_t *value)
{
        struct machine m = { .code = { r->expression, r->expression + r->expression_bytes, false },
                             .frame = frame };

        if (frame->first)
                put(&m, *frame->first);
        while (m.code.p < m.code.end)
                if (!step(&m, (uint8_t)cfi_fixed(&m.code, 1)) || m.code.bad)
                        return false;
        if (!m.depth || m.code.bad)
                return false;
        *value = m.stack[m.depth - 1];
        return true;
}
