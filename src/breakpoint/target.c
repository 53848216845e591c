/* SPDX-License-Identifier: MIT */
/*
 * target.c -- a process with breakpoints in its memory, and its ledger.
 *
 * Keeps:  the ledger is a file in memory, as that of an agent, so whoever observes need not know
 *         who writes it.
 */
#include "breakpoint/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/page.h"
#include "base/fdpass.h"
#include "book/error.h"
#include "book/peak.h"
#include "book/shadow.h"
#include "book/tree.h"
#include "wire/hello.h"

#define LEDGER_SHIFT 3u /* 40 GiB of addresses, hardly any memory */

/* ---- the ledger ---- */

static int ledger_file(uint64_t bytes)
{
        int fd = memfd_create("seep-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0)
                return -1;
        if (ftruncate(fd, (off_t)bytes) == 0 &&
            fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
                return fd;
        close(fd);
        return -1;
}

static struct ledger_head *ledger_map(int fd, uint64_t bytes)
{
        void *p = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);

        return p == MAP_FAILED ? NULL : p;
}

static bool ledger_start(struct target *t)
{
        uint64_t bytes = book_layout(NULL, LEDGER_SHIFT);
        struct book *k = &t->book;
        struct ledger_head *head;

        t->ledger = ledger_file(bytes);
        head = t->ledger < 0 ? NULL : ledger_map(t->ledger, bytes);
        if (!head || mprotect(head, BOOK_STEP, PROT_READ | PROT_WRITE) != 0)
                return false;
        book_layout(head, LEDGER_SHIFT);
        book_begin(k, head);
        head->page_bytes = (uint32_t)page_bytes();
        k->spread = !t->glibc;
        return book_commit(k, LEDGER_STRINGS, 1) &&
               book_commit(k, LEDGER_THREADS, sizeof(struct ledger_thread)) && shadow_start(k) &&
               tree_start(k) && error_prepare(k);
}

static void ledger_end(struct target *t)
{
        if (t->book.head) {
                shadow_end(&t->book);
                tree_end(&t->book);
                munmap(t->book.head, t->book.head->file_size);
        }
        if (t->ledger >= 0)
                close(t->ledger);
        t->book = (struct book){ 0 };
        t->ledger = -1;
}

static uint64_t clock_of(clockid_t which)
{
        struct timespec now;

        clock_gettime(which, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void describe(struct target *t)
{
        struct ledger_head *h = t->book.head;
        char path[64];
        ssize_t got;
        int fd;

        h->pid = (uint32_t)t->pid;
        h->ppid = process_parent((uint32_t)t->pid);
        h->flags = tracer.wishes->flags;
        h->start_realtime_ns = clock_of(CLOCK_REALTIME);
        h->start_monotonic_ns = clock_of(CLOCK_MONOTONIC);
        snprintf(path, sizeof path, "/proc/%d/exe", (int)t->pid);
        got = readlink(path, h->exe, sizeof h->exe - 1);
        h->exe[got > 0 ? got : 0] = 0;
        fd = process_open((uint32_t)t->pid, "cmdline");
        got = fd < 0 ? 0 : read(fd, h->command, sizeof h->command - 1);
        h->command_bytes = got > 0 ? (uint32_t)got : 0;
        if (fd >= 0)
                close(fd);
        if (*tracer.wishes->omit)
                h->omit = book_string(&t->book, tracer.wishes->omit);
}

/* ---- a copy for a forked child ---- */

static bool copy_part(struct target *to, const struct target *from, int part)
{
        const struct ledger_extent *x = &from->book.head->part[part];
        off_t at = (off_t)x->offset, end = (off_t)(x->offset + x->committed);

        if (part != LEDGER_HEAD)
                to->book.head->part[part].committed = 0;
        if (part != LEDGER_HEAD && !book_commit(&to->book, (enum ledger_part)part, x->committed))
                return false;
        while (at < end && (at = lseek(from->ledger, at, SEEK_DATA)) >= 0 && at < end) {
                off_t stop = lseek(from->ledger, at, SEEK_HOLE);

                stop = stop < end ? stop : end;
                memcpy((uint8_t *)to->book.head + at, (const uint8_t *)from->book.head + at,
                       (size_t)(stop - at));
                at = stop;
        }
        return true;
}

/* The private tables that lead to what is in a ledger that was copied. */
static bool find_again(struct target *t)
{
        struct book *k = &t->book;
        const struct ledger_chunk *chunks = book_part(k, LEDGER_CHUNKS);

        if (!shadow_start(k) || !tree_start(k))
                return false;
        for (uint32_t i = 0; i < k->head->shadow_chunk_count; i++)
                if (chunks[i].ready && !shadow_adopt(k, i))
                        return false;
        return tree_adopt(k);
}

static bool ledger_copy(struct target *to, const struct target *from)
{
        const struct ledger_head *old = from->book.head;
        struct ledger_head *head;

        to->ledger = ledger_file(old->file_size);
        head = to->ledger < 0 ? NULL : ledger_map(to->ledger, old->file_size);
        if (!head || mprotect(head, BOOK_STEP, PROT_READ | PROT_WRITE) != 0)
                return false;
        memcpy(head, old, sizeof *head);
        book_begin(&to->book, head);
        to->book.spread = from->book.spread;
        for (int part = 0; part < LEDGER_PARTS; part++)
                if (part != LEDGER_HEAD && part != LEDGER_JOURNAL && part != LEDGER_ORDER &&
                    !copy_part(to, from, part))
                        return false;
        head->ppid = head->pid;
        head->pid = (uint32_t)to->pid;
        head->parent_start_monotonic_ns = head->start_monotonic_ns;
        head->fork_ms = book_now_ms(&to->book);
        head->observer = 0;
        head->forks_followed = 0;
        head->served = head->mark_count;
        head->reclaims &= ~1u;
        head->scan_done = head->scan_asked;
        head->scan_holder = 0;
        return find_again(to);
}

/* Only the thread that forked is there; the others have ended for this ledger. */
static void settle_slots(struct target *t)
{
        for (uint32_t i = 0; i < t->book.head->slot_count; i++)
                book_slot(&t->book, i)->used = 0;
        peak_forked(&t->book);
}

/* ---- the observer ---- */

static int call_observer(void)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -1;
        snprintf(a.sun_path, sizeof a.sun_path, "%s", tracer.wishes->socket);
        if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
                return fd;
        close(fd);
        return -1;
}

/* Whether it is the observer's now. */
static bool target_tell(struct target *t, uint32_t reason)
{
        struct wire_hello hello = { WIRE_HELLO_MAGIC, LEDGER_VERSION, reason, (uint32_t)t->pid,
                                    t->book.head->ppid };
        int fd = call_observer();

        t->told = fd >= 0 && fdpass_send(fd, &hello, sizeof hello, t->ledger, 0) ==
                                     (ssize_t)sizeof hello;
        if (fd >= 0)
                close(fd);
        return t->told;
}

void target_knock(const struct target *t)
{
        struct wire_knock knock = { .magic = WIRE_KNOCK_MAGIC, .pid = (uint32_t)t->pid };
        int fd = call_observer();

        if (fd < 0)
                return;
        if (send(fd, &knock, sizeof knock, MSG_NOSIGNAL) < 0)
                tracer.leave = true;
        close(fd);
}

/* ---- from beginning to end ---- */

struct target *target_new(pid_t pid)
{
        struct target *t = heap_zero(1, sizeof *t);

        t->pid = t->reader = pid;
        t->memory = t->ledger = -1;
        t->next = tracer.targets;
        tracer.targets = t;
        return t;
}

static bool open_memory(struct target *t)
{
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/mem", (int)t->pid);
        t->memory = open(path, O_RDWR | O_CLOEXEC);
        return t->memory >= 0;
}

/* Whether its code is of our kind; and whose malloc it has. */
static bool is_ours(struct target *t)
{
        struct elf_facts facts;
        int fd = process_open((uint32_t)t->pid, "exe");
        bool good = fd >= 0 && elf_look(fd, &facts) && facts.is_elf && !facts.foreign;

        if (fd >= 0)
                close(fd);
        t->glibc = good && (facts.has_interp ? strstr(facts.interp, "ld-linux") != NULL
                                             : facts.allocator &&
                                                       strcmp(facts.allocator, "glibc") == 0);
        return good;
}

bool target_begin(struct target *t)
{
        if (!is_ours(t) || !open_memory(t) || !ledger_start(t))
                return false;
        describe(t);
        t->stack_start = process_stack((uint32_t)t->pid);
        t->recorded = target_tell(t, WIRE_HELLO_START);
        codes_look(t);
        return t->recorded;
}

struct target *target_forked(const struct target *parent, pid_t child)
{
        struct target *t = target_new(child);

        t->glibc = parent->glibc;
        t->nameless = parent->nameless;
        t->call = parent->call;
        t->stack_start = parent->stack_start;
        if (parent->area_count) {
                t->areas = heap_zero(parent->area_count, sizeof *t->areas);
                memcpy(t->areas, parent->areas, parent->area_count * sizeof *t->areas);
                t->area_count = parent->area_count;
        }
        if (parent->point_room) {
                t->points = heap_zero(parent->point_room, sizeof *t->points);
                memcpy(t->points, parent->points, parent->point_room * sizeof *t->points);
                t->point_room = parent->point_room;
                t->point_count = parent->point_count;
        }
        if (open_memory(t) && parent->recorded && tracer.wishes->follow_fork &&
            ledger_copy(t, parent)) {
                settle_slots(t);
                t->recorded = target_tell(t, WIRE_HELLO_FORK);
                codes_look(t);
        }
        return t;
}

void target_release(struct target *t)
{
        struct target **at = &tracer.targets;

        if (--t->users)
                return;
        while (*at != t)
                at = &(*at)->next;
        *at = t->next;
        codes_free(t);
        walk_forget(t);
        ledger_end(t);
        if (t->memory >= 0)
                close(t->memory);
        free(t->points);
        free(t->areas);
        free(t);
}
