/* SPDX-License-Identifier: MIT */
/*
 * signalling.c -- uses SIGUSR1 in a way of choice; its arguments are done one after another.
 *
 * Room:   tests only.
 *
 *   sigaction siginfo signal sysv bsd  install a handler that counts, in that manner
 *   ignore default                     the other dispositions
 *   query                              say what sigaction and sigprocmask tell about it
 *   ask:signal                         say what signal(SIG_DFL) returns
 *   block unblock pending              its mask; whether it is pending
 *   self raise thread queue            send it: kill, raise, to another thread, with a value
 *   until:N                            go on when N were handled, and say how many
 *   sigwait signalfd                   block it, say "ready", take one
 *   suspend                            block it, say "ready", take one in sigsuspend
 *   ready wait keep                    say "ready"; wait for a line; allocate 1000 bytes
 *   fork                               the child does the rest, the parent says how it ended
 *   spawn:FILE                         run FILE with an empty environment by posix_spawn, say how
 *                                      it ended
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t handled;
static volatile int wrong;

static void count(int sig)
{
        wrong += sig != SIGUSR1;
        handled++;
}

static void count_with_info(int sig, siginfo_t *info, void *context)
{
        wrong += sig != SIGUSR1 || info->si_signo != SIGUSR1 || !context;
        handled++;
}

static const char *handler_name(const struct sigaction *a)
{
        if (a->sa_flags & SA_SIGINFO)
                return a->sa_sigaction == count_with_info ? "mine with info"
                                                          : "somebody's with info";
        return a->sa_handler == SIG_DFL   ? "default"
               : a->sa_handler == SIG_IGN ? "ignored"
               : a->sa_handler == count   ? "mine"
                                          : "somebody's";
}

static sigset_t usr1(void)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        return set;
}

static void query(void)
{
        struct sigaction now;
        sigset_t mask;
        sigaction(SIGUSR1, NULL, &now);
        sigprocmask(SIG_BLOCK, NULL, &mask);
        if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
                now.sa_flags = 0; /* without a handler they mean nothing */
        tell("%s, flags %x, %s\n", handler_name(&now), (unsigned)now.sa_flags & ~0x04000000u,
             sigismember(&mask, SIGUSR1) ? "blocked" : "open");
}

static void install(const char *how)
{
        struct sigaction act = {.sa_handler = count}, old;
        sigset_t set = usr1();
        if (!strcmp(how, "siginfo")) {
                act.sa_sigaction = count_with_info;
                act.sa_flags = SA_SIGINFO | SA_RESTART;
                act.sa_mask = set;
        }
        if (!strcmp(how, "signal"))
                tell("before: %s\n", signal(SIGUSR1, count) == SIG_DFL ? "default" : "not default");
        else if (!strcmp(how, "sysv"))
                tell("before: %s\n",
                     sysv_signal(SIGUSR1, count) == SIG_DFL ? "default" : "not default");
        else if (!strcmp(how, "bsd"))
                tell("before: %s\n",
                     ssignal(SIGUSR1, count) == SIG_DFL ? "default" : "not default");
        else if (sigaction(SIGUSR1, &act, &old) == 0)
                tell("before: %s\n", handler_name(&old));
}

static void until(int wanted)
{
        const struct timespec pause = {0, 1000000};
        while (handled < wanted)
                nanosleep(&pause, NULL);
        tell("handled: %d, wrong: %d\n", (int)handled, wrong);
}

static void mask(int how)
{
        sigset_t set = usr1();
        pthread_sigmask(how, &set, NULL);
}

static void take(const char *how)
{
        sigset_t set = usr1(), none;
        struct signalfd_siginfo info = {0};
        int sig = 0;
        mask(SIG_BLOCK);
        if (!strcmp(how, "signalfd")) {
                int fd = signalfd(-1, &set, 0);
                tell("ready\n");
                if (read(fd, &info, sizeof info) < 0)
                        tell("read: %s\n", strerror(errno));
                sig = (int)info.ssi_signo;
                close(fd);
        } else if (!strcmp(how, "sigwait")) {
                tell("ready\n");
                sigwait(&set, &sig);
        } else {
                sigemptyset(&none);
                tell("ready\n");
                sigsuspend(&none);
                sig = handled ? SIGUSR1 : 0;
        }
        mask(SIG_UNBLOCK);
        tell("took %s\n", sig == SIGUSR1 ? "it" : "something else");
}

static void *sends_itself(void *arg)
{
        (void)arg;
        pthread_kill(pthread_self(), SIGUSR1);
        return NULL;
}

static void send(const char *how)
{
        pthread_t t;
        if (!strcmp(how, "self"))
                kill(getpid(), SIGUSR1);
        else if (!strcmp(how, "raise"))
                raise(SIGUSR1);
        else if (!strcmp(how, "queue"))
                sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
        else if (!pthread_create(&t, NULL, sends_itself, NULL))
                pthread_join(t, NULL);
}

static void wait_line(void)
{
        char byte = 0;
        ssize_t n = 1;
        while (n == 1 && byte != '\n')
                n = read(0, &byte, 1);
        if (n < 0)
                tell("read: %s\n", strerror(errno));
}

static void ended(pid_t child)
{
        int status;
        waitpid(child, &status, 0);
        tell("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void fork_rest(void)
{
        pid_t child = fork();
        if (child == 0)
                return;
        ended(child);
        exit(0);
}

static void spawn(char *file)
{
        char *argv[] = {file, NULL}, *none[] = {NULL};
        pid_t child;
        if (posix_spawn(&child, file, NULL, NULL, argv, none))
                truth_die("signalling: cannot spawn\n");
        ended(child);
}

static void keep(void)
{
        void *p = malloc(1000);
        TRUTH_GOT(p, 1000);
}

static void pending(void)
{
        sigset_t set;
        sigpending(&set);
        tell("%s\n", sigismember(&set, SIGUSR1) ? "pending" : "not pending");
}

static int is(const char *word, const char *list)
{
        const char *at = strstr(list, word);
        return at && (at == list || at[-1] == ' ') &&
               (at[strlen(word)] == ' ' || !at[strlen(word)]);
}

static void step(char *s)
{
        if (is(s, "sigaction siginfo signal sysv bsd"))
                install(s);
        else if (is(s, "ignore default"))
                signal(SIGUSR1, *s == 'i' ? SIG_IGN : SIG_DFL);
        else if (is(s, "sigwait signalfd suspend"))
                take(s);
        else if (is(s, "self raise thread queue"))
                send(s);
        else if (is(s, "block unblock"))
                mask(*s == 'b' ? SIG_BLOCK : SIG_UNBLOCK);
        else if (!strncmp(s, "until:", 6))
                until(atoi(s + 6));
        else if (!strcmp(s, "ask:signal"))
                tell("signal: %s\n",
                     signal(SIGUSR1, SIG_DFL) == SIG_DFL ? "default" : "not default");
        else if (!strncmp(s, "spawn:", 6))
                spawn(s + 6);
        else if (!strcmp(s, "query"))
                query();
        else if (!strcmp(s, "pending"))
                pending();
        else if (!strcmp(s, "fork"))
                fork_rest();
        else if (!strcmp(s, "keep"))
                keep();
        else if (!strcmp(s, "wait"))
                wait_line();
        else if (!strcmp(s, "ready"))
                tell("ready\n");
        else
                truth_die("signalling: no such step\n");
}

int main(int argc, char **argv)
{
        for (int i = 1; i < argc; i++)
                step(argv[i]);
        truth_print();
        return 0;
}
