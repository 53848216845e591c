/* SPDX-License-Identifier: MIT */
/*
 * alone.c -- what the parts of seep-target need from an agent or a C library, where there is
 * neither.
 *
 * Keeps:  memory comes from mmap and is given back with the process; what packs journals
 *         (agent/stream_pack.c, agent/stream_tables.c) has one ledger in each process, as inside a
 *         program.
 */
#include "agent/arena.h"
#include "base/str.h"
#include "target/kernel.h"

struct agent agent;
struct book agent_book;
unsigned long sys_page_bytes = ARCH_PAGE_MOST;

bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS])
{
        (void)number, (void)arguments;
        return true;
}

bool sandbox_refused_memory(void)
{
        return false;
}

uint32_t sys_pid_known(void)
{
        return 0;
}

void agent_stop(enum ledger_stop reason)
{
        (void)reason;
}

void *arena_private(uint64_t size)
{
        return sys_memory(size);
}

void *arena_table(struct arena_table *t, uint64_t size)
{
        *t = (struct arena_table){ .at = sys_memory(size), .size = size };
        return t->at;
}

bool arena_table_open(struct arena_table *t, uint64_t bytes)
{
        if (bytes > t->size)
                return false;
        t->open = bytes > t->open ? bytes : t->open;
        return true;
}

size_t strnlen(const char *text, size_t most)
{
        size_t n = 0;

        while (n < most && text[n])
                n++;
        return n;
}

void *memchr(const void *bytes, int byte, size_t count)
{
        const uint8_t *at = bytes;

        for (; count; count--, at++)
                if (*at == (uint8_t)byte)
                        return (void *)(uintptr_t)at;
        return NULL;
}

/* Texts here have room from the beginning (host.c): one that is full was not meant to be. */
void str_reserve(struct str *s, size_t more)
{
        (void)s, (void)more;
        kernel_exit(3);
}
