/* SPDX-License-Identifier: MIT */
/*
 * resources.h -- things with a handle that a program holds: file descriptors, textures, locks.
 *
 * Room:   outside.
 */
#ifndef SEEP_COLLECT_RESOURCES_H
#define SEEP_COLLECT_RESOURCES_H

#include <stdint.h>

#include "collect/view.h"
#include "profile/model.h"

/* Fill P's names of types. */
void resources_types(const struct view *v, struct profile *p);

/* Fill P's handles, with sites translated by SITE_MAP.  P's sites and threads must be there. */
void resources_handles(const struct view *v, const uint32_t *site_map, uint32_t site_count, struct profile *p);

#endif
