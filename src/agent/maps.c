/* SPDX-License-Identifier: MIT */
/*
 * maps.c -- reading /proc/self/maps line by line, without libc.
 *
 * Room:   inside; any context; one reader at a time per buffer.
 */
#include "agent/maps.h"

#include "agent/bytes.h"
#include "agent/sys.h"

#include "agent/guest.h"

bool maps_open(struct maps *m)
{
        m->fd = sys_open("/proc/self/maps");
        m->at = m->end = 0;
        m->finished = m->failed = false;
        return m->fd >= 0;
}

void maps_close(struct maps *m)
{
        sys_close(m->fd);
}

/* Move what is left to the front and read more behind it. */
static void maps_fill(struct maps *m)
{
        long got;

        memmove(m->buffer, m->buffer + m->at, m->end - m->at);
        m->end -= m->at;
        m->at = 0;
        got = sys_read(m->fd, m->buffer + m->end, MAPS_BUFFER - m->end);
        m->failed |= got < 0;
        m->finished |= got <= 0;
        if (got > 0)
                m->end += (uint32_t)got;
        m->buffer[m->end] = 0;
}

/* The next complete line, its newline replaced by NUL; NULL at the end. */
static char *maps_text(struct maps *m)
{
        for (;;) {
                for (uint32_t i = m->at; i < m->end; i++) {
                        char *text = m->buffer + m->at;

                        if (m->buffer[i] != '\n')
                                continue;
                        m->buffer[i] = 0;
                        m->at = i + 1;
                        return text;
                }
                if (m->finished || m->end - m->at == MAPS_BUFFER)
                        return NULL;
                maps_fill(m);
        }
}

bool maps_next(struct maps *m, struct maps_line *line)
{
        const char *p = maps_text(m);

        if (!p)
                return false;
        line->start = bytes_hex(&p);
        p += *p == '-';
        line->end = bytes_hex(&p);
        p += *p == ' ';
        line->read = p[0] == 'r';
        line->execute = p[0] && p[1] && p[2] == 'x';
        while (*p && *p != ' ')
                p++;
        p += *p == ' ';
        line->offset = bytes_hex(&p);
        p += *p == ' ';
        line->dev = bytes_hex(&p) << 32;
        p += *p == ':';
        line->dev |= bytes_hex(&p);
        p += *p == ' ';
        line->ino = 0;
        for (; *p >= '0' && *p <= '9'; p++)
                line->ino = line->ino * 10 + (uint64_t)(*p - '0');
        while (*p == ' ')
                p++;
        line->path = p;
        return true;
}
