/* SPDX-License-Identifier: MIT */
/*
 * deliver.c -- where a result goes: a file (-o FILE), or stdout.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

static bool is_file(const struct deliver *d)
{
        return d->output && strcmp(d->output, "-") != 0;
}

static bool save(const struct deliver *d, const struct str *text, struct err *e)
{
        int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (d->force ? O_TRUNC : O_EXCL);
        int fd = open(d->output, flags, 0666);
        bool good;

        if (fd < 0 && errno == EEXIST)
                return err_set(e, ERR_EXIT_USAGE, "%s exists already: -f replaces it", d->output);
        if (fd < 0)
                return err_sys(e, ERR_EXIT_USAGE, "cannot write %s", d->output);
        good = io_write(fd, str_get(text), text->length);
        if (close(fd) != 0)
                good = false;
        return good || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s", d->output);
}

bool deliver_text(const struct deliver *d, const struct str *text, struct err *e)
{
        if (is_file(d))
                return save(d, text, e);
        return pager_show(text, d->plain) || err_sys(e, ERR_EXIT_FINDINGS, "cannot write the result");
}

bool deliver_color(const struct deliver *d, enum pager_color wanted)
{
        return is_file(d) ? wanted == PAGER_COLOR_ALWAYS : pager_color(wanted, STDOUT_FILENO);
}
