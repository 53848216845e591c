/* SPDX-License-Identifier: MIT */
/*
 * parts.h -- what the files of incoming.h share: one process on another machine, with its ledger
 * here.
 */
#ifndef SEEP_JOURNAL_PARTS_H
#define SEEP_JOURNAL_PARTS_H

#include "base/table.h"
#include "book/book.h"
#include "collect/slices.h"
#include "journal/incoming.h"
#include "profile/cursor.h"

/* A thread of the program. */
struct incoming_thread {
        struct book_writer writer;
        bool known;
        /* A realloc that has not ended. */
        bool moving;
        struct ledger_block *place, block;
        uint64_t address;
};

/* What an unmap took away, in case it did not happen. */
struct incoming_cut {
        struct ledger_region was;
        uint64_t bytes;
        bool whole;
};

/* The maximum of live bytes, and what a site had then. */
struct apply_peak {
        uint64_t bytes, ms, error_bytes;
};
struct apply_part {
        uint32_t site;
        uint64_t bytes, blocks;
};

struct incoming_packet {
        struct incoming_head head;
        uint8_t *body; /* NULL: none */
};

struct incoming {
        struct book book;
        int ledger;
        struct view view;
        struct slices slices;
        struct journal_model model;
        bool in_step;        /* the model is that of the writer */
        uint32_t expected;   /* the next packet */
        struct incoming_packet ahead[INCOMING_AHEAD];
        uint32_t ahead_count;

        uint64_t bytes, packets, lost_packets, damaged_bytes, damaged_packets;
        uint64_t events, strangers; /* strangers: releases of what never came */
        uint64_t lost_told, lost_here;
        uint64_t older_here; /* releases of blocks from before incoming_reset() */
        bool looked_at; /* the program runs, and this is a moment of it */
        bool again; /* what comes may be known already, or over (JOURNAL_AGAIN) ... */
        bool was_again; /* ... and so it began: totals of the time before are sums only */
        bool peak_told; /* the maximum of the time before */
        struct apply_peak peak; /* while AGAIN: the one that was told last */
        struct apply_part *parts;
        uint32_t part_count;
        struct profile_mark *marks; /* while AGAIN: from before */
        uint32_t mark_count;

        struct incoming_thread *threads;
        uint32_t thread_count;
        struct ledger_region *regions; /* by address */
        uint32_t region_count;
        struct incoming_cut *cuts; /* of the last unmap ... */
        uint32_t cut_count, cut_thread;
        struct ledger_handle *handles;
        struct table handle_table;
        uint32_t handle_count;
        uint32_t seq; /* of the last snapshot */
        uint32_t depth; /* innermost frames that profiles keep, 0 all */

        uint8_t byte_order;
        char cwd[JOURNAL_TEXT_MAX + 1], host[JOURNAL_TEXT_MAX + 1];
        uint32_t end, status; /* enum journal_end; 0 not told */
        uint64_t end_events;
        uint32_t end_ms;
};

/* ---- incoming.c ---- */

/* NUMBER may be one of a table whose entries take some bytes each to tell. */
bool incoming_may_be(const struct incoming *in, uint64_t number, uint32_t most);

/* ---- records.c ---- */

/* The records of one body.  False: it makes no sense from some byte on. */
bool records_read(struct incoming *in, const uint8_t *body, uint32_t bytes);

/* ---- apply.c: events into the book ---- */

bool apply_start(struct incoming *in);
void apply_event(struct incoming *in, const struct ledger_event *e);

/* A block, of a pool or not, that was there before. */
void apply_held(struct incoming *in, const struct ledger_event *e);

/* So many blocks of SITE came and went before. */
struct apply_past {
        uint64_t site, blocks, bytes, lifetime_ms, temporary;
};
void apply_gone(struct incoming *in, const struct apply_past *past);

/* What was there before is told: the time, the maximum and the course go on from here. */
void apply_current(struct incoming *in);

/* SEEP_IGNORE, of a block that lives. */
void apply_ignore(struct incoming *in, struct incoming_thread *t, uint64_t address);

/* It is MS: time goes on. */
void apply_time(struct incoming *in, uint32_t ms);
void apply_mark(struct incoming *in, const struct ledger_mark *m);
struct incoming_thread *apply_thread(struct incoming *in, uint32_t number);
void apply_end(struct incoming *in);

/* Reallocs that have not ended are over. */
void apply_settle(struct incoming *in);

/* The counters of SITE for T; NULL: it cannot be one. */
struct ledger_counter *apply_counter(struct incoming *in, struct incoming_thread *t,
                                       uint32_t site);

/* ---- extents.c: mappings and resources ---- */

void extents_add(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e);
void extents_stack(struct incoming *in, const struct ledger_event *e);
void extents_remove(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e);
void extents_put_back(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e);
void extents_acquire(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e);
void extents_release(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e);
void extents_end(struct incoming *in);

#endif
