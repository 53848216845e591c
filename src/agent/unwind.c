/* SPDX-License-Identifier: MIT */
/*
 * unwind.c -- a full unwind with all registers, straight from the unwind tables.
 *
 * Room:   inside; any context.
 * Keeps:  no table, no kept stack, no packed rules: it shares only the reading of .eh_frame (cfi.c) and the fallback without
 *         tables with the fast way, so it can judge it.
 * Cost:   reads the unwind tables for every frame: for rare frames and tests only.
 */
#include "agent/unwind.h"

#include "agent/bytes.h"
#include "agent/object.h"
#include "agent/rule.h"
#include "agent/stack.h"

#include "agent/guest.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool unwind_is_agent(uint64_t pc)
{
        return pc >= (uint64_t)__ehdr_start && pc < (uint64_t)etext;
}

static bool register_value(const struct cfi_rule *r, const uint64_t *old, uint64_t cfa, uint64_t *value)
{
        uint64_t at;

        switch (r->how) {
        case CFI_SAME: return true;
        case CFI_AT_CFA: *value = *(const uint64_t *)(cfa + (uint64_t)r->offset); return true;
        case CFI_IS_CFA: *value = cfa + (uint64_t)r->offset; return true;
        case CFI_REGISTER:
                if (r->offset >= ARCH_REGS)
                        return false;
                *value = old[r->offset];
                return true;
        case CFI_EXPRESSION:
                if (!cfi_evaluate(r, old, true, cfa, &at))
                        return false;
                *value = *(const uint64_t *)at;
                return true;
        case CFI_VALUE: return cfi_evaluate(r, old, true, cfa, value);
        default: return true; /* undefined: nobody will ask */
        }
}

static bool row_cfa(const struct cfi_row *row, const uint64_t *registers, uint64_t *cfa)
{
        if (row->cfa.how == CFI_VALUE)
                return cfi_evaluate(&row->cfa, registers, false, 0, cfa);
        if (row->cfa.how != CFI_REGISTER || row->cfa_register >= ARCH_REGS)
                return false;
        *cfa = registers[row->cfa_register] + (uint64_t)row->cfa.offset;
        return true;
}

/* One step outwards by the row in t->work.  False: the stack ends (or *CUT). */
static bool step_by_row(struct thread *t, uint64_t *registers, bool *exact, bool *cut)
{
        const struct cfi_row *row = &t->work->row;
        uint64_t old[ARCH_REGS], cfa;

        memcpy(old, registers, sizeof old);
        if (row->registers[ARCH_REG_RETURN].how == CFI_UNDEFINED)
                return false;
        *cut = true;
        if (!row_cfa(row, old, &cfa))
                return false;
        registers[ARCH_REG_STACK] = cfa;
        for (uint32_t i = 0; i < ARCH_REGS; i++)
                if (!register_value(&row->registers[i], old, cfa, &registers[i]))
                        return false;
        *cut = false;
        *exact = row->signal_frame;
        return registers[ARCH_REG_RETURN] != 0;
}

static void step_by_signal(uint64_t *registers, bool *exact)
{
        static const uint8_t order[ARCH_REGS] = ARCH_SIG_ORDER;
        const uint64_t *gregs = (const uint64_t *)(registers[ARCH_REG_STACK] + ARCH_SIG_GREGS);

        for (uint32_t i = 0; i < ARCH_REGS; i++)
                registers[i] = gregs[order[i]];
        *exact = true;
}

static bool step_by_base(struct thread *t, uint64_t *registers, uint32_t object, bool *exact, bool *cut)
{
        struct arch_state s = { registers[ARCH_REG_RETURN], registers[ARCH_REG_STACK], registers[ARCH_REG_BASE] };
        uint64_t rule = RULE_VALID | (uint64_t)object << 48 | RULE_NO_CFI << 4 | RULE_CFA_SPECIAL;

        *exact = false;
        if (!stack_step(t, rule, &s, cut))
                return false;
        registers[ARCH_REG_RETURN] = s.pc;
        registers[ARCH_REG_STACK] = s.sp;
        registers[ARCH_REG_BASE] = s.base;
        return true;
}

/* Leave the frame in REGISTERS.  *OBJECT: whose code it was. */
static bool step(struct thread *t, uint64_t *registers, uint32_t *object, bool *exact, bool *cut)
{
        uint64_t pc = registers[ARCH_REG_RETURN], at = *exact ? pc : pc - 1;
        const struct object *o;

        *cut = false;
        *object = object_find(at);
        o = object_open(*object);
        if (o && pc >= o->code && pc + 16 <= o->end && arch_is_sigreturn(pc)) {
                step_by_signal(registers, exact);
                return true;
        }
        if (o && cfi_find(o, at, t->work))
                return step_by_row(t, registers, exact, cut);
        return step_by_base(t, registers, *object, exact, cut);
}

uint32_t unwind_full(struct thread *t, struct arch_state caller, bool *cut)
{
        uint64_t registers[ARCH_REGS] = { 0 };
        bool met = false, exact = false, going = true;
        uint32_t count = 0, object = 0;

        arch_registers(registers);
        while (going) {
                struct frame f = { .sp = registers[ARCH_REG_STACK], .base = registers[ARCH_REG_BASE] };

                f.pc = registers[ARCH_REG_RETURN] | (exact ? FRAME_EXACT : 0);
                met |= f.sp == caller.sp && f.pc == caller.pc;
                going = step(t, registers, &object, &exact, cut);
                if (!met && registers[ARCH_REG_STACK] > caller.sp)
                        return 0;
                if (!met)
                        continue;
                f.rule = RULE_VALID | (uint64_t)object << 48;
                if (count == t->fresh_room && !thread_grow_fresh(t))
                        return count;
                t->fresh[count++] = f;
        }
        return count;
}
