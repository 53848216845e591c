/* SPDX-License-Identifier: MIT */
/*
 * target.h -- seep-target: programs with the agent in them, and a host that receives their
 * journals.
 *
 * One process waits for everything: agents that say hello, relays (relay.h), a host, children.  It
 * needs no library; buffers have fixed sizes.
 */
#ifndef SEEP_TARGET_TARGET_H
#define SEEP_TARGET_TARGET_H

#include "remote/proof.h"
#include "remote/protocol.h"
#include "target/kernel.h"
#include "target/relay.h"

#define TARGET_SOURCES 128u
#define TARGET_OUT_BYTES (256u << 10)
#define TARGET_PATIENCE_MS 20000u
#define TARGET_TAKES_MS 8000u /* a host must take something: less than programs wait (PATIENCE_MS in
                               * agent/stream.c), whose recordings go on without it then */
#define TARGET_GREETING_MS 10000u /* so long a host that gets no journals may say nothing */

/* A process that is recorded, or was. */
struct source {
        bool used, over; /* over: it has ended, and its ledger is kept until a host has it */
        bool is_main, is_child, sent; /* sent: all of it, to this host */
        uint32_t pid, number;
        long ledger;
        struct ledger_head *head;
        long pipe, relay; /* from the relay, and its process; -1, 0: none */
        bool current;     /* what was there before is sent */
        uint32_t asked;   /* the search for leaks that the host was asked for last ... */
        uint64_t asked_ms; /* ... and when */
        struct relay_control *control;
};

/* Who has connected, and has not said who it is. */
#define GUESTS_MOST 32u
struct guest {
        bool used_place;
        long fd;
        uint8_t nonce[PROTOCOL_NONCE_BYTES];
        uint8_t in[PROTOCOL_HEAD_BYTES + 256]; /* USED of them: more than its first message */
        uint32_t used;
        uint64_t address, since_ms; /* where it comes from, and when it came ... */
        uint64_t order; /* ... before which others */
};

enum host_stage { HOST_NONE, HOST_WELCOME, HOST_STREAMS };

struct host {
        enum host_stage stage;
        long fd;
        uint8_t in[PROTOCOL_HEAD_BYTES + 2048];
        uint32_t in_used;
        uint8_t out[TARGET_OUT_BYTES];
        uint32_t out_used, out_sent;
        uint64_t since_ms; /* nothing was said since; of HOST_STREAMS: nothing was taken */
        bool current_told, over_told;
};

#define TARGET_READERS 4u

struct target {
        struct source sources[TARGET_SOURCES];
        uint32_t next_number, dropped; /* dropped: processes that ended, and no host ever got */
        struct relay_control *controls;
        struct host host;
        struct proof_token token;
        long listener, hellos;
        long agents; /* from here ledgers of processes come that run already; -1 none */
        long attacher; /* the process that attaches to them (attach.c); 0: none of ours */
        uint32_t uid;
        long child; /* the program; 0: not started */
        bool started, ended, got; /* got: a host has stored all that there was */
        uint32_t exit; /* as a shell has it */
        uint64_t hold_ms; /* so long a program or its ledger waits for a host at its end */
        long readers[TARGET_READERS]; /* processes, for further connections of the host; 0 none */
        bool is_reader; /* this is one of them */
};

extern struct target target;

/* ---- guests.c: who is not the host yet ---- */

void guests_arrive(void);
void guests_poll(struct kernel_poll *out);
void guests_look(const struct kernel_poll *polled);

/* In a process that serves BUT alone (NULL: nobody): close the connections of hosts and agents. */
void target_forget(const struct guest *but);

void guest_text(char *to, uint32_t room, const char *text);

/* ---- host.c: the host ---- */

/* What it said; what can be sent is sent. */
void host_reads(void);
void host_writes(void);

/* G is the host from now on; it is sent WELCOME. */
void host_becomes(const struct guest *g, const struct protocol_message *welcome);

/* WHY: NULL when it went by itself. */
void host_leaves(const char *why);

/* Room for a message with BYTES of a body, without waiting. */
bool host_has_room(uint32_t bytes);

/* A packet of S; how S stands; how all stands. */
void host_packet(const struct source *s, const uint8_t *packet, uint32_t bytes);
void host_source(const struct source *s, uint32_t flags);
void host_state(void);

/* S waits for a search for leaks; its journal has come to where it was stopped. */
void host_asks(const struct source *s, uint32_t asked, uint32_t reason);
void host_moment(const struct source *s, uint32_t ticket);

/* An answer, and BYTES behind it.  False: the host is gone. */
bool host_answer(uint32_t status, uint64_t bytes, const char *text);
bool host_chunks(const uint8_t *bytes, uint64_t count);

/* ---- sources.c: processes that are recorded ---- */

void source_hello(void);
void source_start_relays(void);

/* What has come by target.agents; false: nothing more will.  Nothing more is recorded then. */
bool source_attached(void);
void source_leave_all(void);
void source_stop_relays(void);
void source_reads(struct source *s);

/* Clocks and ends. */
void source_tick(void);
void source_reaped(long pid, int32_t status);
struct source *source_of(uint32_t pid);

/* Searches for leaks that processes wait for: the host is told, or nobody is there to make them.
 * One is done. */
void source_asks(void);
void source_searched(uint32_t pid, uint32_t asked, uint64_t definite);

/* All have ended; all of them is sent to this host. */
bool source_all_over(void);
bool source_all_sent(void);

/* ---- reader.c: a process that stands still, or a copy of one, and its memory ---- */

/* Serve the connection of G, which is moved, in a process of its own.  False: there are too
 * many. */
bool reader_start(const struct guest *g, const struct protocol_message *welcome);

/* Those that have ended. */
void reader_reap(void);

/* In it: requests; and ranges that were asked for (false: they were not). */
bool reader_ranges(const uint8_t *bytes, uint32_t count);
void reader_hold(const struct protocol_request *r);
void reader_memory(const struct protocol_request *r);
void reader_used(const struct protocol_request *r);
void reader_expect(const struct protocol_request *r);
void reader_pointers(const struct protocol_request *r);
void reader_control(const struct protocol_request *r);

/* ---- attach.c: processes that run already ---- */

#define ATTACH_MOST 16u

struct attach_order {
        uint32_t pids[ATTACH_MOST], count;
        const char *library, *image; /* paths of libseep.so and libseep-inject.so */
        const char *session;         /* what agents are told */
        uint64_t signals;            /* with one of these it leaves them */
};

/* Attach to them: target.attacher does, and their ledgers come by target.agents. */
bool attach_start(const struct attach_order *o);

/* ---- listen.c: where hosts come ---- */

/* Listen at TEXT.  False: WHY. */
bool listen_at(const char *text, const char **why);
void listen_end(void);

/* Whether PATH is a directory of our user alone, and no link. */
bool listen_is_folder(const char *path);

/* Whether FD, accepted there, is of our user or of root. */
bool listen_is_own(long fd);

/* ---- main.c ---- */

void say(const char *text);
void say_more(const char *a, const char *b, const char *c);

#endif
