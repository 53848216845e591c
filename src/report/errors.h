/* SPDX-License-Identifier: MIT */
/*
 * errors.h -- releases that went wrong, with both stacks.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_ERRORS_H
#define SEEP_REPORT_ERRORS_H

#include <stdint.h>

#include "base/str.h"
#include "report/select.h"
#include "symbol/symbol.h"

/* Append double frees, mismatched releases and frees of unknown memory, at most LIMIT of them (0: all). */
void errors_write(const struct selection *sel, struct symbols *s, uint32_t limit, struct str *out);

#endif
