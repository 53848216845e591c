/* SPDX-License-Identifier: MIT */
/*
 * slot.h -- functions of the program's own that allocate, which seep has found: slots for them.
 *
 * Room:   inside; in the library of agent/inject.h only.
 */
#ifndef SEEP_AGENT_SLOT_H
#define SEEP_AGENT_SLOT_H

#include "wire/inject.h"

extern struct wire_inject_slot slot_table[WIRE_INJECT_SLOTS];
extern const union wire_address slot_hooks[WIRE_INJECT_SLOTS];

#endif
