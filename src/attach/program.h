/* SPDX-License-Identifier: MIT */
/* program.h -- from the name on the command line to a file that can be started and recorded. */
#ifndef SEEP_ATTACH_PROGRAM_H
#define SEEP_ATTACH_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/elf.h"
#include "base/err.h"

/* Who will run the program: what setuid bits are compared with. */
struct program_user {
        uid_t uid;
        gid_t gid;
};

/* The file that execvp() would take for NAME, the caller's to free().  NULL: exit code 127 or 126
 * in E. */
char *program_find(const char *name, struct err *e);

/* What the kernel will load for a file: the file itself, or the interpreter of that script. */
struct program_image {
        char file[4096];
        struct elf_facts facts;
};

bool program_look(const char *path, struct program_image *out, struct err *e);

/* Whether it has a loader, which maps libraries for it. */
static inline bool program_is_static(const struct elf_facts *f)
{
        return f->is_elf && !f->foreign && !f->has_interp && !f->is_loader;
}

/* Whether the file PATH, which is F, has its loader, and one that takes our library. */
bool program_check_start(const char *path, const struct elf_facts *f,
                         const struct program_user *user, struct err *e);

/* Whether the preloaded agent can work in the file PATH (or the interpreter of that script): exit
 * code 3 when not, 126 and 127 when it cannot be started at all. */
bool program_check(const char *path, const struct program_user *user, struct err *e);

/* The same for an agent that is written into it: it need not have a loader. */
bool program_check_written(const char *path, const struct program_user *user, struct err *e);

/* The same for a file that is running somewhere, as one phrase ("is statically
 * linked"); NULL: nothing is wrong. */
const char *program_obstacle(const char *path, const struct program_user *user);

#endif
