/* SPDX-License-Identifier: MIT */
/* shell_run.c -- commands of `seep shell` run one after another, each in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/place.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/shell.h"
#include "cli/words.h"

enum { RUN_SIGNAL = 128, RUN_LINE_MAX = 1 << 20 };

volatile sig_atomic_t shell_interrupted;

/* ---- where the result goes ---- */

/* An existing file is a result of somebody's: it is replaced when that was said. */
static int open_file(const struct shell_line *line, struct err *e)
{
        bool new = line->to == SHELL_TO_FILE;
        int flags = line->to == SHELL_TO_END ? O_APPEND : line->to == SHELL_TO_REPLACE ? O_TRUNC
                                                                                       : O_EXCL;
        struct place p;
        int fd = -1;

        if (!place_open(&p, line->where, new ? PLACE_NEW : PLACE_NAMED)) {
                if (new && errno == EEXIST)
                        err_set(e, ERR_EXIT_USAGE,
                                "%s exists: '>!%s' replaces it, '>>%s' adds to it", line->where,
                                line->where, line->where);
                else
                        place_refuse(line->where, ERR_EXIT_USAGE, e);
        } else {
                fd = p.device >= 0 ? place_begin(&p)
                                         : openat(p.directory, p.name,
                                                  O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
                                                          flags, 0666);
                p.fd = -1; /* it is the command's now */
                if (fd < 0)
                        place_refuse(line->where, ERR_EXIT_USAGE, e);
        }
        place_close(&p);
        return fd;
}

/* sh, with the other end of a pipe as its input. */
static pid_t start_reader(const char *command, int *input, struct err *e)
{
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) != 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot make a pipe");
                return -1;
        }
        pid = fork();
        if (pid == 0) {
                signal(SIGQUIT, SIG_DFL);
                signal(SIGPIPE, SIG_DFL);
                if (dup2(ends[0], STDIN_FILENO) >= 0)
                        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
                _exit(ERR_EXIT_NOT_FOUND);
        }
        close(ends[0]);
        *input = ends[1];
        if (pid < 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot start sh");
                close(ends[1]);
        }
        return pid;
}

/* ---- one command ---- */

static int wait_for(pid_t pid)
{
        int status = 0;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return ERR_EXIT_CANNOT_TRACE;
        return WIFSIGNALED(status) ? RUN_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What it is to do: words of seep, or a verb of ours. */
struct job {
        struct shell *s;
        const struct shell_line *line;
        const struct shell_verb *verb;
        struct shell_words words;
};

_Noreturn static void be_command(struct job *job, int out)
{
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        if (job->s->script) { /* the rest of it is not for the command */
                int nothing = open("/dev/null", O_RDONLY);

                if (nothing >= 0)
                        dup2(nothing, STDIN_FILENO);
        }
        if (out >= 0 && dup2(out, STDOUT_FILENO) < 0)
                _exit(ERR_EXIT_CANNOT_TRACE);
        if (job->words.count)
                exit(command_close(command_run(command_find(job->words.at[0]), job->words.count,
                                               job->words.at)));
        exit(command_close(job->verb->beside(job->s, job->line)));
}

static int run_job(struct job *job)
{
        struct err e = { 0 };
        pid_t reader = 0, pid;
        int out = -1, status, read_status = 0;

        if (job->line->to == SHELL_TO_PIPE)
                reader = start_reader(job->line->where, &out, &e);
        else if (job->line->to != SHELL_TO_STDOUT)
                out = open_file(job->line, &e);
        if (e.exit_code)
                return message_error(&e);
        fflush(stdout);
        pid = fork();
        if (pid == 0)
                be_command(job, out);
        if (out >= 0)
                close(out);
        if (pid < 0)
                err_sys(&e, ERR_EXIT_CANNOT_TRACE, "cannot start a process for the command");
        status = pid > 0 ? wait_for(pid) : message_error(&e);
        if (reader)
                read_status = wait_for(reader);
        if (reader && status == RUN_SIGNAL + SIGPIPE)
                status = 0; /* it has read enough */
        if (status > RUN_SIGNAL && status != RUN_SIGNAL + SIGINT)
                message("%s: ended by signal %d (%s)", job->line->words[0], status - RUN_SIGNAL,
                        strsignal(status - RUN_SIGNAL));
        return status ? status : read_status;
}

static int run_line(struct shell *s, struct shell_line *line)
{
        struct job job = { .s = s, .line = line };
        struct err e = { 0 };
        int status;

        job.verb = shell_verb_find(line->words[0], &e);
        if (!job.verb)
                return message_error(&e);
        free(line->words[0]);
        line->words[0] = heap_text(job.verb->name);
        shell_target_watch(s);
        if (job.verb->here) {
                if (line->to == SHELL_TO_STDOUT)
                        return job.verb->here(s, line);
                err_set(&e, ERR_EXIT_USAGE, "%s has no result that could go elsewhere",
                        job.verb->name);
                return message_error(&e);
        }
        if (job.verb->plan && !job.verb->plan(s, line, &job.words, &e))
                status = message_error(&e);
        else
                status = run_job(&job);
        if (job.words.at)
                words_free(job.words.at);
        if (s->chosen < s->count)
                shell_target_look(s->targets[s->chosen]);
        return status;
}

int shell_run_words(struct shell *s, const struct shell_line *line, struct shell_words *words)
{
        struct job job = { .s = s, .line = line, .words = *words };
        int status = run_job(&job);

        words_free(words->at);
        *words = (struct shell_words){ 0 };
        return status;
}

/* ---- many ---- */

int shell_do(struct shell *s, const char *text, bool *worked)
{
        struct shell_line line;
        struct err e;
        int taken, status = 0;

        while (!s->left && (taken = shell_line_take(&text, &line, &e)) != 0) {
                int one = taken < 0 ? message_error(&e) : run_line(s, &line);

                if (one)
                        status = s->status = one;
                if (taken > 0)
                        shell_line_free(&line);
                if (shell_interrupted)
                        break;
        }
        if (worked)
                *worked = status <= ERR_EXIT_FINDINGS;
        return status;
}

/* Lines of a script.  Not stdio: what a child of ours has in its copy of a stream, it gives back to
 * a file that we share when it ends. */
struct script {
        int fd;
        char room[4096];
        size_t at, end;
};

static int next_byte(struct script *from)
{
        ssize_t got = 1;

        if (from->at == from->end) {
                do
                        got = read(from->fd, from->room, sizeof from->room);
                while (got < 0 && errno == EINTR && !shell_interrupted);
                from->at = 0;
                from->end = got > 0 ? (size_t)got : 0;
        }
        return got > 0 ? (unsigned char)from->room[from->at++] : EOF;
}

/* The next line; false: there is none.  *TROUBLE: why it is no command, NULL: it may be one. */
static bool take_line(struct script *from, struct str *line, const char **trouble)
{
        int byte = next_byte(from);
        bool any = byte != EOF;

        str_clear(line);
        *trouble = NULL;
        for (; byte != EOF && byte != '\n'; byte = next_byte(from)) {
                if (!byte)
                        *trouble = "there is a NUL byte in it";
                else if (line->length == RUN_LINE_MAX)
                        *trouble = "it is longer than 1 MiB";
                else
                        str_char(line, (char)byte);
        }
        return any;
}

int shell_do_file(struct shell *s, int fd)
{
        struct script from = { .fd = fd };
        struct str line = { 0 };
        int status = 0;
        const char *trouble;

        for (int number = 1; !s->left && take_line(&from, &line, &trouble); number++) {
                int one = trouble ? ERR_EXIT_USAGE : shell_do(s, str_get(&line), NULL);

                if (trouble)
                        message("line %d is no command: %s", number, trouble);
                if (one)
                        status = s->status = one;
        }
        str_free(&line);
        close(fd);
        return status;
}
