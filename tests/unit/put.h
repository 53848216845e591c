/* SPDX-License-Identifier: MIT */
/* put.h -- a file with given contents, for tests. */
#ifndef SEEP_TESTS_PUT_H
#define SEEP_TESTS_PUT_H

#include <stdbool.h>
#include <stdio.h>

static inline bool put_file(const char *path, const void *bytes, size_t count)
{
        FILE *file = fopen(path, "wb");
        bool good = file && fwrite(bytes, 1, count, file) == count;

        return file && !fclose(file) && good;
}

#endif
