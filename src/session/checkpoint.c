/* SPDX-License-Identifier: MIT */
#include "session/checkpoint.h"


#define NS_PER_LEDGER_BYTE 3u /* what blocks cost at most: read, sorted, written */

void checkpoint_init(struct checkpoint *c, bool wanted)
{
        *c = (struct checkpoint){ .due_ms = wanted ? CHECKPOINT_EVERY_MS : UINT64_MAX };
}

static uint64_t whole_ns(const struct checkpoint *c, uint64_t ledger_bytes)
{
        uint64_t guess_ns = c->light_ns + ledger_bytes * NS_PER_LEDGER_BYTE;

        /* What the last one took is known better, unless the ledger has become much smaller
         * since. */
        return c->whole_ns && c->whole_ns < guess_ns ? c->whole_ns : guess_ns;
}

enum checkpoint_kind checkpoint_due(struct checkpoint *c, const struct checkpoint_state *s)
{
        uint64_t ns_per_ms = 1000000u / CHECKPOINT_SHARE / (s->sharers ? s->sharers : 1);
        uint64_t may_ns = s->now_ms * ns_per_ms;

        if (c->writer.pid || s->now_ms < c->due_ms)
                return CHECKPOINT_NONE;
        if (c->spent_ns + whole_ns(c, s->ledger_bytes) <= may_ns)
                return CHECKPOINT_WHOLE;
        if (c->spent_ns + c->light_ns <= may_ns)
                return CHECKPOINT_LIGHT;
        c->due_ms = (c->spent_ns + c->light_ns) / (ns_per_ms ? ns_per_ms : 1) + 1;
        return CHECKPOINT_NONE;
}

void checkpoint_begun(struct checkpoint *c, enum checkpoint_kind kind, uint64_t now_ms)
{
        c->kind = kind;
        c->due_ms = now_ms + CHECKPOINT_EVERY_MS;
}

void checkpoint_done(struct checkpoint *c, int status, uint64_t cpu_ns)
{
        worker_reaped(&c->writer);
        c->failed = status != 0;
        c->spent_ns += cpu_ns;
        if (c->kind == CHECKPOINT_WHOLE)
                c->whole_ns = cpu_ns;
        else
                c->light_ns = cpu_ns;
}
