/* SPDX-License-Identifier: MIT */
/* variables_far.c -- where variables.c has a type that it only declares. */
#include <stdlib.h>

struct opaque {
        long number;
        struct opaque *sibling;
};

struct opaque *far_made(void);

struct opaque *far_made(void)
{
        return calloc(1, sizeof(struct opaque));
}
