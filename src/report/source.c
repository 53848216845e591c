/* SPDX-License-Identifier: MIT */
#include "report/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "query/select.h"
#include "base/lookup.h"
#include "words/text.h"

enum {
        SOURCE_CONTEXT = 3,          /* lines shown around one with a cost */
        SOURCE_LINES_MAX = 10000000, /* a larger number is damage, not a line */
        SOURCE_OTHER = 1, /* verdicts: another file; from 2 on: file + 2 */
        SOURCE_FIRST = 2
};

struct source_line {
        uint64_t own_bytes, own_count, bytes, count;
        uint32_t stamp; /* the last row counted here */
};

struct source_file {
        const char *path;
        struct source_line *lines; /* by number */
        uint32_t line_room;
};

struct source {
        const struct selection *sel;
        struct symbols *symbols;
        const char *wanted;
        const struct symbol_options *names;
        struct lookup known;
        struct source_file *files;
        uint32_t file_count;
        uint8_t *here; /* by node: 1 a frame of a wanted file */
        uint32_t row;  /* number of the row being counted */
        struct str *out;
};

/* "src/a.c" is the end of "/proj/src/a.c", "a.c" not of "/x/ba.c". */
static bool source_is(const char *path, const char *wanted)
{
        size_t length = strlen(path), end = strlen(wanted);

        if (strncmp(wanted, "./", 2) == 0) {
                wanted += 2;
                end -= 2;
        }
        return end && length >= end && strcmp(path + length - end, wanted) == 0 &&
               (length == end || path[length - end - 1] == '/' || wanted[0] == '/');
}

/* The file's place in the list; UINT32_MAX: not wanted. */
static uint32_t source_file(struct source *c, const char *path)
{
        uint32_t *known = path ? lookup_pointer(&c->known, path) : NULL;

        if (!known)
                return UINT32_MAX;
        if (!*known && !source_is(path, c->wanted))
                *known = SOURCE_OTHER;
        if (!*known) {
                *known = SOURCE_FIRST + c->file_count;
                c->files = heap_grow(c->files, c->file_count + 1, sizeof *c->files);
                c->files[c->file_count++] = (struct source_file){ .path = path };
        }
        return *known == SOURCE_OTHER ? UINT32_MAX : *known - SOURCE_FIRST;
}

static void source_mark(struct source *c)
{
        uint8_t *needed = needed_nodes(c->sel);
        const struct symbol_frame *frames;

        c->here = heap_zero(c->sel->node_count, 1);
        for (uint32_t i = 2; i < c->sel->node_count; i++) {
                uint32_t count = needed[i] ? symbols_node(c->symbols, select_origin(c->sel, i),
                                                          &frames)
                                           : 0;

                progress_tell(c->sel->progress, i, c->sel->node_count);
                for (uint32_t k = 0; k < count; k++)
                        c->here[i] |= source_file(c, frames[k].file) != UINT32_MAX;
        }
        free(needed);
}

static struct source_line *source_line(struct source_file *f, uint32_t line)
{
        uint32_t room = f->line_room;

        if (line > SOURCE_LINES_MAX)
                return NULL;
        if (line >= room) {
                while (room <= line)
                        room = room ? room * 2 : 256;
                f->lines = heap_grow(f->lines, room, sizeof *f->lines);
                memset(f->lines + f->line_room, 0, (room - f->line_room) * sizeof *f->lines);
                f->line_room = room;
        }
        return &f->lines[line];
}

static void source_count_frame(struct source *c, const struct select_row *row,
                               const struct symbol_frame *frame, bool own)
{
        uint32_t file = source_file(c, frame->file);
        struct source_line *line = file == UINT32_MAX ? NULL
                                                      : source_line(&c->files[file], frame->line);

        if (!line)
                return;
        if (own) {
                line->own_bytes += row->bytes;
                line->own_count += row->count;
        }
        if (line->stamp == c->row)
                return;
        line->stamp = c->row;
        line->bytes += row->bytes;
        line->count += row->count;
}

static void source_count_row(struct source *c, const struct select_row *row)
{
        const struct symbol_frame *frames;

        c->row++;
        for (uint32_t at = row->node; at > 1; at = select_parent(c->sel, at)) {
                uint32_t count, level = at == row->node ? row->level : 0;

                if (!c->here[at])
                        continue;
                count = symbols_node(c->symbols, select_origin(c->sel, at), &frames);
                for (uint32_t i = level; i < count; i++)
                        source_count_frame(c, row, &frames[i], at == row->node && i == row->level);
        }
}

/* ---- the text ---- */

/* ---- the listing ---- */

static void source_cost(const struct source *c, uint64_t bytes, uint64_t count)
{
        int64_t weight = select_weight(c->sel, bytes, count);

        if (!weight)
                str_format(c->out, "%11s", "");
        else
                text_cell(c->out, 11, (uint64_t)weight,
                          select_counts(c->sel->cost) ? text_number : text_size);
}

/* Tabs would end elsewhere behind the margin, and a terminal obeys other control characters. */
static void source_text(const char *line, size_t length, struct str *out)
{
        size_t start = out->length;

        for (size_t i = 0; i < length; i++)
                if (line[i] == '\t')
                        text_pad(out, start, ((out->length - start) / 8 + 1) * 8);
                else
                        str_char(out,
                                 (unsigned char)line[i] < ' ' || line[i] == 127 ? '?' : line[i]);
}

static bool source_has_cost(const struct source_file *f, uint32_t line)
{
        return line < f->line_room && (f->lines[line].bytes || f->lines[line].count);
}

static bool source_is_near(const struct source_file *f, uint32_t line, bool text)
{
        uint32_t around = text ? SOURCE_CONTEXT : 0;

        for (uint32_t i = line > around ? line - around : 0; i <= line + around; i++)
                if (source_has_cost(f, i))
                        return true;
        return false;
}

static void source_print_line(const struct source *c, const struct source_file *f, uint32_t number,
                              const char *text, size_t length)
{
        static const struct source_line none;
        const struct source_line *line = number < f->line_room ? &f->lines[number] : &none;

        source_cost(c, line->own_bytes, line->own_count);
        source_cost(c, line->bytes, line->count);
        str_format(c->out, "%8" PRIu32, number);
        if (length) {
                str_text(c->out, "  ");
                source_text(text, length, c->out);
        }
        str_char(c->out, '\n');
}

static void source_print(const struct source *c, const struct source_file *f,
                         const struct str *text)
{
        const char *at = str_get(text), *end = at + text->length;
        bool gap = false;

        for (uint32_t number = 1; number < f->line_room || at < end; number++) {
                const char *next = at < end ? memchr(at, '\n', (size_t)(end - at)) : end;

                if (!next)
                        next = end;
                if (text->length && at == end && !source_has_cost(f, number))
                        continue;
                if (source_is_near(f, number, text->length > 0)) {
                        if (gap && text->length)
                                str_format(c->out, "%30s\n", "...");
                        source_print_line(c, f, number, at, (size_t)(next - at));
                        gap = false;
                } else {
                        gap = true;
                }
                at = next < end ? next + 1 : end;
        }
}

static void source_write_file(const struct source *c, const struct source_file *f)
{
        uint64_t own_bytes = 0, own_count = 0,
                 start_s = c->sel->profile->meta.start_realtime_ns / 1000000000;
        struct str text = { 0 };
        time_t changed = 0;

        for (uint32_t i = 0; i < f->line_room; i++) {
                own_bytes += f->lines[i].own_bytes;
                own_count += f->lines[i].own_count;
        }
        str_format(c->out, "%s: %s, ", f->path, c->sel->heading);
        text_number(c->out, select_weight(c->sel, own_bytes, own_count));
        str_format(c->out, "%s by its own lines", select_counts(c->sel->cost) ? "x" : "B");
        if (!source_read(c->names, f->path, &text, &changed) &&
            !source_load(c->wanted, &text, &changed))
                str_text(c->out, " (its text was not found)");
        else if (start_s && (uint64_t)changed > start_s)
                str_text(c->out, " (its text is newer than the recording)");
        str_format(c->out, "\n%11s%11s%8s\n", "own", "through", "line");
        source_print(c, f, &text);
        str_free(&text);
}

bool source_write(const struct selection *sel, struct symbols *s, const char *file,
                  const struct symbol_options *names, struct str *out, struct err *e)
{
        struct source c = { .sel = sel, .symbols = s, .wanted = file, .names = names, .out = out };

        source_mark(&c);
        for (uint32_t i = 0; i < sel->heap.count; i++)
                source_count_row(&c, &sel->heap.rows[i]);
        for (uint32_t i = 0; i < c.file_count; i++) {
                if (i)
                        str_char(out, '\n');
                source_write_file(&c, &c.files[i]);
                free(c.files[i].lines);
        }
        if (!c.file_count)
                err_set(e, ERR_EXIT_USAGE,
                        "no line of a file '%s' is in these stacks (--group-by file lists files)",
                        file);
        lookup_free(&c.known);
        free(c.files);
        free(c.here);
        return c.file_count > 0;
}
