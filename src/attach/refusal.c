/* SPDX-License-Identifier: MIT */
#include "attach/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/emulator.h"
#include "attach/procfs.h"
#include "attach/spawn.h"
#include "base/io.h"
#include "base/str.h"

#define REFUSAL_CAP_SYS_PTRACE 19u

static bool have_ptrace_right(void)
{
        return procfs_status(getpid(), getpid(), "CapEff", 16, 0) >> REFUSAL_CAP_SYS_PTRACE & 1;
}

static long yama_scope(void)
{
        struct str text = { 0 };
        long scope = io_read_file("/proc/sys/kernel/yama/ptrace_scope", &text)
                             ? strtol(str_get(&text), NULL, 10)
                             : 0;

        str_free(&text);
        return scope;
}

/* Its files in /proc belong to root then, though the process itself does not. */
static bool is_undumpable(pid_t pid, uid_t uid)
{
        char path[64];
        struct stat s;

        snprintf(path, sizeof path, "/proc/%d/environ", (int)procfs_living(pid));
        return stat(path, &s) == 0 && s.st_uid != uid;
}

static bool refused_by_rights(pid_t pid, struct err *e)
{
        uid_t uid = (uid_t)procfs_status(pid, pid, "Uid", 10, geteuid());

        if (have_ptrace_right())
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "may not stop process %d: the kernel refuses it even to root. A "
                               "security module (SELinux, AppArmor) or kernel.yama.ptrace_scope=3 "
                               "forbids it, or it lies in an outer container", (int)pid);
        if (geteuid() == 0)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "may not stop process %d: this container lacks CAP_SYS_PTRACE. "
                               "Start it with that right: docker run --cap-add=SYS_PTRACE",
                               (int)pid);
        if (uid != geteuid())
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "may not stop process %d: it belongs to another user (uid %u, we "
                               "are %u). Run seep as that user, or with sudo", (int)pid,
                               (unsigned)uid, (unsigned)geteuid());
        if (is_undumpable(pid, uid))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "may not stop process %d: it is not dumpable (it was started with "
                               "elevated privileges, or asked for that with prctl). Use sudo",
                               (int)pid);
        if (yama_scope() > 0)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "may not stop process %d: the kernel allows tracing of own children "
                               "only (kernel.yama.ptrace_scope=%ld). For now use sudo; until "
                               "reboot: sudo sysctl kernel.yama.ptrace_scope=0; without rights: "
                               "start it with 'seep record'", (int)pid, yama_scope());
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "may not stop process %d: the kernel refuses it, probably by a seccomp "
                       "filter or a security module. Use sudo, or in a container: docker run "
                       "--cap-add=SYS_PTRACE", (int)pid);
}

bool refusal_possible(pid_t pid, struct err *e)
{
        char name[PROCFS_NAME_BYTES], state = procfs_state(pid, pid);
        uint64_t group = procfs_status(pid, pid, "Tgid", 10, 0);
        pid_t parent = (pid_t)process_parent((uint32_t)pid);

        if (state == 'X' && kill(pid, 0) < 0 && errno == ESRCH)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "there is no process %d", (int)pid);
        if (state == 'X')
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d cannot be seen: /proc is not mounted, or hides the "
                               "processes of others (hidepid). Use sudo", (int)pid);
        if (group && group != (uint64_t)pid)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%d is a thread of process %d: name that",
                               (int)pid, (int)group);
        if (state == 'Z' && process_threads((uint32_t)pid) <= 1)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d is a zombie: it has ended, its memory is gone, and its "
                               "parent %s (%d) has not waited "
                               "for it yet",
                               (int)pid, procfs_name(parent, name), (int)parent);
        if (procfs_status(pid, pid, "Kthread", 10, 0) ||
            (procfs_status(pid, pid, "VmSize", 10, UINT64_MAX) == UINT64_MAX && state != 'Z'))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d (%s) is a thread of the kernel, or about to end: it has "
                               "no memory of its own",
                               (int)pid, procfs_name(pid, name));
        return true;
}

bool refusal_sees_itself(pid_t pid, struct err *e)
{
        char path[64];
        struct statfs s = { 0 };

        snprintf(path, sizeof path, "/proc/%d/root/proc", (int)procfs_living(pid));
        if ((statfs(path, &s) != 0 && errno != ENOENT) || s.f_type == PROC_SUPER_MAGIC)
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %d cannot be recorded: it has no /proc in its root directory "
                       "(chroot). Mount one there: mount -t proc proc ROOT/proc",
                       (int)pid);
}

/* Of the other word size that the kernel runs. */
static bool has_image(pid_t pid, const struct emulator *by, struct err *e)
{
        struct err unused = { 0 };
        char *image = spawn_find_foreign_image(by->name, &unused);
        bool found = image;

        free(image);
        return found || err_set(e, ERR_EXIT_CANNOT_TRACE,
                                "process %d is a program of %s, and the agent for that is not "
                                "installed: install the package seep-agent-%s, or build it with "
                                "'make agents'", (int)pid, by->name, by->system);
}

bool refusal_is_own_kind(pid_t pid, struct err *e)
{
        const struct emulator *by = emulator_of_process(pid);
        pid_t living = procfs_living(pid);
        struct elf_facts facts;
        char path[64], *exe;
        int fd;
        bool foreign;

        if (by && by->injected)
                return has_image(pid, by, e);
        snprintf(path, sizeof path, "/proc/%d/exe", (int)living);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        foreign = fd >= 0 && elf_look(fd, &facts) && facts.is_elf && facts.foreign;
        if (fd >= 0)
                close(fd);
        if (!foreign)
                return true;
        exe = process_link((uint32_t)living, "exe");
        err_set(e, ERR_EXIT_CANNOT_TRACE,
                "process %d is %s, and the agent that is written into a running process is %s: "
                "record it from its start: seep record %s", (int)pid, elf_kind_name(&facts),
                elf_own_kind_name(), exe);
        free(exe);
        return false;
}

bool refusal_explain(pid_t pid, pid_t tid, int error, struct err *e)
{
        pid_t tracer = (pid_t)procfs_status(pid, tid, "TracerPid", 10, 0);
        char name[PROCFS_NAME_BYTES], state = procfs_state(pid, tid);

        if (error == ESRCH || state == 'X' || state == 'Z')
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "there is no process %d any more: it has ended", (int)pid);
        if (tracer)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "may not stop process %d: it is already traced by %s (%d); only one "
                               "tracer is possible. End that first", (int)pid,
                               procfs_name(tracer, name), (int)tracer);
        if (error == EPERM || error == EACCES)
                return refused_by_rights(pid, e);
        errno = error;
        return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot stop process %d", (int)pid);
}
