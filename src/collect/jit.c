/* SPDX-License-Identifier: MIT */
/*
 * jit.c -- names of code that a program compiled while it ran, from the map it writes for perf.
 *
 * Cost:   nothing for a program without such code; else one pass over the map per checkpoint.
 */
#include "collect/jit.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/find.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/order.h"
#include "base/str.h"
#include "collect/collect.h"

#define JIT_BYTES_MAX (64u << 20) /* of a map */
#define JIT_NAME_MAX 1024u        /* of one name; the rest is cut off */
#define JIT_SLACK_S 2             /* clocks and file systems do not agree to the second */

/* ---- the file ---- */

static void proc_text(uint32_t pid, const char *file, struct str *out)
{
        char name[64];

        snprintf(name, sizeof name, "/proc/%u/%s", pid, file);
        io_read_file(name, out);
        str_char(out, 0);
}

static void read_status(struct jit *j)
{
        struct str text = { 0 };
        const char *user, *inner;

        proc_text(j->pid, "status", &text);
        user = strstr(text.data, "\nUid:");
        inner = strstr(text.data, "\nNSpid:");
        if (user)
                sscanf(user, "\nUid: %*u %u", &j->user);
        for (inner = inner ? inner + 7 : NULL; inner && *inner && *inner != '\n'; inner++)
                if (isdigit((unsigned char)*inner) && !isdigit((unsigned char)inner[-1]))
                        /* The last one is its own. */
                        j->inner_pid = (uint32_t)strtoul(inner, NULL, 10);
        str_free(&text);
}

static void read_start(struct jit *j)
{
        struct timespec boot, real;
        struct str text = { 0 };
        unsigned long long ticks;
        const char *at;

        proc_text(j->pid, "stat", &text);
        at = strrchr(text.data, ')');
        if (at && sscanf(at,
                         ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                         "%*d %*d %llu",
                         &ticks) == 1) {
                clock_gettime(CLOCK_BOOTTIME, &boot);
                clock_gettime(CLOCK_REALTIME, &real);
                j->start_s = (int64_t)real.tv_sec - boot.tv_sec +
                             (int64_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK));
        }
        str_free(&text);
}

/* The process may be gone before its start is asked for: it has begun by now. */
void jit_init(struct jit *j, uint32_t pid)
{
        *j = (struct jit){ .fd = -1, .pid = pid, .inner_pid = pid, .start_s = time(NULL) };
}

void jit_close(struct jit *j)
{
        if (j->fd >= 0)
                close(j->fd);
        j->fd = -1;
}

static bool is_trusted(const struct jit *j, int fd)
{
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               (st.st_uid == j->user || st.st_uid == 0) &&
               st.st_mtim.tv_sec + JIT_SLACK_S >= j->start_s;
}

/* The map in the directory "tmp" of ROOT: part by part, so that no link leads out of it. */
static int open_below(const struct jit *j, const char *root)
{
        int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), tmp = -1, fd = -1;
        char name[32];

        snprintf(name, sizeof name, "perf-%u.map", j->inner_pid);
        if (top >= 0)
                tmp = openat(top, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (tmp >= 0)
                fd = openat(tmp, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (top >= 0)
                close(top);
        if (tmp >= 0)
                close(tmp);
        if (fd >= 0 && !is_trusted(j, fd)) {
                close(fd);
                fd = -1;
        }
        return fd;
}

void jit_look(struct jit *j)
{
        char root[64];

        if (j->fd >= 0)
                return;
        if (!j->asked) {
                j->user = geteuid();
                read_status(j);
                read_start(j);
                j->asked = true;
        }
        snprintf(root, sizeof root, "/proc/%u/root", (unsigned)procfs_living((pid_t)j->pid));
        j->fd = open_below(j, root);
        if (j->fd < 0 && j->inner_pid == j->pid)
                j->fd = open_below(j, "/");
}

/* ---- its lines ---- */

/* An address of a stack that lies in no file, or in one that no linker made, and the line
 * of the map that names it. */
struct jit_place {
        uint64_t pc;
        const struct jit_line *line; /* NULL none */
        uint32_t next;               /* towards the first place from here on without a line */
};

struct jit_line {
        uint64_t start, end;
        const char *name;
};

ORDER_BY(place_compare, struct jit_place, pc)

static uint32_t list_places(const struct profile *p, struct jit_place **out)
{
        struct jit_place *places = heap_zero((size_t)p->node_count + 1, sizeof *places);
        uint32_t count = 0, kept = 0;

        for (uint32_t i = 2; i < p->node_count; i++) {
                const struct profile_node *n = &p->nodes[i];

                if (n->module >= p->module_count || !p->modules[n->module].build_id_bytes)
                        places[count++].pc = n->pc - (n->exact ? 0 : 1);
        }
        qsort(places, count, sizeof *places, place_compare);
        for (uint32_t i = 0; i < count; i++)
                if (!kept || places[kept - 1].pc != places[i].pc)
                        places[kept++].pc = places[i].pc;
        for (uint32_t i = 0; i <= kept; i++)
                places[i].next = i;
        *out = places;
        return kept;
}

/* "START SIZE NAME" with hexadecimal numbers. */
static bool parse_line(char *text, struct jit_line *line)
{
        char *end;
        uint64_t bytes;

        line->start = strtoull(text, &end, 16);
        if (end == text || *end != ' ')
                return false;
        bytes = strtoull(text = end + 1, &end, 16);
        if (end == text || *end != ' ' || !end[1] || !bytes || bytes > UINT64_MAX - line->start)
                return false;
        line->end = line->start + bytes;
        line->name = end + 1;
        if (strlen(end + 1) > JIT_NAME_MAX)
                end[1 + JIT_NAME_MAX] = 0;
        for (char *c = end + 1; *c; c++)
                if (iscntrl((unsigned char)*c))
                        *c = '?';
        return true;
}

static uint32_t list_lines(char *text, size_t bytes, struct jit_line **out)
{
        char *end = text + bytes;
        uint32_t count = 0;

        *out = NULL;
        for (char *newline; text < end && (newline = memchr(text, '\n', (size_t)(end - text)));
             text = newline + 1) {
                struct jit_line line;

                *newline = 0;
                if (!parse_line(text, &line))
                        continue;
                *out = heap_next(*out, count, sizeof **out);
                (*out)[count++] = line;
        }
        return count;
}

static uint32_t first_open(struct jit_place *places, uint32_t at)
{
        while (places[at].next != at)
                at = places[at].next = places[places[at].next].next;
        return at;
}

/* Compilers reuse the room of code they dropped: the last line that covers a place is right. */
static void assign_lines(struct jit_place *places, uint32_t place_count,
                         const struct jit_line *lines, uint32_t count)
{
        while (count--) {
                uint32_t low = (uint32_t)FIND_FIRST(place_count, i,
                                                    places[i].pc < lines[count].start);

                for (low = first_open(places, low);
                     low < place_count && places[low].pc < lines[count].end;
                     low = first_open(places, low)) {
                        places[low].line = &lines[count];
                        places[low].next = low + 1;
                }
        }
}

/* Places of one line that follow each other become one entry; entries do not overlap. */
static void add_entries(const struct jit_place *places, uint32_t count, struct profile *p)
{
        uint64_t last_end = 0;
        uint32_t next;

        p->jit = heap_zero(count, sizeof *p->jit);
        for (uint32_t i = 0; i < count; i = next) {
                const struct jit_line *line = places[i].line;
                uint64_t start, end;

                for (next = i + 1; next < count && places[next].line == line; next++)
                        continue;
                if (!line)
                        continue;
                start = line->start > last_end ? line->start : last_end;
                end = next < count && places[next].pc < line->end ? places[next].pc : line->end;
                p->jit[p->jit_count++] = (struct profile_jit){ start, end - start,
                                                               heap_text(line->name) };
                last_end = end;
        }
}

void jit_parse(char *text, size_t bytes, struct profile *p)
{
        struct jit_place *places;
        struct jit_line *lines;
        uint32_t place_count = list_places(p, &places), count = list_lines(text, bytes, &lines);

        assign_lines(places, place_count, lines, count);
        add_entries(places, place_count, p);
        free(places);
        free(lines);
}

static bool has_made_code(const struct profile *p)
{
        struct jit_place *places;
        uint32_t count = list_places(p, &places);

        free(places);
        return count > 0;
}

void jit_read(struct jit *j, struct profile *p)
{
        struct stat st;
        size_t bytes;
        ssize_t got;
        char *text;

        if (!has_made_code(p))
                return;
        jit_look(j);
        if (j->fd < 0 || fstat(j->fd, &st) != 0 || st.st_size <= 0)
                return;
        bytes = (uint64_t)st.st_size < JIT_BYTES_MAX ? (size_t)st.st_size : JIT_BYTES_MAX;
        if ((uint64_t)st.st_size > JIT_BYTES_MAX)
                collect_warn(p,
                             "the map of generated code (/tmp/perf-PID.map) is longer than 64 MiB: "
                             "not all of it was read");
        text = heap_zero(bytes + 1, 1);
        got = pread(j->fd, text, bytes, 0);
        if (got > 0)
                jit_parse(text, (size_t)got, p);
        free(text);
}
