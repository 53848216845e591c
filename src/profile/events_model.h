/* SPDX-License-Identifier: MIT */
/*
 * events_model.h -- what the encoder and the decoder of events share: live blocks, and a prediction
 * of the next event.
 *
 * Room:   outside, profile/events_*.c only.
 * Keeps:  both sides call the same functions in the same order, so that both hold the same state
 *         after each event.  Nothing here can make an event wrong; a bad guess makes it longer.
 *
 * Blocks stand in `order` as they were allocated; one that is freed is named by its distance from
 * the end, or as the neighbour of the one freed before.  When the array is full the dead are taken
 * out.  An address is guessed as the C library would choose it: what the same thread freed last in
 * this class of sizes, else the memory behind its last new block.
 */
#ifndef SEEP_PROFILE_EVENTS_MODEL_H
#define SEEP_PROFILE_EVENTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"
#include "profile/events.h"

/* Columns of a batch, in the order of the file. */
#define EVENTS_COLUMNS(X)                                                      \
        X(OP)      /* one byte per event, more when thread or time change */   \
        X(THREAD)  /* changes of thread and time */                            \
        X(SITE)    /* sites that were not guessed */                           \
        X(SIZE)    /* sizes that were not guessed, with the kind */            \
        X(ADDRESS) /* addresses that were not guessed */                       \
        X(DEPTH)   /* how long ago a reused address was freed */               \
        X(BLOCK)   /* which block is freed */                                  \
        X(CALLER)  /* who frees, where not guessed */                          \
        X(PLAIN)   /* events that are rare */

enum events_column {
#define EVENTS_COLUMN_ENUM(name) EVENTS_##name,
        EVENTS_COLUMNS(EVENTS_COLUMN_ENUM)
#undef EVENTS_COLUMN_ENUM
        EVENTS_COLUMN_COUNT
};

#define EVENTS_BYTES_MAX 32u /* of one event in one column */
#define EVENTS_COLUMN_MAX (EVENTS_BATCH * EVENTS_BYTES_MAX)

/*
 * The op byte: what it is in bits 0-1, then
 *   ALLOC, MOVE   bits 2-3 where the site comes from   bit 4 size and kind are written
 *                 bits 5-7 where the address comes from
 *   FREE, TAKE    bits 2-3 how the block is named      bit 4 caller, node and kind are written
 * A site from SPECIAL makes bits 4-7 one of enum events_special.
 */
enum events_op { EVENTS_OP_ALLOC, EVENTS_OP_FREE, EVENTS_OP_MOVE, EVENTS_OP_TAKE };
enum events_site_from { EVENTS_SITE_AFTER_TWO, EVENTS_SITE_AFTER_ONE, EVENTS_SITE_WRITTEN,
                        EVENTS_SITE_SPECIAL };
enum events_address_from {
        EVENTS_AT_LAST_FREED,
        EVENTS_AT_CURSOR,
        EVENTS_AT_FREED,   /* freed as many blocks of its class ago as DEPTH says */
        EVENTS_AT_ALIGNED, /* as many times 16 bytes from the cursor as ADDRESS says */
        EVENTS_AT_WRITTEN, /* the same in bytes */
        EVENTS_AT_TAKEN    /* a realloc in place */
};
enum events_block_from { EVENTS_BLOCK_DISTANCE, EVENTS_BLOCK_NEXT, EVENTS_BLOCK_PREVIOUS,
                         EVENTS_BLOCK_NEAR };
enum events_special {
        EVENTS_SPECIAL_THREAD, /* another thread or time from here on */
        EVENTS_SPECIAL_PLAIN,  /* an event of column PLAIN */
        EVENTS_SPECIAL_DROP    /* no event: a block is gone without having been freed */
};

#define EVENTS_WRITTEN 0x10u /* bit 4 */
#define EVENTS_OP_SPECIAL(special) (EVENTS_OP_ALLOC | EVENTS_SITE_SPECIAL << 2 | (special) << 4)

#define EVENTS_LANES 64u    /* threads that are kept apart */
#define EVENTS_CLASSES 128u /* of sizes; the larger ones share */
#define EVENTS_FREED 16u    /* addresses kept per class */
#define EVENTS_SITES (1u << 17)
#define EVENTS_CONTEXTS (1u << 16)
#define EVENTS_NOWHERE UINT32_MAX

struct events_block {
        uint64_t address, size;
        uint32_t site;
        uint8_t kind;
        bool live;
};

struct events_lane {
        uint64_t cursor;  /* where its last new block ends */
        uint32_t history; /* a hash of the sites of the last two events, 16 bits each */
        uint32_t last;    /* place in `order` of what it freed last */
        bool has_taken;
        uint16_t taken_by;
        struct events_block taken; /* in the middle of a realloc */
        uint8_t freed_count[EVENTS_CLASSES];
        uint64_t freed[EVENTS_CLASSES][EVENTS_FREED]; /* the last one freed is the last */
};

/* What events of a site were like the last time. */
struct events_site {
        uint64_t size, caller;
        uint32_t node;
        uint8_t kind;
};

struct events_last {
        uint64_t address, size;
};

struct events_model {
        struct events_block *order;
        uint32_t count, room;
        struct events_lane *lanes;
        struct events_site *sites;
        uint32_t *after_two, *after_one; /* by context: the site that came then */
        struct events_last plain[UINT8_MAX + 1]; /* by type */
        uint64_t number; /* of events so far */
        uint32_t ms;
        uint16_t thread;
};

void events_model_open(struct events_model *m);
void events_model_close(struct events_model *m);

/* Make sure that one more block fits; true when all blocks have moved. */
bool events_model_room(struct events_model *m);
void events_model_remove(struct events_model *m, uint32_t at);

/* The live block next to LAST's place, in direction STEP (1 or -1); EVENTS_NOWHERE
 * when there is none near. */
uint32_t events_model_near(const struct events_model *m, uint32_t last, int step);

/* How many blocks of a size like SIZE were freed after ADDRESS; EVENTS_NOWHERE if
 * it is not known as free. */
uint32_t events_lane_depth(const struct events_lane *l, uint64_t size, uint64_t address);
/* Reuse that memory; false when there is none at DEPTH. */
bool events_lane_reuse(struct events_lane *l, uint64_t size, uint32_t depth, uint64_t *address);

/* After an event: what the next guesses build on.  ALLOCATED and PUT_BACK need room for one more
 * block. */
void events_model_allocated(struct events_model *m, struct events_lane *l,
                            const struct ledger_event *e);
void events_model_freed(struct events_model *m, struct events_lane *l, uint32_t at,
                        const struct ledger_event *e);
/* True: the block that the thread had taken is the last of `order` now. */
bool events_model_put_back(struct events_model *m, struct events_lane *l,
                           const struct ledger_event *e);
/* A block whose memory was not known as free. */
void events_model_new_memory(struct events_lane *l, const struct ledger_event *e);

static inline struct events_lane *events_model_lane(const struct events_model *m, uint16_t thread)
{
        return &m->lanes[thread % EVENTS_LANES];
}

static inline struct events_site *events_model_site(const struct events_model *m, uint32_t site)
{
        return &m->sites[site % EVENTS_SITES];
}

static inline uint32_t *events_model_after_two(const struct events_model *m,
                                               const struct events_lane *l)
{
        return &m->after_two[l->history * 0x9e3779b1u >> 16];
}

static inline uint32_t *events_model_after_one(const struct events_model *m,
                                               const struct events_lane *l)
{
        return &m->after_one[l->history & 0xffffu];
}

#endif
