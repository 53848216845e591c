/* SPDX-License-Identifier: MIT */
/*
 * dump.h -- every field of a profile in memory as JSON, for comparison with readers of the file.
 */
#ifndef SEEP_TESTS_FUZZ_DUMP_H
#define SEEP_TESTS_FUZZ_DUMP_H

#include "base/str.h"
#include "profile/model.h"

/* Append P to OUT.  Texts are hex, because they may be any bytes; null is NULL. */
void dump_profile(const struct profile *p, struct str *out);

#endif
