/* SPDX-License-Identifier: MIT */
/*
 * browser.h -- a page shown in the user's browser, which goes on when we end.
 *
 * Room:   outside, cli/ only.
 */
#ifndef SEEP_CLI_BROWSER_H
#define SEEP_CLI_BROWSER_H

#include <stdbool.h>

#include "base/str.h"

/* Show URL with the programs of $BROWSER, or xdg-open where there is a display.  false: there is none that can be started. */
bool browser_open(const char *url);

/* Append the file:// address of PATH, which exists. */
void browser_file_url(const char *path, struct str *out);

#endif
