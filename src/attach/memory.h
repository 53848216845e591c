/* SPDX-License-Identifier: MIT */
/*
 * memory.h -- reading the memory of another process, and where it has any.
 *
 * Room:   outside; any thread of ours.
 */
#ifndef SEEP_ATTACH_MEMORY_H
#define SEEP_ATTACH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/mappings.h"

struct memory {
        pid_t tid;
        int mem, pagemap; /* /proc/.../mem and pagemap; -1 */
        bool copy;
        bool watched; /* by userfaultfd: a page that is not there may be waited for without end */
};

#define MEMORY_CLOSED ((struct memory){ .mem = -1, .pagemap = -1 })

/* TID of process PID.  What cannot be opened is done without. */
void memory_open(struct memory *m, pid_t pid, pid_t tid);
/* The same of a copy, which shares its pages with the original. */
void memory_open_copy(struct memory *m, pid_t copy);
void memory_close(struct memory *m);

/* How many bytes from the start could be read. */
size_t memory_read(const struct memory *m, uint64_t address, void *to, size_t bytes);

/* The same of memory that is mapped as OF says (NULL: not known).  Where userfaultfd may watch it,
 * pages that are not there are zeros: whoever would bring them stands still, or has gone. */
size_t memory_read_in(const struct memory *m, const struct mapping *of, uint64_t address, void *to,
                      size_t bytes);

/* The first page at or after ADDRESS that is present or swapped out; END when none is. */
uint64_t memory_next_page(const struct memory *m, uint64_t address, uint64_t end);

/* The same for memory that is shared with a file or others: the first address that
 * has data there, not a hole. */
uint64_t memory_next_data(const struct memory *m, const struct mapping *of, uint64_t address,
                          uint64_t end);

#endif
