/* SPDX-License-Identifier: MIT */
#include "session/relay.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/procfs.h"

/* Signals that a fault of our own raises: blocking them would only hide it. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };

bool relay_open(struct relay *r, struct err *e)
{
        struct sigaction plain = { .sa_handler = SIG_DFL }, ignored = { .sa_handler = SIG_IGN };
        sigset_t all;

        sigfillset(&all);
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
                sigdelset(&all, faults[i]);
        sigprocmask(SIG_BLOCK, &all, &r->before.mask);
        sigaction(SIGCHLD, &plain, &r->before.child);
        /* Ulimit -f: writing fails, and goes elsewhere. */
        sigaction(SIGXFSZ, &ignored, &r->before.size);
        r->fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
        if (r->fd >= 0)
                return true;
        err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot receive signals");
        relay_close(r);
        return false;
}

void relay_close(struct relay *r)
{
        if (r->fd >= 0)
                close(r->fd);
        r->fd = -1;
        sigaction(SIGCHLD, &r->before.child, NULL);
        sigprocmask(SIG_SETMASK, &r->before.mask, NULL);
}

static void pass_on(const struct signalfd_siginfo *s, pid_t pid)
{
        int number = (int)s->ssi_signo;

        if (number == SIGPIPE || number == SIGTTIN || number == SIGTTOU)
                return;
        if (s->ssi_code > 0 || (pid_t)s->ssi_pid == pid)
                return; /* from the kernel, or from the program to its whole group */
        if (number == SIGCONT && process_state((uint32_t)pid) != 'T')
                return;
        kill(pid, number);
}

enum relay_event relay_next(struct relay *r, pid_t pid)
{
        struct signalfd_siginfo s;

        if (read(r->fd, &s, sizeof s) != (ssize_t)sizeof s)
                return RELAY_NOTHING;
        if (s.ssi_signo == SIGCHLD)
                return RELAY_CHILD;
        if (pid) {
                pass_on(&s, pid);
                return RELAY_PASSED;
        }
        return s.ssi_signo == SIGINT || s.ssi_signo == SIGTERM || s.ssi_signo == SIGHUP ||
                               s.ssi_signo == SIGQUIT
                       ? RELAY_STOP
                       : RELAY_PASSED;
}

pid_t relay_child(void)
{
        siginfo_t who = { 0 };

        return waitid(P_ALL, 0, &who, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 ? who.si_pid : 0;
}

void relay_stopped(pid_t pid, int signal)
{
        if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
                return;
        raise(SIGSTOP);
        if (process_state((uint32_t)pid) == 'T')
                kill(pid, SIGCONT);
}
