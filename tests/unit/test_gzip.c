/* SPDX-License-Identifier: MIT */
/* test_gzip.c -- bytes packed as gzip does: zlib unpacks them again. */
#include "base/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/heap.h"
#include "sample.h"
#include "tap.h"

/* Whether BYTES, packed and unpacked, are what they were. */
static bool comes_back(const char *bytes, size_t count, int level)
{
        struct str packed = { 0 };
        char *again = heap_zero(count + 1, 1);
        z_stream z = { 0 };
        bool good;

        str_text(&packed, "before");
        gzip_pack(bytes, count, level, &packed);
        good = memcmp(packed.data, "before\x1f\x8b", 8) == 0 && inflateInit2(&z, 15 + 16) == Z_OK;
        z.next_in = (Bytef *)packed.data + 6;
        z.avail_in = (uInt)packed.length - 6;
        z.next_out = (Bytef *)again;
        z.avail_out = (uInt)count + 1;
        good = good && inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == count &&
               !z.avail_in && memcmp(again, bytes, count) == 0;
        inflateEnd(&z);
        str_free(&packed);
        free(again);
        return good;
}

TEST(what_is_packed_can_be_unpacked)
{
        uint64_t state = 7;
        size_t count = 3 << 20;
        char *bytes = heap_zero(count, 1);

        is_true(comes_back("", 0, 6));
        is_true(comes_back("x", 1, 1));
        is_true(comes_back(bytes, count, 9));
        for (size_t i = 0; i < count; i++)
                bytes[i] = (char)sample_random(&state);
        is_true(comes_back(bytes, count, 1));
        is_true(comes_back(bytes, 65536, 6));
        free(bytes);
}

TAP_MAIN(what_is_packed_can_be_unpacked)
