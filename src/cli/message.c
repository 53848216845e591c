/* SPDX-License-Identifier: MIT */
/*
 * message.c -- lines of ours to the user.
 *
 * Keeps:  one write per message, so that lines of several processes do not mix; every message
 *         begins "seep: "; on a terminal, lines break between words.
 */
#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/plain.h"
#include "base/str.h"

#define PREFIX "seep: "

/* Of stderr; 0 when it is no terminal, or one that does not tell. */
static size_t columns_of_stderr(void)
{
        struct winsize size;

        return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* How much of LENGTH bytes goes into COLUMNS: up to a space; a longer word stays whole. */
static size_t fitting(const char *text, size_t length, size_t columns)
{
        size_t end = 0;

        if (length <= columns)
                return length;
        for (size_t i = 1; i < length && (i <= columns || !end); i++)
                if (text[i] == ' ')
                        end = i;
        return end ? end : length;
}

void message_line(const char *text, size_t length, struct str *out)
{
        size_t columns = columns_of_stderr(),
               room = columns > 2 * strlen(PREFIX) ? columns - strlen(PREFIX) : length;
        size_t part = fitting(text, length, room);

        str_text(out, PREFIX);
        str_bytes(out, text, part);
        for (; part < length; part += 1 + fitting(text + part + 1, length - part - 1, room)) {
                str_format(out, "\n%*s", (int)strlen(PREFIX), "");
                str_bytes(out, text + part + 1, fitting(text + part + 1, length - part - 1, room));
        }
        str_char(out, '\n');
}

static void put_lines(const char *text)
{
        struct str out = {0};

        while (*text) {
                size_t length = strcspn(text, "\n");

                message_line(text, length, &out);
                text += length + (text[length] == '\n');
        }
        plain_output(&out, 0, false);
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

void message_result(struct str *text)
{
        plain_output(text, 0, false);
        fputs(str_get(text), stdout);
}

void message_sentence(const char *text)
{
        char *line = heap_text(text);

        plain_name(line);
        put_lines(line);
        free(line);
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
