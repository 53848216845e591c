/* SPDX-License-Identifier: MIT */
/*
 * held.h -- a stopped process of a light target, or a copy of it: its threads and mappings, and its
 * memory, fetched on demand.
 *
 * Keeps:  nothing that comes is trusted.  Memory is read through a connection of its own; when that
 *         breaks, what is missing reads as not there, and held_freeze()'s lasts() says so.  What is
 *         read in small pieces is fetched in larger ones, and kept.
 */
#ifndef SEEP_REMOTE_HELD_H
#define SEEP_REMOTE_HELD_H

#include "attach/freeze.h"
#include "attach/mappings.h"
#include "leak/search.h"
#include "remote/link.h"

struct held;

struct held_order {
        const struct link *link; /* to the target */
        const char *root; /* in front of the paths of its files; "" they are here */
        uint32_t pid, ticket;
        bool still; /* no copy is made */
};

/* Ask for it.  NULL: E. */
struct held *held_open(const struct held_order *o, struct err *e);

/* Let it go. */
void held_close(struct held *h);

/* The same for who has given it to a worker, which has it still. */
void held_forget(struct held *h);

/* Where the answer comes; when it does: false: E. */
int held_wait_at(const struct held *h);
bool held_answer(struct held *h, struct err *e);
bool held_is_answered(const struct held *h);

/* What the agent there told, that a search must know. */
struct held_facts {
        uint64_t allocator, scan_sp, scan_context;
        const struct search_range *own, *told; /* the agent's memory; what SEEP_ROOT named */
        uint32_t own_count, told_count;
};
void held_facts(const struct held *h, struct held_facts *out);

/* scan_far.hold: H as a frozen process; to be ended with freeze_close(). */
bool held_freeze(void *held, struct freeze *f, struct err *e);

/* For tests: the answer, in COUNT bytes. */
bool held_parse(struct held *h, const uint8_t *bytes, size_t count);
struct held *held_new(const struct held_order *o);

/* Ask PID to begin or to stop recording (WIRE_CONTROL_*); how long it stood still for that. */
bool held_control(const struct held_order *o, uint32_t what, uint64_t *pause_ns, struct err *e);

#endif
