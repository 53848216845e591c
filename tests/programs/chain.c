/* SPDX-License-Identifier: MIT */
/*
 * chain.c -- a library between two frames of the program: calls back, and allocates while the
 * loader binds a symbol.
 *
 * Room:   tests only; linked to stacks.c, bound lazily.
 */
#include "chain.h"

#include <stdlib.h>

void *chain_resolved;

static void *chain_inner(void *(*callback)(void))
{
        void *p = callback();
        chain_resolved = p ? chain_resolved : NULL;
        return p;
}

void *chain_outer(void *(*callback)(void))
{
        void *p = chain_inner(callback);
        chain_resolved = p ? chain_resolved : NULL;
        return p;
}

static int pick_implementation(void)
{
        return 1;
}

/* Runs inside the loader, at the first call through the PLT. */
static int (*chain_resolver(void))(void)
{
        void **out = &chain_resolved;
        *out = malloc(9007);
        return pick_implementation;
}

int chain_pick(void) __attribute__((ifunc("chain_resolver")));
