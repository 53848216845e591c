/* SPDX-License-Identifier: MIT */
/*
 * unwind.c -- a full unwind with all registers, straight from the unwind tables.
 *
 * Room:   inside; any context.
 * Keeps:  no table, no kept stack, no packed rules: it shares only the reading of .eh_frame (cfi.c)
 *         and the fallback without tables with the fast way, so it can judge it.
 * Cost:   reads the unwind tables for every frame: for rare frames and tests only.
 */
#include "agent/unwind.h"

#include <link.h>

#include "agent/arch/trampoline.h"
#include "agent/bytes.h"
#include "agent/ehabi.h"
#include "agent/object.h"
#include "agent/reach.h"
#include "agent/rule.h"
#include "agent/stack.h"

#include "agent/guest.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool unwind_is_agent(uint64_t pc)
{
        return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)etext;
}

static bool register_value(struct thread *t, const struct cfi_rule *r,
                           const struct cfi_frame *frame, uint64_t *value)
{
        uint64_t cfa = *frame->first, at;

        switch (r->how) {
        case CFI_SAME: return true;
        case CFI_AT_CFA: return reach_word(t, cfa + (uint64_t)r->offset, value);
        case CFI_IS_CFA: *value = cfa + (uint64_t)r->offset; return true;
        case CFI_REGISTER:
                if ((uint64_t)r->offset >= ARCH_REGS)
                        return false;
                *value = frame->registers[r->offset];
                return true;
        case CFI_EXPRESSION: return cfi_evaluate(r, frame, &at) && reach_word(t, at, value);
        case CFI_VALUE: return cfi_evaluate(r, frame, value);
        default: return true; /* undefined: nobody will ask */
        }
}

static bool row_cfa(const struct cfi_row *row, const struct cfi_frame *frame, uint64_t *cfa)
{
        if (row->cfa.how == CFI_VALUE)
                return cfi_evaluate(&row->cfa, frame, cfa);
        if (row->cfa.how != CFI_REGISTER || row->cfa_register >= ARCH_REGS)
                return false;
        *cfa = frame->registers[row->cfa_register] + (uint64_t)row->cfa.offset;
        return true;
}

/* Where the unwind is. */
struct place {
        uint64_t registers[ARCH_REGS];
        uint64_t pc; /* where x86-64 counts it among the registers, these have it, too */
        uint32_t object, odd; /* whose code it is; how many odd steps led here */
        bool exact, cut;
};

/* One step outwards by the row in t->work.  False: the stack ends (or is cut). */
static bool step_by_row(struct thread *t, struct place *at)
{
        const struct cfi_row *row = &t->work->row;
        const struct cfi_rule *back = &row->registers[ARCH_REG_RETURN];
        uint64_t old[ARCH_REGS], cfa;
        struct cfi_frame frame = { .registers = old, .thread = t };

        if (back->how == CFI_UNDEFINED)
                return false;
        memcpy(old, at->registers, sizeof old);
        at->cut = true;
        if (!row_cfa(row, &frame, &cfa))
                return false;
        frame.first = &cfa;
        at->registers[ARCH_REG_STACK] = cfa - ARCH_CFA_ABOVE_STACK;
        for (uint32_t i = 0; i < ARCH_REGS; i++)
                if (!register_value(t, &row->registers[i], &frame, &at->registers[i]))
                        return false;
        at->cut = false;
        at->exact = row->signal_frame;
        at->odd += ARCH_RETURN_AT && (back->how != CFI_AT_CFA || back->offset != ARCH_RETURN_AT);
        at->pc = arch_code(at->registers[ARCH_REG_RETURN]);
        return at->pc != 0;
}

static bool step_by_signal(struct thread *t, struct place *at)
{
        static const uint8_t order[ARCH_REGS] = ARCH_SIG_ORDER;
        uint64_t saved = arch_sig_saved(at->pc, at->registers[ARCH_REG_STACK]);

        at->cut = true;
        for (uint32_t i = 0; i < ARCH_REGS; i++)
                if (!reach_word(t, saved + sizeof(arch_word) * order[i], &at->registers[i]))
                        return false;
        if (!reach_word(t, saved + sizeof(arch_word) * ARCH_SIG_PC, &at->pc))
                return false;
        at->cut = false;
        at->exact = true;
        return true;
}

static bool step_by_base(struct thread *t, struct place *at)
{
        struct arch_state s = { at->pc, at->registers[ARCH_REG_STACK],
                                at->registers[ARCH_REG_BASE] };
        uint64_t rule = RULE_VALID | (uint64_t)at->object << 48 | RULE_NO_CFI << 4 |
                        RULE_CFA_SPECIAL;

        /* A chain of stacks has no address yet of what did not call anybody. */
        at->cut = at->exact && ARCH_FRAME_CHAIN == ARCH_CHAIN_STACK;
        at->exact = false;
        if (at->cut || !stack_step(t, rule, &s, &at->cut))
                return false;
        at->pc = at->registers[ARCH_REG_RETURN] = s.pc;
        at->registers[ARCH_REG_STACK] = s.sp;
        at->registers[ARCH_REG_BASE] = s.base;
        return true;
}

static bool step_by_trampoline(struct thread *t, struct place *at)
{
        uint64_t outer = at->registers[ARCH_REG_STACK] + TRAMPOLINE_FRAME;

        at->cut = true;
        if (!reach_word(t, outer - sizeof(arch_word), &at->pc))
                return false;
        at->cut = false;
        at->registers[ARCH_REG_RETURN] = at->pc;
        at->registers[ARCH_REG_STACK] = outer;
        return at->pc != 0;
}

static bool read_word(void *context, uint64_t at, uint64_t *word)
{
        return reach_word(context, at, word);
}

/* By the tables of arm, which tell nothing of the first instructions of a function: where a signal
 * came among these, the step may fail.  What called another function has saved where it returns
 * to. */
static bool step_by_ehabi(struct thread *t, struct place *at, const struct ehabi_code *code)
{
        bool saved;

        at->cut = true;
        if (!ehabi_leave(*code, at->registers, &saved, read_word, t) || (!saved && !at->exact))
                return false;
        at->cut = false;
        at->exact = false;
        at->pc = arch_code(at->registers[ARCH_REGS - 1]);
        at->registers[ARCH_REGS - 1] = 0;
        return at->pc != 0;
}

#define END_BYTES 4096u /* between the first frame of a thread and what its thread pointer shows */
#define ENTRY_BYTES 64u /* of code, before it calls the C library */

/* Code says so by itself where nothing leads on, but also where it was made without tables: then
 * the stack is cut off. */
static bool is_outermost(const struct object *o, const struct place *at)
{
        const ElfW(Ehdr) *e = (const void *)(uintptr_t)o->start;
        uint64_t below = arch_thread_pointer() - at->registers[ARCH_REG_STACK];

        return below < END_BYTES ||
               (o->has_header && at->pc - arch_code(o->bias + e->e_entry) < ENTRY_BYTES);
}

/* Tables of arm.  NONE: there are none that help. */
static bool step_by_other(struct thread *t, struct place *at, const struct object *o, bool *none)
{
        uint64_t pc = at->pc;
        struct ehabi_code code;
        enum ehabi_answer answer = ehabi_find(o, at->exact ? pc : pc - 1, &code);

        *none = answer == EHABI_UNKNOWN;
        if (answer == EHABI_FOUND)
                return step_by_ehabi(t, at, &code);
        /* As below: a stack that was made so. */
        at->cut = answer == EHABI_END && !is_outermost(o, at) &&
                  !(!at->exact && ehabi_find(o, pc, &code) && code.start == pc);
        return false;
}

static bool step_by_any(struct thread *t, struct place *at)
{
        uint64_t pc = at->pc, code = at->exact ? pc : pc - 1;
        const struct object *o;
        bool none = true, more;

        at->cut = false;
        at->object = rule_object(pc, at->exact);
        o = object_open(at->object);
        if (!o)
                at->object = OBJECT_NONE;
        if (o && object_shows(o, pc, pc + 16) && arch_is_sigreturn(pc))
                return step_by_signal(t, at);
        /* What called another function has its own return address no longer in the register. */
        if (o && cfi_find(o, code, t->work) &&
            (at->exact || t->work->row.registers[ARCH_REG_RETURN].how != CFI_SAME))
                return step_by_row(t, at);
        if (ARCH_EHABI && o) {
                more = step_by_other(t, at, o, &none);
                if (!none)
                        return more;
        }
        /* Nobody called what returns to where a function begins: this is the end of a stack that
         * was made so (makecontext). */
        if (!ARCH_RETURN_AT && o && !at->exact && cfi_find(o, pc, t->work))
                return false;
        if (o && !at->exact && rule_is_trampoline(o, pc))
                return step_by_trampoline(t, at);
        return step_by_base(t, at);
}

/* Leave the frame at AT.  Stacks of their own (signal handlers, coroutines) may be left downwards,
 * but not without end: so would a table that lies. */
static bool step(struct thread *t, struct place *at)
{
        uint64_t sp = at->registers[ARCH_REG_STACK];

        reach_from(t, sp);
        if (!step_by_any(t, at))
                return false;
        at->odd += at->registers[ARCH_REG_STACK] <= sp;
        at->cut = at->odd > STACK_ODD;
        return !at->cut;
}

uint32_t unwind_full(struct thread *t, struct arch_state caller, bool *cut)
{
        struct place at = { .cut = false };
        bool met = false, going = true;
        uint32_t count = 0;

        at.pc = arch_registers(at.registers);
        while (going) {
                struct frame f = { .sp = at.registers[ARCH_REG_STACK],
                                   .base = at.registers[ARCH_REG_BASE] };

                f.pc = at.pc | (at.exact ? FRAME_EXACT : 0);
                met |= f.sp == caller.sp && f.pc == caller.pc;
                going = step(t, &at);
                *cut = at.cut || !met;
                if (!met && at.registers[ARCH_REG_STACK] > caller.sp)
                        return 0;
                if (!met)
                        continue;
                f.rule = RULE_VALID | (uint64_t)at.object << 48;
                if (count == t->fresh_room && !thread_grow_fresh(t)) {
                        *cut = true;
                        return count;
                }
                t->fresh[count++] = f;
        }
        return count;
}

bool unwind_leads_to(uint64_t sp, uint64_t outer)
{
        uint64_t thread = arch_thread_pointer() - sp, first = agent.stack_start - sp;

        return (outer - sp <= thread && thread < END_BYTES) ||
               (outer - sp <= first && first < END_BYTES);
}
