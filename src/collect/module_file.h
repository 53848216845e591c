/* SPDX-License-Identifier: MIT */
/* module_file.h -- facts from the file of a program or library, where the agent has not looked. */
#ifndef SEEP_COLLECT_MODULE_FILE_H
#define SEEP_COLLECT_MODULE_FILE_H

#include <stdint.h>

#include "profile/model.h"

/* Which file: as seen by process PID (gone, or 0: as seen by us), and its number in the file
 * system. */
struct module_file {
        uint32_t pid;
        uint64_t inode;
};

/* The agent opens modules when they are first on a stack.  Of any other, set M's bias, end and
 * build id; it stays as it is when its file is not there any more. */
void module_file_complete(struct profile_module *m, struct module_file file);

#endif
