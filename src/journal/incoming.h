/* SPDX-License-Identifier: MIT */
/*
 * incoming.h -- from the journal of a program on another machine to a recording: packets in, a
 * ledger by the same book as inside a program, a profile out.
 *
 * Keeps:  no byte is trusted: what makes no sense is counted and left out, and no number in a
 *         packet makes a table larger than the bytes that came could fill.
 * Cost:   some 60 ns an event; memory as a ledger inside the program takes.
 */
#ifndef SEEP_JOURNAL_INCOMING_H
#define SEEP_JOURNAL_INCOMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/view.h"
#include "profile/model.h"
#include "wire/journal.h"

struct incoming;

/* What the head of a packet says. */
struct incoming_head {
        uint32_t bytes; /* of the body */
        uint32_t number, sum, pid, stream;
        uint8_t version, word_bytes, byte_order, flags;
};

/* JOURNAL_HEAD bytes at FROM.  False: they are no head of a packet that we can read; E says more
 * when it is one of a later version. */
bool incoming_head(const uint8_t *from, struct incoming_head *out, struct err *e);

struct incoming *incoming_new(struct err *e);
void incoming_free(struct incoming *in);

/* A packet with its body.  Those that come too early wait for those before them, up to
 * INCOMING_AHEAD. */
#define INCOMING_AHEAD 64u
void incoming_packet(struct incoming *in, const struct incoming_head *head, const uint8_t *body);

/* What is missing will not come any more: those that wait for it are taken. */
void incoming_give_up(struct incoming *in);

/* COUNT bytes were no packet. */
void incoming_damaged(struct incoming *in, uint64_t count);

/* Whether the program has told its end. */
bool incoming_is_over(const struct incoming *in);

/* Whether its recording ended so, and the process went on. */
bool incoming_is_left(const struct incoming *in);

/* The process's name, as it was told. */
const char *incoming_program(const struct incoming *in);

/* All that came, as a profile; the caller's to free.  IN cannot be used any more but freed. */
void incoming_profile(struct incoming *in, struct profile *p);

/* The same of a program that runs, in a forked process: the one that goes on to fill IN has to
 * wait meanwhile, and can go on afterwards. */
void incoming_look(struct incoming *in, struct profile *p);

/* Its ledger, fresh. */
const struct view *incoming_view(struct incoming *in);

/* ---- a program that can be asked, too: a search for leaks, snapshots, control ---- */

/* Memory that it has, as struct ledger_range[]. */
struct incoming_ranges {
        const struct ledger_range *at;
        uint32_t count;
};

/* What a search must know besides: where malloc is, the agent's memory, what SEEP_ROOT named. */
struct incoming_facts {
        uint64_t allocator;
        struct incoming_ranges own, told;
        uint64_t scan_sp, scan_context; /* of the thread that waits for the search */
};
void incoming_tell(struct incoming *in, const struct incoming_facts *f);

/* It waits for the search ASKED (ledger_head.scan_asked), for this reason. */
void incoming_asks(struct incoming *in, uint32_t asked, uint32_t reason);

/* Innermost frames that a profile keeps, 0 all. */
void incoming_depth(struct incoming *in, uint32_t depth);

/* A moment with a name, TYPE being LEDGER_MARK_TAG, _OUTSIDE, _ENABLE or _DISABLE; the number of a
 * snapshot, and what was live then. */
struct incoming_moment {
        uint32_t seq;
        uint64_t live_bytes, live_blocks;
};
void incoming_mark(struct incoming *in, uint32_t type, const char *label,
                   struct incoming_moment *out);

/* New blocks are not recorded there (OFF), or are again. */
void incoming_off(struct incoming *in, bool off);

/* What was counted is forgotten (collect/reset.h). */
bool incoming_reset(struct incoming *in, struct err *e);

/* ---- a journal in a file ---- */

/* Whether PATH begins as one. */
bool incoming_is_file(const char *path);
bool incoming_read(struct profile *p, const char *path, struct err *e);

#endif
