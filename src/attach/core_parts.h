/* SPDX-License-Identifier: MIT */
/* core_parts.h -- what the files of core.h share: a core file while it is read. */
#ifndef SEEP_ATTACH_CORE_PARTS_H
#define SEEP_ATTACH_CORE_PARTS_H

#include "attach/core.h"

struct core_segment {
        uint64_t start, end;
        uint64_t offset, stored; /* in the core */
        uint32_t flags;          /* PF_* */
        uint32_t file;           /* 1 + index of the mapping; 0: of no file */
};

/* A mapping of a file, as NT_FILE tells. */
struct core_file {
        uint64_t start, end, offset;
        const char *path;
        int fd; /* -1 */
        bool tried;
};

struct core {
        int fd;
        struct core_segment *segments; /* by address */
        uint32_t segment_count;
        struct core_file *files; /* by address */
        uint32_t file_count;
        char *notes;
        size_t note_bytes;
        uint64_t stack, vdso, program; /* addresses in them; 0 unknown */
        bool narrow, turned;  /* its words have 4 bytes; they have the other byte order than ours */
        bool high_host;       /* ours has the high byte first */
        uint64_t selector;    /* i386: of the last thread's thread-local storage */
        struct core_files where;
        struct core_about about;
        const struct freeze_kind *kind;
        struct freeze_thread *threads;
        uint32_t thread_count;
};

/* Take what the notes say: threads, files, arguments.  The bytes are those of NOTES. */
void core_take_notes(struct core *c);

#endif
