/* SPDX-License-Identifier: MIT */
/*
 * stack.c -- the call stack of an event, exactly, without unwinding what was unwound before.
 *
 * Keeps:  unwinding is a function of (pc, sp, frame pointer), the rules, and the words it reads.
 *         The thread keeps its last stack with all of these; a new one is unwound from the inside
 *         until its state equals a kept one, and then every kept word from there outwards is
 *         compared with memory.  Nothing is assumed that was not compared, so longjmp, exceptions
 *         and coroutines need no special case.  Words are compared from the inside outwards: only
 *         memory is read that a full unwind would read too.
 *         A stack that differs from the kept one in a few frames only (STACK_NEAR) is not kept.
 * Cost:   four instructions per kept word; a capture that was foreseen, with what it is counted
 *         by, 139 on xmllint (callgrind, bench/instructions).
 *
 * frames[] runs from the outermost (0) inwards; frame i owns the words checks[frames[i-1].check ..
 * frames[i].check) that lead from it to frame i-1 (numbered from 1).  A frame pointer counts only
 * where something outside still depends on it (FRAME_BASE_LIVE).
 *
 * An example.  main called read_file, which called read_line; that one allocated, and its stack was
 * kept.  Now parse allocates:
 *
 *     the kept stack                 words that lead outwards  the new stack
 *
 *     frames[3]  read_line   sp e00  [e38] = into read_file    parse      sp dc0  unwound: fresh
 *     frames[2]  read_file   sp e40  [ea8] = into main         read_file  sp e40  as kept: joined
 *     frames[1]  main        sp eb0  [ef8] = into libc         main               not unwound,
 *     frames[0]  start code  sp f00                            start code         words compared
 *
 * The walk takes one step by the rule of parse and arrives at a state (pc, sp, and the frame
 * pointer where it counts) that equals frames[2].  From there an unwind would read the two words
 * below frames[2], and nothing else decides its way.  Both hold the same values as before, so the
 * rest of the stack is the kept one, and the hash of frames[2] stands for it.  If a word differs,
 * the frame that owns it and all inside of it are no longer true: the walk goes on by rules until
 * it meets a frame further out.
 *
 * Two shortcuts lie before the walk, both in stack.h.  stack_again(): the same place as the last
 * time, all words compared.  stack_foreseen(), by segments: the fresh frames of a stack seen
 * before, with their words and the kept frame that they join; after two stacks and for a caller at
 * this place the forecast says which segment it will probably be.
 * A walk asks again on its way: after two frames for the segment that these two led to the last
 * time, after five for the one that these five did.  A shortcut only chooses what is compared
 * first; a wrong guess costs time, never truth.
 */
#include "agent/stack.h"

#include "agent/object.h"
#include "agent/reach.h"
#include "agent/rule.h"
#include "agent/sys.h"
#include "agent/unwind.h"
#include "book/tree.h"

#include "agent/guest.h"

#define STACK_END_NEAR 256u
#define NEAR_STEPS 2u
#define FAR_STEPS 5u

/* A word among those that a signal's handler finds saved. */
#define SAVED(saved, i) ((saved) + sizeof(arch_word) * (i))

static inline uint64_t word(uint64_t at)
{
        return *(const arch_word *)(uintptr_t)at;
}

/* What the tree and the hash have for a frame: the address in its module's file, and the module. */
static inline uint64_t frame_pc_module(uint64_t pc, uint64_t rule)
{
        return (pc & (FRAME_EXACT | 0xffffffffffffull)) + object_shift(RULE_OBJECT(rule));
}

static inline struct memo *memo_of(struct thread *t, uint64_t pc)
{
        struct memo *m = &t->memos[rule_hash(pc, MEMO_BITS)];

        if (unlikely(m->pc != pc)) {
                m->rule = rule_find(t, pc);
                /* Unknown code may become known. */
                m->pc = RULE_OBJECT(m->rule) == OBJECT_NONE ? 0 : pc;
        }
        return m;
}

/* Whether SP is so near to where the thread's stack begins that only the C library's own
 * start code can be there. */
static bool near_stack_end(uint64_t sp)
{
        return arch_thread_pointer() - sp < STACK_END_NEAR ||
               agent.stack_start - sp < STACK_END_NEAR;
}

/* Code without unwind tables: follow the frame pointer if it looks like one, or the chain that
 * begins at the stack pointer, which ends with 0. */
static bool step_without_cfi(struct thread *t, struct arch_state *s, bool *cut)
{
        uint64_t link = s->base, next = 0;
        const struct object *o;

        *cut = !near_stack_end(s->sp);
        if (ARCH_FRAME_CHAIN == ARCH_CHAIN_STACK) {
                link = reach_kept(t, s->sp, s->sp) ? word(s->sp) : 1;
                *cut = *cut && link;
        }
        if (!ARCH_FRAME_CHAIN || link < s->sp || (link & 7) || !reach_kept(t, s->sp, link) ||
            !reach_kept(t, s->sp, link + sizeof(arch_word)))
                return false;
        next = arch_code(word(link + sizeof(arch_word)));
        *cut = *cut && next;
        if (!next || next > ARCH_CODE_MAX)
                return false;
        o = object_get(object_find(next - 1));
        if (!o || !object_shows(o, next - 7, next) || !arch_follows_call(next))
                return false;
        *cut = false;
        s->pc = next;
        s->sp = link + (ARCH_FRAME_CHAIN == ARCH_CHAIN_BASE ? 2 * sizeof(arch_word) : 0);
        s->base = ARCH_FRAME_CHAIN == ARCH_CHAIN_BASE ? word(link) : s->base;
        return true;
}

/* What a signal interrupted: it may be on another stack. */
static bool step_signal(struct thread *t, struct arch_state *s, bool *cut)
{
        uint64_t saved = arch_sig_saved(s->pc, s->sp), sp;

        *cut = true;
        if (!reach_kept(t, s->sp, saved) ||
            !reach_kept(t, s->sp, saved + ARCH_SIG_BYTES - sizeof(arch_word)))
                return false;
        sp = word(SAVED(saved, ARCH_SIG_STACK));
        if (sp <= s->sp && ++t->odd > STACK_ODD)
                return false;
        *cut = false;
        s->pc = word(SAVED(saved, ARCH_SIG_PC)) | FRAME_EXACT;
        s->base = word(SAVED(saved, ARCH_SIG_BASE));
        s->sp = sp;
        reach_from(t, sp);
        return true;
}

static __attribute__((noinline)) bool step_special(struct thread *t, uint64_t rule,
                                                   struct arch_state *s, bool *cut)
{
        *cut = false;
        if (RULE_SPECIAL(rule) == RULE_SIGNAL)
                return step_signal(t, s, cut);
        if (RULE_SPECIAL(rule) == RULE_NO_CFI)
                return step_without_cfi(t, s, cut);
        return false;
}

/* Where RULE puts the CFA of a frame in state S; 0: it is said in a word that is not there. */
static inline uint64_t rule_cfa(struct thread *t, uint64_t rule, const struct arch_state *s)
{
        uint64_t cfa = RULE_CFA(rule) == RULE_CFA_STACK ? s->sp : s->base;

        cfa += (uint64_t)RULE_CFA_OFFSET(rule);
        if (unlikely(RULE_CFA(rule) == RULE_CFA_AT_BASE))
                return reach_kept(t, s->sp, cfa) ? word(cfa) : 0;
        return cfa;
}

/* The frame at SP does not end inside of what is known to be readable. */
static __attribute__((noinline)) bool step_far(struct thread *t, uint64_t sp, uint64_t cfa)
{
        return !(cfa & 7) && reach_frame(t, sp, cfa);
}

static inline __attribute__((always_inline)) bool stack_step_inline(struct thread *t, uint64_t rule,
                                                                    struct arch_state *s, bool *cut)
{
        uint64_t cfa;

        if (unlikely(RULE_CFA(rule) == RULE_CFA_SPECIAL))
                return step_special(t, rule, s, cut);
        cfa = rule_cfa(t, rule, s);
        if (unlikely(cfa <= s->sp || cfa > t->reach_high || (cfa & 7)) &&
            !step_far(t, s->sp, cfa)) {
                *cut = true;
                return false;
        }
        if (RULE_BASE(rule) == RULE_BASE_AT_CFA)
                s->base = word(cfa + (uint64_t)RULE_BASE_OFFSET(rule));
        else if (unlikely(RULE_BASE(rule) != RULE_BASE_SAME)) {
                uint64_t at = (RULE_BASE(rule) == RULE_BASE_FAR ? cfa : s->base) +
                              (uint64_t)RULE_BASE_OFFSET(rule);

                if (!reach_kept(t, s->sp, at)) {
                        *cut = true;
                        return false;
                }
                s->base = word(at);
        }
        cfa += (uint64_t)RULE_RETURN_OFFSET(rule);
        if (!ARCH_RETURN_AT && unlikely(cfa < s->sp) && !reach_kept(t, s->sp, cfa)) {
                *cut = true;
                return false;
        }
        s->pc = arch_code(word(cfa));
        s->sp = cfa - (uint64_t)RULE_RETURN_OFFSET(rule);
        return s->pc != 0;
}

static inline void add_check(struct check *checks, uint32_t *n, uint64_t at, uint64_t value)
{
        checks[(*n)++] = (struct check){ (const arch_word *)(uintptr_t)at, value };
}

/* The word at AT that PC was read from.  Where that carries more than the address (arch_code), the
 * memory has it: any word that means PC will do. */
static inline uint64_t return_word(uint64_t at, uint64_t pc)
{
        uint64_t now = ARCH_RETURN_AT ? pc : word(at);

        return ARCH_RETURN_AT || arch_code(now) == pc ? now : pc;
}

/* The words that lead from F to the frame outside of it, OUTER, behind the *N that are there;
 * OUTER_LIVE: whether OUTER depends on its frame pointer.  Returns whether F does. */
static inline uint32_t frame_words(struct check *checks, uint32_t *n, const struct frame *f,
                                   const struct frame *outer, uint32_t outer_live)
{
        uint64_t rule = f->rule, at = outer->sp + (uint64_t)RULE_RETURN_OFFSET(rule);

        add_check(checks, n, at, return_word(at, outer->pc));
        if ((RULE_BASE(rule) == RULE_BASE_AT_CFA || RULE_BASE(rule) == RULE_BASE_FAR) && outer_live)
                add_check(checks, n, outer->sp + (uint64_t)RULE_BASE_OFFSET(rule), outer->base);
        if (unlikely(RULE_BASE(rule) == RULE_BASE_AT_BASE && outer_live))
                add_check(checks, n, f->base + (uint64_t)RULE_BASE_OFFSET(rule), outer->base);
        if (unlikely(RULE_CFA(rule) == RULE_CFA_AT_BASE))
                add_check(checks, n, f->base + (uint64_t)RULE_CFA_OFFSET(rule), outer->sp);
        if (RULE_CFA(rule) != RULE_CFA_STACK || RULE_BASE(rule) == RULE_BASE_AT_BASE)
                return FRAME_BASE_LIVE;
        return RULE_BASE(rule) == RULE_BASE_SAME ? outer_live : 0;
}

/* The same for a frame with an unusual rule. */
static uint32_t special_words(struct check *checks, uint32_t *n, const struct frame *f,
                              const struct frame *outer)
{
        if (RULE_SPECIAL(f->rule) == RULE_SIGNAL) {
                uint64_t saved = arch_sig_saved(f->pc, f->sp);

                add_check(checks, n, SAVED(saved, ARCH_SIG_PC), outer->pc & ~FRAME_EXACT);
                add_check(checks, n, SAVED(saved, ARCH_SIG_BASE), outer->base);
                add_check(checks, n, SAVED(saved, ARCH_SIG_STACK), outer->sp);
                return 0;
        }
        add_check(checks, n, f->base + sizeof(arch_word), outer->pc);
        add_check(checks, n, f->base, outer->base);
        return FRAME_BASE_LIVE;
}

/* Note the words that lead from F to OUTER, both kept. */
static inline void push_checks(struct thread *t, struct frame *f, const struct frame *outer)
{
        uint32_t n = (outer->check & ~FRAME_BASE_LIVE) + 1, live;

        if (unlikely(RULE_CFA(f->rule) == RULE_CFA_SPECIAL))
                live = special_words(t->checks, &n, f, outer);
        else
                live = frame_words(t->checks, &n, f, outer, outer->check & FRAME_BASE_LIVE);
        f->check = (n - 1) | live;
}

/* The hash of a stack whose hash without its innermost frame is OUTER. */
static inline uint64_t hash_frame(uint64_t outer, uint64_t pc_module)
{
        uint64_t h = (outer ^ pc_module) * 0x9e3779b97f4a7c15ull;

        h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
        return h ^ h >> 29;
}

/* Room for COUNT more frames and their words. */
static bool make_room(struct thread *t, uint32_t count)
{
        while (t->frame_count + count > t->frame_room)
                if (!thread_grow_frames(t))
                        return false;
        while ((t->frame_count ? t->frames[t->frame_count - 1].check & ~FRAME_BASE_LIVE : 0) +
                       4 * count + 1 >
               t->check_room)
                if (!thread_grow_checks(t))
                        return false;
        return true;
}

/* Put the fresh frames (innermost first) behind the kept ones they belong to. */
static void push_fresh(struct thread *t)
{
        struct frame *f = t->frames + t->joined, *outer = t->joined ? f - 1 : NULL;

        for (uint32_t i = t->fresh_count; i--; outer = f++) {
                const struct frame *from = &t->fresh[i];

                f->sp = from->sp;
                f->pc = from->pc;
                f->base = from->base;
                f->rule = from->rule;
                if (f->hash != from->hash) /* else this frame of this stack has been here before */
                        f->node = 0;
                f->hash = from->hash;
                if (likely(outer != NULL))
                        push_checks(t, f, outer);
                else
                        f->check = RULE_USES_BASE(f->rule) ? FRAME_BASE_LIVE : 0;
        }
        t->frame_count = t->joined + t->fresh_count;
        thread_set_top(t, outer ? outer : &thread_no_frame);
}

bool stack_keep(struct thread *t)
{
        t->frame_count = t->joined;
        if (unlikely(!make_room(t, t->fresh_count))) {
                thread_set_top(t, &thread_no_frame);
                return false;
        }
        push_fresh(t);
        t->joined = t->frame_count;
        t->fresh_count = 0;
        if (unlikely(t->unsure))
                thread_set_top(t, &thread_no_frame);
        return true;
}

/* Hashes of the fresh frames, from the outermost inwards. */
static inline uint64_t hash_fresh(struct thread *t, uint64_t outer)
{
        for (uint32_t i = t->fresh_count; i--;) {
                struct frame *f = &t->fresh[i];

                f->hash = outer = hash_frame(outer, frame_pc_module(f->pc, f->rule));
        }
        return outer;
}

static void forget(struct thread *t)
{
        uint32_t now = __atomic_load_n(&agent.generation, __ATOMIC_ACQUIRE);

        if (t->generation != now)
                for (uint32_t i = 0; i < 1u << MEMO_BITS; i++)
                        t->memos[i].pc = 0;
        t->frame_count = 0;
        thread_set_top(t, &thread_no_frame);
        t->unsure = false;
        t->generation = now;
}

static inline bool same_state(const struct frame *f, const struct arch_state *s)
{
        return f->sp == s->sp && f->pc == s->pc &&
               (!(f->check & FRAME_BASE_LIVE) || f->base == s->base);
}

/* The frame, from F outwards, that the word number CHANGED belongs to. */
static struct frame *owner_of(const struct thread *t, struct frame *f, uint32_t changed)
{
        while (f > t->frames && (f[-1].check & ~FRAME_BASE_LIVE) >= changed)
                f--;
        return f;
}

/* The fresh frames are the whole stack; CUT: its outer end is missing.  A stack that is cut off, or
 * went through the generic unwinder (UNSURE), is not built upon: why it is as it is may change
 * without any of its words changing. */
static uint64_t whole_stack(struct thread *t, uint32_t count, bool cut, bool unsure)
{
        t->root = cut ? LEDGER_NODE_CUT : LEDGER_NODE_ROOT;
        t->joined = 0;
        t->fresh_count = count;
        t->unsure |= unsure;
        return hash_fresh(t, 1 + t->root);
}

/* By the generic unwinder: some frame needs more registers than the rules carry. */
static uint64_t capture_generic(struct thread *t, struct arch_state caller)
{
        bool cut = false;
        uint32_t count = unwind_full(t, caller, &cut);

        if (!count && (t->fresh_room || thread_grow_fresh(t))) {
                /* Our own frames lead nowhere: the caller is known all the same. */
                t->fresh[count++] = (struct frame){ .sp = caller.sp, .pc = caller.pc,
                                                    .base = caller.base };
                cut = true;
        }
        for (uint32_t i = 0; i < count; i++)
                t->fresh[i].rule = memo_of(t, t->fresh[i].pc)->rule;
        return whole_stack(t, count, cut, true);
}

/* The next stack was the one of G: remember that for the next time. */
static inline void segment_follow(struct thread *t, struct segment *g)
{
        *t->expected = (uint16_t)(g - t->segments);
        stack_follow(t, g->hash);
        t->segment = g;
}

/* The words that lead from the fresh frames of the stack captured last to the kept frame OUTER,
 * into G.  False: too many. */
static bool segment_words(struct thread *t, struct segment *g, const struct frame *outer)
{
        uint32_t live = outer->check & FRAME_BASE_LIVE, n = 1;

        g->checks[0] = thread_no_check;
        for (uint32_t i = t->fresh_count; i--; outer = &t->fresh[i]) {
                struct frame *f = &t->fresh[i];

                if (RULE_CFA(f->rule) == RULE_CFA_SPECIAL || n + 3 > SEGMENT_CHECKS)
                        return false;
                live = frame_words(g->checks, &n, f, outer, live);
        }
        g->live = live;
        g->count = n - 1;
        return true;
}

/* Where the segment of the stack HASH at SP is, or shall be: one of SEGMENT_WAYS that lie side by
 * side, so that a few stacks in turn do not drive each other out. */
static inline struct segment *segment_place(struct thread *t, uint64_t hash, uint64_t sp)
{
        uint32_t first = rule_hash(hash + sp, SEGMENT_BITS) & ~(SEGMENT_WAYS - 1);
        struct segment *set = &t->segments[first];

        for (uint32_t i = 0; i < SEGMENT_WAYS; i++)
                if (set[i].hash == hash && set[i].sp == sp)
                        return &set[i];
        return &set[t->victim++ % SEGMENT_WAYS];
}

/* Make sure that the stack captured last, with hash HASH, has its segment in G. */
static void segment_keep(struct thread *t, struct segment *g, uint64_t hash)
{
        const struct frame *outer = &t->frames[t->joined - 1], *top = &t->fresh[0];

        t->segment = NULL;
        if (!t->fresh_count)
                return;
        if (g->hash != hash || g->sp != top->sp || g->outer != t->joined - 1 ||
            g->outer_sp != outer->sp || g->generation != t->generation || g->base != top->base ||
            g->outer_base != outer->base) {
                g->pc = 0;
                if (!segment_words(t, g, outer))
                        return;
                if (g->hash != hash)
                        g->kind = LEDGER_KIND_NONE;
                g->pc = top->pc;
                g->sp = top->sp;
                g->base = top->base;
                g->hash = hash;
                g->outer = t->joined - 1;
                g->outer_hash = outer->hash;
                g->outer_sp = outer->sp;
                g->outer_base = outer->base;
                g->generation = t->generation;
        }
        segment_follow(t, g);
}

/* How many kept frames lie at SP or outside of it; near the last answer, so it is looked for from
 * there. */
static inline uint32_t first_outside(const struct thread *t, uint64_t sp)
{
        uint32_t i = t->joined < t->frame_count ? t->joined : t->frame_count;

        while (i < t->frame_count && t->frames[i].sp >= sp)
                i++;
        while (t->frames[(int32_t)i - 1].sp < sp)
                i--;
        return i;
}

/* The stack is the one of G: there are no fresh frames to keep. */
static inline uint64_t segment_take(struct thread *t, struct segment *g)
{
        segment_follow(t, g);
        t->fresh_count = 0;
        t->in_segment = true;
        return g->hash;
}

/* What a walk asked on its way: where the answers are, for the next time. */
struct asked {
        uint16_t *near, *far; /* after NEAR_STEPS and FAR_STEPS frames: the number of a segment, if
                               * the walk gets there */
};

/* The segment that *NUMBER says, if it describes CALLER's stack. */
static inline __attribute__((always_inline)) struct segment *
segment_asked(const struct thread *t, const uint16_t *number, struct arch_state caller)
{
        struct segment *g = &t->segments[*number];

        return stack_matches(t, g, caller) ? g : NULL;
}

/* Go outwards from CALLER until a kept frame is met whose words are all unchanged, or the stack
 * ends.  Returns the hash; 0: no memory.  On its way it asks whether the rest is known from a
 * segment (ASKED NULL: it goes all the way). */
static inline __attribute__((always_inline)) uint64_t
walk_out(struct thread *t, struct arch_state caller, struct asked *asked)
{
        struct arch_state s = caller;
        struct frame *kept = t->frames +
                             first_outside(t, s.sp); /* behind the one that may be met next */
        uint32_t fresh = 0, changed;
        uint64_t key = (s.sp << 7) + s.pc, hash;
        struct segment *g;
        bool cut = false;

        reach_from(t, s.sp);
        for (;; key = key * 31 + s.pc) {
                struct frame *f;

                while (kept[-1].sp < s.sp)
                        kept--;
                if (same_state(kept - 1, &s)) {
                        t->fresh_count = fresh;
                        /* If it is the one: the comparison hides the miss. */
                        hash = hash_fresh(
                                t,
                                kept[-1].hash);
                        tree_stack_fetch(&agent_book, hash);
                        __builtin_prefetch(&t->recent[hash >> (64 - RECENT_BITS)]);
                        changed = (uint32_t)(stack_changed(stack_words(t, kept - 1)) - t->checks);
                        if (likely(!changed)) {
                                t->joined = (uint32_t)(kept - t->frames);
                                return hash;
                        }
                        /* from here to there nothing can be joined. */
                        kept = owner_of(t, kept - 1, changed);
                }
                if (asked && fresh == NEAR_STEPS) {
                        asked->near = &t->near[rule_hash(key + s.pc, NEAR_BITS)];
                        if ((g = segment_asked(t, asked->near, caller)) != NULL)
                                return segment_take(t, g);
                }
                if (asked && fresh == FAR_STEPS) {
                        asked->far = &t->far[rule_hash(key + s.pc, FAR_BITS)];
                        if ((g = segment_asked(t, asked->far, caller)) != NULL) {
                                *asked->near = *asked->far;
                                return segment_take(t, g);
                        }
                }
                if (unlikely(fresh == t->fresh_room) && !thread_grow_fresh(t))
                        return whole_stack(t, fresh, true, true); /* deeper than anyone needs */
                f = &t->fresh[fresh++];
                f->pc = s.pc;
                f->sp = s.sp;
                f->base = s.base;
                f->rule = memo_of(t, s.pc)->rule;
                if (unlikely((f->rule & 0xf3) == (RULE_GENERIC << 4 | RULE_CFA_SPECIAL)))
                        return capture_generic(t, caller);
                if (unlikely(!stack_step_inline(t, f->rule, &s, &cut)))
                        return whole_stack(t, fresh, cut, cut);
        }
}

static inline void prepare(struct thread *t)
{
        t->in_segment = false;
        t->odd = 0;
        t->segment = NULL;
        if (unlikely(t->unsure || t->generation != agent.generation))
                forget(t);
}

uint64_t stack_search(struct thread *t, const struct arch_state *caller)
{
        uint16_t none;
        struct asked asked = { &none, &none };
        struct segment *g;
        uint64_t hash;

        t->expected = stack_expected(t, caller->pc, caller->sp);
        prepare(t);
        hash = walk_out(t, *caller, &asked);
        if (unlikely(!hash || t->in_segment || !t->joined || t->unsure))
                return hash;
        if (stack_met_lately(t, hash)) {
                g = segment_place(t, hash, caller->sp);
                segment_keep(t, g, hash);
                *asked.near = *asked.far = (uint16_t)(g - t->segments);
        } else {
                stack_follow(t, hash);
        }
        if (t->fresh_count > STACK_NEAR)
                stack_keep(t);
        return hash;
}

uint64_t stack_capture(struct thread *t, const struct arch_state *caller)
{
        struct segment *g = stack_foreseen(t, *caller);

        if (!g)
                return stack_search(t, caller);
        t->expected = stack_expected(t, caller->pc, caller->sp);
        return segment_take(t, g);
}

uint64_t stack_capture_whole(struct thread *t, struct arch_state caller)
{
        uint64_t hash;

        prepare(t);
        hash = walk_out(t, caller, NULL);
        return hash && stack_keep(t) ? hash : 0;
}

uint64_t stack_unwound_hash(struct thread *t, uint32_t count, bool cut)
{
        uint64_t hash = 1 + (cut ? LEDGER_NODE_CUT : LEDGER_NODE_ROOT);

        while (count--)
                hash = hash_frame(hash, frame_pc_module(t->fresh[count].pc,
                                                        memo_of(t, t->fresh[count].pc)->rule));
        return hash;
}

bool stack_step(struct thread *t, uint64_t rule, struct arch_state *s, bool *cut)
{
        return stack_step_inline(t, rule, s, cut);
}

uint64_t stack_none(struct thread *t)
{
        t->root = LEDGER_NODE_CUT;
        t->frame_count = t->fresh_count = t->joined = 0;
        t->in_segment = false;
        return 1;
}

uint32_t stack_node(struct thread *t)
{
        uint32_t known = t->frame_count, node;

        while (known && !t->frames[known - 1].node)
                known--;
        node = known ? t->frames[known - 1].node : t->root;
        for (; known < t->frame_count; known++) {
                struct frame *f = &t->frames[known];

                node = tree_find(&agent_book, node, frame_pc_module(f->pc, f->rule));
                if (!node)
                        return 0;
                f->node = node;
        }
        return node;
}

/* The same with all registers. */
static enum stack_nesting nesting_unwound(struct thread *t, struct arch_state caller,
                                          uint64_t inside)
{
        bool below = caller.sp < inside, cut = false;
        uint32_t count = unwind_full(t, caller, &cut), i;

        for (i = 0; i < count && (!below || t->fresh[i].sp < inside); i++) {
                unsigned special = RULE_SPECIAL(memo_of(t, t->fresh[i].pc)->rule);

                if (unwind_is_agent(t->fresh[i].pc & ~FRAME_EXACT) ||
                    (below && special == RULE_NO_CFI))
                        return STACK_NESTED;
                if (special == RULE_SIGNAL)
                        return STACK_IN_SIGNAL;
        }
        cut = cut || (i == count && unwind_leads_to(t->fresh[i - 1].sp, inside));
        return below && cut ? STACK_NESTED : STACK_NOT_NESTED;
}

enum stack_nesting stack_nesting(struct thread *t, struct arch_state caller, uint64_t inside)
{
        struct arch_state s = caller;
        bool below = s.sp < inside, cut;

        if (!ARCH_FAST_CAPTURE)
                return nesting_unwound(t, caller, inside);
        reach_from(t, s.sp);

        /* From below, the hook is met at INSIDE or not at all.  A signal's own stack may lie
         * anywhere. */
        for (uint32_t i = 0; i < STACK_DEPTH_MAX && (!below || s.sp < inside); i++) {
                uint64_t rule = memo_of(t, s.pc)->rule;

                if (unwind_is_agent(s.pc & ~FRAME_EXACT))
                        return STACK_NESTED;
                if (RULE_CFA(rule) == RULE_CFA_SPECIAL && RULE_SPECIAL(rule) == RULE_SIGNAL)
                        return STACK_IN_SIGNAL;
                /* Code without tables (musl's) hides the rest: mostly the allocator's own call. */
                if (RULE_CFA(rule) == RULE_CFA_SPECIAL || !stack_step(t, rule, &s, &cut))
                        return below ? STACK_NESTED : STACK_NOT_NESTED;
        }
        return STACK_NOT_NESTED;
}
