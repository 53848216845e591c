/* SPDX-License-Identifier: MIT */
/*
 * libc.c -- the functions of a C library and of base/ that attach/ needs, where there is neither:
 * to hold, copy and read a process (reader.c), and to write an agent into it (attach.c).
 *
 * Keeps:  results are as a C library gives them: -1 and errno.  Every piece of memory is a mapping
 *         of its own: a reader has few of them, and ends soon.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "attach/refusal.h"
#include "base/headroom.h"
#include "base/heap.h"
#include "base/io.h"
#include "target/kernel.h"

#define MEMORY_HEAD 16u
#define LIST_BYTES 4096u
#define DIGITS 24u

static long result(long value)
{
        if (!sys_failed(value))
                return value;
        errno = (int)-value;
        return -1;
}

long syscall(long number, ...)
{
        va_list list;
        long a[6];

        va_start(list, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(list, long);
        va_end(list);
        return result(sys_call6(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* ---- memory ---- */

static uint64_t rounded(uint64_t bytes)
{
        return (bytes + MEMORY_HEAD + SYS_PAGE - 1) & ~(uint64_t)(SYS_PAGE - 1);
}

void heap_none(void)
{
        kernel_exit(3);
        __builtin_unreachable();
}

void *heap_zero(size_t count, size_t size)
{
        uint64_t bytes = rounded((uint64_t)count * size), *at = sys_memory(bytes);

        if (!at)
                heap_none();
        *at = bytes;
        return (char *)at + MEMORY_HEAD;
}

void free(void *p)
{
        uint64_t *at = p ? (uint64_t *)(void *)((char *)p - MEMORY_HEAD) : NULL;

        if (at)
                sys_unmap(at, *at);
}

void *heap_grow(void *p, size_t count, size_t size)
{
        uint64_t bytes = p ? *(uint64_t *)(void *)((char *)p - MEMORY_HEAD) : 0;
        void *grown;

        if (p && rounded((uint64_t)count * size) <= bytes)
                return p;
        grown = heap_zero(count, size);
        if (p)
                memcpy(grown, p, bytes - MEMORY_HEAD);
        free(p);
        return grown;
}

char *heap_text(const char *text)
{
        size_t length = strlen(text);

        return memcpy(heap_zero(length + 1, 1), text, length);
}

void *bsearch(const void *key, const void *all, size_t count, size_t size,
              int (*compare)(const void *, const void *))
{
        size_t low = 0;

        while (low < count) {
                size_t middle = low + (count - low) / 2;
                const char *at = (const char *)all + middle * size;
                int order = compare(key, at);

                if (order == 0)
                        return (void *)(uintptr_t)at;
                low = order > 0 ? middle + 1 : low;
                count = order > 0 ? count : middle;
        }
        return NULL;
}

/* Some hundred things at most: each is put in its place among those before it. */
void qsort(void *all, size_t count, size_t size, int (*compare)(const void *, const void *))
{
        char *one = heap_zero(1, size), *at = all;

        for (size_t i = 1; i < count; i++) {
                size_t to = i;

                memcpy(one, at + i * size, size);
                while (to && compare(one, at + (to - 1) * size) < 0)
                        to--;
                memmove(at + (to + 1) * size, at + to * size, (i - to) * size);
                memcpy(at + to * size, one, size);
        }
        free(one);
}

/* ---- texts ---- */

int strcmp(const char *a, const char *b)
{
        for (; *a && *a == *b; a++)
                b++;
        return (unsigned char)*a - (unsigned char)*b;
}

char *strcpy(char *restrict to, const char *restrict from)
{
        return memcpy(to, from, strlen(from) + 1);
}

char *strchr(const char *text, int c)
{
        for (; *text != (char)c; text++)
                if (!*text)
                        return NULL;
        return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int c)
{
        const char *found = NULL;

        do
                found = *text == (char)c ? text : found;
        while (*text++);
        return (char *)(uintptr_t)found;
}

size_t strcspn(const char *text, const char *end)
{
        size_t n = 0;

        while (text[n] && !strchr(end, text[n]))
                n++;
        return n;
}

int strncmp(const char *a, const char *b, size_t most)
{
        for (; most; most--, a++, b++)
                if (*a != *b || !*a)
                        return (unsigned char)*a - (unsigned char)*b;
        return 0;
}

void *memmem(const void *in, size_t bytes, const void *what, size_t count)
{
        const char *at = in;

        for (; bytes >= count; bytes--, at++)
                if (memcmp(at, what, count) == 0)
                        return (void *)(uintptr_t)at;
        return NULL;
}

static uint32_t digit(char c)
{
        if (c >= '0' && c <= '9')
                return (uint32_t)(c - '0');
        return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10) : UINT32_MAX;
}

unsigned long long strtoull(const char *text, char **end, int base)
{
        unsigned long long value = 0;

        while (*text == ' ' || *text == '\t')
                text++;
        for (; digit(*text) < (uint32_t)base; text++)
                value = value * (unsigned)base + digit(*text);
        if (end)
                *end = (char *)(uintptr_t)text;
        return value;
}

long strtol(const char *text, char **end, int base)
{
        bool minus = *text == '-';
        long value = (long)strtoull(text + minus, end, base);

        return minus ? -value : value;
}

char *strerror(int number)
{
        static char text[32];

        snprintf(text, sizeof text, "error %d", number);
        return text;
}

struct out {
        char *at;
        size_t room, length;
};

static void out_char(struct out *o, char c)
{
        if (o->length + 1 < o->room)
                o->at[o->length] = c;
        o->length++;
}

static void out_number(struct out *o, unsigned long long value, uint32_t base)
{
        char digits[DIGITS];
        uint32_t count = 0;

        do
                digits[count++] = "0123456789abcdef"[value % base];
        while (value /= base);
        while (count)
                out_char(o, digits[--count]);
}

static void out_text(struct out *o, const char *text, size_t most)
{
        for (; *text && most; text++, most--)
                out_char(o, *text);
}

/* %d %u %x, with l, ll or z, and %s, %.*s. */
static const char *out_one(struct out *o, const char *at, va_list *list)
{
        size_t most = SIZE_MAX;
        bool is_long = false;
        long long value;

        if (at[0] == '.' && at[1] == '*') {
                most = (size_t)va_arg(*list, int);
                at += 2;
        }
        for (; *at == 'l' || *at == 'z'; at++)
                is_long = true;
        if (*at == 's') {
                out_text(o, va_arg(*list, const char *), most);
                return at;
        }
        if (*at == '%') {
                out_char(o, '%');
                return at;
        }
        /* long is as long as long long wherever one of them is asked for here */
        value = is_long ? va_arg(*list, long long)
                : *at == 'd' ? va_arg(*list, int) : (long long)va_arg(*list, unsigned);
        if (*at == 'd' && value < 0) {
                out_char(o, '-');
                value = -value;
        }
        out_number(o, (unsigned long long)value, *at == 'x' ? 16 : 10);
        return at;
}

static int format(char *to, size_t room, const char *text, va_list *list)
{
        struct out o = { .at = to, .room = room };

        for (; *text; text++)
                if (*text == '%')
                        text = out_one(&o, text + 1, list);
                else
                        out_char(&o, *text);
        if (room)
                to[o.length < room ? o.length : room - 1] = 0;
        return (int)o.length;
}

int snprintf(char *to, size_t room, const char *text, ...)
{
        va_list list;
        int length;

        va_start(list, text);
        length = format(to, room, text, &list);
        va_end(list);
        return length;
}

bool err_set(struct err *e, int exit_code, const char *text, ...)
{
        va_list list;

        e->exit_code = exit_code;
        va_start(list, text);
        format(e->text, sizeof e->text, text, &list);
        va_end(list);
        return false;
}

bool err_sys(struct err *e, int exit_code, const char *text, ...)
{
        int why = errno;
        va_list list;
        int length;

        e->exit_code = exit_code;
        va_start(list, text);
        length = format(e->text, sizeof e->text, text, &list);
        va_end(list);
        if ((size_t)length < sizeof e->text)
                snprintf(e->text + length, sizeof e->text - (size_t)length, ": %s", strerror(why));
        return false;
}

bool refusal_possible(pid_t pid, struct err *e)
{
        char state = procfs_state(pid, pid);

        if (state == 'X' || (state == 'Z' && procfs_living(pid) == pid))
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "there is no process %d", (int)pid);
        if (procfs_status(pid, pid, "VmSize", 10, UINT64_MAX) == UINT64_MAX && state != 'Z')
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d is a thread of the kernel, or about to end", (int)pid);
        return true;
}

bool refusal_explain(pid_t pid, pid_t tid, int error, struct err *e)
{
        uint64_t tracer = procfs_status(pid, tid, "TracerPid", 10, 0);
        char state = procfs_state(pid, tid);

        if (error == ESRCH || state == 'X' || state == 'Z')
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "process %d has ended", (int)pid);
        if (tracer)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "process %d is traced by process %d",
                               (int)pid, (int)tracer);
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "the kernel does not let seep-target stop process %d (error %d; "
                       "/proc/sys/kernel/yama/ptrace_scope, or it has other rights)", (int)pid,
                       error);
}

void str_free(struct str *s)
{
        free(s->data);
        *s = (struct str){ 0 };
}

void str_format(struct str *s, const char *text, ...)
{
        va_list list;
        int length;

        va_start(list, text);
        length = format(NULL, 0, text, &list);
        va_end(list);
        s->room = s->length + (size_t)length + 1;
        s->data = heap_grow(s->data, s->room, 1);
        va_start(list, text);
        format(s->data + s->length, (size_t)length + 1, text, &list);
        va_end(list);
        s->length += (size_t)length;
}

const char *str_get(const struct str *s)
{
        return s->data ? s->data : "";
}

/* ---- files ---- */

int open(const char *path, int flags, ...)
{
        return (int)result(sys_call6(SYS_openat, SYS_AT_HERE, (long)path, flags, 0, 0, 0));
}

int close(int fd)
{
        return (int)result(sys_call3(SYS_close, fd, 0, 0));
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
        return result(sys_read_at(fd, to, bytes, (uint64_t)at));
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
        return result(sys_write_at(fd, from, bytes, (uint64_t)at));
}

ssize_t readlink(const char *restrict path, char *restrict to, size_t bytes)
{
        return result(sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)path, (long)to, (long)bytes, 0,
                                0));
}

ssize_t sendmsg(int socket, const struct msghdr *m, int flags)
{
        return result(sys_call3(SYS_sendmsg, socket, (long)m, flags));
}

off_t lseek(int fd, off_t at, int from)
{
        return result(sys_call3(SYS_lseek, fd, at, from));
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
        return result(sys_call6(SYS_process_vm_readv, pid, (long)local, (long)locals, (long)remote,
                                (long)remotes, (long)flags));
}

bool io_read(int fd, struct str *out)
{
        long got;

        do {
                if (out->room < out->length + LIST_BYTES) {
                        out->room = 2 * out->room + 4 * LIST_BYTES;
                        out->data = heap_grow(out->data, out->room, 1);
                }
                got = sys_read(fd, out->data + out->length, LIST_BYTES - 1);
                out->length += got > 0 ? (size_t)got : 0;
        } while (got > 0 || got == -SYS_EINTR);
        out->data[out->length] = 0;
        return got == 0;
}

bool io_read_file(const char *path, struct str *out)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool good = fd >= 0 && io_read(fd, out);

        if (fd >= 0)
                close(fd);
        return good;
}

struct __dirstream {
        int fd;
        long at, end;
        _Alignas(16) char list[LIST_BYTES];
};

DIR *opendir(const char *path)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? heap_zero(1, sizeof *d) : NULL;

        if (d)
                d->fd = fd;
        return d;
}

struct dirent *readdir(DIR *d)
{
        struct dirent *e;

        if (d->at >= d->end) {
                d->at = 0;
                d->end = sys_call3(SYS_getdents64, d->fd, (long)d->list, sizeof d->list);
                if (d->end <= 0)
                        return NULL;
        }
        e = (struct dirent *)(void *)(d->list + d->at);
        d->at += e->d_reclen;
        return e;
}

int closedir(DIR *d)
{
        close(d->fd);
        free(d);
        return 0;
}

/* ---- processes ---- */

long ptrace(enum __ptrace_request request, ...)
{
        va_list list;
        long pid, address, data, peeked = 0, got;

        va_start(list, request);
        pid = va_arg(list, pid_t);
        address = va_arg(list, long);
        data = va_arg(list, long);
        va_end(list);
        if (request != PTRACE_PEEKDATA)
                return result(sys_call6(SYS_ptrace, (long)request, pid, address, data, 0, 0));
        got = result(sys_call6(SYS_ptrace, (long)request, pid, address, (long)&peeked, 0, 0));
        return got < 0 ? got : peeked;
}

int prctl(int option, ...)
{
        va_list list;
        long value;

        va_start(list, option);
        value = va_arg(list, long);
        va_end(list);
        return (int)result(sys_call3(SYS_prctl, option, value, 0));
}

pid_t waitpid(pid_t pid, int *status, int flags)
{
        return (pid_t)result(sys_call6(SYS_wait4, pid, (long)status, flags, 0, 0, 0));
}

int kill(pid_t pid, int number)
{
        return (int)result(sys_call3(SYS_kill, pid, number, 0));
}

pid_t gettid(void)
{
        return (pid_t)sys_tid();
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
        return (int)result(sys_call3(SYS_nanosleep, (long)time, (long)rest, 0));
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
        return (int)result(sys_call3(SYS_clock_gettime, clock, (long)out, 0));
}

int usleep(useconds_t us)
{
        struct timespec time = { us / 1000000, us % 1000000 * 1000 };

        return nanosleep(&time, NULL);
}

pid_t getpid(void)
{
        return (pid_t)sys_pid();
}

pid_t getppid(void)
{
        return (pid_t)sys_call3(SYS_getppid, 0, 0, 0);
}

long sysconf(int name)
{
        (void)name; /* of a page: nothing else is asked here */
        return (long)SYS_PAGE;
}

/* The kernel gives 20 - the nice value, so that it is never negative. */
int getpriority(__priority_which_t which, id_t who)
{
        long got = result(sys_call3(SYS_getpriority, (long)which, (long)who, 0));

        return got < 0 ? -1 : 20 - (int)got;
}

int setpriority(__priority_which_t which, id_t who, int value)
{
        return (int)result(sys_call3(SYS_setpriority, (long)which, (long)who, value));
}

int sched_getscheduler(pid_t pid)
{
        return (int)result(sys_call3(SYS_sched_getscheduler, pid, 0, 0));
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *how)
{
        return (int)result(sys_call3(SYS_sched_setscheduler, pid, policy, (long)how));
}

/* When memory runs out, PID is to be ended before others. */
void headroom_offer(pid_t pid)
{
        char path[64];
        long fd;

        snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
        fd = sys_call6(SYS_openat, SYS_AT_HERE, (long)path, O_WRONLY | O_CLOEXEC, 0, 0, 0);
        if (fd < 0)
                return;
        sys_call3(SYS_write, fd, (long)"1000", 4);
        sys_close(fd);
}
