/* SPDX-License-Identifier: MIT */
/*
 * object.c -- what code is mapped where, read from /proc/self/maps.
 *
 * Keeps:  one scan at a time.  The table of code ranges is
 *         written beside the old one and published by one store; a reader that meanwhile saw two
 *         publications looks again.  Scans are rare: at the start, when code is met that no
 *         object holds, after dlclose.
 */
#include "agent/object.h"

#include <elf.h>
#include <link.h>

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/cfi.h"
#include "agent/ehindex.h"
#include "agent/maps.h"
#include "agent/module.h"
#include "agent/omit.h"
#include "agent/own.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define OBJECTS_MAX 32767u
#define RANGES_MAX 8192u
#define MISSES 16u
#define MISS_MS 100u
#define LOCK_TRIES 10000u
#define HEADERS_MAX 1170u /* of an executable; the kernel takes no more */
#define LINES_MANY 1000u  /* so many are not read each time: the kernel is asked for code */
#define ASK_MS 100u       /* ... all of them not more often than that */
#define BEGIN_NEAR 64u    /* mappings in front of code that may be its beginning ... */
#define BEGIN_REACH (64ull << 10) /* ... so far and twice its offset away */

struct range {
        uint64_t start, end;
        uint32_t object;
};

struct ranges {
        uint32_t count;
        struct range at[RANGES_MAX];
};

/* The file whose mappings are being read. */
struct candidate {
        uint64_t dev, ino, start, last_end, last_offset;
        uint32_t first_range; /* of its code */
        bool known;
        struct object_area areas[OBJECT_AREAS];
};

static struct {
        struct object *objects;
        uint16_t *unused;     /* numbers of objects that are gone */
        uint32_t unused_count;
        uint32_t loads;       /* objects ever seen */
        uint32_t asked_ms;    /* when the kernel was last asked for all code */
        bool many, cannot;    /* LINES_MANY; the kernel cannot be asked */
        uint32_t lost;        /* code without a place in the ranges, as the last scan saw it */
        uint32_t count, scans, lock, published;
        struct ranges *ranges[2];
        struct maps *maps;
        struct candidate candidate;
        uint64_t miss_page[MISSES];
        uint32_t miss_ms[MISSES];
        uint32_t vain_ms, vain; /* scans that found nothing, since when */
} table;

uint64_t *object_shifts;

/* The memory of the tables. */
static struct {
        struct arena_table objects, unused, shifts, ranges[2];
} memory;

static bool object_rescan(uint64_t pc);

/* Whether there is a place for an object with this number. */
static bool has_room(uint32_t number)
{
        return number < OBJECTS_MAX - 1 &&
               arena_table_open(&memory.objects, (number + 1ull) * sizeof *table.objects) &&
               arena_table_open(&memory.unused, (number + 1ull) * sizeof *table.unused) &&
               arena_table_open(&memory.shifts, (number + 2ull) * sizeof *object_shifts);
}

/* ... and for one more range in R. */
static bool has_range(const struct ranges *r)
{
        return r->count < RANGES_MAX &&
               arena_table_open(&memory.ranges[r == table.ranges[1]],
                                offsetof(struct ranges, at) + (r->count + 1ull) * sizeof r->at[0]);
}

bool object_start(void)
{
        table.objects = arena_table(&memory.objects, OBJECTS_MAX * sizeof *table.objects);
        table.unused = arena_table(&memory.unused, OBJECTS_MAX * sizeof *table.unused);
        object_shifts = arena_table(&memory.shifts, (OBJECT_NONE + 1) * sizeof *object_shifts);
        for (uint32_t i = 0; i < 2; i++) {
                table.ranges[i] = arena_table(&memory.ranges[i], sizeof(struct ranges));
                if (!table.ranges[i] ||
                    !arena_table_open(&memory.ranges[i], sizeof table.ranges[i]->count))
                        return false;
        }
        table.maps = arena_private(sizeof(struct maps));
        if (!table.objects || !table.unused || !object_shifts || !table.maps || !has_room(0) ||
            !module_start())
                return false;
        object_shifts[0] = (uint64_t)MODULE_NONE << 48;
        object_rescan(0);
        return table.scans != 0;
}

const struct object *object_get(uint32_t number)
{
        return number < table.count ? &table.objects[number] : NULL;
}

uint32_t object_module(uint32_t number)
{
        return number < table.count ? table.objects[number].module : MODULE_NONE;
}

uint32_t object_scans(void)
{
        return __atomic_load_n(&table.published, __ATOMIC_ACQUIRE);
}

static const struct ranges *object_ranges(void)
{
        return table.ranges[__atomic_load_n(&table.published, __ATOMIC_ACQUIRE) & 1];
}

void object_forked(void)
{
        const struct ranges *r = object_ranges();

        table.lock = 0;
        module_forked();
        for (uint32_t i = 0; i < r->count; i++)
                module_again(&table.objects[r->at[i].object]);
}

/* Take the lock.  Another thread's short scan is waited for; our own, interrupted, is not. */
static bool object_lock(void)
{
        uint32_t self = sys_tid(), holder = 0;

        for (uint32_t tries = 0; tries < LOCK_TRIES; tries++, holder = 0) {
                if (__atomic_compare_exchange_n(&table.lock, &holder, self, false, __ATOMIC_ACQUIRE,
                                                __ATOMIC_RELAXED))
                        return true;
                if (holder == self)
                        return false;
                sys_yield();
        }
        return false;
}

static void object_unlock(void)
{
        __atomic_store_n(&table.lock, 0, __ATOMIC_RELEASE);
}

#define NOTE_GO_BUILD_ID 4

/* The notes of O: its build id, and whether it has Go's runtime. */
static void object_take_notes(struct object *o, struct ledger_module *m, const uint8_t *note,
                              uint64_t size)
{
        while (size >= sizeof(ElfW(Nhdr))) {
                const ElfW(Nhdr) *h = (const void *)note;
                uint64_t name = (h->n_namesz + 3ull) & ~3ull, data = (h->n_descsz + 3ull) & ~3ull;

                if (sizeof *h + name + data > size)
                        return;
                if (h->n_type == NOTE_GO_BUILD_ID && h->n_namesz == 4 &&
                    memcmp(note + sizeof *h, "Go\0", 4) == 0)
                        o->is_go = true;
                if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 &&
                    memcmp(note + sizeof *h, "GNU", 4) == 0 && !m->build_id_bytes) {
                        m->build_id_bytes = h->n_descsz < sizeof m->build_id ? h->n_descsz
                                                                             : sizeof m->build_id;
                        memcpy(m->build_id, note + sizeof *h + name, m->build_id_bytes);
                }
                note += sizeof *h + name + data;
                size -= sizeof *h + name + data;
        }
}

/* Program header I of O: from its first page, else from the file (rewritten libraries). */
static bool object_header(const struct object *o, long fd, int i, ElfW(Phdr) *out)
{
        const ElfW(Ehdr) *e = (const void *)(uintptr_t)o->start;
        uint64_t at = e->e_phoff + (uint64_t)i * sizeof *out;

        if (at <= SYS_PAGE - sizeof *out) {
                memcpy(out, (const void *)(uintptr_t)(o->start + at), sizeof *out);
                return true;
        }
        return sys_read_at(fd, out, sizeof *out, at) == (long)sizeof *out;
}

/* Segment H: notes or the unwind table, believed as far as it is readable memory of O. */
static void object_take_segment(struct object *o, struct ledger_module *m, const ElfW(Phdr) *h)
{
        uint64_t at = o->bias + h->p_vaddr;
        const struct object_area *a = object_area(o, at, 4);

        if (a && h->p_type == PT_GNU_EH_FRAME)
                o->eh_hdr = (const uint8_t *)(uintptr_t)at;
        object_take_exidx(o, h->p_type, at, h->p_memsz);
        if (a && h->p_type == PT_NOTE)
                object_take_notes(o, m, (const uint8_t *)(uintptr_t)at,
                                  h->p_memsz < a->high - at ? h->p_memsz : a->high - at);
}

/* Bias, unwind table, build id and extent of O from its program headers.  False: unreadable. */
static bool object_read_elf(struct object *o, struct ledger_module *m, long fd)
{
        const ElfW(Ehdr) *e = (const void *)(uintptr_t)o->start;
        bool loaded = false;
        ElfW(Phdr) h;

        if (memcmp(e->e_ident, ELFMAG, SELFMAG) ||
            e->e_ident[EI_CLASS] != (sizeof *e == sizeof(Elf64_Ehdr) ? ELFCLASS64 : ELFCLASS32) ||
            e->e_phentsize != sizeof h || e->e_phnum > HEADERS_MAX)
                return false;
        for (int i = 0; i < e->e_phnum; i++) {
                if (!object_header(o, fd, i, &h))
                        return false;
                if (h.p_type != PT_LOAD)
                        continue;
                if (!loaded)
                        o->bias = o->start - ((h.p_vaddr - h.p_offset) & ~(SYS_PAGE - 1));
                loaded = true;
                m->end = o->bias + h.p_vaddr + h.p_memsz;
        }
        for (int i = 0; loaded && i < e->e_phnum; i++) {
                if (!object_header(o, fd, i, &h))
                        return false;
                object_take_segment(o, m, &h);
        }
        if (o->eh_hdr && !cfi_has_table(o))
                o->eh_hdr = NULL; /* the entries may still be found by their section */
        return loaded;
}

static uint64_t object_mix(uint64_t hash, const uint8_t *bytes, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++)
                hash = (hash ^ bytes[i]) * 0x100000001b3ull;
        return (hash ^ hash >> 31) | 2;
}

/* A number for the content of O: by build id, or inode and first page.  1: not ELF. */
static uint64_t object_print(const struct object *o, const struct ledger_module *m, bool elf)
{
        uint64_t file[2] = { o->dev, o->ino };

        if (!elf)
                return 1;
        if (m->build_id_bytes)
                return object_mix(m->build_id_bytes, m->build_id, m->build_id_bytes);
        return object_mix(object_mix(0, (const uint8_t *)file, sizeof file),
                          (const uint8_t *)(uintptr_t)o->start, SYS_PAGE);
}

/* Read what O is, and find the module that it is. */
static void object_identify(struct object *o)
{
        struct ledger_module found = { .end = o->end };
        long fd = o->has_header ? sys_open(module_path(o)) : -1;
        bool elf = o->has_header && object_read_elf(o, &found, fd);
        uint32_t module;

        elf = elf && o->bias <= o->code && o->end - o->bias <= ARCH_CODE_MAX;
        if (!elf)
                o->bias = 0;
        if (elf && !o->eh_hdr && fd >= 0)
                o->index = ehindex_build(fd, o);
        if (fd >= 0)
                sys_close(fd);
        found.bias = o->bias;
        found.flags = object_has_tables(o) ? 0 : LEDGER_MODULE_NO_CFI;
        module = module_settle(o, &found, object_print(o, &found, elf));
        object_shifts[o - table.objects + 1] = ((uint64_t)module << 48) -
                                               (module == MODULE_NONE ? 0 : o->bias);
}

const struct object *object_open(uint32_t number)
{
        struct object *o = number < table.count ? &table.objects[number] : NULL;

        if (!o || __atomic_load_n(&o->ready, __ATOMIC_ACQUIRE))
                return o;
        if (!object_lock())
                return NULL;
        if (!o->ready)
                object_identify(o);
        __atomic_store_n(&o->ready, 1, __ATOMIC_RELEASE);
        object_unlock();
        return o;
}

/* The object that the last scan saw where LINE is. */
static uint32_t object_before(const struct maps_line *line)
{
        const struct ranges *r = object_ranges();
        uint32_t low = 0, high = r->count;
        const struct object *o;

        while (low < high) {
                uint32_t middle = (low + high) / 2;

                if (r->at[middle].start < line->start)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == r->count || r->at[low].start != line->start)
                return OBJECT_NONE;
        o = &table.objects[r->at[low].object];
        return o->dev == line->dev && o->ino == line->ino ? r->at[low].object : OBJECT_NONE;
}

static uint32_t object_known(const struct maps_line *line, uint64_t start)
{
        uint32_t number = object_before(line);

        return number != OBJECT_NONE && table.objects[number].start == start ? number : OBJECT_NONE;
}

static uint32_t object_add(const struct maps_line *line, uint64_t start, bool has_header)
{
        uint32_t number = table.unused_count ? table.unused[table.unused_count - 1] : table.count;
        struct object *o = &table.objects[number];
        struct object fresh = { .start = start, .code = line->start, .end = line->end,
                                .dev = line->dev, .ino = line->ino, .code_offset = line->offset,
                                .has_header = has_header, .anonymous = !line->path[0],
                                .omitted = omit_path(line->path), .module = MODULE_NONE,
                                .gone = 1 };

        if (!has_room(number))
                return OBJECT_NONE;
        table.unused_count -= number != table.count;
        if (o->index)
                arena_private_free((void *)(uintptr_t)o->index, ehindex_bytes(o->index));
        fresh.load = ++table.loads;
        /* before GONE is 0: old rules are void. */
        __atomic_store_n(&o->load, fresh.load, __ATOMIC_RELEASE);
        *o = fresh;
        module_enter(o, line);
        __atomic_store_n(&o->gone, 0, __ATOMIC_RELEASE);
        if (number == table.count)
                __atomic_store_n(&table.count, number + 1, __ATOMIC_RELEASE);
        return number;
}

/* All lines of the file were seen: what can be read of it belongs to the objects that its code is.
 * Who uses one already goes on with what it had. */
static void candidate_done(const struct candidate *c, const struct ranges *out)
{
        for (uint32_t i = c->first_range; i < out->count; i++) {
                struct object *o = &table.objects[out->at[i].object];

                if (!__atomic_load_n(&o->ready, __ATOMIC_ACQUIRE))
                        memcpy(o->areas, c->areas, sizeof o->areas);
        }
}

/* More memory that can be read, next to what was there or by itself. */
static void candidate_area(struct candidate *c, const struct maps_line *line)
{
        struct object_area *a = c->areas;

        for (; a < c->areas + OBJECT_AREAS; a++) {
                if (a->high && a->high != line->start)
                        continue;
                if (!a->high)
                        a->low = line->start;
                a->high = line->end;
                return;
        }
}

static void object_take_line(const struct maps_line *line, struct ranges *out, uint32_t *lost)
{
        struct candidate *c = &table.candidate;
        bool again = line->offset == 0 && c->last_offset > 0; /* the same file again: dlmopen */
        bool same = c->known && !again && c->dev == line->dev && c->ino == line->ino && line->ino &&
                    c->last_end <= line->start, room;
        uint32_t number;
        uint64_t start;

        if (!same) {
                candidate_done(c, out);
                *c = (struct candidate){ .dev = line->dev, .ino = line->ino, .start = line->start,
                                         .first_range = out->count };
                c->known = line->offset == 0 && line->read &&
                           (line->path[0] || own_is_object(line->start));
        }
        c->last_end = line->end;
        c->last_offset = line->offset;
        if (line->read)
                candidate_area(c, line);
        if (!line->execute || bytes_after(line->path, "[vsyscall]"))
                return;
        start = c->known ? c->start : line->start;
        room = has_range(out);
        number = room ? object_known(line, start) : OBJECT_NONE;
        if (number == OBJECT_NONE && room)
                number = object_add(line, start, c->known);
        if (number == OBJECT_NONE) {
                (*lost)++;
                return;
        }
        table.objects[number].end = line->end;
        table.objects[number].hidden = !line->read;
        table.objects[number].seen = table.scans + 1;
        out->at[out->count++] = (struct range){ line->start, line->end, number };
}

static void object_drop(uint32_t number)
{
        struct object *o = &table.objects[number];

        __atomic_store_n(&o->gone, 1, __ATOMIC_RELEASE);
        module_leave(o);
        table.unused[table.unused_count++] = (uint16_t)number;
}

/* Objects of OLD, the ranges of the scan before, that this scan did not see. */
static void object_drop_unseen(const struct ranges *old)
{
        uint32_t before = table.unused_count;

        for (uint32_t i = 0; i < old->count; i++)
                if (table.objects[old->at[i].object].seen != table.scans + 1)
                        object_drop(old->at[i].object);
        if (table.unused_count != before)
                __atomic_add_fetch(&agent.generation, 1, __ATOMIC_RELEASE);
}

/* Index of the first range that ends behind ADDRESS. */
static uint32_t range_behind(const struct ranges *r, uint64_t address)
{
        uint32_t low = 0, high = r->count;

        while (low < high) {
                uint32_t middle = (low + high) / 2;

                if (address < r->at[middle].end)
                        high = middle;
                else
                        low = middle + 1;
        }
        return low;
}

/* The map could not be read to its end: forget what was entered since LOADS. */
static void object_take_back(const struct ranges *out, uint32_t loads)
{
        for (uint32_t i = 0; i < out->count; i++)
                if (table.objects[out->at[i].object].load > loads)
                        object_drop(out->at[i].object);
}

/* Code that has no place stays lost in the next scans: what is more than before is new. */
static void object_count_lost(uint32_t lost)
{
        if (lost > table.lost)
                __atomic_add_fetch(&agent.head->modules_not_kept, lost - table.lost,
                                   __ATOMIC_RELAXED);
        table.lost = lost;
}

void object_range_unmapped(uint64_t start, uint64_t end)
{
        const struct ranges *r = object_ranges();
        uint32_t i = range_behind(r, start);

        if (i < r->count && r->at[i].start < end)
                object_unmapped();
}

void object_unmapped(void)
{
        for (uint32_t i = 0; i < MISSES; i++)
                table.miss_page[i] = 0;
        object_rescan(0);
}

/* The file that the code at LINE is of, from its mappings around it. */
static void object_begin(const struct maps_line *line, struct candidate *c)
{
        uint64_t reach = 2 * line->offset + BEGIN_REACH,
                 at = line->start > reach ? line->start - reach : 0;
        struct maps_line l;

        for (uint32_t i = 0;
             i < BEGIN_NEAR && maps_find(table.maps, at, MAPS_OF_FILE | MAPS_OR_NEXT, &l);
             i++, at = l.end) {
                bool same = l.dev == line->dev && l.ino == line->ino,
                     first = same && l.offset == 0 && l.read;

                if (l.start > line->start && (!same || first))
                        return;
                if (first) {
                        *c = (struct candidate){ .dev = line->dev, .ino = line->ino,
                                                 .start = l.start, .known = true };
                        candidate_area(c, &l);
                } else if (same && l.read && c->known) {
                        candidate_area(c, &l);
                }
        }
}

/* The code at LINE, as reading all mappings would have found it. */
static void object_take(const struct maps_line *line, struct ranges *out, uint32_t *lost)
{
        struct candidate *c = &table.candidate;
        uint32_t before = object_before(line);

        *c = (struct candidate){ .dev = line->dev, .ino = line->ino };
        if (before != OBJECT_NONE) {
                const struct object *o = &table.objects[before];

                c->start = o->start;
                c->known = o->has_header;
                memcpy(c->areas, o->areas, sizeof c->areas);
        } else if (line->ino) {
                object_begin(line, c);
        }
        c->last_end = line->start;
        c->last_offset = 0;
        c->first_range = out->count;
        object_take_line(line, out, lost);
        candidate_done(c, out);
}

/* All code, into OUT. */
static void object_ask_all(struct ranges *out, uint32_t *lost)
{
        struct maps_line line = { .end = 0 };

        while (maps_find(table.maps, line.end, MAPS_EXECUTABLE | MAPS_OR_NEXT | MAPS_NAMED, &line))
                object_take(&line, out, lost);
        table.asked_ms = agent_now_ms();
}

/* Into OUT: code of the scan before that is still there, and what is at PC (0: nothing new). */
static void object_ask_known(uint64_t pc, struct ranges *out, uint32_t *lost)
{
        const struct ranges *old = object_ranges();
        struct maps_line line, met = { .start = 0 };
        bool found = pc && maps_find(table.maps, pc, MAPS_EXECUTABLE, &met);

        for (uint32_t i = 0; i <= old->count; i++) {
                uint64_t start = i < old->count ? old->at[i].start : UINT64_MAX;

                if (found && met.start < start &&
                    maps_find(table.maps, pc, MAPS_EXECUTABLE | MAPS_NAMED, &line))
                        object_take(&line, out, lost);
                found = found && met.start > start;
                if (start != UINT64_MAX &&
                    maps_find(table.maps, start, MAPS_EXECUTABLE | MAPS_NAMED, &line) &&
                    line.start == start)
                        object_take(&line, out, lost);
        }
}

/* False: the kernel cannot be asked so. */
static bool object_ask(uint64_t pc, struct ranges *out, uint32_t *lost)
{
        if (agent_now_ms() - table.asked_ms >= ASK_MS)
                object_ask_all(out, lost);
        else
                object_ask_known(pc, out, lost);
        table.cannot = table.maps->failed;
        return !table.cannot;
}

static void object_read_all(struct ranges *out, uint32_t *lost)
{
        struct maps_line line;

        out->count = *lost = 0;
        table.candidate = (struct candidate){ .known = false };
        table.maps->failed = false;
        while (maps_next(table.maps, &line))
                object_take_line(&line, out, lost);
        candidate_done(&table.candidate, out);
        table.many = table.maps->lines > LINES_MANY;
}

/* Look at the map: all of it, or, when long, at PC (0 nowhere) and at what is known. */
static bool object_rescan(uint64_t pc)
{
        const struct ranges *old;
        struct ranges *out;
        uint32_t lost = 0, loads;

        if (!object_lock())
                return false;
        loads = table.loads;
        old = object_ranges();
        out = table.ranges[(table.published + 1) & 1];
        if (maps_open(table.maps)) {
                out->count = 0;
                if (!table.many || table.cannot || !object_ask(pc, out, &lost)) {
                        object_take_back(out, loads);
                        object_read_all(out, &lost);
                }
                maps_close(table.maps);
                if (!table.maps->failed) {
                        __atomic_store_n(&table.published, table.published + 1, __ATOMIC_RELEASE);
                        object_drop_unseen(old);
                        object_count_lost(lost);
                } else {
                        object_take_back(out, loads);
                }
                table.scans++;
        }
        object_unlock();
        return true;
}

static uint32_t object_search(uint64_t pc)
{
        const struct ranges *r;
        uint32_t published, i, found;

        do {
                published = __atomic_load_n(&table.published, __ATOMIC_ACQUIRE);
                r = table.ranges[published & 1];
                i = range_behind(r, pc);
                found = i < r->count && pc >= r->at[i].start ? r->at[i].object : OBJECT_NONE;
        } while (__atomic_load_n(&table.published, __ATOMIC_ACQUIRE) - published > 1);
        return found;
}

/* Tables that lie lead to pages without code: at most MISSES are looked for in MISS_MS. */
static bool object_vain(uint32_t now)
{
        if (now - table.vain_ms >= MISS_MS) {
                table.vain_ms = now;
                table.vain = 0;
        }
        return table.vain >= MISSES;
}

/* At most ten times a second: garbage on a stack must not cost a scan each time. */
uint32_t object_find(uint64_t pc)
{
        uint32_t found = object_search(pc), now, i;
        uint64_t page = pc / SYS_PAGE;
        bool scanned;

        if (likely(found != OBJECT_NONE) || pc < SYS_PAGE || pc > ARCH_CODE_MAX)
                return found;
        i = (uint32_t)page % MISSES;
        now = agent_now_ms();
        if ((table.miss_page[i] == page && now - table.miss_ms[i] < MISS_MS) || object_vain(now))
                return OBJECT_NONE;
        scanned = object_rescan(pc);
        found = object_search(pc);
        if (found == OBJECT_NONE && scanned) {
                table.miss_page[i] = page;
                table.miss_ms[i] = now;
                table.vain++;
        }
        return found;
}

bool object_bounds(uint64_t address, uint64_t *low, uint64_t *high)
{
        struct maps_line line;
        bool found = false;

        if (!object_lock())
                return false;
        if (maps_open(table.maps)) {
                while (!found && maps_next(table.maps, &line))
                        found = address >= line.start && address < line.end;
                maps_close(table.maps);
        }
        if (found) {
                *low = line.start;
                *high = line.end;
        }
        object_unlock();
        return found;
}
