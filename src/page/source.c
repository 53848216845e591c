/* SPDX-License-Identifier: MIT */
/* source.c -- the text of the source files whose lines are in stacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "page/page_parts.h"
#include "report/source.h"

enum { SOURCE_AROUND = 20 }; /* lines before the first and behind the last that has a cost */

struct source_range {
        uint32_t first, last; /* last 0: the file is not used */
};

/* Lines FIRST to LAST of TEXT as a list. */
static void write_lines(const struct str *text, struct source_range range, struct str *out)
{
        const char *at = str_get(text), *end = at + text->length;
        struct str line = { 0 };

        str_char(out, '[');
        for (uint32_t number = 1; at < end && number <= range.last; number++) {
                const char *next = memchr(at, '\n', (size_t)(end - at));

                next = next ? next : end;
                if (number >= range.first) {
                        str_clear(&line);
                        str_bytes(&line, at, (size_t)(next - at));
                        if (line.length && line.data[line.length - 1] == '\r')
                                line.data[--line.length] = 0;
                        if (number > range.first)
                                str_char(out, ',');
                        json_text(out, str_get(&line));
                }
                at = next + 1;
        }
        str_char(out, ']');
        str_free(&line);
}

static bool write_file(const struct symbol_options *names, const char *path,
                       struct source_range range, struct str *out)
{
        const struct symbol_options none = { 0 };
        struct str text = { 0 };
        time_t unused;
        bool good = source_read(names ? names : &none, path, &text, &unused);

        if (good) {
                str_text(out, "{\"file\":");
                json_text(out, path);
                str_format(out, ",\"first_line\":%" PRIu32 ",\"lines\":", range.first);
                write_lines(&text, range, out);
                str_char(out, '}');
        }
        str_free(&text);
        return good;
}

bool page_source(const struct symbol_options *names, const char *path, struct str *out)
{
        return write_file(names, path, (struct source_range){ 1, UINT32_MAX }, out);
}

/* By text: the lines of that file which stand in a frame. */
static struct source_range *find_ranges(const struct page *g)
{
        struct source_range *ranges = heap_zero(g->lexicon.count, sizeof *ranges);
        const struct grid *frames = &g->calls.frames, *functions = &g->calls.functions;

        for (size_t i = 0; i < frames->count; i++) {
                int64_t file = grid_cell(functions,
                                         (size_t)grid_cell(frames, i, CALLS_FRAME_FUNCTION),
                                         CALLS_FUNCTION_FILE);
                uint32_t line = (uint32_t)grid_cell(frames, i, CALLS_FRAME_LINE);
                struct source_range *range;

                if (file == GRID_NONE || !line)
                        continue;
                range = &ranges[file];
                if (!range->last || line < range->first)
                        range->first = line;
                if (line > range->last)
                        range->last = line;
        }
        return ranges;
}

static struct source_range widen(struct source_range range)
{
        range.first = range.first > SOURCE_AROUND ? range.first - SOURCE_AROUND : 1;
        range.last += range.last < UINT32_MAX - SOURCE_AROUND ? SOURCE_AROUND : 0;
        return range;
}

void page_write_source(struct page *g)
{
        struct source_range *ranges;
        struct str text = { 0 };
        uint32_t left_out = 0;
        size_t start;

        page_name(g, "source");
        str_char(g->out, '[');
        start = g->out->length;
        ranges = find_ranges(g);
        for (uint32_t i = 0; g->r->source == PAGE_SOURCE_USED && i < g->lexicon.count; i++) {
                if (!ranges[i].last)
                        continue;
                str_clear(&text);
                if (!write_file(g->r->names, g->lexicon.list[i], widen(ranges[i]), &text))
                        continue;
                if (g->out->length - start + text.length > g->limits->source_bytes) {
                        left_out++;
                        continue;
                }
                if (g->out->length > start)
                        str_char(g->out, ',');
                str_bytes(g->out, text.data, text.length);
        }
        str_char(g->out, ']');
        if (left_out)
                page_cut(g, "The text of %u source files is left out.", left_out);
        str_free(&text);
        free(ranges);
}
