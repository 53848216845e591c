/* SPDX-License-Identifier: MIT */
/*
 * cfi.h -- what .eh_frame says about one address: how to find the caller's registers.
 *
 * Room:   inside; any context.  Reads the mapped unwind tables of an object, nothing else.
 */
#ifndef SEEP_AGENT_CFI_H
#define SEEP_AGENT_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/arch.h"

enum cfi_how {
        CFI_SAME,       /* unchanged (also: nothing said) */
        CFI_UNDEFINED,
        CFI_AT_CFA,     /* saved at CFA + offset */
        CFI_IS_CFA,     /* is CFA + offset */
        CFI_REGISTER,   /* in register `offset` */
        CFI_EXPRESSION, /* saved at the value of an expression */
        CFI_VALUE       /* is the value of an expression */
};

struct cfi_rule {
        uint8_t how;
        uint16_t expression_bytes;
        int64_t offset;
        const uint8_t *expression;
};

struct cfi_row {
        struct cfi_rule cfa; /* CFI_REGISTER: `reg` + offset, or CFI_VALUE */
        uint32_t cfa_register;
        bool signal_frame;
        struct cfi_rule registers[ARCH_REGS];
};

#define CFI_REMEMBER 4

/* Working memory of one look-up; too large for the small stacks the agent may run on. */
struct cfi_work {
        struct cfi_row row, initial, remembered[CFI_REMEMBER];
};

struct object;
struct thread;

/* Find the row for PC (the address of an instruction, so return address - 1) in the
 * tables of O.  The result is in W->row.  False: nothing is said about PC, or it is said
 * in a way not known here. */
bool cfi_find(const struct object *o, uint64_t pc, struct cfi_work *w);

/* Whether the .eh_frame_hdr of O has a table of the kind that is known here. */
bool cfi_has_table(const struct object *o);

/* The address of the code that the FDE at P is about. */
bool cfi_fde_start(const struct object *o, const uint8_t *p, uint64_t *start);

/* What an expression may ask for. */
struct cfi_frame {
        const uint64_t *registers; /* as the frame has them */
        const uint64_t *first;     /* is pushed before it starts; NULL nothing */
        struct thread *thread;     /* whose memory it may read; NULL none */
};

/* Value of a DWARF expression.  False: an operation not known here, or memory that is not there. */
bool cfi_evaluate(const struct cfi_rule *r, const struct cfi_frame *frame, uint64_t *value);

#endif
