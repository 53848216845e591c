/* SPDX-License-Identifier: MIT */
/* pass.h -- all memory that counts, read once from low to high in large pieces. */
#ifndef SEEP_LEAK_PASS_H
#define SEEP_LEAK_PASS_H

#include "leak/sift.h"

/* Sift all roots, then all blocks. */
void pass_run(struct sift *s);

#endif
