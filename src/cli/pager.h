/* SPDX-License-Identifier: MIT */
/* pager.h -- results on a terminal: colour, and a pager when they are long. */
#ifndef SEEP_CLI_PAGER_H
#define SEEP_CLI_PAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

enum pager_color { PAGER_COLOR_AUTO, PAGER_COLOR_ALWAYS, PAGER_COLOR_NEVER };

#define PAGER_COLORS "auto|always|never" /* their words, for option_choice() */

/* Whether results on FD are coloured: when asked for, or on a terminal that is not
 * dumb and without NO_COLOR. */
bool pager_color(enum pager_color wanted, int fd);

/* Columns of the terminal that stdout is; 0: it is none. */
uint32_t pager_columns(void);

/* A pager that waits for text on FD. */
struct pager {
        int fd;
        pid_t pid;
        void (*before)(int); /* what SIGINT did */
};

/* false: there is none to be had, or none wanted: write to stdout. */
bool pager_open(struct pager *p, bool plain);

/* Wait until the user leaves it.  false: it was never there (it is not installed, say). */
bool pager_close(struct pager *p);

/* Write TEXT to stdout; on a terminal (unless PLAIN) through $SEEP_PAGER, $PAGER or less -FRX.  A
 * reader that goes away early is no error.  false: errno tells why stdout could not be written. */
bool pager_show(const struct str *text, bool plain);

#endif
