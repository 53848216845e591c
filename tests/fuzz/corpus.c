/* SPDX-License-Identifier: MIT */
/*
 * corpus.c -- makes the files that fuzzing starts from.
 *
 * usage: corpus DIRECTORY     writes NAME.seep and, for other readers to compare with, NAME.json
 *        (dump.h) into it;
 *                             the same bytes every time
 */
#include <stdio.h>

#include "dump.h"
#include "forge_leaks.h"
#include "profile/image.h"
#include "put.h"
#include "sample.h"

static int put(const char *directory, const char *name, const void *bytes, size_t size)
{
        struct str path = { 0 };

        str_format(&path, "%s/%s", directory, name);
        if (!put_file(path.data, bytes, size)) {
                perror(path.data);
                return 1;
        }
        str_free(&path);
        return 0;
}

static int put_both(const char *directory, const char *name, const struct profile *p,
                    enum image_packing packing)
{
        struct str file = { 0 }, json = { 0 }, file_name = { 0 }, json_name = { 0 };
        struct err e = { 0 };
        int status;

        str_format(&file_name, "%s.seep", name);
        str_format(&json_name, "%s.json", name);
        dump_profile(p, &json);
        status = !image_write(p, packing, &file, &e) ||
                 put(directory, file_name.data, file.data, file.length) ||
                 put(directory, json_name.data, json.data, json.length);
        str_free(&file);
        str_free(&json);
        str_free(&file_name);
        str_free(&json_name);
        return status;
}

static int put_sample(const char *directory, const char *name, uint64_t seed, uint32_t size,
                      enum image_packing packing)
{
        struct profile p;
        int status;

        sample_profile(&p, seed, size);
        status = put_both(directory, name, &p, packing);
        profile_free(&p);
        return status;
}

static int put_leaky(const char *directory)
{
        struct profile p;
        char **texts[] = { &p.meta.exe, &p.meta.cwd, &p.meta.host, &p.meta.engine,
                           &p.meta.version };
        int status;

        forge_leaky(&p);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) /* a file knows no NULL there */
                *texts[i] = heap_text("");
        p.threads[0].name = heap_text("");
        status = put_both(directory, "leaky", &p, IMAGE_PLAIN);
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
        return put_sample(directory, "least", 0, 1, IMAGE_PLAIN) ||
               put_sample(directory, "tiny", 1, 3, IMAGE_PLAIN) ||
               put_sample(directory, "small", 2, 8, IMAGE_PLAIN) ||
               put_sample(directory, "plain", 5, 30, IMAGE_PLAIN) ||
               put_sample(directory, "packed", 5, 30, IMAGE_PACKED) ||
               put_sample(directory, "larger", 12, 200, IMAGE_PACKED) ||
               put_sample(directory, "graph", 26, 60, IMAGE_PLAIN) || put_leaky(directory);
}
