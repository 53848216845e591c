/* SPDX-License-Identifier: MIT */
/*
 * serve.h -- the HTML page over HTTP, on this machine only.
 *
 * Room:   outside.  docs/PAGE.md, "Served pages", has the paths.
 * Keeps:  listens on 127.0.0.1 at a free port; who does not know the token, or comes by another
 *         name of this machine, gets 403.  Work that may take long is done by a process of its own
 *         (producer.h), so that no client waits for another one's.
 */
#ifndef SEEP_SERVE_SERVE_H
#define SEEP_SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "names/symbol.h"
#include "page/page.h"

/* What is served: recordings that were read, or (COUNT 0) a running process that is being
 * recorded. */
struct serve_request {
        const struct page_recording *recordings; /* one, or the old and the new */
        uint32_t count;
        uint32_t pid;                       /* of the program itself: see ask_program() */
        const struct symbol_options *names; /* of the process; NULL: the usual */
        enum page_source source;
        struct progress *progress; /* of the work before the address is announced */
        void *context;
        void (*announce)(void *context, const char *url); /* once, when the page can be had */
};

/* Serve until SIGINT, SIGTERM or SIGHUP comes: true.  false with E filled: nothing was
 * announced. */
bool serve_run(const struct serve_request *r, struct err *e);

#endif
