/* SPDX-License-Identifier: MIT */
#include "cli/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/plain.h"
#include "cli/message.h"
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
        return !is_recording(path) ||
               err_set(e, ERR_EXIT_USAGE,
                       "%s is a recording: -f does not replace it; give another name", path);
}

void deliver_warn(const struct place *p)
{
        if (p->directory >= 0 && place_is_exposed(p->directory))
                message("warning: anyone can write to the directory of %s, and it is not sticky: "
                        "others can replace what is written there", p->path);
}

bool deliver_prepare(struct deliver *d, struct err *e)
{
        if (!is_file(d) || d->looked_up)
                return true;
        if (d->force && !deliver_may_replace(d->output, e))
                return false;
        if (!place_open(&d->place, d->output, d->force ? PLACE_NAMED : PLACE_NEW)) {
                place_refuse(d->output, ERR_EXIT_USAGE, e);
                place_close(&d->place);
                return false;
        }
        d->place.into = d->force;
        d->looked_up = true;
        if (!d->quiet)
                deliver_warn(&d->place);
        return true;
}

void deliver_drop(struct deliver *d)
{
        if (d->looked_up)
                place_close(&d->place);
        d->looked_up = false;
}

/* -1: E tells why. */
static int create(struct deliver *d, struct err *e)
{
        if (!deliver_prepare(d, e))
                return -1;
        if (place_begin(&d->place) >= 0)
                return d->place.fd;
        err_sys(e, ERR_EXIT_USAGE, "cannot write %s", d->output);
        deliver_drop(d);
        return -1;
}

static bool save(struct deliver *d, const struct str *text, struct err *e)
{
        int fd = create(d, e);
        bool good;

        if (fd < 0)
                return false;
        good = (io_write(fd, str_get(text), text->length) && place_end(&d->place)) ||
               place_refuse(d->output, ERR_EXIT_FINDINGS, e);
        deliver_drop(d);
        return good;
}

/* Also of a format that escapes by itself: it does not escape all that a terminal obeys. */
static bool leaves_as_it_is(const struct deliver *d)
{
        return d->raw && (is_file(d) || !isatty(STDOUT_FILENO));
}

static bool deliver_as_is(struct deliver *d, const struct str *text, struct err *e)
{
        if (is_file(d))
                return save(d, text, e);
        return pager_show(text, d->plain) ||
               err_sys(e, ERR_EXIT_FINDINGS, "cannot write the result");
}

bool deliver_text(struct deliver *d, const struct str *text, struct err *e)
{
        struct str fit = { 0 };
        bool good;

        if (leaves_as_it_is(d) || (!d->raw && plain_is_output(text)))
                return deliver_as_is(d, text, e);
        str_bytes(&fit, text->data, text->length);
        plain_output(&fit, 0, !d->raw);
        good = deliver_as_is(d, &fit, e);
        str_free(&fit);
        return good;
}

bool deliver_color(const struct deliver *d, enum pager_color wanted)
{
        return is_file(d) ? wanted == PAGER_COLOR_ALWAYS : pager_color(wanted, STDOUT_FILENO);
}

/* ---- as it comes ---- */

bool deliver_begin(struct deliver_stream *s, struct deliver *d, struct err *e)
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
        if (!leaves_as_it_is(s->to))
                plain_output(&s->text, 0, !s->to->raw);
        if (!s->failure && s->text.length && !io_write(s->fd, s->text.data, s->text.length))
                s->failure = errno;
        str_clear(&s->text);
        return !s->failure;
}

bool deliver_more(struct deliver_stream *s)
{
        return s->text.length < DELIVER_AT_ONCE ? !s->failure : send(s);
}

void deliver_give_up(struct deliver_stream *s)
{
        if (is_file(s->to) && !s->failure)
                s->failure = EPIPE;
}

bool deliver_end(struct deliver_stream *s, struct err *e)
{
        bool good = true;

        send(s);
        signal(SIGPIPE, s->before);
        if (is_file(s->to) && !s->failure && !place_end(&s->to->place))
                s->failure = errno;
        if (is_file(s->to))
                deliver_drop(s->to);
        if (s->paged && !pager_close(&s->pager))
                good = err_set(e, ERR_EXIT_FINDINGS,
                               "the pager could not be started; --no-pager prints without one");
        errno = s->failure;
        if (good && s->failure && s->failure != EPIPE)
                good = is_file(s->to) ? place_refuse(s->to->output, ERR_EXIT_FINDINGS, e)
                                      : err_sys(e, ERR_EXIT_FINDINGS, "cannot write the result");
        str_free(&s->text);
        return good;
}

/* ---- mostly short ---- */

static void take(struct str_sink *sink, struct str *text)
{
        struct deliver_stream *s = (struct deliver_stream *)sink;

        if (!s->begun && !s->trouble.exit_code) {
                struct deliver_stream fresh;

                if (deliver_begin(&fresh, s->to, &s->trouble)) {
                        fresh.sink = s->sink;
                        fresh.text = s->text;
                        fresh.begun = true;
                        *s = fresh;
                }
        }
        if (s->begun)
                send(s);
        str_clear(text);
}

void deliver_gather(struct deliver_stream *s, struct deliver *d)
{
        *s = (struct deliver_stream){ .sink = { take }, .to = d };
        s->text.sink = &s->sink;
}

void deliver_forget(struct deliver_stream *s)
{
        struct err unused;

        if (s->begun) {
                deliver_give_up(s);
                deliver_end(s, &unused);
        }
        deliver_drop(s->to);
        str_free(&s->text);
}

bool deliver_finish(struct deliver_stream *s, struct err *e)
{
        bool good;

        if (s->begun)
                return deliver_end(s, e);
        good = !s->trouble.exit_code && deliver_text(s->to, &s->text, e);
        if (s->trouble.exit_code)
                *e = s->trouble;
        str_free(&s->text);
        return good;
}
