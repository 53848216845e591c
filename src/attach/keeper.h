/* SPDX-License-Identifier: MIT */
/*
 * keeper.h -- a process that traces others already, and holds one of them still for whoever asks.
 *
 * Keeps:  a process has one tracer.  Who wants it to stand still while another one has it sends an
 *         order with one end of a socket; through that it gets struct keeper_answer and so many
 *         struct freeze_thread, and closes it when the process may go on.
 */
#ifndef SEEP_ATTACH_KEEPER_H
#define SEEP_ATTACH_KEEPER_H

#include <stdint.h>

enum keeper_what {
        KEEPER_TRACE = 1, /* PID is to be traced from now on; answered by struct keeper_answer */
        KEEPER_HOLD = 2
};

struct keeper_order {
        uint32_t what;
        int32_t pid;
};

struct keeper_answer {
        uint32_t good;
        int32_t error;  /* errno, unless good */
        uint32_t count; /* of threads that follow */
};

#endif
