/* SPDX-License-Identifier: MIT */
/*
 * packed.h -- blocks, verdicts and pointers in memory as they are in a file: a few bytes each,
 * where arrays take 56 and 24.
 *
 * Keeps:  a profile has each list in one of the two forms, and struct packed_walk reads both.
 *         Packed lists are whole sections of a file, which the writer copies.
 * Cost:   20 million blocks: 20 to 100 MB instead of 1.1 GB; 10 to 25 ns per block and walk.
 */
#ifndef SEEP_PROFILE_PACKED_H
#define SEEP_PROFILE_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* Lists of at least so many blocks are kept packed. */
#define PACKED_LEAST (1u << 18)

/* ---- making ---- */

struct packer;

/* Start a list of P, whose sites and threads must be complete. */
struct packer *packer_blocks(const struct profile *p);
struct packer *packer_verdicts(const struct profile *p);

/* The next struct profile_block or struct profile_verdict. */
void packer_add(struct packer *k, const void *record);

/* Move the list to P and free K.  false: a record refers to a site or thread that P does not have,
 * and P has no list. */
bool packer_end(struct packer *k, struct profile *p);

enum packed_list { PACKED_BLOCKS, PACKED_VERDICTS, PACKED_POINTERS };

/* A source of records in any order.  FILL puts COUNT of them, from FIRST on, into RECORDS; several
 * threads call it at once, for each record once. */
struct packed_source {
        void *context;
        uint64_t count;
        uint32_t threads;
        void (*fill)(void *context, uint64_t first, uint64_t count, void *records);
};

/* Add all records of FROM behind those added before; each thread makes a section in turn. */
void packer_add_all(struct packer *k, const struct packed_source *from);

/* A whole list from one source. */
bool packed_make(struct profile *p, enum packed_list list, const struct packed_source *from);

/* ---- reading ---- */

struct packed_reader;

struct packed_walk {
        const struct profile *p;
        uint64_t index, next;
        const struct profile_block *block;     /* block INDEX, until the next step */
        const struct profile_verdict *verdict; /* of this block; NULL: there are none */
        struct packed_reader *blocks, *verdicts;
        uint64_t ready; /* blocks from NEXT on that are unpacked */
        const struct profile_block *next_block;
        const struct profile_verdict *next_verdict; /* NULL: there are none */
};

/* From the first block on.  P must outlive the walk. */
void packed_open(struct packed_walk *w, const struct profile *p);
void packed_open_blocks(struct packed_walk *w, const struct profile *p); /* without verdicts */
void packed_close(struct packed_walk *w);

bool packed_more(struct packed_walk *w); /* for packed_next() */

/* The next block; false: there is none. */
static inline bool packed_next(struct packed_walk *w)
{
        if (!w->ready && !packed_more(w))
                return false;
        w->ready--;
        w->index = w->next++;
        w->block = w->next_block++;
        w->verdict = w->next_verdict ? w->next_verdict++ : NULL;
        return true;
}

/* Pointers in order, in batches. */
struct packed_pointers {
        const struct profile *p;
        struct packed_reader *reader;
        uint64_t next;
        uint32_t before; /* FROM of the last one */
};

void packed_pointers_open(struct packed_pointers *w, const struct profile *p);
/* The next *COUNT pointers, valid until the next call; NULL at the end.  A pointer that is out of
 * order, or from or to a block that does not exist, ends the list. */
const struct profile_pointer *packed_pointers_next(struct packed_pointers *w, uint64_t *count);
void packed_pointers_close(struct packed_pointers *w);

/* Single records of packed lists; fast when successive ones are near each other. */
struct packed_reader *packed_random(const struct profile *p, enum packed_list list);
/* Record INDEX, valid until the next call; NULL: it does not exist. */
const void *packed_at(struct packed_reader *r, uint64_t index);
/* The *COUNT records from INDEX on that are unpacked already; NULL: none. */
const void *packed_run(struct packed_reader *r, uint64_t index, uint64_t *count);
void packed_random_free(struct packed_reader *r);

/* Unpack into arrays: all lists, or the pointers only. */
void packed_undo(struct profile *p);
void packed_undo_pointers(struct profile *p);

#endif
