/* SPDX-License-Identifier: MIT */
/*
 * patch_x86_64.c -- functions of x86-64 and i386 patched at their entry.
 *
 * Code of i386 has no memory operand by its distance, a jump of five bytes reaches all of its
 * memory, and where the code is it learns by a call: a call that is moved leaves the return address
 * that it would have left.
 */
#if defined(__x86_64__) && defined(__LP64__)
#include <string.h>

#include "attach/arch/decode_x86_64.h"
#include "attach/patch.h"

#define JUMP_BYTES 5u /* e9 and 32 bits */

struct plan {
        struct patch *p;
        const struct patch_code *c;
        struct err *e;
        size_t end;  /* of the instructions that are moved, in the function */
        bool padded; /* the last of the five bytes are behind the function */
        bool over;   /* after the last instruction that was moved nothing follows */
        struct decoded at[PATCH_INSTRUCTIONS];
};

bool patch_is_possible(struct err *e)
{
        (void)e;
        return true;
}

/* Of i386 the agent's code is not compiled so. */
bool patch_keeps_registers(bool narrow)
{
        return !narrow;
}

uint64_t patch_reach(bool narrow)
{
        /* All there is; or 2 GiB, with something to spare. */
        return narrow ? 1ull << 32 : 2047ull << 20;
}

static bool refuse(struct plan *l, const char *why, size_t at)
{
        return err_set(l->e, ERR_EXIT_CANNOT_TRACE, "%s at +0x%zx", why, at);
}

static bool decode_at(const struct plan *l, size_t at, struct decoded *out)
{
        return at < l->c->bytes && decode(l->c->at + at, l->c->bytes - at, l->c->narrow, out);
}

/* ---- what an instruction is ---- */

/* By a register or memory: ff, with what it does in reg. */
static bool is_by_value(const struct decoded *i, unsigned reg)
{
        return decoded_is(i, 0, 0xff) && decoded_reg(i) == reg;
}

static bool is_far(const struct decoded *i)
{
        return decoded_is(i, 0, 0x9a) || decoded_is(i, 0, 0xea) || is_by_value(i, 3) ||
               is_by_value(i, 5);
}

static bool is_call(const struct decoded *i)
{
        return decoded_is(i, 0, 0xe8) || decoded_is(i, 0, 0x9a) || is_by_value(i, 2) ||
               is_by_value(i, 3);
}

static bool is_jump(const struct decoded *i)
{
        return decoded_is(i, 0, 0xe9) || decoded_is(i, 0, 0xeb) || decoded_is(i, 0, 0xea) ||
               is_by_value(i, 4) || is_by_value(i, 5);
}

static bool is_return(const struct decoded *i)
{
        return decoded_is(i, 0, 0xc3) || decoded_is(i, 0, 0xc2) || decoded_is(i, 0, 0xcb) ||
               decoded_is(i, 0, 0xca) || decoded_is(i, 0, 0xcf);
}

/* ud2, hlt. */
static bool ends_flow(const struct decoded *i)
{
        return is_jump(i) || is_return(i) || decoded_is(i, 1, 0x0b) || decoded_is(i, 0, 0xf4);
}

static bool is_int3(const struct decoded *i)
{
        return decoded_is(i, 0, 0xcc);
}

static bool is_nop(const struct decoded *i)
{
        return (decoded_is(i, 0, 0x90) && !i->repeat && !(i->rex & 1)) || decoded_is(i, 1, 0x1f);
}

/* endbr64, endbr32. */
static bool is_endbr(const struct decoded *i)
{
        return decoded_is(i, 1, 0x1e) && i->repeat == 0xf3 &&
               (i->modrm == 0xfa || i->modrm == 0xfb);
}

/* xbegin. */
static bool is_transaction(const struct decoded *i)
{
        return i->branch && decoded_is(i, 0, 0xc7);
}

/* jcxz and its like, and loops: their distances have one byte only. */
static bool counts(const struct decoded *i)
{
        return !i->vector && i->map == 0 && i->opcode >= 0xe0 && i->opcode <= 0xe3;
}

/* Where a near branch at AT leads, from the entry. */
static int64_t target_of(const struct decoded *i, size_t at)
{
        return (int64_t)at + i->length + i->distance;
}

/* ---- which instructions are moved ---- */

/* From AT to the end of the five bytes there must be nothing but what fills gaps. */
static bool take_padding(struct plan *l, size_t at, size_t need)
{
        struct decoded i;
        size_t size = at;

        while (at < need) {
                if (!decode_at(l, at, &i))
                        break;
                /* An int3 begins no function; a nop might, unless the next one is known. */
                if (!is_int3(&i) && (!is_nop(&i) || l->c->room < at + i.length))
                        break;
                at += i.length;
        }
        if (at < need)
                return err_set(l->e, ERR_EXIT_CANNOT_TRACE,
                               "it is too short: %zu bytes, where a jump takes %zu", size, need);
        l->padded = true;
        return true;
}

/* What has a distance, and is not what it seems: with a prefix for other addresses, or one that
 * drops the upper half of the program counter. */
static bool is_odd(const struct plan *l, const struct decoded *i)
{
        return (i->branch || i->near_data) &&
               (i->short_addresses || (l->c->narrow && i->short_operands));
}

static bool can_move(struct plan *l, const struct decoded *i, size_t at)
{
        unsigned rm = decoded_rm(i);

        if (is_int3(i))
                return refuse(l, "it has a breakpoint", at);
        if (is_transaction(i) || is_far(i) || is_odd(l, i))
                return refuse(l, "it has an instruction that cannot be moved", at);
        if (!is_call(i))
                return true;
        /* It returns to where it was made from: this must not be inside of the jump. */
        if (at + i->length < l->p->jump + JUMP_BYTES)
                return refuse(l, "a call returns into its first bytes", at + i->length);
        if (!i->branch && rm == 4 && (decoded_mod(i) != 3 || !(i->rex & 1)))
                return refuse(l, "it has a call through the stack", at);
        return true;
}

static bool take_instructions(struct plan *l)
{
        size_t need = l->p->jump + JUMP_BYTES, size = l->c->size;

        for (l->end = l->p->jump; l->end < need;) {
                struct decoded *i = &l->at[l->p->instructions];

                if (size ? l->end >= size : l->over)
                        return take_padding(l, l->end, need);
                if (l->p->instructions == PATCH_INSTRUCTIONS || !decode_at(l, l->end, i) ||
                    (size && l->end + i->length > size))
                        return refuse(l, "its code is not understood", l->end);
                if (!can_move(l, i, l->end))
                        return false;
                l->p->steps[l->p->instructions++].at = (uint8_t)l->end;
                l->end += i->length;
                l->over = ends_flow(i);
        }
        return true;
}

/* ---- nothing else may lead into the five bytes ---- */

static bool check_branch(struct plan *l, const struct decoded *i, size_t at)
{
        int64_t to = target_of(i, at);

        if (to < 0 || to >= l->p->jump + (int64_t)JUMP_BYTES)
                return true;
        if (is_call(i) && (to == 0 || to == l->p->jump))
                return true; /* it calls itself, and through the hook now */
        if (at >= l->p->jump && at < l->end) {
                for (unsigned k = 0; k < l->p->instructions; k++)
                        if (to == l->p->steps[k].at || to == 0)
                                return true; /* moved together with its target */
        }
        return refuse(l, "there is a jump into its first bytes", at);
}

/* Without a size, up to where nothing leads on. */
static bool check_jumps(struct plan *l)
{
        size_t end = l->c->size && l->c->size < l->c->bytes ? l->c->size : l->c->bytes;
        int64_t farthest = 0;

        for (size_t at = 0; at < end;) {
                struct decoded i;

                if (!decode_at(l, at, &i))
                        return true; /* data, or the end of what can be read */
                if (i.branch) {
                        if (!check_branch(l, &i, at))
                                return false;
                        if (!is_call(&i) && target_of(&i, at) > farthest)
                                farthest = target_of(&i, at);
                }
                at += i.length;
                if (!l->c->size && ends_flow(&i) && farthest < (int64_t)at)
                        return true;
        }
        return true;
}

/* ---- writing them ---- */

static bool fits(const struct plan *l, int64_t distance)
{
        return l->c->narrow || distance == (int32_t)distance;
}

static bool put(struct plan *l, const void *bytes, size_t count)
{
        struct patch *p = l->p;

        if (p->used + count > sizeof p->code)
                return refuse(l, "what must be moved has no room", l->end);
        memcpy(p->code + p->used, bytes, count);
        p->used = (uint8_t)(p->used + count);
        return true;
}

static bool put_distance(struct plan *l, const char *opcode, size_t count, uint64_t to)
{
        int64_t away = (int64_t)(to - (l->p->trampoline + l->p->used + count + 4));
        int32_t near = (int32_t)away;

        return fits(l, away) && put(l, opcode, count) && put(l, &near, sizeof near);
}

static bool put_jump(struct plan *l, uint64_t to)
{
        int64_t away = (int64_t)(to - (l->p->trampoline + l->p->used + JUMP_BYTES));

        if (fits(l, away))
                return put_distance(l, "\xe9", 1, to);
        return put(l, "\xff\x25\0\0\0\0", 6) && put(l, &to, sizeof to);
}

/* The return address of a call that is moved: the one that it would have left. */
static bool put_return(struct plan *l, uint64_t address)
{
        uint32_t low = (uint32_t)address, high = (uint32_t)(address >> 32);

        if (l->c->narrow)
                return put(l, "\x68", 1) && put(l, &low, 4);
        return put(l, "\x68", 1) && put(l, &low, 4) &&     /* push low, with its sign */
               put(l, "\xc7\x44\x24\x04", 4) && put(l, &high, 4); /* mov high to 4(%rsp) */
}

/* The instruction as it is, its memory operand where it was. */
static bool put_same(struct plan *l, const struct decoded *i, size_t at)
{
        uint8_t bytes[DECODE_MOST];
        int64_t moved;
        int32_t near;

        memcpy(bytes, l->c->at + at, i->length);
        if (is_call(i)) /* after put_return(): a jump */
                bytes[i->modrm_at] ^= 0x30; /* from /2 to /4 */
        if (i->near_data) {
                moved = i->distance +
                        (int64_t)(l->p->entry + at - (l->p->trampoline + l->p->used));
                if (!fits(l, moved))
                        return refuse(l, "data is out of reach of where it would be moved", at);
                near = (int32_t)moved;
                memcpy(bytes + i->distance_at, &near, sizeof near);
        }
        return put(l, bytes, i->length);
}

/* A jump on condition, to the next but one instruction, which is a jump to anywhere. */
static bool put_condition(struct plan *l, const struct decoded *i, size_t at, uint64_t to)
{
        const uint8_t *opcode = l->c->at + at;
        int64_t away = (int64_t)(to - (l->p->trampoline + l->p->used + 6));
        uint8_t condition = (uint8_t)(i->opcode & 15), around[4] = { 0x70, 2, 0xeb, JUMP_BYTES };

        if (!counts(i) && fits(l, away)) {
                char jcc[2] = { 0x0f, (char)(0x80 | condition) };

                return put_distance(l, jcc, 2, to);
        }
        if (counts(i) && !put(l, opcode, (size_t)i->length - 2)) /* its prefixes */
                return false;
        around[0] = counts(i) ? i->opcode : (uint8_t)(0x70 | condition);
        away = (int64_t)(to - (l->p->trampoline + l->p->used + sizeof around + JUMP_BYTES));
        around[3] = fits(l, away) ? JUMP_BYTES : 14;
        return put(l, around, sizeof around) && put_jump(l, to);
}

static uint64_t moved_target(const struct plan *l, int64_t to)
{
        for (unsigned k = 0; k < l->p->instructions; k++)
                if (to == l->p->steps[k].at || (to == 0 && k == 0))
                        return l->p->trampoline + l->p->steps[k].moved;
        return l->p->entry + (uint64_t)to;
}

static bool put_instruction(struct plan *l, unsigned k)
{
        const struct decoded *i = &l->at[k];
        size_t at = l->p->steps[k].at;
        uint64_t back = l->p->entry + at + i->length;

        l->p->steps[k].moved = l->p->used;
        if (is_call(i) && !put_return(l, back))
                return false;
        if (!i->branch)
                return put_same(l, i, at);
        if (is_call(i))
                return put_jump(l, l->p->entry + (uint64_t)target_of(i, at));
        if (is_jump(i))
                return put_jump(l, moved_target(l, target_of(i, at)));
        return put_condition(l, i, at, moved_target(l, target_of(i, at)));
}

/* Jumps forward among what is moved need to know where that goes: the second time it is known. */
static bool put_all(struct plan *l)
{
        for (int round = 0; round < 2; round++) {
                l->p->used = 0;
                for (unsigned k = 0; k < l->p->instructions; k++)
                        if (!put_instruction(l, k))
                                return false;
        }
        return l->padded || put_jump(l, l->p->entry + l->end);
}

static bool put_entry(struct plan *l)
{
        struct patch *p = l->p;
        int64_t away = (int64_t)(p->hook - (p->entry + p->jump + JUMP_BYTES));
        int32_t near;

        if (!fits(l, away)) {
                p->far = p->used;
                if (!put(l, "\xff\x25\0\0\0\0", 6) || !put(l, &p->hook, sizeof p->hook))
                        return false;
                away = (int64_t)(p->trampoline + p->far - (p->entry + p->jump + JUMP_BYTES));
                if (!fits(l, away))
                        return refuse(l, "there is no room for code within 2 GiB", 0);
        }
        near = (int32_t)away;
        p->length = (uint8_t)(p->jump + JUMP_BYTES);
        memcpy(p->before, l->c->at, p->length);
        memcpy(p->after, p->before, p->jump);
        p->after[p->jump] = 0xe9;
        memcpy(p->after + p->jump + 1, &near, sizeof near);
        return true;
}

bool patch_plan(struct patch *p, const struct patch_code *c, struct err *e)
{
        struct plan l = { .p = p, .c = c, .e = e };
        struct decoded first;

        *p = (struct patch){ .entry = p->entry, .hook = p->hook, .trampoline = p->trampoline };
        if (!decode_at(&l, 0, &first))
                return refuse(&l, "its code is not understood", 0);
        /* What marks it as a target of calls stays. */
        if (is_endbr(&first))
                p->jump = first.length;
        return take_instructions(&l) && check_jumps(&l) && put_all(&l) && put_entry(&l);
}

#endif
