/* SPDX-License-Identifier: MIT */
#include "attach/mappings.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"

/* "START-END rwxp OFFSET DEVICE INODE PATH" */
static bool mapping_parse(struct mapping *m, const char *line, size_t length)
{
        static const char vdso[] = "[vdso]";
        const char *end = line + length;
        char *at;

        *m = (struct mapping){ .start = strtoull(line, &at, 16) };
        if (*at != '-')
                return false;
        m->end = strtoull(at + 1, &at, 16);
        if (*at != ' ' || strnlen(at, 6) < 6)
                return false;
        m->readable = at[1] == 'r';
        m->writable = at[2] == 'w';
        m->executable = at[3] == 'x';
        m->shared = at[4] == 's';
        m->offset = strtoull(at + 5, NULL, 16);
        m->path = line;
        for (int fields = 0; fields < 5; fields++) {
                while (m->path < end && *m->path != ' ')
                        m->path++;
                while (m->path < end && *m->path == ' ')
                        m->path++;
        }
        m->anonymous = m->path == end;
        m->kernel = length >= strlen(vdso) &&
                    memcmp(line + length - strlen(vdso), vdso, strlen(vdso)) == 0;
        return m->end > m->start;
}

void mappings_parse(struct mappings *m, const char *text)
{
        uint32_t room = 0;
        size_t length;

        *m = (struct mappings){ 0 };
        for (const char *line = text; *line; line += length + (line[length] == '\n')) {
                length = strcspn(line, "\n");
                if (m->count == room) {
                        room = room ? room * 2 : 64;
                        m->at = heap_grow(m->at, room, sizeof *m->at);
                }
                m->count += mapping_parse(&m->at[m->count], line, length);
        }
}

void mappings_free(struct mappings *m)
{
        free(m->at);
        *m = (struct mappings){ 0 };
}

uint32_t mappings_from(const struct mappings *m, uint64_t address)
{
        return (uint32_t)FIND_FIRST(m->count, i, m->at[i].end <= address);
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t address)
{
        uint32_t i = mappings_from(m, address);

        return i < m->count && m->at[i].start <= address ? &m->at[i] : NULL;
}

void mappings_compare(struct mappings *m, const struct mappings *copy)
{
        for (uint32_t i = 0; i < m->count; i++)
                m->at[i].missing = !mappings_find(copy, m->at[i].start);
}
