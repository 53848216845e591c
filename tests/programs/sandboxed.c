/* SPDX-License-Identifier: MIT */
/*
 * sandboxed.c -- a program under filters of system calls (seccomp).
 *
 *   sandboxed WHEN ACTION CALLS [PROGRAM ...]
 *
 * WHEN    now        the filter is loaded by prctl() at the start, then work is done
 *         syscall    the same by the system call seccomp, through syscall()
 *         raw        the same by an instruction of our own, behind the C library's back; under seep
 *                    it waits until that has been noticed
 *         thread     in a second thread, for that alone
 *         fork       the same as now, and a forked child works as well
 *         strict     the strict mode: four calls are left
 *         exec       the filter is loaded, then PROGRAM is started in our place
 *         bare       nothing is loaded
 *         asks       nothing either, but it asks whether it could, and loads one that the kernel
 *                    does not take
 * ACTION  kill, trap (with a handler that counts), trap0 (without one), errno, errno0 (a success
 * that is none)
 * CALLS   numbers of system calls that the filter objects to, with commas between; or "all-but" and
 * those that it does not
 *
 * The work: blocks from many places, some kept, 6 MB of large ones; with THREADS in the environment
 * also in a thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/ledger.h"

#define ROUNDS 2000
#define LARGE 64
#define LARGE_BYTES 100000

static struct sock_filter code[512];
static unsigned short length;
static volatile sig_atomic_t trapped;

static void note_trap(int number)
{
        (void)number;
        trapped++;
}

static void put(unsigned short how, unsigned char yes, unsigned char no, unsigned k)
{
        code[length++] = (struct sock_filter){ how, yes, no, k };
}

static unsigned action_of(const char *name)
{
        if (!strcmp(name, "kill"))
                return SECCOMP_RET_KILL_PROCESS;
        if (!strncmp(name, "trap", 4)) {
                if (!name[4])
                        signal(SIGSYS, note_trap);
                return SECCOMP_RET_TRAP;
        }
        return SECCOMP_RET_ERRNO | (strcmp(name, "errno0") ? EPERM : 0);
}

/* One comparison after the other, each with its own end: no jump is too long. */
static void make_filter(unsigned action, const char *calls)
{
        int only = !strncmp(calls, "all-but,", 8);

        put(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
        put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
        put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
        put(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
        for (const char *at = only ? calls + 8 : calls; *at;) {
                char *end;

                put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)strtoul(at, &end, 10));
                put(BPF_RET | BPF_K, 0, 0, only ? SECCOMP_RET_ALLOW : action);
                at = *end ? end + 1 : end;
        }
        put(BPF_RET | BPF_K, 0, 0, only ? action : SECCOMP_RET_ALLOW);
}

static long raw_call(long number, long a, long b, long c)
{
        long result;

        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c)
                         : "rcx", "r11", "memory");
        return result;
}

static void load(const char *when)
{
        struct sock_fprog program = { length, code };
        long result;

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (!strcmp(when, "syscall"))
                result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
        else if (!strcmp(when, "raw"))
                result = raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program);
        else if (!strcmp(when, "strict"))
                result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        else
                result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        if (result != 0)
                _exit(99);
}

static void *kept[ROUNDS], *large[LARGE];

__attribute__((noinline)) static void *deep(unsigned levels, size_t size)
{
        void *p = levels ? deep(levels - 1, size) : malloc(size);

        __asm__ volatile("" : : "r"(p) : "memory");
        return p;
}

/* The small blocks of work() need no other chunk of the shadow than the one that is there; the
 * large ones do. */
static void place_heap(void)
{
        void *volatile block;

        do
                block = malloc(64 << 10);
        while ((uintptr_t)block % LEDGER_SHADOW_SPAN > LEDGER_SHADOW_SPAN - (1200 << 10));
}

__attribute__((noinline)) static void work(void)
{
        for (unsigned i = 0; i < ROUNDS; i++) {
                kept[i] = deep(i % 60, 16 + i % 500);
                free(deep(i % 7, 100));
                if (i % 3)
                        free(kept[i]);
        }
        for (unsigned i = 0; i < LARGE; i++)
                large[i] = deep(2, LARGE_BYTES);
        for (unsigned i = 0; i < LARGE; i++)
                free(large[i]);
}

static void *work_in_thread(void *unused)
{
        free(deep(5, 1000));
        return unused;
}

static void *work_alone(void *when)
{
        load(when);
        return work_in_thread(NULL);
}

/* What was printed goes out by one call of the simplest kind. */
static void say(const char *text)
{
        if (write(1, text, strlen(text)) < 0)
                _exit(98);
}

static void start_thread(void *(*run)(void *), void *argument)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, run, argument) == 0)
                pthread_join(thread, NULL);
        else
                say("no thread\n");
}

static void start_child(void)
{
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
                work();
                say("child\n");
                _exit(0);
        }
        waitpid(child, &status, 0);
        say(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "child ended\n" : "child was killed\n");
}

/* What seep shares with us; NULL: it does not. */
static volatile struct ledger_head *find_ledger(void)
{
        FILE *f = fopen("/proc/self/maps", "r");
        char line[1000];
        unsigned long start, offset;
        void *found = NULL;

        while (!found && fgets(line, sizeof line, f))
                if (strstr(line, "/memfd:seep") &&
                    sscanf(line, "%lx-%*x rw%*s %lx", &start, &offset) == 2 && offset == 0)
                        found = (void *)start;
        fclose(f);
        return found;
}

/* What has no effect; and a call with six arguments. */
static void ask(void)
{
        struct sock_fprog none = { 0, code };
        char *page;

        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno != EFAULT)
                say("prctl\n");
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == 0 || errno != EINVAL)
                say("strict\n");
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == 0 ||
            errno != EFAULT)
                say("filter\n");
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) == 0 || errno != EINVAL)
                say("empty\n");
        page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_PRIVATE,
                               (long)open("/proc/self/exe", O_RDONLY), 4096L);
        if (page == MAP_FAILED || !memcmp(page, "\177ELF", 4))
                say("mmap\n");
}

int main(int argc, char **argv)
{
        volatile struct ledger_head *ledger = find_ledger();
        const char *when = argv[1];

        if (argc < 4)
                return 2;
        make_filter(action_of(argv[2]), argv[3]);
        free(deep(3, 10));
        if (!strcmp(when, "raw"))
                place_heap();
        if (!strcmp(when, "thread"))
                start_thread(work_alone, argv[1]);
        else if (!strcmp(when, "asks"))
                ask();
        else if (strcmp(when, "bare") != 0)
                load(when);
        if (!strcmp(when, "exec")) {
                execv(argv[4], argv + 4);
                return 97;
        }
        if (!strcmp(when, "raw"))
                while (ledger && !ledger->filters)
                        sched_yield();
        if (!strcmp(when, "strict")) { /* without memory from the kernel */
                for (unsigned i = 0; i < ROUNDS; i++)
                        free(deep(i % 60, 100));
                say("strict\n");
                raw_call(SYS_exit, 0, 0, 0);
        }
        work();
        if (getenv("THREADS"))
                start_thread(work_in_thread, NULL);
        if (!strcmp(when, "fork"))
                start_child();
        say(trapped ? "trapped\n" : "done\n");
        return 0;
}
