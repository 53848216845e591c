/* SPDX-License-Identifier: MIT */
/*
 * arena.c -- the ledger's memory: one sparse file, reserved at once, made writable part by part.
 *
 * Room:   inside; any context (arena_commit); at start and fork only (the rest).
 * Keeps:  what is not committed is PROT_NONE, so that mlockall() in the program does not fill the
 *         reservation.  A commit is one mprotect of at least BOOK_STEP bytes, of a large part
 *         BOOK_HUGE; a race commits twice, which is harmless.
 */
#include "agent/arena.h"

#include "agent/agent.h"
#include "agent/bytes.h"
#include "agent/maps.h"
#include "agent/own.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define ARENA_SPARE (64ul << 20)
#define ARENA_TABLE_STEP (8ul << 10)
#define ARENA_TABLES (8384ul << 10) /* those that every start makes: what is spare is missed */
#define POPULATE_WRITE 23 /* MADV_, newer than some headers */
#define ARENA_NAME "seep-ledger"
#define ARENA_LIMIT_FSIZE 1
#define ARENA_LIMIT_DATA 2
#define ARENA_LIMIT_SPACE 9
#define ARENA_DATA_LEAST (4ul << 20) /* with less, what we need of it would be too much of it */
#define ARENA_EMULATED_MOST (16ull << 30)
#define ARENA_RANGES 64u /* more than there are parts */
#define ARENA_BESIDES (9ul << 20) /* address space that we take besides the ledger, about */

static bool unsure;  /* the ledger is in a file system that can be full: touching a page that it has
                      * no room for would be the end */
static bool stocked; /* all of the ledger is writable */

/* Private memory that was got before a filter of system calls forbade it. */
static struct {
        uint8_t *at;
        uint64_t size, used;
} spare;

static struct arena_table *tables;

/* What is left for them of one reservation. */
static struct {
        uint8_t *at;
        uint64_t bytes;
} table_room;

/* Nobody can shorten the file any more: the observer may map it without fear. */
static void arena_seal(long fd)
{
        sys_call3(SYS_fcntl, fd, 1033 /* F_ADD_SEALS */, 2 /* F_SEAL_SHRINK */);
}

/* Give FD its size.  A limit on file sizes (ulimit -f) holds for memory files too and
 * would send SIGXFSZ: the soft one is raised for the time of the call; beyond the hard one
 * the call is not even tried. */
static bool arena_resize(long fd, uint64_t size, bool may_raise)
{
        uint64_t limit[2] = { ~0ull, ~0ull }, raised[2];
        long result;

        sys_call6(SYS_prlimit64, 0, ARENA_LIMIT_FSIZE, 0, (long)limit, 0, 0);
        if (size > limit[0] && !may_raise)
                return false;
        if (size > limit[1])
                return false;
        raised[0] = raised[1] = limit[1];
        if (size > limit[0] &&
            sys_failed(sys_call6(SYS_prlimit64, 0, ARENA_LIMIT_FSIZE, (long)raised, 0, 0, 0)))
                return false;
        result = sys_resize(fd, size);
        if (result == -SYS_EPERM) /* by a filter of system calls */
                result = sys_write_at(fd, "", 1, size - 1);
        if (size > limit[0])
                sys_call6(SYS_prlimit64, 0, ARENA_LIMIT_FSIZE, (long)limit, 0, 0, 0);
        return !sys_failed(result);
}

/* The reservation at P, moved to where it can be in huge pages.  What is below a new mapping is
 * mostly free; if not, it lies anywhere. */
static void *arena_align(void *p, uint64_t size, long fd)
{
        if (size < BOOK_LARGE || sys_failed((long)p) || !((uintptr_t)p % BOOK_HUGE))
                return p;
        sys_unmap(p, size);
        return sys_map((uint8_t *)p - (uintptr_t)p % BOOK_HUGE, size, PROT_NONE,
                       MAP_SHARED | MAP_NORESERVE, fd);
}

static void *arena_reserve(long fd, uint64_t size, void *at)
{
        void *p;

        if (!at && !arena_resize(fd, size, true))
                return NULL;
        p = sys_map(at, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd);
        if (!at)
                p = arena_align(p, size, fd);
        if (sys_failed((long)p))
                return NULL;
        sys_advise(p, size, MADV_DONTDUMP);
        return p;
}

/* Where a filter of system calls forbids a file in memory, there is one without a
 * name in the folder for such. */
static long arena_memfd(void)
{
        long fd = sys_call3(SYS_memfd_create, (long)ARENA_NAME,
                            3 /* MFD_CLOEXEC | MFD_ALLOW_SEALING */, 0);

        if (fd != -SYS_EPERM)
                return fd;
        fd = sys_call6(SYS_openat, SYS_AT_HERE, (long)"/dev/shm", SYS_O_UNNAMED | SYS_O_CLOEXEC,
                       0600, 0, 0);
        unsure = unsure || fd >= 0;
        return fd;
}

/* Make [AT, AT + SIZE) of the ledger writable. */
static bool arena_unlock(void *at, uint64_t size)
{
        return !sys_failed(sys_protect(at, size, PROT_READ | PROT_WRITE)) &&
               (!unsure || !sys_failed(sys_advise(at, size, POPULATE_WRITE)));
}

static uint64_t data_limit(void)
{
        uint64_t limit[2] = { ~0ull, ~0ull };

        sys_call6(SYS_prlimit64, 0, ARENA_LIMIT_DATA, 0, (long)limit, 0, 0);
        return limit[0];
}

/* How much address space may be reserved.  Where it is limited (ulimit -v), half of it is the
 * program's in any case.  A soft limit is raised by what is reserved, if it can be: what the
 * program has is then what it had, and what it is told, too (hooks_limit.c).  One that has room for
 * all of it was raised by the program that became this one. */
static uint64_t arena_allowance(void)
{
        uint64_t limit[2] = { ~0ull, ~0ull }, all = book_layout(NULL, 0) + ARENA_BESIDES;

        sys_call6(SYS_prlimit64, 0, ARENA_LIMIT_SPACE, 0, (long)limit, 0, 0);
        if (limit[0] >= all)
                return all;
        if (!INJECTED && limit[1] - limit[0] >= all) {
                limit[0] += all;
                if (!sys_failed(
                            sys_call6(SYS_prlimit64, 0, ARENA_LIMIT_SPACE, (long)limit, 0, 0, 0)))
                        return all;
                limit[0] -= all;
        }
        return limit[0] / 2;
}

uint64_t arena_reserved(void)
{
        return !INJECTED && agent.head && agent.head->file_size == book_layout(NULL, 0)
                       ? agent.head->file_size + ARENA_BESIDES
                       : 0;
}

long arena_create(void)
{
        static const unsigned shifts[] = { 0, 5, 9, 11, 12, 13 };
        uint64_t allowance;
        long fd;

        if (data_limit() < ARENA_DATA_LEAST)
                return -SYS_ENOMEM;
        allowance = arena_allowance();
        /* qemu keeps some bytes for each page that is reserved. */
        if (agent.emulated && allowance > ARENA_EMULATED_MOST)
                allowance = ARENA_EMULATED_MOST;
        fd = arena_memfd();
        if (fd < 0)
                return fd;
        for (unsigned i = 0; i < sizeof shifts / sizeof *shifts; i++) {
                uint64_t size = book_layout(NULL, shifts[i]);
                void *p = size <= allowance ? arena_reserve(fd, size, NULL) : NULL;

                if (!p)
                        continue;
                if (!arena_unlock(p, BOOK_STEP))
                        break;
                agent.head = p;
                book_layout(agent.head, shifts[i]);
                book_begin(&agent_book, agent.head);
                agent.head->page_bytes = (uint32_t)SYS_PAGE;
                arena_seal(fd);
                return fd;
        }
        sys_close(fd);
        return -SYS_ENOMEM;
}

bool arena_commit(enum ledger_part part, uint64_t bytes)
{
        struct ledger_extent *extent = &agent.head->part[part];
        uint64_t have = __atomic_load_n(&extent->committed, __ATOMIC_RELAXED);
        /* A huge page is mapped as one where all of it is writable. */
        uint64_t step = extent->size >= BOOK_LARGE && bytes > BOOK_HUGE ? BOOK_HUGE : BOOK_STEP;
        uint64_t want = (bytes + step - 1) & ~(step - 1);

        if (likely(bytes <= have))
                return true;
        if (want > extent->size)
                return false;
        if (!stocked && !arena_unlock((uint8_t *)agent.head + extent->offset + have, want - have))
                return false;
        while (have < want && !__atomic_compare_exchange_n(&extent->committed, &have, want, false,
                                                           __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                ;
        if (agent.ledger_limit)
                thin_check();
        return true;
}

/* A search for leaks must not take our tables for the program's pointers. */
void arena_own(uint64_t start, size_t size)
{
        uint32_t index = __atomic_fetch_add(&agent.head->own_count, 1, __ATOMIC_RELAXED);

        if (arena_commit(LEDGER_OWN, (index + 1ull) * sizeof(struct ledger_range)))
                ((struct ledger_range *)arena_at(LEDGER_OWN))[index] = (struct ledger_range){
                        start, start + ((size + SYS_PAGE - 1) & ~(SYS_PAGE - 1)) };
}

/* From what was laid in; NULL when there is nothing left.  It is not given back. */
static void *spare_take(size_t size)
{
        uint64_t whole = (size + SYS_PAGE - 1) & ~(SYS_PAGE - 1), at;

        if (!spare.at || whole > spare.size)
                return NULL;
        at = __atomic_fetch_add(&spare.used, whole, __ATOMIC_RELAXED);
        return at <= spare.size - whole ? spare.at + at : NULL;
}

void *arena_private(uint64_t size)
{
        void *p = sys_memory(size);

        if (!p)
                return spare_take(size);
        if (agent.head)
                arena_own((uintptr_t)p, size);
        return p;
}

void *arena_dense(uint64_t size)
{
        uint64_t all = (size + SYS_PAGE - 1 + BOOK_HUGE) & ~(SYS_PAGE - 1), before;
        uint8_t *p = size < BOOK_HUGE ? NULL : sys_memory(all);

        if (!p)
                return arena_private(size);
        before = (BOOK_HUGE - (uintptr_t)p % BOOK_HUGE) % BOOK_HUGE;
        if (before)
                sys_unmap(p, before);
        if (BOOK_HUGE - before)
                sys_unmap(p + all - (BOOK_HUGE - before), BOOK_HUGE - before);
        sys_advise(p + before, all - BOOK_HUGE, MADV_HUGEPAGE);
        arena_own((uintptr_t)p + before, size);
        return p + before;
}

/* Address space for tables; NULL. */
static uint8_t *arena_untouched(uint64_t bytes)
{
        void *p = sys_map(NULL, bytes, PROT_NONE, SYS_MEMORY_FLAGS, -1);

        if (sys_failed((long)p))
                return NULL;
        sys_advise(p, bytes, MADV_DONTDUMP);
        arena_own((uintptr_t)p, bytes);
        return p;
}

void *arena_table(struct arena_table *t, uint64_t size)
{
        uint64_t whole = (size + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
        uint8_t *p;

        if (!tables) {
                table_room.at = arena_untouched(ARENA_TABLES);
                table_room.bytes = table_room.at ? ARENA_TABLES : 0;
        }
        if (whole <= table_room.bytes) {
                p = table_room.at;
                table_room.at += whole;
                table_room.bytes -= whole;
        } else {
                p = arena_untouched(whole);
        }
        if (!p)
                return NULL;
        *t = (struct arena_table){ .at = p, .size = size, .next = tables };
        tables = t;
        return p;
}

bool arena_table_open(struct arena_table *t, uint64_t bytes)
{
        uint64_t have = __atomic_load_n(&t->open, __ATOMIC_RELAXED),
                 want = (bytes + ARENA_TABLE_STEP - 1) & ~(ARENA_TABLE_STEP - 1);

        if (likely(bytes <= have))
                return true;
        want = want < t->size ? want : t->size;
        if (bytes > want ||
            sys_failed(sys_protect(t->at + have, want - have, PROT_READ | PROT_WRITE)))
                return false;
        while (have < want && !__atomic_compare_exchange_n(&t->open, &have, want, false,
                                                           __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                ;
        return true;
}

/* A program whose data are limited (ulimit -d) is left most of them. */
static uint64_t spare_size(void)
{
        uint64_t share = data_limit() / 16;

        return share < ARENA_SPARE ? share & ~(SYS_PAGE - 1) : ARENA_SPARE;
}

void arena_stock_up(void)
{
        bool good = !unsure;

        if (stocked || spare.at)
                return;
        for (int part = 0; good && part < LEDGER_PARTS; part++)
                good = arena_unlock((uint8_t *)agent.head + agent.head->part[part].offset,
                                    agent.head->part[part].size);
        stocked = good;
        for (struct arena_table *t = tables; t; t = t->next)
                arena_table_open(t, t->size);
        spare.size = spare_size();
        spare.at = arena_private(spare.size);
}

void arena_private_free(void *p, uint64_t size)
{
        struct ledger_range *own = arena_at(LEDGER_OWN);
        uint32_t count = agent.head->own_count;

        for (uint32_t i = count; i-- > 0;)
                if ((i + 1ull) * sizeof *own <= agent.head->part[LEDGER_OWN].committed &&
                    own[i].start == (uintptr_t)p) {
                        own[i].end = own[i].start;
                        /* What comes and goes again and again needs no new entry each time. */
                        if (i + 1 == count)
                                __atomic_compare_exchange_n(&agent.head->own_count, &count, i,
                                                            false, __ATOMIC_RELAXED,
                                                            __ATOMIC_RELAXED);
                        break;
                }
        sys_unmap(p, size);
}

/* Write the pages of [offset, offset + size) that were ever touched. */
static bool arena_copy_extent(long fd, uint64_t offset, uint64_t size, uint8_t *resident)
{
        uint8_t *base = (uint8_t *)agent.head;
        uint64_t pages = size / SYS_PAGE;

        if (sys_failed(sys_call3(SYS_mincore, (long)(base + offset), (long)size, (long)resident)))
                return false;
        for (uint64_t i = 0; i < pages; i++) {
                uint64_t first = i;

                while (i < pages && (resident[i] & 1))
                        i++;
                if (i == first)
                        continue;
                for (uint64_t at = first * SYS_PAGE; at < i * SYS_PAGE;) {
                        long put = sys_write_at(fd, base + offset + at, i * SYS_PAGE - at,
                                                offset + at);

                        if (put <= 0)
                                return false;
                        at += (uint64_t)put;
                }
        }
        return true;
}

#define COPY_STEP (64ull << 20)

static bool arena_copy_part(long fd, enum ledger_part part, uint8_t *resident)
{
        const struct ledger_extent *extent = &agent.head->part[part];
        uint64_t committed = extent->committed;

        /* In a child the parent may have committed more since: it is open there, not here. */
        if (sys_failed(sys_protect((uint8_t *)agent.head + extent->offset, committed,
                                   PROT_READ | PROT_WRITE)))
                return false;
        for (uint64_t at = 0; at < committed; at += COPY_STEP) {
                uint64_t size = committed - at < COPY_STEP ? committed - at : COPY_STEP;

                if (!arena_copy_extent(fd, extent->offset + at, size, resident))
                        return false;
        }
        return true;
}

/* WHOLE: with what is of no use to a child. */
static long copy(bool whole)
{
        uint8_t *resident = sys_memory(COPY_STEP / SYS_PAGE);
        long fd = resident ? arena_memfd() : -SYS_ENOMEM;
        bool good = fd >= 0 && arena_resize(fd, agent.head->file_size, false);

        if (good)
                arena_seal(fd);
        for (int part = 0; good && part < LEDGER_PARTS; part++)
                good = (!whole && (part == LEDGER_JOURNAL || part == LEDGER_ORDER)) ||
                       arena_copy_part(fd, part, resident);
        if (resident)
                sys_unmap(resident, COPY_STEP / SYS_PAGE);
        if (good || fd < 0)
                return fd;
        sys_close(fd);
        return -SYS_ENOMEM;
}

long arena_copy(void)
{
        return copy(false);
}

bool arena_copy_again(long fd)
{
        static const enum ledger_part growing[] = { LEDGER_HEAD, LEDGER_NODES, LEDGER_SITES,
                                                    LEDGER_CHUNKS, LEDGER_THREADS, LEDGER_MODULES,
                                                    LEDGER_STRINGS };
        uint8_t *resident = sys_memory(COPY_STEP / SYS_PAGE);
        bool good = resident != NULL;

        for (unsigned i = 0; good && i < sizeof growing / sizeof *growing; i++)
                good = arena_copy_part(fd, growing[i], resident);
        if (resident)
                sys_unmap(resident, COPY_STEP / SYS_PAGE);
        return good;
}

bool arena_replace(long fd)
{
        struct ledger_extent parts[LEDGER_PARTS];
        uint64_t size = agent.head->file_size;
        bool good;

        memcpy(parts, agent.head->part, sizeof parts);
        if (!arena_reserve(fd, size, agent.head))
                return false;
        good = true;
        stocked = false;
        for (int part = 0; part < LEDGER_PARTS; part++)
                good &= arena_unlock((uint8_t *)agent.head + parts[part].offset,
                                     parts[part].committed);
        return good;
}

/* Stretches of the ledger that are open, as the kernel has them: a thread may have been stopped
 * between opening one and telling so.  0: that cannot be seen. */
static uint32_t open_ranges(struct ledger_range *out, uint32_t room)
{
        struct maps *m = sys_memory(sizeof *m);
        uint64_t first = (uintptr_t)agent.head, end = first + agent.head->file_size;
        struct maps_line line;
        uint32_t count = 0;

        if (!m)
                return 0;
        if (maps_open(m)) {
                while (count < room && maps_next(m, &line))
                        if (line.start >= first && line.end <= end && line.read)
                                out[count++] = (struct ledger_range){ line.start, line.end };
                if (m->failed)
                        count = 0;
                maps_close(m);
        }
        sys_unmap(m, sizeof *m);
        return count;
}

long arena_renew(void)
{
        struct ledger_range open[ARENA_RANGES];
        uint32_t count = open_ranges(open, ARENA_RANGES);
        long fd = count && count < ARENA_RANGES ? copy(true) : -SYS_ENOMEM;

        if (fd < 0)
                return fd;
        if (!arena_reserve(fd, agent.head->file_size, agent.head)) {
                sys_close(fd);
                return -SYS_ENOMEM;
        }
        for (uint32_t i = 0; i < count; i++)
                arena_unlock((void *)(uintptr_t)open[i].start, open[i].end - open[i].start);
        return fd;
}
