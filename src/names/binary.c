/* SPDX-License-Identifier: MIT */
#include "names/binary.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/heap.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define BINARY_SECTION_MAX (2ull << 30) /* of one section, unpacked */
#define BINARY_TOTAL_MAX (4ull << 30)   /* of all of them */

static int binary_open_file(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

static const char *binary_section_name(Elf *elf, Elf_Scn *section, GElf_Shdr *head)
{
        size_t names;

        if (!gelf_getshdr(section, head) || elf_getshdrstrndx(elf, &names) != 0)
                return "";
        return elf_strptr(elf, names, head->sh_name) ?: "";
}

static bool binary_has_lines(Elf *elf)
{
        Elf_Scn *section = NULL;
        GElf_Shdr head;

        while ((section = elf_nextscn(elf, section))) {
                const char *name = binary_section_name(elf, section, &head);

                if (head.sh_type != SHT_NOBITS &&
                    (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
                        return true;
        }
        return false;
}

static enum binary_fit binary_judge(Elf *elf, const struct profile_module *wanted)
{
        const void *id;
        ssize_t bytes;

        if (!elf || elf_kind(elf) != ELF_K_ELF)
                return BINARY_NONE;
        bytes = dwelf_elf_gnu_build_id(elf, &id);
        if (wanted->build_id_bytes && (bytes != (ssize_t)wanted->build_id_bytes ||
                                       memcmp(id, wanted->build_id, (size_t)bytes) != 0))
                return BINARY_OTHER;
        return binary_has_lines(elf) ? BINARY_LINES : BINARY_NAMES;
}

enum binary_fit binary_examine(const char *path, const struct profile_module *wanted)
{
        int fd = binary_open_file(path);
        enum binary_fit fit;
        Elf *elf;

        if (fd < 0)
                return BINARY_NONE;
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        fit = binary_judge(elf, wanted);
        elf_end(elf);
        close(fd);
        return fit;
}

uint32_t binary_build_id(const char *path, uint8_t id[20])
{
        int fd = binary_open_file(path);
        char magic[SELFMAG];
        const void *found;
        ssize_t bytes = 0;
        Elf *elf;

        if (fd < 0)
                return 0;
        if (pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0) {
                elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
                bytes = elf ? dwelf_elf_gnu_build_id(elf, &found) : 0;
                if (bytes < 0 || bytes > 20)
                        bytes = 0;
                if (bytes)
                        memcpy(id, found, (size_t)bytes);
                elf_end(elf);
        }
        close(fd);
        return (uint32_t)bytes;
}

char *binary_link(const char *path)
{
        int fd = binary_open_file(path);
        Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
        GElf_Word crc;
        char *link = elf ? heap_text(dwelf_elf_gnu_debuglink(elf, &crc)) : NULL;

        elf_end(elf);
        if (fd >= 0)
                close(fd);
        return link;
}

/* ---- sections packed by zstd ---- */

static bool binary_is_zstd(Elf_Scn *section, GElf_Shdr *head, GElf_Chdr *packed)
{
        return gelf_getshdr(section, head) && (head->sh_flags & SHF_COMPRESSED) &&
               head->sh_type != SHT_NOBITS && gelf_getchdr(section, packed) &&
               packed->ch_type == ELFCOMPRESS_ZSTD;
}

static bool binary_has_zstd(int fd)
{
        Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        Elf_Scn *section = NULL;
        bool found = false;
        GElf_Shdr head;
        GElf_Chdr packed;

        while (elf && !found && (section = elf_nextscn(elf, section)))
                found = binary_is_zstd(section, &head, &packed);
        elf_end(elf);
        return found;
}

static int binary_copy(int fd)
{
        int copy = memfd_create("unpacked", MFD_CLOEXEC);
        off_t at = 0;
        ssize_t n;

        if (copy < 0)
                return -1;
        while ((n = sendfile(copy, fd, &at, 1u << 30)) > 0)
                continue;
        if (n == 0)
                return copy;
        close(copy);
        return -1;
}

/* The contents of one section; NULL: it is not what it says. */
static void *binary_unpack(Elf_Data *data, const GElf_Chdr *packed, size_t head_bytes)
{
        void *plain;
        size_t got;

        if (!data || data->d_size < head_bytes || packed->ch_size > BINARY_SECTION_MAX)
                return NULL;
        plain = heap_zero(packed->ch_size, 1);
        got = ZSTD_decompress(plain, packed->ch_size, (char *)data->d_buf + head_bytes,
                              data->d_size - head_bytes);
        if (got == packed->ch_size)
                return plain;
        free(plain);
        return NULL;
}

struct binary_unpacking {
        Elf *elf;
        uint64_t end; /* of the file, where unpacked sections go */
        uint64_t total;
        void **buffers; /* to be kept until the file is written */
        size_t count;
};

static bool binary_unpack_section(struct binary_unpacking *u, Elf_Scn *section)
{
        size_t head_bytes = gelf_getclass(u->elf) == ELFCLASS64 ? sizeof(Elf64_Chdr)
                                                                : sizeof(Elf32_Chdr);
        Elf_Data *data;
        GElf_Shdr head;
        GElf_Chdr packed;
        void *plain;

        if (!binary_is_zstd(section, &head, &packed))
                return true;
        data = elf_getdata(section, NULL);
        u->total += packed.ch_size;
        plain = u->total <= BINARY_TOTAL_MAX ? binary_unpack(data, &packed, head_bytes) : NULL;
        if (!plain)
                return false;
        u->buffers = heap_grow(u->buffers, u->count + 1, sizeof *u->buffers);
        u->buffers[u->count++] = plain;
        data->d_buf = plain;
        data->d_size = packed.ch_size;
        data->d_type = ELF_T_BYTE;
        data->d_align = packed.ch_addralign;
        u->end = (u->end + 15) & ~15ull;
        head.sh_offset = u->end;
        head.sh_size = packed.ch_size;
        head.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
        head.sh_addralign = packed.ch_addralign;
        u->end += head.sh_size;
        elf_flagdata(data, ELF_C_SET, ELF_F_DIRTY);
        return gelf_update_shdr(section, &head) != 0;
}

static bool binary_unpack_all(int fd)
{
        struct binary_unpacking u = { .elf = elf_begin(fd, ELF_C_RDWR, NULL) };
        Elf_Scn *section = NULL;
        struct stat st;
        bool good = u.elf && fstat(fd, &st) == 0;

        u.end = good ? (uint64_t)st.st_size : 0;
        while (good && (section = elf_nextscn(u.elf, section)))
                good = binary_unpack_section(&u, section);
        if (good) {
                elf_flagelf(u.elf, ELF_C_SET, ELF_F_LAYOUT);
                good = elf_update(u.elf, ELF_C_WRITE) >= 0;
        }
        elf_end(u.elf);
        for (size_t i = 0; i < u.count; i++)
                free(u.buffers[i]);
        free(u.buffers);
        return good;
}

int binary_open(const char *path)
{
        int fd = binary_open_file(path), copy;

        if (fd < 0 || !binary_has_zstd(fd))
                return fd;
        copy = binary_copy(fd);
        if (copy >= 0 && !binary_unpack_all(copy)) {
                close(copy);
                copy = -1;
        }
        if (copy < 0)
                return fd;
        close(fd);
        return copy;
}

Elf_Data *binary_section(Elf *elf, const char *name)
{
        GElf_Shdr head;

        return binary_section_head(elf, name, &head);
}

Elf_Data *binary_section_head(Elf *elf, const char *name, GElf_Shdr *head)
{
        Elf_Scn *section = NULL;

        while ((section = elf_nextscn(elf, section))) {
                if (strcmp(binary_section_name(elf, section, head), name) != 0 ||
                    head->sh_type == SHT_NOBITS)
                        continue;
                if ((head->sh_flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0)
                        return NULL;
                return elf_getdata(section, NULL);
        }
        return NULL;
}
