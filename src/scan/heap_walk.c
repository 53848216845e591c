/* SPDX-License-Identifier: MIT */
#include "scan/heap_walk.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator/glibc.h"
#include "allocator/jemalloc.h"
#include "allocator/mimalloc.h"
#include "allocator/musl.h"
#include "allocator/tcmalloc.h"
#include "attach/elf.h"
#include "attach/mappings.h"
#include "base/heap.h"
#include "scan/tls.h"

/* ---- memory ---- */

static size_t read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
        return freeze_read(context, address, to, bytes);
}

static uint64_t next_used(void *context, uint64_t address, uint64_t end)
{
        return freeze_next_used(context, address, end);
}

static bool expect(void *context, const struct search_range *ranges, uint32_t count)
{
        const struct freeze *f = context;
        struct freeze_range *all = heap_zero(count, sizeof *all);
        bool good;

        for (uint32_t i = 0; i < count; i++)
                all[i] = (struct freeze_range){ ranges[i].start, ranges[i].end };
        good = f->far->expect(f->far->context, all, count);
        free(all);
        return good;
}

static size_t read_pointers(void *context, uint64_t address, void *to, size_t bytes)
{
        const struct freeze *f = context;

        return f->far->pointers(f->far->context, address, to, bytes);
}

struct search_memory heap_walk_memory(const struct freeze *f)
{
        return (struct search_memory){ .context = (void *)(uintptr_t)f,
                                       .read = read_memory,
                                       .next = next_used,
                                       .turned = f->turned,
                                       .narrow = f->narrow,
                                       .expect = f->far ? expect : NULL,
                                       .pointers = f->far ? read_pointers : NULL };
}

/* ---- whose malloc ---- */

static const char *file_name(const struct profile_module *m)
{
        const char *slash = strrchr(m->path, '/');

        return slash ? slash + 1 : m->path;
}

static bool is_libc(const struct profile *p, const struct profile_module *m)
{
        const char *name = file_name(m);

        return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
               strncmp(name, "libc_malloc_debug", 17) == 0 || strcmp(name, "libc.so") == 0 ||
               strncmp(name, "ld-musl", 7) == 0 || strcmp(m->path, p->meta.exe) == 0;
}

/* Who finds blocks of its own kind, in the order in which they are asked: a program with another
 * allocator has the C library's, too. */
static const struct {
        const char *file; /* in the name of its library; NULL: is_libc() tells */
        void (*find)(struct walk_blocks *b, const struct walk_input *in);
} walks[] = {
        { "mimalloc", mimalloc_find }, { "tcmalloc", tcmalloc_find }, { "jemalloc", jemalloc_find },
        { NULL, glibc_find },          { NULL, musl_find },
};

static bool may_have_malloc(const struct profile *p, const struct profile_module *m)
{
        for (size_t i = 0; i < sizeof walks / sizeof *walks; i++)
                if (walks[i].file && strstr(file_name(m), walks[i].file))
                        return true;
        return is_libc(p, m);
}

/* A library for debugging puts words of its own around each block. */
static bool is_for_debugging(const struct profile *p, const char *file)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (file && strstr(file_name(&p->modules[i]), file) &&
                    strstr(file_name(&p->modules[i]), "debug"))
                        return true;
        return false;
}

/* Whose malloc the program at PATH has, as far as its file tells; NULL unknown. */
static const char *file_allocator(const struct freeze *f, const char *path)
{
        struct elf_facts facts = { 0 };
        char seen[4200];
        int fd = -1;

        if (snprintf(seen, sizeof seen, "%s%s", f->root, path) < (int)sizeof seen)
                fd = open(seen, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return NULL;
        if (!elf_look(fd, &facts))
                facts.allocator = NULL;
        close(fd);
        return facts.sanitizer ? facts.sanitizer : facts.allocator;
}

/* The module with an allocator that has a name and is not glibc's; PROFILE_NO_MODULE. */
static uint32_t find_other(const struct freeze *f, const struct profile *p, const char **name)
{
        static const char *const files[] = { "jemalloc", "tcmalloc", "mimalloc", "snmalloc",
                                             "hoard",    "scudo",    "rpmalloc" };

        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *slash = strrchr(p->modules[i].path, '/');

                for (size_t k = 0; k < sizeof files / sizeof *files; k++)
                        if (slash && strstr(slash, files[k])) {
                                *name = files[k];
                                return i;
                        }
                *name = strcmp(p->modules[i].path, p->meta.exe) == 0
                                ? file_allocator(f, p->modules[i].path)
                                : NULL;
                if (*name && strcmp(*name, "glibc") != 0)
                        return i;
        }
        return PROFILE_NO_MODULE;
}

static bool has_libc(const struct profile *p)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (strcmp(p->modules[i].path, p->meta.exe) != 0 && is_libc(p, &p->modules[i]))
                        return true;
        return false;
}

/* ---- blocks ---- */

struct look {
        const struct freeze *f;
        const struct profile *p;
        struct mappings maps;
        struct tls tls;
        struct search_range *data, *tls_ranges;
        uint32_t data_count, tls_count;
        bool tls_unknown;
};

static void add_range(struct search_range **list, uint32_t *count, uint64_t start, uint64_t end)
{
        *list = heap_grow(*list, *count + 1, sizeof **list);
        (*list)[(*count)++] = (struct search_range){ start, end };
}

/* Thread-local storage of who may have malloc in the thread at TP. */
static void add_tls(struct look *l, uint64_t tp)
{
        struct tls_block *blocks;
        uint32_t count = tls_blocks(&l->tls, tp, &blocks);

        for (uint32_t i = 0; i < count; i++)
                if (blocks[i].module < l->p->module_count &&
                    may_have_malloc(l->p, &l->p->modules[blocks[i].module]))
                        add_range(&l->tls_ranges, &l->tls_count, blocks[i].start, blocks[i].end);
        free(blocks);
}

static void look_open(struct look *l)
{
        mappings_parse(&l->maps, l->f->maps);
        tls_open(&l->tls, l->f, l->p);
        for (uint32_t i = 0; i < l->p->module_count; i++) {
                struct tls_module m;

                if (may_have_malloc(l->p, &l->p->modules[i]) && tls_module(&l->tls, i, &m))
                        for (uint32_t k = 0; k < m.data_count; k++)
                                add_range(&l->data, &l->data_count, (m.data[k].start + 7) & ~7ull,
                                          m.data[k].end);
        }
        for (uint32_t i = 0; i < l->f->thread_count; i++)
                if (l->f->threads[i].tp)
                        add_tls(l, l->f->threads[i].tp);
                else
                        l->tls_unknown = true;
}

/* What malloc() aligns to: two words; those of powerpc and i386 do more. */
static uint32_t alignment_of(const struct freeze *f)
{
        return freeze_kind(f)->machine == EM_ARM ? 8 : 16;
}

static void look_close(struct look *l)
{
        free(l->data);
        free(l->tls_ranges);
        tls_close(&l->tls);
        mappings_free(&l->maps);
}

/* Whether its first and last page are there. */
static bool is_readable(const struct freeze *f, const struct search_range *r)
{
        uint8_t byte;

        return freeze_read(f, r->start, &byte, 1) == 1 && freeze_read(f, r->end - 1, &byte, 1) == 1;
}

/* No arena was found. */
static bool refuse(const struct look *l, struct err *e)
{
        const struct profile *p = l->p;
        const char *name = NULL;
        uint32_t other = find_other(l->f, p, &name);

        if (other != PROFILE_NO_MODULE)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "its memory comes from %s (%s), whose blocks cannot be listed from "
                               "outside; only those of malloc of glibc and musl, of jemalloc 5.3, "
                               "mimalloc 2.0 and gperftools' tcmalloc can, in their usual builds. "
                               "Start it with 'seep record', which sees every allocation",
                               name, p->modules[other].path);
        if (!has_libc(p))
                return err_set(
                        e, ERR_EXIT_CANNOT_TRACE,
                        "there is no malloc of glibc, musl, jemalloc 5.3, mimalloc 2.0 or "
                        "gperftools in %s: it is linked with another C library, or has an "
                        "allocator of its own, whose blocks cannot be listed from outside",
                        p->meta.exe);
        for (uint32_t i = 0; i < l->data_count; i++)
                if (!is_readable(l->f, &l->data[i]))
                        return err_set(
                                e, ERR_EXIT_CANNOT_TRACE,
                                "the data of the C library cannot be read: the blocks of malloc "
                                "cannot be found without it");
        return true; /* malloc was never called */
}

bool heap_walk(struct walk_blocks *w, const struct freeze *f, const struct profile *p,
               struct err *e)
{
        struct look l = { .f = f, .p = p };
        struct walk_cache *cache = heap_zero(1, sizeof *cache);
        bool good;

        *w = (struct walk_blocks){ 0 };
        look_open(&l);
        for (size_t i = 0; i < sizeof walks / sizeof *walks && !w->malloc_at; i++) {
                if (is_for_debugging(p, walks[i].file))
                        continue;
                walk_blocks_free(w);
                walks[i].find(w, &(struct walk_input){ .memory = heap_walk_memory(f),
                                                       .cache = cache,
                                                       .maps = &l.maps,
                                                       .data = l.data,
                                                       .data_count = l.data_count,
                                                       .tls = l.tls_ranges,
                                                       .tls_count = l.tls_count,
                                                       .tls_unknown = l.tls_unknown,
                                                       .alignment = alignment_of(f) });
        }
        good = w->malloc_at || refuse(&l, e);
        look_close(&l);
        free(cache);
        return good;
}
