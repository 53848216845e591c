/* SPDX-License-Identifier: MIT */
/* inject_parts.h -- what the rooms of inject.h share: the flow, where things are put, and the
 * patches. */
#ifndef SEEP_ATTACH_INJECT_PARTS_H
#define SEEP_ATTACH_INJECT_PARTS_H

#include "attach/entries.h"
#include "attach/image.h"
#include "attach/inject.h"
#include "attach/patch.h"
#include "attach/remote.h"
#include "base/str.h"
#include "wire/inject.h"

#define INJECT_AREAS 8u
#define INJECT_AREA_BYTES (32u << 10)

/* Memory for trampolines, near the functions that they belong to. */
struct inject_area {
        uint64_t start, used;
};

/* At wire_inject.room: what was done to the process, for whoever undoes it. */
#define INJECT_MAGIC 0x31656361506565ull

struct inject_room {
        uint64_t magic;
        uint32_t layout;   /* sizeof(struct patch): another seep may have another */
        uint32_t count;    /* of patches that are in place */
        uint32_t alive;    /* the agent has a ledger and tables */
        uint32_t given_up; /* a thread never came out: another image was made */
        uint32_t area_count, reserved;
        struct inject_area areas[INJECT_AREAS];
        struct patch patches[];
};

#define INJECT_PATCHES ((WIRE_INJECT_ROOM - sizeof(struct inject_room)) / sizeof(struct patch))

/* One injection under way. */
struct inject {
        pid_t pid;
        struct hold *hold;
        struct memory memory;
        struct str maps_text;
        struct mappings maps;
        struct remote remote;
        struct image image;
        struct entries entries;
        struct custom_functions custom;
        struct inject_room *room; /* WIRE_INJECT_ROOM bytes: a copy */
        struct wire_inject words; /* of the image in the process; a copy */
        uint64_t words_at;        /* where that is */
        const struct inject_request *request;
        struct inject_result *out;
        uint32_t tries; /* left to threads that are inside of an older agent; INSIDE: one is */
        bool inside;
};

/* ---- inject_place.c ---- */

/* Read the mappings as they are now: j->maps. */
bool inject_maps(struct inject *j);

/* A free place for BYTES from which NEAR can be reached by a jump; 0: there is none. */
uint64_t inject_gap(const struct mappings *m, uint64_t near, uint64_t bytes);

/* Map memory; 0: E. */
struct inject_wish {
        uint64_t near, bytes; /* the latter whole pages */
        int protection;       /* PROT_* */
};

uint64_t inject_map(struct inject *j, struct inject_wish w, struct err *e);

/* Memory for a trampoline of the function at ENTRY; 0: E. */
uint64_t inject_trampoline(struct inject *j, uint64_t entry, struct err *e);

bool inject_write(const struct inject *j, uint64_t at, const void *from, size_t bytes);
bool inject_read(const struct inject *j, uint64_t at, void *to, size_t bytes);

/* ---- inject_patches.c ---- */

/* All names that the agent has: j->entries. */
bool inject_find(struct inject *j, struct err *e);

/* Plan all patches and write what does no harm: trampolines, and where the agent finds the
 * functions. */
bool inject_plan(struct inject *j, struct err *e);

/* Put them in place, or take them out; threads that stand in the way are moved. */
bool inject_put(struct inject *j, struct err *e);
void inject_take_out(struct inject *j);

/* Whether no thread is inside the agent, or on its way in or out. */
bool inject_is_at_rest(const struct inject *j);

#endif
