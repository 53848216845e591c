/* SPDX-License-Identifier: MIT */
/*
 * board.h -- memory that the processes of `seep serve` share: observers (one for each -p PID), the
 * process that listens, and those that talk to hosts.
 *
 * Keeps:  observers write (all but `clients`, `stored` and `serial`), one at a time (`writer`); the
 *         others read, and wait for nobody.  An entry is filled before its count says that it is
 *         there.
 */
#ifndef SEEP_REMOTE_BOARD_H
#define SEEP_REMOTE_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#include "remote/protocol.h"

#define BOARD_ENDED_MAX 4096u
#define BOARD_PATH_MAX 1024
#define BOARD_SESSIONS_MAX 64u

/* A recording that is finished. */
struct board_ended {
        uint32_t pid;
        uint32_t is_main;
        _Atomic uint32_t stored; /* a host has it */
        char program[PROTOCOL_NAME_MAX];
        char path[BOARD_PATH_MAX];
};

/* An observer, and the process that it started or attached to. */
struct board_session {
        uint32_t pid;
        char socket[128];
};

struct board {
        _Atomic uint32_t serial;  /* rises with each change */
        _Atomic uint32_t clients; /* hosts that were welcomed, ever */
        _Atomic uint32_t state;   /* enum protocol_stage */
        _Atomic uint32_t exit;    /* of the program, once it has ended: as a shell has it */
        _Atomic uint32_t closing;
        _Atomic uint32_t writer; /* the process that writes; 0 none */
        _Atomic uint32_t session_count;
        _Atomic uint32_t count;
        _Atomic uint32_t refused; /* hosts, ever */
        struct board_session sessions[BOARD_SESSIONS_MAX];
        char folder[512];  /* where recordings are only kept until they are sent; "" none */
        struct board_ended ended[BOARD_ENDED_MAX];
};

#endif
