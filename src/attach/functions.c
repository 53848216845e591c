/* SPDX-License-Identifier: MIT */
#include "attach/functions.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"

#define FUNCTIONS_MOST (64u << 20)

struct functions_file {
        int fd;
        Elf *elf;
};

static void add_section(struct functions *f, Elf_Scn *scn, const GElf_Shdr *head)
{
        Elf_Data *data = elf_getdata(scn, NULL);
        size_t entry = head->sh_entsize, count = data && entry ? data->d_size / entry : 0;

        if (count > FUNCTIONS_MOST - f->count)
                count = FUNCTIONS_MOST - f->count;
        if (!count)
                return;
        f->at = heap_grow(f->at, f->count + count, sizeof *f->at);
        for (size_t i = 0; i < count; i++) {
                GElf_Sym s;
                const char *name;
                int type;

                if (!gelf_getsym(data, (int)i, &s) || s.st_shndx == SHN_UNDEF || !s.st_value)
                        continue;
                type = GELF_ST_TYPE(s.st_info);
                name = type == STT_FUNC || type == STT_GNU_IFUNC
                               ? elf_strptr(f->file->elf, head->sh_link, s.st_name)
                               : NULL;
                if (!name || !*name)
                        continue;
                f->at[f->count++] = (struct function){
                        .name = name, .address = s.st_value, .size = s.st_size,
                        .resolver = type == STT_GNU_IFUNC, .exported = head->sh_type == SHT_DYNSYM,
                };
        }
}

static int by_address(const void *a, const void *b)
{
        const struct function *x = a, *y = b;

        return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
                                        : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
        const struct function *x = a, *y = b;
        int order = strcmp(x->name, y->name);

        return order ? order : by_address(a, b);
}

static void free_name(const struct functions *f, const struct function *one)
{
        if (f->recognized)
                free((char *)one->name);
}

/* Both tables may have the same: one of each is kept, exported if either is. */
void functions_sort(struct functions *f)
{
        uint32_t kept = 0;
        uint64_t next = 0;

        if (!f->count)
                return;
        qsort(f->at, f->count, sizeof *f->at, by_address);
        for (uint32_t i = f->count; i-- > 0;) {
                if (i + 1 < f->count && f->at[i + 1].address != f->at[i].address)
                        next = f->at[i + 1].address;
                f->at[i].room = next && !f->recognized ? next - f->at[i].address : 0;
        }
        qsort(f->at, f->count, sizeof *f->at, by_name);
        for (uint32_t i = 0; i < f->count; i++) {
                struct function *last = kept ? &f->at[kept - 1] : NULL;

                if (!last || by_name(last, &f->at[i]) != 0) {
                        f->at[kept++] = f->at[i];
                        continue;
                }
                last->exported = last->exported || f->at[i].exported;
                free_name(f, &f->at[i]);
        }
        f->count = kept;
}

bool functions_read(struct functions *f, int fd, struct err *e)
{
        Elf_Scn *scn = NULL;
        GElf_Shdr head;

        *f = (struct functions){ .file = heap_zero(1, sizeof *f->file) };
        elf_version(EV_CURRENT);
        f->file->fd = dup(fd);
        f->file->elf = f->file->fd >= 0 ? elf_begin(f->file->fd, ELF_C_READ_MMAP, NULL) : NULL;
        if (!f->file->elf || elf_kind(f->file->elf) != ELF_K_ELF) {
                functions_free(f);
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "not an ELF file");
        }
        while ((scn = elf_nextscn(f->file->elf, scn)))
                if (gelf_getshdr(scn, &head) &&
                    (head.sh_type == SHT_DYNSYM || head.sh_type == SHT_SYMTAB))
                        add_section(f, scn, &head);
        functions_sort(f);
        return true;
}

void functions_free(struct functions *f)
{
        if (f->file) {
                if (f->file->elf)
                        elf_end(f->file->elf);
                if (f->file->fd >= 0)
                        close(f->file->fd);
        }
        for (uint32_t i = 0; i < f->count; i++)
                free_name(f, &f->at[i]);
        free(f->file);
        free(f->at);
        *f = (struct functions){ 0 };
}

const struct function *functions_find(const struct functions *f, const char *name, uint32_t *count)
{
        uint32_t low = 0, high = f->count, end;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (strcmp(f->at[middle].name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (end = low; end < f->count && strcmp(f->at[end].name, name) == 0; end++)
                ;
        *count = end - low;
        return *count ? &f->at[low] : NULL;
}
