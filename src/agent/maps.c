/* SPDX-License-Identifier: MIT */
#include "agent/maps.h"

#include "agent/bytes.h"
#include "agent/sys.h"

#include "agent/guest.h"

bool maps_open(struct maps *m)
{
        m->fd = sys_open(SYS_OWN("maps"));
        m->at = m->end = m->lines = 0;
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
        m->lines++;
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

/* struct procmap_query of <linux/fs.h>, which is younger than some that this is built with. */
struct query {
        uint64_t size, flags, address;
        uint64_t start, end, vma_flags, page_size, offset, inode;
        uint32_t major, minor, name_size, build_id_size;
        uint64_t name, build_id;
};

#define QUERY_IOCTL 0xc0686611l
#define QUERY_READABLE 0x01u

_Static_assert(sizeof(struct query) == 0x68, "as the kernel has it");

bool maps_find(struct maps *m, uint64_t address, uint64_t flags, struct maps_line *line)
{
        struct query q = { .size = sizeof q, .flags = flags & ~(uint64_t)MAPS_NAMED,
                           .address = address };
        long result;

        if (flags & MAPS_NAMED) {
                q.name = (uintptr_t)m->buffer;
                q.name_size = SYS_PAGE;
                m->buffer[0] = 0;
        }
        result = sys_call3(SYS_ioctl, m->fd, QUERY_IOCTL, (long)&q);
        m->failed |= sys_failed(result) && result != -SYS_ENOENT;
        if (sys_failed(result))
                return false;
        *line = (struct maps_line){ .start = q.start, .end = q.end, .offset = q.offset,
                                    .ino = q.inode, .read = q.vma_flags & QUERY_READABLE,
                                    .execute = q.vma_flags & MAPS_EXECUTABLE, .path = "" };
        line->dev = (uint64_t)q.major << 32 | q.minor;
        if (flags & MAPS_NAMED && q.name_size)
                line->path = m->buffer;
        return true;
}
