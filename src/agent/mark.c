/* SPDX-License-Identifier: MIT */
/*
 * mark.c -- named moments: tags, snapshots, the signal, the exit.
 *
 * Cost:   of a mark that waits: some 100 us for the observer to wake up and read all counters.
 */
#include "agent/mark.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/hello.h"
#include "agent/patience.h"
#include "agent/stream.h"
#include "agent/sys.h"
#include "agent/thread.h"
#include "book/era.h"

#include "agent/guest.h"

#define LABEL_MAX 255u
#define STEP_NS 100000000l         /* between looks whether somebody still observes */
#define DEAF_STEPS 30u             /* so many of them without a tick: nobody does ... */
#define REFUSED_STEPS 3u           /* ... or so many, when nobody opened either */
#define IDLE_STEPS 100u /* so many without work on it: what we asked for is not known outside */
#define END_S 1800u                /* a search in a very large heap on a busy machine */
#define WAIT_FREE_NS 200000000ull  /* tags may wait so long altogether, ... */
#define WAIT_SHARE 20u             /* ... and one part in so many of the time */

static uint64_t waited_ns;

static uint64_t elapsed_ns(void)
{
        return sys_clock_ns(SYS_CLOCK_MONO) - agent.head->start_monotonic_ns;
}

static uint32_t label_string(const char *label)
{
        char text[LABEL_MAX + 1];
        uint32_t length = 0;

        while (label && length < LABEL_MAX && label[length]) {
                text[length] = label[length];
                length++;
        }
        text[length] = 0;
        return length ? book_string(&agent_book, text) : 0;
}

uint32_t mark_add(enum ledger_mark_type type, const char *label, uint32_t flags)
{
        struct ledger_mark m = { .type = type, .label = label_string(label), .flags = flags };
        const struct thread *t = thread_self;

        m.thread = t ? t->writer.record : 0;
        __atomic_or_fetch(&agent.special, SPECIAL_ERAS, __ATOMIC_RELAXED);
        return era_mark(&agent_book, &m, agent.sandboxed ? 0 : (uint32_t)(elapsed_ns() / 1000000u));
}

/* ---- waiting ---- */

bool mark_may_wait(void)
{
        uint64_t sum = __atomic_load_n(&waited_ns, __ATOMIC_RELAXED);

        if (agent.sandboxed || agent.stream)
                return false;
        return sum < WAIT_FREE_NS || sum < elapsed_ns() / WAIT_SHARE;
}

bool mark_wait_word(uint32_t *word, uint32_t passed)
{
        static uint32_t deaf_tick = UINT32_MAX; /* the clock when nobody answered */
        struct patience p = { .work = &agent.head->working, .idle_steps = IDLE_STEPS,
                              .end_s = END_S };
        long step[2] = { 0, STEP_NS }, result = 0;
        uint32_t now;

        if (agent_now_ms() == deaf_tick || agent.sandboxed ||
            (agent.stream && !stream_is_shared()))
                return false;
        /* seep-target looks by itself */
        p.quiet_steps = agent.stream || hello_knock(agent.socket) ? DEAF_STEPS : REFUSED_STEPS;
        patience_begin(&p);
        do {
                now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
                if (now > passed)
                        return true;
                if (__atomic_load_n(&agent.head->served, __ATOMIC_RELAXED) == LEDGER_SERVED_NEVER)
                        return false;
                result = sys_call6(SYS_futex, (long)word, SYS_FUTEX_WAIT, (long)now, (long)step, 0,
                                   0);
        } while (patience_lasts(&p, result));
        if (p.quiet >= p.quiet_steps)
                deaf_tick = p.tick;
        return __atomic_load_n(word, __ATOMIC_ACQUIRE) > passed;
}

void mark_wait(uint32_t mark)
{
        uint64_t begin;

        if (mark == ERA_NO_MARK || agent.sandboxed || agent.stream)
                return;
        begin = sys_clock_ns(SYS_CLOCK_MONO);
        mark_wait_word(&agent.head->served, mark);
        __atomic_add_fetch(&waited_ns, sys_clock_ns(SYS_CLOCK_MONO) - begin, __ATOMIC_RELAXED);
}
