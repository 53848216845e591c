/* SPDX-License-Identifier: MIT */
/*
 * worker.h -- a function that runs in a process of its own, beside seep and the recorded programs.
 *
 * Keeps:  a worker has a copy of all that we know, and what it breaks is its own.  What it finds
 *         out comes back as bytes in a file in memory, or through a socket; how it went is its exit
 *         status.  When memory runs out, the kernel ends a worker and not the program beside it;
 *         and a worker ends by itself before it comes to that.
 */
#ifndef SEEP_BASE_WORKER_H
#define SEEP_BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/headroom.h"

struct worker {
        pid_t pid; /* 0: it does not run */
        int fd;    /* what it writes to, or a socket to it; -1 none */
};

#define WORKER_NONE ((struct worker){ .fd = -1 })
#define WORKER_FD 3 /* in a worker with a socket: its end of it */

struct worker_order {
        /* In the worker, which ends with it.  False: not well. */
        bool (*work)(void *context, int fd);
        void *context;
        /* It writes to a file in memory, of this name, or talks through a socket of this type; then
         * it has no other descriptor of ours but the standard ones.  NULL, 0: neither. */
        const char *file;
        int socket;
        /* With a socket: closes what of ours it must not have; all else stays as it is, for what
         * has files open that it still reads (symbols).  NULL: all are closed. */
        void (*leave)(void *context);
        /* It takes what memory this one can spare (worker_bound).  0: as much as it wants. */
        pid_t program;
};

/* Start it.  False, with errno: there can be none now. */
bool worker_start(struct worker *w, const struct worker_order *o);

/* A thread beside one that starts workers; an error number.  A worker is a copy of this moment, and
 * a lock that a thread holds in it is never given back.  The C library has that in hand for its own
 * allocator; the allocator of ASan (gcc 12) has not.  Where it is linked in, workers are therefore
 * started only while such threads are between worker_beside_end and _begin; elsewhere at any time.
 * WORK is called inside, and returns so. */
int worker_beside(pthread_t *thread, void *(*work)(void *context), void *context);
void worker_beside_begin(void);
void worker_beside_end(void);

/* In a worker: from now on this process has the memory that PROGRAM can spare (*ROOM), and calls
 * FULL, which does not return, when that is not enough. */
void worker_bound(pid_t program, struct headroom *room, void (*full)(void));

/* Wait for its end, if it runs: its status, as of waitpid(); 0 also when somebody else took it. */
int worker_wait(struct worker *w);

/* The same, for so long; then it is ended. */
int worker_end(struct worker *w, uint64_t patience_ms);

/* It has ended, and somebody else has its status; what it wrote is still there.  worker_close: that
 * is not needed. */
void worker_reaped(struct worker *w);
void worker_close(struct worker *w);

/* BYTES at AT of what it wrote; false: it did not write that. */
bool worker_read(const struct worker *w, uint64_t at, void *to, size_t bytes);

#endif
