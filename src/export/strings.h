/* SPDX-License-Identifier: MIT */
/*
 * strings.h -- a table of strings with numbers, for formats that refer to strings by number.
 */
#ifndef SEEP_EXPORT_STRINGS_H
#define SEEP_EXPORT_STRINGS_H

#include <stdint.h>

#include "base/table.h"

/* Zeroed: empty. */
struct strings {
        char **at; /* by number */
        uint32_t count;
        struct table numbers;
};

/* The number of TEXT, counted from 0 in the order in which strings come. */
uint32_t strings_number(struct strings *t, const char *text);

void strings_free(struct strings *t);

#endif
