/* SPDX-License-Identifier: MIT */
/*
 * inject_parts.h -- what the files of inject.h share: the sequence of steps, the placement, the
 * patches.
 */
#ifndef SEEP_ATTACH_INJECT_PARTS_H
#define SEEP_ATTACH_INJECT_PARTS_H

#include "attach/emulator.h"
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
        const struct emulator *other; /* whose program it is, if the kernel runs that, too; NULL */
        bool narrow;   /* its words have 4 bytes, and ours 8 */
        bool there;    /* the image was in the process before */
        uint32_t first; /* of the patches that are put in place; those before it are */
        bool rewrites; /* trampolines are not those of the last time */
        bool same_ids; /* its numbers of threads are those that we see */
        bool (*what)(struct inject *, struct err *); /* while all stand still (inject_with_all) */
        uint64_t patience_ns; /* ... that they have to stop */
        bool partial;         /* ... and not all did */
        struct rejoin *rejoin; /* inject_rejoin.c: what is continued; NULL */
        pid_t *inside; /* threads that are, as far as was seen */
        uint32_t inside_count;
};

/* ---- inject.c ---- */

/* TID: a thread whose files tell of the process.  To be closed also after a failure. */
bool inject_open(struct inject *j, pid_t pid, pid_t tid, const char *image, struct err *e);
void inject_close(struct inject *j);

/* Of an earlier time; then its words and room are in J. */
bool inject_find_image(struct inject *j);
bool inject_write_room(struct inject *j);

/* A thread of the process, which stands still, runs FUNCTION of the agent up to its end, or until
 * it gives its ledger. */
bool inject_run(struct inject *j, uint64_t function);

/* Stop the thread that is best for system calls of ours; more than one look may be needed. */
bool inject_hold_one(struct inject *j, struct hold *h, struct err *e);

/* E: the memory of the process cannot be written.  Returns false. */
bool inject_cannot_write(const struct inject *j, struct err *e);

/* ---- inject_tell.c ---- */

/* What the agent is to know, in our copy of the image.  All threads stand still. */
bool inject_tell(struct inject *j, struct err *e);

/* ---- inject_leave.c ---- */

/* What a thread of ours does that traces: its end lets go of what could not be stopped. */
struct inject_job {
        pid_t pid;
        const struct inject_request *request;
        const char *image;
        const struct inject_orphan *orphan;
        struct inject_result *out;
        struct err *e;
        void (*run)(struct inject_job *job);
        bool good; /* out */
};

bool inject_do(struct inject_job *job);

/* WHAT, while the thread that is best for system calls of ours stands still. */
bool inject_with_one(struct inject *j, bool (*what)(struct inject *, struct err *), struct err *e);

/* WHAT, by a thread of its own, which is the tracer meanwhile. */
bool inject_apart(struct inject *j, bool (*what)(struct inject *, struct err *), struct err *e);

/* WHAT, while all threads stand still.  A process that waits for a child of vfork(), or a thread
 * that gets no processor to stop on, is tried again for a while. */
bool inject_with_all(struct inject *j, bool (*what)(struct inject *, struct err *), struct err *e);

/* With the image in J: patches out, and what the agent mapped given back.  false: E.  Threads that
 * do not come out of it: j->inside_count. */
bool inject_retire(struct inject *j, struct err *e);

/* ---- frames.c ---- */

/* Where the kernel keeps the program counter of what a signal interrupted. */
struct inject_frame {
        uint64_t at, pc;
};

/* Signal frames on the stacks of T, which stands still; at most ROOM.  Returns their number. */
uint32_t inject_frames(const struct inject *j, const struct hold_thread *t,
                       struct inject_frame *out, uint32_t room);

/* ---- inject_place.c ---- */

/* Read the mappings as they are now: j->maps. */
bool inject_maps(struct inject *j);

/* A free place for BYTES from which NEAR can be reached by a jump; 0: there is none. */
uint64_t inject_gap(const struct inject *j, uint64_t near, uint64_t bytes);

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

/* A word of the process's own. */
bool inject_write_word(const struct inject *j, uint64_t at, uint64_t word);

/* ---- inject_patches.c ---- */

/* All names that the agent has: j->entries. */
bool inject_find(struct inject *j, struct err *e);

/* Plan all patches, and tell our copy of the image where the functions are. */
bool inject_plan(struct inject *j, struct err *e);

/* The same of functions that came later (inject_add): patches from j->first on. */
bool inject_plan_later(struct inject *j, struct err *e);

/* Put them in place with their trampolines, or take them out; threads that stand in the way are
 * moved. */
bool inject_put(struct inject *j, struct err *e);
void inject_take_out(struct inject *j);

/* Whether T, which stands still, is inside the agent, or on its way in or out. */
bool inject_is_inside(const struct inject *j, const struct hold_thread *t);

#endif
