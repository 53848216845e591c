/* SPDX-License-Identifier: MIT */
/*
 * arena.h -- the ledger's memory: one sparse file, reserved at once, made writable part by part.
 *
 * Room:   inside; any context.
 */
#ifndef SEEP_AGENT_ARENA_H
#define SEEP_AGENT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

/* Make the memfd, reserve its address space, commit the head and write its extents.  Returns the
 * descriptor (the caller closes it) or a negative errno; sets agent.head and agent_book. */
long arena_create(void);

/* By how much limits on address space that the program sets are raised for the kernel.  0: it runs
 * under one that could not be, and the ledger takes its share of it. */
uint64_t arena_reserved(void);

/* Make sure that the first BYTES of PART are writable.  False: the part is full or the kernel
 * refused. */
bool arena_commit(enum ledger_part part, uint64_t bytes);

/* Memory of our own: private, zero, not in core files, and known as ours to who searches for leaks.
 * NULL when there is none. */
void *arena_private(uint64_t size);

/* The same for what will be written all over at once, such as a hash table: in huge pages where
 * the kernel has them, which spares it most of its page faults. */
void *arena_dense(uint64_t size);
void arena_private_free(void *p, uint64_t size);

/* The same is known of [START, START + SIZE). */
void arena_own(uint64_t start, size_t size);

/* A table of our own that stays where it is and grows: all of its room is reserved, and writable as
 * far as it was opened.  Only that counts where a program's data are limited (ulimit -d). */
struct arena_table {
        uint8_t *at;
        uint64_t size, open;
        struct arena_table *next;
};

/* Reserve SIZE bytes for T, which is never given back.  NULL when there is no room. */
void *arena_table(struct arena_table *t, uint64_t size);

/* Make sure that the first BYTES of T can be written.  False: it has no more, or the kernel
 * refused. */
bool arena_table_open(struct arena_table *t, uint64_t bytes);

/* What a full ledger means is told by thin.c; those who fill it know no more than this.
 *
 * The ledger has become larger, or may have: is it time to record less? */
void thin_check(void);

/* There is no room for more, for this reason: new blocks are counted only, and
 * releases followed as before. */
void thin_end(enum ledger_stop reason);

/* A filter of system calls will keep memory from us: get now what may be needed. */
void arena_stock_up(void);

/* Copy the ledger into a new memfd, touched pages only.  Returns its descriptor or a negative
 * errno. */
long arena_copy(void);

/* Copy the tables that only grow once more, and the head with their counts: what other threads
 * added between the copy and the fork, the child's private tables know already. */
bool arena_copy_again(long fd);

/* Map the ledger in FD at the address of the present one, in its place. */
bool arena_replace(long fd);

/* The ledger in a file of its own from now on, with all that is in it; no other thread runs.
 * Returns its descriptor, or negative errno: then nothing has changed. */
long arena_renew(void);

static inline void *arena_at(enum ledger_part part);

#include "agent/agent.h"

static inline void *arena_at(enum ledger_part part)
{
        return (uint8_t *)agent.head + agent.head->part[part].offset;
}

#endif
