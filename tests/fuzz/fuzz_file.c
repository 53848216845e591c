/* SPDX-License-Identifier: MIT */
/*
 * fuzz_file.c -- any bytes as a `.seep` file: read, walk over everything, write again, read again.
 *
 * Built twice: with clang -fsanitize=fuzzer to search (see README.md), and with replay.c to run the
 * corpus as a test. FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION makes all checksums right.
 */
#include <stdint.h>
#include <stdlib.h>

#include "profile/image.h"
#include "sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read must be good enough to be written, and then come back unchanged. */
static void check_round_trip(const struct profile *p)
{
        struct profile again;
        struct str file = { 0 };
        struct err e = { 0 };

        if (!image_write(p, IMAGE_PLAIN, &file, &e) ||
            !image_read(&again, file.data, file.length, "again", &e))
                abort();
        if (again.truncated || sample_difference(p, &again))
                abort();
        profile_free(&again);
        str_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct profile p;
        struct err e = { 0 };

        if (!image_read(&p, data, size, "fuzz", &e)) {
                if (e.exit_code != ERR_EXIT_BAD_FILE || !e.text[0])
                        abort();
                return 0;
        }
        sample_touch(&p);
        check_round_trip(&p);
        profile_free(&p);
        return 0;
}
