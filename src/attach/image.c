/* SPDX-License-Identifier: MIT */
#include "attach/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "attach/arch/relocations.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/page.h"

#define IMAGE_MOST (64u << 20)

/* BYTES of the file from AT on; NULL: it is shorter. */
static const void *in_file(const struct image *i, uint64_t at, uint64_t bytes)
{
        return at <= i->file.length && bytes <= i->file.length - at ? i->file.data + at : NULL;
}

static const Elf64_Ehdr *header(const struct image *i)
{
        const Elf64_Ehdr *h = in_file(i, 0, sizeof *h);

        return h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
                               h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_type == ET_DYN &&
                               h->e_phentsize == sizeof(Elf64_Phdr)
                       ? h
                       : NULL;
}

static const Elf64_Phdr *segment(const struct image *i, const Elf64_Ehdr *h, uint32_t number)
{
        return in_file(i, h->e_phoff + number * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
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
                const Elf64_Phdr *s = segment(i, h, n);

                if (!s || (s->p_type == PT_TLS && s->p_memsz))
                        return false;
                if (s->p_type != PT_LOAD)
                        continue;
                if (s->p_vaddr > IMAGE_MOST || s->p_memsz > IMAGE_MOST || s->p_filesz > s->p_memsz)
                        return false;
                if (i->span < whole(s->p_vaddr + s->p_memsz))
                        i->span = whole(s->p_vaddr + s->p_memsz);
                if (s->p_flags & PF_W) {
                        i->data = i->data < s->p_vaddr ? i->data
                                                       : s->p_vaddr & ~(uint64_t)(page_bytes() - 1);
                        i->zero = s->p_vaddr + s->p_filesz;
                }
        }
        return i->span && i->data < i->span;
}

static bool copy_segments(struct image *i, const Elf64_Ehdr *h)
{
        i->bytes = heap_zero(i->span, 1);
        for (uint32_t n = 0; n < h->e_phnum; n++) {
                const Elf64_Phdr *s = segment(i, h, n);
                const void *from = s->p_type == PT_LOAD ? in_file(i, s->p_offset, s->p_filesz)
                                                        : NULL;

                if (s->p_type == PT_LOAD && !from)
                        return false;
                if (from)
                        memcpy(i->bytes + s->p_vaddr, from, s->p_filesz);
        }
        return true;
}

bool image_load(struct image *i, const char *path, struct err *e)
{
        const Elf64_Ehdr *h;

        *i = (struct image){ 0 };
        if (!io_read_file(path, &i->file))
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot read %s", path);
        h = header(i);
        if (h && measure(i, h) && copy_segments(i, h))
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

/* A table of its dynamic section: ENTRY bytes each. */
struct table {
        const uint8_t *at;
        size_t count;
};

/* KIND and SIZE: DT_*; a table of COUNT elements of ENTRY bytes, COUNT 0: as SIZE says. */
static struct table table_of(const struct image *i, int64_t kind, int64_t size, size_t entry)
{
        const Elf64_Ehdr *h = header(i);
        uint64_t at = 0, bytes = 0;

        for (uint32_t n = 0; n < h->e_phnum; n++) {
                const Elf64_Phdr *s = segment(i, h, n);
                const Elf64_Dyn *d = s->p_type == PT_DYNAMIC ? in_file(i, s->p_offset, s->p_filesz)
                                                             : NULL;

                for (size_t k = 0; d && k < s->p_filesz / sizeof *d && d[k].d_tag != DT_NULL; k++) {
                        at = d[k].d_tag == kind ? d[k].d_un.d_ptr : at;
                        bytes = d[k].d_tag == size ? d[k].d_un.d_val : bytes;
                }
        }
        if (!at || at >= i->span || bytes > i->span - at)
                return (struct table){ 0 };
        return (struct table){ i->bytes + at, bytes / entry };
}

/* Imports are all weak: there is no loader that knows them. */
static uint64_t symbol_value(const struct image *i, uint64_t number)
{
        const Elf64_Sym *s = (const void *)table_of(i, DT_SYMTAB, DT_SYMTAB, 1).at;

        if (!s || number >= IMAGE_MOST || (const uint8_t *)(s + number + 1) > i->bytes + i->span ||
            s[number].st_shndx == SHN_UNDEF)
                return 0;
        return i->base + s[number].st_value;
}

static bool relocate(struct image *i, const Elf64_Rela *r)
{
        uint64_t *word = r->r_offset <= i->span - sizeof *word ? (void *)(i->bytes + r->r_offset)
                                                               : NULL;

        if (!word)
                return false;
        switch (ELF64_R_TYPE(r->r_info)) {
        case ARCH_RELOCATION_RELATIVE: *word = i->base + (uint64_t)r->r_addend; return true;
        case ARCH_RELOCATION_SYMBOL: *word = symbol_value(i, ELF64_R_SYM(r->r_info)); return true;
        default: return false;
        }
}

bool image_place(struct image *i, uint64_t base, struct err *e)
{
        struct table r = table_of(i, DT_RELA, DT_RELASZ, sizeof(Elf64_Rela));

        i->base = base;
        for (size_t k = 0; k < r.count; k++)
                if (!relocate(i, (const Elf64_Rela *)(const void *)r.at + k))
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "the part of seep for running processes has a relocation "
                                       "that it should not have");
        return true;
}

uint64_t image_symbol(const struct image *i, const char *name)
{
        struct table hash = table_of(i, DT_HASH, DT_HASH, 1),
                     symbols = table_of(i, DT_SYMTAB, DT_SYMTAB, 1);
        struct table strings = table_of(i, DT_STRTAB, DT_STRSZ, 1);
        const Elf64_Sym *s = (const void *)symbols.at;
        uint32_t count;

        if (!hash.at || !s || !strings.at)
                return 0;
        memcpy(&count, hash.at + 4, sizeof count);
        for (uint32_t k = 1; k < count && (const uint8_t *)(s + k + 1) <= i->bytes + i->span; k++)
                if (s[k].st_shndx != SHN_UNDEF && s[k].st_name < strings.count &&
                    strcmp((const char *)strings.at + s[k].st_name, name) == 0)
                        return s[k].st_value;
        return 0;
}
