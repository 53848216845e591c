/* SPDX-License-Identifier: MIT */
/*
 * serve_light.h -- `seep serve --light`: seep-target does the work, and this process attaches for
 * it
 */
#ifndef SEEP_CLI_SERVE_LIGHT_H
#define SEEP_CLI_SERVE_LIGHT_H

#include "cli/pids.h"

/* Words of seep-target's command line, and what only concerns processes that run already. */
struct serve_light {
        const char **words; /* from its name on, with room for two more and NULL at the end */
        int count;
        const char *overflow, *follow; /* as they are among them */
        bool no_scan;
};

/* Take the place of this process: seep-target starts its program.  Returns after a message, with
 * the status to exit with. */
int serve_light_become(const struct serve_light *s);

/* Run it beside us, and bring the agent into T, until they end or we are told to leave them. */
int serve_light_attach(const struct serve_light *s, const struct pids *t);

#endif
