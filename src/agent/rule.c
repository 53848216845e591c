/* SPDX-License-Identifier: MIT */
/*
 * rule.c -- how to leave a frame, compiled from .eh_frame once per return address.
 *
 * Keeps:  a fuller table is replaced by a bigger one (by one as big when it is full of code that
 *         went), published by one store; the old one, emptied, is left to late readers.  One
 *         writer at a time by try-lock: who finds it taken works without writing.  Rules of code
 *         that went are compiled anew.
 * Cost:   a hit is one probe; a compile reads the unwind tables (cfi.c).
 */
#include "agent/rule.h"

#include "agent/arch/trampoline.h"
#include "agent/arena.h"
#include "agent/object.h"
#include "agent/reach.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define RULES_FIRST_BITS 12u
#define RULES_KEPT_BITS 16u
#define RULES_LAST_BITS 24u

/* LOAD is that of the object, 0 while the entry is being changed. */
struct rule_entry {
        uint64_t pc, rule;
        uint64_t load;
};

struct rules {
        uint32_t bits, used;
        struct rule_entry at[];
};

static struct rules *rules;
static uint32_t rules_lock;

static struct rules *rules_new(uint32_t bits)
{
        struct rules *r = arena_private(sizeof *r + (sizeof(struct rule_entry) << bits));

        if (r)
                r->bits = bits;
        return r;
}

bool rule_start(void)
{
        rules = rules_new(RULES_FIRST_BITS);
        return rules != NULL;
}

void rule_forked(void)
{
        rules_lock = 0;
}

/* The entry of PC, or the empty one where it belongs. */
static struct rule_entry *rules_place(struct rules *r, uint64_t pc)
{
        uint32_t mask = (1u << r->bits) - 1, i = rule_hash(pc, r->bits);

        while (r->at[i].pc && r->at[i].pc != pc)
                i = (i + 1) & mask;
        return &r->at[i];
}

/* Whether RULE, made for an object's load LOAD, is one of code that is there. */
static bool rule_holds(uint64_t rule, uint64_t load)
{
        const struct object *o = object_get(RULE_OBJECT(rule));

        return o && load && !__atomic_load_n(&o->gone, __ATOMIC_ACQUIRE) &&
               __atomic_load_n(&o->load, __ATOMIC_RELAXED) == load;
}

static uint32_t rules_alive(const struct rules *r)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < 1u << r->bits; i++)
                count += r->at[i].pc && rule_holds(r->at[i].rule, r->at[i].load);
        return count;
}

/* Small tables grow in any case: each one that is left behind costs a mapping. */
static void rules_renew(void)
{
        struct rules *old = rules, *new;
        bool grow = old->bits < RULES_KEPT_BITS || rules_alive(old) > 1u << (old->bits - 2);

        new = old->bits + grow <= RULES_LAST_BITS ? rules_new(old->bits + grow) : NULL;
        if (!new)
                return;
        for (uint32_t i = 0; i < 1u << old->bits; i++)
                if (old->at[i].pc && rule_holds(old->at[i].rule, old->at[i].load)) {
                        *rules_place(new, old->at[i].pc) = old->at[i];
                        new->used++;
                }
        __atomic_store_n(&rules, new, __ATOMIC_RELEASE);
        sys_empty(old->at, sizeof(struct rule_entry) << old->bits);
}

static void rules_keep(uint64_t pc, uint64_t rule, uint64_t load)
{
        struct rule_entry *e;

        if (__atomic_exchange_n(&rules_lock, 1, __ATOMIC_ACQUIRE))
                return;
        if (rules->used >= 1u << (rules->bits - 1))
                rules_renew();
        if (rules->used < (1u << rules->bits) - (1u << (rules->bits - 2))) {
                e = rules_place(rules, pc);
                rules->used += e->pc == 0;
                __atomic_store_n(&e->load, 0, __ATOMIC_RELEASE);
                __atomic_store_n(&e->rule, rule, __ATOMIC_RELEASE);
                __atomic_store_n(&e->load, load, __ATOMIC_RELEASE);
                __atomic_store_n(&e->pc, pc, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&rules_lock, 0, __ATOMIC_RELEASE);
}

static uint64_t rule_special(unsigned what, uint32_t object)
{
        return RULE_VALID | (uint64_t)object << 48 | what << 4 | RULE_CFA_SPECIAL;
}

/* OFFSET as BITS of a rule, from bit AT on, into *RULE.  False: they are not enough. */
static bool rule_put(uint64_t *rule, int64_t offset, unsigned at, unsigned bits)
{
        *rule |= ((uint64_t)offset & ((1ull << bits) - 1)) << at;
        return offset >= -(1ll << (bits - 1)) && offset < 1ll << (bits - 1);
}

/* The three offsets of a frame: of its CFA, and from there of return address and frame pointer. */
static bool rule_put_offsets(uint64_t *rule, int64_t cfa, int64_t back, int64_t base)
{
        if (ARCH_RETURN_AT)
                return back == ARCH_RETURN_AT && rule_put(rule, cfa, 8, 24) &&
                       rule_put(rule, base, 32, 16);
        return back < 0 && !((cfa | back | base) & 7) && rule_put(rule, cfa / 8, 8, 14) &&
               rule_put(rule, back / 8, 22, 13) && rule_put(rule, base / 8, 35, 13);
}

/* breg7 OFFSET and operations that know only the stack pointer and the address
 * (procedure linkage tables). */
static bool rule_stack_expression(const struct cfi_rule *cfa, uint64_t pc, int64_t *offset)
{
        uint64_t registers[ARCH_REGS] = { [ARCH_REG_RETURN] = pc };
        struct cfi_frame frame = { .registers = registers };
        uint64_t low, high;

        if (!cfa->expression_bytes || cfa->expression[0] != 0x70 + ARCH_REG_STACK ||
            !cfi_evaluate(cfa, &frame, &low))
                return false;
        registers[ARCH_REG_STACK] = 0x10000;
        if (!cfi_evaluate(cfa, &frame, &high) || high - low != 0x10000)
                return false;
        *offset = (int64_t)low;
        return true;
}

/* breg6 OFFSET [deref]: a short signed number only, which is what compilers write for realigned
 * frames. */
static bool rule_base_expression(const struct cfi_rule *e, bool with_deref, int64_t *offset)
{
        unsigned bytes = with_deref ? 3u : 2u;

        if (e->expression_bytes < bytes || e->expression[0] != 0x70 + ARCH_REG_BASE)
                return false;
        if (e->expression_bytes == bytes && !(e->expression[1] & 0x80)) {
                *offset = (int64_t)((uint64_t)e->expression[1] << 57) >> 57;
                return !with_deref || e->expression[2] == 0x06;
        }
        if (e->expression_bytes == bytes + 1 && (e->expression[1] & 0x80) &&
            !(e->expression[2] & 0x80)) {
                *offset = (int64_t)((uint64_t)(e->expression[1] & 0x7f) << 50 |
                                    (uint64_t)e->expression[2] << 57) >>
                          50;
                return !with_deref || e->expression[3] == 0x06;
        }
        return false;
}

static bool rule_cfa(const struct cfi_row *row, uint64_t pc, unsigned *how, int64_t *offset)
{
        if (row->cfa.how == CFI_REGISTER) {
                *offset = row->cfa.offset;
                *how = row->cfa_register == ARCH_REG_STACK ? RULE_CFA_STACK : RULE_CFA_BASE;
                return row->cfa_register == ARCH_REG_STACK || row->cfa_register == ARCH_REG_BASE;
        }
        if (row->cfa.how != CFI_VALUE)
                return false;
        *how = RULE_CFA_STACK;
        if (rule_stack_expression(&row->cfa, pc, offset))
                return true;
        *how = RULE_CFA_AT_BASE;
        return rule_base_expression(&row->cfa, true, offset);
}

static bool rule_base(const struct cfi_rule *r, unsigned *how, int64_t *offset)
{
        *offset = r->offset;
        *how = RULE_BASE_SAME;
        if (r->how == CFI_SAME || r->how == CFI_UNDEFINED)
                return true;
        *how = *offset < ARCH_RETURN_AT && *offset >= -(int64_t)REACH_BELOW ? RULE_BASE_AT_CFA
                                                                            : RULE_BASE_FAR;
        if (r->how == CFI_AT_CFA)
                return true;
        *how = RULE_BASE_AT_BASE;
        return r->how == CFI_EXPRESSION && rule_base_expression(r, false, offset);
}

static uint64_t rule_from_row(const struct cfi_row *row, uint64_t pc, uint32_t object)
{
        const struct cfi_rule *back = &row->registers[ARCH_REG_RETURN];
        uint64_t rule = RULE_VALID | (uint64_t)object << 48;
        int64_t cfa_offset, base_offset;
        unsigned cfa, base;

        if (back->how == CFI_UNDEFINED)
                return rule_special(RULE_END, object);
        if (!ARCH_FAST_CAPTURE || row->signal_frame || back->how != CFI_AT_CFA ||
            !rule_cfa(row, pc, &cfa, &cfa_offset) ||
            !rule_base(&row->registers[ARCH_REG_BASE], &base, &base_offset) ||
            !rule_put_offsets(&rule, cfa_offset, back->offset, base_offset))
                return rule_special(RULE_GENERIC, object);
        return rule | base << 2 | cfa;
}

/* The row in W is that of code which called another function, but says that its return address is
 * in the register still: it does not tell how to leave. */
static bool rule_is_lost(const struct cfi_work *w, uint64_t pc)
{
        return ARCH_FAST_CAPTURE && !ARCH_RETURN_AT && !(pc & FRAME_EXACT) &&
               w->row.registers[ARCH_REG_RETURN].how == CFI_SAME;
}

uint32_t rule_object(uint64_t pc, bool exact)
{
        uint32_t number = object_find(exact ? pc : pc - 1);
        const struct object *o;

        if (likely(number != OBJECT_NONE) || exact)
                return number;
        number = object_find(pc);
        o = object_open(number);
        return o && object_shows(o, pc, pc + 16) && arch_is_sigreturn(pc) ? number : OBJECT_NONE;
}

bool rule_is_trampoline(const struct object *o, uint64_t pc)
{
        return o->anonymous &&
               object_shows(o, pc - TRAMPOLINE_BEFORE, pc + TRAMPOLINE_BEHIND) &&
               trampoline_is(pc);
}

static uint64_t rule_without_cfi(const struct object *o, uint64_t pc, uint32_t number)
{
        if ((pc & FRAME_EXACT) || !rule_is_trampoline(o, pc))
                return rule_special(RULE_NO_CFI, number);
        return RULE_VALID | (uint64_t)number << 48 | TRAMPOLINE_FRAME << 8 | RULE_BASE_SAME << 2 |
               RULE_CFA_STACK;
}

static uint64_t rule_compile(struct thread *t, uint64_t pc, uint64_t *load)
{
        uint64_t code = pc & ~FRAME_EXACT, at = pc & FRAME_EXACT ? code : code - 1;
        uint32_t number = rule_object(code, pc & FRAME_EXACT);
        const struct object *o = object_open(number);

        if (!o)
                return rule_special(RULE_NO_CFI, OBJECT_NONE);
        *load = o->load;
        if (object_shows(o, code, code + 16) && arch_is_sigreturn(code))
                return rule_special(RULE_SIGNAL, number);
        if (ARCH_EHABI && o->exidx)
                return rule_special(RULE_GENERIC, number);
        if (cfi_find(o, at, t->work) && !rule_is_lost(t->work, pc))
                return rule_from_row(&t->work->row, at, number);
        /* Nobody called what returns to where a function begins (unwind.c). */
        if (ARCH_FAST_CAPTURE && !ARCH_RETURN_AT && !(pc & FRAME_EXACT) &&
            cfi_find(o, code, t->work))
                return rule_special(RULE_END, number);
        return rule_without_cfi(o, pc, number);
}

uint64_t rule_find(struct thread *t, uint64_t pc)
{
        struct rules *r = __atomic_load_n(&rules, __ATOMIC_ACQUIRE);
        struct rule_entry *e = rules_place(r, pc);
        uint64_t rule = 0, load = 0;

        if (__atomic_load_n(&e->pc, __ATOMIC_ACQUIRE) == pc) {
                load = __atomic_load_n(&e->load, __ATOMIC_ACQUIRE);
                rule = __atomic_load_n(&e->rule, __ATOMIC_ACQUIRE);
                if (load == __atomic_load_n(&e->load, __ATOMIC_RELAXED) && rule_holds(rule, load))
                        return rule;
                load = 0;
        }
        rule = rule_compile(t, pc, &load);
        if (load)
                rules_keep(pc, rule, load);
        return rule;
}
