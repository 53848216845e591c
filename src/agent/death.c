/* SPDX-License-Identifier: MIT */
/*
 * death.c -- blocks born and freed between marks.
 *
 * Keeps:  an entry once taken keeps its key; sums are added to by atomic instructions.
 */
#include "agent/death.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/mark.h"

#include "agent/guest.h"

#define DEATH_PROBES 64u

static struct ledger_death *find(uint64_t key)
{
        struct ledger_death *all = arena_at(LEDGER_DEATHS);
        uint64_t at = key * 0x9e3779b97f4a7c15ull >> 44;

        for (uint32_t i = 0; i < DEATH_PROBES; i++) {
                struct ledger_death *d = &all[(at + i) % LEDGER_DEATHS_MAX];
                uint64_t there = __atomic_load_n(&d->key, __ATOMIC_RELAXED);

                if (there == key)
                        return d;
                if (!there && (__atomic_compare_exchange_n(&d->key, &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || there == key))
                        return d;
        }
        return NULL;
}

void death_note(uint32_t site, uint32_t birth_ms, uint64_t blocks, uint64_t bytes)
{
        uint32_t birth = mark_era(birth_ms);
        struct ledger_death *d;

        if (!birth)
                return;
        d = arena_commit(LEDGER_DEATHS, LEDGER_DEATHS_MAX * sizeof *d) ? find(LEDGER_DEATH_KEY(site, birth, mark_era_now())) : NULL;
        if (!d) {
                __atomic_add_fetch(&agent.head->deaths_not_kept, 1, __ATOMIC_RELAXED);
                return;
        }
        __atomic_add_fetch(&d->blocks, blocks, __ATOMIC_RELAXED);
        __atomic_add_fetch(&d->bytes, bytes, __ATOMIC_RELAXED);
}
