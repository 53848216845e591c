/* SPDX-License-Identifier: MIT */
/*
 * fetch.h -- the recordings of a target, written here when they are finished: `seep connect ADDR`.
 */
#ifndef SEEP_CLI_FETCH_H
#define SEEP_CLI_FETCH_H

#include "cli/names.h"
#include "cli/roster.h"
#include "remote/link.h"
#include "session/output.h"

struct fetch {
        const char *pattern; /* NULL: the usual name */
        bool force, quiet, no_summary;
        struct names *names;
        struct link *link;
        /* from here on its own */
        struct link_connection connection;
        struct output output;
        struct roster roster;
        bool *done; /* by number of a recording */
        uint32_t done_count;
        bool connected, told;
};

/* Until all is over there, or Ctrl-C: then as it is now.  The exit status. */
int fetch_run(struct fetch *f);

#endif
