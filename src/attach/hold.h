/* SPDX-License-Identifier: MIT */
/*
 * hold.h -- all threads of a process stopped, and let go again without the process noticing.
 *
 * Room:   outside; always the same thread of ours, the tracer.  When that ends, the
 *         kernel lets go of everything.
 * Keeps:  a thread is stopped between two instructions, with no signal of its own taken from it.
 */
#ifndef SEEP_ATTACH_HOLD_H
#define SEEP_ATTACH_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/arch/arch.h"
#include "attach/limits.h"
#include "base/err.h"

/* A thread that goes before all others for a moment: while a process stands still, each of our
 * microseconds is one of its. */
struct priority {
        pid_t tid; /* 0: nothing was changed */
        int policy, nice;
};

/* Raise the priority of TID, where that is permitted; a thread with a special one is left alone. */
void priority_raise(struct priority *h, pid_t tid);

/* As before; more than once does no harm. */
void priority_restore(struct priority *h);

enum hold_state {
        HOLD_ASKED,   /* traced, will stop as soon as it can */
        HOLD_STOPPED,
        HOLD_ENDED,   /* gone while we asked */
        HOLD_DEAD     /* a first thread that ended before the others: still there,
                       * traced, and never to stop */
};

struct hold_thread {
        pid_t tid;
        enum hold_state state;
        struct priority priority; /* HOLD_ASKED, and it does not get a processor to stop on */
        bool foreign;                    /* HOLD_STOPPED, and the registers are not of our kind */
        struct arch_registers registers; /* HOLD_STOPPED */
};

struct hold {
        pid_t pid;
        struct hold_thread *threads;
        uint32_t count;
        struct limits limits; /* calls that the stop will cut short */
        int64_t wait_offset; /* freeze.h; 0 none */
        uint64_t since_ns; /* CLOCK_MONOTONIC: the first thread was asked */
        bool narrow; /* its words have 4 bytes, and ours 8 */
        uint64_t patience_ns; /* that threads have to stop, ... */
        uint64_t late_ns; /* ... and those that only want a processor for it */
        bool vforks; /* a thread does not stop because it waits for its child to start a program */
};

/* Stop all threads; those that cannot stop within HOLD_PATIENCE_NS stay HOLD_ASKED.  What is seen
 * is of one moment only if all stand still: a thread that only wants a processor, on a machine that
 * is very busy, is waited for, HOLD_LATE_NS at most.  false: none is stopped. */
#define HOLD_PATIENCE_NS 300000000ull
#define HOLD_LATE_NS 5000000000ull
bool hold_all(struct hold *h, pid_t pid, struct err *e);

/* The same, and the process may be of the other word size that the kernel runs: H->narrow. */
bool hold_any(struct hold *h, pid_t pid, struct err *e);

/* Go on with H, of hold_any(): a thread that slept where signals do not reach it has woken since,
 * and wants a processor.  false: none is stopped; HOLD_LATE_NS are over, which E does not say, or
 * the process has ended. */
bool hold_any_further(struct hold *h, struct err *e);

/* The same, but a thread that waits where signals do not reach it is given PATIENCE_NS and no
 * longer, for who will try again: it may wait for another one, which stands still already. */
bool hold_any_within(struct hold *h, pid_t pid, uint64_t patience_ns, struct err *e);

/* The same of the thread TID only, of any word size. */
bool hold_one(struct hold *h, pid_t pid, pid_t tid, struct err *e);

/* To be called by another thread of ours when hold_all takes long: it and the process
 * may wait for each other. */
void hold_disentangle(pid_t pid);

/* Whether a thread is traced that does not stand still: it can be let go by the end of the tracer
 * only. */
bool hold_is_partial(const struct hold *h);

/* A thread whose files in /proc tell of the process; 0: there is none. */
pid_t hold_witness(const struct hold *h);

/* Let all go that stand still. */
void hold_release(struct hold *h);

/* The same, and those that have not stopped yet, when they do: a call of theirs is cut short
 * already, and would fail with EINTR if the end of the tracer let them go. */
void hold_release_late(struct hold *h);

/* TID of PID, which we trace and which stands still: a system call that the stop cut short is made
 * again when it goes on. */
void hold_mend(pid_t pid, pid_t tid);

/* Wait a moment, for the TURN-th time (from 0): the first are short, because most stops take
 * microseconds; from HOLD_NAP_WHOLE on all are as long.  Not by yielding: we may run with a
 * priority that leaves a single processor to nobody else. */
#define HOLD_NAP_WHOLE 4u
void hold_nap(uint32_t turn);

/* Wait until TID stops or ends, at most PATIENCE_NS.  false: it did not. */
bool hold_wait(pid_t tid, int *status, uint64_t patience_ns);

#endif
