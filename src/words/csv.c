/* SPDX-License-Identifier: MIT */
#include "words/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/plain.h"

bool csv_computes(const char *text)
{
        return *text && strchr("=+-@\t\r", *text);
}

static bool csv_is_number(const char *text)
{
        char *end;

        strtod(text, &end);
        return end != text && !*end;
}

/* Line breaks and tabs stay, as quotes are around them. */
void csv_text(struct str *out, const char *text)
{
        size_t start = out->length;
        bool quoted = text && strpbrk(text, ",\"\r\n");

        if (quoted)
                str_char(out, '"');
        if (text && csv_computes(text) && !csv_is_number(text))
                str_char(out, '\'');
        if (!quoted) {
                str_text(out, text ? text : "");
                plain_output(out, start, false);
                str_char(out, ',');
                return;
        }
        for (; *text; text++) {
                if (*text == '"')
                        str_char(out, '"');
                str_char(out, *text);
        }
        plain_output(out, start, false);
        str_text(out, "\",");
}

void csv_number(struct str *out, uint64_t value)
{
        json_number(out, value); /* digits are digits */
        str_char(out, ',');
}

void csv_signed(struct str *out, int64_t value)
{
        if (value < 0)
                str_char(out, '-');
        csv_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* The comma of the last field gives way. */
void csv_end(struct str *out)
{
        out->length--;
        str_text(out, "\r\n");
}

void csv_names(struct str *out, const char *names)
{
        str_text(out, names);
        str_text(out, "\r\n");
}

void csv_known(struct str *out, bool known, uint64_t value)
{
        if (known)
                csv_signed(out, (int64_t)value);
        else
                csv_text(out, NULL);
}
