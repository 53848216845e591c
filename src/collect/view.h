/* SPDX-License-Identifier: MIT */
/*
 * view.h -- a ledger that another process writes, read without trust.
 *
 * Keeps:  the ledger is read with pread(): a mapped file that its owner shortens would kill us with
 *         SIGBUS, and a mapped read of a hole would allocate it.  Only the head is mapped, and only
 *         when the file is sealed against shortening, for the words that both sides change.
 *         Whatever the head says, nothing outside the part's committed bytes is read, and no table
 *         is taken for larger than the memory that the file really holds.
 * Cost:   about 0.3 us a read plus copying at memory speed.
 */
#ifndef SEEP_COLLECT_VIEW_H
#define SEEP_COLLECT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ledger/ledger.h"

struct view {
        int fd;
        bool turned; /* the program has the other byte order (turn.h): of all that is read here,
                      * but for what is behind SHARED */
        uint64_t present_bytes;  /* memory behind the file; holes do not count */
        uint64_t spare_bytes;    /* of it, made for the program (ahead.h) and not yet its own */
        uint64_t most_bytes;     /* the most that was seen of it ... */
        uint64_t most_own;       /* ... and of it without what was spare */
        struct ledger_head head; /* a checked copy: extents lie inside the file, texts end */
        struct ledger_head *shared; /* the program's own, see view_shared() */
        struct blocks_listener *listener; /* of whoever reads blocks (blocks.h); mostly NULL */
};

/* Look at the ledger in FD, which from then on belongs to V (closed on failure too). */
bool view_open(struct view *v, int fd, struct err *e);
void view_close(struct view *v);

/* Memory of the ledger that counts as the program's. */
static inline uint64_t view_own_bytes(const struct view *v)
{
        return v->present_bytes > v->spare_bytes ? v->present_bytes - v->spare_bytes : 0;
}

/* Copy and check the head again; on failure the earlier copy stays. */
bool view_refresh(struct view *v, struct err *e);

/* COUNT entries of PART, as the head claims, cut down to what can be there. */
uint32_t view_count(const struct view *v, enum ledger_part part, uint32_t count,
                    size_t entry_bytes);

/* BYTES at AT of PART.  What lies outside is zero, and the answer then false. */
bool view_read(const struct view *v, enum ledger_part part, uint64_t at, void *to, size_t bytes);

/* The first *COUNT (cut down) entries of PART in memory of the caller's to free(). */
void *view_table(const struct view *v, enum ledger_part part, uint32_t *count, size_t entry_bytes);

/* The next stretch of PART that holds data, at or after *AT and before END: moves *AT to its start
 * and returns its end, or 0 when there is none. */
uint64_t view_data(const struct view *v, enum ledger_part part, uint64_t *at, uint64_t end);

/* Where in [AT, END) of PART the first data are; END: there are none. */
uint64_t view_next(const struct view *v, enum ledger_part part, uint64_t at, uint64_t end);

/* BYTES to AT of PART; false: they cannot be written there. */
bool view_write(const struct view *v, enum ledger_part part, uint64_t at, const void *from,
                size_t bytes);

/* The head as the program has it, for words that both sides write; NULL when it is not safe to map.
 * Anything may be in it at any time: one atomic load or store per word, nothing else, and through
 * view_load and the like, which know its byte order. */
struct ledger_head *view_shared(const struct view *v);
uint32_t view_load(const struct view *v, const uint32_t *word);
void view_store(const struct view *v, uint32_t *word, uint32_t value);
void view_store_long(const struct view *v, uint64_t *word, uint64_t value);
uint32_t view_add(const struct view *v, uint32_t *word, uint32_t more); /* gives the sum */
bool view_change(const struct view *v, uint32_t *word, uint32_t from, uint32_t to);

/* Tell the program what time it is (never turned back), and who watches (0: nobody any more).
 * WORKING: a search or a report is under way, and whoever waits for it waits on. */
void view_tick(const struct view *v, uint64_t now_ms, bool working);
void view_observer(const struct view *v, uint32_t pid);

/* The clock is set on by one at least, and told: what happens from now on has this time or a later
 * one. */
uint32_t view_moment(const struct view *v);

/* The search for leaks that was ASKED for (ledger_head.scan_asked) is done, and found so many
 * DEFINITE ones: wake whoever waits for that. */
void view_scanned(const struct view *v, uint32_t asked, uint64_t definite);

/* Marks [0, SERVED) are done with: wake whoever waits for that. */
void view_served(const struct view *v, uint32_t served);

/* Whether an emulator runs the program: its threads, registers and thread pointers are not what the
 * kernel shows. */
bool view_is_emulated(const struct view *v);

/* Whether the process was about to become another program when it was last heard of. */
bool view_is_leaving(const struct view *v);

/* Its process has COUNT filters of system calls. */
void view_filters(const struct view *v, uint32_t count);

/* New blocks of it are not recorded from now on (OFF), or are again. */
void view_off(const struct view *v, bool off);

/* The process will not be observed: nobody in it need wait for us. */
void view_refuse(const struct view *v);

#endif
