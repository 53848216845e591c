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

#include "attach/arch/moved_aarch64.h"
#include "attach/patch.h"

#define BYTES MOVED_BYTES
#define BTI_C 0xd503245fu

struct plan {
        struct patch *p;
        const struct patch_code *c;
        struct err *e;
        size_t from, end; /* of the instructions that are moved, in the function */
        bool over; /* after the last one that was moved nothing follows */
        struct moved moved;
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
        return MOVED_REACH;
}

static bool refuse(struct plan *l, const char *why, size_t at)
{
        return err_set(l->e, ERR_EXIT_CANNOT_TRACE, "%s at +0x%zx", why, at);
}

/* ---- which instructions are moved ---- */

static uint32_t word_at(const struct plan *l, size_t at)
{
        uint32_t w = 0;

        if (at + sizeof w <= l->c->bytes)
                memcpy(&w, l->c->at + at, sizeof w);
        return w;
}

static bool is_pad(uint32_t w)
{
        return (w & 0xffffff3fu) == 0xd503241fu; /* bti, and which */
}

static bool is_sign(uint32_t w)
{
        return w == 0xd503233fu || w == 0xd503237fu; /* paciasp, pacibsp */
}

static bool can_move(struct plan *l, uint32_t w, size_t at)
{
        if (moved_is_trap(w))
                return refuse(l, "it has a breakpoint", at);
        if (!moved_is_possible(w))
                return refuse(l, "it has an instruction that cannot be moved", at);
        if ((moved_is_call(w) || moved_is_call_through(w)) && at + BYTES < l->p->length)
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
                l->over = moved_ends_flow(w);
        }
        return true;
}

/* Nothing else may lead to what is replaced, but a call of itself, which goes through the hook.
 * Without a size, up to where nothing leads on. */
static bool check_jumps(struct plan *l)
{
        size_t end = l->c->size && l->c->size < l->c->bytes ? l->c->size : l->c->bytes;
        int64_t farthest = 0;
        uint64_t to;

        for (size_t at = 0; at + BYTES <= end; at += BYTES) {
                uint32_t w = word_at(l, at);

                if (moved_target(w, at, &to)) {
                        if (to < l->p->length && !(moved_is_call(w) && to == 0))
                                return refuse(l, "there is a jump into its first bytes", at);
                        if (!moved_is_call(w) && (int64_t)to > farthest)
                                farthest = (int64_t)to;
                }
                if (!l->c->size && moved_ends_flow(w) && farthest <= (int64_t)at)
                        break;
        }
        return true;
}

/* ---- writing them ---- */

static bool put_instructions(struct plan *l)
{
        struct patch *p = l->p;
        bool good = true;

        l->moved = (struct moved){ .place = p->trampoline, .code = p->code,
                                   .room = sizeof p->code };
        for (unsigned k = 0; good && k < p->instructions; k++) {
                size_t at = p->steps[k].at;

                p->steps[k].moved = (uint8_t)l->moved.used;
                good = moved_put(&l->moved, word_at(l, at), p->entry + at);
        }
        return (good && (l->over || moved_jump(&l->moved, p->entry + l->end))) ||
               refuse(l, "what must be moved has no room", l->end);
}

static bool put_entry(struct plan *l)
{
        struct patch *p = l->p;
        uint64_t from = p->entry + p->length - BYTES, to = p->hook;
        uint32_t w, pad = BTI_C;
        bool is_far = !moved_reaches(from, to);

        if (is_far) {
                p->far = (uint8_t)l->moved.used;
                to = p->trampoline + p->far;
        }
        if ((is_far && !moved_jump(&l->moved, p->hook)) || !moved_end(&l->moved))
                return refuse(l, "what must be moved has no room", l->end);
        p->used = (uint8_t)l->moved.used;
        if (is_far && !moved_reaches(from, to))
                return refuse(l, "there is no room for code within 128 MiB", 0);
        memcpy(p->before, l->c->at, p->length);
        memcpy(p->after, p->before, p->length);
        if (p->landing)
                memcpy(p->after + p->jump, &pad, sizeof pad);
        w = moved_branch(from, to);
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
        return take_instructions(&l) && check_jumps(&l) && put_instructions(&l) && put_entry(&l);
}

#endif
