/* SPDX-License-Identifier: MIT */
/*
 * ehabi.c -- the unwind tables of 32-bit arm.
 *
 * .ARM.exidx is a sorted array of pairs: where a function begins, and its instructions, in the word
 * itself or in .ARM.extab.  The instructions move a virtual stack pointer from the frame's to the
 * caller's and pop registers on the way.  (Exception Handling ABI for the Arm Architecture, 7 to
 * 10.)
 *
 * Keeps:  nothing in the tables is believed: words are read inside of readable memory of the
 *         object, instructions end with the words that have them.
 */
#include "agent/ehabi.h"

#include "agent/guest.h"

#define EHABI_PAIR 8u
#define EHABI_CANNOT 1u /* EXIDX_CANTUNWIND */
#define EHABI_SP 13u
#define EHABI_LR 14u
#define EHABI_PC 15u

static uint32_t word_at(uint64_t at)
{
        uint32_t word;

        __builtin_memcpy(&word, (const void *)(uintptr_t)at, sizeof word);
        return word;
}

/* An address that is stored as its distance, in 31 bits. */
static uint64_t near(uint64_t at, uint32_t word)
{
        return (uintptr_t)(at + (uint64_t)(int64_t)((int32_t)(word << 1) >> 1));
}

/* The last pair whose function begins at or before PC; 0: there is none. */
static uint64_t find_pair(const struct object *o, uint64_t pc)
{
        uint64_t table = (uintptr_t)o->exidx, low = 0, high = o->exidx_bytes / EHABI_PAIR;

        while (low < high) {
                uint64_t middle = (low + high) / 2, at = table + EHABI_PAIR * middle;

                if (near(at, word_at(at)) <= pc)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low ? table + EHABI_PAIR * (low - 1) : 0;
}

/* Instructions behind the first word: MORE whole words from AT on. */
static bool take_rest(const struct object *o, uint64_t at, uint32_t more, struct ehabi_code *out)
{
        const uint8_t *p = (const uint8_t *)(uintptr_t)at;

        if (!more)
                return true;
        out->rest = (struct cfi_bytes){ .p = p, .end = p + 4 * more };
        return object_area(o, at, 4 * more) != NULL;
}

/* The word at AT has instructions in its COUNT lowest bytes. */
static bool take(const struct object *o, uint64_t at, uint32_t count, uint32_t more,
                 struct ehabi_code *out)
{
        out->first = word_at(at) << (32 - 8 * count);
        out->count = count;
        return take_rest(o, at + 4, more, out);
}

/* An entry that tells by its first word how it is made: the three kinds of the ABI itself. */
static bool take_compact(const struct object *o, uint64_t at, struct ehabi_code *out)
{
        uint32_t word = word_at(at), kind = word >> 24 & 0x7f;

        if (kind == 0)
                return take(o, at, 3, 0, out);
        return (kind == 1 || kind == 2) && take(o, at, 2, word >> 16 & 0xff, out);
}

static bool take_entry(const struct object *o, uint64_t at, struct ehabi_code *out)
{
        if (at % 4 || !object_area(o, at, 4))
                return false;
        if (word_at(at) >> 31)
                return take_compact(o, at, out);
        /* A function of the language comes first; all that there are go on like this. */
        return object_area(o, at + 4, 4) && take(o, at + 4, 3, word_at(at + 4) >> 24, out);
}

enum ehabi_answer ehabi_find(const struct object *o, uint64_t pc, struct ehabi_code *out)
{
        uint64_t pair = o->exidx ? find_pair(o, pc) : 0;
        uint32_t word;
        bool good;

        *out = (struct ehabi_code){ 0 };
        if (!pair)
                return EHABI_UNKNOWN;
        word = word_at(pair + 4);
        out->start = near(pair, word_at(pair));
        if (word == EHABI_CANNOT)
                return EHABI_END;
        if (word >> 31)
                good = (word >> 24 & 0x7f) == 0 && take(o, pair + 4, 3, 0, out);
        else
                good = take_entry(o, near(pair + 4, word), out);
        return good ? EHABI_FOUND : EHABI_UNKNOWN;
}

/* ---- instructions ---- */

struct run {
        struct ehabi_code code;
        uint64_t *r;
        uint32_t vsp, word, left; /* LEFT: bytes of WORD, from its highest on */
        bool saved, counter; /* r14, r15 were popped */
        ehabi_read *read;
        void *context;
};

/* The next byte; behind the last one all are "finish". */
static uint8_t next_byte(struct run *x)
{
        uint8_t byte;

        if (!x->left && x->code.rest.p < x->code.rest.end) {
                x->word = (uint32_t)cfi_fixed(&x->code.rest, 4);
                x->left = 4;
        }
        if (!x->left)
                return 0xb0;
        byte = (uint8_t)(x->word >> 24);
        x->word <<= 8;
        x->left--;
        return byte;
}

/* Pop the registers whose bits are in MASK, the lowest first. */
static bool pop(struct run *x, uint32_t mask)
{
        uint64_t stack = 0;

        for (uint32_t i = 0; i < 16; i++) {
                uint64_t *to = i == EHABI_SP ? &stack : &x->r[i];

                if (!(mask >> i & 1))
                        continue;
                if (!x->read(x->context, x->vsp, to))
                        return false;
                x->vsp += 4;
        }
        x->saved |= mask >> EHABI_LR & 1;
        x->counter |= mask >> EHABI_PC & 1;
        if (mask >> EHABI_SP & 1)
                x->vsp = (uint32_t)stack;
        return true;
}

/* Registers of coprocessors are passed over: COUNT of 8 bytes. */
static bool pass(struct run *x, uint32_t count, uint32_t more)
{
        x->vsp += 8 * count + more;
        return true;
}

static bool add_large(struct run *x)
{
        uint32_t value = 0, shift = 0;
        uint8_t byte;

        do {
                byte = next_byte(x);
                value |= shift < 32 ? (uint32_t)(byte & 0x7f) << shift : 0;
                shift += 7;
        } while (byte & 0x80 && shift < 35);
        x->vsp += 0x204 + (value << 2);
        return !(byte & 0x80);
}

static bool run_from_b1(struct run *x, uint8_t op)
{
        uint8_t next;

        switch (op) {
        case 0xb1: /* r0 to r3 */
                next = next_byte(x);
                return next && next < 16 && pop(x, next);
        case 0xb2: return add_large(x);
        case 0xb3: return pass(x, (next_byte(x) & 15u) + 1, 4); /* VFP, by FSTMFDX */
        case 0xb4: return pass(x, 0, 4);                        /* authentication code */
        case 0xb5: return true;                                 /* ... and what it was made with */
        case 0xb6:
        case 0xb7: return false;
        default: return pass(x, (op & 7u) + 1, 4); /* d8 and on, by FSTMFDX */
        }
}

static bool run_from_c0(struct run *x, uint8_t op)
{
        uint8_t next;

        if (op < 0xc6)
                return pass(x, (op & 7u) + 1, 0); /* wR10 and on */
        switch (op) {
        case 0xc6: /* wR */
        case 0xc8: /* d16 and on */
        case 0xc9: return pass(x, (next_byte(x) & 15u) + 1, 0);
        case 0xc7: /* wCGR */
                next = next_byte(x);
                if (!next || next > 15)
                        return false;
                return pass(x, 0, 4 * (uint32_t)((next & 1) + (next >> 1 & 1) + (next >> 2 & 1) +
                                                 (next >> 3 & 1)));
        default: return op >= 0xd0 && op < 0xd8 && pass(x, (op & 7u) + 1, 0); /* d8 and on */
        }
}

static bool run_one(struct run *x, uint8_t op)
{
        uint32_t mask;

        if (op < 0x40)
                return pass(x, 0, ((uint32_t)op << 2) + 4);
        if (op < 0x80)
                return pass(x, 0, 0u - (((uint32_t)op & 0x3f) << 2) - 4);
        if (op < 0x90) { /* r4 to r15; none: it is refused */
                mask = (op & 15u) << 8;
                mask |= next_byte(x);
                return mask && pop(x, mask << 4);
        }
        if (op < 0xa0) {
                x->vsp = (uint32_t)x->r[op & 15];
                return op != 0x9d && op != 0x9f;
        }
        if (op < 0xb0) /* r4 and on, with r14 */
                return pop(x, ((2u << (op & 7)) - 1) << 4 | (op & 8 ? 1u << EHABI_LR : 0));
        return op < 0xc0 ? run_from_b1(x, op) : run_from_c0(x, op);
}

bool ehabi_leave(struct ehabi_code code, uint64_t *r, bool *saved, ehabi_read *read, void *context)
{
        struct run x = { .code = code, .r = r, .vsp = (uint32_t)r[EHABI_SP], .word = code.first,
                         .left = code.count, .read = read, .context = context };
        uint8_t op;

        while ((op = next_byte(&x)) != 0xb0)
                if (!run_one(&x, op))
                        return false;
        r[EHABI_SP] = x.vsp;
        if (!x.counter)
                r[EHABI_PC] = r[EHABI_LR];
        *saved = x.saved || x.counter;
        return true;
}
