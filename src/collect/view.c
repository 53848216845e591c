/* SPDX-License-Identifier: MIT */
#include "collect/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/heap.h"

/* Tables have no holes of their own, but the last page may be touched a little later than the
 * count. */
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
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot read the ledger");
        if (st.st_size < (off_t)sizeof *h || view_pread(v->fd, h, sizeof *h, 0) != sizeof *h)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the ledger is too short (%lld bytes)",
                               (long long)st.st_size);
        if (h->magic != LEDGER_MAGIC)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "what the program sent is not a ledger");
        if (h->version != LEDGER_VERSION)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the agent speaks ledger version %u, this seep version %u: they are "
                               "not from the same build", h->version, LEDGER_VERSION);
        for (int i = 0; i < LEDGER_PARTS; i++)
                view_check_extent(&h->part[i], (uint64_t)st.st_size);
        v->present_bytes = (uint64_t)st.st_blocks * 512;
        if (v->present_bytes > v->most_bytes)
                v->most_bytes = v->present_bytes;
        h->exe[sizeof h->exe - 1] = 0;
        h->command[sizeof h->command - 1] = 0;
        if (h->command_bytes > sizeof h->command)
                h->command_bytes = sizeof h->command;
        v->head = fresh;
        return true;
}

/* Not in huge pages: those may run out when the page is touched. */
static void view_map(struct view *v)
{
        struct statfs fs;
        int seals = fcntl(v->fd, F_GET_SEALS);
        void *at;

        if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(v->fd, &fs) < 0 ||
            fs.f_type != TMPFS_MAGIC)
                return;
        at = mmap(NULL, sizeof *v->shared, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
        v->shared = at == MAP_FAILED ? NULL : at;
}

bool view_open(struct view *v, int fd, struct err *e)
{
        struct stat st;

        *v = (struct view){ .fd = fd };
        if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
                view_close(v);
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "what the program sent is not a file");
        }
        if (view_refresh(v, e)) {
                view_map(v);
                return true;
        }
        view_close(v);
        return false;
}

void view_close(struct view *v)
{
        if (v->shared)
                munmap(v->shared, sizeof *v->shared);
        if (v->fd >= 0)
                close(v->fd);
        v->shared = NULL;
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

uint64_t view_next(const struct view *v, enum ledger_part part, uint64_t at, uint64_t end)
{
        const struct ledger_extent *x = &v->head.part[part];
        off_t start;

        if (at >= end || at >= x->committed)
                return end;
        start = lseek(v->fd, (off_t)(x->offset + at), SEEK_DATA);
        if (start < 0 || (uint64_t)start - x->offset >= (end < x->committed ? end : x->committed))
                return end;
        return (uint64_t)start - x->offset;
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

struct ledger_head *view_shared(const struct view *v)
{
        return v->shared;
}

/* A head that cannot be written has been sealed by the program: its clock stands still, nothing
 * else. */
static void view_put(const struct view *v, size_t at, uint32_t value)
{
        ssize_t n = 0;

        if (v->shared)
                __atomic_store_n((uint32_t *)(void *)((char *)v->shared + at), value,
                                 __ATOMIC_SEQ_CST);
        else
                n = pwrite(v->fd, &value, sizeof value, (off_t)at);
        (void)n;
}

/* The program raises it too, at a mark. */
void view_tick(const struct view *v, uint64_t now_ms, bool working)
{
        size_t at = offsetof(struct ledger_head, tick_ms);
        uint32_t now = 0, tick_ms = now_ms < UINT32_MAX ? (uint32_t)now_ms : UINT32_MAX;

        if (working)
                view_put(v, offsetof(struct ledger_head, working), tick_ms);
        if (v->shared) {
                now = __atomic_load_n(&v->shared->tick_ms, __ATOMIC_RELAXED);
                while (now < tick_ms &&
                       !__atomic_compare_exchange_n(&v->shared->tick_ms, &now, tick_ms, true,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
                        ;
                return;
        }
        if (view_pread(v->fd, &now, sizeof now, at) == sizeof now && now < tick_ms)
                view_put(v, at, tick_ms);
}

void view_observer(const struct view *v, uint32_t pid)
{
        view_put(v, offsetof(struct ledger_head, observer), pid);
}

bool view_is_leaving(const struct view *v)
{
        uint32_t leaving = 0;

        return view_pread(v->fd, &leaving, sizeof leaving, offsetof(struct ledger_head, leaving)) ==
                       sizeof leaving &&
               leaving == 1;
}

void view_filters(const struct view *v, uint32_t count)
{
        view_put(v, offsetof(struct ledger_head, filters), count);
}

void view_off(const struct view *v, bool off)
{
        view_put(v, offsetof(struct ledger_head, off), off);
}

void view_served(const struct view *v, uint32_t served)
{
        view_put(v, offsetof(struct ledger_head, served), served);
        if (v->shared)
                syscall(SYS_futex, &v->shared->served, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void view_refuse(const struct view *v)
{
        view_put(v, offsetof(struct ledger_head, journal_closed), 1);
        view_served(v, LEDGER_SERVED_NEVER);
}

uint32_t view_moment(const struct view *v)
{
        uint32_t now = 0;

        if (v->shared)
                return __atomic_add_fetch(&v->shared->tick_ms, 1, __ATOMIC_SEQ_CST);
        view_pread(v->fd, &now, sizeof now, offsetof(struct ledger_head, tick_ms));
        view_put(v, offsetof(struct ledger_head, tick_ms), now + 1);
        return now + 1;
}

void view_scanned(const struct view *v, uint32_t asked, uint64_t definite)
{
        if (!v->shared)
                return;
        __atomic_store_n(&v->shared->scan_definite, definite, __ATOMIC_SEQ_CST);
        view_put(v, offsetof(struct ledger_head, scan_done), asked);
        syscall(SYS_futex, &v->shared->scan_done, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
