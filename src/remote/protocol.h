/* SPDX-License-Identifier: MIT */
/*
 * protocol.h -- messages between a target and a host: docs/PROTOCOL.md as code.
 *
 * Keeps:  numbers are little-endian whatever the machines; texts have a length and a limit.  The
 *         reader trusts no byte: what does not fit its table is refused, and nothing is allocated.
 */
#ifndef SEEP_REMOTE_PROTOCOL_H
#define SEEP_REMOTE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define PROTOCOL_VERSION 1u
#define PROTOCOL_MAGIC "SEEPWIRE"
#define PROTOCOL_PORT "4576"
#define PROTOCOL_HEAD_BYTES 8u        /* length of the body, type, 0 */
#define PROTOCOL_BODY_MAX (64u << 10) /* a chunk of a recording is the longest */
#define PROTOCOL_NONCE_BYTES 32
#define PROTOCOL_PROOF_BYTES 32
#define PROTOCOL_NAME_MAX 512
#define PROTOCOL_TEXT_MAX 2048

/* Each message: name, number, and the fields of its body in their order.  F(type, name) of U8 to
 * U64, B(name, bytes) and T(name, room) for bytes of a fixed number and for texts. */
#define PROTOCOL_LIST(X)      \
        X(GREETING, 1, greeting) \
        X(HELLO, 2, hello)       \
        X(WELCOME, 3, welcome)   \
        X(REQUEST, 4, request)   \
        X(ANSWER, 5, answer)     \
        X(STATUS, 6, status)     \
        X(LIST, 7, list)         \
        X(PROCESS, 8, process)   \
        X(FAULT, 9, fault)       \
        X(SOURCE, 65, source)    \
        X(STATE, 66, state)      \
        X(ASKS, 67, asks)        \
        X(MOMENT, 68, moment)

#define PROTOCOL_GREETING(F, B, T)  \
        B(magic, 8)                \
        F(U32, version)            \
        F(U8, order)               \
        F(U8, word)                \
        F(U16, machine)            \
        F(U32, flags)              \
        B(nonce, PROTOCOL_NONCE_BYTES) \
        T(tool, 64)

#define PROTOCOL_HELLO(F, B, T)     \
        B(magic, 8)                \
        F(U32, version)            \
        F(U32, flags)              \
        B(nonce, PROTOCOL_NONCE_BYTES) \
        B(proof, PROTOCOL_PROOF_BYTES) \
        T(tool, 64)

#define PROTOCOL_WELCOME(F, B, T)   \
        B(proof, PROTOCOL_PROOF_BYTES) \
        F(U32, pid)                \
        F(U32, flags)              \
        T(host, 256)

#define PROTOCOL_REQUEST(F, B, T)   \
        F(U32, kind)               \
        F(U32, pid)                \
        F(U32, flags)              \
        F(U32, number)             \
        F(U64, address)            \
        T(label, 128)

#define PROTOCOL_ANSWER(F, B, T)    \
        F(U32, status)             \
        F(U32, seq)                \
        F(U64, live_bytes)         \
        F(U64, live_blocks)        \
        F(U64, bytes)              \
        T(text, PROTOCOL_TEXT_MAX)

#define PROTOCOL_STATUS(F, B, T)    \
        F(U64, allocations)        \
        F(U64, frees)              \
        F(U64, live_bytes)         \
        F(U64, live_blocks)        \
        F(U64, lost)               \
        F(U64, older)              \
        F(U64, start_realtime_ns)  \
        F(U64, pause_ns)           \
        F(U32, off)                \
        F(U32, depth)              \
        F(U32, follow)             \
        T(engine, 32)              \
        T(program, PROTOCOL_NAME_MAX)

#define PROTOCOL_LIST_HEAD(F, B, T) \
        F(U32, serial)             \
        F(U32, count)              \
        F(U32, state)              \
        F(U32, exit)

#define PROTOCOL_PROCESS(F, B, T)   \
        F(U32, number)             \
        F(U32, pid)                \
        F(U32, flags)              \
        F(U32, reserved)           \
        F(U64, live_bytes)         \
        F(U64, start_realtime_ns)  \
        T(engine, 32)              \
        T(program, PROTOCOL_NAME_MAX)

#define PROTOCOL_FAULT(F, B, T)     \
        F(U32, code)               \
        T(text, PROTOCOL_TEXT_MAX)

/* Of targets without a ledger: a process whose journal they send, and how all of it stands. */
#define PROTOCOL_SOURCE(F, B, T)    \
        F(U32, number)             \
        F(U32, pid)                \
        F(U32, flags)

#define PROTOCOL_STATE(F, B, T)     \
        F(U32, state)              \
        F(U32, exit)               \
        F(U32, dropped)

/* A process waits for a search for leaks (enum ledger_scan); the journal of one has come to where
 * it was when it was stopped (PROTOCOL_KIND_HOLD). */
#define PROTOCOL_ASKS(F, B, T)      \
        F(U32, number)             \
        F(U32, asked)              \
        F(U32, reason)

#define PROTOCOL_MOMENT(F, B, T)    \
        F(U32, number)             \
        F(U32, ticket)

#define PROTOCOL_U8 uint8_t
#define PROTOCOL_U16 uint16_t
#define PROTOCOL_U32 uint32_t
#define PROTOCOL_U64 uint64_t
#define PROTOCOL_MEMBER(type, name) PROTOCOL_##type name;
#define PROTOCOL_BYTES(name, count) uint8_t name[count];
#define PROTOCOL_TEXT(name, room) char name[room];
#define PROTOCOL_STRUCT(FIELDS) { FIELDS(PROTOCOL_MEMBER, PROTOCOL_BYTES, PROTOCOL_TEXT) }

struct protocol_greeting PROTOCOL_STRUCT(PROTOCOL_GREETING);
struct protocol_hello PROTOCOL_STRUCT(PROTOCOL_HELLO);
struct protocol_welcome PROTOCOL_STRUCT(PROTOCOL_WELCOME);
struct protocol_request PROTOCOL_STRUCT(PROTOCOL_REQUEST);
struct protocol_answer PROTOCOL_STRUCT(PROTOCOL_ANSWER);
struct protocol_status PROTOCOL_STRUCT(PROTOCOL_STATUS);
struct protocol_list PROTOCOL_STRUCT(PROTOCOL_LIST_HEAD);
struct protocol_process PROTOCOL_STRUCT(PROTOCOL_PROCESS);
struct protocol_fault PROTOCOL_STRUCT(PROTOCOL_FAULT);
struct protocol_source PROTOCOL_STRUCT(PROTOCOL_SOURCE);
struct protocol_state PROTOCOL_STRUCT(PROTOCOL_STATE);
struct protocol_asks PROTOCOL_STRUCT(PROTOCOL_ASKS);
struct protocol_moment PROTOCOL_STRUCT(PROTOCOL_MOMENT);

#define PROTOCOL_ENUM(name, number, field) PROTOCOL_##name##_TYPE = number,
enum protocol_type {
        PROTOCOL_LIST(PROTOCOL_ENUM)
        PROTOCOL_CHUNK_TYPE = 10, /* bytes of a recording; no fields */
        PROTOCOL_ALIVE_TYPE = 11, /* "it takes a while"; no body */
        PROTOCOL_JOURNAL_TYPE = 64 /* of a target without a ledger: the number of a process (u32),
                                    * and a packet of its journal */
};

/* Any message but a chunk. */
struct protocol_message {
        enum protocol_type type;
#define PROTOCOL_UNION(name, number, field) struct protocol_##field field;
        union {
                PROTOCOL_LIST(PROTOCOL_UNION)
        };
};

/* protocol_greeting.flags */
#define PROTOCOL_TOKEN_NEEDED 1u
#define PROTOCOL_LIGHT 2u /* there is no ledger: journals are sent, and the host keeps it */

/* protocol_hello.flags */
#define PROTOCOL_HELLO_READER 1u /* one more connection of a host that gets journals already */

/* protocol_request.kind: up to 7 as enum wire_request_type, for the process `pid`. */
enum protocol_kind {
        PROTOCOL_KIND_CONTROL = 6,
        PROTOCOL_KIND_LIST = 16,   /* flags: PROTOCOL_LIST_WAIT; number: the serial that is known */
        PROTOCOL_KIND_FINAL = 17,  /* the recording `number` of a process that has ended */
        PROTOCOL_KIND_MEMORY = 18, /* `number` bytes at `address` of the process `pid` */
        PROTOCOL_KIND_GOT = 19,    /* the recording `number` has arrived and is stored */
        PROTOCOL_KIND_JOURNAL = 32, /* send journals from now on */
        PROTOCOL_KIND_HOLD = 33, /* stop the process `pid`, or copy it, and say what it is like
                                  * (remote/held.h); `number`: the ticket of its MOMENT */
        PROTOCOL_KIND_USED = 34, /* which of `number` pages from `address` on were ever used */
        PROTOCOL_KIND_SEARCHED = 35, /* the search `number` that `pid` asked for is done;
                                      * `address`: so many blocks are definitely lost */
        PROTOCOL_KIND_EXPECT = 36, /* `number` ranges follow, when it is answered, in chunks: where
                                    * pointers are to lead (remote/pointers.h) */
        PROTOCOL_KIND_POINTERS = 37 /* as MEMORY with _PART, but those words only */
};
#define PROTOCOL_LIST_WAIT 1u
#define PROTOCOL_MEMORY_MAX (1u << 20)
#define PROTOCOL_EXPECT_CHUNK 1024u /* bytes, at most: what a small target has room for */
#define PROTOCOL_POINTERS_MAX (256u << 10)
#define PROTOCOL_MEMORY_PART 1u /* as much as can be read from the start on */
#define PROTOCOL_HOLD_STILL 1u  /* no copy: the process stands still until the connection ends */
#define PROTOCOL_USED_MAX 1024u /* ranges in an answer */
#define PROTOCOL_PAGE 4096u     /* of PROTOCOL_KIND_USED, wherever it is */

/* protocol_list.state, protocol_state.state */
enum protocol_stage { PROTOCOL_STATE_WAITING, PROTOCOL_STATE_RUNNING, PROTOCOL_STATE_ENDED };

/* protocol_process.flags */
#define PROTOCOL_PROCESS_ENDED 1u /* there is a recording `number` to be had */
#define PROTOCOL_PROCESS_MAIN 2u  /* the one that was started or attached to */
#define PROTOCOL_PROCESS_OFF 4u   /* new blocks are not recorded */

/* protocol_source.flags */
#define PROTOCOL_SOURCE_MAIN 1u  /* it was started by the target */
#define PROTOCOL_SOURCE_AGAIN 2u /* it ran before: what it holds is told, then what happens */
#define PROTOCOL_SOURCE_OVER 4u  /* nothing more comes of it */
#define PROTOCOL_SOURCE_BROKEN 8u /* ... because its ledger makes no sense */

/* Append the message, head and body, to OUT. */
void protocol_write(const struct protocol_message *m, struct str *out);

/* The head: the LENGTH of the body that follows, and its type.  false: it is none of ours. */
bool protocol_read_head(const uint8_t *head, uint32_t *length, uint32_t *type);

/* The body of a message of TYPE.  Bytes behind the last field are of a later version, and are left
 * out.  false: too short, a text longer than its room or with a zero in it, or no such type. */
bool protocol_read(struct protocol_message *m, uint32_t type, const uint8_t *body, uint32_t length);

/* Whether LENGTH bytes at BODY begin with our magic, and which version follows it: for a greeting
 * or hello of any version. */
bool protocol_read_version(const uint8_t *body, uint32_t length, uint32_t *version);

#endif
