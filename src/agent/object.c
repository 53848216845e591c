/* SPDX-License-Identifier: MIT */
/*
 * object.c -- what code is mapped where, read from /proc/self/maps.
 *
 * Room:   inside; any context.
 * Keeps:  one scan at a time.  The table of code ranges is
 *         written beside the old one and published by one store; a reader that meanwhile saw two publications
 *         looks again.  Scans are rare: at the start, when code is met that no object holds, after dlclose.
 */
#include "agent/object.h"

#include <elf.h>

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/cfi.h"
#include "agent/journal.h"
#include "agent/ehindex.h"
#include "agent/maps.h"
#include "agent/omit.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define OBJECTS_MAX 32767u
#define RANGES_MAX 8192u
#define MISSES 16u
#define MISS_MS 100u
#define LOCK_TRIES 10000u
#define HEADERS_MAX 1170u /* of an executable; the kernel takes no more */

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
        uint64_t dev, ino, start, last_end;
        uint32_t first_range; /* of its code */
        bool known;
        struct object_area areas[OBJECT_AREAS];
};

static struct {
        struct object *objects;
        uint32_t count, scans, lock, published;
        struct ranges *ranges[2];
        struct maps *maps;
        struct candidate candidate;
        uint64_t miss_page[MISSES];
        uint32_t miss_ms[MISSES];
        uint32_t vain_ms, vain; /* scans that found nothing, since when */
} table;

static bool object_rescan(void);

bool object_start(void)
{
        table.objects = arena_private(OBJECTS_MAX * sizeof *table.objects);
        table.ranges[0] = arena_private(sizeof(struct ranges));
        table.ranges[1] = arena_private(sizeof(struct ranges));
        table.maps = arena_private(sizeof(struct maps));
        if (!table.objects || !table.ranges[0] || !table.ranges[1] || !table.maps)
                return false;
        object_rescan();
        return table.scans != 0;
}

const struct object *object_get(uint32_t number)
{
        return number < table.count ? &table.objects[number] : NULL;
}

uint32_t object_scans(void)
{
        return __atomic_load_n(&table.published, __ATOMIC_ACQUIRE);
}

void object_forked(void)
{
        table.lock = 0;
}

static void object_build_id(struct ledger_module *m, const uint8_t *note, uint64_t size)
{
        while (size >= sizeof(Elf64_Nhdr)) {
                const Elf64_Nhdr *h = (const void *)note;
                uint64_t name = (h->n_namesz + 3ull) & ~3ull, data = (h->n_descsz + 3ull) & ~3ull;

                if (sizeof *h + name + data > size)
                        return;
                if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4) {
                        m->build_id_bytes = h->n_descsz < sizeof m->build_id ? h->n_descsz : sizeof m->build_id;
                        memcpy(m->build_id, note + sizeof *h + name, m->build_id_bytes);
                        return;
                }
                note += sizeof *h + name + data;
                size -= sizeof *h + name + data;
        }
}

/* Program header I of O: from memory when it lies in the first page, else from the file (rewritten libraries have them at its end). */
static bool object_header(const struct object *o, long fd, int i, Elf64_Phdr *out)
{
        const Elf64_Ehdr *e = (const void *)o->start;
        uint64_t at = e->e_phoff + (uint64_t)i * sizeof *out;

        if (at <= SYS_PAGE - sizeof *out) {
                memcpy(out, (const void *)(o->start + at), sizeof *out);
                return true;
        }
        return sys_call6(SYS_pread64, fd, (long)out, sizeof *out, (long)at, 0, 0) == (long)sizeof *out;
}

/* The segment H holds notes or the table of unwind entries.  What it says is believed as far as it is readable memory of O. */
static void object_take_segment(struct object *o, struct ledger_module *m, const Elf64_Phdr *h)
{
        uint64_t at = o->bias + h->p_vaddr;
        const struct object_area *a = object_area(o, at, 4);

        if (a && h->p_type == PT_GNU_EH_FRAME)
                o->eh_hdr = (const uint8_t *)at;
        if (a && h->p_type == PT_NOTE && !m->build_id_bytes)
                object_build_id(m, (const uint8_t *)at, h->p_memsz < a->high - at ? h->p_memsz : a->high - at);
}

/* Bias, unwind table, build id and extent of O from its program headers.  False: they are not those of an object we can read. */
static bool object_read_elf(struct object *o, struct ledger_module *m, long fd)
{
        const Elf64_Ehdr *e = (const void *)o->start;
        bool loaded = false;
        Elf64_Phdr h;

        if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phentsize != sizeof h ||
            e->e_phnum > HEADERS_MAX)
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

const struct object *object_open(uint32_t number)
{
        struct object *o = number < table.count ? &table.objects[number] : NULL;
        struct ledger_module *m = (struct ledger_module *)arena_at(LEDGER_MODULES) + number;

        const char *path;
        long fd;

        if (!o || __atomic_load_n(&o->ready, __ATOMIC_ACQUIRE))
                return o;
        path = (const char *)arena_at(LEDGER_STRINGS) + m->path;
        fd = o->has_header ? sys_open(path) : -1;
        if (o->has_header && object_read_elf(o, m, fd) && !o->eh_hdr && fd >= 0)
                o->index = ehindex_build(fd, o);
        if (fd >= 0)
                sys_close(fd);
        m->bias = o->bias;
        if (!object_has_tables(o))
                m->flags |= LEDGER_MODULE_NO_CFI;
        __atomic_store_n(&o->ready, 1, __ATOMIC_RELEASE); /* two threads at once find the same */
        return o;
}

static uint32_t object_known(const struct maps_line *line, uint64_t start)
{
        for (uint32_t i = 0; i < table.count; i++) {
                struct object *o = &table.objects[i];

                if (!o->gone && o->start == start && o->code == line->start && o->dev == line->dev && o->ino == line->ino)
                        return i;
        }
        return OBJECT_NONE;
}

static uint32_t object_add(const struct maps_line *line, uint64_t start, bool has_header)
{
        uint32_t number = table.count;
        struct object *o = &table.objects[number];
        struct ledger_module *m;

        if (number >= OBJECTS_MAX - 1 || !arena_commit(LEDGER_MODULES, (number + 1ull) * sizeof *m))
                return OBJECT_NONE;
        m = (struct ledger_module *)arena_at(LEDGER_MODULES) + number;
        *o = (struct object){ .start = start, .code = line->start, .end = line->end, .dev = line->dev, .ino = line->ino };
        m->end = line->end;
        o->has_header = has_header;
        o->omitted = omit_path(line->path);
        m->start = start;
        m->path = arena_string(line->path);
        m->load_ms = agent_now_ms();
        m->dev = o->dev;
        m->ino = o->ino;
        m->code_start = line->start;
        m->code_end = line->end;
        m->code_offset = line->offset;
        m->flags = line->path[0] ? 0 : LEDGER_MODULE_ANONYMOUS;
        table.count = number + 1;
        __atomic_store_n(&agent.head->module_count, table.count, __ATOMIC_RELEASE);
        journal_put(NULL, LEDGER_EVENT_MODULE, 0, 0, number, 0);
        return number;
}

/* All lines of the file were seen: what can be read of it belongs to the objects that its code is.  Who uses one already goes on with
 * what it had. */
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

static void object_take_line(const struct maps_line *line, struct ranges *out)
{
        struct candidate *c = &table.candidate;
        bool same = c->known && c->dev == line->dev && c->ino == line->ino && line->ino && c->last_end <= line->start;
        uint32_t number;
        uint64_t start;

        if (!same) {
                candidate_done(c, out);
                *c = (struct candidate){ .dev = line->dev, .ino = line->ino, .start = line->start, .first_range = out->count,
                                         .known = line->offset == 0 && line->read && line->path[0] };
        }
        c->last_end = line->end;
        if (line->read)
                candidate_area(c, line);
        if (!line->execute || out->count == RANGES_MAX || bytes_after(line->path, "[vsyscall]"))
                return;
        start = c->known ? c->start : line->start;
        number = object_known(line, start);
        if (number == OBJECT_NONE)
                number = object_add(line, start, c->known);
        if (number == OBJECT_NONE)
                return;
        table.objects[number].end = line->end;
        table.objects[number].hidden = !line->read;
        table.objects[number].seen = table.scans + 1;
        out->at[out->count++] = (struct range){ line->start, line->end, number };
}

static void object_drop_unseen(void)
{
        uint32_t dropped = 0;

        for (uint32_t i = 0; i < table.count; i++) {
                struct object *o = &table.objects[i];

                if (o->gone || o->seen == table.scans + 1)
                        continue;
                o->gone = 1;
                ((struct ledger_module *)arena_at(LEDGER_MODULES))[i].gone_ms = agent_now_ms() | 1;
                dropped++;
        }
        if (dropped)
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

void object_range_unmapped(uint64_t start, uint64_t end)
{
        const struct ranges *r = table.ranges[__atomic_load_n(&table.published, __ATOMIC_ACQUIRE) & 1];
        uint32_t i = range_behind(r, start);

        if (i < r->count && r->at[i].start < end)
                object_unmapped();
}

void object_unmapped(void)
{
        for (uint32_t i = 0; i < MISSES; i++)
                table.miss_page[i] = 0;
        object_rescan();
}

/* Take the lock.  Another thread's scan is waited for (it is short); our own, interrupted by a signal, is not. */
static bool object_lock(void)
{
        uint32_t self = sys_tid(), holder = 0;

        for (uint32_t tries = 0; tries < LOCK_TRIES; tries++, holder = 0) {
                if (__atomic_compare_exchange_n(&table.lock, &holder, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                        return true;
                if (holder == self)
                        return false;
                sys_yield();
        }
        return false;
}

static bool object_rescan(void)
{
        struct maps_line line;
        struct ranges *out;

        if (!object_lock())
                return false;
        out = table.ranges[(table.published + 1) & 1];
        if (maps_open(table.maps)) {
                out->count = 0;
                table.candidate = (struct candidate){ .known = false };
                while (maps_next(table.maps, &line))
                        object_take_line(&line, out);
                candidate_done(&table.candidate, out);
                maps_close(table.maps);
                if (!table.maps->failed) {
                        __atomic_store_n(&table.published, table.published + 1, __ATOMIC_RELEASE);
                        object_drop_unseen();
                        table.scans++;
                }
        }
        __atomic_store_n(&table.lock, 0, __ATOMIC_RELEASE);
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

/* Tables that lie lead to pages without code all over the place: not more than MISSES are looked for in MISS_MS. */
static bool object_vain(uint32_t now)
{
        if (now - table.vain_ms >= MISS_MS) {
                table.vain_ms = now;
                table.vain = 0;
        }
        return table.vain >= MISSES;
}

/* A page without code is looked for at most ten times a second: garbage on a stack must not cost a scan each time. */
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
        scanned = object_rescan();
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
        __atomic_store_n(&table.lock, 0, __ATOMIC_RELEASE);
        return found;
}
