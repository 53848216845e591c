/* SPDX-License-Identifier: MIT */
/*
 * fuzz_maps.c -- any bytes as /proc/self/maps: as many lines as there are, paths that end inside of
 * the buffer.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/maps.h"
#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct maps m;
        struct maps_line line;
        size_t ends = 0, lines = 0;

        for (size_t i = 0; i < size; i++)
                ends += data[i] == '\n';
        m.fd = tables_file(data, size);
        m.at = m.end = 0;
        m.finished = m.failed = false;
        while (maps_next(&m, &line)) {
                lines++;
                if (line.path < m.buffer || line.path + strlen(line.path) > m.buffer + MAPS_BUFFER)
                        abort();
        }
        if (lines > ends || (size < MAPS_BUFFER && lines != ends))
                abort();
        return 0;
}
