/* SPDX-License-Identifier: MIT */
#include "query/type_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "names/source.h"
#include "query/walk.h"
#include "query/wrapper.h"
#include "types/spelling.h"

enum {
        LINE_MORE = 3,   /* lines that a statement may have before and behind the call */
        LINE_OUTWARDS = 4 /* functions that hand on a void *, one by one */
};

struct type_line_file {
        struct str text; /* empty: not there, or changed since */
};

/* Paths are mostly relative to where the compiler was. */
static bool read_below(struct type_lines *l, const struct spelling_place *place, const char *path,
                       struct str *text, time_t *changed)
{
        const char *folder = path[0] != '/' ? spelling_folder(place) : NULL;
        struct str whole = { 0 };
        bool good;

        if (folder) {
                str_format(&whole, "%s/%s", folder, path);
                path = str_get(&whole);
        }
        good = source_read(l->options, path, text, changed);
        str_free(&whole);
        return good;
}

static const struct type_line_file *file_of(struct type_lines *l,
                                            const struct spelling_place *place, const char *path)
{
        uint32_t *known = lookup_pointer(&l->known, path);
        time_t changed = 0;

        if (!*known) {
                struct type_line_file file = { .text = { 0 } };

                if (!read_below(l, place, path, &file.text, &changed) ||
                    (uint64_t)changed > l->p->meta.start_realtime_ns / 1000000000)
                        str_clear(&file.text);
                l->files = heap_next(l->files, l->file_count, sizeof *l->files);
                l->files[l->file_count++] = file;
                *known = l->file_count;
        }
        return &l->files[*known - 1];
}

void type_lines_free(struct type_lines *l)
{
        for (uint32_t i = 0; i < l->file_count; i++)
                str_free(&l->files[i].text);
        free(l->files);
        lookup_free(&l->known);
        free(l->said);
        lookup_free(&l->asked);
        wrappers_free(&l->wrappers);
}

/* ---- the statement ---- */

static bool written_in_c(const char *path)
{
        static const char *const ends[] = { ".c",  ".cc",  ".cpp", ".cxx", ".C",
                                            ".h",  ".hh",  ".hpp", ".hxx", ".c++",
                                            ".inl", ".ipp", ".tcc" };
        const char *end = path ? strrchr(path, '.') : NULL;

        for (size_t i = 0; end && i < sizeof ends / sizeof ends[0]; i++)
                if (strcmp(end, ends[i]) == 0)
                        return true;
        return false;
}

static const char *line_start(const char *text, uint32_t line)
{
        while (--line && text) {
                text = strchr(text, '\n');
                text = text ? text + 1 : NULL;
        }
        return text;
}

/* Whether what stands before AT is the end of a statement. */
static bool begins_here(const char *text, const char *at)
{
        while (at > text && isspace((unsigned char)at[-1]))
                at--;
        return at == text || strchr(";{}:", at[-1]);
}

/* Behind the comment, the text or the character at AT; AT: it is none of these. */
static const char *past_quoted(const char *at)
{
        const char *end;

        if (at[0] == '/' && at[1] == '/')
                return at + strcspn(at, "\n");
        if (at[0] == '/' && at[1] == '*') {
                end = strstr(at + 2, "*/");
                return end ? end + 2 : at + strlen(at);
        }
        if (*at != '"' && *at != '\'')
                return at;
        for (end = at + 1; *end && *end != *at && *end != '\n'; end++)
                end += *end == '\\' && end[1];
        return *end ? end + 1 : end;
}

/* The statements that LINE is part of, without comments and texts. */
static void statement_at(const char *text, uint32_t line, struct str *out)
{
        const char *at = line ? line_start(text, line) : NULL, *end;

        if (!at)
                return;
        end = at + strcspn(at, "\n");
        for (int i = 0; i < LINE_MORE && !begins_here(text, at); i++)
                for (at--; at > text && at[-1] != '\n'; at--)
                        continue;
        for (int i = 0; i < LINE_MORE && *end && !begins_here(at, end); i++)
                end += 1 + strcspn(end + 1, "\n");
        while (at < end) {
                const char *next = past_quoted(at);

                str_char(out, next > at || isspace((unsigned char)*at) ? ' ' : *at);
                at = next > at ? next : at + 1;
        }
}

/* ---- what it says ---- */

/* Types that were met; several different ones are no answer. */
struct saying {
        const struct spelling_place *place;
        struct variable_type type;
        uint32_t met;
        bool hands_on; /* a void * is what the result becomes */
};

static void say(struct saying *to, struct variable_type type)
{
        type = spelling_plain(to->place->s, type);
        if (!type.n || !variable_type_size(to->place->s, type))
                return;
        if (!to->met || to->type.n != type.n)
                to->met++;
        to->type = type;
}

/* What a pointer to it is said to be. */
static void say_pointer(struct saying *to, struct variable_type pointer)
{
        struct variable_type target = variable_target(to->place->s, pointer);

        if (target.n)
                say(to, target);
        else if (pointer.n && variable_type_size(to->place->s, pointer) == sizeof(void *))
                to->hands_on = true;
}

static bool is_word(char c)
{
        return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Behind WORD, from AT on; NULL: it is not there. */
static const char *behind_word(const char *text, const char *at, const char *word)
{
        size_t length = strlen(word);

        for (at = strstr(at, word); at; at = strstr(at + 1, word))
                if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
                        return at + length;
        return NULL;
}

static const char *past_brackets(const char *at)
{
        int depth = 0;

        for (; *at; at++) {
                depth += (*at == '(') - (*at == ')');
                if (!depth)
                        return at + 1;
        }
        return at;
}

static const char *past_spaces(const char *at)
{
        while (isspace((unsigned char)*at))
                at++;
        return at;
}

static void say_type(struct saying *to, const char *words, size_t length)
{
        char *copy = strndup(words, length);

        say(to, spelling_type(to->place, copy));
        free(copy);
}

/* new T, new (std::nothrow) T[n], new T{...} */
static void say_news(struct saying *to, const char *text)
{
        for (const char *at = behind_word(text, text, "new"); at;
             at = behind_word(text, at, "new")) {
                const char *end;
                int depth = 0;

                at = past_spaces(at);
                if (*at == '(')
                        at = past_spaces(past_brackets(at));
                for (end = at; *end && (depth || !strchr("([{;,)", *end)); end++)
                        depth += (*end == '<') - (*end == '>');
                say_type(to, at, (size_t)(end - at));
        }
}

/* The end of an operand without brackets: *n, n->next, items[i] */
static const char *operand_end(const char *at)
{
        while (*at == '*' || isspace((unsigned char)*at))
                at++;
        while (is_word(*at) || *at == '.' || (at[0] == '-' && at[1] == '>') || *at == '[') {
                if (*at == '[')
                        at += strcspn(at, "]");
                at += *at == '-' ? 2 : *at != 0;
        }
        return at;
}

static void say_sizes(struct saying *to, const char *text)
{
        for (const char *at = behind_word(text, text, "sizeof"); at;
             at = behind_word(text, at, "sizeof")) {
                const char *start = past_spaces(at);
                bool inside = *start == '(';
                const char *end = inside ? past_brackets(start) : operand_end(start);
                char *operand = strndup(start + inside, (size_t)(end - start) - 2 * inside);
                struct variable_type type = spelling_type(to->place, operand);

                say(to, type.n ? type : spelling_expression(to->place, operand));
                free(operand);
        }
}

/* (T *)malloc(...) */
static void say_casts(struct saying *to, const char *text)
{
        for (const char *at = strchr(text, ')'); at; at = strchr(at + 1, ')')) {
                const char *start = at;

                while (start > text && isspace((unsigned char)start[-1]))
                        start--;
                if (start == text || start[-1] != '*' || !is_word(*past_spaces(at + 1)))
                        continue;
                while (start > text && start[-1] != '(' && start[-1] != ')')
                        start--;
                if (start > text && start[-1] == '(') {
                        char *words = strndup(start, (size_t)(at - start));

                        say_pointer(to, spelling_type(to->place, words));
                        free(words);
                }
        }
}

/* The first '=' that gives a value to something. */
static const char *assignment(const char *text)
{
        for (const char *at = strchr(text, '='); at; at = strchr(at + 1, '=')) {
                if (at[1] == '=')
                        at++;
                else if (at > text && !strchr("=!<>+-*/%&|^", at[-1]))
                        return at;
        }
        return NULL;
}

/* x = malloc(...), *x->y = ..., T *x = ... */
static void say_assigned(struct saying *to, const char *text)
{
        const char *end = assignment(text), *start;
        char *operand;

        if (!end)
                return;
        while (end > text && isspace((unsigned char)end[-1]))
                end--;
        for (start = end; start > text;) {
                if (start[-1] == ']') {
                        while (start > text && start[-1] != '[')
                                start--;
                        start -= start > text;
                } else if (is_word(start[-1]) || start[-1] == '.') {
                        start--;
                } else if (start - text >= 2 && start[-1] == '>' && start[-2] == '-') {
                        start -= 2;
                } else {
                        break;
                }
        }
        /* An asterisk at the beginning is an operator; behind a word it is of a declaration. */
        for (const char *first = past_spaces(text); *first == '*' && first < start; first++)
                if (first + strspn(first, "* ") == start)
                        start = first;
        operand = strndup(start, (size_t)(end - start));
        say_pointer(to, spelling_expression(to->place, operand));
        free(operand);
}

static void say_returned(struct saying *to, const char *text)
{
        if (behind_word(text, text, "return"))
                say_pointer(to, spelling_result(to->place));
}

/* The surest way first; the next one only where nothing was said. */
static void say_statement(struct saying *to, const char *text, bool by_new)
{
        static void (*const ways[])(struct saying *, const char *) = { say_sizes, say_casts,
                                                                       say_assigned,
                                                                       say_returned };

        if (by_new)
                say_news(to, text);
        for (size_t i = by_new ? 2 : 0; i < sizeof ways / sizeof ways[0] && !to->met; i++)
                ways[i](to, text);
}

/* ---- one site ---- */

/* BYTES: of the type.  WHOLE: a block has nothing behind its objects.  In C there may be an array
 * of any length. */
static bool fits(const struct profile_site *site, uint64_t bytes, bool whole)
{
        bool one = LEDGER_KIND_PLAIN(site->kind) == LEDGER_KIND_NEW;

        if (!bytes || !site->allocs || (whole && site->alloc_bytes % bytes))
                return false;
        return one ? site->alloc_bytes == bytes * site->allocs
                   : site->alloc_bytes >= bytes * site->allocs;
}

/* What a frame says, whatever site it is of. */
struct type_line_said {
        struct saying saying; /* without its place */
        enum type_line answer;
        uint64_t bytes; /* of its type */
};

static struct type_line_said ask_place(struct type_lines *l, const struct spelling_place *place,
                                       const struct symbol_frame *frame, bool by_new)
{
        const struct type_line_file *file = frame->file ? file_of(l, place, frame->file) : NULL;
        struct type_line_said said = { { .place = place }, TYPE_LINE_VARIABLE, 0 };
        struct str statement = { 0 };

        if (file && file->text.length && written_in_c(frame->file)) {
                statement_at(str_get(&file->text), frame->line, &statement);
                say_statement(&said.saying, str_get(&statement), by_new);
                said.answer = TYPE_LINE_SOURCE;
        }
        str_free(&statement);
        if (!said.saying.met && !said.saying.hands_on) {
                say_pointer(&said.saying, spelling_declared(place, frame->line));
                said.answer = TYPE_LINE_VARIABLE;
        }
        said.saying.place = NULL;
        if (said.saying.met == 1)
                said.bytes = variable_type_size(l->s, said.saying.type);
        return said;
}

/* Whether FRAME says what SITE allocates. */
static enum type_line ask_frame(struct type_lines *l, const struct profile_site *site,
                                const struct spelling_place *place,
                                const struct symbol_frame *frame, struct saying *to)
{
        bool by_new = LEDGER_KIND_PLAIN(site->kind) == LEDGER_KIND_NEW ||
                      LEDGER_KIND_PLAIN(site->kind) == LEDGER_KIND_NEW_ARRAY;
        uint64_t rest = (uint64_t)place->module << 32 | (uint64_t)place->level << 1 | by_new;
        uint32_t number = *lookup_pair(&l->asked, place->address, rest);

        if (!number) {
                struct type_line_said said = ask_place(l, place, frame, by_new);

                l->said = heap_next(l->said, l->said_count, sizeof *l->said);
                l->said[l->said_count++] = said;
                number = *lookup_pair(&l->asked, place->address, rest) = l->said_count;
        }
        *to = l->said[number - 1].saying;
        return to->met == 1 && fits(site, l->said[number - 1].bytes,
                                    !frame->file || !written_in_c(frame->file))
                       ? l->said[number - 1].answer
                       : TYPE_LINE_NONE;
}

enum type_line type_line_find(struct type_lines *l, uint32_t site, struct variable_type *type,
                              struct block_origin *place_of)
{
        const struct profile_site *of = &l->p->sites[site];
        struct walk w = walk_own(l->p, l->s, of->node);
        enum type_line answer = TYPE_LINE_NONE;
        struct saying to = { .hands_on = true };

        for (int asked = 0; asked < LINE_OUTWARDS && !answer && to.hands_on && walk_next(&w);) {
                struct spelling_place place = { l->s, l->p->nodes[w.node].module,
                                                symbols_address(l->p, w.node), w.level };

                if (!asked && wrappers_or_library(&l->wrappers, w.frame))
                        continue;
                answer = ask_frame(l, of, &place, w.frame, &to);
                if (asked)
                        *place_of = (struct block_origin){ w.node, w.frame };
                asked++;
        }
        *type = answer ? to.type : (struct variable_type){ 0 };
        return answer;
}
