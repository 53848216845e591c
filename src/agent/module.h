/* SPDX-License-Identifier: MIT */
/*
 * module.h -- which module of the ledger an object is: the same one each time the same library is
 * loaded.
 *
 * Room:   inside; with the lock of object.c held.
 * Keeps:  a module is what has this path and this content (its build id; without one, its inode
 *         and first page).  Stack nodes name modules, with addresses as they are in the file
 *         (ledger.h), so a library that comes back at another address gives the same nodes.  Once
 *         a node may name a module, its number never means another one.  An entry that no node
 *         names is only a place where code is, and is given to the next that needs one when that
 *         code has gone.  What an object is cannot be known before its memory may be read
 *         (object_open): until then it has the entry of a module that went and came from the same
 *         file, or one of its own.
 */
#ifndef SEEP_AGENT_MODULE_H
#define SEEP_AGENT_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"

struct maps_line;
struct object;

#define MODULE_NONE LEDGER_NODE_NO_MODULE

bool module_start(void);

/* O, with its code at LINE, has just been seen for the first time: give it an entry.  O->module is
 * MODULE_NONE when there is no room. */
void module_enter(struct object *o, const struct maps_line *line);

/* What O is, is known: FOUND has what its headers tell (end, bias, build id, flags),
 * PRINT a number for its content.  Returns the module that nodes name; MODULE_NONE:
 * there is no room for another. */
uint32_t module_settle(struct object *o, const struct ledger_module *found, uint64_t print);

/* "" when it has no entry. */
const char *module_path(const struct object *o);

/* The code of O is not mapped any more. */
void module_leave(struct object *o);

/* In a forked child, whose ledger is a copy that may be younger than what we know:
 * numbers that the parent has given since are taken, and the entry of each object that is
 * mapped is written once more. */
void module_forked(void);
void module_again(const struct object *o);

#endif
