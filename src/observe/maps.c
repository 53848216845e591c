/* SPDX-License-Identifier: MIT */
/*
 * maps.c -- the lines of /proc/PID/maps.
 *
 * Room:   outside.
 */
#include "observe/maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* "start-end rwxp offset dev inode   path"; the line ends at a NUL. */
static bool parse_line(struct maps_line *l, char *text)
{
        char *at, *path = text;

        l->start = strtoull(text, &at, 16);
        if (*at != '-')
                return false;
        l->end = strtoull(at + 1, &at, 16);
        if (*at != ' ' || strlen(at) < 5 || l->end <= l->start)
                return false;
        l->readable = at[1] == 'r';
        l->writable = at[2] == 'w';
        l->shared = at[4] == 's';
        for (int fields = 0; fields < 5 && path; fields++) {
                path = strchr(path, ' ');
                path = path ? path + strspn(path, " ") : NULL;
        }
        l->path = path ? path : "";
        return true;
}

void maps_parse(struct maps *m, char *text)
{
        uint32_t room = 0;

        *m = (struct maps){ 0 };
        for (char *line = text, *next; line && *line; line = next) {
                struct maps_line l;

                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                if (!parse_line(&l, line))
                        continue;
                if (m->count == room) {
                        room = room ? room * 2 : 64;
                        m->at = heap_grow(m->at, room, sizeof *m->at);
                }
                m->at[m->count++] = l;
        }
}

void maps_free(struct maps *m)
{
        free(m->at);
        *m = (struct maps){ 0 };
}

const struct maps_line *maps_at(const struct maps *m, uint64_t address)
{
        uint32_t low = 0, high = m->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (m->at[middle].end <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < m->count && m->at[low].start <= address ? &m->at[low] : NULL;
}
