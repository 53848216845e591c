/* SPDX-License-Identifier: MIT */
/*
 * requests.h -- what commands in other processes ask of the observer (session/ask.h is the other end).
 *
 * Room:   outside.
 */
#ifndef SEEP_SESSION_REQUESTS_H
#define SEEP_SESSION_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "session/recording.h"
#include "wire/hello.h"

/* Who can be asked about. */
struct requests_among {
        struct recording *const *recordings;
        uint32_t count;
        bool allowed; /* whoever asks may do so */
};

/* Do what ASK says, or refuse it.  FD, the connection, is moved. */
void requests_serve(const struct requests_among *among, const struct wire_request *ask, int fd);

#endif
