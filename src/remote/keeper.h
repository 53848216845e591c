/* SPDX-License-Identifier: MIT */
/*
 * keeper.h -- the process on the host that keeps the ledgers of a target that has none: see
 * light.h.
 */
#ifndef SEEP_REMOTE_KEEPER_H
#define SEEP_REMOTE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "remote/light.h"
#include "remote/link.h"

struct keeper_job {
        const struct link *link; /* to the target */
        const struct light_wishes *wishes;
        const char *folder; /* its own */
};

/* What it says through its socket when it is ready: where it answers; or (status) why not. */
struct keeper_word {
        uint32_t status;
        char text[1024];
};

/* In the worker, until the other end of FD is closed. */
bool keeper_run(void *job, int fd);

#endif
