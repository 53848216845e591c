/* SPDX-License-Identifier: MIT */
/*
 * module_file.c -- what the file of a program or library tells about it where the agent has not
 * looked.
 *
 * Keeps:  the same file that was mapped, by its inode; bias and end as agent/object.c has them.
 */
#include "collect/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/procfs.h"
#include "base/page.h"
#include "ledger/ledger.h"

#define MODULE_NOTES 4096u /* bytes of notes that are looked at */
#define MODULE_START 4096u /* bytes of a file that are read at once */

static int open_same(const char *path, uint64_t inode)
{
        struct stat st;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != inode)) {
                close(fd);
                return -1;
        }
        return fd;
}

static int open_file(const char *path, struct module_file file)
{
        char seen[4200];
        int fd = -1;

        if (file.pid &&
            snprintf(seen, sizeof seen, "/proc/%u/root%s", (unsigned)procfs_living((pid_t)file.pid),
                     path) < (int)sizeof seen)
                fd = open_same(seen, file.inode);
        return fd >= 0 ? fd : open_same(path, file.inode);
}

/* A file, and its first bytes: headers and notes are there mostly, and a call for each
 * would take most of the time. */
struct look {
        int fd;
        uint8_t start[MODULE_START];
        size_t start_bytes;
};

static bool read_at(const struct look *l, void *out, size_t bytes, uint64_t at)
{
        if (at > l->start_bytes || bytes > l->start_bytes - at)
                return pread(l->fd, out, bytes, (off_t)at) == (ssize_t)bytes;
        memcpy(out, l->start + at, bytes);
        return true;
}

static void read_notes(const struct look *l, const Elf64_Phdr *h, struct profile_module *m)
{
        uint8_t notes[MODULE_NOTES];
        size_t bytes = h->p_filesz < sizeof notes ? h->p_filesz : sizeof notes;

        if (read_at(l, notes, bytes, h->p_offset))
                m->build_id_bytes = (uint32_t)elf_build_id(notes, bytes, false, m->build_id);
}

static void read_headers(const struct look *l, struct profile_module *m)
{
        uint64_t end = 0;
        Elf64_Ehdr e;
        Elf64_Phdr h;

        if (!read_at(l, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
            e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof h)
                return;
        for (uint32_t i = 0; i < e.e_phnum && read_at(l, &h, sizeof h, e.e_phoff + i * sizeof h);
             i++) {
                if (h.p_type == PT_NOTE && !m->build_id_bytes)
                        read_notes(l, &h, m);
                if (h.p_type != PT_LOAD)
                        continue;
                if (!end)
                        m->bias = m->start - ((h.p_vaddr - h.p_offset) & ~(page_bytes() - 1));
                end = m->bias + h.p_vaddr + h.p_memsz;
        }
        if (end > m->end)
                m->end = end;
}

void module_file_complete(struct profile_module *m, struct module_file file)
{
        struct look l;
        ssize_t got;

        if (m->flags & LEDGER_MODULE_READ || m->bias || m->build_id_bytes || m->path[0] != '/' ||
            m->flags & LEDGER_MODULE_ANONYMOUS)
                return;
        l.fd = open_file(m->path, file);
        if (l.fd < 0)
                return;
        got = pread(l.fd, l.start, sizeof l.start, 0);
        l.start_bytes = got > 0 ? (size_t)got : 0;
        read_headers(&l, m);
        close(l.fd);
}
