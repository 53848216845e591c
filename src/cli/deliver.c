/* SPDX-License-Identifier: MIT */
/*
 * deliver.c -- where a result goes: a file (-o FILE), or stdout.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/plain.h"
#include "profile/format.h"

static bool is_file(const struct deliver *d)
{
        return d->output && strcmp(d->output, "-") != 0;
}

/* /dev/null, a pipe, a terminal: nothing there is lost by writing to it. */
static bool is_device(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

static bool is_folder(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_recording(const char *path)
{
        char head[FORMAT_MAGIC_BYTES];
        int fd = is_device(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        bool whole = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head;

        if (fd >= 0)
                close(fd);
        return whole && memcmp(head, FORMAT_MAGIC, sizeof head) == 0;
}

bool deliver_may_replace(const char *path, struct err *e)
{
        return !is_recording(path) || err_set(e, ERR_EXIT_USAGE, "%s is a recording: -f does not replace it; give another name", path);
}

/* -1: E tells why. */
static int create(const struct deliver *d, struct err *e)
{
        int how = is_device(d->output) ? 0 : O_CREAT | (d->force ? O_TRUNC : O_EXCL);
        bool there;
        int fd;

        if (d->force && !deliver_may_replace(d->output, e))
                return -1;
        fd = open(d->output, O_WRONLY | O_CLOEXEC | how, 0666);
        there = fd < 0 && errno == EEXIST;
        if (there && is_folder(d->output))
                err_set(e, ERR_EXIT_USAGE, "cannot write %s: it is a directory", d->output);
        else if (there)
                err_set(e, ERR_EXIT_USAGE, "%s exists already: -f replaces it", d->output);
        else if (fd < 0)
                err_sys(e, ERR_EXIT_USAGE, "cannot write %s", d->output);
        return fd;
}

static bool save(const struct deliver *d, const struct str *text, struct err *e)
{
        int fd = create(d, e);
        bool good;

        if (fd < 0)
                return false;
        good = io_write(fd, str_get(text), text->length);
        if (close(fd) != 0)
                good = false;
        return good || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s", d->output);
}

static bool deliver_as_is(const struct deliver *d, const struct str *text, struct err *e)
{
        if (is_file(d))
                return save(d, text, e);
        return pager_show(text, d->plain) || err_sys(e, ERR_EXIT_FINDINGS, "cannot write the result");
}

bool deliver_text(const struct deliver *d, const struct str *text, struct err *e)
{
        struct str fit = { 0 };
        bool good;

        if (d->raw || plain_is_output(text))
                return deliver_as_is(d, text, e);
        str_bytes(&fit, text->data, text->length);
        plain_output(&fit, 0, true);
        good = deliver_as_is(d, &fit, e);
        str_free(&fit);
        return good;
}

bool deliver_color(const struct deliver *d, enum pager_color wanted)
{
        return is_file(d) ? wanted == PAGER_COLOR_ALWAYS : pager_color(wanted, STDOUT_FILENO);
}

/* ---- as it comes ---- */

bool deliver_begin(struct deliver_stream *s, const struct deliver *d, struct err *e)
{
        *s = (struct deliver_stream){ .to = d, .fd = STDOUT_FILENO };
        if (is_file(d))
                s->fd = create(d, e);
        else if (pager_open(&s->pager, d->plain)) {
                s->paged = true;
                s->fd = s->pager.fd;
        }
        if (s->fd < 0)
                return false;
        s->before = signal(SIGPIPE, SIG_IGN);
        return true;
}

/* What is there goes out.  false: the reader has gone, or it cannot be written. */
static bool send(struct deliver_stream *s)
{
        if (!s->to->raw)
                plain_output(&s->text, 0, true);
        if (!s->failure && s->text.length && !io_write(s->fd, s->text.data, s->text.length))
                s->failure = errno;
        str_clear(&s->text);
        return !s->failure;
}

bool deliver_more(struct deliver_stream *s)
{
        return s->text.length < DELIVER_AT_ONCE ? !s->failure : send(s);
}

bool deliver_end(struct deliver_stream *s, struct err *e)
{
        bool good = true;

        send(s);
        signal(SIGPIPE, s->before);
        if (is_file(s->to) && close(s->fd) != 0 && !s->failure)
                s->failure = errno;
        if (s->paged && !pager_close(&s->pager))
                good = err_set(e, ERR_EXIT_FINDINGS, "the pager could not be started: --no-pager does without");
        errno = s->failure;
        if (good && s->failure && s->failure != EPIPE)
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s", is_file(s->to) ? s->to->output : "the result");
        str_free(&s->text);
        return good;
}
