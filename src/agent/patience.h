/* SPDX-License-Identifier: MIT */
/*
 * patience.h -- how long to wait for the observer.
 *
 * Room:   inside; any context.
 * Keeps:  every wait ends, whatever is written in the ledger, which the program can damage: soon
 *         when the observer's clock stands still, somewhat later when nobody works on what is
 *         waited for, and in any case after END_S.
 */
#ifndef SEEP_AGENT_PATIENCE_H
#define SEEP_AGENT_PATIENCE_H

#include "agent/agent.h"
#include "agent/sys.h"

#define PATIENCE_SPINS (1u << 22) /* some milliseconds */

struct patience {
        const uint32_t *work; /* changes while somebody works on it */
        uint32_t quiet_steps; /* so many without a tick: nobody observes */
        uint32_t idle_steps;  /* so many without work: nobody knows of our wish */
        uint32_t end_s;       /* in any case */
        uint32_t tick, quiet, worked, idle;
        uint64_t end_ns;
};

static inline void patience_begin(struct patience *p)
{
        p->tick = agent_now_ms();
        p->worked = __atomic_load_n(p->work, __ATOMIC_RELAXED);
        p->quiet = p->idle = 0;
        p->end_ns = agent.sandboxed ? 0 : sys_clock_ns(SYS_CLOCK_MONO) + p->end_s * 1000000000ull;
}

/* A step of waiting gave RESULT.  Whether to wait on. */
static inline bool patience_lasts(struct patience *p, long result)
{
        uint32_t tick = agent_now_ms(), worked = __atomic_load_n(p->work, __ATOMIC_RELAXED);

        if (p->end_ns && sys_clock_ns(SYS_CLOCK_MONO) >= p->end_ns)
                return false;
        if (result == -SYS_EINTR)
                return true; /* a signal: no time has passed */
        if (result == -SYS_EPERM) /* a sandbox: nor here, unless we pass it ourselves */
                for (uint32_t i = 0; i < PATIENCE_SPINS; i++)
                        compiler_barrier();
        p->quiet = p->tick == tick ? p->quiet + 1 : 0;
        p->idle = p->worked == worked ? p->idle + 1 : 0;
        p->tick = tick;
        p->worked = worked;
        return p->quiet < p->quiet_steps && p->idle < p->idle_steps;
}

#endif
