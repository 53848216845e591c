/* SPDX-License-Identifier: MIT */
/*
 * A package is made here by hand, byte by byte as the DWARF standard has it, then damaged in every
 * byte of its index.
 */
#include "tap.h"

#include <elf.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/str.h"
#include "names/package.h"

static void word(struct str *s, uint32_t value)
{
        str_bytes(s, &value, 4);
}

static void wide(struct str *s, uint64_t value)
{
        str_bytes(s, &value, 8);
}

/* Two units; the first in row 1 has id 11, the second 22. */
static void make_index(struct str *s, uint32_t version)
{
        word(s, version);
        word(s, 3); /* columns */
        word(s, 2); /* units */
        word(s, 4); /* slots */
        wide(s, 0), wide(s, 22), wide(s, 0), wide(s, 11);
        word(s, 0), word(s, 2), word(s, 0), word(s, 1);
        word(s, 1), word(s, 3), word(s, 6); /* info, abbrev, str_offsets */
        word(s, 0), word(s, 0), word(s, 0);
        word(s, 4), word(s, 3), word(s, 2);
        word(s, 4), word(s, 3), word(s, 2);
        word(s, 6), word(s, 2), word(s, 3);
}

struct piece {
        const char *name;
        struct str bytes;
};

static void make_elf(struct piece *pieces, uint32_t count, struct str *out)
{
        Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                         ELFDATA2LSB, EV_CURRENT },
                            .e_type = ET_REL,
                            .e_machine = EM_X86_64,
                            .e_version = EV_CURRENT,
                            .e_ehsize = sizeof head,
                            .e_shentsize = sizeof(Elf64_Shdr),
                            .e_shnum = (uint16_t)(count + 2),
                            .e_shstrndx = (uint16_t)(count + 1) };
        Elf64_Shdr sections[8] = { { 0 } };
        struct str names = { 0 };

        str_bytes(out, &head, sizeof head);
        str_char(&names, 0);
        for (uint32_t i = 0; i <= count; i++) {
                sections[i + 1] = (Elf64_Shdr){ .sh_name = (uint32_t)names.length,
                                                .sh_type = SHT_PROGBITS,
                                                .sh_offset = out->length,
                                                .sh_addralign = 1 };
                str_text(&names, i < count ? pieces[i].name : ".shstrtab");
                str_char(&names, 0);
                sections[i + 1].sh_size = i < count ? pieces[i].bytes.length : names.length;
                str_bytes(out, i < count ? pieces[i].bytes.data : names.data,
                          sections[i + 1].sh_size);
        }
        sections[count + 1].sh_type = SHT_STRTAB;
        while (out->length % 8)
                str_char(out, 0);
        head.e_shoff = out->length;
        memcpy(out->data, &head, sizeof head);
        str_bytes(out, sections, (count + 2) * sizeof sections[0]);
        str_free(&names);
}

static void make_package(struct str *out, uint32_t version, size_t *index_at)
{
        struct piece pieces[] = { { ".debug_cu_index", { 0 } },
                                  { ".debug_info.dwo", { 0 } },
                                  { ".debug_abbrev.dwo", { 0 } },
                                  { ".debug_str_offsets.dwo", { 0 } },
                                  { ".debug_str.dwo", { 0 } } };

        make_index(&pieces[0].bytes, version);
        str_text(&pieces[1].bytes, "III1iiiii2");
        str_text(&pieces[2].bytes, "AA1a2");
        str_text(&pieces[3].bytes, "S1ss2");
        str_text(&pieces[4].bytes, "common");
        make_elf(pieces, 5, out);
        *index_at = sizeof(Elf64_Ehdr);
        for (int i = 0; i < 5; i++)
                str_free(&pieces[i].bytes);
}

static void check_part(const struct package_unit *u, enum package_part part, const char *expected)
{
        is_equal(u->part[part].size, strlen(expected));
        is_true(u->part[part].data && memcmp(u->part[part].data, expected, strlen(expected)) == 0);
}

TEST(a_unit_is_found_by_its_id)
{
        for (uint32_t version = 2; version <= 5; version += 3) {
                struct str file = { 0 };
                struct package_unit u;
                size_t index_at;
                Elf *elf;

                make_package(&file, version, &index_at);
                elf = elf_memory(file.data, file.length);
                is_true(package_find(elf, 22, &u));
                check_part(&u, PACKAGE_INFO, "iiiii2");
                check_part(&u, PACKAGE_ABBREV, "a2");
                check_part(&u, PACKAGE_STR_OFFSETS, "ss2");
                check_part(&u, PACKAGE_STR, "common");
                is_true(u.part[PACKAGE_LINE].data == NULL);
                is_true(package_find(elf, 11, &u));
                check_part(&u, PACKAGE_INFO, "III1");
                check_part(&u, PACKAGE_ABBREV, "AA1");
                is_true(!package_find(elf, 33, &u));
                is_true(!package_find(elf, 0, &u));
                elf_end(elf);
                str_free(&file);
        }
}

/* What is found then may be wrong, but it lies inside the file. */
TEST(a_damaged_index_leads_nowhere_outside)
{
        struct str file = { 0 };
        size_t index_at;

        make_package(&file, 5, &index_at);
        for (size_t at = 0; at < 140; at++)
                for (int value = 0; value < 256; value += at < 20 ? 1 : 51) {
                        char before = file.data[index_at + at];
                        struct package_unit u;
                        Elf *elf;

                        file.data[index_at + at] = (char)value;
                        elf = elf_memory(file.data, file.length);
                        for (uint64_t id = 11; id <= 22; id += 11)
                                if (package_find(elf, id, &u))
                                        for (int part = 0; part < PACKAGE_PART_COUNT; part++) {
                                                const char *data = (const char *)u.part[part].data;

                                                is_true(!data || (data >= file.data &&
                                                                  data + u.part[part].size <=
                                                                          file.data + file.length));
                                        }
                        elf_end(elf);
                        file.data[index_at + at] = before;
                }
        str_free(&file);
}

TEST(libelf_is_ready)
{
        is_true(elf_version(EV_CURRENT) != EV_NONE);
}

TAP_MAIN(libelf_is_ready, a_unit_is_found_by_its_id, a_damaged_index_leads_nowhere_outside)
