/* SPDX-License-Identifier: MIT */
#include "attach/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "attach/arch/relocations.h"
#include "attach/elf_words.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/page.h"

#define IMAGE_MOST (64u << 20)

/* BYTES of the file from AT on; NULL: it is shorter. */
static const void *in_file(const struct image *i, uint64_t at, uint64_t bytes)
{
        return at <= i->file.length && bytes <= i->file.length - at ? i->file.data + at : NULL;
}

/* false: it is no library of the word size that is wanted. */
static bool header(const struct image *i, Elf64_Ehdr *out)
{
        const uint8_t *h = in_file(i, 0, ELF_WORDS_BYTES(Ehdr, i->narrow));

        if (!h || memcmp(h, ELFMAG, SELFMAG) != 0 ||
            h[EI_CLASS] != (i->narrow ? ELFCLASS32 : ELFCLASS64))
                return false;
        *out = elf_words_header(h, i->narrow);
        return out->e_type == ET_DYN && out->e_phentsize == ELF_WORDS_BYTES(Phdr, i->narrow);
}

static bool segment(const struct image *i, const Elf64_Ehdr *h, uint32_t number, Elf64_Phdr *out)
{
        const void *s = in_file(i, h->e_phoff + (uint64_t)number * h->e_phentsize, h->e_phentsize);

        if (s)
                *out = elf_words_segment(s, i->narrow);
        return s;
}

static size_t whole(uint64_t bytes)
{
        return (bytes + page_bytes() - 1) & ~(uint64_t)(page_bytes() - 1);
}

/* How large it is, and where what can be written begins. */
static bool measure(struct image *i, const Elf64_Ehdr *h)
{
        i->data = SIZE_MAX;
        for (uint32_t n = 0; n < h->e_phnum; n++) {
                Elf64_Phdr s;

                if (!segment(i, h, n, &s) || (s.p_type == PT_TLS && s.p_memsz))
                        return false;
                if (s.p_type != PT_LOAD)
                        continue;
                if (s.p_vaddr > IMAGE_MOST || s.p_memsz > IMAGE_MOST || s.p_filesz > s.p_memsz)
                        return false;
                if (i->span < whole(s.p_vaddr + s.p_memsz))
                        i->span = whole(s.p_vaddr + s.p_memsz);
                if (s.p_flags & PF_W) {
                        i->data = i->data < s.p_vaddr ? i->data
                                                      : s.p_vaddr & ~(uint64_t)(page_bytes() - 1);
                        i->zero = s.p_vaddr + s.p_filesz;
                }
        }
        return i->span && i->data < i->span;
}

static bool copy_segments(struct image *i, const Elf64_Ehdr *h)
{
        i->bytes = heap_zero(i->span, 1);
        for (uint32_t n = 0; n < h->e_phnum; n++) {
                const void *from;
                Elf64_Phdr s;

                if (!segment(i, h, n, &s) || s.p_type != PT_LOAD)
                        continue;
                from = in_file(i, s.p_offset, s.p_filesz);
                if (!from)
                        return false;
                memcpy(i->bytes + s.p_vaddr, from, s.p_filesz);
        }
        return true;
}

bool image_load(struct image *i, const char *path, bool narrow, struct err *e)
{
        Elf64_Ehdr h;

        *i = (struct image){ .narrow = narrow };
        if (!io_read_file(path, &i->file))
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot read %s", path);
        if (header(i, &h) && measure(i, &h) && copy_segments(i, &h))
                return true;
        image_free(i);
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "%s is not the part of seep that it should be; install seep again", path);
}

void image_free(struct image *i)
{
        free(i->bytes);
        str_free(&i->file);
        *i = (struct image){ 0 };
}

void *image_at(const struct image *i, uint64_t address, size_t bytes)
{
        uint64_t at = address - i->base;

        return at < i->span && bytes <= i->span - at ? i->bytes + at : NULL;
}

/* A table of its dynamic section: BYTES of it. */
struct table {
        uint8_t *at;
        size_t bytes;
};

/* KIND and SIZE: DT_*. */
static struct table table_of(const struct image *i, int64_t kind, int64_t size)
{
        uint64_t at = 0, bytes = 0;
        size_t step = ELF_WORDS_BYTES(Dyn, i->narrow);
        const uint8_t *part;
        Elf64_Ehdr h;
        Elf64_Phdr s;

        for (uint32_t n = 0; header(i, &h) && n < h.e_phnum; n++) {
                if (!segment(i, &h, n, &s) || s.p_type != PT_DYNAMIC)
                        continue;
                part = in_file(i, s.p_offset, s.p_filesz);
                for (size_t k = 0; part && k < s.p_filesz / step; k++) {
                        Elf64_Dyn d = elf_words_dynamic(part + k * step, i->narrow);

                        if (d.d_tag == DT_NULL)
                                break;
                        at = d.d_tag == kind ? d.d_un.d_ptr : at;
                        bytes = d.d_tag == size ? d.d_un.d_val : bytes;
                }
        }
        if (!at || at >= i->span || bytes > i->span - at)
                return (struct table){ 0 };
        return (struct table){ i->bytes + at, bytes };
}

static const uint8_t *symbols(const struct image *i)
{
        return table_of(i, DT_SYMTAB, DT_SYMTAB).at;
}

/* Symbol NUMBER of ALL; false: there is none. */
static bool symbol(const struct image *i, const uint8_t *all, uint64_t number, Elf64_Sym *out)
{
        size_t bytes = ELF_WORDS_BYTES(Sym, i->narrow);

        if (!all || number >= (size_t)(i->bytes + i->span - all) / bytes)
                return false;
        *out = elf_words_symbol(all + number * bytes, i->narrow);
        return out->st_shndx != SHN_UNDEF;
}

/* Imports are all weak: there is no loader that knows them. */
static uint64_t symbol_value(const struct image *i, uint64_t number)
{
        Elf64_Sym s;

        return symbol(i, symbols(i), number, &s) ? i->base + s.st_value : 0;
}

static uint64_t word_at(const struct image *i, uint64_t at)
{
        return elf_words_word(i->bytes + at, i->narrow);
}

bool image_put(const struct image *i, uint64_t address, uint64_t word)
{
        size_t bytes = i->narrow ? sizeof(uint32_t) : sizeof word;
        void *to = image_at(i, address, bytes);

        if (to) /* little endian: the lower half comes first */
                memcpy(to, &word, bytes);
        return to;
}

/* With addends in the words themselves (REL, of i386) or beside them. */
static bool relocate(struct image *i, const Elf64_Rela *r)
{
        uint32_t kind = (uint32_t)ELF64_R_TYPE(r->r_info);

        if (kind == ARCH_RELOCATION_RELATIVE(i->narrow))
                return image_put(i, i->base + r->r_offset, i->base + (uint64_t)r->r_addend);
        return kind == ARCH_RELOCATION_SYMBOL(i->narrow) &&
               image_put(i, i->base + r->r_offset, symbol_value(i, ELF64_R_SYM(r->r_info)));
}

static bool relocation(const struct image *i, struct table all, size_t k, Elf64_Rela *out)
{
        Elf32_Rel half;

        if (!i->narrow) {
                if ((k + 1) * sizeof *out > all.bytes)
                        return false;
                memcpy(out, all.at + k * sizeof *out, sizeof *out);
                return true;
        }
        if ((k + 1) * sizeof half > all.bytes)
                return false;
        memcpy(&half, all.at + k * sizeof half, sizeof half);
        *out = (Elf64_Rela){ half.r_offset, ELF64_R_INFO((uint64_t)ELF32_R_SYM(half.r_info),
                                                         ELF32_R_TYPE(half.r_info)), 0 };
        if (half.r_offset <= i->span - sizeof(uint32_t))
                out->r_addend = (int64_t)word_at(i, half.r_offset);
        return true;
}

bool image_place(struct image *i, uint64_t base, struct err *e)
{
        struct table all = i->narrow ? table_of(i, DT_REL, DT_RELSZ)
                                     : table_of(i, DT_RELA, DT_RELASZ);
        Elf64_Rela r;

        i->base = base;
        for (size_t k = 0; relocation(i, all, k, &r); k++)
                if (!relocate(i, &r))
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "the part of seep for running processes has a relocation "
                                       "that it should not have");
        return true;
}

uint64_t image_symbol(const struct image *i, const char *name)
{
        struct table hash = table_of(i, DT_HASH, DT_HASH),
                     strings = table_of(i, DT_STRTAB, DT_STRSZ);
        const uint8_t *all = symbols(i);
        uint32_t count;
        Elf64_Sym s;

        if (!hash.at || !strings.at)
                return 0;
        memcpy(&count, hash.at + 4, sizeof count);
        for (uint32_t k = 1; k < count; k++)
                if (symbol(i, all, k, &s) && s.st_name < strings.bytes &&
                    strcmp((const char *)strings.at + s.st_name, name) == 0)
                        return s.st_value;
        return 0;
}
