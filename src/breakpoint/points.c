/* SPDX-License-Identifier: MIT */
/*
 * points.c -- breakpoints: the bytes in the code, and the instruction that they displaced.
 *
 * Keeps:  a breakpoint stays where it is until all are removed, so that no thread ever passes a
 *         place unseen while another one is being served.  The displaced instruction is executed in
 *         a page of its own, near the code; that page is mapped by the program itself, made to do
 *         so while it stands at a breakpoint, and is never unmapped: a thread may be in it.
 */
#include "breakpoint/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/mappings.h"
#include "attach/procfs.h"
#include "attach/sandbox.h"
#include "base/heap.h"
#include "base/page.h"
#include "breakpoint/arch/arch.h"

#ifndef PTRACE_SETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

/* ---- memory ---- */

bool target_read(const struct target *t, uint64_t at, void *to, size_t bytes)
{
        struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)at, bytes };

        if (process_vm_readv(t->reader, &here, 1, &there, 1, 0) == (ssize_t)bytes)
                return true;
        return pread(t->memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

bool target_write(const struct target *t, uint64_t at, const void *from, size_t bytes)
{
        return pwrite(t->memory, from, bytes, (off_t)at) == (ssize_t)bytes;
}

/* ---- the table ---- */

static uint32_t place_of(uint64_t at, uint32_t room)
{
        return (uint32_t)(at * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);
}

struct point *point_find(const struct target *t, uint64_t at)
{
        uint32_t i;

        if (!t->point_room)
                return NULL;
        for (i = place_of(at, t->point_room); t->points[i].at; i = (i + 1) & (t->point_room - 1))
                if (t->points[i].at == at)
                        return &t->points[i];
        return NULL;
}

static struct point *put(struct target *t, const struct point *p)
{
        uint32_t i = place_of(p->at, t->point_room);

        while (t->points[i].at)
                i = (i + 1) & (t->point_room - 1);
        t->points[i] = *p;
        t->point_count++;
        return &t->points[i];
}

/* All again, in a table of ROOM places, but those in [START, END). */
static void rebuild(struct target *t, uint32_t room, uint64_t start, uint64_t end)
{
        struct point *old = t->points;
        uint32_t old_room = t->point_room;

        t->points = heap_zero(room, sizeof *t->points);
        t->point_room = room;
        t->point_count = 0;
        for (uint32_t i = 0; i < old_room; i++)
                if (old[i].at && (old[i].at < start || old[i].at >= end))
                        put(t, &old[i]);
        free(old);
}

struct point *point_set(struct target *t, uint64_t at, enum point_what what, uint16_t entry)
{
        struct point *p = point_find(t, at), fresh = { .at = at, .what = (uint8_t)what,
                                                        .entry = entry };

        if (p)
                return p;
        if (!target_read(t, at, fresh.original, sizeof fresh.original) ||
            !target_write(t, at, ARCH_TRAP, ARCH_TRAP_BYTES))
                return NULL;
        if (t->point_count * 2 >= t->point_room)
                rebuild(t, t->point_room ? t->point_room * 2 : 256, 0, 0);
        return put(t, &fresh);
}

void points_put_back(const struct target *t)
{
        for (uint32_t i = 0; i < t->point_room; i++)
                if (t->points[i].at)
                        target_write(t, t->points[i].at, t->points[i].original, ARCH_TRAP_BYTES);
}

void points_remove(struct target *t)
{
        points_put_back(t);
        free(t->points);
        t->points = NULL;
        t->point_room = t->point_count = 0;
}

void points_forget(struct target *t, uint64_t start, uint64_t end)
{
        if (t->point_room)
                rebuild(t, t->point_room, start, end);
}

/* ---- pages for displaced instructions ---- */

/* On to the entry or the end of a system call.  Only SIGSTOP cannot be blocked: it is sent
 * again. */
static bool to_call(struct task *t)
{
        int status = 0;
        bool good = true, stop = false;

        do {
                pid_t tid;

                good = ptrace(PTRACE_SYSCALL, t->tid, 0, 0) == 0;
                do
                        tid = good ? waitpid(t->tid, &status, __WALL) : t->tid;
                while (tid < 0 && errno == EINTR);
                good = good && tid == t->tid && WIFSTOPPED(status);
                stop |= good && status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP;
        } while (good && WSTOPSIG(status) != (SIGTRAP | 0x80));
        if (stop)
                kill(t->target->pid, SIGSTOP);
        return good;
}

/* Filters of system calls (seccomp) might end the program for our call.  false: they stay. */
static bool suspend_filters(const struct task *t)
{
        return ptrace(PTRACE_SETOPTIONS, t->tid, 0, TRACE_OPTIONS | PTRACE_O_SUSPEND_SECCOMP) ==
                       0 ||
               sandbox_is_ours(t->tid);
}

/* Make T, which stands at a breakpoint, call the kernel.  Its signals wait meanwhile. */
static bool make_call(struct task *t, const struct arch_call *call, uint64_t *result)
{
        struct arch_registers r = t->registers;
        uint64_t mask = 0, all = ~0ull;
        bool good;

        if (!suspend_filters(t))
                return false;
        ptrace(PTRACE_GETSIGMASK, t->tid, sizeof mask, &mask);
        ptrace(PTRACE_SETSIGMASK, t->tid, sizeof all, &all);
        arch_prepare(&r, t->target->call, call);
        good = arch_write(t->tid, &r) && to_call(t) && to_call(t) && arch_read(t->tid, &r);
        *result = (uint64_t)arch_result(&r);
        arch_write(t->tid, &t->registers);
        ptrace(PTRACE_SETSIGMASK, t->tid, sizeof mask, &mask);
        ptrace(PTRACE_SETOPTIONS, t->tid, 0, TRACE_OPTIONS);
        return good;
}

/* The kernel's own library has an instruction that calls it. */
static uint64_t find_call(const struct target *t, const struct mappings *maps)
{
        for (uint32_t i = 0; i < maps->count; i++) {
                const struct mapping *m = &maps->at[i];
                size_t bytes = (size_t)(m->end - m->start);
                uint8_t *code, *found = NULL;
                uint64_t at = 0;

                if (!m->executable || !m->kernel || bytes > 1u << 20)
                        continue;
                code = heap_zero(1, bytes);
                if (target_read(t, m->start, code, bytes))
                        found = memmem(code, bytes, ARCH_CALL, ARCH_CALL_BYTES);
                while (found && (found - code) % (ptrdiff_t)ARCH_TRAP_BYTES)
                        found = memmem(found + 1, bytes - (size_t)(found + 1 - code), ARCH_CALL,
                                       ARCH_CALL_BYTES);
                if (found)
                        at = m->start + (uint64_t)(found - code);
                free(code);
                if (at)
                        return at;
        }
        return 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
        return a > b ? a - b : b - a;
}

/* A hole among the mappings, as near to AT as there is one. */
static uint64_t find_hole(const struct mappings *maps, uint64_t at)
{
        uint64_t best = 0, before = 0x10000;

        for (uint32_t i = 0; i < maps->count; before = maps->at[i++].end) {
                uint64_t end = maps->at[i].start, low = before, high = end - AREA_BYTES, near;

                if (end < before || end - before < AREA_BYTES || end > ARCH_HIGHEST)
                        continue;
                near = at < low ? low : at > high ? high : at & ~(page_bytes() - 1);
                near = near > high ? high : near;
                if (!best || distance(near, at) < distance(best, at))
                        best = near;
        }
        return best;
}

static struct area *area_new(struct task *t, uint64_t near)
{
        struct target *g = t->target;
        struct mappings maps;
        struct str text = { 0 };
        struct arch_call call = { SYS_mmap,
                                  { 0, AREA_BYTES, PROT_READ | PROT_EXEC,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                    (uint64_t)-1, 0 } };
        uint64_t result = 0;
        bool good;

        procfs_text(g->pid, t->tid, "maps", &text);
        mappings_parse(&maps, str_get(&text));
        if (!g->call)
                g->call = find_call(g, &maps);
        call.arguments[0] = find_hole(&maps, near);
        good = g->call && call.arguments[0] && make_call(t, &call, &result) &&
               result == call.arguments[0];
        mappings_free(&maps);
        str_free(&text);
        if (!good)
                return NULL;
        g->areas = heap_grow(g->areas, g->area_count + 1, sizeof *g->areas);
        g->areas[g->area_count] = (struct area){ .at = result };
        return &g->areas[g->area_count++];
}

static uint64_t slot_new(struct task *t, uint64_t near)
{
        struct target *g = t->target;
        struct area *a = NULL;

        for (uint32_t i = 0; i < g->area_count && !a; i++)
                if (g->areas[i].used < AREA_BYTES / SLOT_BYTES &&
                    distance(g->areas[i].at, near) < ARCH_NEAR)
                        a = &g->areas[i];
        if (!a)
                a = area_new(t, near);
        return a ? a->at + SLOT_BYTES * a->used++ : 0;
}

/* ---- going on ---- */

/* The code at AT as it is without breakpoints. */
static bool read_code(const struct target *t, const struct point *p, uint8_t code[MOVE_READ])
{
        size_t bytes = MOVE_READ;

        memset(code, 0x90, MOVE_READ);
        while (bytes && !target_read(t, p->at, code, bytes))
                bytes--;
        for (uint32_t i = ARCH_TRAP_BYTES; i + ARCH_TRAP_BYTES <= bytes; i += ARCH_TRAP_BYTES) {
                const struct point *other = memcmp(code + i, ARCH_TRAP, ARCH_TRAP_BYTES) == 0
                                                    ? point_find(t, p->at + i)
                                                    : NULL;

                if (other)
                        memcpy(code + i, other->original, ARCH_TRAP_BYTES);
        }
        memcpy(code, p->original, ARCH_TRAP_BYTES);
        return bytes != 0;
}

static bool prepare(struct task *t, struct point *p)
{
        uint8_t code[MOVE_READ];

        if (!read_code(t->target, p, code) || !move_plan(&p->move, code, p->at, 0))
                return false;
        if (p->move.how == MOVE_CODE) {
                p->slot = slot_new(t, p->at);
                if (!p->slot || !move_plan(&p->move, code, p->at, p->slot) ||
                    !target_write(t->target, p->slot, p->move.bytes, p->move.count))
                        return false;
        }
        p->ready = true;
        return true;
}

bool point_pass(struct task *t, struct point *p)
{
        if (!p->ready && !prepare(t, p))
                return false;
        if (p->move.how == MOVE_CODE)
                return arch_go(t->tid, &t->registers, p->slot);
        return arch_perform(t->tid, &t->registers, &p->move, p->at, t->target->memory);
}

/* The breakpoint whose displaced instruction is at PC. */
static const struct point *point_of_slot(const struct target *t, uint64_t pc)
{
        for (uint32_t i = 0; i < t->area_count; i++) {
                if (pc - t->areas[i].at >= AREA_BYTES)
                        continue;
                for (uint32_t j = 0; j < t->point_room; j++)
                        if (t->points[j].at && t->points[j].slot &&
                            pc - t->points[j].slot < SLOT_BYTES)
                                return &t->points[j];
        }
        return NULL;
}

uint64_t points_origin(const struct target *t, uint64_t pc)
{
        const struct point *p = point_of_slot(t, pc);

        if (!p)
                return pc;
        return pc == p->slot ? p->at : p->at + p->move.length;
}
