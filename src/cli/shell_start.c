/* SPDX-License-Identifier: MIT */
/*
 * shell_start.c -- a program that `seep shell` starts, recorded beside it by another seep.
 *
 * Keeps:  both are in a process group of their own and have no input: neither Ctrl-C nor the end of
 *         the shell or of its terminal reaches them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/shell.h"
#include "session/ask.h"
#include "words/label.h"

enum { START_TRIES = 3000, START_NAP_MS = 10 };

_Noreturn static void be_recorder(char **argv, int news)
{
        static char record[] = "record", no_summary[] = "--no-summary", end[] = "--";
        int count = 0, nothing = open("/dev/null", O_RDONLY);
        char **all;

        while (argv[count])
                count++;
        all = heap_zero((size_t)count + 4, sizeof *all);
        all[0] = record;
        all[1] = no_summary;
        all[2] = end;
        memcpy(all + 3, argv, (size_t)count * sizeof *all);
        setpgid(0, 0);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
                _exit(ERR_EXIT_CANNOT_TRACE);
        close(nothing);
        run_tell(news);
        exit(command_close(command_run(command_find(record), count + 3, all)));
}

static void take_nap(void)
{
        struct timespec nap = { .tv_nsec = START_NAP_MS * 1000000 };

        nanosleep(&nap, NULL);
}

/* It stays a zombie: its number is nobody else's. */
static bool has_ended(pid_t pid, int *status)
{
        siginfo_t how = { 0 };

        if (waitid(P_PID, (id_t)pid, &how, WEXITED | WNOHANG | WNOWAIT) != 0 || !how.si_pid)
                return false;
        *status = how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
        return true;
}

/* The next of the recorder's news.  false: there is none, and it has ended (*STATUS), or nobody
 * wants to wait. */
static bool take_news(const struct shell *s, struct run_news *out, int *status)
{
        for (;;) {
                struct pollfd from = { .fd = s->news, .events = POLLIN };
                bool ended = has_ended(s->started, status); /* before the look: all is sent then */

                if (poll(&from, 1, 0) > 0 &&
                    recv(s->news, out, sizeof *out, MSG_DONTWAIT) == (ssize_t)sizeof *out) {
                        out->path[sizeof out->path - 1] = 0;
                        return true;
                }
                if (ended || shell_interrupted)
                        return false;
                take_nap();
        }
}

/* Until somebody answers for it: what is asked before that would be refused. */
static void await_observer(uint32_t pid)
{
        struct wire_status now;

        for (int i = 0; i < START_TRIES && !shell_interrupted; i++) {
                if (kill((pid_t)pid, 0) != 0 || ask_glance(pid, &now) == ASK_ANSWERED)
                        return;
                take_nap();
        }
}

/* It ended before we could look: its recording is all there is. */
static int take_recording(struct shell *s, struct err *e)
{
        struct run_news news;
        int status = 0;

        while (take_news(s, &news, &status))
                if (news.path[0])
                        return shell_target_named(s, news.path, e) ? 0 : message_error(e);
        message("the program has ended, and there is no recording of it");
        return ERR_EXIT_CANNOT_TRACE;
}

int shell_start_program(struct shell *s, char **argv)
{
        struct run_news news;
        struct err e = { 0 };
        char number[16];
        int ends[2], status = 0;

        if (!argv[0])
                return message_usage("shell", "which program? seep shell -- PROGRAM [ARG...]");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 ||
            (s->started = fork()) < 0) {
                err_sys(&e, ERR_EXIT_CANNOT_TRACE, "cannot start seep record");
                return message_error(&e);
        }
        if (s->started == 0)
                be_recorder(argv, ends[1]);
        close(ends[1]);
        s->news = ends[0];
        s->chosen = s->count; /* commands are about it */
        if (!take_news(s, &news, &status))
                return status ? status : ERR_EXIT_CANNOT_TRACE; /* which was told */
        snprintf(number, sizeof number, "%" PRIu32, news.pid);
        await_observer(news.pid);
        if (kill((pid_t)news.pid, 0) == 0 && shell_target_named(s, number, &e))
                return 0;
        return take_recording(s, &e);
}

void shell_start_ended(struct shell *s, struct shell_target *t)
{
        struct run_news news;
        int status = 0;

        if (s->news < 0 || t->recorder != (uint32_t)s->started)
                return;
        while (take_news(s, &news, &status))
                if (news.pid == t->pid && news.path[0]) {
                        free(t->recording);
                        t->recording = realpath(news.path, NULL);
                        return;
                }
}

void shell_start_tell(const struct shell *s)
{
        for (uint32_t i = 0; i < s->count; i++) {
                const struct shell_target *t = s->targets[i];

                if (s->started && t->pid && t->recorder == (uint32_t)s->started && !t->ended &&
                    kill((pid_t)t->pid, 0) == 0)
                        message("%s (pid %s) goes on and is recorded; 'seep shell %s' comes back, "
                                "'seep detach %s' ends the recording", label_base(t->program),
                                t->name, t->name, t->name);
        }
}
