/* SPDX-License-Identifier: MIT */
/*
 * keepers.c -- which allocator keeps a mapping of the process, also when it has no block left.
 *
 * glibc is known by what it writes: the memory of its arenas for threads comes in heaps at
 * multiples of 64 MiB, each of which begins with struct heap_info; a block that has a mapping of
 * its own begins with its size.  Any other allocator keeps what is anonymous and has, or had, a
 * block of the ledger in it.
 */
#include "collect/keepers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator/glibc.h"
#include "attach/elf.h"
#include "attach/memory.h"
#include "attach/procfs.h"
#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "base/page.h"

#define KEEPERS_ENTRIES 512u /* of the shadow, read at once */
#define KEEPERS_KNOWN 16u /* files that are remembered */
#define KEEPERS_GUARD (1u << 20) /* a guard below a stack is smaller */

struct chunk {
        uint64_t base, offset; /* in the address space, in the shadow */
};

struct arena_search {
        const struct keepers *k;
        struct keepers_process of;
        struct memory memory;
        const struct profile_mapping *mappings;
        struct chunk *chunks; /* sorted */
        uint32_t chunk_count;
        uint32_t looks; /* that may still be taken */
};

/* ---- who serves ---- */

static const struct {
        const char *name;
        uint32_t keeper;
} others[] = {
        { "jemalloc", PROFILE_KEEPER_JEMALLOC },
        { "tcmalloc", PROFILE_KEEPER_TCMALLOC },
        { "mimalloc", PROFILE_KEEPER_MIMALLOC },
};

/* By a NAME that has the allocator's in it: of a file, or of the mapping itself
 * ("[anon:tcmalloc_region]"). */
static uint32_t named(const char *name)
{
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                if (strstr(name, others[i].name))
                        return others[i].keeper;
        return PROFILE_KEEPER_NONE;
}

/* What is known of a file; of a session's processes nearly all have malloc from the same one. */
struct known {
        struct stat file;
        const char *allocator;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whose malloc the open file FD has, as elf_look() tells. */
static const char *allocator_in(int fd)
{
        static struct known known[KEEPERS_KNOWN];
        static uint32_t next;
        struct known one = { 0 };
        struct elf_facts facts;

        if (fstat(fd, &one.file) < 0)
                return NULL;
        for (uint32_t i = 0; i < KEEPERS_KNOWN; i++)
                if (known[i].file.st_ino && is_same(&known[i].file, &one.file))
                        return known[i].allocator;
        if (elf_look(fd, &facts))
                one.allocator = facts.allocator;
        known[next++ % KEEPERS_KNOWN] = one;
        return one.allocator;
}

static const char *allocator_of(uint32_t pid, const char *path)
{
        const char *allocator = NULL;
        char seen[4200];
        int fd = -1;

        if (snprintf(seen, sizeof seen, "/proc/%u/root%s", (unsigned)procfs_living((pid_t)pid),
                     path) < (int)sizeof seen)
                fd = open(seen, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0) {
                allocator = allocator_in(fd);
                close(fd);
        }
        return allocator;
}

/* PATH: the file with malloc in it.  Its name is the allocator's mostly; one that is linked into
 * the program shows by its symbols. */
static void identify(struct keepers *k, uint32_t pid, const char *path)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        const char *allocator;

        k->serving = named(name);
        if (k->serving)
                return;
        allocator = allocator_of(pid, path);
        k->serving = allocator ? named(allocator) : PROFILE_KEEPER_NONE;
        k->glibc = allocator ? strcmp(allocator, "glibc") == 0 : strncmp(name, "libc.so.6", 9) == 0;
        if (!k->serving)
                k->serving = k->glibc || strncmp(name, "ld-musl", 7) == 0 ||
                                             strncmp(name, "libc", 4) == 0
                                     ? PROFILE_KEEPER_MALLOC
                                     : PROFILE_KEEPER_OTHER;
}

/* Without a word of the agent about malloc it is taken for glibc's, whose memory can be told. */
static void find_serving(struct keepers *k, struct keepers_process of,
                         struct profile_mapping *mappings, uint32_t count)
{
        uint64_t at = of.view ? of.view->head.allocator : 0;

        if (at != k->malloc_at || !k->serving)
                *k = (struct keepers){ .malloc_at = at, .readable = k->readable };
        if (!at)
                *k = (struct keepers){ .serving = PROFILE_KEEPER_MALLOC, .glibc = true,
                                       .readable = k->readable };
        for (uint32_t i = 0; i < count; i++)
                if (at >= mappings[i].start && at < mappings[i].end) {
                        mappings[i].flags |= PROFILE_MAPPING_SERVES;
                        if (!k->serving)
                                identify(k, of.pid, mappings[i].name);
                }
}

/* ---- what glibc writes ---- */

/* Places without a heap: a mapping of terabytes must not use up all looks. */
#define KEEPERS_MISSES 4u

/* Whether most of M is heaps: neighbours that are full are one mapping. */
static bool is_arena(struct arena_search *s, const struct profile_mapping *m)
{
        uint64_t at = (m->start + GLIBC_HEAP - 1) / GLIBC_HEAP * GLIBC_HEAP, covered = 0;
        uint32_t misses = 0;

        for (; at >= m->start && at < m->end && s->looks && misses < KEEPERS_MISSES;
             at += GLIBC_HEAP) {
                struct glibc_heap_info h;

                s->looks--;
                if (memory_read(&s->memory, at, &h, sizeof h) == sizeof h &&
                    glibc_is_heap_info(&h, at, GLIBC_HEAP, sizeof(uint64_t)))
                        covered += h.writable < m->end - at ? h.writable : m->end - at;
                else
                        misses++;
        }
        return covered > (m->end - m->start) / 2;
}

/* Whether most of M is blocks with a mapping of their own.  Such a chunk begins with what is unused
 * before it and its size, with the bit for IS_MMAPPED alone. */
static bool is_chunks(struct arena_search *s, const struct profile_mapping *m)
{
        uint64_t at = m->start, head[2];

        while (at < m->end && s->looks) {
                s->looks--;
                if (memory_read(&s->memory, at, head, sizeof head) != sizeof head ||
                    head[1] % page_bytes() != 2 || head[1] < page_bytes() ||
                    head[1] - 2 > m->end - at)
                        break;
                at += head[1] - 2;
        }
        return at - m->start > (m->end - m->start) / 2;
}

/* ---- what the ledger knows ---- */

ORDER_BY(by_base, struct chunk, base)

static void find_chunks(struct arena_search *s)
{
        uint32_t count = s->of.view ? s->of.view->head.shadow_chunk_count : 0;
        struct ledger_chunk *all =
                count ? view_table(s->of.view, LEDGER_CHUNKS, &count, sizeof *all) : NULL;

        s->chunks = heap_zero(count, sizeof *s->chunks);
        for (uint32_t i = 0; i < count; i++)
                if (all[i].ready && all[i].plane < LEDGER_PLANE_POOL)
                        s->chunks[s->chunk_count++] =
                                (struct chunk){ all[i].base,
                                                i * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES };
        if (s->chunk_count)
                qsort(s->chunks, s->chunk_count, sizeof *s->chunks, by_base);
        free(all);
}

/* Whether the shadow has an entry in [AT, END). */
static bool has_entry(struct arena_search *s, uint64_t at, uint64_t end)
{
        struct ledger_block part[KEEPERS_ENTRIES];

        while (s->looks && (at = view_next(s->of.view, LEDGER_SHADOW, at, end)) < end) {
                uint64_t count = (end - at) / sizeof *part < KEEPERS_ENTRIES
                                         ? (end - at) / sizeof *part
                                         : KEEPERS_ENTRIES;

                s->looks--;
                view_read(s->of.view, LEDGER_SHADOW, at, part, count * sizeof *part);
                for (uint64_t i = 0; i < count; i++)
                        if (part[i].b)
                                return true;
                at += count ? count * sizeof *part : sizeof *part;
        }
        return false;
}

static bool had_blocks(struct arena_search *s, const struct profile_mapping *m)
{
        const uint64_t scale = LEDGER_SHADOW_GRANULE / sizeof(struct ledger_block);
        uint32_t low = (uint32_t)FIND_FIRST(s->chunk_count, i,
                                            s->chunks[i].base + LEDGER_SHADOW_SPAN <= m->start);

        for (; low < s->chunk_count && s->chunks[low].base < m->end; low++) {
                const struct chunk *c = &s->chunks[low];
                uint64_t from = c->base < m->start ? m->start - c->base : 0;
                uint64_t to = m->end - c->base < LEDGER_SHADOW_SPAN ? m->end - c->base
                                                                    : LEDGER_SHADOW_SPAN;

                if (has_entry(s, c->offset + from / scale, c->offset + to / scale))
                        return true;
        }
        return false;
}

/* ---- all of it ---- */

/* A stack may lie where an allocator had memory before. */
static bool has_guard(const struct arena_search *s, uint32_t i)
{
        const struct profile_mapping *below = i ? &s->mappings[i - 1] : NULL;

        return below && below->end == s->mappings[i].start &&
               !(below->flags & PROFILE_MAPPING_READ) && below->end - below->start < KEEPERS_GUARD;
}

static uint32_t keeper_of(struct arena_search *s, uint32_t i)
{
        const struct profile_mapping *m = &s->mappings[i];
        const uint32_t rights = PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE;
        bool heap = strcmp(m->name, "[heap]") == 0;

        if (!m->rss_bytes || (m->flags & (rights | PROFILE_MAPPING_SHARED)) != rights)
                return PROFILE_KEEPER_NONE;
        if (strncmp(m->name, "[anon", 5) == 0) {
                bool glibc = strstr(m->name, "glibc: malloc") != NULL;

                return !glibc                     ? named(m->name)
                       : strstr(m->name, "arena") ? PROFILE_KEEPER_ARENA
                                                  : PROFILE_KEEPER_CHUNK;
        }
        if (m->name[0] && !heap)
                return PROFILE_KEEPER_NONE;
        if (s->k->glibc && heap)
                return PROFILE_KEEPER_HEAP;
        if (s->k->glibc && !m->watched) {
                if (is_arena(s, m))
                        return PROFILE_KEEPER_ARENA;
                if (is_chunks(s, m))
                        return PROFILE_KEEPER_CHUNK;
        }
        return !has_guard(s, i) && had_blocks(s, m) ? s->k->serving : PROFILE_KEEPER_NONE;
}

/* Whether the process still has its memory, as far as we may read it. */
static bool is_there(const struct arena_search *s, uint32_t count)
{
        char byte;

        for (uint32_t i = 0; i < count; i++)
                if (s->mappings[i].rss_bytes && (s->mappings[i].flags & PROFILE_MAPPING_READ) &&
                    memory_read(&s->memory, s->mappings[i].start, &byte, sizeof byte) ==
                            sizeof byte)
                        return true;
        return false;
}

bool keepers_find(struct keepers *k, struct keepers_process of, struct profile_mapping *mappings,
                  uint32_t count)
{
        struct arena_search s = { .k = k, .of = of, .mappings = mappings, .looks = KEEPERS_LOOKS };
        bool there;

        find_serving(k, of, mappings, count);
        memory_open(&s.memory, (pid_t)of.pid, (pid_t)of.pid);
        find_chunks(&s);
        for (uint32_t i = 0; i < count; i++)
                mappings[i].flags |= PROFILE_MAPPING_KEPT(keeper_of(&s, i));
        there = is_there(&s, count);
        k->readable |= there;
        free(s.chunks);
        memory_close(&s.memory);
        return there || !k->readable;
}
