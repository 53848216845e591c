/* SPDX-License-Identifier: MIT */
#include "words/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"

void text_plain_number(struct str *out, uint64_t value)
{
        str_number(out, value);
}

void text_number(struct str *out, int64_t value)
{
        char digits[32], *end = digits + sizeof digits, *at = end;
        uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
        unsigned count = 0;

        do {
                if (count && count % 3 == 0)
                        *--at = ',';
                *--at = (char)('0' + rest % 10);
                count++;
        } while (rest /= 10);
        if (value < 0)
                *--at = '-';
        str_bytes(out, at, (size_t)(end - at));
}

void text_count(struct str *out, int64_t value, const char *noun)
{
        text_number(out, value);
        str_char(out, ' ');
        str_text(out, noun);
        str_text(out, value == 1 || value == -1 ? "" : "s");
}

void text_item(struct str *out, uint32_t number)
{
        for (uint32_t least = 1000; least > 1 && number < least; least /= 10)
                str_char(out, ' ');
        str_number(out, number);
        str_text(out, ". ");
}

/* Without printf: lists have millions of these. */
void text_size(struct str *out, int64_t bytes)
{
        static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB" };
        uint64_t all = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, one = 1, tenths = all * 10;
        size_t unit = 0;

        if (bytes < 0)
                str_char(out, '-');
        for (; unit + 1 < sizeof units / sizeof units[0] && (unit ? tenths >= 10240 : all >= 1024);
             unit++) {
                one *= 1024;
                tenths = all / one * 10 + (all % one * 10 + one / 2) / one;
        }
        text_plain_number(out, unit ? tenths / 10 : all);
        if (unit) {
                str_char(out, '.');
                str_char(out, (char)('0' + tenths % 10));
        }
        str_text(out, units[unit]);
}

void text_time(struct str *out, uint64_t ms)
{
        uint64_t s = ms / 1000;

        if (ms < 1000)
                str_format(out, "%" PRIu64 " ms", ms);
        else if (s < 60)
                str_format(out, "%.1f s", (double)(ms / 100) / 10);
        else if (s < 3600)
                str_format(out, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
        else
                str_format(out, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
}

void text_age(struct str *out, int64_t ms)
{
        text_time(out, (uint64_t)ms);
}

void text_cell(struct str *out, int width, uint64_t value, void (*print)(struct str *, int64_t))
{
        struct str cell = { 0 };

        print(&cell, (int64_t)value);
        str_format(out, "%*s", width, str_get(&cell));
        str_free(&cell);
}

void text_share(struct str *out, double part, double whole)
{
        double percent = whole > 0 ? 100 * part / whole : 0;

        if (percent > 0 && percent < 9.95)
                str_format(out, "%.1f %%", percent);
        else
                str_format(out, "%.0f %%", percent);
}

void text_percent(struct str *out, double part)
{
        double share = part < 0 ? -part : part;
        uint64_t hundredths = share < 1e12 ? (uint64_t)(share * 10000 + 0.5) : UINT64_MAX;

        if (part < 0)
                str_char(out, '-');
        text_plain_number(out, hundredths / 100);
        str_char(out, '.');
        str_char(out, (char)('0' + hundredths / 10 % 10));
        str_char(out, (char)('0' + hundredths % 10));
        str_char(out, '%');
}

/* Bytes of the terminal escape that begins at byte AT, 0 when none does. */
static size_t text_escape(const struct str *s, size_t at)
{
        size_t end = at + 2;

        if (at + 1 >= s->length || s->data[at] != '\033' || s->data[at + 1] != '[')
                return 0;
        while (end < s->length && s->data[end] != 'm')
                end++;
        return end < s->length ? end + 1 - at : 0;
}

/* The byte at which COLUMNS columns have been used since START: continuation bytes of
 * UTF-8 and escapes take none. */
static size_t text_at(const struct str *s, size_t start, size_t columns, size_t *used)
{
        size_t at = start, escape;

        for (*used = 0; at < s->length; at += escape ? escape : 1) {
                escape = s->data[at] == '\033' ? text_escape(s, at) : 0;
                if (escape || ((unsigned char)s->data[at] & 0xc0) == 0x80)
                        continue;
                if (*used == columns)
                        break;
                ++*used;
        }
        return at;
}

size_t text_columns(const struct str *s, size_t start)
{
        size_t columns = 0, i = start;

        for (; i < s->length && s->data[i] != '\033'; i++)
                columns += ((unsigned char)s->data[i] & 0xc0) != 0x80;
        if (i < s->length) /* there are colours */
                text_at(s, start, SIZE_MAX, &columns);
        return columns;
}

void text_pad(struct str *out, size_t start, size_t column)
{
        for (size_t used = text_columns(out, start); used < column; used++)
                str_char(out, ' ');
}

void text_cut(struct str *out, size_t start, size_t columns)
{
        struct str escapes = { 0 };
        size_t at, used;

        if (columns < 3 || text_columns(out, start) <= columns)
                return;
        at = text_at(out, start, columns - 3, &used);
        for (size_t i = at; i < out->length; i++)
                str_bytes(&escapes, out->data + i, text_escape(out, i));
        out->length = at;
        str_text(out, "...");
        str_bytes(out, str_get(&escapes), escapes.length);
        str_free(&escapes);
}

void text_color(struct str *out, int color, const char *code)
{
        if (color)
                str_format(out, "\033[%sm", code);
}

void text_plain(struct str *out, int color)
{
        if (color)
                str_text(out, "\033[0m");
}

void text_name(struct str *out, const char *name)
{
        size_t start = out->length;

        str_text(out, name ? name : "?");
        if (plain_name(out->data + start))
                out->length = start + strlen(out->data + start);
}

void text_fold(struct str *out, const char *indent, const char *text, size_t columns)
{
        const size_t room = columns - strlen(indent);

        while (*text) {
                size_t length = strlen(text);
                const char *space = length > room ? memrchr(text, ' ', room + 1) : NULL;

                if (length > room)
                        length = space ? (size_t)(space - text) : strcspn(text, " ");
                str_text(out, indent);
                str_bytes(out, text, length);
                str_char(out, '\n');
                text += length + (text[length] == ' ');
        }
}
