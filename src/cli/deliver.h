/* SPDX-License-Identifier: MIT */
/*
 * deliver.h -- where a result goes: a file (-o FILE), or stdout.
 *
 * Room:   outside, cli/ only.
 */
#ifndef SEEP_CLI_DELIVER_H
#define SEEP_CLI_DELIVER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/pager.h"

struct deliver {
        const char *output; /* NULL or "-": stdout */
        bool force;         /* an existing file is replaced */
        bool plain;         /* no pager */
};

bool deliver_text(const struct deliver *d, const struct str *text, struct err *e);

/* Whether the result is coloured. */
bool deliver_color(const struct deliver *d, enum pager_color wanted);

#endif
