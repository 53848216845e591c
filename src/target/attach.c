/* SPDX-License-Identifier: MIT */
/*
 * attach.c -- processes that run already: seep-target writes the agent into them, and removes it.
 *
 * A process of its own does that, with the rooms of attach/ that `seep attach` uses, and hands the
 * ledgers to the one that talks to hosts, through a socket; when it closes that, nothing more is
 * recorded.  When either of the two is killed, the processes go on.
 *
 * Left out, for room: programs whose functions have no names or names of their own (recognize.h,
 * custom.h), and those of the other word size.  `seep serve --light -p` knows them.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/custom.h"
#include "attach/emulator.h"
#include "attach/inject.h"
#include "attach/mappings.h"
#include "attach/procfs.h"
#include "attach/recognize.h"
#include "attach/refusal.h"
#include "attach/spawn.h"
#include "base/fdpass.h"
#include "target/target.h"
#include "wire/hello.h"

#define LEDGER "/memfd:seep-ledger"
#define PRELOADED "libseep.so"

static struct {
        const struct attach_order *order;
        long socket, signals;
        struct kernel_poll ends[ATTACH_MOST]; /* of processes, by pidfd; -1: not recorded (more) */
        struct kernel_poll asked[ATTACH_MOST]; /* who asks about them on this machine comes here */
        uint32_t count;
} run;

/* ---- who may be attached to ---- */

static bool read_header(uint32_t pid, Elf64_Ehdr *out)
{
        int fd = process_open(pid, "exe");
        bool good = fd >= 0 && pread(fd, out, sizeof *out, 0) == (ssize_t)sizeof *out;

        if (fd >= 0)
                close(fd);
        return good;
}

/* The first 20 bytes lie in the same places for all. */
static bool is_own_kind(pid_t pid, struct err *e)
{
        Elf64_Ehdr own, theirs;

        if (!read_header((uint32_t)getpid(), &own) ||
            !read_header((uint32_t)procfs_living(pid), &theirs) ||
            (own.e_machine == theirs.e_machine &&
             own.e_ident[EI_CLASS] == theirs.e_ident[EI_CLASS]))
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %d is a program of another processor or word size than seep-target",
                       (int)pid);
}

static bool is_gone(pid_t pid)
{
        char state = procfs_state(pid, pid);

        return state == 'X' || state == 'Z';
}

/* Whether a ledger of PID, at AT in its memory, has an observer. */
static bool is_observed(pid_t pid, uint64_t at)
{
        static struct ledger_head head;
        int mem = process_open_memory((uint32_t)procfs_living(pid));
        bool known = mem >= 0 && pread(mem, &head, sizeof head, (off_t)at) == (ssize_t)sizeof head;

        if (mem >= 0)
                close(mem);
        return known && head.pid == procfs_status(pid, procfs_living(pid), "NStgid", 10, 0) &&
               !(head.observer && is_gone((pid_t)head.observer));
}

static bool recorded(uint32_t pid, struct err *e)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "process %u is being recorded already", pid);
}

static bool is_free(pid_t pid, struct err *e)
{
        pid_t living = procfs_living(pid);
        struct str text = { 0 };
        struct mappings maps;
        bool taken;

        if (!procfs_text(living, living, "maps", &text))
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the memory of process %d cannot be seen",
                               (int)pid);
        taken = memmem(text.data, text.length, PRELOADED, strlen(PRELOADED));
        mappings_parse(&maps, str_get(&text));
        for (uint32_t i = 0; i < maps.count && !taken; i++)
                taken = !maps.at[i].offset &&
                        strncmp(maps.at[i].path, LEDGER, strlen(LEDGER)) == 0 &&
                        is_observed(pid, maps.at[i].start);
        mappings_free(&maps);
        str_free(&text);
        return !taken || recorded((uint32_t)pid, e);
}

/* Nobody else records PID then: `seep attach` claims it by the same name (session/endpoint.h). */
static long claim(uint32_t pid)
{
        struct kernel_unix a = { .family = KERNEL_UNIX };
        long fd = sys_call3(SYS_socket, KERNEL_UNIX,
                            KERNEL_SEQPACKET | SYS_O_CLOEXEC | SYS_O_NONBLOCK, 0);
        int length = snprintf(a.path + 1, sizeof a.path - 1, "seep-%u", pid);

        if (sys_call3(SYS_bind, fd, (long)&a, (long)sizeof a.family + 1 + length) == 0 &&
            sys_call3(SYS_listen, fd, 16, 0) == 0)
                return fd;
        sys_close(fd);
        return -1;
}

/* ---- in and out ---- */

/* A ledger, and whose it is. */
static bool hand_over(uint32_t pid, int ledger)
{
        struct wire_hello hello = { WIRE_HELLO_MAGIC, LEDGER_VERSION, WIRE_HELLO_START, pid, 0 };

        return fdpass_send((int)run.socket, &hello, sizeof hello, ledger, 0) ==
               (ssize_t)sizeof hello;
}

/* Who looks whether it is recorded finds us in its ledger. */
static void sign(int ledger)
{
        uint32_t own = (uint32_t)getpid();

        pwrite(ledger, &own, sizeof own, offsetof(struct ledger_head, observer));
}

static bool enter(uint32_t pid, struct err *e)
{
        struct inject_request q = { .image = run.order->image, .library = run.order->library,
                                    .session = run.order->session };
        struct inject_result result = { .ledger = -1 };
        bool good = refusal_possible((pid_t)pid, e) && is_own_kind((pid_t)pid, e) &&
                    is_free((pid_t)pid, e);
        long asked = good ? claim(pid) : -1;

        if (good && asked < 0)
                return recorded(pid, e);
        good = good && inject_enter((pid_t)pid, &q, &result, e);
        str_free(&result.refused);
        if (!good) {
                sys_close(asked);
                return false;
        }
        run.asked[run.count] = (struct kernel_poll){ (int32_t)asked, KERNEL_IN, 0 };
        run.ends[run.count++] = (struct kernel_poll){
                (int32_t)sys_call3(SYS_pidfd_open, pid, 0, 0), KERNEL_IN, 0
        };
        sign(result.ledger);
        good = hand_over(pid, result.ledger);
        close(result.ledger);
        return good || err_set(e, ERR_EXIT_CANNOT_TRACE, "seep-target has ended");
}

static void ended(uint32_t i)
{
        close(run.ends[i].fd);
        close(run.asked[i].fd);
        run.ends[i].fd = run.asked[i].fd = -1;
}

static void leave(uint32_t i)
{
        struct inject_result result = { .ledger = -1 };
        uint32_t pid = run.order->pids[i];
        struct err e = { 0 };

        if (run.ends[i].fd < 0)
                return;
        close(run.asked[i].fd);
        if (!inject_leave((pid_t)pid, run.order->image, &result, &e) &&
            !is_gone((pid_t)pid))
                say_more(e.text, "; the agent stays there", "");
}

/* Until all have ended, or the other process has, or somebody wants us to leave. */
static void wait_for_end(void)
{
        uint32_t left = run.count;

        while (left) {
                struct kernel_poll p[2 * ATTACH_MOST + 2] = {
                        { (int32_t)run.socket, KERNEL_IN, 0 },
                        { (int32_t)run.signals, KERNEL_IN, 0 }
                }, *ends = p + 2, *asked = ends + run.count;

                memcpy(ends, run.ends, run.count * sizeof *ends);
                memcpy(asked, run.asked, run.count * sizeof *asked);
                sys_call6(SYS_ppoll, (long)p, 2 + 2 * run.count, 0, 0, 0, 0);
                for (uint32_t i = left = 0; i < run.count; i++) {
                        if (asked[i].revents) /* all that is known is the host's */
                                sys_close(sys_call6(SYS_accept4, asked[i].fd, 0, 0, 0, 0, 0));
                        if (ends[i].revents)
                                ended(i);
                        left += run.ends[i].fd >= 0;
                }
                if (p[0].revents || p[1].revents)
                        return;
        }
}

static void work(void)
{
        uint64_t set = arch_signals(run.order->signals);
        struct err e = { 0 };
        bool good = true;

        run.signals = sys_call6(SYS_signalfd4, -1, (long)&set, sizeof set, SYS_O_CLOEXEC, 0, 0);
        for (uint32_t i = 0; good && i < run.order->count; i++)
                good = enter(run.order->pids[i], &e);
        if (good)
                wait_for_end();
        else
                say(e.text);
        for (uint32_t i = 0; i < run.count; i++)
                leave(i);
        kernel_exit(good ? 0 : ERR_EXIT_CANNOT_TRACE);
}

bool attach_start(const struct attach_order *o)
{
        int32_t pair[2];

        run.order = o;
        if (sys_failed(sys_call6(SYS_socketpair, KERNEL_UNIX, KERNEL_SEQPACKET | SYS_O_CLOEXEC, 0,
                                 (long)pair, 0, 0)))
                return false;
        target.agents = pair[0];
        target.attacher = kernel_fork();
        if (target.attacher == 0) {
                run.socket = pair[1];
                target_forget(NULL); /* and the other end of the pair */
                work();
        }
        sys_close(pair[1]);
        return target.attacher > 0;
}

/* ---- what is left out ---- */

void custom_find(struct custom_functions *f, const struct custom *rules, int pid,
                 const struct mappings *m)
{
        (void)f, (void)rules, (void)pid, (void)m;
}

void custom_leave_known(struct custom_functions *f)
{
        (void)f;
}

void custom_functions_free(struct custom_functions *f)
{
        (void)f;
}

const struct emulator *emulator_of_process(pid_t pid)
{
        (void)pid;
        return NULL;
}

char *spawn_find_foreign(const char *processor, struct err *e)
{
        (void)processor, (void)e;
        return NULL;
}

char *spawn_find_foreign_image(const char *processor, struct err *e)
{
        (void)processor, (void)e;
        return NULL;
}

bool recognize_functions(struct functions *f, int fd, const char *const *names, size_t count)
{
        (void)f, (void)fd, (void)names, (void)count;
        return false;
}

const char *recognize_needs(void)
{
        return "'seep serve --light -p', which may know them by their code";
}

const struct function *functions_find(const struct functions *f, const char *name, uint32_t *count)
{
        (void)f, (void)name, (void)count;
        return NULL;
}

void functions_free(struct functions *f)
{
        (void)f;
}
