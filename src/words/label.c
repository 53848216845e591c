/* SPDX-License-Identifier: MIT */
#include "words/label.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/c_library.h"
#include "words/shorten.h"
#include "words/text.h"

enum { LABEL_LEAST = 16 }; /* columns that are left of a name at least */

const char *label_base(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

void label_function(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                    struct str *out)
{
        const struct profile_node *n = &p->nodes[node];

        if (frame->function)
                str_text(out, frame->function);
        else if (node <= 1)
                str_text(out, node == 0 || profile_has_no_stacks(p) ? "[no stack recorded]"
                                                                    : "[stack lost]");
        else if (n->module < p->module_count && p->modules[n->module].path)
                str_format(out, "%s+0x%" PRIx64, label_base(p->modules[n->module].path),
                           n->pc - p->modules[n->module].bias);
        else
                str_format(out, "0x%" PRIx64, n->pc);
}

/* What may stand behind the parameters: " const", " const &", " volatile &&". */
static bool label_qualifies(const char *rest)
{
        static const char *const words[] = { " const", " volatile", " &&", " &", "&&", "&" };
        size_t i = 0;

        while (*rest && i < sizeof words / sizeof words[0])
                if (strncmp(rest, words[i], strlen(words[i])) == 0) {
                        rest += strlen(words[i]);
                        i = 0;
                } else {
                        i++;
                }
        return !*rest;
}

/* Whether the brackets at OPEN are no parameters: the debug information calls a lambda
 * "operator()". */
static bool label_is_operator(const char *name, const char *open)
{
        const size_t length = strlen("operator");

        return open[1] == ')' && (size_t)(open - name) >= length &&
               strncmp(open - length, "operator", length) == 0;
}

size_t label_length(const char *name)
{
        const char *close = strrchr(name, ')'), *c = close;
        int depth = 0;

        if (!close || !label_qualifies(close + 1))
                return strlen(name);
        for (; c > name; c--) {
                depth += (*c == ')') - (*c == '(');
                if (!depth)
                        break;
        }
        if (c > name && c[-1] == ' ') /* "leak (p.py)": the script, no parameters */
                return strlen(name);
        return c > name && !label_is_operator(name, c) ? (size_t)(c - name) : strlen(name);
}

void label_short(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                 struct str *out)
{
        size_t start = out->length;

        label_function(p, node, frame, out);
        if (!symbol_name(frame))
                return;
        out->length = start + label_length(out->data + start);
        out->data[out->length] = 0;
}

/* Where the name begins in "void grow<int>(Table&)", of which LENGTH bytes are no parameters:
 * names of C++'s templates tell the type of the result. */
static size_t label_result(const char *name, size_t length)
{
        size_t begin = 0;
        int depth = 0;

        if (!length || name[length - 1] != '>' || name[length] != '(' || strstr(name, "operator"))
                return 0;
        for (size_t i = 0; i < length; i++) {
                depth += (name[i] == '<' || name[i] == '(' || name[i] == '{') -
                         (name[i] == '>' || name[i] == ')' || name[i] == '}');
                if (!depth && name[i] == ' ')
                        begin = i + 1;
        }
        return begin;
}

void label_called(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                  struct str *out)
{
        size_t start = out->length, length, begin;

        label_function(p, node, frame, out);
        if (!symbol_name(frame))
                return;
        length = label_length(out->data + start);
        begin = label_result(out->data + start, length);
        memmove(out->data + start, out->data + start + begin, length - begin);
        out->length = start + length - begin;
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

void label_frame(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                 struct str *out)
{
        label_function(p, node, frame, out);
        label_place(frame, out);
}

static void label_base_place(const struct symbol_frame *frame, struct str *place)
{
        struct symbol_frame near = *frame;

        str_clear(place);
        if (near.file)
                near.file = label_base(near.file);
        label_place(&near, place);
}

static bool label_fits(const struct str *name, const struct str *place, size_t columns)
{
        return text_columns(name, 0) + text_columns(place, 0) <= columns;
}

/* The place is given up only where the function's own name would have to be cut. */
static void label_shorten(const struct symbol_frame *frame, size_t columns, struct str *name,
                          struct str *place)
{
        struct str whole = { 0 };

        if (!label_fits(name, place, columns) && symbol_name(frame))
                shorten_arguments(name, columns > place->length ? columns - place->length : 0);
        if (!label_fits(name, place, columns))
                label_base_place(frame, place);
        if (label_fits(name, place, columns) || !symbol_name(frame))
                return;
        str_text(&whole, str_get(name));
        if (columns > place->length && shorten_name(name, columns - place->length)) {
                str_free(&whole);
                return;
        }
        str_free(name);
        *name = whole;
        str_clear(place);
        shorten_name(name, columns > LABEL_LEAST ? columns : LABEL_LEAST);
}

static bool with_objects;

void label_with_objects(void)
{
        with_objects = true;
}

void label_object(const struct profile *p, uint32_t node, bool whole, struct str *out)
{
        uint32_t module = p->nodes[node].module;
        const char *path = module < p->module_count ? p->modules[module].path : NULL;

        if (with_objects && node > 1 && path)
                str_format(out, " (%s)", !*path ? "no file" : whole ? path : label_base(path));
}

void label_fit(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
               size_t columns, int color, struct str *out)
{
        struct str name = { 0 }, place = { 0 };

        if (!columns || with_objects) { /* long lists go this way: no copies */
                text_color(out, color, TEXT_CYAN);
                label_function(p, node, frame, out);
                text_plain(out, color);
                label_place(frame, out);
                label_object(p, node, true, out);
                return;
        }
        label_function(p, node, frame, &name);
        label_place(frame, &place);
        label_shorten(frame, columns, &name, &place);
        text_color(out, color, TEXT_CYAN);
        str_text(out, str_get(&name));
        text_plain(out, color);
        str_text(out, str_get(&place));
        str_free(&name);
        str_free(&place);
}

bool label_in_libc(const struct profile *p, uint32_t node)
{
        const struct profile_node *n = &p->nodes[node];

        return n->module < p->module_count && p->modules[n->module].path &&
               c_library_has(p->modules[n->module].path);
}
