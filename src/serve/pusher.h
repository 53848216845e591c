/* SPDX-License-Identifier: MIT */
/*
 * pusher.h -- the process that reads recorded processes and sends their profiles.
 */
#ifndef SEEP_SERVE_PUSHER_H
#define SEEP_SERVE_PUSHER_H

#include <stdint.h>

#include "serve/push.h"
#include "serve/push_address.h"
#include "serve/push_http.h"

/* What the observer tells: a program was started, or (with the descriptor of its file) a recording
 * is finished.  The end of the connection: nothing more will come. */
struct pusher_news {
        uint32_t pid;  /* 0: a recording */
        uint32_t lost; /* recordings before it that could not be handed over: the connection was
                        * full */
};

/* Look and send until FD, the connection to the observer, is closed and everything is
 * sent, or it is time to go. */
void pusher_run(const struct push_request *r, const struct push_address *t, struct push_http *h,
                int fd);

#endif
