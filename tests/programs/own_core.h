/* SPDX-License-Identifier: MIT */
/*
 * own_core.h -- a program writes its own core file, as the kernel of its processor would: for
 * programs that an emulator runs, whose kernel would write one of the emulator.
 *
 * Nothing is allocated.  Threads that are to be in it call core_enter() and stay; the caller of
 * core_write() is the first.  SP is __builtin_frame_address(0) of the caller: what lies below are
 * frames of these functions, with old words in them.
 */
#ifndef SEEP_TESTS_PROGRAMS_OWN_CORE_H
#define SEEP_TESTS_PROGRAMS_OWN_CORE_H

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CORE_MAPS 512
#define CORE_THREADS 64

struct core_thread {
        int tid;
        uint64_t sp, tp;
};

static struct core_thread core_threads[CORE_THREADS];
static int core_thread_count;

static struct {
        uint64_t start, end, offset;
        unsigned flags;
        char path[256];
} core_maps[CORE_MAPS];
static int core_map_count;

static void *core_thread_pointer(void)
{
#if defined(__powerpc__)
        register void *r2 __asm__("r2");

        return r2;
#else
        return __builtin_thread_pointer();
#endif
}

static void core_enter(void *sp)
{
        core_threads[__atomic_fetch_add(&core_thread_count, 1, __ATOMIC_SEQ_CST)] =
                (struct core_thread){ (int)syscall(SYS_gettid), (uintptr_t)sp,
                                      (uintptr_t)core_thread_pointer() };
}

static void core_take_map(char *line)
{
        char rights[8] = "", *at;

        if (core_map_count == CORE_MAPS)
                abort();
        core_maps[core_map_count].start = strtoull(line, &at, 16);
        core_maps[core_map_count].end = strtoull(at + 1, &at, 16);
        memcpy(rights, at + 1, 4);
        core_maps[core_map_count].offset = strtoull(at + 6, &at, 16);
        core_maps[core_map_count].flags = (rights[0] == 'r' ? PF_R : 0) |
                                          (rights[1] == 'w' ? PF_W : 0) |
                                          (rights[2] == 'x' ? PF_X : 0);
        at = strchr(at, '/');
        strncpy(core_maps[core_map_count++].path, at ? at : "", sizeof core_maps->path - 1);
}

/* Where a loader has protected what it wrote (RELRO) right behind code, an emulator may show both
 * as one mapping: they are two. */
static int core_split(struct dl_phdr_info *object, size_t bytes, void *context)
{
        uint64_t at = 0;
        int i = 0;

        (void)bytes;
        (void)context;
        for (int k = 0; k < object->dlpi_phnum; k++)
                if (object->dlpi_phdr[k].p_type == PT_GNU_RELRO)
                        at = (object->dlpi_addr + object->dlpi_phdr[k].p_vaddr) & ~4095ull;
        while (i < core_map_count && !(at > core_maps[i].start && at < core_maps[i].end))
                i++;
        if (i == core_map_count || !(core_maps[i].flags & PF_X))
                return 0;
        if (core_map_count == CORE_MAPS)
                abort();
        memmove(&core_maps[i + 1], &core_maps[i],
                (size_t)(core_map_count++ - i) * sizeof *core_maps);
        core_maps[i].end = core_maps[i + 1].start = at;
        core_maps[i + 1].offset += at - core_maps[i].start;
        core_maps[i + 1].flags = PF_R;
        return 0;
}

static void core_read_maps(void)
{
        static char text[65536];
        int fd = open("/proc/self/maps", O_RDONLY);
        size_t have = 0;
        ssize_t n;

        while ((n = read(fd, text + have, sizeof text - 1 - have)) > 0)
                have += (size_t)n;
        close(fd);
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
                *end = 0;
                core_take_map(line);
        }
        dl_iterate_phdr(core_split, NULL);
}

static char core_notes[65536];
static size_t core_note_bytes;

static void core_note(unsigned type, const void *data, size_t bytes)
{
        ElfW(Nhdr) h = { 5, (ElfW(Word))bytes, type };

        memcpy(core_notes + core_note_bytes, &h, sizeof h);
        memcpy(core_notes + core_note_bytes + sizeof h, "CORE", 5);
        memcpy(core_notes + core_note_bytes + sizeof h + 8, data, bytes);
        core_note_bytes += sizeof h + 8 + ((bytes + 3) & ~(size_t)3);
}

static void core_note_thread(const struct core_thread *t, int signal)
{
        struct elf_prstatus status;
        unsigned long words[48] = { 0 }; /* the kernel of arm tells the thread pointer nowhere */

        memset(&status, 0, sizeof status);
        status.pr_cursig = (short)signal;
        status.pr_pid = t->tid;
#if defined(__aarch64__)
        words[31] = t->sp;
        words[32] = (uintptr_t)&core_note_thread;
#elif defined(__arm__)
        words[13] = (unsigned long)t->sp;
        words[15] = (uintptr_t)&core_note_thread;
#elif defined(__s390x__)
        words[1] = (uintptr_t)&core_note_thread;
        words[17] = t->sp;
        words[18] = t->tp;
#elif defined(__powerpc__)
        words[1] = (unsigned long)t->sp;
        words[2] = (unsigned long)t->tp;
        words[32] = (uintptr_t)&core_note_thread;
#elif defined(__riscv)
        words[0] = (uintptr_t)&core_note_thread;
        words[2] = t->sp;
        words[4] = t->tp;
#elif defined(__x86_64__)
        words[16] = (uintptr_t)&core_note_thread;
        words[19] = t->sp;
        words[21] = t->tp;
#endif
        memcpy(&status.pr_reg, words, sizeof status.pr_reg);
        core_note(NT_PRSTATUS, &status, sizeof status);
#if defined(__aarch64__)
        core_note(NT_ARM_TLS, &t->tp, sizeof t->tp);
#endif
}

static void core_note_files(void)
{
        static char note[32768];
        unsigned long *head = (unsigned long *)note, *row = head + 2;
        char *names;

        head[1] = 1;
        for (int i = 0; i < core_map_count; i++)
                if (core_maps[i].path[0]) {
                        *row++ = (unsigned long)core_maps[i].start;
                        *row++ = (unsigned long)core_maps[i].end;
                        *row++ = (unsigned long)core_maps[i].offset;
                        head[0]++;
                }
        names = (char *)row;
        for (int i = 0; i < core_map_count; i++)
                if (core_maps[i].path[0])
                        names = strcpy(names, core_maps[i].path) + strlen(core_maps[i].path) + 1;
        core_note(NT_FILE, note, (size_t)(names - note));
}

static void core_make_notes(const char *program)
{
        static char auxiliary[4096];
        struct elf_prpsinfo info;
        int fd = open("/proc/self/auxv", O_RDONLY);
        ssize_t n = read(fd, auxiliary, sizeof auxiliary);

        close(fd);
        memset(&info, 0, sizeof info);
        info.pr_pid = getpid();
        strncpy(info.pr_psargs, program, sizeof info.pr_psargs - 1);
        core_note(NT_PRPSINFO, &info, sizeof info);
        core_note_thread(&core_threads[core_thread_count - 1], 11);
        for (int i = 0; i < core_thread_count - 1; i++)
                core_note_thread(&core_threads[i], 0);
        core_note(NT_AUXV, auxiliary, n > 0 ? (size_t)n : 0);
        core_note_files();
}

/* Code is in its file, and the core has its first page at most.  What a loader wrote and then
 * protected (RELRO) looks like constants. */
static uint64_t core_stored(int i)
{
        uint64_t bytes = core_maps[i].end - core_maps[i].start;

        if (!(core_maps[i].flags & PF_R))
                return 0;
        return core_maps[i].path[0] && (core_maps[i].flags & PF_X)
                       ? (core_maps[i].offset ? 0 : 4096)
                       : bytes;
}

static void core_write(const char *path, const char *program, void *sp)
{
        static ElfW(Phdr) h[CORE_MAPS + 1];
        ElfW(Ehdr) head = { .e_type = ET_CORE,
                            .e_version = 1,
                            .e_phoff = sizeof head,
                            .e_ehsize = sizeof head,
                            .e_phentsize = sizeof *h };
        uint64_t at = 1 << 20;
        int fd;

        core_enter(sp);
        core_read_maps();
        core_make_notes(program);
        memcpy(head.e_ident, ELFMAG, SELFMAG);
        head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
        head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
                                                                          : ELFDATA2MSB;
        head.e_ident[EI_VERSION] = 1;
#if defined(__aarch64__)
        head.e_machine = EM_AARCH64;
#elif defined(__riscv)
        head.e_machine = EM_RISCV;
#elif defined(__arm__)
        head.e_machine = EM_ARM;
#elif defined(__s390x__)
        head.e_machine = EM_S390;
#elif defined(__powerpc__)
        head.e_machine = EM_PPC;
#else
        head.e_machine = EM_X86_64;
#endif
        head.e_phnum = (uint16_t)(core_map_count + 1);
        h[0] = (ElfW(
                Phdr)){ .p_type = PT_NOTE, .p_offset = 512 << 10, .p_filesz = core_note_bytes };
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        for (int i = 0; i < core_map_count; i++) {
                h[i + 1] = (ElfW(Phdr)){ .p_type = PT_LOAD,
                                         .p_flags = core_maps[i].flags,
                                         .p_offset = (ElfW(Off))at,
                                         .p_vaddr = (ElfW(Addr))core_maps[i].start,
                                         .p_filesz = (ElfW(Addr))core_stored(i),
                                         .p_memsz = (ElfW(Addr))(core_maps[i].end -
                                                                 core_maps[i].start) };
                /* What cannot be read (a gap of the emulator's) stays a hole. */
                for (uint64_t k = 0; k < h[i + 1].p_filesz; k += 4096)
                        if (pwrite(fd, (void *)(uintptr_t)(core_maps[i].start + k), 4096,
                                   (off_t)(at + k)) != 4096)
                                continue;
                at += h[i + 1].p_filesz;
        }
        if (ftruncate(fd, (off_t)at) ||
            pwrite(fd, core_notes, core_note_bytes, 512 << 10) != (ssize_t)core_note_bytes ||
            pwrite(fd, h, (size_t)(core_map_count + 1) * sizeof *h, sizeof head) < 0 ||
            pwrite(fd, &head, sizeof head, 0) < 0)
                abort();
        close(fd);
}

#endif
