/* SPDX-License-Identifier: MIT */
/*
 * replay.c -- runs a fuzz target over files, and over many small changes of each of them, without a
 * fuzzer.
 *
 * usage: replay [--changes=N] FILE...     TAP on stdout; one test per file
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int changes = 1000; /* of each file */

/* A copy of exactly SIZE bytes: reading behind it is an error that AddressSanitizer sees. */
static void run_copy(const uint8_t *data, size_t size)
{
        uint8_t *copy = malloc(size ? size : 1);

        memcpy(copy, data, size);
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
}

/* Change one to four places: a byte, a large number, or a cut. */
static void run_changed(const struct str *file, uint64_t *r)
{
        uint8_t *copy = malloc(file->length);
        size_t size = file->length;

        memcpy(copy, file->data, size);
        for (uint64_t i = sample_random(r) % 4 + 1; i; i--) {
                size_t at = sample_random(r) % size;

                switch (sample_random(r) % 8) {
                case 0:
                        memset(copy + at, 0xff, size - at < 4 ? size - at : 4);
                        break;
                case 1:
                        size = at + 1;
                        break;
                default:
                        copy[at] = (uint8_t)sample_random(r);
                }
        }
        run_copy(copy, size);
        free(copy);
}

static int run_file(const char *path)
{
        struct str file = { 0 };
        uint64_t r = 0x5eed;

        if (!io_read_file(path, &file))
                return 0;
        run_copy((const uint8_t *)str_get(&file), file.length);
        for (int i = 0; i < changes && file.length; i++)
                run_changed(&file, &r);
        str_free(&file);
        return 1;
}

int main(int argc, char **argv)
{
        static const char option[] = "--changes=";
        int failed = 0;

        if (argc > 1 && !strncmp(argv[1], option, sizeof option - 1)) {
                changes = atoi(argv[1] + sizeof option - 1);
                argc--;
                argv++;
        }
        printf("1..%d\n", argc - 1);
        for (int i = 1; i < argc; i++) {
                const char *name = strrchr(argv[i], '/');
                int good = run_file(argv[i]);

                failed += !good;
                printf("%sok %d - %s survives as it is and changed %d times\n", good ? "" : "not ",
                       i, name ? name + 1 : argv[i], changes);
                fflush(stdout);
        }
        return failed != 0;
}
