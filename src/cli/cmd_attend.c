/* SPDX-License-Identifier: MIT */
/*
 * cmd_attend.c -- `seep attend FD`: observe the program that the agent started this process from
 * (plain LD_PRELOAD).
 *
 * Room:   outside, cli/ only.  Started by agent/attend.c; nobody types it.
 * Keeps:  after the answer through FD nothing of the program's is held open, so that pipes end when
 *         the program does.  Signals do not end us: the last report is written after the program's
 *         death, whatever that was.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/message.h"
#include "cli/record.h"
#include "cli/words.h"
#include "session/endpoint.h"
#include "wire/hello.h"

const struct option_entry attend_options[] = { OPTION_END };

struct attend {
        struct record wishes;
        char **words; /* the options; wishes point into them */
        struct output output;
        struct push *push; /* NULL: nothing is sent to a server */
        pid_t pid;      /* of the program; 0: in a world we do not see */
        bool withdrawn; /* our own standard error is the program's no more */
        int file;       /* the program's standard error when that is a file, else -1 */
};

/* ---- what the session tells ---- */

/* Where the program's errors go.  A file must be written through the same offset as the
 * program's, so it is kept; for all else a look at the process now will do.  Not waiting: who
 * does not read must not stop us. */
static int open_errors(const struct attend *a)
{
        char name[64];

        if (a->file >= 0)
                return fcntl(a->file, F_DUPFD_CLOEXEC, 3);
        snprintf(name, sizeof name, "/proc/%d/fd/2", (int)a->pid);
        return open(name, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

static void say_to_program(const struct attend *a, const char *text)
{
        int fd = open_errors(a), none = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

        if (fd >= 0 && none >= 0 && dup2(fd, STDERR_FILENO) >= 0) {
                message_sentence(text);
                dup2(none, STDERR_FILENO);
        }
        if (none >= 0)
                close(none);
        if (fd >= 0)
                close(fd);
}

static void on_say(void *context, enum session_level level, const char *text)
{
        const struct attend *a = context;

        if (level != SESSION_TROUBLE &&
            (a->wishes.quiet || (level <= SESSION_DETAIL &&
                                 a->wishes.session.verbose < (level == SESSION_TRACE ? 2 : 1))))
                return;
        if (a->withdrawn)
                say_to_program(a, text);
        else
                message_sentence(text);
}

static void on_done(void *context, struct profile *p, const char *path, bool written, bool is_main)
{
        const struct attend *a = context;

        (void)is_main; /* what matters was said */
        push_recorded(a->push, p, written && *path ? path : NULL);
}

static void on_reported(void *context, const char *program, uint32_t pid, const char *path)
{
        (void)context, (void)program, (void)pid, (void)path;
}

static void on_moved(void *context, const char *from, const char *to)
{
        (void)context, (void)from, (void)to;
}

/* ---- before the start ---- */

/* So that no descriptor of ours is taken for one of the three. */
static void fill_standard(void)
{
        int fd;

        do
                fd = open("/dev/null", O_RDWR);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

/* The connection to the program; -1: this is none. */
static int take_connection(const char *word, pid_t *pid)
{
        struct ucred who = { 0 };
        socklen_t length = sizeof who;
        uint64_t number;
        int fd;

        if (!quantity_number(word, &number) || number > 1u << 30 ||
            getsockopt((int)number, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
                return -1;
        *pid = who.pid;
        fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
        close((int)number);
        fill_standard();
        return fd;
}

/* SEEP_OPTIONS and the configuration, as for `record`.  Options about things that are
 * not done here are let pass. */
static int take_options(struct attend *a)
{
        struct option_parser parser;
        int count = 0, which, status;
        char **argv;

        record_start(&a->wishes);
        /* Nobody can type a command for it; under `record`, signals are the program's own. */
        a->wishes.session.signal = SIGUSR1;
        a->words = config_options(command_find("record"), NULL, &count);
        if (!a->words)
                return ERR_EXIT_USAGE;
        argv = heap_zero((size_t)count + 2, sizeof *argv);
        argv[0] = "record";
        memcpy(argv + 1, a->words, (size_t)count * sizeof *argv);
        option_start_program(&parser, "record", record_options, count + 1, argv);
        status = 0;
        while (!status && (which = option_next(&parser)) >= 0)
                status = record_take(&a->wishes, which, parser.value);
        free(argv);
        return status ? status : record_settle(&a->wishes);
}

static bool prepare_output(struct attend *a, struct err *e)
{
        const struct record *w = &a->wishes;

        if (!(w->pattern ? output_prepare(&a->output, w->pattern, true, e)
                         : output_prepare_reports(&a->output, e)))
                return false;
        if (w->pattern && !output_check_length(&a->output, "", w->session.flags & WIRE_F_EVENTS, e))
                return false;
        a->output.force = w->force;
        if (e->text[0])
                message("%s", e->text);
        a->output.claim = !w->force;
        if (a->output.exposed)
                message("%s", OUTPUT_EXPOSED);
        if (!w->pattern && (w->session.flags & WIRE_F_EVENTS))
                message("no event log: it is part of a recording, and there is one only with -o "
                        "FILE in SEEP_OPTIONS");
        return true;
}

static struct session_options make_options(struct attend *a)
{
        /* The home is the program's. */
        static struct symbol_options names = { .no_debuginfod = true, .no_new_cache = true };
        struct session_options o = a->wishes.session;

        if (!a->wishes.pattern)
                /* There is no file to keep them in. */
                o.flags &= ~(WIRE_F_EVENTS | WIRE_F_LEAK_SCAN);
        o.carrier = &carrier_plain_preload;
        o.uid = getuid();
        o.output = &a->output;
        o.context = a;
        o.say = on_say;
        o.done = on_done;
        o.reported = on_reported;
        o.moved = on_moved;
        o.author = (struct reports_author){ &names, record_write_report };
        return o;
}

/* The program's limits are not meant for us. */
static void raise_limits(void)
{
        static const int which[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_STACK,
                                     RLIMIT_NPROC };
        struct rlimit limit;

        for (size_t i = 0; i < sizeof which / sizeof *which; i++)
                if (getrlimit(which[i], &limit) == 0) {
                        limit.rlim_cur = limit.rlim_max;
                        setrlimit(which[i], &limit);
                }
}

/* ---- the run ---- */

static void withdraw(struct attend *a)
{
        int none = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct stat st;

        setsid();
        if (fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode))
                a->file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
                if (none < 0 || dup2(none, fd) < 0)
                        close(fd);
        if (none > STDERR_FILENO)
                close(none);
        a->withdrawn = true;
}

static bool answer(int fd, const char *text)
{
        bool good = send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);

        close(fd);
        return good;
}

/* With --follow=none only the first program is recorded, not those that it starts. */
static bool is_not_followed(const struct attend *a)
{
        return a->wishes.session.follow == SESSION_FOLLOW_NONE && a->pid &&
               endpoint_of_ancestor((uint32_t)a->pid);
}

/* Who exports LD_PRELOAD in a shell and then types `seep report` wants no report about seep. */
static bool is_tool(pid_t pid)
{
        struct stat own, other;
        char name[64];

        snprintf(name, sizeof name, "/proc/%d/exe", (int)pid);
        return pid && stat("/proc/self/exe", &own) == 0 && stat(name, &other) == 0 &&
               own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Recordings are a server's, or files; reports have been written by then. */
static struct session *open_session(const struct attend *a, struct session_options *o,
                                    struct err *e)
{
        if (!a->push)
                o->done = NULL;
        return session_open(o, e);
}

static int observe(struct attend *a, int fd)
{
        struct session_options options = make_options(a);
        struct session_end end;
        struct err e = { 0 };
        struct session *s = NULL;
        int status;

        if (!prepare_output(a, &e) ||
            !record_open_push(&a->wishes, options.carrier, &a->push, &e) ||
            !(s = open_session(a, &options, &e))) {
                push_close(a->push);
                status = message_error(&e);
                message("nothing is recorded");
                answer(fd, "-"); /* the program goes on: what is to be said has been */
                return status;
        }
        if (a->pid)
                session_take_over(s, a->pid);
        if (answer(fd, session_environment(s))) {
                withdraw(a);
                push_program(a->push, (uint32_t)a->pid);
                session_run(s, a->pid, &end);
        }
        session_close(s);
        push_close(a->push);
        return 0;
}

int cmd_attend(int argc, char **argv)
{
        struct attend a = { .file = -1 };
        int status, fd = argc == 2 ? take_connection(argv[1], &a.pid) : -1;
        bool tool;

        if (fd < 0)
                return message_usage("record",
                                     "LD_PRELOAD=libseep.so starts attend by itself; did you mean "
                                     "'seep record'?");
        raise_limits();
        tool = is_tool(a.pid);
        if (config_is_raised()) {
                message("the program runs with elevated privileges (setuid, file capabilities)");
                status = ERR_EXIT_CANNOT_TRACE;
        } else {
                status = tool ? 0 : take_options(&a);
        }
        if (status)
                message("nothing is recorded");
        if (status || tool || is_not_followed(&a))
                answer(fd, "-");
        else
                status = observe(&a, fd);
        if (a.file >= 0)
                close(a.file);
        output_free(&a.output);
        if (a.words)
                words_free(a.words);
        return status;
}
