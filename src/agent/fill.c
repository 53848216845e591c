/* SPDX-License-Identifier: MIT */
/*
 * fill.c -- fresh memory is overwritten, freed memory is cleared.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#include "agent/fill.h"

#include "agent/agent.h"
#include "agent/arch/arch.h"

#include "agent/guest.h"

#define CHUNK_MAPPED 2u

/* glibc gives large blocks mappings of their own: fresh pages from the kernel, which hold nothing, cost nothing until they
 * are written, and go back at once. */
static bool is_mapping(const void *address)
{
        return !agent.spread && ((const uint64_t *)address)[-1] & CHUNK_MAPPED;
}

void fill_fresh(void *address, size_t size, uint32_t kind)
{
        if (kind != LEDGER_KIND_CALLOC && kind != LEDGER_KIND_REALLOC && kind != LEDGER_KIND_REALLOCARRAY)
                fill_grown(address, 0, size);
}

void fill_grown(void *address, size_t old, size_t size)
{
        if (size > old && !is_mapping(address))
                arch_fill((uint8_t *)address + old, (uint8_t)agent.fill, size - old);
}

void fill_kept(uint64_t address, uint64_t size)
{
        if (is_mapping((void *)address))
                arch_fill((void *)address, 0, size);
}

void fill_gone(uint64_t address, uint64_t size)
{
        if (!is_mapping((void *)address))
                arch_fill((void *)address, 0, size);
}
