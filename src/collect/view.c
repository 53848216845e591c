/* SPDX-License-Identifier: MIT */
#include "collect/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/turn.h"
#include "ledger/arch/arch.h"

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
        bool turned;

        if (fstat(v->fd, &st) < 0)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot read the ledger");
        if (st.st_size < (off_t)sizeof *h || view_pread(v->fd, h, sizeof *h, 0) != sizeof *h)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the ledger is too short (%lld bytes)",
                               (long long)st.st_size);
        turned = h->magic == __builtin_bswap64(LEDGER_MAGIC);
        if (turned)
                turn_part(LEDGER_HEAD, 0, h, sizeof *h);
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
        if (view_own_bytes(v) > v->most_own)
                v->most_own = view_own_bytes(v);
        h->exe[sizeof h->exe - 1] = 0;
        h->command[sizeof h->command - 1] = 0;
        if (h->command_bytes > sizeof h->command)
                h->command_bytes = sizeof h->command;
        v->head = fresh;
        v->turned = turned;
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
        if (v->turned)
                turn_part(part, at, to, bytes);
        return did == bytes;
}

bool view_write(const struct view *v, enum ledger_part part, uint64_t at, const void *from,
                size_t bytes)
{
        uint64_t place = v->head.part[part].offset + at;
        uint8_t *turned = NULL;
        bool good;

        if (v->turned) {
                turned = heap_grow(NULL, bytes, 1);
                memcpy(turned, from, bytes);
                turn_part(part, at, turned, bytes);
        }
        good = pwrite(v->fd, turned ? turned : from, bytes, (off_t)place) == (ssize_t)bytes;
        free(turned);
        return good;
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

uint32_t view_load(const struct view *v, const uint32_t *word)
{
        return turn_32(v->turned, __atomic_load_n(word, __ATOMIC_SEQ_CST));
}

void view_store(const struct view *v, uint32_t *word, uint32_t value)
{
        __atomic_store_n(word, turn_32(v->turned, value), __ATOMIC_SEQ_CST);
}

void view_store_long(const struct view *v, uint64_t *word, uint64_t value)
{
        __atomic_store_n(word, turn_64(v->turned, value), __ATOMIC_SEQ_CST);
}

bool view_change(const struct view *v, uint32_t *word, uint32_t from, uint32_t to)
{
        uint32_t was = turn_32(v->turned, from);

        return __atomic_compare_exchange_n(word, &was, turn_32(v->turned, to), false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

uint32_t view_add(const struct view *v, uint32_t *word, uint32_t more)
{
        uint32_t was;

        do
                was = view_load(v, word);
        while (!view_change(v, word, was, was + more));
        return was + more;
}

/* A head that cannot be written has been sealed by the program: its clock stands still, nothing
 * else. */
static void view_put(const struct view *v, size_t at, uint32_t value)
{
        uint32_t turned = turn_32(v->turned, value);
        ssize_t n = 0;

        if (v->shared)
                view_store(v, (uint32_t *)(void *)((char *)v->shared + at), value);
        else
                n = pwrite(v->fd, &turned, sizeof turned, (off_t)at);
        (void)n;
}

/* The word at AT of the head; 0: it cannot be read. */
static uint32_t view_get(const struct view *v, size_t at)
{
        uint32_t word;

        if (view_pread(v->fd, &word, sizeof word, at) != sizeof word)
                return 0;
        return turn_32(v->turned, word);
}

/* The program raises it too, at a mark. */
void view_tick(const struct view *v, uint64_t now_ms, bool working)
{
        size_t at = offsetof(struct ledger_head, tick_ms);
        uint32_t now, tick_ms = now_ms < UINT32_MAX ? (uint32_t)now_ms : UINT32_MAX;

        if (working)
                view_put(v, offsetof(struct ledger_head, working), tick_ms);
        if (v->shared) {
                do
                        now = view_load(v, &v->shared->tick_ms);
                while (now < tick_ms && !view_change(v, &v->shared->tick_ms, now, tick_ms));
        } else if (view_get(v, at) < tick_ms) {
                view_put(v, at, tick_ms);
        }
}

void view_observer(const struct view *v, uint32_t pid)
{
        view_put(v, offsetof(struct ledger_head, observer), pid);
}

bool view_is_emulated(const struct view *v)
{
        uint32_t machine = v->head.machine;

        return machine && machine != LEDGER_MACHINE &&
               (v->head.emulated || machine != LEDGER_NARROW_MACHINE);
}

bool view_is_leaving(const struct view *v)
{
        return view_get(v, offsetof(struct ledger_head, leaving)) == 1;
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
        uint32_t now;

        if (v->shared)
                return view_add(v, &v->shared->tick_ms, 1);
        now = view_get(v, offsetof(struct ledger_head, tick_ms)) + 1;
        view_put(v, offsetof(struct ledger_head, tick_ms), now);
        return now;
}

void view_scanned(const struct view *v, uint32_t asked, uint64_t definite)
{
        if (!v->shared)
                return;
        view_store_long(v, &v->shared->scan_definite, definite);
        view_put(v, offsetof(struct ledger_head, scan_done), asked);
        syscall(SYS_futex, &v->shared->scan_done, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
