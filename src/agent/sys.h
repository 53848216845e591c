/* SPDX-License-Identifier: MIT */
/*
 * sys.h -- the system calls the agent makes, without libc and without errno.
 *
 * Room:   inside; any context.
 * Keeps:  results are as the kernel gives them: negative errno on failure.
 */
#ifndef SEEP_AGENT_SYS_H
#define SEEP_AGENT_SYS_H

#include <fcntl.h>
#include <linux/mman.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "agent/arch/arch.h"

#define SYS_O_CLOEXEC O_CLOEXEC
#define SYS_O_NONBLOCK O_NONBLOCK
#define SYS_O_UNNAMED (O_TMPFILE | O_RDWR | O_EXCL)
#define SYS_AT_HERE (-100) /* AT_FDCWD */
#define SYS_EPERM 1
#define SYS_ENOENT 2
#define SYS_EINTR 4
#define SYS_ESRCH 3
#define SYS_ENOEXEC 8
#define SYS_EAGAIN 11
#define SYS_EACCES 13
#define SYS_EFAULT 14
#define SYS_ENOMEM 12
#define SYS_EINVAL 22
#define SYS_ENOSYS 38
#define SYS_PAGE_LEAST 4096ul /* on any processor */
#define SYS_PAGE (ARCH_PAGE ? ARCH_PAGE : sys_page_bytes)
#define SYS_CLOCK_REAL 0
#define SYS_CLOCK_MONO 1
#define SYS_FUTEX_WAIT 0
#define SYS_FUTEX_CMP_REQUEUE_PRIVATE (4 | 128)

/* start.c: where the kernel decides how large a page is. */
extern unsigned long sys_page_bytes;

#define SANDBOX_ARGUMENTS 6

/* sandbox.c: whether the system call NUMBER with these arguments would do what it does without a
 * filter. */
bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS]);

/* sandbox.c: whether a filter has kept memory from us: then that is why something is full. */
bool sandbox_refused_memory(void);

/* A filter of the program's that would object is spared the call. */
static inline __attribute__((always_inline)) long sys_call6(long n, long a, long b, long c, long d,
                                                            long e, long f)
{
        const uint64_t arguments[] = { (arch_word)a, (arch_word)b, (arch_word)c, (arch_word)d,
                                       (arch_word)e, (arch_word)f };

        return sandbox_allows(n, arguments) ? arch_syscall(n, a, b, c, d, e, f) : -SYS_EPERM;
}

static inline long sys_call3(long n, long a, long b, long c)
{
        return sys_call6(n, a, b, c, 0, 0, 0);
}

static inline bool sys_failed(long result)
{
        return (unsigned long)result >= (unsigned long)-4095l;
}

static inline long sys_open(const char *path)
{
        return sys_call6(SYS_openat, SYS_AT_HERE, (long)path, SYS_O_CLOEXEC, 0, 0, 0);
}

static inline long sys_read(long fd, void *to, size_t count)
{
        long got;

        do
                got = sys_call3(SYS_read, fd, (long)to, (long)count);
        while (got == -SYS_EINTR);
        return got;
}

static inline long sys_read_at(long fd, void *to, size_t count, uint64_t at)
{
        return sys_call6(SYS_pread64, fd, (long)to, (long)count, ARCH_OFFSET(at));
}

static inline long sys_write_at(long fd, const void *from, size_t count, uint64_t at)
{
        return sys_call6(SYS_pwrite64, fd, (long)from, (long)count, ARCH_OFFSET(at));
}

static inline long sys_resize(long fd, uint64_t size)
{
        return sys_call6(ARCH_SYS_FTRUNCATE, fd, ARCH_OFFSET(size), 0, 0);
}

/* RIGHTS: 0 is it there, 1 may it be executed, 4 may it be read. */
static inline long sys_access(const char *path, long rights)
{
        return sys_call3(SYS_faccessat, SYS_AT_HERE, (long)path, rights);
}

static inline void sys_close(long fd)
{
        sys_call3(SYS_close, fd, 0, 0);
}

static inline void *sys_map(void *at, uint64_t size, int protection, int flags, long fd)
{
        if (size != (arch_word)size)
                return (void *)-SYS_ENOMEM;
        return (void *)sys_call6(ARCH_SYS_MMAP, (long)at, (long)size, protection, flags, fd, 0);
}

static inline long sys_unmap(void *at, size_t size)
{
        return sys_call3(SYS_munmap, (long)at, (long)size, 0);
}

/* Nothing at all is as it should be; an emulator (qemu) would refuse it. */
static inline long sys_protect(void *at, size_t size, int protection)
{
        return size ? sys_call3(SYS_mprotect, (long)at, (long)size, protection) : 0;
}

static inline long sys_advise(void *at, size_t size, int advice)
{
        return sys_call3(SYS_madvise, (long)at, (long)size, advice);
}

/* BYTES of memory of the process PID, ourselves, from wherever AT points; false when there is
 * none. */
static inline bool sys_peek(uint32_t pid, uint64_t at, void *to, uint64_t bytes)
{
        arch_word local[2] = { (arch_word)to, (arch_word)bytes }, remote[2] = { (arch_word)at,
                                                                                (arch_word)bytes };

        return sys_call6(SYS_process_vm_readv, pid, (long)local, 1, (long)remote, 1, 0) ==
               (long)bytes;
}

/* Whether the word at AT, divisible by 4, can be read.  The kernel reads it to compare it, wakes
 * none of those that wait there and moves none.  Where we may not ask, it is believed.  That
 * nobody may have written the word is no fault that Valgrind should report. */
static inline bool sys_readable(uint64_t at)
{
        long result;

        arch_unjudged(true);
        result = sys_call6(SYS_futex, (long)at, SYS_FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, (long)at, 0);
        arch_unjudged(false);
        return result != -SYS_EFAULT;
}

/* Whether the page of AT can be read.  KNOWN is the last one that could, and is not asked for
 * again. */
static inline bool sys_readable_page(const void *at, uint64_t *known)
{
        uint64_t page = (uint64_t)(uintptr_t)at & ~(uint64_t)(SYS_PAGE - 1);

        if (page != *known && !sys_readable(page))
                return false;
        *known = page;
        return true;
}

/* Who may not ask is the process that it was. */
uint32_t sys_pid_known(void);

static inline uint32_t sys_pid(void)
{
        long pid = sys_call3(SYS_getpid, 0, 0, 0);

        return pid > 0 ? (uint32_t)pid : sys_pid_known();
}

/* Who may not ask gets a number that no other thread of the process has, and that
 * is none of the kernel's. */
static inline uint32_t sys_tid(void)
{
        long tid = sys_call3(SYS_gettid, 0, 0, 0);

        return tid > 0 ? (uint32_t)tid
                       : 0x40000000u | ((uint32_t)(arch_thread_pointer() >> 6) & 0x3fffffffu);
}

/* A file of the process in /proc.  The first thread has none any more when it has ended before the
 * others: then it is that of the calling one.  (An emulator knows the first name only.) */
#define SYS_OWN(file) sys_own("/proc/self/" file, "/proc/thread-self/" file)

static inline const char *sys_own(const char *first, const char *calling)
{
        char exe[8];

        return sys_call3(SYS_gettid, 0, 0, 0) != sys_call3(SYS_getpid, 0, 0, 0) &&
                               sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)"/proc/self/exe",
                                         (long)exe, sizeof exe, 0, 0) == -SYS_ENOENT
                       ? calling
                       : first;
}

static inline uint64_t sys_clock_ns(int clock)
{
        struct { long seconds, ns; } t = { 0, 0 };

        sys_call3(SYS_clock_gettime, clock, (long)&t, 0);
        return (uint64_t)t.seconds * 1000000000u + (uint64_t)t.ns;
}

static inline void sys_yield(void)
{
        sys_call3(SYS_sched_yield, 0, 0, 0);
}

/* Set the mask of blocked signals; the answer is the one before.  SYS_NO_MASK: it was not to
 * be had, and is as it was. */
#define SYS_NO_MASK (~0ull) /* two signals are never blocked */

static inline uint64_t sys_block_signals(uint64_t mask)
{
        uint64_t old = SYS_NO_MASK;

        mask = arch_signals(mask);
        sys_call6(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&mask, (long)&old, sizeof old, 0,
                  0);
        return arch_signals(old);
}

static inline void sys_restore_signals(uint64_t old)
{
        if (old != SYS_NO_MASK)
                sys_block_signals(old);
}

#define SYS_MEMORY_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Memory for a moment: private, zero, not in core files.  NULL when there is none.  What stays is
 * got from arena_private(). */
static inline void *sys_memory(uint64_t size)
{
        void *p = sys_map(NULL, size, PROT_READ | PROT_WRITE, SYS_MEMORY_FLAGS, -1);

        if (sys_failed((long)p))
                return NULL;
        sys_advise(p, size, MADV_DONTDUMP);
        return p;
}

/* Give the whole pages of [AT, AT + SIZE) back; they read as zero from now on. */
static inline void sys_empty(void *at, size_t size)
{
        uintptr_t from = ((uintptr_t)at + SYS_PAGE - 1) & ~(SYS_PAGE - 1),
                  to = ((uintptr_t)at + size) & ~(SYS_PAGE - 1);

        if (to > from)
                sys_advise((void *)from, to - from, MADV_DONTNEED);
}

#endif
