/* SPDX-License-Identifier: MIT */
#include "scan/suppressions.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "base/heap.h"
#include "base/page.h"

#define FUNCTION "__lsan_default_suppressions"
#define CODE_BYTES 32u
#define TEXT_BYTES 65536u

/* ---- the function ---- */

static uint64_t find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
        Elf_Data *data = elf_getdata(section, NULL);
        uint64_t count = data && head->sh_entsize ? head->sh_size / head->sh_entsize : 0;

        for (uint64_t i = 0; i < count; i++) {
                GElf_Sym symbol;
                const char *name = gelf_getsym(data, (int)i, &symbol)
                                           ? elf_strptr(elf, head->sh_link, symbol.st_name)
                                           : NULL;

                if (name && symbol.st_shndx != SHN_UNDEF && strcmp(name, FUNCTION) == 0)
                        return symbol.st_value;
        }
        return 0;
}

static uint64_t find_function(Elf *elf)
{
        uint64_t address = 0;

        for (Elf_Scn *section = NULL; !address && (section = elf_nextscn(elf, section));) {
                GElf_Shdr head;

                if (gelf_getshdr(section, &head) &&
                    (head.sh_type == SHT_SYMTAB || head.sh_type == SHT_DYNSYM))
                        address = find_in_table(elf, section, &head);
        }
        return address;
}

static uint64_t find_in_file(const struct freeze *f, const struct profile_module *m)
{
        char path[4200];
        uint64_t address = 0;
        Elf *elf;
        int fd;

        if (snprintf(path, sizeof path, "%s%s", f->root, m->path) >= (int)sizeof path)
                return 0;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL)
                                                            : NULL;
        if (elf)
                address = find_function(elf);
        elf_end(elf);
        if (fd >= 0)
                close(fd);
        return address ? address + m->bias : 0;
}

/* ---- what it returns ---- */

static uint64_t pointer_at(const struct freeze *f, uint64_t address)
{
        uint64_t pointer = 0;

        return freeze_words(f, address, &pointer, 1) ? pointer : 0;
}

/* By pages: what lies behind the text may not be there. */
static char *read_text(const struct freeze *f, uint64_t address)
{
        char *text = heap_zero(TEXT_BYTES + 1, 1);
        size_t used = 0, got = 1, want = 1;

        while (used < TEXT_BYTES && got == want && !memchr(text, 0, used)) {
                want = page_bytes() - (address + used) % page_bytes();
                want = want < TEXT_BYTES - used ? want : TEXT_BYTES - used;
                got = freeze_read(f, address + used, text + used, want);
                used += got;
        }
        return text;
}

char *suppressions_of_program(const struct freeze *f, const struct profile *p)
{
        uint8_t code[CODE_BYTES];

        for (uint32_t i = 0; i < p->module_count; i++) {
                uint64_t address, text;
                bool load;

                if (p->modules[i].gone_ms || strcmp(p->modules[i].path, p->meta.exe) != 0)
                        continue;
                address = find_in_file(f, &p->modules[i]);
                if (!address || freeze_read(f, address, code, sizeof code) != sizeof code)
                        continue;
                text = arch_returned(code, sizeof code, address, &load);
                if (load)
                        text = pointer_at(f, text);
                if (text)
                        return read_text(f, text);
        }
        return heap_text("");
}
