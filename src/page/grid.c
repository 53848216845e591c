/* SPDX-License-Identifier: MIT */
/*
 * grid.c -- rows of numbers, written by column; texts, each stored once and told by its number.
 *
 * Cost:   10 million numbers in 0.1 s.
 */
#include "page/grid.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"

enum { GRID_DIGITS = 21, GRID_AT_ONCE = 4096, GRID_CONSTANT = 64 };

void grid_start(struct grid *t, const char *names)
{
        *t = (struct grid){ .names = names, .columns = 1 };
        for (const char *c = names; *c; c++)
                t->columns += *c == ' ';
}

void grid_free(struct grid *t)
{
        free(t->cells);
        *t = (struct grid){ 0 };
}

int64_t *grid_add(struct grid *t)
{
        int64_t *row;

        t->cells = heap_next(t->cells, t->count, t->columns * sizeof *t->cells);
        row = t->cells + t->count++ * t->columns;
        memset(row, 0, t->columns * sizeof *row);
        return row;
}

void grid_row(struct grid *t, const int64_t *cells, size_t count)
{
        memcpy(grid_add(t), cells, (count < t->columns ? count : t->columns) * sizeof *cells);
}

static char *put_number(char *at, int64_t value)
{
        uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
        char digits[GRID_DIGITS];
        size_t first = sizeof digits;

        if (value < 0)
                *at++ = '-';
        do
                digits[--first] = (char)('0' + rest % 10);
        while (rest /= 10);
        memcpy(at, digits + first, sizeof digits - first);
        return at + (sizeof digits - first);
}

void grid_list(const int64_t *numbers, size_t count, size_t step, struct str *out)
{
        str_char(out, '[');
        for (size_t i = 0; i < count;) {
                size_t end = count - i < GRID_AT_ONCE ? count : i + GRID_AT_ONCE;
                char *at = str_room(out, (end - i) * (GRID_DIGITS + 1));

                for (; i < end; i++) {
                        if (i)
                                *at++ = ',';
                        at = put_number(at, numbers[i * step]);
                }
                str_end(out, at);
        }
        str_char(out, ']');
}

/* Whether all rows have the same in COLUMN, and are many enough for that to matter. */
static bool is_constant(const struct grid *t, uint32_t column)
{
        for (size_t i = 1; i < t->count; i++)
                if (grid_cell(t, i, column) != grid_cell(t, 0, column))
                        return false;
        return t->count >= GRID_CONSTANT;
}

void grid_write(const struct grid *t, struct str *out)
{
        const char *name = t->names;

        str_format(out, "{\"count\":%zu", t->count);
        for (uint32_t i = 0; i < t->columns; i++) {
                size_t length = strcspn(name, " ");

                str_format(out, ",\"%.*s\":", (int)length, name);
                if (is_constant(t, i))
                        str_format(out, "%" PRId64, grid_cell(t, 0, i));
                else
                        grid_list(t->cells + i, t->count, t->columns, out);
                name += length + 1;
        }
        str_char(out, '}');
}

/* ---- texts ---- */

/* Where TEXT is cut: not inside of a character. */
static size_t longest_start(const char *text)
{
        size_t end = LEXICON_LONGEST;

        while (end > LEXICON_LONGEST - 4 && (text[end] & 0xc0) == 0x80)
                end--;
        return end;
}

int64_t lexicon_of(struct lexicon *t, const char *text)
{
        struct str cut = { 0 };
        uint32_t *known;

        if (!text)
                return GRID_NONE;
        if (strnlen(text, LEXICON_LONGEST + 1) > LEXICON_LONGEST) {
                str_bytes(&cut, text, longest_start(text));
                str_text(&cut, "...");
                text = cut.data;
        }
        text = string_pool_text(&t->pool, text);
        known = lookup_pointer(&t->known, text);
        if (!*known) {
                t->list = heap_next(t->list, t->count, sizeof *t->list);
                if (t->count)
                        str_char(&t->json, ',');
                json_text(&t->json, text);
                t->list[t->count] = text;
                *known = ++t->count;
        }
        str_free(&cut);
        return *known - 1;
}

int64_t lexicon_address(struct lexicon *t, uint64_t address)
{
        char text[32];

        snprintf(text, sizeof text, "0x%" PRIx64, address);
        return lexicon_of(t, text);
}

void lexicon_free(struct lexicon *t)
{
        string_pool_free(&t->pool);
        lookup_free(&t->known);
        str_free(&t->json);
        free(t->list);
        *t = (struct lexicon){ 0 };
}
