/* SPDX-License-Identifier: MIT */
/*
 * fuzz_pointers.c -- any bytes as ranges (the first says how many) and as memory with nothing but
 * the words that lead there (POINTERS, docs/PROTOCOL.md): what is taken is within its room, and
 * what is packed comes back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "remote/pointers.h"

#define ROOM 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pointers p;

static void must(bool good)
{
        if (!good)
                abort();
}

static void take(const uint8_t *data, size_t size, uint32_t width, bool turned)
{
        const struct pointers_form form = { width, turned };
        uint8_t *room = malloc(ROOM);
        size_t got;

        if (pointers_unpack(&p, data, size, &form, room, ROOM, &got))
                must(got <= ROOM);
        free(room);
}

static void pack(const uint8_t *data, size_t size)
{
        const struct pointers_form form = { 8, false };
        size_t length, got;
        uint8_t *packed = malloc(size + POINTERS_HEAD), *back = malloc(size + 1);

        length = pointers_pack(&p, data, (uint32_t)size, 8, packed);
        must(length <= size + POINTERS_HEAD);
        must(pointers_unpack(&p, packed, length, &form, back, size, &got) && got == size);
        for (size_t i = 0; i + 8 <= size; i += 8)
                must(memcmp(back + i, data + i, 8) == 0 ||
                     memcmp(back + i, "\0\0\0\0\0\0\0", 8) == 0);
        free(packed);
        free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        size_t bytes;

        if (!size)
                return 0;
        bytes = data[0] * (size_t)POINTERS_RANGE_BYTES;
        bytes = bytes < size - 1 ? bytes : size - 1;
        pointers_expect(&p, data + 1, bytes);
        data += 1 + bytes;
        size -= 1 + bytes;
        take(data, size, 8, false);
        take(data, size, 8, true);
        take(data, size, 4, false);
        pack(data, size);
        return 0;
}
