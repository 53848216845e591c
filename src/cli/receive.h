/* SPDX-License-Identifier: MIT */
/* receive.h -- journals from other machines, written here as recordings: `connect --receive`. */
#ifndef SEEP_CLI_RECEIVE_H
#define SEEP_CLI_RECEIVE_H

#include <stdbool.h>

struct receive_job {
        const char *from;    /* an address to listen at, or the file of a journal */
        const char *pattern; /* NULL: the usual name */
        bool force, quiet;
        bool once; /* until all journals that came are over, instead of Ctrl-C */
};

/* The exit status. */
int receive_journals(const struct receive_job *job);

#endif
