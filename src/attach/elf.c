/* SPDX-License-Identifier: MIT */
#include "attach/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/elf_words.h"
#include "base/heap.h"

#define ELF_PHDRS_MAX 256u
#define ELF_DYNAMIC_MAX (1u << 20)
#define ELF_STRINGS_MAX (64u << 20)
#define ELF_STRINGS_FEW (1u << 20)

/* A string table that says which sanitizer's runtime is inside, and the library that brings it. */
static const struct {
        const char *symbol, *library, *alias, *name;
} sanitizers[] = {
        { "__asan_init", "libasan.so", "libclang_rt.asan", "AddressSanitizer" },
        { "__tsan_init", "libtsan.so", "libclang_rt.tsan", "ThreadSanitizer" },
        { "__msan_init", "libmsan.so", "libclang_rt.msan", "MemorySanitizer" },
        { "__hwasan_init", "libhwasan.so", "libclang_rt.hwasan", "HWAddressSanitizer" },
        { "__lsan_init", "liblsan.so", "libclang_rt.lsan", "LeakSanitizer" },
};

/* A name that only this allocator's file has. */
static const struct {
        const char *symbol, *name;
} allocators[] = {
        { "mallctl", "jemalloc" },
        { "tc_malloc", "tcmalloc" },
        { "TCMallocInternalMalloc", "tcmalloc" },
        { "mi_malloc", "mimalloc" },
        { "gnu_get_libc_version", "glibc" },
};

struct file {
        int fd;
        ElfW(Phdr) phdr[ELF_PHDRS_MAX];
        uint32_t phdr_count;
        ElfW(Dyn) *dynamic;
        uint32_t dynamic_count;
        char *strings; /* the dynamic string table, with a NUL added */
        size_t string_bytes;
};

static bool read_all(int fd, void *to, size_t bytes, uint64_t at)
{
        ssize_t n = pread(fd, to, bytes, (off_t)at);

        return n >= 0 && (size_t)n == bytes;
}

/* Where in the file the memory address ADDRESS comes from; 0 unknown. */
static uint64_t file_offset(const struct file *f, uint64_t address)
{
        for (uint32_t i = 0; i < f->phdr_count; i++) {
                const ElfW(Phdr) *p = &f->phdr[i];

                if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
                    address - p->p_vaddr < p->p_filesz)
                        return p->p_offset + (address - p->p_vaddr);
        }
        return 0;
}

static uint64_t dynamic_value(const struct file *f, int64_t tag)
{
        for (uint32_t i = 0; i < f->dynamic_count; i++)
                if (f->dynamic[i].d_tag == tag)
                        return f->dynamic[i].d_un.d_val;
        return 0;
}

static const char *dynamic_string(const struct file *f, uint64_t at)
{
        return at < f->string_bytes ? f->strings + at : "";
}

static void read_dynamic(struct file *f, const ElfW(Phdr) *p)
{
        uint64_t bytes = p->p_filesz < ELF_DYNAMIC_MAX ? p->p_filesz : ELF_DYNAMIC_MAX, at;

        free(f->dynamic);
        f->dynamic = heap_zero(bytes / sizeof *f->dynamic, sizeof *f->dynamic);
        if (!read_all(f->fd, f->dynamic, bytes / sizeof *f->dynamic * sizeof *f->dynamic,
                      p->p_offset))
                return;
        f->dynamic_count = (uint32_t)(bytes / sizeof *f->dynamic);
        bytes = dynamic_value(f, DT_STRSZ);
        at = file_offset(f, dynamic_value(f, DT_STRTAB));
        if (!at || bytes > ELF_STRINGS_MAX)
                return;
        free(f->strings);
        f->strings = heap_zero(bytes + 1, 1);
        f->string_bytes = read_all(f->fd, f->strings, bytes, at) ? bytes : 0;
}

static bool needs_library(const struct file *f, const char *prefix)
{
        for (uint32_t i = 0; i < f->dynamic_count && f->dynamic[i].d_tag != DT_NULL; i++)
                if (f->dynamic[i].d_tag == DT_NEEDED &&
                    strncmp(dynamic_string(f, f->dynamic[i].d_un.d_val), prefix, strlen(prefix)) ==
                            0)
                        return true;
        return false;
}

/* The table may share tails between names, so a whole name needs no NUL in front. */
static bool mentions(const struct file *f, const char *symbol)
{
        return f->string_bytes &&
               memmem(f->strings, f->string_bytes + 1, symbol, strlen(symbol) + 1) != NULL;
}

static const char *find_sanitizer(const struct file *f)
{
        for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
                if (needs_library(f, sanitizers[i].library) ||
                    needs_library(f, sanitizers[i].alias) || mentions(f, sanitizers[i].symbol))
                        return sanitizers[i].name;
        return NULL;
}

static const char *find_allocator(const struct file *f)
{
        for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
                if (mentions(f, allocators[i].symbol))
                        return allocators[i].name;
        return NULL;
}

static void look_inside(struct file *f, struct elf_facts *out)
{
        const char *soname;

        for (uint32_t i = 0; i < f->phdr_count; i++) {
                const ElfW(Phdr) *p = &f->phdr[i];

                if (p->p_type == PT_DYNAMIC)
                        read_dynamic(f, p);
                if (p->p_type != PT_INTERP)
                        continue;
                out->has_interp = true;
                if (p->p_filesz < sizeof out->interp &&
                    !read_all(f->fd, out->interp, p->p_filesz, p->p_offset))
                        out->interp[0] = 0;
        }
        out->sanitizer = find_sanitizer(f);
        out->allocator = find_allocator(f);
        soname = dynamic_string(f, dynamic_value(f, DT_SONAME));
        out->is_loader = !out->has_interp &&
                         (strncmp(soname, "ld-", 3) == 0 || strncmp(soname, "ld.so", 5) == 0 ||
                          strncmp(soname, "ld64.so", 7) == 0 ||
                          strncmp(soname, "libc.musl", 9) == 0);
}

static bool own_header(ElfW(Ehdr) *own)
{
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        bool good = fd >= 0 && read_all(fd, own, sizeof *own, 0);

        if (fd >= 0)
                close(fd);
        return good;
}

static uint64_t number(const uint8_t *p, unsigned bytes, bool big)
{
        uint64_t value = 0;

        for (unsigned i = 0; i < bytes; i++)
                value |= (uint64_t)p[i] << 8 * (big ? bytes - 1 - i : i);
        return value;
}

/* The loader that a program of whatever processor names.  HEAD: its first bytes. */
static void look_for_loader(int fd, const uint8_t *head, struct elf_facts *out)
{
        bool big = out->order == ELFDATA2MSB, wide = out->class_ == ELFCLASS64;
        unsigned word = wide ? 8 : 4, size = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
        uint64_t at = number(head + (wide ? 32 : 28), word, big), bytes;
        uint64_t count = number(head + (wide ? 56 : 44), 2, big);
        uint8_t p[sizeof(Elf64_Phdr)];

        for (uint64_t i = 0; i < count && i < ELF_PHDRS_MAX && !out->has_interp; i++) {
                if (!read_all(fd, p, size, at + i * size))
                        return;
                out->has_interp = number(p, 4, big) == PT_INTERP;
                bytes = number(p + (wide ? 32 : 16), word, big);
                if (out->has_interp && bytes < sizeof out->interp &&
                    !read_all(fd, out->interp, bytes, number(p + (wide ? 8 : 4), word, big)))
                        out->interp[0] = 0;
        }
}

bool elf_look(int fd, struct elf_facts *out)
{
        ElfW(Ehdr) head, own;
        uint8_t first[sizeof(Elf64_Ehdr)] = { 0 };
        struct file f = { .fd = fd };
        ssize_t got = pread(fd, first, sizeof first, 0);

        *out = (struct elf_facts){ 0 };
        if (got < 0)
                return false;
        memcpy(&head, first, sizeof head);
        if (got < EI_NIDENT + 4 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
                return true;
        out->is_elf = true;
        out->class_ = head.e_ident[EI_CLASS];
        out->order = head.e_ident[EI_DATA];
        out->machine = (uint16_t)number(first + 18, 2, out->order == ELFDATA2MSB);
        out->foreign = own_header(&own) &&
                       (own.e_ident[EI_CLASS] != out->class_ ||
                        own.e_ident[EI_DATA] != out->order || own.e_machine != out->machine);
        if (out->foreign)
                look_for_loader(fd, first, out);
        if (out->foreign || got < (ssize_t)sizeof head || head.e_phentsize != sizeof *f.phdr)
                return true;
        f.phdr_count = head.e_phnum < ELF_PHDRS_MAX ? head.e_phnum : ELF_PHDRS_MAX;
        if (!read_all(fd, f.phdr, f.phdr_count * sizeof *f.phdr, head.e_phoff))
                f.phdr_count = 0;
        look_inside(&f, out);
        free(f.dynamic);
        free(f.strings);
        return true;
}

/* BYTES from offset AT, and a NUL; NULL: they are not there. */
static char *read_part(int fd, uint64_t at, uint64_t bytes)
{
        char *part = bytes && bytes <= ELF_STRINGS_MAX ? heap_zero(bytes + 1, 1) : NULL;

        if (part && !read_all(fd, part, bytes, at)) {
                free(part);
                return NULL;
        }
        return part;
}

static uint32_t exported_in(int fd, const ElfW(Shdr) *table, const ElfW(Shdr) *text,
                            const char *const *names, uint32_t count)
{
        char *symbols = read_part(fd, table->sh_offset, table->sh_size),
             *strings = read_part(fd, text->sh_offset, text->sh_size);
        uint64_t many = symbols && strings ? table->sh_size / sizeof(ElfW(Sym)) : 0;
        uint32_t found = 0;

        for (uint64_t i = 0; i < many; i++) {
                ElfW(Sym) s;

                memcpy(&s, symbols + i * sizeof s, sizeof s);
                if (s.st_shndx == SHN_UNDEF || s.st_name >= text->sh_size)
                        continue;
                for (uint32_t n = 0; n < count; n++)
                        if (strcmp(strings + s.st_name, names[n]) == 0)
                                found |= 1u << n;
        }
        free(symbols);
        free(strings);
        return found;
}

uint32_t elf_exports(int fd, const char *const *names, uint32_t count)
{
        ElfW(Ehdr) head;
        ElfW(Shdr) *sections;
        uint32_t found = 0;

        if (!read_all(fd, &head, sizeof head, 0) || head.e_shentsize != sizeof *sections)
                return 0;
        sections = (void *)read_part(fd, head.e_shoff, head.e_shnum * sizeof *sections);
        for (uint32_t i = 0; sections && i < head.e_shnum; i++)
                if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < head.e_shnum)
                        found |= exported_in(fd, &sections[i], &sections[sections[i].sh_link],
                                             names, count);
        free(sections);
        return found;
}

/* Any part of a name may be the end of another one's: no NUL is looked for. */
static bool table_mentions(int fd, const ElfW(Shdr) *table, const char *const *words,
                           uint32_t count)
{
        char *strings = table->sh_size <= ELF_STRINGS_FEW && !(table->sh_flags & SHF_COMPRESSED)
                                ? read_part(fd, table->sh_offset, table->sh_size)
                                : NULL;
        bool found = !strings && table->sh_size;

        for (uint32_t n = 0; strings && !found && n < count; n++)
                found = memmem(strings, table->sh_size, words[n], strlen(words[n])) != NULL;
        free(strings);
        return found;
}

bool elf_may_mention(int fd, const char *const *words, uint32_t count)
{
        ElfW(Ehdr) head, own;
        ElfW(Shdr) *sections;
        bool found;

        if (!read_all(fd, &head, sizeof head, 0) || !own_header(&own) ||
            memcmp(head.e_ident, own.e_ident, EI_VERSION) != 0 ||
            head.e_shentsize != sizeof *sections || !head.e_shnum)
                return true;
        sections = (void *)read_part(fd, head.e_shoff, head.e_shnum * sizeof *sections);
        found = !sections;
        for (uint32_t i = 0; sections && !found && i < head.e_shnum; i++)
                found = sections[i].sh_type == SHT_STRTAB &&
                        table_mentions(fd, &sections[i], words, count);
        free(sections);
        return found;
}

size_t elf_build_id(const uint8_t *notes, size_t bytes, bool turned, uint8_t id[ELF_ID_BYTES])
{
        Elf64_Nhdr h;

        for (size_t at = 0; at + sizeof h <= bytes;) {
                size_t name, data;

                h = elf_words_any_note(notes + at, false, turned);
                name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
                data = ((size_t)h.n_descsz + 3) & ~(size_t)3;
                at += sizeof h;
                if (name > bytes - at || data > bytes - at - name)
                        return 0;
                if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
                    memcmp(notes + at, "GNU", 4) == 0 && h.n_descsz <= ELF_ID_BYTES) {
                        memcpy(id, notes + at + name, h.n_descsz);
                        return h.n_descsz;
                }
                at += name + data;
        }
        return 0;
}

#define KIND_NAME_MAX 48

static const char *kind_name(unsigned class_, unsigned machine, char text[KIND_NAME_MAX])
{
        static const struct {
                uint16_t machine;
                const char *name;
        } names[] = {
                { EM_386, "x86" },       { EM_X86_64, "x86-64" },
                { EM_ARM, "ARM" },       { EM_AARCH64, "ARM64" },
                { EM_RISCV, "RISC-V" },  { EM_PPC, "PowerPC" },
                { EM_PPC64, "PowerPC" }, { EM_S390, "S/390" },
                { EM_MIPS, "MIPS" },     { EM_LOONGARCH, "LoongArch" },
                { EM_SPARCV9, "SPARC" },
        };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (names[i].machine == machine) {
                        snprintf(text, KIND_NAME_MAX, "%s-bit %s",
                                 class_ == ELFCLASS64 ? "64" : "32", names[i].name);
                        return text;
                }
        snprintf(text, KIND_NAME_MAX, "%s-bit, machine %u", class_ == ELFCLASS64 ? "64" : "32",
                 machine);
        return text;
}

const char *elf_kind_name(const struct elf_facts *f)
{
        static char text[KIND_NAME_MAX];

        return kind_name(f->class_, f->machine, text);
}

const char *elf_own_kind_name(void)
{
        static char text[KIND_NAME_MAX]; /* not that of elf_kind_name(): messages name both */
        ElfW(Ehdr) own;

        return own_header(&own) ? kind_name(own.e_ident[EI_CLASS], own.e_machine, text)
                                : "another kind";
}

uint16_t elf_own_machine(void)
{
        ElfW(Ehdr) own;

        return own_header(&own) ? own.e_machine : 0;
}
