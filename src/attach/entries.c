/* SPDX-License-Identifier: MIT */
#include "attach/entries.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/elf_words.h"
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

/* COUNT symbols of the process as those of 64 bits; PART is taken. */
static Elf64_Sym *widen(void *part, size_t count, bool narrow)
{
        Elf64_Sym *all;

        if (!part || !narrow)
                return part;
        all = heap_zero(count, sizeof *all);
        for (size_t i = 0; i < count; i++)
                all[i] = elf_words_symbol((const Elf32_Sym *)part + i, true);
        free(part);
        return all;
}

/* glibc relocates these pointers in place, musl does not. */
static uint64_t pointer(uint64_t value, uint64_t bias)
{
        return value < bias ? value + bias : value;
}

static bool read_section(const struct entries *e, const struct memory *m, uint64_t at,
                         uint64_t bias, struct section *out)
{
        size_t bytes = ELF_WORDS_BYTES(Dyn, e->narrow);
        uint8_t raw[sizeof(Elf64_Dyn)];

        *out = (struct section){ 0 };
        for (uint32_t i = 0;
             i < ENTRIES_DYNAMIC && memory_read(m, at + i * bytes, raw, bytes) == bytes; i++) {
                Elf64_Dyn d = elf_words_dynamic(raw, e->narrow);

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
        }
        return false;
}

/* The last symbol of the fullest chain is the last of all. */
static size_t count_by_gnu_hash(const struct memory *m, uint64_t at, bool narrow)
{
        uint32_t head[4], last = 0, word, *buckets;
        uint64_t chain, width = narrow ? 4 : 8;

        if (memory_read(m, at, head, sizeof head) != sizeof head || head[0] > ENTRIES_SYMBOLS ||
            head[2] > ENTRIES_SYMBOLS)
                return 0;
        buckets = read_part(m, at + sizeof head + head[2] * width, head[0] * sizeof *buckets);
        for (uint32_t i = 0; buckets && i < head[0]; i++)
                last = buckets[i] > last ? buckets[i] : last;
        free(buckets);
        if (last < head[1])
                return head[1];
        chain = at + sizeof head + head[2] * width + head[0] * 4ull;
        do
                if (memory_read(m, chain + (last - head[1]) * 4ull, &word, sizeof word) !=
                    sizeof word)
                        return 0;
        while (++last < ENTRIES_SYMBOLS && !(word & 1));
        return last;
}

static size_t count_symbols(const struct memory *m, const struct section *s, bool narrow)
{
        uint32_t head[2];

        if (s->hash && memory_read(m, s->hash, head, sizeof head) == sizeof head)
                return head[1];
        return s->gnu_hash ? count_by_gnu_hash(m, s->gnu_hash, narrow) : 0;
}

/* An object as the loader has it: struct link_map. */
struct loaded {
        uint64_t bias, dynamic;
};

static void take_loaded(struct entries *e, const struct memory *m, const struct loaded *of,
                        uint32_t number)
{
        struct object o = { .bias = of->bias };
        struct section s;
        void *symbols, *strings, *versions;

        if (!read_section(e, m, of->dynamic, of->bias, &s))
                return;
        o.symbol_count = count_symbols(m, &s, e->narrow);
        o.string_bytes = s.string_bytes;
        if (!o.symbol_count || o.symbol_count > ENTRIES_SYMBOLS || s.string_bytes > ENTRIES_STRINGS)
                return;
        symbols = widen(read_part(m, s.symbols,
                                  o.symbol_count * ELF_WORDS_BYTES(Sym, e->narrow)),
                        o.symbol_count, e->narrow);
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

/* Where its headers are: the vector that the kernel gave it. */
static bool find_headers(pid_t pid, const struct memory *m, bool narrow, struct program *p)
{
        size_t bytes = ELF_WORDS_BYTES(auxv_t, narrow);
        struct str text = { 0 };

        if (!procfs_text(pid, m->tid, "auxv", &text))
                return false;
        for (size_t i = 0; i < text.length / bytes; i++) {
                Elf64_auxv_t a = elf_words_auxiliary(text.data + i * bytes, narrow);

                p->headers = a.a_type == AT_PHDR ? a.a_un.a_val : p->headers;
                p->header_count = a.a_type == AT_PHNUM ? a.a_un.a_val : p->header_count;
        }
        str_free(&text);
        return p->headers != 0;
}

static bool read_program(pid_t pid, const struct memory *m, bool narrow, struct program *p)
{
        size_t bytes = ELF_WORDS_BYTES(Phdr, narrow);
        uint8_t raw[sizeof(Elf64_Phdr)];
        bool placed = false;

        *p = (struct program){ 0 };
        if (!find_headers(pid, m, narrow, p))
                return false;
        for (uint64_t i = 0; i < p->header_count && i < ENTRIES_HEADERS; i++) {
                Elf64_Phdr h;

                if (memory_read(m, p->headers + i * bytes, raw, bytes) != bytes)
                        return false;
                h = elf_words_segment(raw, narrow);
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
        return true;
}

/* Words of the process from AT on. */
static bool read_words(const struct memory *m, uint64_t at, uint64_t *out, size_t count,
                       bool narrow)
{
        size_t width = narrow ? 4 : 8;
        uint8_t raw[8 * sizeof *out];

        if (count * width > sizeof raw || memory_read(m, at, raw, count * width) != count * width)
                return false;
        for (size_t i = 0; i < count; i++)
                out[i] = elf_words_word(raw + i * width, narrow);
        return true;
}

uint64_t entries_first_loaded(const struct entries *e, const struct memory *m, bool *settled)
{
        uint64_t words[4]; /* version (an int), the list, a function, the state (an int) */

        if (!e->list || !read_words(m, e->list, words, 4, e->narrow))
                return 0;
        *settled = (int)words[3] == RT_CONSISTENT;
        return words[1];
}

/* What the loader has loaded, in its order. */
static bool take_all_loaded(struct entries *e, const struct memory *m)
{
        uint64_t words[4]; /* bias, name, dynamic section, the next */
        bool settled;
        uint64_t at = entries_first_loaded(e, m, &settled);

        for (; at && e->objects < ENTRIES_OBJECTS; at = words[3]) {
                struct loaded one;

                if (!read_words(m, at, words, 4, e->narrow))
                        break;
                one = (struct loaded){ words[0], words[2] };
                e->plain = heap_grow(e->plain, e->objects + 1, sizeof *e->plain);
                e->plain[e->objects] = false;
                take_loaded(e, m, &one, e->objects++);
        }
        return e->objects != 0;
}

/* ---- from the file of a program without a loader ---- */

static const void *in_file(const struct str *file, uint64_t at, uint64_t bytes)
{
        return at <= file->length && bytes <= file->length - at ? file->data + at : NULL;
}

/* Section NUMBER of the file. */
static bool section_at(const struct str *file, const Elf64_Ehdr *h, uint32_t number, bool narrow,
                       Elf64_Shdr *out)
{
        size_t bytes = ELF_WORDS_BYTES(Shdr, narrow);
        const void *raw = number < h->e_shnum ? in_file(file, h->e_shoff + number * bytes, bytes)
                                              : NULL;

        if (raw)
                *out = elf_words_section(raw, narrow);
        return raw;
}

static bool take_section(struct entries *e, const struct str *file, const Elf64_Shdr *s,
                         const Elf64_Shdr *names, uint64_t bias)
{
        size_t bytes = ELF_WORDS_BYTES(Sym, e->narrow);
        struct object o = { .bias = bias, .symbol_count = s->sh_size / bytes };
        const void *raw = in_file(file, s->sh_offset, s->sh_size);
        Elf64_Sym *all;

        o.strings = in_file(file, names->sh_offset, names->sh_size);
        if (!raw || !o.strings || !names->sh_size || o.strings[names->sh_size - 1])
                return false;
        all = heap_zero(o.symbol_count, sizeof *all);
        for (size_t i = 0; i < o.symbol_count; i++)
                all[i] = elf_words_symbol((const uint8_t *)raw + i * bytes, e->narrow);
        o.symbols = all;
        o.string_bytes = names->sh_size;
        take_object(e, &o, 0);
        o.local = !has_malloc(e);
        if (o.local)
                take_object(e, &o, 0);
        free(all);
        return true;
}

static bool take_file(struct entries *e, pid_t pid, uint64_t bias)
{
        struct str file = { 0 };
        const uint8_t *raw;
        Elf64_Ehdr h;
        Elf64_Shdr one, names;
        char path[64];
        bool found = false;

        snprintf(path, sizeof path, "/proc/%d/exe", (int)procfs_living(pid));
        if (io_read_file(path, &file) &&
            (raw = in_file(&file, 0, ELF_WORDS_BYTES(Ehdr, e->narrow))) &&
            memcmp(raw, ELFMAG, SELFMAG) == 0) {
                h = elf_words_header(raw, e->narrow);
                for (uint32_t i = 0; i < h.e_shnum && !found; i++)
                        found = section_at(&file, &h, i, e->narrow, &one) &&
                                one.sh_type == SHT_SYMTAB &&
                                section_at(&file, &h, one.sh_link, e->narrow, &names) &&
                                take_section(e, &file, &one, &names, bias);
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
        if (!read_program(pid, m, e->narrow, &p))
                return err_set(err, ERR_EXIT_CANNOT_TRACE,
                               "cannot read where the program of process %d is", (int)pid);
        if (p.dynamic)
                read_section(e, m, p.dynamic, p.bias, &s);
        e->list = s.debug;
        if (!p.loader && take_static(e, pid, &p))
                return true;
        e->dynamic = take_all_loaded(e, m);
        return e->dynamic || err_set(err, ERR_EXIT_CANNOT_TRACE,
                                     "process %d is linked statically and stripped: its functions "
                                     "cannot be found without their names, or %s",
                                     (int)pid, recognize_needs());
}
