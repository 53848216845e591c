/* SPDX-License-Identifier: MIT */
/*
 * corpus.c -- makes the files that fuzzing starts from.
 *
 * usage: corpus DIRECTORY     writes NAME.seep into it; the same bytes every time
 */
#include <stdio.h>

#include "profile/image.h"
#include "profile/store.h"
#include "sample.h"

static int put(const char *directory, const char *name, const void *bytes, size_t size)
{
        struct str path = { 0 };
        struct err e = { 0 };

        str_format(&path, "%s/%s.seep", directory, name);
        if (!store_file(path.data, bytes, size, &e)) {
                fprintf(stderr, "corpus: %s\n", e.text);
                return 1;
        }
        str_free(&path);
        return 0;
}

static int put_sample(const char *directory, const char *name, uint64_t seed, uint32_t size, enum image_packing packing)
{
        struct profile p = { 0 };
        struct str file = { 0 };
        struct err e = { 0 };
        int status;

        if (size)
                sample_profile(&p, seed, size);
        status = !image_write(&p, packing, &file, &e) || put(directory, name, file.data, file.length);
        str_free(&file);
        profile_free(&p);
        return status;
}

int main(int argc, char **argv)
{
        const char *directory = argv[1];

        if (argc != 2) {
                fputs("usage: corpus DIRECTORY\n", stderr);
                return 2;
        }
        return put_sample(directory, "empty", 0, 0, IMAGE_PLAIN) || put_sample(directory, "tiny", 1, 3, IMAGE_PLAIN) ||
               put_sample(directory, "small", 2, 8, IMAGE_PLAIN) || put_sample(directory, "plain", 5, 30, IMAGE_PLAIN) ||
               put_sample(directory, "packed", 5, 30, IMAGE_PACKED) ||
               put_sample(directory, "larger", 12, 200, IMAGE_PACKED);
}
