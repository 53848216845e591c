/* SPDX-License-Identifier: MIT */
/*
 * error.h -- invalid frees: which check fails, and the list of them.
 *
 * Room:   both sides; any context.
 * Keeps:  one entry per distinct (type, releasing stack, allocating site); the table is short and
 *         searched from the front.
 */
#ifndef SEEP_BOOK_ERROR_H
#define SEEP_BOOK_ERROR_H

#include "book/book.h"

#define ERROR_MAX 4096u

/* How a block is released: by which functions, and what the call says about it. */
struct book_release {
        uint32_t family; /* enum ledger_family */
        bool sized, aligned;
        uint64_t size, align;
};

/* Does the block B fit a release of R?  Only its own kind tells whether aligned new made it
 * (LEDGER_KIND_SEE_SITE): false is no more than a reason to ask error_mismatch(). */
BOOK_INLINE bool error_fits(const struct ledger_block *b, struct book_release r)
{
        uint32_t kind = LEDGER_BLOCK_KIND(*b);

        if (r.sized && r.family == LEDGER_FAMILY_C && kind == LEDGER_KIND_ALIGNED_ALLOC)
                return false; /* not by free_sized */
        return book_family(kind) == r.family && !r.aligned &&
               (!r.sized || LEDGER_BLOCK_SIZE(*b) == r.size);
}

/* An error of TYPE about BLOCK, NULL for none; its address, stack and thread are the caller's to
 * add. */
struct ledger_error error_of(enum ledger_error_type type, const struct ledger_block *block,
                             uint32_t family);

/* What does not fit when BLOCK is released by R: LEDGER_ERROR_NONE in its type if all does. */
struct ledger_error error_mismatch(const struct book *k, const struct ledger_block *block,
                                   const struct book_release *r);

/* F has happened now: count it with those like it, or add it. */
void error_note(struct book *k, struct ledger_error *f);

/* Get what is needed while it can be had. */
bool error_prepare(struct book *k);

#endif
