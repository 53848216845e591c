/* SPDX-License-Identifier: MIT */
/*
 * freeze.h -- a process held still: its threads, registers and memory; or a copy of it, while it
 * goes on.
 *
 * Room:   outside, in a process of its own: a tracer that dies lets go of everything.
 * Keeps:  the process never notices: no signal, no EINTR, no child, no changed errno; stopped by
 *         job control it stays stopped.  Order: freeze_stop, (freeze_copy), freeze_release, reads,
 *         freeze_close.  Without a copy read before freeze_release.
 */
#ifndef SEEP_ATTACH_FREEZE_H
#define SEEP_ATTACH_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/arch/registers.h"
#include "base/err.h"

struct freeze_range {
        uint64_t start, end;
};

/* A process of another machine, held there. */
struct freeze_far {
        void *context;
        size_t (*read)(void *context, uint64_t address, void *to, size_t bytes);
        uint64_t (*next_used)(void *context, uint64_t address, uint64_t end);
        /* Where only words that lead into RANGES are wanted (leak/search.h). */
        bool (*expect)(void *context, const struct freeze_range *ranges, uint32_t count);
        size_t (*pointers)(void *context, uint64_t address, void *to, size_t bytes);
        bool (*lasts)(void *context);
        void (*release)(void *context); /* once: it may go on, and is not read any more */
        bool copied;  /* it went on already: what is read is a copy of it */
        bool released;
};

struct freeze {
        pid_t pid;
        struct freeze_thread *threads; /* the first is the one named like the
                                        * process, if it is still there */
        uint32_t thread_count;
        char *maps;      /* /proc/PID/maps at the stop */
        char root[4096]; /* in front of the paths of its files */
        pid_t copy;      /* a process with the same memory, which never runs; 0: there is
                          * none, the original is read */
        uint16_t machine; /* e_machine where it is elsewhere or in a core file; 0: ours */
        bool narrow; /* its words have 4 bytes.  Known at the stop; of a program that an emulator
                      * runs it is the caller's to set, as is the next: ... */
        bool turned; /* ... they have the other byte order */
        uint64_t base; /* freeze_emulated() */
        int64_t wait_offset; /* the caller's to set: see freeze_release(); 0 none */
        uint64_t stopped_ns, pause_ns; /* CLOCK_MONOTONIC when the first thread was asked to stop;
                                        * how long until all went on */
        struct core *core; /* it is gone, and this is its core file (core.h); NULL */
        struct freeze_far *far; /* it is elsewhere; NULL: here */
        struct freeze_state *state; /* freeze.c's own */
};

/* The same for a process that another one of ours traces, by that one's socket (first_tracer.h).
 * There is no copy of it. */
bool freeze_kept(struct freeze *f, pid_t pid, int first_tracer, struct err *e);

/* What its processor has. */
const struct freeze_kind *freeze_kind(const struct freeze *f);

/* Whether it is of another kind than processes here: nothing but words is known of its registers
 * and stacks. */
bool freeze_is_foreign(const struct freeze *f);

/* Stop all threads of PID.  On failure nothing is stopped, and E says why (ERR_EXIT_TRACE): traced
 * by another, no right, gone. */
bool freeze_stop(struct freeze *f, pid_t pid, struct err *e);

/* F is an emulator that has the memory of a 32-bit program at another place than the program says:
 * of what the program calls START a file is mapped whose path ends with PATH.  From here on
 * addresses below 4 GiB, and those in F->maps, are the program's own. */
void freeze_emulated(struct freeze *f, uint64_t start, const char *path);

/* While stopped: make a copy of the process by two clones made in it.  false: not possible here (E
 * says why); all is as before. */
bool freeze_copy(struct freeze *f, struct err *e);

/* While stopped: whether the copy has all memory of the process that it may write to, so that it
 * will do alone.  Programs may keep some from their children (MADV_DONTFORK). */
bool freeze_is_whole(struct freeze *f);

/* Whether there is still memory to be read: the kernel may have killed the copy. */
bool freeze_lasts(const struct freeze *f);

/* End the copy: the process itself is read. */
void freeze_drop(struct freeze *f);

/* Let the process go on.  A call that was interrupted begins again as it was, its whole time limit
 * too; unless the first of two bytes at wait_offset from its thread pointer says that the program
 * can do better: the second is then set, and the call fails with EINTR. */
void freeze_release(struct freeze *f);

/* End the copy, release if still stopped, free everything. */
void freeze_close(struct freeze *f);

/* T is in the handler of a signal: its registers become those that the signal interrupted, saved by
 * the kernel in the ucontext at CONTEXT. */
void freeze_interrupted(const struct freeze *f, struct freeze_thread *t, uint64_t context);

/* Read memory of the copy, or of the stopped process.  Returns how many bytes from
 * the start could be read. */
size_t freeze_read(const struct freeze *f, uint64_t address, void *to, size_t bytes);

/* The same for COUNT of its words, as numbers of ours; how many. */
size_t freeze_words(const struct freeze *f, uint64_t address, uint64_t *to, size_t count);

/* The first address at or after ADDRESS, below END, whose page has ever been used (is present or
 * swapped out); END when none has.  Page granular.  For large sparse memory. */
uint64_t freeze_next_used(const struct freeze *f, uint64_t address, uint64_t end);

#endif
