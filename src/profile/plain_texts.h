/* SPDX-License-Identifier: MIT */
/* plain_texts.h -- the texts of a recording, made harmless for terminals and readers. */
#ifndef SEEP_PROFILE_PLAIN_TEXTS_H
#define SEEP_PROFILE_PLAIN_TEXTS_H

#include "profile/model.h"

/* Names of modules, threads, marks, types, mappings, and what the program was called, each in one
 * line (base/plain.h), in place.  Not those of functions: names/ has them. */
void profile_plain(const struct profile *p);

#endif
