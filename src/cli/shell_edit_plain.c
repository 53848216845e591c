/* SPDX-License-Identifier: MIT */
/* shell_edit_plain.c -- in place of shell_edit.c in a build without libedit. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "cli/shell_edit.h"

struct shell_editor {
        char room[4096];
        size_t at, end;
};

struct shell_editor *shell_edit_open(struct shell *s)
{
        (void)s;
        return heap_zero(1, sizeof(struct shell_editor));
}

void shell_edit_close(struct shell_editor *e)
{
        free(e);
}

void shell_edit_remember(struct shell_editor *e, const char *line)
{
        (void)e;
        (void)line;
}

enum shell_edited shell_edit_line(struct shell_editor *e, struct str *out)
{
        str_clear(out);
        io_write(STDOUT_FILENO, SHELL_PROMPT, sizeof SHELL_PROMPT - 1);
        for (;;) {
                if (e->at == e->end) {
                        enum shell_edited waited = shell_edit_wait();
                        ssize_t got;

                        if (waited != SHELL_EDITED)
                                return waited;
                        got = read(STDIN_FILENO, e->room, sizeof e->room);
                        if (got < 0 && errno == EINTR)
                                continue;
                        if (got <= 0)
                                return SHELL_OVER;
                        e->at = 0;
                        e->end = (size_t)got;
                }
                if (e->room[e->at++] == '\n')
                        return SHELL_EDITED;
                if (out->length < SHELL_LINE_MAX)
                        str_char(out, e->room[e->at - 1]);
        }
}
