/* SPDX-License-Identifier: MIT */
/*
 * hello.h -- how an agent finds its observer.
 *
 * Room:   both sides; layout only.
 * Keeps:  the observer listens on a SOCK_SEQPACKET UNIX socket and puts its path into the environment.  Each
 *         agent connects, sends one struct wire_hello with the memfd of its ledger attached (SCM_RIGHTS), closes
 *         both descriptors and never waits for an answer.  No descriptor stays open in the program.
 *
 * SEEP_SESSION is "1:FOLLOW:FLAGS:PATH": protocol version, follow mode (none, exec, all), WIRE_F_ flags in hex,
 * path of the socket (the rest of the string).
 */
#ifndef SEEP_WIRE_HELLO_H
#define SEEP_WIRE_HELLO_H

#include <stdint.h>

#define WIRE_SESSION_ENV "SEEP_SESSION"
#define WIRE_SESSION_VERSION 1

#define WIRE_F_NO_MMAP 1u
#define WIRE_F_NO_CXX 2u      /* operator new and delete are seen as the malloc and free that they call */
#define WIRE_F_NO_STACKS 4u   /* record --depth 0 */
#define WIRE_F_VERIFY 8u      /* test mode: compare every captured stack with a full unwind */
#define WIRE_F_FREE_STACKS 16u
#define WIRE_F_START_OFF 32u

#define WIRE_HELLO_MAGIC 0x6f6c6c6548ull /* "Hello" */

enum wire_hello_reason { WIRE_HELLO_START = 1, WIRE_HELLO_FORK = 2 };

struct wire_hello {
        uint64_t magic;
        uint32_t version; /* LEDGER_VERSION */
        uint32_t reason;
        uint32_t pid, ppid; /* as the program sees them; the socket's credentials tell our view */
};

_Static_assert(sizeof(struct wire_hello) == 24, "frozen");

#endif
