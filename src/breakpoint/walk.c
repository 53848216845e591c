/* SPDX-License-Identifier: MIT */
/*
 * walk.c -- the call stack of a stopped thread, from outside, by its unwind tables.
 *
 * Keeps:  what the tables say about a return address is looked up once and kept as a small rule.
 *         Nothing of it is believed: a frame must lie above the one inside of it, with exceptions
 *         for the stacks of signal handlers and coroutines, as in the agent (agent/stack.h).
 * Cost:   the stack is read in one piece; a known frame costs some 10 ns.
 */
#include "breakpoint/parts.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/heap.h"
#include "book/tree.h"
#include "breakpoint/arch/arch.h"
#include "wire/hello.h"

#define PIECE (8u << 10)
#define FIRST_LEAST 1024u
#define PIECE_MOST (1u << 20)
#define ODD_MOST 64u
#define FRAME_MOST (8ull << 20)
#define STACK_END_NEAR 256u
#define DEPTH_MOST (1u << 16)

static const uint8_t kept[] = ARCH_WALK_KEPT;
#define KEPT (sizeof kept)
_Static_assert(KEPT <= RULE_KEPT, "struct rule has room for them");

enum rule_how {
        RULE_CFA,    /* all as in struct rule */
        RULE_TABLE,  /* ask the tables each time */
        RULE_SIGNAL, /* a signal handler returns there */
        RULE_CHAIN,  /* there are no tables: the frame pointer, if that is plausible */
        RULE_END
};

/* ---- memory of the stack ---- */

static struct {
        const struct target *of;
        uint64_t at;
        size_t bytes, room;
        uint8_t *data;
} piece;

static void piece_fill(const struct target *t, uint64_t at, size_t bytes)
{
        struct iovec here, there = { (void *)(uintptr_t)at, bytes };
        ssize_t got;

        if (bytes > piece.room) {
                piece.data = heap_grow(piece.data, bytes, 1);
                piece.room = bytes;
        }
        here = (struct iovec){ piece.data, bytes };
        got = process_vm_readv(t->reader, &here, 1, &there, 1, 0);
        piece.of = t;
        piece.at = at;
        piece.bytes = got > 0 ? (size_t)got : 0;
}

static bool word(const struct target *t, uint64_t at, uint64_t *to)
{
        if (at - piece.at + sizeof *to > piece.bytes || at < piece.at) {
                size_t bytes = at < piece.at || at - piece.at > PIECE_MOST
                                       ? PIECE
                                       : (size_t)(at - piece.at) + 4 * PIECE;

                if (bytes <= PIECE)
                        return target_read(t, at, to, sizeof *to);
                piece_fill(t, piece.at, bytes);
                if (at - piece.at + sizeof *to > piece.bytes)
                        return target_read(t, at, to, sizeof *to);
        }
        memcpy(to, piece.data + (at - piece.at), sizeof *to);
        return true;
}

/* ---- expressions ---- */

/* Where a walk is: registers by DWARF's numbers, and the return address (or the exact pc). */
struct place {
        uint64_t r[ARCH_WALK_REGISTERS];
        uint64_t pc;
        uint64_t tp; /* the thread pointer */
        bool exact, cut;
        uint32_t odd;
};

#define EVALUATE_MOST 16u

static bool operate(uint64_t *stack, uint32_t *n, const Dwarf_Op *op)
{
        uint64_t a, b;

        if (*n < 2)
                return false;
        b = stack[--*n];
        a = stack[*n - 1];
        switch (op->atom) {
        case DW_OP_plus: a += b; break;
        case DW_OP_minus: a -= b; break;
        case DW_OP_and: a &= b; break;
        case DW_OP_or: a |= b; break;
        case DW_OP_mul: a *= b; break;
        case DW_OP_shl: a = b < 64 ? a << b : 0; break;
        case DW_OP_shr: a = b < 64 ? a >> b : 0; break;
        case DW_OP_ge: a = (int64_t)a >= (int64_t)b; break;
        case DW_OP_gt: a = (int64_t)a > (int64_t)b; break;
        case DW_OP_le: a = (int64_t)a <= (int64_t)b; break;
        case DW_OP_lt: a = (int64_t)a < (int64_t)b; break;
        case DW_OP_eq: a = a == b; break;
        case DW_OP_ne: a = a != b; break;
        default: return false;
        }
        stack[*n - 1] = a;
        return true;
}

static bool push_value(const struct place *at, const Dwarf_Op *op, uint64_t cfa, uint64_t *value)
{
        if (op->atom >= DW_OP_breg0 && op->atom < DW_OP_breg0 + ARCH_WALK_REGISTERS)
                *value = at->r[op->atom - DW_OP_breg0] + op->number;
        else if (op->atom == DW_OP_bregx && op->number < ARCH_WALK_REGISTERS)
                *value = at->r[op->number] + op->number2;
        else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
                *value = op->atom - DW_OP_lit0;
        else if (op->atom == DW_OP_call_frame_cfa)
                *value = cfa;
        else if (op->atom == DW_OP_const1u || op->atom == DW_OP_const1s ||
                 op->atom == DW_OP_const2u || op->atom == DW_OP_const2s ||
                 op->atom == DW_OP_const4u || op->atom == DW_OP_const4s ||
                 op->atom == DW_OP_const8u || op->atom == DW_OP_const8s ||
                 op->atom == DW_OP_constu || op->atom == DW_OP_consts || op->atom == DW_OP_addr)
                *value = op->number;
        else
                return false;
        return true;
}

/* A frame that expressions are asked about. */
struct asked {
        const struct target *target;
        struct place at;
        uint64_t cfa;
        bool is_value; /* the last answer is not the address of what is meant, but that itself */
};

static bool evaluate(struct asked *q, const Dwarf_Op *ops, size_t count, uint64_t *value)
{
        uint64_t stack[EVALUATE_MOST], v;
        uint32_t n = 0;

        q->is_value = false;
        for (size_t i = 0; i < count; i++) {
                if (ops[i].atom == DW_OP_stack_value) {
                        q->is_value = true;
                } else if (ops[i].atom == DW_OP_plus_uconst) {
                        if (!n)
                                return false;
                        stack[n - 1] += ops[i].number;
                } else if (ops[i].atom == DW_OP_deref) {
                        if (!n || !word(q->target, stack[n - 1], &stack[n - 1]))
                                return false;
                } else if (n < EVALUATE_MOST && push_value(&q->at, &ops[i], q->cfa, &v)) {
                        stack[n++] = v;
                } else if (!operate(stack, &n, &ops[i])) {
                        return false;
                }
        }
        *value = n ? stack[n - 1] : 0;
        return n != 0;
}

/* ---- rules ---- */

/* Register NUMBER is at CFA + *OFFSET: 1; is unchanged: 0; is somewhere else: -1; is gone: -2. */
static int saved_at(Dwarf_Frame *f, int number, int32_t *offset)
{
        Dwarf_Op memory[3], *ops;
        size_t count;

        if (dwarf_frame_register(f, number, memory, &ops, &count) != 0)
                return -1;
        if (count == 0)
                return ops ? -2 : 0;
        if (ops[0].atom != DW_OP_call_frame_cfa || count > 2 ||
            (count == 2 && ops[1].atom != DW_OP_plus_uconst))
                return -1;
        *offset = count == 2 ? (int32_t)ops[1].number : 0;
        return 1;
}

static bool make_simple(struct rule *r, Dwarf_Frame *f)
{
        Dwarf_Op *ops;
        size_t count;
        int back;

        if (dwarf_frame_cfa(f, &ops, &count) != 0 || count != 1)
                return false;
        if (ops[0].atom == DW_OP_bregx) {
                r->cfa_register = (uint8_t)ops[0].number;
                r->cfa_offset = (int32_t)ops[0].number2;
        } else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
                r->cfa_register = (uint8_t)(ops[0].atom - DW_OP_breg0);
                r->cfa_offset = (int32_t)ops[0].number;
        } else {
                return false;
        }
        back = saved_at(f, ARCH_WALK_RETURN, &r->return_offset);
        if (back == -2) {
                r->how = RULE_END;
                return true;
        }
        r->in_register = !back && !ARCH_RETURN_BYTES;
        if ((back != 1 && !r->in_register) || r->cfa_register >= ARCH_WALK_REGISTERS)
                return false;
        for (uint32_t i = 0; i < KEPT; i++) {
                int where = saved_at(f, kept[i], &r->offset[i]);

                if (where == -1)
                        return false;
                r->saved |= (uint16_t)((where == 1) << i);
        }
        return true;
}

static bool is_sigreturn(const struct target *t, uint64_t pc)
{
        uint8_t there[ARCH_SIGRETURN_BYTES];

        return target_read(t, pc, there, sizeof there) &&
               memcmp(there, ARCH_SIGRETURN, sizeof there) == 0;
}

static Dwarf_Frame *frame_of(const struct code *c, uint64_t pc)
{
        Dwarf_Frame *f = NULL;

        if (!c || !c->cfi || dwarf_cfi_addrframe((Dwarf_CFI *)c->cfi, pc - c->bias, &f) != 0)
                return NULL;
        return f;
}

/* PC: with the lowest bit of its key, whether it is exact. */
static const struct rule *rule_of(struct target *t, uint64_t pc, bool exact)
{
        uint64_t key = pc << 1 | exact;
        struct rule *r;
        const struct code *c;
        Dwarf_Frame *f;

        if (!t->rules)
                t->rules = heap_zero(1u << RULE_BITS, sizeof *t->rules);
        r = &t->rules[key * 0x9e3779b97f4a7c15ull >> (64 - RULE_BITS)];
        if (r->pc == key)
                return r;
        c = codes_find(t, exact ? pc : pc - 1);
        *r = (struct rule){ .pc = key, .code = c ? (uint32_t)(c - t->codes) + 1 : 0,
                            .how = RULE_CFA };
        f = frame_of(c, exact ? pc : pc - 1);
        if (is_sigreturn(t, pc))
                r->how = RULE_SIGNAL;
        else if (!f)
                r->how = RULE_CHAIN;
        else if (!make_simple(r, f))
                r->how = RULE_TABLE;
        free(f);
        return r;
}

void walk_forget(struct target *t)
{
        free(t->rules);
        t->rules = NULL;
}

/* ---- steps ---- */

static bool step_by_rule(const struct target *t, const struct rule *r, struct place *at)
{
        uint64_t cfa = at->r[r->cfa_register] + (uint64_t)(int64_t)r->cfa_offset;

        for (uint32_t i = 0; i < KEPT; i++)
                if ((r->saved >> i & 1) &&
                    !word(t, cfa + (uint64_t)(int64_t)r->offset[i], &at->r[kept[i]]))
                        return false;
        at->r[ARCH_WALK_STACK] = cfa;
        at->exact = false;
        if (!r->in_register && !word(t, cfa + (uint64_t)(int64_t)r->return_offset,
                                     &at->r[ARCH_WALK_RETURN]))
                return false;
        at->pc = at->r[ARCH_WALK_RETURN] = arch_code(at->r[ARCH_WALK_RETURN]);
        return true;
}

/* One register by what F says about it.  False: it cannot be told. */
static bool recover(struct asked *q, Dwarf_Frame *f, int number, uint64_t *value)
{
        Dwarf_Op memory[3], *ops;
        size_t count;
        uint64_t v;

        if (dwarf_frame_register(f, number, memory, &ops, &count) != 0)
                return false;
        if (count == 0)
                return number != ARCH_WALK_RETURN || !ops;
        if (!evaluate(q, ops, count, &v))
                return false;
        *value = v;
        return q->is_value || word(q->target, v, value);
}

static bool step_by_table(const struct target *t, const struct rule *r, struct place *at)
{
        const struct code *c = r->code ? &t->codes[r->code - 1] : NULL;
        uint64_t pc = at->pc;
        struct asked q = { .target = t, .at = *at };
        Dwarf_Frame *f = frame_of(c, at->exact ? pc : pc - 1);
        Dwarf_Op *ops;
        size_t count;
        bool is_signal = false, good;

        if (!f)
                return false;
        dwarf_frame_info(f, NULL, NULL, &is_signal);
        good = dwarf_frame_cfa(f, &ops, &count) == 0 && evaluate(&q, ops, count, &q.cfa);
        at->r[ARCH_WALK_STACK] = q.cfa;
        for (int i = 0; good && i < ARCH_WALK_REGISTERS; i++)
                if (i != ARCH_WALK_STACK)
                        good = recover(&q, f, i, &at->r[i]);
        free(f);
        at->pc = at->r[ARCH_WALK_RETURN] = arch_code(at->r[ARCH_WALK_RETURN]);
        at->exact = is_signal;
        return good;
}

/* The kernel saved all registers above the stack pointer. */
static bool step_by_signal(const struct target *t, struct place *at)
{
        static const uint8_t order[ARCH_WALK_REGISTERS] = ARCH_SIGNAL_ORDER;
        uint64_t saved = at->r[ARCH_WALK_STACK] + ARCH_SIGNAL_SAVED;

        for (uint32_t i = 0; i < ARCH_WALK_REGISTERS; i++)
                if (!word(t, saved + 8ull * order[i], &at->r[i]))
                        return false;
        if (!word(t, saved + 8ull * ARCH_SIGNAL_PC, &at->pc))
                return false;
        at->pc = points_origin(t, at->pc);
        at->exact = true;
        return true;
}

/* Whether there is a call in front of PC. */
static bool follows_call(const struct target *t, uint64_t pc)
{
        uint8_t code[8];

        return codes_find(t, pc - 1) && target_read(t, pc - sizeof code, code, sizeof code) &&
               arch_follows_call(code);
}

/* Whether the stack begins so near that only the C library's own start code can be there. */
static bool near_stack_end(const struct target *t, const struct place *at)
{
        uint64_t sp = at->r[ARCH_WALK_STACK];

        return at->tp - sp < STACK_END_NEAR || t->stack_start - sp < STACK_END_NEAR;
}

/* *CUT: whether the stack goes on, in case that this does not lead there. */
static bool step_by_chain(const struct target *t, struct place *at, bool *cut)
{
        uint64_t base = at->r[ARCH_WALK_BASE], sp = at->r[ARCH_WALK_STACK], next, back;

        *cut = !near_stack_end(t, at);
        if (!ARCH_FRAME_CHAIN || base % 8 || base < sp || base - sp > FRAME_MOST ||
            !word(t, base, &next) || !word(t, base + 8, &back))
                return false;
        *cut = *cut && back;
        if (!back || !follows_call(t, back))
                return false;
        at->r[ARCH_WALK_BASE] = next;
        at->r[ARCH_WALK_STACK] = base + 16;
        at->pc = back;
        at->exact = false;
        return true;
}

/* One frame outwards.  False: that was the last one, or (at->cut) there is no way to tell. */
static bool step(struct target *t, const struct rule *r, struct place *at)
{
        uint64_t sp = at->r[ARCH_WALK_STACK];
        bool good = false, cut = true;

        switch (r->how) {
        case RULE_END: return false;
        case RULE_CFA: good = step_by_rule(t, r, at); break;
        case RULE_TABLE: good = step_by_table(t, r, at); break;
        case RULE_SIGNAL: good = step_by_signal(t, at); break;
        default: good = step_by_chain(t, at, &cut); break;
        }
        at->odd += at->r[ARCH_WALK_STACK] <= sp;
        at->cut = good ? at->odd > ODD_MOST : cut;
        return good && !at->cut && at->pc != 0;
}

/* ---- a stack ---- */

static struct {
        uint64_t *at; /* frames, innermost first, as nodes have them */
        uint32_t count, room;
        bool cut;
} walked;

static void add_frame(const struct target *t, const struct rule *r, const struct place *at)
{
        const struct code *c = r->code ? &t->codes[r->code - 1] : NULL;
        uint64_t module = c ? c->module : LEDGER_NODE_NO_MODULE, pc = at->pc;

        if (walked.count == walked.room) {
                walked.room = walked.room ? walked.room * 2 : 256;
                walked.at = heap_grow(walked.at, walked.room, sizeof *walked.at);
        }
        if (c && c->module != LEDGER_NODE_NO_MODULE)
                pc -= c->bias;
        walked.at[walked.count++] = LEDGER_NODE_PC(pc) | module << 48 |
                                    (at->exact ? LEDGER_NODE_EXACT : 0);
}

static void begin(const struct task *t, struct place *at)
{
        *at = (struct place){ .pc = arch_pc(&t->registers),
                              .tp = arch_thread_pointer_in(&t->registers) };
        arch_walk_begin(at->r, &t->registers);
}

/* A page costs more than its bytes: one of them, if that is enough for some frames. */
static size_t to_page_end(uint64_t sp)
{
        size_t rest = 4096 - sp % 4096;

        return rest < FIRST_LEAST ? rest + 4096 : rest;
}

/* T's registers are those of the caller, its pc where the call returns to. */
static void walk(struct task *t)
{
        struct target *g = t->target;
        struct place at;

        begin(t, &at);
        walked.count = 0;
        walked.cut = tracer.wishes->flags & WIRE_F_NO_STACKS;
        if (walked.cut)
                return;
        piece_fill(g, at.r[ARCH_WALK_STACK], to_page_end(at.r[ARCH_WALK_STACK]));
        for (;;) {
                const struct rule *r = rule_of(g, at.pc, at.exact);

                add_frame(g, r, &at);
                if (walked.count >= DEPTH_MOST || !step(g, r, &at))
                        break;
        }
        walked.cut = at.cut || walked.count >= DEPTH_MOST;
}

bool walk_leads_to(struct task *t, uint64_t sp, uint64_t back)
{
        struct target *g = t->target;
        struct place at;

        begin(t, &at);
        at.pc = at.r[ARCH_WALK_RETURN]; /* nothing has been changed yet */
        piece_fill(g, at.r[ARCH_WALK_STACK], to_page_end(at.r[ARCH_WALK_STACK]));
        for (uint32_t i = 0; i < DEPTH_MOST && at.r[ARCH_WALK_STACK] <= sp; i++) {
                if (at.r[ARCH_WALK_STACK] == sp && at.pc == back)
                        return true;
                if (!step(g, rule_of(g, at.pc, at.exact), &at))
                        return at.cut;
        }
        return false;
}

static uint64_t hash_walked(void)
{
        uint64_t h = walked.cut ? 1 : 2;

        for (uint32_t i = 0; i < walked.count; i++) {
                h = (h ^ walked.at[i]) * 0x9e3779b97f4a7c15ull;
                h ^= h >> 29;
        }
        return h & ~0xffull; /* kinds are added to it */
}

static uint32_t node_walked(struct book *k)
{
        uint32_t node = walked.cut ? LEDGER_NODE_CUT : LEDGER_NODE_ROOT;

        for (uint32_t i = walked.count; i-- > 0;) {
                node = tree_find(k, node, walked.at[i]);
                if (!node)
                        return 0;
        }
        return node;
}

uint32_t walk_node(struct task *t)
{
        walk(t);
        return node_walked(&t->target->book);
}

uint32_t walk_site(struct task *t, uint32_t kind)
{
        struct book *k = &t->target->book;
        uint32_t site, node;
        uint64_t key;

        walk(t);
        k->head->truncated_captures += walked.cut && walked.count;
        key = tree_key(hash_walked(), kind);
        site = tree_stack_find(k, key);
        if (site)
                return site;
        node = node_walked(k);
        site = node ? tree_site(k, node, kind) : 0;
        if (site)
                tree_stack_add(k, key, site);
        return site;
}
