/* SPDX-License-Identifier: MIT */
/*
 * fuzz_protocol.c -- any bytes as messages of docs/PROTOCOL.md: what is read can be written again
 * and is the same then.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "remote/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
        if (!good)
                abort();
}

/* Equal as far as the tables go: what was behind the last field is gone. */
static void write_again(const struct protocol_message *m, const uint8_t *body, uint32_t length)
{
        struct protocol_message back;
        struct str out = { 0 };
        uint32_t count, type;

        protocol_write(m, &out);
        must(protocol_read_head((const uint8_t *)out.data, &count, &type) &&
             type == (uint32_t)m->type);
        must(count == out.length - PROTOCOL_HEAD_BYTES && count <= length);
        must(memcmp(out.data + PROTOCOL_HEAD_BYTES, body, count) == 0);
        must(protocol_read(&back, type, (const uint8_t *)out.data + PROTOCOL_HEAD_BYTES, count));
        must(memcmp(&back, m, sizeof back) == 0);
        must(count == 0 ||
             !protocol_read(&back, type, (const uint8_t *)out.data + PROTOCOL_HEAD_BYTES,
                            count - 1));
        str_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint32_t length, type, version;
        struct protocol_message m;

        while (size >= PROTOCOL_HEAD_BYTES && protocol_read_head(data, &length, &type)) {
                data += PROTOCOL_HEAD_BYTES;
                size -= PROTOCOL_HEAD_BYTES;
                length = length < size ? length : (uint32_t)size;
                if (protocol_read(&m, type, data, length))
                        write_again(&m, data, length);
                protocol_read_version(data, length, &version);
                data += length;
                size -= length;
        }
        return 0;
}
