/* SPDX-License-Identifier: MIT */
/*
 * view.c -- a stranger's ledger, read without trust.
 *
 * Room:   outside.
 */
#include "observe/view.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"

/* Tables have no holes of their own, but the last page may be touched a little later than the count. */
#define VIEW_SLACK_BYTES (1u << 20)

static uint64_t view_pread(int fd, void *to, uint64_t bytes, uint64_t at)
{
        uint64_t done = 0;

        while (done < bytes) {
                ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        break;
                done += (uint64_t)n;
        }
        return done;
}

/* An extent that leaves the file is one of which nothing may be read. */
static void view_check_extent(struct ledger_extent *x, uint64_t file_bytes)
{
        if (x->offset > file_bytes || x->size > file_bytes - x->offset)
                *x = (struct ledger_extent){ 0, 0, 0 };
        if (x->committed > x->size)
                x->committed = x->size;
}

bool view_refresh(struct view *v, struct err *e)
{
        struct ledger_head fresh, *h = &fresh;
        struct stat st;

        if (fstat(v->fd, &st) < 0)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot look at the ledger");
        if (st.st_size < (off_t)sizeof *h || view_pread(v->fd, h, sizeof *h, 0) != sizeof *h)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the ledger is too short (%lld bytes)", (long long)st.st_size);
        if (h->magic != LEDGER_MAGIC)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "what the program sent is not a ledger");
        if (h->version != LEDGER_VERSION)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the agent speaks ledger version %u, this seep version %u: they are not of one build",
                               h->version, LEDGER_VERSION);
        for (int i = 0; i < LEDGER_PARTS; i++)
                view_check_extent(&h->part[i], (uint64_t)st.st_size);
        v->present_bytes = (uint64_t)st.st_blocks * 512;
        h->exe[sizeof h->exe - 1] = 0;
        h->command[sizeof h->command - 1] = 0;
        if (h->command_bytes > sizeof h->command)
                h->command_bytes = sizeof h->command;
        v->head = fresh;
        return true;
}

bool view_open(struct view *v, int fd, struct err *e)
{
        struct stat st;

        *v = (struct view){ .fd = fd };
        if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
                view_close(v);
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "what the program sent is not a file");
        }
        if (view_refresh(v, e))
                return true;
        view_close(v);
        return false;
}

void view_close(struct view *v)
{
        if (v->fd >= 0)
                close(v->fd);
        v->fd = -1;
}

uint32_t view_count(const struct view *v, enum ledger_part part, uint32_t count, size_t entry_bytes)
{
        uint64_t bytes = v->head.part[part].committed;

        if (bytes > v->present_bytes + VIEW_SLACK_BYTES)
                bytes = v->present_bytes + VIEW_SLACK_BYTES;
        return count < bytes / entry_bytes ? count : (uint32_t)(bytes / entry_bytes);
}

bool view_read(const struct view *v, enum ledger_part part, uint64_t at, void *to, size_t bytes)
{
        const struct ledger_extent *x = &v->head.part[part];
        uint64_t may = at >= x->committed ? 0 : x->committed - at;
        uint64_t did = view_pread(v->fd, to, may < bytes ? may : bytes, x->offset + at);

        memset((char *)to + did, 0, bytes - did);
        return did == bytes;
}

void *view_table(const struct view *v, enum ledger_part part, uint32_t *count, size_t entry_bytes)
{
        void *table;

        *count = view_count(v, part, *count, entry_bytes);
        table = heap_zero(*count, entry_bytes);
        view_read(v, part, 0, table, *count * entry_bytes);
        return table;
}

uint64_t view_data(const struct view *v, enum ledger_part part, uint64_t *at, uint64_t end)
{
        const struct ledger_extent *x = &v->head.part[part];
        off_t start, stop;

        if (end > x->committed)
                end = x->committed;
        if (*at >= end)
                return 0;
        start = lseek(v->fd, (off_t)(x->offset + *at), SEEK_DATA);
        if (start < 0 || (uint64_t)start >= x->offset + end)
                return 0;
        stop = lseek(v->fd, start, SEEK_HOLE);
        *at = (uint64_t)start - x->offset;
        if (stop < 0 || (uint64_t)stop > x->offset + end)
                return end;
        return (uint64_t)stop - x->offset;
}

/* A head that cannot be written has been sealed by the program: its clock stands still, nothing else. */
static void view_put(const struct view *v, size_t at, uint32_t value)
{
        ssize_t n = pwrite(v->fd, &value, sizeof value, (off_t)at);

        (void)n;
}

void view_tick(const struct view *v, uint32_t tick_ms)
{
        view_put(v, offsetof(struct ledger_head, tick_ms), tick_ms);
}

void view_observer(const struct view *v, uint32_t pid)
{
        view_put(v, offsetof(struct ledger_head, observer), pid);
}
