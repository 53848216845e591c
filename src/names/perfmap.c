/* SPDX-License-Identifier: MIT */
#include "names/perfmap.h"

#include <ctype.h>
#include <string.h>

static const char python_front[] = "py::";

/* How V8 calls functions of a script, by the way that they are executed. */
static const char *const v8_fronts[] = { "LazyCompile:", "Function:", "Script:", "Eval:", "JS:",
                                         "InterpretedFunction:" };

static const char *base_of(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

static void put_function(struct str *function, const char *name, size_t length, const char *script)
{
        str_bytes(function, name, length);
        str_format(function, " (%s)", base_of(script));
}

/* ---- Python: py::FUNCTION:FILE ---- */

static bool read_python(const char *raw, struct str *function, struct str *script)
{
        const char *name = raw + strlen(python_front), *colon;

        if (strncmp(raw, python_front, strlen(python_front)) != 0)
                return false;
        colon = strchr(name, ':');
        if (!colon || colon == name || !colon[1])
                return false;
        str_text(script, colon + 1);
        put_function(function, name, (size_t)(colon - name), str_get(script));
        return true;
}

/* ---- V8: HOW:MARK NAME FILE:LINE:COLUMN ---- */

static const char *v8_front(const char *raw)
{
        for (size_t i = 0; i < sizeof v8_fronts / sizeof *v8_fronts; i++)
                if (strncmp(raw, v8_fronts[i], strlen(v8_fronts[i])) == 0)
                        return v8_fronts[i];
        return NULL;
}

/* Where the path begins behind a name that may have spaces, as a path may; NULL: there is none. */
static const char *v8_path(const char *text)
{
        static const char *const fronts[] = { " /", " file://", " node:" };
        const char *first = NULL, *space = strrchr(text, ' ');

        for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
                const char *at = strstr(text, fronts[i]);

                if (at && (!first || at < first))
                        first = at;
        }
        first = first ? first : space;
        return first && first[1] ? first + 1 : NULL;
}

/* The length of PATH without ":LINE:COLUMN" at its end; *LINE is where that has its line. */
static size_t v8_path_length(const char *path, const char **line)
{
        size_t length = strlen(path);

        *line = NULL;
        for (int numbers = 0; numbers < 2; numbers++) {
                size_t digits = length;

                while (digits && isdigit((unsigned char)path[digits - 1]))
                        digits--;
                if (digits == length || digits < 2 || path[digits - 1] != ':')
                        break;
                *line = path + digits;
                length = digits - 1;
        }
        return length;
}

static bool read_v8(const char *raw, struct str *function, struct str *script)
{
        const char *front = v8_front(raw), *name, *path, *line;
        size_t length;

        if (!front)
                return false;
        name = raw + strlen(front);
        name += *name && strchr("~*^+", *name) ? 1 : 0;
        path = v8_path(name);
        if (!path)
                return false;
        str_bytes(script, path, v8_path_length(path, &line));
        length = (size_t)(path - 1 - name);
        if (length)
                put_function(function, name, length, str_get(script));
        else if (!line || strcmp(line, "1:1") == 0)
                str_format(function, "<script> (%s)", base_of(str_get(script)));
        else /* there may be many in a file */
                str_format(function, "<anonymous:%.*s> (%s)", (int)strspn(line, "0123456789"), line,
                           base_of(str_get(script)));
        return true;
}

/* ---- Java, by perf-map-agent: LPACKAGE/CLASS;::METHOD ---- */

static bool is_java(const char *raw)
{
        return raw[0] == 'L' && strstr(raw, ";::");
}

static bool read_java(const char *raw, struct str *function)
{
        const char *end = strstr(raw, ";::");
        size_t start = function->length;

        if (!is_java(raw) || end == raw + 1 || !end[3])
                return false;
        str_bytes(function, raw + 1, (size_t)(end - raw - 1));
        for (size_t i = start; i < function->length; i++)
                if (function->data[i] == '/')
                        function->data[i] = '.';
        str_format(function, ".%s", end + 3);
        return true;
}

void perfmap_read(const char *raw, struct str *function, struct str *script)
{
        if (!read_python(raw, function, script) && !read_v8(raw, function, script) &&
            !read_java(raw, function))
                str_text(function, raw);
}

/* ---- interpreters ---- */

enum interpreter interpreter_of(const char *path)
{
        static const struct {
                const char *name;
                enum interpreter which;
        } files[] = { { "libpython", INTERPRETER_PYTHON }, { "python", INTERPRETER_PYTHON },
                      { "libnode.so", INTERPRETER_NODE },  { "node", INTERPRETER_NODE },
                      { "nodejs", INTERPRETER_NODE },      { "libjvm.so", INTERPRETER_JAVA } };
        const char *base = path ? base_of(path) : "";

        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                size_t length = strlen(files[i].name);

                /* python3.12, libnode.so.108; not node_exporter */
                if (strncmp(base, files[i].name, length) == 0 &&
                    (!base[length] || strchr("0123456789.", base[length])))
                        return files[i].which;
        }
        return INTERPRETER_NONE;
}

bool interpreter_is_named(const struct profile *p, enum interpreter which)
{
        for (uint32_t i = 0; i < p->jit_count; i++) {
                const char *name = p->jit[i].name ? p->jit[i].name : "";

                if ((which == INTERPRETER_PYTHON && strncmp(name, python_front, 4) == 0) ||
                    (which == INTERPRETER_NODE && v8_front(name)) ||
                    (which == INTERPRETER_JAVA && *name))
                        return true;
        }
        return false;
}
