/* SPDX-License-Identifier: MIT */
/*
 * transactions_parts.h -- what the formats of transactions.h share.
 *
 * Room:   outside, report/transactions*.c only.
 */
#ifndef SEEP_REPORT_TRANSACTIONS_PARTS_H
#define SEEP_REPORT_TRANSACTIONS_PARTS_H

#include "report/transactions.h"

/* An event with what is known about it. */
struct transaction {
        const struct ledger_event *event;
        uint64_t number;
        const struct replay_block *block; /* that is released or comes back; NULL unknown, or
                                           * none */
        uint32_t node; /* its stack, or that of the block that is released; 0 unknown */
};

struct transactions_writer {
        void (*head)(struct transactions *t, struct str *out); /* NULL nothing */
        void (*put)(struct transactions *t, const struct transaction *x, struct str *out);
        void (*end)(struct transactions *t, struct str *out); /* NULL nothing */
};

extern const struct transactions_writer transactions_text, transactions_csv, transactions_memtraq,
        transactions_mmleak;

/* The thread of E, never NULL. */
const struct profile_thread *transactions_thread(const struct transactions *t,
                                                 const struct ledger_event *e);

/* "malloc", "free", "tag", ...: the event in one word. */
const char *transactions_word(const struct transactions *t, const struct ledger_event *e);

/* The label of the mark that E is; "" unknown. */
const char *transactions_label(const struct transactions *t, const struct ledger_event *e);

/* The path of the module that E is; "" unknown. */
const char *transactions_module(const struct transactions *t, const struct ledger_event *e);

/* Each frame of NODE, innermost first; wrappers are left out. */
typedef void transactions_frame(const struct transactions *t, uint32_t node,
                                const struct symbol_frame *frame, uint32_t index, struct str *out);
/* What EACH makes of the stack (NULL: ";0x..." for each return address to the outer end), made once
 * for each node; valid until transactions_free(). */
const char *transactions_stack(struct transactions *t, uint32_t node, transactions_frame *each);

/* Append VALUE with at least WIDTH digits (PAD in front), or as 0x...: printf takes longer than
 * everything else together. */
void transactions_number(struct str *out, uint64_t value, unsigned width, char pad);
void transactions_hex(struct str *out, uint64_t value);

/* Append "module+0x12" or "0xaddress" for an address in code. */
void transactions_place(const struct transactions *t, uint64_t address, struct str *out);

#endif
