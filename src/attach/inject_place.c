/* SPDX-License-Identifier: MIT */
/* inject_place.c -- where things are placed in another process. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/inject_parts.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "base/page.h"

#define LOWEST 0x10000ull
#define NARROW_END 0xffffe000ull /* of programs with words of 4 bytes */
#define MAP_TIMES 4
#define MAP_ASIDE 0x40ull /* after each time, so many times farther from where it was tried */
#define GROWTH (1ull << 30) /* room that is left to the heap; to the stack if there is so much */
#define GUARD_PAGES 256ull  /* that the kernel leaves free below a stack that grows */

static bool reaches(const struct inject *j, uint64_t start, uint64_t bytes, uint64_t near)
{
        uint64_t end = start + bytes, reach = patch_reach(j->narrow);

        return (start < near ? near - start : start - near) < reach &&
               (end < near ? near - end : end - near) < reach;
}

/* How far the stack may grow by the limit of the process.  The kernel leaves little more than this
 * between it and the first library, as chance has it. */
static uint64_t stack_growth(const struct inject *j)
{
        uint64_t most[2]; /* now, and up to where it may be raised */

        if (syscall(SYS_prlimit64, j->pid, RLIMIT_STACK, NULL, most) != 0 || *most > GROWTH)
                return GROWTH;
        return *most + GUARD_PAGES * page_bytes();
}

/* The gap in front of mapping I; of a stack so much GROWTH stays free. */
static uint64_t gap_below(const struct inject *j, uint32_t i, uint64_t bytes, uint64_t growth)
{
        const struct mappings *m = &j->maps;
        uint64_t end = i < m->count ? m->at[i].start : j->narrow ? NARROW_END : ARCH_HIGHEST;
        uint64_t start = i ? m->at[i - 1].end : LOWEST;

        if (i && strncmp(m->at[i - 1].path, "[heap]", 6) == 0)
                start += GROWTH;
        if (i < m->count && strncmp(m->at[i].path, "[stack", 6) == 0)
                end = end > growth ? end - growth : 0;
        start = start < LOWEST ? LOWEST : start;
        return start + bytes + 2 * page_bytes() <= end ? end - bytes - page_bytes() : 0;
}

static uint64_t gap_near(const struct inject *j, uint64_t near, uint64_t bytes, uint64_t growth)
{
        const struct mappings *m = &j->maps;
        uint32_t first = mappings_from(m, near);
        uint64_t reach = patch_reach(j->narrow) - patch_reach(j->narrow) / 32;
        uint64_t at, high = (near + reach - bytes) & ~(page_bytes() - 1);

        for (uint32_t i = first + 1; i-- > 0;) {
                at = gap_below(j, i, bytes, growth);
                if (at && reaches(j, at, bytes, near))
                        return at;
        }
        for (uint32_t i = first + 1; i <= m->count; i++) {
                at = gap_below(j, i, bytes, growth);
                if (at && reaches(j, at, bytes, near))
                        return at;
                if (at && high > (i ? m->at[i - 1].end : 0) && high < at)
                        return high;
        }
        return 0;
}

uint64_t inject_gap(const struct inject *j, uint64_t near, uint64_t bytes)
{
        uint64_t at = gap_near(j, near, bytes, GROWTH);

        return at ? at : gap_near(j, near, bytes, stack_growth(j));
}

/* The thread through which we look may have ended meanwhile. */
bool inject_maps(struct inject *j)
{
        mappings_free(&j->maps);
        j->maps_text.length = 0;
        if (!procfs_text(j->pid, j->memory.tid, "maps", &j->maps_text) || !j->maps_text.length) {
                j->memory.tid = procfs_living(j->pid);
                j->maps_text.length = 0;
                if (!procfs_text(j->pid, j->memory.tid, "maps", &j->maps_text) ||
                    !j->maps_text.length)
                        return false;
        }
        mappings_parse(&j->maps, str_get(&j->maps_text));
        return true;
}

/* There is something at AT now. */
static void note_mapping(struct mappings *m, uint64_t at, uint64_t bytes)
{
        uint32_t i = mappings_from(m, at);

        m->at = heap_grow(m->at, m->count + 1, sizeof *m->at);
        memmove(&m->at[i + 1], &m->at[i], (m->count++ - i) * sizeof *m->at);
        m->at[i] = (struct mapping){ .start = at, .end = at + bytes, .path = "" };
}

/* A gap whose upper end stays free, where the kernel puts what threads map meanwhile. */
static uint64_t gap_aside(const struct inject *j, const struct inject_wish *w, uint64_t aside)
{
        uint64_t at = inject_gap(j, w->near, w->bytes + aside);

        return at ? at : inject_gap(j, w->near, w->bytes);
}

/* What was read of the mappings may be old, where threads go on: then it is read again. */
uint64_t inject_map(struct inject *j, struct inject_wish w, struct err *e)
{
        uint64_t at = 0, aside = 0;
        long result = -EEXIST;

        for (int i = 0; i < MAP_TIMES && result == -EEXIST && (i == 0 || inject_maps(j)); i++) {
                struct arch_call call = { ARCH_SYS_MMAP,
                                          { 0, w.bytes, (uint64_t)w.protection,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                            (uint64_t)-1, 0 } };

                at = call.arguments[0] = gap_aside(j, &w, aside);
                result = at ? remote_call(&j->remote, &call) : 0;
                aside = aside ? aside * MAP_ASIDE : MAP_ASIDE * page_bytes();
        }
        if (result == (long)at && at) {
                note_mapping(&j->maps, at, w.bytes);
                return at;
        }
        err_set(e, ERR_EXIT_CANNOT_TRACE,
                at ? "process %d does not get memory for the agent (%s)"
                   : "process %d has no room near its code for the agent%s",
                (int)j->pid, at ? strerror((int)-result) : "");
        return 0;
}

uint64_t inject_trampoline(struct inject *j, uint64_t entry, struct err *e)
{
        struct inject_room *r = j->room;
        struct inject_area *a = NULL;

        for (uint32_t i = 0; i < r->area_count && !a; i++)
                if (r->areas[i].used + PATCH_TRAMPOLINE <= INJECT_AREA_BYTES &&
                    reaches(j, r->areas[i].start, INJECT_AREA_BYTES, entry))
                        a = &r->areas[i];
        if (!a && r->area_count < INJECT_AREAS) {
                uint64_t start = inject_map(
                        j, (struct inject_wish){ entry, INJECT_AREA_BYTES, PROT_READ | PROT_EXEC },
                        e);

                if (!start)
                        return 0;
                a = &r->areas[r->area_count++];
                *a = (struct inject_area){ start, 0 };
        }
        if (!a)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the functions of process %d lie too far apart", (int)j->pid),
                       0;
        a->used += PATCH_TRAMPOLINE;
        return a->start + a->used - PATCH_TRAMPOLINE;
}

/* Through the file, which the protection of pages does not hold for. */
bool inject_write(const struct inject *j, uint64_t at, const void *from, size_t bytes)
{
        const uint8_t *rest = from;

        while (bytes) {
                ssize_t put = pwrite(j->memory.mem, rest, bytes, (off_t)at);

                if (put <= 0)
                        return false;
                rest += put;
                at += (uint64_t)put;
                bytes -= (size_t)put;
        }
        return true;
}

bool inject_write_word(const struct inject *j, uint64_t at, uint64_t word)
{
        return inject_write(j, at, &word, j->narrow ? 4 : 8); /* the lower half comes first */
}

bool inject_read(const struct inject *j, uint64_t at, void *to, size_t bytes)
{
        return memory_read(&j->memory, at, to, bytes) == bytes;
}
