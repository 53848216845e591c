/* SPDX-License-Identifier: MIT */
#include "agent/fill.h"

#include "agent/agent.h"
#include "agent/arch/arch.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define CHUNK_MAPPED 2u

/* glibc gives large blocks mappings of their own: fresh pages from the kernel, which hold nothing,
 * cost nothing until they are written, and go back at once. */
static bool is_mapping(const void *address)
{
        return agent.glibc && ((const arch_word *)address)[-1] & CHUNK_MAPPED;
}

#define LARGE_BYTES (128u << 10) /* from here on pages that were never used are left alone */
#define PAGES_AT_ONCE 1024u

/* Overwrite a large block where it has memory: the rest holds nothing, and would cost some. */
static void fill_resident(uint8_t *from, uint8_t *end, uint8_t byte)
{
        uint8_t resident[PAGES_AT_ONCE];

        while (from < end) {
                uint8_t *page = (uint8_t *)(uintptr_t)((uintptr_t)from & ~(SYS_PAGE - 1));
                uint64_t pages = ((uint64_t)(end - page) + SYS_PAGE - 1) / SYS_PAGE;

                pages = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
                if (sys_failed(sys_call3(SYS_mincore, (long)page, (long)(pages * SYS_PAGE),
                                         (long)resident)))
                        return;
                for (uint64_t i = 0; i < pages; i++) {
                        uint8_t *stop = page + (i + 1) * SYS_PAGE < end ? page + (i + 1) * SYS_PAGE
                                                                        : end;

                        if (resident[i] & 1)
                                arch_fill(from, byte, (uint64_t)(stop - from));
                        from = stop;
                }
        }
}

static void fill(void *address, uint64_t size, uint8_t byte)
{
        if (size < LARGE_BYTES || agent.sandboxed)
                arch_fill(address, byte, size);
        else
                fill_resident(address, (uint8_t *)address + size, byte);
}

void fill_fresh(void *address, size_t size, uint32_t kind)
{
        if (kind != LEDGER_KIND_CALLOC && kind != LEDGER_KIND_REALLOC &&
            kind != LEDGER_KIND_REALLOCARRAY)
                fill_grown(address, 0, size);
}

void fill_grown(void *address, size_t old, size_t size)
{
        if (size > old && !is_mapping(address))
                fill((uint8_t *)address + old, size - old, (uint8_t)agent.fill);
}

void fill_kept(uint64_t address, uint64_t size)
{
        if (is_mapping((void *)(uintptr_t)address))
                fill((void *)(uintptr_t)address, size, 0);
}

void fill_gone(uint64_t address, uint64_t size)
{
        if (!is_mapping((void *)(uintptr_t)address))
                fill((void *)(uintptr_t)address, size, 0);
}
