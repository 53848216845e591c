/* SPDX-License-Identifier: MIT */
/*
 * roots.h -- the roots of a leak search: data of modules, stacks, registers, thread-local storage,
 * mappings.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  not the allocator's memory (but for the blocks in it), not ours, not the stacks of dead
 *         threads, not what is below a stack pointer.
 *
 * What is written into the kernel's map of the process starts as "memory of unknown origin"; what
 * is known better is then drawn over it, the surest last (segments.h):
 *
 *     the map                what is drawn over it
 *
 *     [binary rw-]           data of the binary
 *     [heap]                 erased: the allocator's
 *     [libc rw-]             data of libc, less the main arena
 *     [arena of a thread]    erased: the allocator's
 *     [mmap of the program]  a region with its call stack, or still of unknown origin
 *     [stack of a thread]    above the stack pointer: stack; below: erased; at the end: TLS
 *     [stack]                above the stack pointer: stack; below: erased
 *
 * Added at the end: registers of each stopped thread (the innermost 128 bytes below its stack
 * pointer belong to the stack: red zone), blocks in the hands of realloc, what SEEP_ROOT named.
 *
 * The allocator's memory must go: its free lists point at blocks that were lost long ago.  Blocks
 * inside of it are searched when something reaches them, not as roots.
 */
#ifndef SEEP_SCAN_ROOTS_H
#define SEEP_SCAN_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "collect/view.h"
#include "leak/search.h"
#include "profile/model.h"
#include "scan/scan_blocks.h"

struct roots_input {
        const struct freeze *freeze;
        bool emulated;     /* threads and registers are those of an emulator that runs it; ... */
        uint64_t stack_sp; /* ... the stack from here on is that of its thread that waits for us; 0
                            * none does */
        const struct view *view;  /* refreshed at the stop */
        const struct profile *p;  /* modules and regions */
        const struct scan_entries *entries;
        const struct search_range *moving; /* blocks that were in the hands of realloc */
        uint32_t moving_count;
        const struct search_range *heaps; /* memory of the allocator's, where that is known */
        uint32_t heap_count;
};

/* Memory that is in use, wherever it lies.  A block that it is in is a root itself: TLS, one whose
 * words the root has; else (SEEP_ROOT) one that counts as reachable. */
struct roots_used {
        uint64_t start, end;
        bool tls;
};

struct roots {
        struct profile_root *at;
        struct search_root *search; /* the same in the words of the search */
        uint32_t count;
        struct search_range *code; /* modules, sorted */
        uint32_t code_count;
        struct roots_used *used; /* sorted by start */
        uint32_t used_count;
        uint32_t allocator; /* module of an allocator other than the C library's;
                             * PROFILE_NO_MODULE */
        uint64_t *words; /* of registers */
};

void roots_find(struct roots *r, const struct roots_input *in);
void roots_free(struct roots *r);

#endif
