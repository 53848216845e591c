/* SPDX-License-Identifier: MIT */
/*
 * hello.h -- how an agent finds its observer, and what they say to each other first.
 *
 * Room:   both sides; layout only.
 * Keeps:  the observer listens on a SOCK_SEQPACKET UNIX socket and puts its path into the
 *         environment.  Each agent connects, sends one struct wire_hello with the memfd of its
 *         ledger attached (SCM_RIGHTS), closes both descriptors and never waits for an answer.  No
 *         descriptor stays open in the program.
 *
 * SEEP_SESSION is
 * "6:FOLLOW:FLAGS:SIGNAL:LIMIT:SNAPSHOT:OBSERVER:SAMPLE:QUARANTINE:FILL:LEDGER:[LENGTH:OMIT:]PATH":
 * protocol version, follow mode (none, exec, all), WIRE_F_ flags in the lower half of 64 bits
 * (filters.h tells of the upper one; always 16 digits), number of the signal that asks for a
 * snapshot (0 none), --limit-heap and --snapshot-at-heap in bytes (0 none), process that observes,
 * --sample and --quarantine in bytes (0 none), --fill as 256 + the byte (0 none), --limit-ledger in
 * bytes (0 none), all in hex; with WIRE_F_OMIT the length of an expression in hex, and that
 * expression (regex.h); path of the socket (the rest of the string), which begins with a slash.
 *
 * The agent takes SEEP_SESSION, and itself in LD_PRELOAD, out of the environment before the program
 * sees it, and puts them into that of programs that it starts.  They are always two entries that
 * are not the program's own (agent/environment.c): SEEP_FILLER is the second one when the program
 * has an LD_PRELOAD of its own, which then stands behind ours and a colon, even when it is empty.
 *
 * Without SEEP_SESSION (plain LD_PRELOAD) the agent starts the tool itself: `seep attend FD`, FD
 * being one end of a SOCK_SEQPACKET pair, with standard error still the program's.  The tool
 * answers through it with one message, the value that SEEP_SESSION would have had, and closes it; a
 * message that begins with '-' means that there is nothing to do.
 *
 * Before it becomes a program, or starts one, that our library cannot be preloaded into, an agent
 * sends a struct wire_launch with that program's file attached, and waits for a byte: 1 means that
 * the observer traces it and will write an agent into the program, whose environment is to have
 * nothing of ours; 0 that it goes its own way.
 *
 * Later an agent may connect to the same socket and send a struct wire_knock: its ledger has a mark
 * that somebody waits for.  Commands (seep snapshot) connect to it too, send a struct wire_request
 * and get a struct wire_reply; that to a scan carries a descriptor (SCM_RIGHTS) of a file in
 * memory, a whole recording of this moment.
 */
#ifndef SEEP_WIRE_HELLO_H
#define SEEP_WIRE_HELLO_H

#include <stdint.h>

#include "wire/regex.h"

#define WIRE_SESSION_ENV "SEEP_SESSION"
#define WIRE_FILLER_ENV "SEEP_FILLER"
#define WIRE_SESSION_VERSION 6
#define WIRE_SESSION_MAX (256 + REGEX_MAX)

#define WIRE_F_NO_MMAP 1u
#define WIRE_F_NO_CXX 2u      /* operator new and delete are seen as the malloc and free that they
                               * call */
#define WIRE_F_NO_STACKS 4u   /* record --depth 0 */
#define WIRE_F_VERIFY 8u      /* test mode: compare every captured stack with a full unwind */
#define WIRE_F_FREE_STACKS 16u
#define WIRE_F_START_OFF 32u
#define WIRE_F_TRACK_FDS 64u
#define WIRE_F_EVENTS 128u
#define WIRE_F_ATTENDED 256u /* plain LD_PRELOAD: wait at exit until the last report is written */
#define WIRE_F_LIMIT_ENOMEM 512u /* --limit-action; neither: abort */
#define WIRE_F_LIMIT_SNAPSHOT 1024u
#define WIRE_F_LEAK_SCAN 2048u /* wait at exit and before exec until leaks have been searched for */
#define WIRE_F_KEEP_GOING 4096u  /* releases known to be wrong are not passed on */
#define WIRE_F_DEEPBIND 8192u    /* dlopen keeps RTLD_DEEPBIND */
#define WIRE_F_OMIT (1u << 19)   /* allocations of some objects are left out */
#define WIRE_F_FILTERS (1u << 21) /* there is a file about filters of system calls (filters.h) */

#define WIRE_FLAGS_DIGITS 16 /* of FLAGS */

#define WIRE_HELLO_MAGIC 0x6f6c6c6548ull /* "Hello" */

enum wire_hello_reason { WIRE_HELLO_START = 1, WIRE_HELLO_FORK = 2 };

struct wire_hello {
        uint64_t magic;
        uint32_t version; /* LEDGER_VERSION */
        uint32_t reason;
        uint32_t pid, ppid; /* as the program sees them; the socket's credentials tell our view */
};

#define WIRE_KNOCK_MAGIC 0x6b636f6e4bull /* "Knock" */

struct wire_knock {
        uint64_t magic;
        uint32_t pid, reserved;
};

#define WIRE_LAUNCH_MAGIC 0x68636e75614cull /* "Launch" */

struct wire_launch {
        uint64_t magic;
        uint32_t pid, tid; /* of who calls, as the program sees it */
        uint32_t spawn; /* 0: it becomes the program itself; 1: its next child does; 2: it did not
                         * (no file; the answer comes when it is traced no more); 3: it is none of
                         * these, but has loaded a library with functions to be patched (no file) */
        uint32_t reserved;
};

#define WIRE_REQUEST_MAGIC 0x6b7341ull /* "Ask" */
#define WIRE_LABEL_MAX 128

enum wire_request_type {
        WIRE_REQUEST_SNAPSHOT = 1,
        WIRE_REQUEST_SCAN = 2,
        WIRE_REQUEST_LOOK = 3,     /* a recording of this moment, without a search for leaks */
        WIRE_REQUEST_PROCESSES = 4, /* who is recorded there: their numbers from the `number`th
                                     * on, as far as there is room in the text of the
                                     * reply */
        WIRE_REQUEST_STATUS = 5,    /* how its recording stands: a struct wire_status in the text */
        WIRE_REQUEST_CONTROL = 6,   /* change that: flags say what (enum
                                     * wire_control), reserved how much */
        WIRE_REQUEST_LEAVE = 7      /* end the recording; the program goes on */
};

enum wire_control { WIRE_CONTROL_START = 1, WIRE_CONTROL_STOP, WIRE_CONTROL_RESET,
                    WIRE_CONTROL_DEPTH };

/* Of a snapshot. */
#define WIRE_SNAPSHOT_TAG 1u /* the moment gets a name only: no number, no report */

/* Of a look. */
#define WIRE_LOOK_BLOCKS 1u /* each live block, too */
#define WIRE_LOOK_EVENTS 2u /* what the numbers in its event log mean, too */

/* Of a scan. */
#define WIRE_SCAN_UNALIGNED 1u /* pointers at every byte */
#define WIRE_SCAN_NO_IDIOMS 2u /* interior pointers are never as good as others */
#define WIRE_SCAN_GRAPH 4u     /* keep the graph, however large */
#define WIRE_SCAN_HOLD 8u      /* the process is stopped until all is read, instead of copied */

struct wire_request {
        uint64_t magic;
        uint32_t type;
        uint32_t pid; /* as the asker sees it */
        uint32_t flags;
        uint32_t number; /* of WIRE_CONTROL_DEPTH; of a search: the snapshot that it is kept with, 0
                          * none */
        char label[WIRE_LABEL_MAX];
};

struct wire_reply {
        uint64_t magic;  /* WIRE_REQUEST_MAGIC */
        uint32_t status; /* ERR_EXIT_*: 0 done */
        uint32_t seq;    /* of the snapshot */
        uint64_t live_bytes, live_blocks; /* of the heap then */
        char text[1024]; /* for the user; the report's file, or why not; of a look: the file that
                          * the recording will be in, "" none */
};

struct wire_status {
        uint64_t allocations, frees, live_bytes, live_blocks; /* of the heap */
        uint64_t lost, older;       /* events that were recorded nowhere; ledger_head.older */
        uint64_t start_realtime_ns; /* of the recording */
        uint64_t pause_ns;          /* how long the process stood still for what was asked */
        uint32_t off, depth; /* 1: new blocks are not recorded; frames that are kept, 0 all */
        char engine[32], program[512];
        uint32_t follow; /* 1 + enum session_follow; 0: not told */
        uint32_t reserved;
};

_Static_assert(sizeof(struct wire_status) <= sizeof((struct wire_reply *)0)->text, "fits");
_Static_assert(sizeof(struct wire_knock) == 16, "frozen");
_Static_assert(sizeof(struct wire_hello) == 24, "frozen");
_Static_assert(sizeof(struct wire_launch) == 24, "frozen");

#endif
