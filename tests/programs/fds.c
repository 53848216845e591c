/* SPDX-License-Identifier: MIT */
/*
 * fds.c -- opens descriptors in every way, closes some: fds all|none|vfork|fork|failed.
 *
 * Room:   tests only.  Line: "held fd FUNCTION NUMBER 1" for each that stays open.  Each way is a
 *         function of its own; a way opens two and keeps the first.
 */
#include "truth.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

static int keep_all = 1;

static int must(int fd)
{
        if (fd < 0)
                truth_die("fds: no descriptor\n");
        return fd;
}

/* Tell that FD stays open; false: the caller closes it. */
static int told(const char *function, int fd)
{
        if (keep_all)
                truth_say("held fd %s %d 1\n", function, must(fd));
        return keep_all;
}

static void keep(const char *function, int fd)
{
        if (!told(function, fd))
                close(must(fd));
}

/* A function that calls EXPRESSION twice, keeps the first and closes the second. */
#define WAY(name, expression)                                                  \
        static void name(void)                                                 \
        {                                                                      \
                int kept = (expression);                                       \
                int other = (expression);                                      \
                keep(#name, kept);                                             \
                close(must(other));                                            \
        }

static int listening;
static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "fds.socket"};

static sigset_t no_signals(void)
{
        sigset_t set;
        sigemptyset(&set);
        return set;
}

static char template[20];

static char *fresh_template(void)
{
        return strcpy(template, "fds-XXXXXX");
}

static int unlinked(int fd)
{
        unlink(template);
        return fd;
}

WAY(by_open, open("/dev/null", O_RDONLY))
WAY(by_open_create, open("fds.file", O_RDWR | O_CREAT, 0600))
WAY(by_open64, open64("/dev/null", O_RDONLY))
WAY(by_openat, openat(AT_FDCWD, "/dev/null", O_RDONLY))
WAY(by_creat, creat("fds.file", 0600))
WAY(by_socket, socket(AF_UNIX, SOCK_STREAM, 0))
WAY(by_dup, dup(0))
WAY(by_fcntl, fcntl(0, F_DUPFD, 50))
WAY(by_fcntl_cloexec, fcntl(0, F_DUPFD_CLOEXEC, 60))
WAY(by_eventfd, eventfd(0, 0))
WAY(by_timerfd, timerfd_create(CLOCK_MONOTONIC, 0))
WAY(by_epoll_create, epoll_create(1))
WAY(by_epoll_create1, epoll_create1(EPOLL_CLOEXEC))
WAY(by_inotify_init, inotify_init())
WAY(by_inotify_init1, inotify_init1(0))
WAY(by_memfd_create, memfd_create("fds", 0))
WAY(by_mkstemp, unlinked(mkstemp(fresh_template())))
WAY(by_mkostemp, unlinked(mkostemp(fresh_template(), O_CLOEXEC)))

static void by_signalfd(void)
{
        sigset_t set = no_signals();
        int kept = signalfd(-1, &set, 0), other = signalfd(-1, &set, 0);
        signalfd(kept, &set, 0); /* changes the mask, makes no new one */
        keep("by_signalfd", kept);
        close(other);
}

static void by_socketpair(void)
{
        int pair[2];
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        keep("by_socketpair", pair[0]);
        close(pair[1]);
}

static void by_pipe(void)
{
        int pair[2];
        must(pipe(pair));
        keep("by_pipe", pair[0]);
        close(pair[1]);
}

static void by_pipe2(void)
{
        int pair[2];
        must(pipe2(pair, O_CLOEXEC));
        keep("by_pipe2", pair[1]);
        close(pair[0]);
}

static int client(void)
{
        int fd = must(socket(AF_UNIX, SOCK_STREAM, 0));
        must(connect(fd, (struct sockaddr *)&address, sizeof address));
        return fd;
}

static void by_accept(void)
{
        int a = client(), b = client(), kept = accept(listening, NULL, NULL),
            other = accept(listening, NULL, NULL);
        keep("by_accept", kept);
        close(other);
        close(a);
        close(b);
}

static void by_accept4(void)
{
        int a = client(), kept = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        keep("by_accept4", kept);
        close(a);
}

/* Onto a number that is open: that one is closed by it. */
static void by_dup2(void)
{
        int old = must(open("/dev/null", O_RDONLY));
        dup2(old, old); /* changes nothing */
        keep("by_dup2", dup2(0, old));
}

static void by_dup3(void)
{
        keep("by_dup3", dup3(0, 90, O_CLOEXEC));
}

static void by_fopen(void)
{
        FILE *kept = fopen("/dev/null", "r"), *other = fopen("/dev/null", "r");
        if (!told("by_fopen", fileno(kept)))
                fclose(kept);
        fclose(other);
}

/* Opened by open, closed by fclose. */
static void by_fdopen(void)
{
        FILE *kept = fdopen(open("/dev/null", O_RDONLY), "r"),
             *other = fdopen(open("/dev/null", O_RDONLY), "r");
        if (!told("by_fdopen", fileno(kept)))
                fclose(kept);
        fclose(other);
}

static void by_tmpfile(void)
{
        FILE *kept = tmpfile(), *other = tmpfile();
        if (!told("by_tmpfile", fileno(kept)))
                fclose(kept);
        fclose(other);
}

static void by_opendir(void)
{
        DIR *kept = opendir("/"), *other = opendir("/");
        if (!told("by_opendir", dirfd(kept)))
                closedir(kept);
        closedir(other);
}

static void by_fdopendir(void)
{
        DIR *kept = fdopendir(open("/", O_RDONLY | O_DIRECTORY)),
            *other = fdopendir(open("/", O_RDONLY | O_DIRECTORY));
        if (!told("by_fdopendir", dirfd(kept)))
                closedir(kept);
        closedir(other);
}

static void by_popen(void)
{
        FILE *kept = popen("true", "r"), *other = popen("true", "r");
        if (!told("by_popen", fileno(kept)))
                pclose(kept);
        pclose(other);
}

/* A range in the middle, then everything from a number on. */
static void by_ranges(void)
{
        int fd[6];
        for (int i = 0; i < 6; i++)
                fd[i] = must(fcntl(0, F_DUPFD, 200 + 10 * i));
        close_range((unsigned)fd[1], (unsigned)fd[2], 0);
        close_range(0, ~0u, CLOSE_RANGE_CLOEXEC); /* closes none of them now */
        closefrom(fd[4]);
        if (keep_all) {
                truth_say("held fd by_ranges %d 1\n", fd[0]);
                truth_say("held fd by_ranges %d 1\n", fd[3]);
        } else {
                closefrom(200);
        }
}

static void (*const ways[])(void) = {
        by_open,         by_open_create,  by_open64,        by_openat,        by_creat,
        by_socket,       by_dup,          by_fcntl,         by_fcntl_cloexec, by_eventfd,
        by_timerfd,      by_epoll_create, by_epoll_create1, by_inotify_init,  by_inotify_init1,
        by_memfd_create, by_mkstemp,      by_mkostemp,      by_signalfd,      by_socketpair,
        by_pipe,         by_pipe2,        by_accept,        by_accept4,       by_dup2,
        by_dup3,         by_fopen,        by_fdopen,        by_tmpfile,       by_opendir,
        by_fdopendir,    by_popen,        by_ranges,
};

static void every_way(void)
{
        listening = must(socket(AF_UNIX, SOCK_STREAM, 0));
        must(bind(listening, (struct sockaddr *)&address, sizeof address));
        must(listen(listening, 8));
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
                ways[i]();
        close(listening);
}

/* A child closes its own copies, not ours. */
static void with_child(int shares_memory)
{
        int a = must(open("/dev/null", O_RDONLY)), status;
        pid_t child;
        truth_say("held fd with_child %d 1\n", a);
        child = shares_memory ? vfork() : fork();
        if (child == 0) {
                close(a);
                dup2(0, a + 1);
                if (shares_memory)
                        execl("/bin/true", "true", (char *)NULL);
                _exit(0);
        }
        waitpid(child, &status, 0);
}

/* What fails opens and closes nothing. */
static void failing(void)
{
        int fd = must(open("/dev/null", O_RDONLY)), pair[2];
        truth_say("held fd failing %d 1\n", fd);
        if (open("/no/such/file", O_RDONLY) >= 0 || dup(777) >= 0 || dup2(777, fd) >= 0 ||
            close(777) == 0 || close(-1) == 0 || fopen("/no/such/file", "r") ||
            opendir("/no/such/dir") || fcntl(777, F_DUPFD, 0) >= 0 || pipe2(pair, -1) == 0 ||
            accept(fd, NULL, NULL) >= 0 || socket(-1, 0, 0) >= 0)
                truth_die("fds: that should have failed\n");
}

int main(int argc, char **argv)
{
        const char *mode = argc > 1 ? argv[1] : "all";
        keep_all = strcmp(mode, "none") != 0;
        if (!strcmp(mode, "vfork") || !strcmp(mode, "fork"))
                with_child(*mode == 'v');
        else if (!strcmp(mode, "failed"))
                failing();
        else
                every_way();
        unlink("fds.file");
        unlink("fds.socket");
        tell("done\n");
        return 0;
}
