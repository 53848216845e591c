/* SPDX-License-Identifier: MIT */
/*
 * scanner.h -- leak searches in one recorded process: the requests, the process that searches, and
 * the result.
 *
 * Keeps:  one search at a time.  Whoever asks during one is served by the next.
 */
#ifndef SEEP_SESSION_SCANNER_H
#define SEEP_SESSION_SCANNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/worker.h"
#include "collect/view.h"
#include "profile/kept.h"
#include "profile/model.h"
#include "scan/scan.h"
#include "wire/hello.h"

/* How a search ended, in the words of its process. */
struct scanner_words {
        bool good;
        uint64_t blocks[PROFILE_LEAK_COUNT], bytes[PROFILE_LEAK_COUNT];
        uint64_t ms; /* when it was */
        char trouble[1024];
};

struct scanner_asker {
        int fd; /* a connection */
        uint32_t flags; /* WIRE_SCAN_* */
        uint32_t seq;   /* of the snapshot that wants it; 0 none */
};

/* A search that goes into the recording beside the one at the end. */
struct scanner_kept {
        int fd; /* in memory: the recording of its moment */
        struct kept_search search;
};

struct scanner_file {
        int fd; /* in memory; -1 none */
};

struct scanner {
        struct worker worker; /* makes a search now, and tells struct scanner_words of it */
        uint64_t kills;       /* headroom_kills() when it was started */
        uint32_t when;    /* of the search that it makes: enum profile_scan_when */
        uint32_t request; /* of the program (ledger_head.scan_asked) that it answers; 0 none */
        struct scanner_file image, lost; /* what it writes besides */

        struct scanner_asker *askers;
        uint32_t asker_count, served; /* the first SERVED are answered by the present search */

        bool stopped;      /* nobody wanted to wait for it */
        bool nothing;      /* no block is there at the end that the program comes to: what it
                            * waits for needs no search */
        struct scanner_file last;  /* the recording that the last search at the end of the program
                                    * made */
        struct profile_scan last_nothing; /* ... or this, when it had nothing;
                                           * .trouble is NULL otherwise */
        uint32_t last_when;
        char last_trouble[1024];   /* ... or why there is none */
        bool adopted; /* the recording of the end has it already */
        uint64_t over_ms;   /* since when the program only waits for the search at its end; 0: not
                             * yet ... */
        uint32_t over_when; /* ... and which end that is */
        struct scanner_kept *kept; /* on request: those of snapshots, and the last of the others */
        uint32_t kept_count;
        struct scanner_file known; /* struct scan_lost[]: what is known to be lost */
};

struct scanner_order {
        pid_t pid;
        struct view *view;
        uint32_t flags; /* WIRE_SCAN_*, wanted by the user for all searches */
        int first_tracer;           /* who traces it already (attach/first_tracer.h); 0 nobody */
        const struct scan_far *far; /* who holds it, elsewhere; then PID is 0 */
        bool hold; /* at its end the program waits until all is searched */
        const char *unlisted; /* at the end: why the profile has no list of blocks,
                               * after "it takes"; "" it has */
        void *context;
        void (*collect)(void *context, struct profile *p);
        void (*before_end)(void *context); /* the program waits at its end, with all that
                                            * it has; it may leave soon */
};

void scanner_init(struct scanner *s);
void scanner_free(struct scanner *s);

/* ASKER, a connection, wants a search. */
void scanner_ask(struct scanner *s, const struct scanner_asker *asker);

/* Put the searches that were made on request into P. */
void scanner_keep(const struct scanner *s, struct profile *p);

/* Start what is wanted, by the program or by askers. */
void scanner_start(struct scanner *s, const struct scanner_order *o);

/* Whether what was just started is the search at the end of the program, or is not needed because
 * that has no block any more. */
bool scanner_is_last(const struct scanner *s);

/* When it is not needed: say so to the program, which goes on at once. */
void scanner_tell_nothing(struct scanner *s, const struct scanner_order *o);

/* Whether the program's end, which may have come already, is still being searched. */
bool scanner_is_busy(const struct scanner *s);

/* Nobody wants to wait for what it finds. */
void scanner_stop(struct scanner *s);

/* The worker ended, with STATUS of waitpid().  *WORDS tells what it found; false: it was a search
 * that nobody needs a word about. */
bool scanner_done(struct scanner *s, const struct view *v, int status, struct scanner_words *words);

/* Whether the last search was one at this END (profile_end) and has a list of blocks.  Waits for
 * one that is still being written. */
bool scanner_has_blocks(struct scanner *s, const struct scanner_order *o, uint32_t end);

/* Put that list, and all that was found, into P, which has none.  false: blocks came or went after
 * the search, and P is as before. */
bool scanner_adopt(struct scanner *s, struct profile *p);

/* The process ended (END, profile_end): put what is known about its leaks into P.  Waits for a
 * search that is still being written. */
void scanner_finish(struct scanner *s, const struct scanner_order *o, struct profile *p);

/* The program waits for a search at its end: the course is over at MS. */
void scanner_over(struct scanner *s, uint64_t ms);

/* Whether that is so now: what takes time is the search, not the program.  From an exec
 * that fails it comes back. */
bool scanner_is_over(const struct scanner *s);

/* When the process came to its END, which was noticed at NOW_MS: when it began to wait for the
 * search that belongs to this end. */
uint64_t scanner_end_ms(const struct scanner *s, uint32_t end, uint64_t now_ms);

/* It goes on without us: one search now, and what it finds goes into P. */
void scanner_last(struct scanner *s, const struct scanner_order *o, struct profile *p);

#endif
