/* SPDX-License-Identifier: MIT */
/* fetch_none.c -- in place of fetch.c in a build without debuginfod. */
#include "names/fetch.h"

#include <stddef.h>

struct fetch *fetch_new(const struct symbol_options *options)
{
        (void)options;
        return NULL;
}

void fetch_free(struct fetch *f)
{
        (void)f;
}

bool fetch_file(struct fetch *f, const struct profile_module *wanted, enum fetch_what what,
                char **path)
{
        (void)f;
        (void)wanted;
        (void)what;
        (void)path;
        return false;
}
