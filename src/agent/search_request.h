/* SPDX-License-Identifier: MIT */
/*
 * search_request.h -- asking the observer for a search for leaks, and waiting while it reads our
 * memory.
 *
 * Room:   inside; at the end of the program, before exec, before a signal ends it, and when
 *         it calls SEEP_LEAK_CHECK.
 * Keeps:  nothing is searched in here.  The frames of ours on the stack are no roots; those of the
 *         hook are, because the program's registers may be saved there.
 */
#ifndef SEEP_AGENT_SEARCH_REQUEST_H
#define SEEP_AGENT_SEARCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/arch.h"
#include "ledger/ledger.h"

/* Whether a search for REASON is wanted and can be had now. */
bool search_request_wanted(enum ledger_scan reason);

/* Whether one is being made because the program is about to go. */
bool search_request_is_last(void);

/* The answer: how many blocks are definitely lost.  STACK: where the program's part of
 * the stack begins; 0: all of it is.  CONTEXT: what a signal interrupted, where one is
 * about to end the program. */
size_t search_request_wait(enum ledger_scan reason, uint64_t stack, const void *context);

/* In a hook: its frame gets the registers of the program that nobody has saved yet. */
#define SCAN_ASK(reason)                                                       \
        ({                                                                     \
                uint64_t registers_[ARCH_REGS] = { 0 };                        \
                size_t definite_ = 0;                                          \
                                                                               \
                if (search_request_wanted(reason)) {                                     \
                        arch_registers(registers_);                            \
                        definite_ = search_request_wait(reason, registers_[ARCH_REG_STACK], NULL); \
                }                                                              \
                definite_;                                                     \
        })

/* SEEP_IGNORE and SEEP_ROOT. */
void search_request_ignore(uint64_t address);
void search_request_root(uint64_t start, size_t size);

#endif
