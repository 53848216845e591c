/* SPDX-License-Identifier: MIT */
/*
 * typed.h -- the command line as it was typed.
 *
 * Room:   outside.
 */
#ifndef SEEP_SESSION_TYPED_H
#define SEEP_SESSION_TYPED_H

#include "profile/model.h"

/* Take what the kernel put in front of the arguments of a script out of M. */
void typed_arguments(struct profile_meta *m);

#endif
