/* SPDX-License-Identifier: MIT */
/*
 * split.c -- debug information that was left in .dwo files or a .dwp package, joined with
 * what the program has of it.
 *
 * A unit's part of the package and the addresses it refers to, which are in the program,
 * are put into one ELF image in memory, under the names of ordinary sections.  libdw reads
 * that as it reads any file; only address ranges, which count from the base in the
 * skeleton, are decoded by ranges.c.
 */
#include "names/split.h"

#include <dwarf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/str.h"
#include "names/die.h"
#include "names/package.h"
#include "names/places.h"

struct split {
        struct package_unit parts;
        struct ranges ranges;
        struct str image;
        Elf *elf;
        Dwarf *dwarf;
        Dwarf_Die body;
};

struct split_file {
        int fd;
        Elf *elf;
        char *path;
};

struct splits {
        Dwarf *dwarf;
        const char *file, *recorded;
        struct file_search *search;
        struct split_file *files; /* opened, and kept for what points into them */
        size_t file_count;
        struct split **units;
        size_t unit_count;
};

struct splits *splits_new(Dwarf *dwarf, const char *file, const char *recorded,
                          struct file_search *search)
{
        struct splits *x = heap_zero(1, sizeof *x);

        *x = (struct splits){ .dwarf = dwarf, .file = file, .recorded = recorded,
                              .search = search };
        return x;
}

static void split_free(struct split *u)
{
        if (u->dwarf)
                dwarf_end(u->dwarf);
        if (u->elf)
                elf_end(u->elf);
        str_free(&u->image);
        free(u);
}

void splits_free(struct splits *x)
{
        if (!x)
                return;
        for (size_t i = 0; i < x->unit_count; i++)
                split_free(x->units[i]);
        for (size_t i = 0; i < x->file_count; i++) {
                elf_end(x->files[i].elf);
                close(x->files[i].fd);
                free(x->files[i].path);
        }
        free(x->units);
        free(x->files);
        free(x);
}

/* ---- files ---- */

static Elf *splits_open(struct splits *x, const char *path)
{
        struct split_file file = { .fd = -1 };

        for (size_t i = 0; i < x->file_count; i++)
                if (strcmp(x->files[i].path, path) == 0)
                        return x->files[i].elf;
        file.fd = binary_open(path);
        file.elf = file.fd >= 0 ? elf_begin(file.fd, ELF_C_READ_MMAP_PRIVATE, NULL) : NULL;
        if (!file.elf || elf_kind(file.elf) != ELF_K_ELF) {
                elf_end(file.elf);
                if (file.fd >= 0)
                        close(file.fd);
                return NULL;
        }
        file.path = heap_text(path);
        x->files = heap_grow(x->files, x->file_count + 1, sizeof *x->files);
        x->files[x->file_count++] = file;
        return file.elf;
}

/* ---- one image ---- */

struct image_section {
        const char *name;
        struct package_bytes bytes;
};

static void image_header(struct str *out, uint32_t count, uint64_t table)
{
        Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                         __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
                                                                                   : ELFDATA2MSB,
                                         EV_CURRENT },
                            .e_type = ET_EXEC,
                            .e_machine = EM_X86_64,
                            .e_version = EV_CURRENT,
                            .e_shoff = table,
                            .e_ehsize = sizeof head,
                            .e_shentsize = sizeof(Elf64_Shdr),
                            .e_shnum = (uint16_t)(count + 2),
                            .e_shstrndx = (uint16_t)(count + 1) };

        memcpy(out->data, &head, sizeof head);
}

static void image_pad(struct str *out)
{
        while (out->length % 16)
                str_char(out, 0);
}

/* An ELF file with these sections and nothing else. */
static void image_make(const struct image_section *sections, uint32_t count, struct str *out)
{
        Elf64_Shdr heads[PACKAGE_PART_COUNT + 4] = { { 0 } };
        struct str names = { 0 };
        static const char room[sizeof(Elf64_Ehdr)];

        str_bytes(out, room, sizeof room);
        str_char(&names, 0);
        for (uint32_t i = 0; i <= count; i++) {
                Elf64_Shdr *head = &heads[i + 1];

                *head = (Elf64_Shdr){ .sh_name = (uint32_t)names.length, .sh_type = SHT_PROGBITS,
                                      .sh_addralign = 1 };
                str_text(&names, i < count ? sections[i].name : ".shstrtab");
                str_char(&names, 0);
                image_pad(out);
                head->sh_offset = out->length;
                head->sh_size = i < count ? sections[i].bytes.size : names.length;
                str_bytes(out, i < count ? (const void *)sections[i].bytes.data : names.data,
                          head->sh_size);
        }
        heads[count + 1].sh_type = SHT_STRTAB;
        image_pad(out);
        image_header(out, count, out->length);
        str_bytes(out, heads, (count + 2) * sizeof heads[0]);
        str_free(&names);
}

/* The unit with the wanted id in the image; a .dwo file may hold type units too. */
static bool split_enter(struct split *u, uint64_t id)
{
        Dwarf_CU *cu = NULL;
        Dwarf_Half version;
        uint64_t found;
        uint8_t type;

        while (dwarf_get_units(u->dwarf, cu, &cu, &version, &type, &u->body, NULL) == 0)
                if (dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &found, &u->ranges.address_bytes,
                                  NULL) == 0 &&
                    found == id && type == DW_UT_split_compile) {
                        u->ranges.version = (uint8_t)version;
                        if (version >= 5)
                                u->ranges.lists = u->parts.part[PACKAGE_RNGLISTS];
                        return true;
                }
        return false;
}

static bool split_load(struct split *u, uint64_t id)
{
        struct image_section sections[PACKAGE_PART_COUNT + 1];
        uint32_t count = 0;

        for (int part = 0; part < PACKAGE_PART_COUNT; part++)
                if (u->parts.part[part].data && part != PACKAGE_RNGLISTS)
                        sections[count++] = (struct image_section){ package_names[part],
                                                                    u->parts.part[part] };
        if (u->ranges.addresses.data)
                sections[count++] = (struct image_section){ ".debug_addr", u->ranges.addresses };
        str_clear(&u->image);
        image_make(sections, count, &u->image);
        u->elf = elf_memory(u->image.data, u->image.length);
        u->dwarf = u->elf ? dwarf_begin_elf(u->elf, DWARF_C_READ, NULL) : NULL;
        if (u->dwarf && split_enter(u, id))
                return true;
        if (u->dwarf)
                dwarf_end(u->dwarf);
        if (u->elf)
                elf_end(u->elf);
        u->dwarf = NULL;
        u->elf = NULL;
        return false;
}

/* ---- finding ---- */

struct split_hunt {
        struct splits *splits;
        struct split *unit;
        uint64_t id;
};

static bool hunt_visit(void *context, const char *path)
{
        struct split_hunt *h = context;
        Elf *elf;

        if (access(path, R_OK) != 0)
                return false;
        elf = splits_open(h->splits, path);
        if (!elf)
                return false;
        if (binary_section(elf, ".debug_cu_index"))
                return package_find(elf, h->id, &h->unit->parts) && split_load(h->unit, h->id);
        return package_whole(elf, &h->unit->parts) && split_load(h->unit, h->id);
}

static uint64_t die_offset(Dwarf_Die *die, unsigned name, unsigned older_name)
{
        uint64_t value = 0;

        if (!die_number(die, name, &value) && older_name)
                die_number(die, older_name, &value);
        return value;
}

/* PATH and, beside the program that was found, its last part. */
static bool hunt_path(struct split_hunt *h, const char *path)
{
        struct profile_module wanted = { .path = (char *)(uintptr_t)path };
        const char *file = h->splits->file, *slash = file ? strrchr(file, '/') : NULL,
                   *base = strrchr(path, '/');
        struct str beside = { 0 };
        bool found = false;

        if (slash) {
                str_bytes(&beside, file, (size_t)(slash - file) + 1);
                str_text(&beside, base ? base + 1 : path);
                found = hunt_visit(h, str_get(&beside));
        }
        found = found || places_walk(&wanted, &h->splits->search->options, hunt_visit, h);
        str_free(&beside);
        return found;
}

static bool hunt_package(struct split_hunt *h)
{
        struct str path = { 0 };
        bool found = false;

        if (h->splits->file) {
                str_format(&path, "%s.dwp", h->splits->file);
                found = hunt_visit(h, str_get(&path));
        }
        str_clear(&path);
        str_format(&path, "%s.dwp", h->splits->recorded);
        found = found || hunt_path(h, str_get(&path));
        str_free(&path);
        return found;
}

static bool hunt_object(struct split_hunt *h, Dwarf_Die *skeleton)
{
        const char *name = die_text(skeleton, DW_AT_dwo_name),
                   *dir = die_text(skeleton, DW_AT_comp_dir);
        struct str path = { 0 };
        bool found;

        if (!name)
                name = die_text(skeleton, DW_AT_GNU_dwo_name);
        if (!name)
                return false;
        if (name[0] != '/' && dir)
                str_format(&path, "%s/", dir);
        str_text(&path, name);
        found = hunt_path(h, str_get(&path));
        str_free(&path);
        return found;
}

static struct package_bytes section_from(Elf *elf, const char *name, uint64_t offset)
{
        Elf_Data *data = elf ? binary_section(elf, name) : NULL;

        if (!data || offset >= data->d_size)
                return (struct package_bytes){ 0 };
        return (struct package_bytes){ (const uint8_t *)data->d_buf + offset,
                                       data->d_size - offset };
}

const struct split *splits_find(struct splits *x, Dwarf_Die *skeleton, Dwarf_Die *body)
{
        struct split *u = heap_zero(1, sizeof *u);
        struct split_hunt hunt = { .splits = x, .unit = u };
        Elf *elf = dwarf_getelf(x->dwarf);

        u->ranges.addresses = section_from(elf, ".debug_addr",
                                           die_offset(skeleton, DW_AT_addr_base,
                                                      DW_AT_GNU_addr_base));
        u->ranges.lists = section_from(elf, ".debug_ranges",
                                       die_offset(skeleton, DW_AT_GNU_ranges_base, 0));
        dwarf_lowpc(skeleton, &u->ranges.base);
        if (dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &hunt.id, NULL, NULL) != 0 ||
            !(hunt_package(&hunt) || hunt_object(&hunt, skeleton))) {
                split_free(u);
                return NULL;
        }
        x->units = heap_grow(x->units, x->unit_count + 1, sizeof *x->units);
        x->units[x->unit_count++] = u;
        *body = u->body;
        return u;
}

bool split_ranges(const struct split *u, Dwarf_Die *die, ranges_visit *visit, void *context)
{
        const uint8_t *end = (const uint8_t *)u->image.data + u->image.length;
        Dwarf_Addr start, behind;
        Dwarf_Attribute attr;

        if (dwarf_attr(die, DW_AT_ranges, &attr))
                return ranges_walk(&u->ranges, &attr, end, visit, context);
        return dwarf_lowpc(die, &start) == 0 && dwarf_highpc(die, &behind) == 0 && start < behind &&
               visit(context, start, behind);
}
