/* SPDX-License-Identifier: MIT */
/* stream_parts.h -- what the rooms of stream.h share: one packet on its way out. */
#ifndef SEEP_AGENT_STREAM_PARTS_H
#define SEEP_AGENT_STREAM_PARTS_H

#include "agent/agent.h"
#include "agent/stream.h"
#include "wire/journal.h"

#define STREAM_RECORD 64u /* bytes of a record without texts, at most */

/* The packet that is being written.  Whoever has the ring's lock has this, too. */
struct stream_packet {
        uint8_t *bytes;       /* JOURNAL_HEAD + JOURNAL_BODY_MAX */
        uint32_t used, limit; /* of the body */
        uint32_t sent, whole; /* of a packet that is complete; WHOLE 0: it is not */
        uint32_t number;
        bool fresh;
        struct journal_model model;
};

extern struct stream_packet *stream_packet;

/* ---- stream.c ---- */

uint32_t stream_now_ms(void);

/* Whether a packet that could not be sent at SINCE_MS is to be waited for. */
bool stream_waits(uint32_t since_ms);

/* ---- stream_out.c: where packets go ---- */

/* TEXT is FILE, tcp:HOST:PORT, udp:HOST:PORT or target:PATH.  False: it is none of them. */
bool stream_out_name(const char *text);

/* Open it.  SAY: tell why not. */
bool stream_out_open(bool say);

/* Bytes of a packet, head and body, at most. */
uint32_t stream_out_most(void);
bool stream_out_is_datagram(void);

/* The socket of a seep-target, which reads the ring by itself; NULL: packets go elsewhere. */
const char *stream_out_target(void);

/* A file that names the program's directory. */
const char *stream_out_cwd(void);

/* Send what can be sent of BYTES now.  How many; negative: an errno, and EAGAIN means later. */
long stream_out_send(const uint8_t *bytes, uint32_t count);

/* Wait until it may be worth while to try again, some 20 ms at most. */
void stream_out_wait(void);

void stream_out_close(void);

/* ---- stream_pack.c: records ---- */

bool stream_pack_start(void);

/* Room for COUNT bytes in the packet; the one before is sent if need be.  False: not now. */
bool stream_room(uint32_t count);

/* The packet is complete: send it.  False: not all of it, for now. */
bool stream_close_packet(void);

void stream_byte(uint32_t value);
void stream_number(uint64_t value);

/* ---- stream_tables.c: what the numbers in events mean ---- */

bool stream_tables_start(void);
void stream_tables_forked(void);

/* Each false: there was no room; what was told is not told again. */
bool stream_tell_process(void);
bool stream_tell_event(const struct ledger_event *e);
bool stream_tell_changes(void);
bool stream_tell_held(void);

/* The event itself. */
bool stream_event(const struct ledger_event *e);

#endif
