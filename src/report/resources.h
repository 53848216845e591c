/* SPDX-License-Identifier: MIT */
/*
 * resources.h -- things with a handle that the program acquired and released: file descriptors, textures, locks.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_RESOURCES_H
#define SEEP_REPORT_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/select.h"

/* Append the resources of SEL, which was asked for resources, by type and stack; types and stacks with most that was
 * not released first.  At most LIMIT stacks of a type (0: all). */
void resources_write(const struct selection *sel, struct symbols *s, uint32_t limit, struct str *out);

/* Append "3 fd, 1 texture": what was not released.  false: everything was, or there were no resources. */
bool resources_held(const struct profile *p, struct str *out);

#endif
