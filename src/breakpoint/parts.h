/* SPDX-License-Identifier: MIT */
/*
 * parts.h -- what the files of breakpoint.h share: processes, their threads, and where they stop.
 *
 * Room:   outside, in the engine: one thread, which is the tracer of all of them.
 */
#ifndef SEEP_BREAKPOINT_PARTS_H
#define SEEP_BREAKPOINT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/arch/arch.h"
#include "book/book.h"
#include "breakpoint/breakpoint.h"
#include "breakpoint/move.h"

/* ---- where a program stops ---- */

enum point_what {
        POINT_ENTRY,  /* of a function in the table of entries.h */
        POINT_RETURN, /* behind a call of one of them */
        POINT_LOADER, /* the loader has mapped or unmapped a library */
        POINT_EXIT    /* the program is about to end: _exit() and its relatives, execve() */
};

struct point {
        uint64_t at; /* 0: none */
        uint64_t slot; /* where the displaced instruction is; 0: not made yet */
        struct move move;
        uint16_t entry; /* in the table.  POINT_RETURN: 1 + that, 0 not known yet */
        uint8_t what;
        bool ready; /* MOVE is known */
        uint8_t original[ARCH_TRAP_BYTES]; /* what the breakpoint stands for */
};

/* ---- code ---- */

/* A file whose code is mapped. */
struct code {
        uint64_t start, end; /* its executable mapping */
        uint64_t offset;     /* ... in the file */
        uint64_t first;      /* where the file begins in memory */
        uint64_t bias;
        uint64_t dev, ino;
        char *path;
        uint32_t module; /* of the ledger */
        bool seen, omitted;
        int fd; /* -1 */
        struct Elf *elf;
        struct Dwarf_CFI_s *cfi; /* NULL: there is none */
};

/* Pages of displaced instructions. */
struct area {
        uint64_t at;
        uint32_t used; /* slots */
};

#define TRACE_OPTIONS                                                                          \
        (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |                    \
         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

#define RULE_KEPT 11u
#define SLOT_BYTES 32u
#define AREA_BYTES (64u << 10)

/* How to leave the frame of a return address. */
struct rule {
        uint64_t pc;   /* 0: none */
        uint32_t code; /* 1 + index; 0 none */
        uint8_t how;   /* enum rule_how, walk.c */
        uint8_t cfa_register;
        bool in_register;   /* the return address; else it is at CFA + return_offset */
        uint16_t saved; /* which of ARCH_WALK_KEPT are at CFA + offset[] */
        int32_t cfa_offset, return_offset;
        int32_t offset[RULE_KEPT];
};

#define RULE_BITS 14

/* ---- processes ---- */

/* One address space with its ledger.  A child of vfork shares it. */
struct target {
        pid_t pid;
        pid_t reader;   /* a thread that has its memory: the last that stopped */
        uint32_t users; /* threads and children of vfork that run in it */
        int memory;     /* /proc/PID/mem */
        int ledger;     /* its file */
        bool recorded;  /* else breakpoints do nothing */
        bool told;      /* hello was said */
        bool glibc;
        bool nameless; /* free and delete are one function: which was called is not known */
        uint64_t stack_start; /* of the first thread */
        struct book book;

        struct point *points; /* by address: a hash table */
        uint32_t point_room, point_count;
        struct area *areas;
        uint32_t area_count;
        uint64_t call; /* a system call instruction in it; 0 unknown */

        struct code *codes; /* by address */
        uint32_t code_count;
        struct rule *rules;
        uint32_t dropped; /* calls that did not return: what they got may be released later */
        struct target *next;
};

/* A call of an allocation function that has not returned yet. */
struct call {
        uint16_t entry;
        bool active;
        bool taken; /* realloc: BLOCK has been taken off */
        uint64_t seen; /* entries that it went through, a bit each: operator new[] jumps to new */
        uint64_t sp, back; /* the stack pointer at its entry, and where it returns to */
        uint64_t arguments[4];
        struct ledger_block *place, block;
};

struct task {
        pid_t tid;
        struct target *target;
        bool stopped;
        bool leaving; /* waits at its end for a search for leaks */
        bool vforked; /* a child of vfork: its target is its parent's */
        bool fresh;   /* its first stop is to come */
        bool asked;   /* PTRACE_INTERRUPT was sent for a hold */
        bool ended;   /* the first thread, before the others: the kernel does not tell yet */
        int held_status; /* what it stopped with during a hold, to be looked at later; 0 nothing */
        uint32_t asked_scan;
        int ending; /* the signal that ends it when the search is over */
        uint32_t slot; /* 1 + index; 0 none yet */
        struct call call;
        uint64_t released, released_sp, released_seen; /* the last release */
        struct book_writer writer;
        struct arch_registers registers; /* while it is being looked at */
        struct task *next;
};

struct tracer {
        const struct breakpoint_wishes *wishes;
        int control;
        pid_t parent; /* the session */
        pid_t main;   /* the first that was traced */
        struct target *targets;
        struct task *tasks;
        struct task *recent[1024]; /* by tid */
        uint32_t waiting; /* tasks that wait at their end */
        struct still *stills; /* holds that somebody asked for (still.c) */
        bool leave;
};

extern struct tracer tracer;

/* ---- engine.c ---- */

/* Whether T runs, and can be stopped. */
bool task_runs(struct task *t);
void task_end(struct task *t);

/* What to do with a stop; for tasks that stopped while they were held. */
void engine_stopped(struct task *t, int status);

/* ---- target.c ---- */

struct target *target_new(pid_t pid);
struct target *target_forked(const struct target *parent, pid_t child);
void target_release(struct target *t);

/* Its program is there, not a byte of it has run. */
bool target_begin(struct target *t);

void target_knock(const struct target *t);

/* ---- points.c ---- */

struct point *point_find(const struct target *t, uint64_t at);
struct point *point_set(struct target *t, uint64_t at, enum point_what what, uint16_t entry);

/* Go on behind P, as if the instruction were still there.  False: it cannot be moved. */
bool point_pass(struct task *t, struct point *p);

/* All breakpoints out of the memory of T, or those in a range, which is not mapped any more. */
void points_remove(struct target *t);
void points_forget(struct target *t, uint64_t start, uint64_t end);

/* The same as points_remove(), but they are still known. */
void points_put_back(const struct target *t);

/* Where the instruction at PC, perhaps a displaced one, really stands. */
uint64_t points_origin(const struct target *t, uint64_t pc);

bool target_read(const struct target *t, uint64_t at, void *to, size_t bytes);
bool target_write(const struct target *t, uint64_t at, const void *from, size_t bytes);

/* ---- codes.c ---- */

/* Look at what is mapped, and set breakpoints in what is new. */
void codes_look(struct target *t);
void codes_free(struct target *t);
struct code *codes_find(const struct target *t, uint64_t pc);

/* The word in memory through which the call that returns to BACK went; 0: none. */
uint64_t codes_slot(const struct target *t, uint64_t back);

/* By which name of entries.h that call was made; -1: that cannot be told. */
int codes_called(const struct target *t, uint64_t back);

/* ---- walk.c ---- */

/* The site of the stack of T, whose registers are those in the caller, for KIND; 0: none. */
uint32_t walk_site(struct task *t, uint32_t kind);
uint32_t walk_node(struct task *t);
void walk_forget(struct target *t);

/* Whether the stack of T, which has just entered a function, leads through the frame that goes on
 * at BACK with the stack pointer SP.  Where that cannot be told it does. */
bool walk_leads_to(struct task *t, uint64_t sp, uint64_t back);

/* ---- account.c ---- */

bool account_begin(struct task *t); /* T has a slot to write to */
void account_end(struct task *t);
void account_alloc(struct task *t, uint64_t address, uint64_t size, uint32_t kind);
struct book_release;
void account_free(struct task *t, uint64_t address, const struct book_release *r);
void account_take(struct task *t, uint64_t address);
void account_put_back(struct task *t);
void account_taken(struct task *t, uint64_t address);

/* ---- calls.c ---- */

void call_entered(struct task *t, uint16_t entry);
void call_returned(struct task *t);

/* Where the function that T has just entered returns to. */
bool call_back(const struct task *t, uint64_t *back);

/* ---- still.c ---- */

/* Somebody wants PID to stand still and listens at FD; whether holds are over. */
void still_begin(pid_t pid, int fd);
void still_look(void);
bool still_holds(const struct target *t);

#endif
