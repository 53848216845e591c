/* SPDX-License-Identifier: MIT */
/*
 * omit.c -- programs and libraries whose allocations are left out.
 *
 * Keeps:  an answer is one word with the address it is for and the generation of the code, so no
 *         thread ever sees half of one.
 */
#include "agent/omit.h"

#include "agent/arena.h"
#include "agent/object.h"

#include "agent/guest.h"

#define ANSWER_BITS 12
#define ANSWER_MIX 0x9e3779b97f4a7c15ull

/* pc << 16 | low bits of the generation << 1 | whether it is left out */
static uint64_t *answers;

bool omit_start(void)
{
        if (agent.omit[0])
                answers = arena_private(sizeof *answers << ANSWER_BITS);
        return answers || !agent.omit[0];
}

bool omit_path(const char *path)
{
        return agent.omit[0] && regex_find(agent.omit, path);
}

bool omit_code(uint64_t pc)
{
        uint64_t *answer = &answers[pc * ANSWER_MIX >> (64 - ANSWER_BITS)];
        uint32_t generation = __atomic_load_n(&agent.generation, __ATOMIC_ACQUIRE), number;
        uint64_t key = pc << 16 | (generation & 0x7fffu) << 1,
                 known = __atomic_load_n(answer, __ATOMIC_RELAXED);
        const struct object *o;

        if (likely((known & ~1ull) == key))
                return known & 1;
        number = object_find(pc - 1);
        o = object_get(number);
        if (!o)
                return false; /* code that nobody knows, perhaps not yet */
        __atomic_store_n(answer, key | o->omitted, __ATOMIC_RELAXED);
        return o->omitted;
}
