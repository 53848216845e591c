/* SPDX-License-Identifier: MIT */
/*
 * tracked.h -- one process of a light target, whose ledger is kept here: leak searches, snapshots,
 * control.
 *
 * A search takes two things of one moment: the memory there, and the ledger here.  A further
 * connection asks for the process to be held (held.h); its journal says when it has come to that
 * moment (MOMENT), and waits until the process that searches has read the ledger:
 *
 *     host                                     target
 *     HOLD, ticket 7          --- held.h --->  all threads stop; a copy is made; they go on
 *     threads, mappings       <-------------   ...
 *     events, MOMENT 7        <--- journal --  the relay comes to that place of the ring
 *     the worker begins: ledger, then memory   <--- held.h ---
 */
#ifndef SEEP_REMOTE_TRACKED_H
#define SEEP_REMOTE_TRACKED_H

#include "journal/incoming.h"
#include "remote/held.h"
#include "remote/light.h"
#include "session/scanner.h"
#include "wire/hello.h"

struct tracked {
        uint32_t number, pid;
        bool is_main, over, late; /* late: the host did not see its beginning */
        struct incoming *in; /* NULL: nothing has come of it, or it is over */

        struct scanner scanner;
        int scanning; /* its worker's end is read here; -1 none */
        struct held *held; /* asked for, and not searched yet; NULL */
        uint32_t ticket, asked; /* asked: the search that the program waits for; 0 none; ... */
        uint32_t reason; /* ... enum ledger_scan */

        uint32_t depth;
        uint32_t reported_seq; /* the last snapshot with a report */
        struct worker reporter;
        int reporting; /* as scanning */
        int asker; /* who waits for that report */
        struct incoming_moment moment;
};

/* What all of them need of the keeper. */
struct tracked_house {
        const struct link *link; /* to the target */
        const struct light_wishes *wishes;
        const char *folder; /* for reports until they are sent */
        uint32_t next_ticket;
        void *context;
        /* The search that P waited for is done. */
        void (*searched)(void *context, const struct tracked *p, uint64_t definite);
};

void tracked_init(struct tracked *p, uint32_t number, uint32_t pid);

/* Requests; FD, the connection, is moved. */
void tracked_ask_scan(struct tracked_house *h, struct tracked *p, const struct wire_request *ask,
                      int fd);
void tracked_ask_snapshot(struct tracked_house *h, struct tracked *p,
                          const struct wire_request *ask, int fd);
void tracked_ask_control(struct tracked_house *h, struct tracked *p,
                         const struct wire_request *ask, int fd);
void tracked_ask_status(const struct tracked *p, int fd);

/* P->in is new: what was asked before anything came of it is begun. */
void tracked_began(struct tracked_house *h, struct tracked *p);

/* The program waits for a search; its journal has come to the moment of TICKET. */
void tracked_asks(struct tracked_house *h, struct tracked *p, const struct protocol_asks *a);
void tracked_moment(struct tracked_house *h, struct tracked *p, uint32_t ticket);

/* The connection is lost: what was asked for will not come. */
void tracked_lost(struct tracked_house *h, struct tracked *p);

/* Descriptors whose end or answer is waited for, at most TRACKED_WAITS; and a look at them. */
#define TRACKED_WAITS 3u
void tracked_waits(const struct tracked *p, int out[TRACKED_WAITS]);
void tracked_look(struct tracked_house *h, struct tracked *p);

/* It is over: all that is known of it.  P->in is freed. */
void tracked_finish(struct tracked_house *h, struct tracked *p, struct profile *out);

#endif
