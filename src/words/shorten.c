/* SPDX-License-Identifier: MIT */
#include "words/shorten.h"

#include <ctype.h>
#include <string.h>

#include "words/text.h"

enum { SHORTEN_PARTS = 64 }; /* of a name, between "::"; of a longer one the last is kept */

static bool shorten_fits(const struct str *name, size_t columns)
{
        return text_columns(name, 0) <= columns;
}

static bool shorten_is_word(char c)
{
        return isalnum((unsigned char)c) || c == '_';
}

/* Bytes of the operator's name at byte AT, with those brackets that open and close
 * nothing; 0: there is none. */
static size_t shorten_operator(const char *name, size_t at)
{
        static const char *const signs[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
                                             ">=",  "->",  "()",  "[]",  "<",  ">" };
        const size_t length = strlen("operator");

        if (strncmp(name + at, "operator", length) != 0 || (at && shorten_is_word(name[at - 1])) ||
            shorten_is_word(name[at + length]))
                return 0;
        for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
                if (strncmp(name + at + length, signs[i], strlen(signs[i])) == 0)
                        return length + strlen(signs[i]);
        return length;
}

/* Whether the byte AT of NAME is the bracket CLOSE and not the end of an arrow. */
static bool shorten_closes(const char *name, size_t at, char close)
{
        return name[at] == close && !(close == '>' && at && name[at - 1] == '-');
}

static const char *shorten_inside(const char *inside, size_t length)
{
        static const char anonymous[] = "anonymous namespace";

        if (length == strlen(anonymous) && strncmp(inside, anonymous, length) == 0)
                return anonymous;
        return length ? "..." : "";
}

/* Whether TEXT ends with its first ")". */
static bool shorten_ends(const char *text)
{
        const char *close = strchr(text, ')');

        return close && !close[1];
}

/* Whether "(p.py)" at AT is the script that a function is of: the last word, behind a space. */
static bool shorten_is_script(const struct str *name, size_t at)
{
        return at && strncmp(name->data + at - 1, " (", 2) == 0 && shorten_ends(name->data + at);
}

/* Replace what is between the outermost pairs of OPEN and CLOSE by "...". */
static void shorten_fold(struct str *name, char open, char close)
{
        struct str folded = { 0 };
        size_t depth = 0, inside = 0, step;

        for (size_t at = 0; at < name->length; at += step) {
                size_t sign = shorten_operator(name->data, at);

                step = sign ? sign : 1;
                if (!sign && name->data[at] == open && !shorten_is_script(name, at) &&
                    depth++ == 0) {
                        inside = at + 1;
                        str_char(&folded, open);
                } else if (!sign && depth && shorten_closes(name->data, at, close) &&
                --depth == 0) { str_text(&folded, shorten_inside(name->data + inside, at - inside));
                        str_char(&folded, close);
                } else if (!depth) {
                        str_bytes(&folded, name->data + at, step);
                }
        }
        if (depth) { /* not a name as they are written */
                str_free(&folded);
                return;
        }
        str_free(name);
        *name = folded;
}

/* "<app::Tree as core::clone::Clone>::clone" is "app::Tree::clone"; what is no path ("&str", "[T]")
 * stays in its brackets. */
static void shorten_trait(struct str *name)
{
        const char *text = str_get(name);
        size_t depth = 0, as = 0, end = 0;
        struct str kept = { 0 };

        for (; text[end] && (end == 0 || depth); end++) {
                if (depth == 1 && !as && strncmp(text + end, " as ", 4) == 0)
                        as = end;
                depth += text[end] == '<';
                depth -= depth && shorten_closes(text, end, '>');
        }
        if (text[0] != '<' || depth || !as)
                return;
        if (shorten_is_word(text[1]) && memchr(text, ' ', as) == NULL)
                str_bytes(&kept, text + 1, as - 1);
        else
                str_format(&kept, "%.*s>", (int)as, text);
        str_text(&kept, text + end);
        str_free(name);
        *name = kept;
}

void shorten_arguments(struct str *name, size_t columns)
{
        if (!shorten_fits(name, columns))
                shorten_fold(name, '(', ')');
        if (!shorten_fits(name, columns))
                shorten_fold(name, '<', '>');
}

/* Whether the parameters are behind us: "f() const". */
static bool shorten_is_qualifier(const char *text)
{
        static const char *const words[] = { " const", " volatile", " &", " [" };

        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
                if (strncmp(text, words[i], strlen(words[i])) == 0)
                        return true;
        return strncmp(text, " (", 2) == 0 && shorten_ends(text);
}

struct shorten_parts {
        size_t starts[SHORTEN_PARTS]; /* of its parts, the first behind the type that it returns */
        size_t count;
};

static void shorten_divide(const char *name, struct shorten_parts *parts)
{
        size_t depth = 0, step;
        bool in_operator = false; /* "operator unsigned long": its spaces divide nothing */

        *parts = (struct shorten_parts){ .count = 1 };
        for (size_t at = 0; name[at]; at += step) {
                step = shorten_operator(name, at);
                in_operator |= step && !depth;
                if (step)
                        continue;
                step = 1;
                if (strchr("(<{[", name[at])) {
                        depth++;
                } else if (strchr(")}]", name[at]) || shorten_closes(name, at, '>')) {
                        depth -= depth > 0;
                        in_operator &= depth || name[at] != ')';
                } else if (!depth && !in_operator && name[at] == ' ') {
                        if (at && shorten_is_qualifier(name + at))
                                return;
                        *parts = (struct shorten_parts){ { at + 1 }, 1 };
                } else if (!depth && !in_operator && strncmp(name + at, "::", 2) == 0) {
                        step = 2;
                        if (strncmp(name + at, "::{lambda", 9) == 0 ||
                            strncmp(name + at, "::{{closure", 11) == 0)
                                continue; /* it says nothing without its function */
                        parts->starts[parts->count < SHORTEN_PARTS ? parts->count++
                                                                   : SHORTEN_PARTS - 1] = at + 2;
                }
        }
}

/* Only what is from byte START on, behind FRONT. */
static void shorten_keep(struct str *name, const char *front, size_t start)
{
        struct str kept = { 0 };

        str_text(&kept, front);
        str_text(&kept, str_get(name) + start);
        str_free(name);
        *name = kept;
}

/* "v<...>::f(...)" is "v<>::f()". */
static void shorten_drop_dots(struct str *name)
{
        for (char *at = name->data; (at = strstr(at, "...")) != NULL; name->length -= 3)
                memmove(at, at + 3, strlen(at + 3) + 1);
}

/* Take the bytes from START to END out of NAME. */
static void shorten_cut_out(struct str *name, size_t start, size_t end)
{
        memmove(name->data + start, name->data + end, name->length + 1 - end);
        name->length -= end - start;
}

/* "f(...)::{lambda(...)#1}::operator()(...) const" is "f(...)::{lambda#1}", and of closures in a
 * closure one is enough. */
static void shorten_lambda(struct str *name)
{
        static const char call[] = "::operator()", again[] = "::{{closure}}::{{closure}}";
        char *at;

        while ((at = strstr(name->data, again)) != NULL)
                shorten_cut_out(name, (size_t)(at - name->data),
                                (size_t)(at - name->data) + strlen("::{{closure}}"));
        for (size_t from = 0; (at = strstr(name->data + from, "{lambda")) != NULL;) {
                size_t end = (size_t)(at - name->data) + strlen("{lambda"), to;

                from = end;
                to = end + strcspn(name->data + end, "#}");
                shorten_cut_out(name, end, name->data[to] ? to : end);
                end += strcspn(name->data + end, "}");
                if (strncmp(name->data + end, "}::operator()", strlen(call) + 1) != 0)
                        continue;
                to = end + 1 + strlen(call);
                if (name->data[to] == '(')
                        to += strcspn(name->data + to, ")") + 1;
                if (to > name->length)
                        return; /* not a name as they are written */
                to += strncmp(name->data + to, " const", 6) == 0 ? 6 : 0;
                shorten_cut_out(name, end + 1, to);
        }
}

bool shorten_name(struct str *name, size_t columns)
{
        struct shorten_parts parts;

        if (!shorten_fits(name, columns))
                shorten_trait(name);
        shorten_arguments(name, columns);
        if (!shorten_fits(name, columns))
                shorten_lambda(name);
        if (shorten_fits(name, columns))
                return true;
        shorten_divide(name->data, &parts);
        if (parts.starts[0])
                shorten_keep(name, "", parts.starts[0]);
        if (!shorten_fits(name, columns))
                shorten_drop_dots(name);
        if (shorten_fits(name, columns))
                return true;
        shorten_divide(name->data, &parts);
        for (size_t i = 1; i < parts.count; i++)
                if (strlen("...::") + name->length - parts.starts[i] <= columns) {
                        shorten_keep(name, "...::", parts.starts[i]);
                        return true;
                }
        shorten_keep(name, "", parts.starts[parts.count - 1]);
        if (shorten_fits(name, columns))
                return true;
        text_cut(name, 0, columns);
        return false;
}
