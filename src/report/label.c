/* SPDX-License-Identifier: MIT */
/*
 * label.c -- a frame of a stack in words: "function [file:line]".
 *
 * Room:   outside.
 */
#include "report/label.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "report/text.h"

enum { LABEL_LEAST = 16 }; /* columns that are left of a name at least */

const char *label_base(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

void label_function(const struct profile *p, uint32_t node, const struct symbol_frame *frame, struct str *out)
{
        const struct profile_node *n = &p->nodes[node];

        if (frame->function)
                str_text(out, frame->function);
        else if (node <= 1)
                str_text(out, node == 0 || profile_has_no_stacks(p) ? "[no stack recorded]" : "[stack lost]");
        else if (n->module < p->module_count && p->modules[n->module].path)
                str_format(out, "%s+0x%" PRIx64, label_base(p->modules[n->module].path),
                           n->pc - p->modules[n->module].bias);
        else
                str_format(out, "0x%" PRIx64, n->pc);
}

size_t label_length(const char *name)
{
        const char *close = strrchr(name, ')'), *c = close;
        int depth = 0;

        if (!close || (close[1] && strcmp(close + 1, " const") != 0))
                return strlen(name);
        for (; c > name; c--) {
                depth += (*c == ')') - (*c == '(');
                if (!depth)
                        break;
        }
        return c > name ? (size_t)(c - name) : strlen(name);
}

void label_short(const struct profile *p, uint32_t node, const struct symbol_frame *frame, struct str *out)
{
        size_t start = out->length;

        label_function(p, node, frame, out);
        if (!frame->function)
                return;
        out->length = start + label_length(out->data + start);
        out->data[out->length] = 0;
}

static const char *label_relative(const char *path)
{
        static char here[PATH_MAX]; /* the working directory with a slash; one per process */
        size_t length;

        if (!here[0]) {
                if (!getcwd(here, sizeof here - 1))
                        here[0] = 0;
                strcat(here, "/");
        }
        length = strlen(here);
        if (length > 1 && strncmp(path, here, length) == 0 && path[length])
                return path + length;
        return path;
}

void label_place(const struct symbol_frame *frame, struct str *out)
{
        if (!frame->file)
                return;
        str_text(out, " [");
        str_text(out, label_relative(frame->file));
        if (frame->line) {
                str_char(out, ':');
                text_plain_number(out, frame->line);
        }
        str_char(out, ']');
}

void label_frame(const struct profile *p, uint32_t node, const struct symbol_frame *frame, struct str *out)
{
        label_function(p, node, frame, out);
        label_place(frame, out);
}

/* Replace what is between the outermost pairs of OPEN and CLOSE by "..."; operators are left as they are. */
static void label_fold(struct str *name, char open, char close)
{
        struct str folded = { 0 };
        int depth = 0;

        if (!name->data || strstr(name->data, "operator"))
                return;
        for (const char *c = name->data; *c; c++) {
                bool closes = *c == close && !(c > name->data && c[-1] == '-');

                if (closes && depth == 1)
                        str_text(&folded, c[-1] == open ? "" : "...");
                depth -= closes && depth > 0;
                if (!depth)
                        str_char(&folded, *c);
                if (*c == open && depth++ == 0 && folded.data[folded.length - 1] != open)
                        str_char(&folded, open);
        }
        str_free(name);
        *name = folded;
}

static void label_base_place(const struct symbol_frame *frame, struct str *place)
{
        struct symbol_frame near = *frame;

        str_clear(place);
        if (near.file)
                near.file = label_base(near.file);
        label_place(&near, place);
}

/* The last part of a name tells the most, and more than the dots of what was folded. */
static void label_keep_end(struct str *name, size_t columns)
{
        struct str kept = { 0 };
        size_t from;

        for (char *at = name->data; name->length > columns && (at = strstr(at, "...")); name->length -= 3)
                memmove(at, at + 3, strlen(at + 3) + 1);
        if (name->length <= columns)
                return;
        from = name->length - columns + 3;
        while (((unsigned char)name->data[from] & 0xc0) == 0x80)
                from++;
        str_format(&kept, "...%s", name->data + from);
        str_free(name);
        *name = kept;
}

void label_fit(const struct profile *p, uint32_t node, const struct symbol_frame *frame, size_t columns, int color,
               struct str *out)
{
        struct str name = { 0 }, place = { 0 };

        label_function(p, node, frame, &name);
        label_place(frame, &place);
        if (columns && frame->function && name.length + place.length > columns)
                label_fold(&name, '(', ')');
        if (columns && frame->function && name.length + place.length > columns)
                label_fold(&name, '<', '>');
        if (columns && name.length + place.length > columns)
                label_base_place(frame, &place);
        if (columns >= place.length + LABEL_LEAST)
                label_keep_end(&name, columns - place.length);
        text_color(out, color, TEXT_CYAN);
        str_text(out, str_get(&name));
        text_plain(out, color);
        str_text(out, str_get(&place));
        str_free(&name);
        str_free(&place);
}

bool label_in_libc(const struct profile *p, uint32_t node)
{
        static const char *const libraries[] = { "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl" };
        const struct profile_node *n = &p->nodes[node];
        const char *base;

        if (n->module >= p->module_count || !p->modules[n->module].path)
                return false;
        base = label_base(p->modules[n->module].path);
        for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
                if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
                        return true;
        return false;
}

bool label_is_start(const struct symbol_frame *frame)
{
        return frame->function && strncmp(frame->function, "__libc_start_", 13) == 0;
}
