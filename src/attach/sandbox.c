/* SPDX-License-Identifier: MIT */
#include "attach/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "attach/procfs.h"
#include "base/worker.h"

#define SANDBOX_FILTERS 2u
#define SANDBOX_FORBIDDEN 1u /* the strict mode of old: four calls and no more */

static uint64_t mode(pid_t tid)
{
        return procfs_status(tid, tid, "Seccomp", 10, 0);
}

static uint64_t filters(pid_t tid)
{
        return procfs_status(tid, tid, "Seccomp_filters", 10, 0);
}

/* Below the process that started us, or below ourselves. */
static bool is_relative(pid_t tid)
{
        while (tid > 1 && tid != getppid() && tid != getpid())
                tid = (pid_t)procfs_status(tid, tid, "PPid", 10, 0);
        return tid > 1;
}

/* Filters are inherited, added, and never taken away: with a common ancestor the same
 * number means the same filters. */
bool sandbox_is_ours(pid_t tid)
{
        uint64_t theirs = mode(tid);

        return theirs == 0 || (theirs != SANDBOX_FORBIDDEN && filters(tid) > 0 &&
                               filters(tid) == filters(getpid()) && is_relative(tid));
}

bool sandbox_may_filter(pid_t tid)
{
        return ptrace(PTRACE_SECCOMP_GET_FILTER, tid, 0, NULL) >= 0 || errno != EINVAL;
}

bool sandbox_read(pid_t tid, struct sandbox_filters *out)
{
        uint32_t used = 0;
        long size = 0;

        out->depth = (uint32_t)filters(tid);
        out->count = 0;
        if (mode(tid) != SANDBOX_FILTERS)
                return false;
        while (out->count < WIRE_INJECT_FILTERS &&
               (size = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (long)out->count, NULL)) > 0 &&
               used + (uint32_t)size <= WIRE_FILTERS_ROOM &&
               ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (long)out->count, out->code + used) ==
                       size) {
                out->sizes[out->count++] = (uint32_t)size;
                used += (uint32_t)size;
        }
        return out->count && size < 0 && errno == ENOENT;
}

/* ---- which system calls of an agent would be the end of a process under the filters
 * (seccomp) that we run under ---- */

#define NOWHERE (-1) /* as a descriptor, a process, an address */

struct call {
        long number, a, b, c, d;
};

/* Those of src/agent, with arguments of the same kind where filters look at them. */
static const struct call calls[] = {
        { SYS_faccessat, AT_FDCWD, NOWHERE, X_OK, 0 },
        { SYS_brk, 0, 0, 0, 0 },
        { SYS_clock_gettime, 1, NOWHERE, 0, 0 },
        { SYS_connect, NOWHERE, 0, 0, 0 },
        { SYS_fcntl, NOWHERE, F_ADD_SEALS, F_SEAL_SHRINK, 0 },
        { SYS_ftruncate, NOWHERE, 0, 0, 0 },
        { SYS_futex, 0, FUTEX_WAIT, 0, 0 },
        { SYS_getpid, 0, 0, 0, 0 },
        { SYS_getppid, 0, 0, 0, 0 },
        { SYS_getsockopt, NOWHERE, SOL_SOCKET, SO_PEERCRED, 0 },
        { SYS_gettid, 0, 0, 0, 0 },
        { SYS_madvise, 0, 0, MADV_DONTDUMP, 0 },
        { SYS_madvise, 0, 0, MADV_DONTNEED, 0 },
        { SYS_madvise, 0, 0, MADV_WIPEONFORK, 0 },
        { SYS_memfd_create, NOWHERE, 3, 0, 0 },
        { SYS_mincore, 0, 0, 0, 0 },
        { ARCH_SYS_MMAP, 0, 0, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE },
        { ARCH_SYS_MMAP, 0, 0, PROT_NONE, MAP_SHARED | MAP_NORESERVE },
        { SYS_mprotect, 0, 0, PROT_READ | PROT_WRITE, 0 },
        { SYS_munmap, 0, 0, 0, 0 },
        { SYS_nanosleep, NOWHERE, 0, 0, 0 },
        { SYS_openat, AT_FDCWD, NOWHERE, O_CLOEXEC, 0 },
        { SYS_openat, AT_FDCWD, NOWHERE, O_RDWR | O_CLOEXEC, 0 },
        { SYS_ppoll, NOWHERE, 1, 0, 0 },
        { SYS_prctl, PR_GET_NAME, NOWHERE, 0, 0 },
        { SYS_prctl, PR_SET_PTRACER, 0, 0, 0 },
        { SYS_pread64, NOWHERE, 0, 0, 0 },
        { SYS_prlimit64, 0, RLIMIT_FSIZE, 0, 0 },
        { SYS_process_vm_readv, 0, 0, 0, 0 },
        { SYS_pwrite64, NOWHERE, 0, 0, 0 },
        { SYS_readlinkat, AT_FDCWD, NOWHERE, 0, 0 },
        { SYS_rt_sigaction, SIGUSR1, 0, 0, 8 },
        { SYS_rt_sigpending, NOWHERE, 8, 0, 0 },
        { SYS_rt_sigprocmask, SIG_SETMASK, 0, 0, 8 },
        { SYS_rt_tgsigqueueinfo, NOWHERE, NOWHERE, 0, 0 },
        { SYS_sched_yield, 0, 0, 0, 0 },
        { SYS_sendmsg, NOWHERE, 0, MSG_NOSIGNAL, 0 },
        { SYS_sendto, NOWHERE, 0, 0, MSG_NOSIGNAL },
        { SYS_sigaltstack, 0, 0, 0, 0 },
        { SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0 },
        { SYS_tgkill, NOWHERE, NOWHERE, 0, 0 },
        { SYS_write, NOWHERE, 0, 0, 0 },
};

#define CALLS (sizeof calls / sizeof *calls)

_Static_assert(CALLS <= PROBE_MAX, "all of them may be forbidden");

struct stretch {
        size_t from, to;
};

static bool make_calls(void *context, int fd)
{
        const struct stretch *s = context;

        (void)fd;
        for (size_t i = s->from; i < s->to; i++)
                syscall(calls[i].number, calls[i].a, calls[i].b, calls[i].c, calls[i].d, NOWHERE,
                        0);
        return true;
}

/* Whether a worker that makes the calls [FROM, TO) lives to tell. */
static bool survives(size_t from, size_t to)
{
        struct worker w;

        return !worker_start(&w,
                             &(struct worker_order){ .work = make_calls,
                                                     .context = &(struct stretch){ from, to } }) ||
               !WIFSIGNALED(worker_wait(&w));
}

size_t probe_forbidden(uint32_t out[PROBE_MAX])
{
        size_t count = 0;

        if (survives(0, CALLS))
                return 0;
        for (size_t i = 0; i < CALLS; i++)
                if (!survives(i, i + 1))
                        out[count++] = (uint32_t)calls[i].number;
        return count;
}
