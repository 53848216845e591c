/* SPDX-License-Identifier: MIT */
/*
 * test_crc.c -- the checksum is the well-known CRC-32; expected values from its standard and from
 * zlib.
 */
#include <zlib.h>

#include "profile/format.h"
#include "sample.h"
#include "tap.h"

TEST(the_check_value_of_the_standard_comes_out)
{
        is_equal(format_crc("123456789", 9), 0xcbf43926u);
        is_equal(format_crc("", 0), 0);
}

TEST(every_length_and_alignment_agrees_with_zlib)
{
        unsigned char bytes[512];
        uint64_t r = 1;

        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (unsigned char)sample_random(&r);
        for (size_t start = 0; start < 16; start++)
                for (size_t count = 0; count < 300; count++)
                        is_equal(format_crc(bytes + start, count),
                                 crc32(0, bytes + start, (uInt)count));
}

TAP_MAIN(the_check_value_of_the_standard_comes_out, every_length_and_alignment_agrees_with_zlib)
