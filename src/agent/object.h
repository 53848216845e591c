/* SPDX-License-Identifier: MIT */
/*
 * object.h -- what code is mapped where, read from /proc/self/maps.
 *
 * Room:   inside; any context.
 * Keeps:  code that is unmapped is marked gone, and its number is given to other code later: who
 *         keeps a number keeps object.load with it.  agent.generation is raised whenever something
 *         went.  What stack nodes name are modules (module.h), not objects.
 */
#ifndef SEEP_AGENT_OBJECT_H
#define SEEP_AGENT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/arch.h"

struct ehindex;

#define OBJECT_NONE 0x7fffu

/* Memory of an object that can be read, as the map had it when the object was first seen. */
struct object_area {
        uint64_t low, high;
};

#define OBJECT_AREAS 4u

struct object {
        uint64_t start; /* where offset 0 of the file lies; of anonymous code: its first byte */
        uint64_t code, end;    /* executable part */
        uint64_t bias;
        const uint8_t *eh_hdr; /* .eh_frame_hdr, NULL none: then perhaps ... */
        const struct ehindex *index;
        const uint8_t *exidx; /* .ARM.exidx (ehabi.h), all of it readable; NULL none */
        uint64_t exidx_bytes;
        uint64_t dev, ino;
        uint64_t code_offset;  /* of the executable part, in the file */
        uint64_t path;         /* hash of it */
        uint32_t module; /* entry of the ledger that tells where it is; MODULE_NONE: no room */
        uint32_t load;         /* another one each time that the number is given */
        uint32_t seen;         /* number of the scan that saw it last */
        uint32_t gone;
        uint32_t ready;        /* bias and tables were read */
        bool has_header;
        bool hidden;           /* its code cannot be read */
        struct object_area areas[OBJECT_AREAS];
        bool anonymous;        /* of no file */
        bool omitted;          /* its allocations are not recorded */
        bool is_go;            /* has Go's runtime: known from object_open() on */
};

/* By number: what is to be added to an address of the object to get what stack nodes have
 * (LEDGER_NODE_*).  Known from object_open() on. */
extern uint64_t *object_shifts __attribute__((visibility("hidden"))); /* OBJECT_NONE comes first */

static inline uint64_t object_shift(uint32_t number)
{
        return object_shifts[(number + 1) & OBJECT_NONE];
}

/* Allocate the tables and read the map for the first time.  False: no memory or no /proc. */
bool object_start(void);

/* Number of the object whose code holds PC; OBJECT_NONE if there is none even after a new look at
 * the map. */
uint32_t object_find(uint64_t pc);

static inline bool object_has_tables(const struct object *o)
{
        return o->eh_hdr || o->index || o->exidx;
}

/* The readable memory of O that holds [AT, AT + BYTES); NULL: nobody knows whether that is
 * there. */
static inline const struct object_area *object_area(const struct object *o, uint64_t at,
                                                    uint64_t bytes)
{
        for (uint32_t i = 0; i < OBJECT_AREAS; i++)
                if (at >= o->areas[i].low && at <= o->areas[i].high &&
                    o->areas[i].high - at >= bytes)
                        return &o->areas[i];
        return NULL;
}

#define OBJECT_EXIDX 0x70000001u /* PT_ARM_EXIDX */

/* A segment of O: the unwind tables of arm, if they are that and readable as a whole. */
static inline void object_take_exidx(struct object *o, uint32_t type, uint64_t at, uint64_t bytes)
{
        if (!ARCH_EHABI || type != OBJECT_EXIDX || at % 4 || !object_area(o, at, bytes))
                return;
        o->exidx = (const uint8_t *)(uintptr_t)at;
        o->exidx_bytes = bytes;
}

/* Whether [FROM, TO) is code of O that can be read. */
static inline bool object_shows(const struct object *o, uint64_t from, uint64_t to)
{
        return !o->hidden && from >= o->code && from < to && to <= o->end;
}

const struct object *object_get(uint32_t number);

/* The object with its bias and tables.  Reads its memory, so only for code on the caller's own
 * stack: that cannot be unmapped meanwhile, as anything found by a scan could.  NULL: there is
 * none, or this is a signal handler that interrupted a scan. */
const struct object *object_open(uint32_t number);

/* Its entry in MODULES; LEDGER_NODE_NO_MODULE: none. */
uint32_t object_module(uint32_t number);

/* Code may have been unmapped: look at the map again. */
void object_unmapped(void);

/* [START, END) was unmapped by the program itself: look again if code was there. */
void object_range_unmapped(uint64_t start, uint64_t end);

/* Bounds of the mapping that holds ADDRESS, read from the map (slow: some 100 us). */
bool object_bounds(uint64_t address, uint64_t *low, uint64_t *high);

/* A number that changes with every look at the map. */
uint32_t object_scans(void);

/* In a forked child: no other thread holds the lock any more, and the ledger is another one. */
void object_forked(void);

#endif
