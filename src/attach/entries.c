/* SPDX-License-Identifier: MIT */
#include "attach/entries.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "attach/recognize.h"
#include "base/heap.h"
#include "base/io.h"

#define ENTRIES_OBJECTS 4096u
#define ENTRIES_SYMBOLS (4u << 20)
#define ENTRIES_STRINGS (64u << 20)
#define ENTRIES_DYNAMIC 512u
#define ENTRIES_HEADERS 1170u
#define BESIDE "__libc_mallopt"
#define ENTRIES_OLD 0x8000u /* in a version: kept for old programs */

/* The symbols of one object. */
struct object {
        uint64_t bias;
        const Elf64_Sym *symbols;
        const uint16_t *versions; /* NULL none */
        const char *strings;      /* end with a 0 */
        bool local;               /* take names that are local, as of a static program that moves */
        size_t symbol_count, string_bytes;
};

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct entries_name *)a)->name,
                      ((const struct entries_name *)b)->name);
}

static struct entries_name *find(const struct entries *e, const char *name)
{
        struct entries_name key = { .name = name };

        return bsearch(&key, e->names, e->count, sizeof key, by_name);
}

const struct entries_name *entries_get(const struct entries *e, const char *name)
{
        return find(e, name);
}

static bool has_malloc(const struct entries *e)
{
        const struct entries_name *n = entries_get(e, "malloc");

        return n && n->address;
}

void entries_free(struct entries *e)
{
        free(e->plain);
        e->plain = NULL;
}

/* ---- symbols ---- */

static bool is_wanted(const struct entries_name *n, const Elf64_Sym *s)
{
        unsigned type = ELF64_ST_TYPE(s->st_info);

        return n && (n->data ? type == STT_OBJECT : type == STT_FUNC);
}

static bool is_plain_sign(const char *name)
{
        return strcmp(name, "__cxa_throw") == 0 || strcmp(name, "_ZSt17__throw_bad_allocv") == 0 ||
               strcmp(name, "malloc") == 0;
}

/* Whether a symbol can be what the name leads to. */
static bool is_candidate(const struct object *o, size_t i)
{
        const Elf64_Sym *s = &o->symbols[i];

        return s->st_shndx != SHN_UNDEF && s->st_name < o->string_bytes &&
               (ELF64_ST_BIND(s->st_info) == STB_LOCAL) == o->local &&
               !(o->versions && o->versions[i] & ENTRIES_OLD);
}

/* The functions of object NUMBER; those that are found first count.  Two local ones of one name
 * tell nothing. */
static void take_symbols(struct entries *e, const struct object *o, uint32_t number)
{
        for (size_t i = 1; i < o->symbol_count; i++) {
                const Elf64_Sym *s = &o->symbols[i];
                struct entries_name *n;
                const char *name;

                if (!is_candidate(o, i))
                        continue;
                name = o->strings + s->st_name;
                e->plain[number] = e->plain[number] || is_plain_sign(name);
                if (strcmp(name, BESIDE) == 0)
                        e->beside = o->bias + s->st_value;
                n = find(e, name);
                if (!is_wanted(n, s))
                        continue;
                if (n->object == ENTRIES_NOWHERE) {
                        n->address = o->bias + s->st_value;
                        n->size = s->st_size;
                        n->object = number;
                } else if (o->local && n->address != o->bias + s->st_value) {
                        n->address = 0;
                }
        }
}

/* How far it is from what was found in object NUMBER to the next symbol. */
static void measure_rooms(struct entries *e, const struct object *o, uint32_t number)
{
        for (uint32_t k = 0; k < e->count; k++) {
                struct entries_name *n = &e->names[k];
                uint64_t nearest = UINT64_MAX;

                if (n->object != number || n->data)
                        continue;
                for (size_t i = 1; i < o->symbol_count; i++) {
                        uint64_t at = o->bias + o->symbols[i].st_value;

                        if (o->symbols[i].st_shndx != SHN_UNDEF && at > n->address &&
                            at < nearest && ELF64_ST_TYPE(o->symbols[i].st_info) == STT_FUNC)
                                nearest = at;
                }
                n->room = nearest == UINT64_MAX ? 0 : nearest - n->address;
        }
}

static void take_object(struct entries *e, const struct object *o, uint32_t number)
{
        take_symbols(e, o, number);
        measure_rooms(e, o, number);
}

/* ---- from memory ---- */

/* BYTES at ADDRESS, and a 0; NULL: they cannot be read.  The caller's to free. */
static void *read_part(const struct memory *m, uint64_t address, size_t bytes)
{
        char *part = heap_zero(bytes + 1, 1);

        if (memory_read(m, address, part, bytes) == bytes)
                return part;
        free(part);
        return NULL;
}

/* What a dynamic section tells, as far as symbols need it. */
struct section {
        uint64_t symbols, strings, string_bytes, hash, gnu_hash, versions, debug;
};

/* glibc relocates these pointers in place, musl does not. */
static uint64_t pointer(uint64_t value, uint64_t bias)
{
        return value < bias ? value + bias : value;
}

static bool read_section(const struct memory *m, uint64_t at, uint64_t bias, struct section *out)
{
        Elf64_Dyn d;

        *out = (struct section){ 0 };
        for (uint32_t i = 0;
             i < ENTRIES_DYNAMIC && memory_read(m, at + i * sizeof d, &d, sizeof d) == sizeof d;
             i++)
                switch (d.d_tag) {
                case DT_NULL: return out->symbols && out->strings;
                case DT_SYMTAB: out->symbols = pointer(d.d_un.d_ptr, bias); break;
                case DT_STRTAB: out->strings = pointer(d.d_un.d_ptr, bias); break;
                case DT_STRSZ: out->string_bytes = d.d_un.d_val; break;
                case DT_HASH: out->hash = pointer(d.d_un.d_ptr, bias); break;
                case DT_GNU_HASH: out->gnu_hash = pointer(d.d_un.d_ptr, bias); break;
                case DT_VERSYM: out->versions = pointer(d.d_un.d_ptr, bias); break;
                case DT_DEBUG: out->debug = d.d_un.d_ptr; break;
                default: break;
                }
        return false;
}

/* The last symbol of the fullest chain is the last of all. */
static size_t count_by_gnu_hash(const struct memory *m, uint64_t at)
{
        uint32_t head[4], last = 0, word, *buckets;
        uint64_t chain;

        if (memory_read(m, at, head, sizeof head) != sizeof head || head[0] > ENTRIES_SYMBOLS ||
            head[2] > ENTRIES_SYMBOLS)
                return 0;
        buckets = read_part(m, at + sizeof head + head[2] * 8ull, head[0] * sizeof *buckets);
        for (uint32_t i = 0; buckets && i < head[0]; i++)
                last = buckets[i] > last ? buckets[i] : last;
        free(buckets);
        if (last < head[1])
                return head[1];
        chain = at + sizeof head + head[2] * 8ull + head[0] * 4ull;
        do
                if (memory_read(m, chain + (last - head[1]) * 4ull, &word, sizeof word) !=
                    sizeof word)
                        return 0;
        while (++last < ENTRIES_SYMBOLS && !(word & 1));
        return last;
}

static size_t count_symbols(const struct memory *m, const struct section *s)
{
        uint32_t head[2];

        if (s->hash && memory_read(m, s->hash, head, sizeof head) == sizeof head)
                return head[1];
        return s->gnu_hash ? count_by_gnu_hash(m, s->gnu_hash) : 0;
}

static void take_loaded(struct entries *e, const struct memory *m, const struct link_map *map,
                        uint32_t number)
{
        struct object o = { .bias = map->l_addr };
        struct section s;
        void *symbols, *strings, *versions;

        if (!read_section(m, (uintptr_t)map->l_ld, map->l_addr, &s))
                return;
        o.symbol_count = count_symbols(m, &s);
        o.string_bytes = s.string_bytes;
        if (!o.symbol_count || o.symbol_count > ENTRIES_SYMBOLS || s.string_bytes > ENTRIES_STRINGS)
                return;
        symbols = read_part(m, s.symbols, o.symbol_count * sizeof *o.symbols);
        strings = read_part(m, s.strings, s.string_bytes);
        versions = s.versions ? read_part(m, s.versions, o.symbol_count * sizeof *o.versions)
                              : NULL;
        o.symbols = symbols;
        o.strings = strings;
        o.versions = versions;
        if (symbols && strings)
                take_object(e, &o, number);
        free(symbols);
        free(strings);
        free(versions);
}

/* ---- the program ---- */

struct program {
        uint64_t headers, header_count, bias;
        uint64_t dynamic; /* 0: it has none */
        bool loader;      /* it asks for one */
};

static bool read_program(pid_t pid, const struct memory *m, struct program *p)
{
        struct str text = { 0 };
        const Elf64_auxv_t *a;
        Elf64_Phdr h;
        bool placed = false;

        *p = (struct program){ 0 };
        if (!procfs_text(pid, m->tid, "auxv", &text))
                return false;
        a = (const void *)text.data;
        for (size_t i = 0; i < text.length / sizeof *a; i++) {
                p->headers = a[i].a_type == AT_PHDR ? a[i].a_un.a_val : p->headers;
                p->header_count = a[i].a_type == AT_PHNUM ? a[i].a_un.a_val : p->header_count;
        }
        str_free(&text);
        for (uint64_t i = 0; i < p->header_count && i < ENTRIES_HEADERS; i++) {
                if (memory_read(m, p->headers + i * sizeof h, &h, sizeof h) != sizeof h)
                        return false;
                if (h.p_type == PT_PHDR || (!placed && h.p_type == PT_LOAD && h.p_offset == 0)) {
                        p->bias = h.p_type == PT_PHDR
                                          ? p->headers - h.p_vaddr
                                          : (p->headers & ~0xfffull) - (h.p_vaddr & ~0xfffull);
                        placed = true;
                }
                if (h.p_type == PT_DYNAMIC)
                        p->dynamic = h.p_vaddr;
                p->loader = p->loader || h.p_type == PT_INTERP;
        }
        p->dynamic = p->dynamic ? p->dynamic + p->bias : 0;
        return p->headers != 0;
}

/* What the loader has loaded, in its order. */
static bool take_all_loaded(struct entries *e, const struct memory *m, uint64_t list)
{
        struct link_map map;
        uint64_t at;

        if (!list ||
            memory_read(m, list + offsetof(struct r_debug, r_map), &at, sizeof at) != sizeof at ||
            !at)
                return false;
        for (; at && e->objects < ENTRIES_OBJECTS; at = (uintptr_t)map.l_next) {
                if (memory_read(m, at, &map,
                                offsetof(struct link_map, l_prev) + sizeof map.l_prev) <
                    offsetof(struct link_map, l_prev) + sizeof map.l_prev)
                        break;
                e->plain = heap_grow(e->plain, e->objects + 1, sizeof *e->plain);
                e->plain[e->objects] = false;
                take_loaded(e, m, &map, e->objects++);
        }
        return e->objects != 0;
}

/* ---- from the file of a program without a loader ---- */

static const void *in_file(const struct str *file, uint64_t at, uint64_t bytes)
{
        return at <= file->length && bytes <= file->length - at ? file->data + at : NULL;
}

static bool take_section(struct entries *e, const struct str *file, const Elf64_Ehdr *h,
                         const Elf64_Shdr *s, uint64_t bias)
{
        const Elf64_Shdr *names = s->sh_link < h->e_shnum
                                          ? in_file(file, h->e_shoff + s->sh_link * sizeof *s,
                                                    sizeof *s)
                                          : NULL;
        struct object o = { .bias = bias, .symbol_count = s->sh_size / sizeof(Elf64_Sym) };

        o.symbols = in_file(file, s->sh_offset, s->sh_size);
        o.strings = names ? in_file(file, names->sh_offset, names->sh_size) : NULL;
        if (!o.symbols || !o.strings || !names->sh_size || o.strings[names->sh_size - 1])
                return false;
        o.string_bytes = names->sh_size;
        take_object(e, &o, 0);
        o.local = !has_malloc(e);
        if (o.local)
                take_object(e, &o, 0);
        return true;
}

static bool take_file(struct entries *e, pid_t pid, uint64_t bias)
{
        struct str file = { 0 };
        const Elf64_Ehdr *h;
        char path[64];
        bool found = false;

        snprintf(path, sizeof path, "/proc/%d/exe", (int)procfs_living(pid));
        if (io_read_file(path, &file) && (h = in_file(&file, 0, sizeof *h)) &&
            memcmp(h->e_ident, ELFMAG, SELFMAG) == 0)
                for (uint32_t i = 0; i < h->e_shnum && !found; i++) {
                        const Elf64_Shdr *s = in_file(&file, h->e_shoff + i * sizeof *s, sizeof *s);

                        found = s && s->sh_type == SHT_SYMTAB && take_section(e, &file, h, s, bias);
                }
        str_free(&file);
        return found;
}

/* By their code, when the file has no names. */
static bool take_recognized(struct entries *e, pid_t pid, uint64_t bias)
{
        const char **wanted = heap_zero(e->count, sizeof *wanted);
        struct functions all;
        const struct function *f;
        uint32_t count;
        int fd = process_open((uint32_t)pid, "exe");
        bool found;

        for (uint32_t i = 0; i < e->count; i++)
                wanted[i] = e->names[i].name;
        found = fd >= 0 && recognize_functions(&all, fd, wanted, e->count);
        for (uint32_t i = 0; found && i < e->count; i++) {
                struct entries_name *n = &e->names[i];

                f = functions_find(&all, n->name, &count);
                if (!f || n->data)
                        continue;
                n->address = bias + f->address;
                n->size = f->size;
                n->object = 0;
        }
        if (found) {
                f = functions_find(&all, BESIDE, &count);
                e->beside = f ? bias + f->address : 0;
                functions_free(&all);
        }
        if (fd >= 0)
                close(fd);
        free(wanted);
        return found;
}

/* A program without a loader may have its list all the same, without the functions (static-pie). */
static bool take_static(struct entries *e, pid_t pid, const struct program *p)
{
        e->objects = 1;
        e->plain = heap_zero(1, sizeof *e->plain);
        if (take_file(e, pid, p->bias) || take_recognized(e, pid, p->bias))
                return true;
        entries_free(e);
        e->objects = 0;
        return false;
}

bool entries_find(struct entries *e, pid_t pid, const struct memory *m, struct err *err)
{
        struct program p;
        struct section s = { 0 };

        qsort(e->names, e->count, sizeof *e->names, by_name);
        for (uint32_t i = 0; i < e->count; i++)
                e->names[i].object = ENTRIES_NOWHERE;
        if (!read_program(pid, m, &p))
                return err_set(err, ERR_EXIT_CANNOT_TRACE,
                               "cannot read where the program of process %d is", (int)pid);
        if (p.dynamic)
                read_section(m, p.dynamic, p.bias, &s);
        e->list = s.debug;
        if (!p.loader && take_static(e, pid, &p))
                return true;
        e->dynamic = take_all_loaded(e, m, e->list);
        return e->dynamic || err_set(err, ERR_EXIT_CANNOT_TRACE,
                                     "process %d is linked statically and stripped: its functions "
                                     "cannot be found without their names, or " RECOGNIZE_NEEDS,
                                     (int)pid);
}
