/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

static void put_ascii(struct str *out, char c)
{
        if (c == '"' || c == '\\')
                str_format(out, "\\%c", c);
        else if (c == '\n')
                str_text(out, "\\n");
        else if (c == '\t')
                str_text(out, "\\t");
        else if ((unsigned char)c < 0x20 || c == 0x7f)
                str_format(out, "\\u%04x", c);
        else
                str_char(out, c);
}

void json_text(struct str *out, const char *text)
{
        unsigned bytes;

        if (!text) {
                str_text(out, "null");
                return;
        }
        str_char(out, '"');
        for (; utf8_care(out, &text, "\"\\", &bytes); text += bytes ? bytes : 1)
                if (bytes == 1)
                        put_ascii(out, *text);
                else if (bytes)
                        str_bytes(out, text, bytes);
                else
                        str_text(out, UTF8_WRONG);
        str_char(out, '"');
}

void json_number(struct str *out, uint64_t value)
{
        str_number(out, value);
}

void json_field(struct str *out, const char *before, const char *name, uint64_t value)
{
        str_text(out, before);
        str_text(out, name);
        str_text(out, "\": ");
        json_number(out, value);
}

void json_text_field(struct str *out, const char *before, const char *name, const char *text)
{
        str_text(out, before);
        str_text(out, name);
        str_text(out, "\": ");
        json_text(out, text);
}

void json_signed_field(struct str *out, const char *before, const char *name, uint64_t value)
{
        bool negative = (int64_t)value < 0;

        str_text(out, before);
        str_text(out, name);
        str_text(out, negative ? "\": -" : "\": ");
        json_number(out, negative ? -value : value);
}

void json_place(struct str *out, const char *file, uint64_t line)
{
        json_text_field(out, ", \"", "file", file);
        if (line)
                json_field(out, ", \"", "line", line);
        else
                str_text(out, ", \"line\": null");
}
