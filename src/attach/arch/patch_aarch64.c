/* SPDX-License-Identifier: MIT */
/*
 * patch_aarch64.c -- functions of aarch64 patched at their entry: one instruction becomes a branch.
 *
 * What marks a target of calls (bti) stays in front of it.  paciasp is such a mark, too, and must
 * be done once only: it is moved with the instruction behind it, and a bti takes its place.
 *
 * Keeps:  x16 and x17 are whatever a linker's veneer left there when a function begins.
 */
#if defined(__aarch64__) && defined(__LP64__)
#include <string.h>

#include "attach/patch.h"

#define BYTES 4u /* of an instruction */
#define REACH (127ull << 20) /* of a branch, with something to spare */
#define BTI_C 0xd503245fu
#define BRANCH 0x14000000u
#define TO_X16 0xd61f0200u /* br x16 */
#define LITERALS 4u

struct plan {
        struct patch *p;
        const struct patch_code *c;
        struct err *e;
        size_t from, end; /* of the instructions that are moved, in the function */
        bool over; /* after the last one that was moved nothing follows */
        uint32_t literals;
        uint64_t values[LITERALS];
        uint8_t users[LITERALS]; /* where in the trampoline each is loaded */
};

bool patch_is_possible(struct err *e)
{
        (void)e;
        return true;
}

bool patch_keeps_registers(bool narrow)
{
        (void)narrow;
        return false;
}

uint64_t patch_reach(bool narrow)
{
        (void)narrow;
        return REACH;
}

static bool refuse(struct plan *l, const char *why, size_t at)
{
        return err_set(l->e, ERR_EXIT_CANNOT_TRACE, "%s at +0x%zx", why, at);
}

/* ---- what an instruction is ---- */

static uint32_t word_at(const struct plan *l, size_t at)
{
        uint32_t w = 0;

        if (at + sizeof w <= l->c->bytes)
                memcpy(&w, l->c->at + at, sizeof w);
        return w;
}

/* COUNT bits of W from AT on, with their sign. */
static int64_t signed_bits(uint32_t w, unsigned at, unsigned count)
{
        return (int64_t)((uint64_t)w << (64 - at - count)) >> (64 - count);
}

static bool is_pad(uint32_t w)
{
        return (w & 0xffffff3fu) == 0xd503241fu; /* bti, and which */
}

static bool is_sign(uint32_t w)
{
        return w == 0xd503233fu || w == 0xd503237fu; /* paciasp, pacibsp */
}

static bool is_jump(uint32_t w)
{
        return (w & 0xfc000000u) == BRANCH;
}

static bool is_call(uint32_t w)
{
        return (w & 0xfc000000u) == 0x94000000u;
}

static bool is_call_through(uint32_t w)
{
        return (w & 0xfffffc1fu) == 0xd63f0000u; /* blr */
}

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

static bool ends_flow(uint32_t w)
{
        return is_jump(w) || (w & 0xfebf0000u) == 0xd61f0000u; /* br, ret, with signatures too */
}

/* Where a branch at AT leads, from the entry; false: it is none. */
static bool branch_target(uint32_t w, size_t at, int64_t *to)
{
        if (is_jump(w) || is_call(w))
                *to = (int64_t)at + signed_bits(w, 0, 26) * 4;
        else if (is_condition(w) || is_compare(w))
                *to = (int64_t)at + signed_bits(w, 5, 19) * 4;
        else if (is_test(w))
                *to = (int64_t)at + signed_bits(w, 5, 14) * 4;
        else
                return false;
        return true;
}

/* ---- which instructions are moved ---- */

static bool can_move(struct plan *l, uint32_t w, size_t at)
{
        if ((w & 0xffe0001fu) == 0xd4200000u)
                return refuse(l, "it has a breakpoint", at);
        if (!(w >> 16) ||
            ((w & 0xfe000000u) == 0xd6000000u && !ends_flow(w) && !is_call_through(w)))
                return refuse(l, "it has an instruction that cannot be moved", at);
        if ((is_call(w) || is_call_through(w)) && at + BYTES < l->p->length)
                return refuse(l, "a call returns into its first bytes", at + BYTES);
        return true;
}

static bool take_instructions(struct plan *l)
{
        for (l->end = l->from; l->end < l->p->length; l->end += BYTES) {
                uint32_t w = word_at(l, l->end);

                if (l->over || l->end + BYTES > l->c->bytes ||
                    (l->c->size && l->end + BYTES > l->c->size))
                        return err_set(l->e, ERR_EXIT_CANNOT_TRACE, "it is too short: %zu bytes",
                                       l->end);
                if (!can_move(l, w, l->end))
                        return false;
                l->p->steps[l->p->instructions++].at = (uint8_t)l->end;
                l->over = ends_flow(w);
        }
        return true;
}

/* Nothing else may lead to what is replaced, but a call of itself, which goes through the hook.
 * Without a size, up to where nothing leads on. */
static bool check_jumps(struct plan *l)
{
        size_t end = l->c->size && l->c->size < l->c->bytes ? l->c->size : l->c->bytes;
        int64_t farthest = 0, to;

        for (size_t at = 0; at + BYTES <= end; at += BYTES) {
                uint32_t w = word_at(l, at);

                if (branch_target(w, at, &to)) {
                        if (to >= 0 && to < l->p->length && !(is_call(w) && to == 0))
                                return refuse(l, "there is a jump into its first bytes", at);
                        if (!is_call(w) && to > farthest)
                                farthest = to;
                }
                if (!l->c->size && ends_flow(w) && farthest <= (int64_t)at)
                        break;
        }
        return true;
}

/* ---- writing them ---- */

static bool put(struct plan *l, uint32_t word)
{
        if (l->p->used + sizeof word > sizeof l->p->code)
                return refuse(l, "what must be moved has no room", l->end);
        memcpy(l->p->code + l->p->used, &word, sizeof word);
        l->p->used = (uint8_t)(l->p->used + sizeof word);
        return true;
}

static bool fits(uint64_t from, uint64_t to)
{
        return from - to < REACH || to - from < REACH;
}

static uint32_t branch(uint64_t from, uint64_t to)
{
        return BRANCH | ((uint32_t)((to - from) >> 2) & 0x03ffffffu);
}

/* ldr xN, VALUE */
static bool put_value(struct plan *l, uint32_t number, uint64_t value)
{
        if (l->literals == LITERALS)
                return refuse(l, "what must be moved has no room", l->end);
        l->values[l->literals] = value;
        l->users[l->literals++] = l->p->used;
        return put(l, 0x58000000u | number);
}

static bool put_jump(struct plan *l, uint64_t to)
{
        uint64_t here = l->p->trampoline + l->p->used;

        return fits(here, to) ? put(l, branch(here, to)) : put_value(l, 16, to) && put(l, TO_X16);
}

/* W with its target, in the COUNT bits from 5 on, two instructions behind it: there a jump stands
 * that is passed by where the condition does not hold. */
static bool put_condition(struct plan *l, uint32_t w, unsigned count, uint64_t to)
{
        uint32_t mask = ((1u << count) - 1) << 5;
        uint8_t around;

        if (!put(l, (w & ~mask) | 2u << 5))
                return false;
        around = l->p->used;
        if (!put(l, 0) || !put_jump(l, to))
                return false;
        w = branch(around, l->p->used);
        memcpy(l->p->code + around, &w, sizeof w);
        return true;
}

/* adr, adrp: what they give is a constant now. */
static bool put_address(struct plan *l, uint32_t w, uint64_t at)
{
        uint64_t near = (uint64_t)signed_bits(w, 5, 19) << 2 | (w >> 29 & 3);

        return put_value(l, w & 31, w >> 31 ? (at & ~0xfffull) + (near << 12) : at + near);
}

/* A load from a place near the instruction: the place becomes a constant.  Of vector registers by
 * way of x16. */
static bool put_literal(struct plan *l, uint32_t w, uint64_t at)
{
        static const uint32_t general[] = { 0xb9400000u, 0xf9400000u, 0xb9800000u };
        static const uint32_t vector[] = { 0xbd400000u, 0xfd400000u, 0x3dc00000u };
        uint64_t place = at + (uint64_t)signed_bits(w, 5, 19) * 4;
        uint32_t kind = w >> 30, number = w & 31;

        if (kind == 3)
                return put(l, 0xd503201fu); /* prfm: a nop */
        if (w >> 26 & 1)
                return put_value(l, 16, place) && put(l, vector[kind] | 16u << 5 | number);
        return put_value(l, number, place) && put(l, general[kind] | number << 5 | number);
}

/* With the return address that it would have left. */
static bool put_call(struct plan *l, uint32_t w, uint64_t at)
{
        uint32_t number = w >> 5 & 31;

        if (is_call(w))
                return put_value(l, 30, at + BYTES) &&
                       put_jump(l, at + (uint64_t)signed_bits(w, 0, 26) * 4);
        return put(l, 0xaa0003f0u | number << 16) && /* mov x16, xN */
               put_value(l, 30, at + BYTES) && put(l, TO_X16);
}

static bool put_instruction(struct plan *l, unsigned k)
{
        size_t at = l->p->steps[k].at;
        uint64_t place = l->p->entry + at;
        uint32_t w = word_at(l, at);
        int64_t to = 0;

        l->p->steps[k].moved = l->p->used;
        branch_target(w, at, &to);
        if (is_call(w) || is_call_through(w))
                return put_call(l, w, place);
        if (is_jump(w))
                return put_jump(l, l->p->entry + (uint64_t)to);
        if (is_condition(w) || is_compare(w))
                return put_condition(l, w, 19, l->p->entry + (uint64_t)to);
        if (is_test(w))
                return put_condition(l, w, 14, l->p->entry + (uint64_t)to);
        if (is_address(w))
                return put_address(l, w, place);
        return is_literal(w) ? put_literal(l, w, place) : put(l, w);
}

/* What the instructions load, behind them. */
static bool put_literals(struct plan *l)
{
        if (l->p->used % 8 && !put(l, 0))
                return false;
        for (uint32_t i = 0; i < l->literals; i++) {
                uint32_t w, away = (uint32_t)(l->p->used - l->users[i]) / 4;

                memcpy(&w, l->p->code + l->users[i], sizeof w);
                w |= away << 5;
                memcpy(l->p->code + l->users[i], &w, sizeof w);
                if (!put(l, (uint32_t)l->values[i]) || !put(l, (uint32_t)(l->values[i] >> 32)))
                        return false;
        }
        return true;
}

static bool put_entry(struct plan *l)
{
        struct patch *p = l->p;
        uint64_t from = p->entry + p->length - BYTES, to = p->hook;
        uint32_t w, pad = BTI_C;

        if (!fits(from, to)) {
                p->far = p->used;
                to = p->trampoline + p->far;
                if (!put_jump(l, p->hook) || !put_literals(l))
                        return false;
                if (!fits(from, to))
                        return refuse(l, "there is no room for code within 128 MiB", 0);
        } else if (!put_literals(l)) {
                return false;
        }
        memcpy(p->before, l->c->at, p->length);
        memcpy(p->after, p->before, p->length);
        if (p->landing)
                memcpy(p->after + p->jump, &pad, sizeof pad);
        w = branch(from, to);
        memcpy(p->after + p->length - BYTES, &w, sizeof w);
        return true;
}

bool patch_plan(struct patch *p, const struct patch_code *c, struct err *e)
{
        struct plan l = { .p = p, .c = c, .e = e };
        uint32_t first = word_at(&l, 0);

        *p = (struct patch){ .entry = p->entry, .hook = p->hook, .trampoline = p->trampoline };
        if (c->narrow)
                return refuse(&l, "it is of another processor", 0);
        if (p->entry % BYTES)
                return refuse(&l, "its code is not understood", 0);
        p->jump = is_pad(first) ? BYTES : 0;
        p->landing = is_sign(word_at(&l, p->jump)) && !p->jump ? BYTES : 0;
        p->length = (uint8_t)(p->jump + p->landing + BYTES);
        l.from = p->jump;
        if (!take_instructions(&l) || !check_jumps(&l))
                return false;
        for (unsigned k = 0; k < p->instructions; k++)
                if (!put_instruction(&l, k))
                        return false;
        return (l.over || put_jump(&l, p->entry + l.end)) && put_entry(&l);
}

#endif
