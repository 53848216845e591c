/* SPDX-License-Identifier: MIT */
/*
 * first_tracer.h -- a process of ours that already traces another one, and holds it still on
 * request.
 *
 * Keeps:  a process has one tracer.  Who wants it to stand still while another one has it sends an
 *         order with one end of a socket.  Through that it gets struct first_tracer_answer and as
 *         many struct freeze_thread as that says, and closes it when the process may go on.
 */
#ifndef SEEP_ATTACH_FIRST_TRACER_H
#define SEEP_ATTACH_FIRST_TRACER_H

#include <stdint.h>

enum first_tracer_what {
        FIRST_TRACER_TRACE = 1, /* trace PID from now on; answered by struct first_tracer_answer */
        FIRST_TRACER_HOLD = 2
};

struct first_tracer_order {
        uint32_t what;
        int32_t pid;
};

struct first_tracer_answer {
        uint32_t good;
        int32_t error;  /* errno, unless good */
        uint32_t count; /* of threads that follow */
};

#endif
