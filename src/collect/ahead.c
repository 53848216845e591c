/* SPDX-License-Identifier: MIT */
#include "collect/ahead.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/headroom.h"
#include "book/book.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* newer than some headers, as is ... */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define AHEAD_MOST 6u          /* parts of the shadow */
#define AHEAD_SHARE 8u         /* one of so many that are in use */
#define AHEAD_FIRST 4u         /* a shadow of so many parts stays in small pages */
#define AHEAD_NEAR (512u << 10) /* tables: so near to the end of what is made the next is */
#define AHEAD_SAMPLES 16u      /* pages of the shadow that are looked at */
#define AHEAD_ROOM 8u          /* times what is made must be free */
#define AHEAD_ROOM_EVERY 8u
#define AHEAD_FAILURES 3u
#define PAGE_BYTES 4096u

static const enum ledger_part parts[AHEAD_TABLES] = { LEDGER_SHADOW, LEDGER_COUNTERS,
                                                      LEDGER_NODES };

/* ---- whether it can be done ---- */

/* Both are in the same cgroup: the memory counts where it would without us. */
static bool is_ours(uint32_t pid)
{
        char texts[2][4096];
        ssize_t got[2];

        for (int i = 0; i < 2; i++) {
                int fd = process_open(i ? pid : (uint32_t)getpid(), "cgroup");

                got[i] = fd < 0 ? -1 : read(fd, texts[i], sizeof texts[i]);
                if (fd >= 0)
                        close(fd);
        }
        return got[0] > 0 && got[0] == got[1] && memcmp(texts[0], texts[1], (size_t)got[0]) == 0;
}

/* The extents lie where the program can have them in huge pages. */
static bool is_aligned(const struct view *v)
{
        for (uint32_t i = 0; i < AHEAD_TABLES; i++)
                if (v->head.part[parts[i]].offset % BOOK_HUGE)
                        return false;
        return v->head.page_bytes == PAGE_BYTES && sysconf(_SC_PAGESIZE) == PAGE_BYTES;
}

static bool is_possible(const struct view *v, uint32_t pid)
{
        return !v->head.ledger_limit && !v->head.sample_bytes && !v->turned && is_aligned(v) &&
               is_ours(pid);
}

static bool has_room(struct ahead *a, uint32_t count, uint32_t pid)
{
        struct headroom room;

        if (a->since_room) {
                a->since_room -= a->since_room < count ? a->since_room : count;
                return true;
        }
        headroom_find(&room, "", (pid_t)pid);
        if (room.bytes / AHEAD_ROOM / BOOK_HUGE < count + AHEAD_ROOM_EVERY)
                return false;
        a->since_room = AHEAD_ROOM_EVERY;
        return true;
}

/* ---- making ---- */

/* COUNT parts at AT of the ledger.  A part must have a page for the kernel to begin with; it is
 * asked for by a call, since a load would be the end of us where there is no memory. */
static bool collapse(const struct view *v, uint64_t at, uint32_t count)
{
        size_t size = count * BOOK_HUGE;
        uint8_t *room = mmap(NULL, size + BOOK_HUGE, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                *p;
        bool good;

        if (room == MAP_FAILED)
                return false;
        p = room + (BOOK_HUGE - (uintptr_t)room % BOOK_HUGE) % BOOK_HUGE;
        good = mmap(p, size, PROT_READ, MAP_SHARED | MAP_FIXED, v->fd, (off_t)at) != MAP_FAILED;
        for (uint32_t i = 0; good && i < count; i++)
                good = madvise(p + i * BOOK_HUGE, PAGE_BYTES, MADV_POPULATE_READ) == 0;
        good = good && madvise(p, size, MADV_COLLAPSE) == 0;
        munmap(room, size + BOOK_HUGE);
        return good;
}

static void make(struct ahead *a, const struct view *v, uint32_t table, uint32_t until)
{
        const struct ledger_extent *x = &v->head.part[parts[table]];
        uint32_t from = a->made[table];

        if (until > x->size / BOOK_HUGE || until <= from)
                return;
        a->made[table] = until;
        if (collapse(v, x->offset + from * (uint64_t)BOOK_HUGE, until - from))
                a->failures = 0;
        else
                a->useless = ++a->failures >= AHEAD_FAILURES;
}

/* ---- what will be needed ---- */

static bool is_used(const struct view *v, uint64_t page)
{
        uint64_t words[PAGE_BYTES / sizeof(uint64_t)], any = 0;

        view_read(v, LEDGER_SHADOW, page * PAGE_BYTES, words, sizeof words);
        for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
                any |= words[i];
        return any;
}

/* Three quarters of the pages of the first CHUNKS are in use, by some of them, which lie in no
 * order. */
static bool is_dense(const struct view *v, uint32_t chunks)
{
        uint64_t pages = chunks * (BOOK_HUGE / PAGE_BYTES), step = pages / AHEAD_SAMPLES;
        uint32_t used = 0;

        for (uint32_t i = 0; i < AHEAD_SAMPLES; i++)
                used += is_used(v, i * step + (i * 0x9e3779b1u >> 8) % step);
        return used >= AHEAD_SAMPLES - AHEAD_SAMPLES / 4;
}

/* The last chunk is being filled: all others are asked. */
static uint32_t shadow_until(struct ahead *a, struct view *v, uint32_t chunks)
{
        uint32_t more = chunks - a->chunks, most = chunks / AHEAD_SHARE;
        struct err e;

        a->chunks = chunks;
        if (chunks < AHEAD_FIRST || a->made[0] > chunks + more || !view_refresh(v, &e) ||
            !is_dense(v, chunks - 1))
                return 0;
        most = most < AHEAD_MOST ? most : AHEAD_MOST;
        more = 2 * more < most ? 2 * more : most;
        return chunks + (more ? more : 1);
}

static uint32_t table_until(uint64_t used)
{
        return (uint32_t)((used + AHEAD_NEAR) / BOOK_HUGE) + 1;
}

/* What is in use already is left as it is. */
static uint32_t begin_at(struct ahead *a, uint32_t table, uint64_t used)
{
        uint32_t whole = (uint32_t)((used + BOOK_HUGE - 1) / BOOK_HUGE);

        if (!whole && parts[table] != LEDGER_SHADOW)
                whole = 1;
        if (a->made[table] < whole)
                a->made[table] = whole;
        return a->made[table];
}

static void make_next(struct ahead *a, struct view *v, uint32_t pid,
                      const uint64_t used[AHEAD_TABLES])
{
        uint32_t until[AHEAD_TABLES], chunks = (uint32_t)(used[0] / BOOK_HUGE), count = 0;

        until[0] = chunks > a->chunks ? shadow_until(a, v, chunks) : 0;
        for (uint32_t i = 0; i < AHEAD_TABLES; i++) {
                uint32_t from = begin_at(a, i, used[i]);

                if (i)
                        until[i] = table_until(used[i]);
                count += until[i] > from ? until[i] - from : 0;
        }
        if (!count)
                return;
        if (!a->begun)
                a->useless = !is_possible(v, pid);
        a->begun = true;
        if (a->useless || !has_room(a, count, pid))
                return;
        for (uint32_t i = 0; i < AHEAD_TABLES; i++)
                make(a, v, i, until[i]);
}

void ahead_tick(struct ahead *a, struct view *v, uint32_t pid)
{
        const struct ledger_head *shared = a->useless ? NULL : view_shared(v);
        uint64_t used[AHEAD_TABLES];

        if (!shared || view_load(v, &shared->thin_count))
                return;
        used[0] = view_load(v, &shared->shadow_chunk_count) * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES;
        used[1] = view_load(v, &shared->counter_chunk_count) * LEDGER_COUNTER_CHUNK_BYTES;
        used[2] = view_load(v, &shared->node_count) * sizeof(struct ledger_node);
        make_next(a, v, pid, used);
        v->spare_bytes = a->made[0] * (uint64_t)BOOK_HUGE - used[0];
}

uint64_t ahead_shadow_end(const struct ahead *a)
{
        return a->made[0] * (uint64_t)BOOK_HUGE;
}

void ahead_forget(struct ahead *a)
{
        a->made[0] = 0;
}
