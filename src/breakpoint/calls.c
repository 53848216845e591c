/* SPDX-License-Identifier: MIT */
/*
 * calls.c -- a function that allocates or releases was entered, or has returned.
 *
 * Keeps:  one event per outermost call, as in the agent: what operator new or calloc call inside is
 *         no event of its own.  A call that never returns (an exception, longjmp) is known by the
 *         place of its return address, where another one stands then,
 *         or by unwinding the stack.
 */
#include "breakpoint/parts.h"

#include "base/page.h"
#include "book/error.h"
#include "breakpoint/arch/arch.h"
#include "breakpoint/entries.h"
#include "breakpoint/maps.h"

static uint64_t argument(const struct task *t, uint32_t number)
{
        return arch_parameter(&t->registers, number);
}

bool call_back(const struct task *t, uint64_t *back)
{
        *back = arch_link(&t->registers);
        return !ARCH_RETURN_BYTES ||
               target_read(t->target, arch_stack(&t->registers), back, sizeof *back);
}

/* Whether the call that T was in last is still on its stack. */
static bool is_under_way(struct task *t)
{
        uint64_t back = 0;

        if (!ARCH_RETURN_BYTES)
                return walk_leads_to(t, t->call.sp, t->call.back);
        return target_read(t->target, t->call.sp, &back, sizeof back) && back == t->call.back;
}

/* Whether the call that T has not returned from is still under way, and the one it enters now, at
 * ENTRY, inside of it. */
static bool is_inside(struct task *t, uint16_t entry)
{
        struct call *c = &t->call;
        uint64_t sp = arch_stack(&t->registers);

        if (!c->active)
                return false;
        if (sp <= c->sp && (sp < c->sp || !(c->seen >> entry & 1)) && is_under_way(t)) {
                if (sp == c->sp)
                        c->seen |= 1ull << entry;
                return true;
        }
        if (entries[c->entry].does == DOES_REALLOC && c->taken)
                account_put_back(t);
        t->target->dropped++;
        c->active = false;
        return false;
}

/* operator delete calls free: one release by several functions, each once.  Nobody else gets the
 * address before the last of them has returned (got()). */
static bool is_same_release(struct task *t, uint16_t entry, uint64_t address)
{
        if (address == t->released && arch_stack(&t->registers) <= t->released_sp &&
            !(t->released_seen >> entry & 1)) {
                t->released_seen |= 1ull << entry;
                return true;
        }
        t->released = address;
        t->released_sp = arch_stack(&t->registers);
        t->released_seen = 1ull << entry;
        return false;
}

static void release(struct task *t, uint16_t entry)
{
        const struct entry *e = &entries[entry];
        uint64_t address = argument(t, 0);
        struct book_release r = { .family = book_family(e->kind),
                                  .sized = e->size != ENTRY_NO, .aligned = e->align != ENTRY_NO,
                                  .size = argument(t, e->size), .align = argument(t, e->align) };

        if (address && !is_same_release(t, entry, address) && account_begin(t))
                account_free(t, address, &r);
}

/* How many bytes are asked for.  False: more than there are. */
static bool asked(const struct call *c, uint64_t *bytes)
{
        const struct entry *e = &entries[c->entry];
        uint64_t count = e->count == ENTRY_NO ? 1 : c->arguments[e->count];

        return !__builtin_mul_overflow(c->arguments[e->size], count, bytes);
}

/* In glibc aligned_alloc and memalign are one function: which of them is meant where P is. */
static uint16_t name_of(const struct task *t, struct point *p)
{
        int called = p->what != POINT_RETURN || p->entry ? -1 : codes_called(t->target, p->at);

        if (p->what == POINT_RETURN && !p->entry)
                p->entry = 1 + (called == ENTRY_MEMALIGN ? ENTRY_MEMALIGN : ENTRY_ALIGNED_ALLOC);
        return p->entry == 1 + ENTRY_MEMALIGN ? ENTRY_MEMALIGN : ENTRY_ALIGNED_ALLOC;
}

/* Remember the call, and stop where it returns to. */
static void begin(struct task *t, uint16_t entry)
{
        struct call *c = &t->call;
        struct point *p = NULL;
        uint64_t back = 0, bytes;

        *c = (struct call){ .entry = entry, .seen = 1ull << entry,
                            .sp = arch_stack(&t->registers) };
        for (uint32_t i = 0; i < 4; i++)
                c->arguments[i] = argument(t, i);
        if (account_begin(t) && call_back(t, &back))
                p = point_set(t->target, back, POINT_RETURN, 0);
        c->active = p;
        c->back = back;
        if (p && entry == ENTRY_ALIGNED_ALLOC)
                c->entry = name_of(t, p);
        if (!c->active)
                t->target->book.head->lost_events++;
        t->released = 0;
        if (!c->active || entries[entry].does != DOES_REALLOC || !c->arguments[0] ||
            !asked(c, &bytes))
                return;
        account_take(t, c->arguments[0]);
        c->taken = true;
}

/* What libc does for itself is none of the program's mappings. */
static bool is_from_libc(const struct task *t)
{
        const struct code *here = codes_find(t->target, arch_pc(&t->registers)),
                          *from = codes_find(t->target, t->call.back - 1);

        return here && here == from && t->target->code_count > 1;
}

void call_entered(struct task *t, uint16_t entry)
{
        switch (entries[entry].does) {
        case DOES_FREE:
                if (!is_inside(t, entry))
                        release(t, entry);
                return;
        case DOES_UNMAP:
                if (!is_inside(t, entry) && account_begin(t))
                        maps_unmapped(t, argument(t, 0), argument(t, 1));
                return;
        default:
                if (is_inside(t, entry))
                        return;
                begin(t, entry);
                if (t->call.active && entries[entry].kind == LEDGER_KIND_MMAP && is_from_libc(t))
                        t->call.active = false;
        }
}

/* ---- returned ---- */


static uint32_t kind_of(struct task *t)
{
        const struct entry *e = &entries[t->call.entry];
        uint64_t align;
        uint32_t power;

        if (e->align == ENTRY_NO)
                return e->kind;
        align = t->call.arguments[e->align];
        power = align ? 63 - (uint32_t)__builtin_clzll(align) : 0;
        t->target->book.head->aligned_kinds = 1;
        return e->kind + (power < 15 ? power : 15);
}

/* Whoever released ADDRESS before has released another block. */
static void got(struct task *t, uint64_t address, uint64_t bytes, uint32_t kind)
{
        for (struct task *other = tracer.tasks; other; other = other->next)
                if (other->target == t->target && other->released == address)
                        other->released = 0;
        account_alloc(t, address, bytes, kind);
}

/* realloc to no bytes frees, or gives a small block. */
static void reallocated(struct task *t, uint64_t result)
{
        uint64_t bytes = 0;

        asked(&t->call, &bytes);
        if (t->call.taken && !result && bytes)
                account_put_back(t);
        else if (t->call.taken)
                account_taken(t, t->call.arguments[0]);
        if (result)
                got(t, result, bytes, entries[t->call.entry].kind);
}

void call_returned(struct task *t)
{
        uint64_t result = (uint64_t)arch_result(&t->registers), stored = 0, bytes = 0;

        asked(&t->call, &bytes);
        t->call.active = false;
        switch (entries[t->call.entry].does) {
        case DOES_ALLOC:
                if (result)
                        got(t, result, bytes, kind_of(t));
                break;
        case DOES_STORE:
                if ((uint32_t)result == 0 &&
                    target_read(t->target, t->call.arguments[0], &stored, sizeof stored) && stored)
                        got(t, stored, bytes, kind_of(t));
                break;
        case DOES_REALLOC: reallocated(t, result); break;
        case DOES_MAP:
        case DOES_REMAP: maps_mapped(t, result); break;
        default: break;
        }
}
