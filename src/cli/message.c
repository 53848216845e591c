/* SPDX-License-Identifier: MIT */
/*
 * message.c -- lines of ours to the user.
 *
 * Room:   outside, cli/ only.
 * Keeps:  one write per message, so that lines of several processes do not mix; every line begins "seep: ".
 */
#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"

static void put_lines(const char *text)
{
        struct str out = {0};

        while (*text) {
                size_t length = strcspn(text, "\n");

                str_text(&out, "seep: ");
                str_bytes(&out, text, length);
                str_char(&out, '\n');
                text += length + (text[length] == '\n');
        }
        fflush(stdout);
        /* Nobody is left to tell when stderr itself cannot be written. */
        (void)io_write(STDERR_FILENO, str_get(&out), out.length);
        str_free(&out);
}

static void put_format(const char *format, va_list args)
{
        char *text = NULL;

        if (vasprintf(&text, format, args) < 0)
                return;
        put_lines(text);
        free(text);
}

void message(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        put_format(format, args);
        va_end(args);
}

int message_error(const struct err *e)
{
        put_lines(e->text);
        return e->exit_code ? e->exit_code : ERR_EXIT_FINDINGS;
}

static char *other_places; /* of options; until the process ends */

void message_usage_also(const char *places)
{
        free(other_places);
        other_places = heap_text(places);
}

int message_usage(const char *command, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        put_format(format, args);
        va_end(args);
        if (other_places)
                message("options were also taken from %s", other_places);
        message("'seep help %s' lists the options", command);
        return ERR_EXIT_USAGE;
}
