/* SPDX-License-Identifier: MIT */
/*
 * parts.h -- section bodies: the reader and the writer of each kind, side by side.
 *
 * Room:   outside, profile/ only.  put: writer.c.  get: reader.c.
 * Keeps:  a get that fails leaves the profile as it was; a put that fails has filled E.
 */
#ifndef SEEP_PROFILE_PARTS_H
#define SEEP_PROFILE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/table.h"
#include "profile/cursor.h"
#include "profile/format.h"

/* meta.c */
void meta_put(const struct profile_meta *m, struct str *body);
bool meta_get(struct profile_meta *m, struct cursor *c);
void totals_put(const struct profile_totals *t, struct str *body);
bool totals_get(struct profile_totals *t, struct cursor *c);

/* columns.c: records FIRST to FIRST + COUNT of an array.  The state lives as long as one file. */
struct columns_state {
        uint32_t *last;  /* per site: 1 + index of its last change */
        uint32_t *before; /* per record of the piece: `last` when it was met */
        uint64_t last_count;
        bool broken; /* reader: a piece of changes was lost, the later ones mean nothing */
        uint64_t declared[FORMAT_ARRAY_COUNT]; /* records that the file promises */
};

void columns_state_free(struct columns_state *s);
bool columns_put(struct columns_state *s, const struct profile *p, unsigned array, uint64_t first,
                 uint64_t count, struct str *body, struct err *e);
bool columns_get(struct columns_state *s, struct profile *p, unsigned array, uint64_t count,
                 struct cursor *c);

/* nodes.c: the same for the stack tree.  The state is the list of distinct frames met so far. */
struct nodes_frame {
        uint64_t pc;
        uint32_t id;
        uint16_t module, exact;
};

struct nodes_state {
        struct nodes_frame *frames;
        uint32_t frame_count;
        struct table numbers; /* writer: of frames */
        uint32_t *frame_of;   /* writer: index of the frame of each node in the piece */
};

void nodes_state_free(struct nodes_state *s);
bool nodes_put(struct nodes_state *s, const struct profile *p, uint64_t first, uint64_t count,
               struct str *body, struct err *e);
bool nodes_get(struct nodes_state *s, struct profile *p, uint64_t count, uint64_t modules,
               struct cursor *c);

/* Make room for COUNT more records at the end of ARRAY, cleared; the profile's own count stays. */
void *parts_extend(struct profile *p, unsigned array, uint64_t count);

#endif
