/* SPDX-License-Identifier: MIT */
#include "attach/emulator.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/procfs.h"
#include "attach/spawn.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"

const struct emulator emulators[] = {
        { EM_AARCH64, ELFCLASS64, ELFDATA2LSB, "aarch64", "qemu-aarch64", "/usr/aarch64-linux-gnu",
          "arm64", 0, false },
        { EM_ARM, ELFCLASS32, ELFDATA2LSB, "arm", "qemu-arm", "/usr/arm-linux-gnueabihf", "armhf",
          EM_AARCH64, false },
        { EM_RISCV, ELFCLASS64, ELFDATA2LSB, "riscv64", "qemu-riscv64", "/usr/riscv64-linux-gnu",
          "riscv64", 0, false },
        { EM_S390, ELFCLASS64, ELFDATA2MSB, "s390x", "qemu-s390x", "/usr/s390x-linux-gnu",
          "s390x", 0, false },
        { EM_PPC, ELFCLASS32, ELFDATA2MSB, "powerpc", "qemu-ppc", "/usr/powerpc-linux-gnu",
          "powerpc", 0, false },
        { EM_386, ELFCLASS32, ELFDATA2LSB, "i386", "qemu-i386", "/usr/i686-linux-gnu", "i386",
          EM_X86_64, true },
};
const uint32_t emulator_count = sizeof emulators / sizeof *emulators;

const struct emulator *emulator_of(const struct elf_facts *facts)
{
        for (uint32_t i = 0; i < emulator_count; i++)
                if (emulators[i].machine == facts->machine &&
                    emulators[i].class_ == facts->class_ && emulators[i].order == facts->order)
                        return &emulators[i];
        return NULL;
}

/* ---- whether the kernel runs them ---- */

static bool may_be_kernel(const struct emulator *by)
{
        return by->kernel && by->kernel == elf_own_machine();
}

#define SMALLEST "seep-smallest"

/* The smallest program: it waits for a signal (pause()). */
static int smallest_program(const struct emulator *by)
{
        static const uint8_t of_arm[] = { 0x1d, 0x70, 0xa0, 0xe3,   /* mov r7, #29 */
                                          0x00, 0x00, 0x00, 0xef,   /* svc 0 */
                                          0xfc, 0xff, 0xff, 0xea }; /* b, to the first */
        static const uint8_t of_386[] = { 0xb8, 0x1d, 0,    0, 0, /* mov $29, %eax */
                                          0xcd, 0x80,             /* int $0x80 */
                                          0xeb, 0xf7 };           /* jmp, to the first */
        enum { AT = 0x400000, PAGE = 4096 };
        struct {
                Elf32_Ehdr head;
                Elf32_Phdr part;
                uint8_t code[16];
        } file = {
                { .e_type = ET_EXEC,
                  .e_machine = by->machine,
                  .e_version = EV_CURRENT,
                  .e_entry = AT + offsetof(typeof(file), code),
                  .e_phoff = offsetof(typeof(file), part),
                  .e_flags = by->machine == EM_ARM ? EF_ARM_EABI_VER5 : 0,
                  .e_ehsize = sizeof file.head,
                  .e_phentsize = sizeof file.part,
                  .e_phnum = 1 },
                { .p_type = PT_LOAD,
                  .p_vaddr = AT,
                  .p_paddr = AT,
                  .p_filesz = sizeof file,
                  .p_memsz = sizeof file,
                  .p_flags = PF_R | PF_X,
                  .p_align = PAGE },
                { 0 },
        };
        int fd = memfd_create(SMALLEST, MFD_CLOEXEC);

        memcpy(file.head.e_ident, ELFMAG, SELFMAG);
        file.head.e_ident[EI_CLASS] = by->class_;
        file.head.e_ident[EI_DATA] = by->order;
        file.head.e_ident[EI_VERSION] = EV_CURRENT;
        memcpy(file.code, by->machine == EM_ARM ? of_arm : of_386,
               by->machine == EM_ARM ? sizeof of_arm : sizeof of_386);
        if (fd >= 0 && io_write(fd, &file, sizeof file))
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

/* An emulator that the kernel calls (binfmt_misc) is what runs then.  What hinders the trial would
 * hinder the program too, and says so itself. */
static bool kernel_runs(const struct emulator *by)
{
        int fd = smallest_program(by), failed;
        char path[64], ran[256] = { 0 }, *argv[] = { SMALLEST, NULL }, **none = argv + 1;
        bool runs;
        pid_t pid;

        if (fd < 0)
                return true;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        failed = posix_spawn(&pid, path, NULL, NULL, argv, none);
        runs = failed != ENOEXEC;
        if (!failed) {
                snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
                if (readlink(path, ran, sizeof ran - 1) > 0)
                        runs = strstr(ran, SMALLEST) != NULL;
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
        close(fd);
        return runs;
}

bool emulator_is_kernel(const struct emulator *by)
{
        static enum { UNKNOWN, RUNS, RUNS_NOT } known; /* there is one such row at most */

        if (!may_be_kernel(by))
                return false;
        if (known == UNKNOWN)
                known = kernel_runs(by) ? RUNS : RUNS_NOT;
        return known == RUNS;
}

const struct emulator *emulator_of_process(pid_t pid)
{
        const struct emulator *by = NULL;
        struct elf_facts facts;
        char path[64];
        int fd;

        snprintf(path, sizeof path, "/proc/%d/exe", (int)procfs_living(pid));
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && elf_look(fd, &facts) && facts.is_elf && facts.foreign)
                by = emulator_of(&facts);
        if (fd >= 0)
                close(fd);
        return by && may_be_kernel(by) ? by : NULL; /* else the file were that of an emulator */
}

/* Below which root the loader is: that which the user named, this machine's, or that of the
 * packages for cross compilers. */
static bool find_root(struct emulation *m, const char *path, const char *loader, struct err *e)
{
        const char *named = getenv("QEMU_LD_PREFIX");
        struct str there = { 0 };
        bool good;

        if ((named && *named) || access(loader, F_OK) == 0)
                return true;
        str_format(&there, "%s%s", m->by->root, loader);
        good = access(str_get(&there), F_OK) == 0;
        str_free(&there);
        m->root = m->by->root;
        return good || err_set(e, ERR_EXIT_NOT_FOUND,
                               "%s needs the loader %s of %s, which is neither there nor below %s: "
                               "install libc6-%s-cross, or name the root of its system in "
                               "QEMU_LD_PREFIX", path, loader, m->by->name, m->by->root,
                               m->by->system);
}

/* Who runs the program, and below which root. */
static bool find_runner(struct emulation *m, const char *path, const struct elf_facts *facts,
                        struct err *e)
{
        struct err unused = { 0 };

        if (!(m->runner = program_find(m->by->runner, &unused)))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is %s%s: to run it here, install the package qemu-user (%s is "
                               "not in PATH)", path, elf_kind_name(facts),
                               may_be_kernel(m->by) ? ", which this processor or its kernel does "
                                                      "not run" : "", m->by->runner);
        return find_root(m, path, facts->interp, e);
}

bool emulator_find(struct emulation *out, const char *path, const struct program_image *image,
                   const struct program_user *user, struct err *e)
{
        const struct emulator *by = emulator_of(&image->facts);
        struct err unused = { 0 };

        *out = (struct emulation){ .by = by };
        if (!by)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is %s, and there is no agent for that processor", path,
                               elf_kind_name(&image->facts));
        if (strcmp(image->file, path) != 0 && !emulator_is_kernel(by))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is a script for %s, which is %s: record that with the script as "
                               "its argument", path, image->file, elf_kind_name(&image->facts));
        if (!(out->agent = spawn_find_foreign(by->name, &unused)))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is %s, and the agent for that is not installed: install the "
                               "package seep-agent-%s, or build it with 'make agents'",
                               path, elf_kind_name(&image->facts), by->system);
        if (!image->facts.interp[0])
                err_set(e, ERR_EXIT_CANNOT_TRACE,
                        "%s is a statically linked program of %s: preloading has no effect on it, "
                        "and nothing else works there", image->file, by->name);
        else if (emulator_is_kernel(by) ? program_check_start(image->file, &image->facts, user, e)
                                        : find_runner(out, path, &image->facts, e))
                return true;
        emulator_free(out);
        return false;
}

void emulator_free(struct emulation *m)
{
        free(m->runner);
        free(m->agent);
        free(m->preload);
        *m = (struct emulation){ 0 };
}

char **emulator_argv(struct emulation *m, const char *agent, const char *file, char **argv)
{
        const char *own = getenv("LD_PRELOAD");
        struct str preload = { 0 };
        size_t count = 0, at = 0;
        char **all;

        str_format(&preload, "LD_PRELOAD=%s%s%s", agent, own ? ":" : "", own ? own : "");
        m->preload = preload.data;
        while (argv[count])
                count++;
        all = heap_zero(count + 8, sizeof *all);
        all[at++] = m->runner;
        all[at++] = "-0";
        all[at++] = argv[0];
        all[at++] = "-E";
        all[at++] = m->preload;
        if (m->root) {
                all[at++] = "-L";
                all[at++] = (char *)m->root;
        }
        all[at++] = (char *)file;
        memcpy(all + at, argv + 1, (count - 1) * sizeof *all);
        return all;
}
