/* SPDX-License-Identifier: MIT */
/*
 * core.h -- core files: memory, threads and mappings of a process that has ended.
 *
 * Room:   outside.
 * Keeps:  no byte of the file is trusted.  Memory that is not in it (coredump_filter leaves out
 *         what files have) is read from those files, when they are the same by their build ids.
 */
#ifndef SEEP_ATTACH_CORE_H
#define SEEP_ATTACH_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "base/err.h"

struct core;

/* Where files of that machine are. */
struct core_files {
        const char *exe;     /* the program; NULL: where it was */
        const char *sysroot; /* a copy of the machine's /; NULL: here */
};

/* Whether FILE looks like a core file, of any machine. */
bool core_is(const char *file);

/* Fill F from the core in FILE, as freeze_stop() does; to be ended with freeze_close().  false: E
 * says why: no core, cut off at its headers, of another kind of processor, ... */
bool core_open(struct freeze *f, const char *file, const struct core_files *files, struct err *e);
void core_close(struct core *c);

/* What is told about the process. */
struct core_about {
        char *exe;       /* path of the program on its machine; "" unknown */
        char *arguments; /* as far as the kernel keeps them (80 bytes) */
        uint32_t pid, ppid, signal;
        uint64_t missing_bytes; /* of writable memory that is not in the file */
        uint64_t cut_bytes;     /* that the file should have behind its end */
        char *other_file; /* not used: its build id is not that of its memory; NULL none */
};
const struct core_about *core_about(const struct core *c);

/* As in freeze.h. */
size_t core_read(const struct core *c, uint64_t address, void *to, size_t bytes);
uint64_t core_next_used(const struct core *c, uint64_t address, uint64_t end);

#endif
