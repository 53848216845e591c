/* SPDX-License-Identifier: MIT */
/*
 * offer.h -- a process that is not recorded yet: seep attaches to it, if the user agrees.
 *
 * Keeps:  `seep attach` runs in a process of its own, as if it had been typed: it writes a
 *         recording, and whoever asks about the process finds it.
 */
#ifndef SEEP_CLI_OFFER_H
#define SEEP_CLI_OFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define OFFER_OPTION(X, prefix)                                                             \
        X(prefix##_ATTACH, "attach", 0, NULL,                                               \
          "attach to the process first, without asking, if it is not being recorded")

/* How it comes to that. */
#define OFFER_WANTED 1u /* --attach: nobody is asked */
#define OFFER_ASKS 2u   /* who sits at a terminal is asked */
#define OFFER_ENDS 4u   /* the recording ends with this command, by offer_end() or by our end;
                         * otherwise with the process, or by `seep detach` */
#define OFFER_QUIET 8u  /* not a word about what was done */

/* Unless PID is recorded already: have that done, as HOW (OFFER_*) says.  true: it is, or nobody
 * wants it.  false: it was wanted and cannot be; E says why. */
bool offer_attach(uint32_t pid, unsigned how, struct err *e);

/* End a recording that was begun for this command. */
void offer_end(void);

#endif
