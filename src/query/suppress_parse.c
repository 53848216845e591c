/* SPDX-License-Identifier: MIT */
/*
 * suppress_parse.c -- rules from files: LSan's lines and Valgrind's blocks, also mixed.
 *
 * Keeps:  what the tools accept is accepted; kinds that are about other things are passed over
 *         without a word; the rest is an error with its line and what was expected there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/quantity.h"
#include "names/demangle.h"
#include "query/suppress.h"

struct parser {
        struct suppressions *to;
        enum suppress_source source;
        const char *origin;
        char *next; /* what is left of the text */
        uint32_t at; /* number of the line read last */
        struct err *e;
};

/* Other kinds of suppressions of the sanitizers: of no meaning here. */
static const char *const lsan_others[] = {
        "interceptor_name", "interceptor_via_fun", "interceptor_via_lib", "odr_violation",
        "alloc_dealloc_mismatch", "called_from_lib", "deadlock", "mutex", "race", "race_top",
        "signal", "thread", "vptr_check", "fun", "src",
};

static bool wrong(struct parser *p, const char *found, const char *expected)
{
        return err_set(p->e, ERR_EXIT_USAGE, "%s:%u: %s%.60s%s; %s", p->origin, p->at,
                       found ? "'" : "", found ? found : "the file ends here", found ? "'" : "",
                       expected);
}

static char *trimmed(char *line)
{
        char *end;

        line += strspn(line, " \t\r");
        end = line + strlen(line);
        while (end > line && strchr(" \t\r", end[-1]))
                *--end = 0;
        return line;
}

/* The next line that is not empty and no comment; NULL: there is none. */
static char *next_line(struct parser *p)
{
        while (*p->next) {
                char *line = p->next, *end = strchrnul(line, '\n');

                p->next = *end ? end + 1 : end;
                *end = 0;
                p->at++;
                line = trimmed(line);
                if (*line && *line != '#')
                        return line;
        }
        return NULL;
}

static struct suppress_rule *add_rule(struct parser *p, enum suppress_about about, const char *name)
{
        struct suppressions *s = p->to;

        s->rules = heap_grow(s->rules, s->count + 1, sizeof *s->rules);
        s->rules[s->count] = (struct suppress_rule){
                .source = p->source, .about = about, .leaks = ~0u, .name = heap_text(name),
                .file = heap_text(p->source == SUPPRESS_BUILT_IN ? NULL : p->origin), .at = p->at };
        return &s->rules[s->count++];
}

static struct suppress_line *add_line(struct suppress_rule *rule, enum suppress_match match,
                                      char *pattern)
{
        struct suppress_line *line;

        rule->lines = heap_grow(rule->lines, rule->line_count + 1, sizeof *rule->lines);
        line = &rule->lines[rule->line_count++];
        *line = (struct suppress_line){ .match = match, .pattern = pattern };
        return line;
}

/* ---- LSan ---- */

/* "foo" is found anywhere, "^foo$" is all. */
static char *lsan_pattern(const char *text)
{
        size_t length = strlen(text);
        bool front = *text == '^', back = length > front && text[length - 1] == '$';
        struct str pattern = { 0 };

        if (!front)
                str_char(&pattern, '*');
        str_bytes(&pattern, text + front, length - front - back);
        if (!back)
                str_char(&pattern, '*');
        return pattern.data;
}

/* LSan spells out default arguments of the C++ library, which no name of ours has. */
static void spelt_line(struct suppress_line *line)
{
        line->readable = heap_text(line->pattern);
        demangle_usual(line->readable);
}

static bool lsan_line(struct parser *p, char *line)
{
        char *colon = strchr(line, ':');
        size_t length = colon ? (size_t)(colon - line) : 0;

        if (length == strlen("leak") && memcmp(line, "leak", length) == 0) {
                if (!colon[1])
                        return wrong(p, line,
                                     "a part of a function's, file's or module's name is expected "
                                     "after leak:");
                spelt_line(add_line(add_rule(p, SUPPRESS_LEAK, line), SUPPRESS_ANY,
                                    lsan_pattern(colon + 1)));
                return true;
        }
        for (size_t i = 0; length && i < sizeof lsan_others / sizeof *lsan_others; i++)
                if (strlen(lsan_others[i]) == length && memcmp(line, lsan_others[i], length) == 0)
                        return true;
        return wrong(p, line, "leak:PATTERN (LSan) or { (Valgrind) is expected");
}

/* ---- Valgrind ---- */

/* A mangled name may have wildcards: then frames must be asked for theirs. */
static void name_line(struct suppress_line *line)
{
        const char *spoken = demangle_spoken(line->pattern);

        if (spoken != line->pattern) {
                line->readable = heap_text(spoken);
                return;
        }
        if (!strstr(line->pattern, "_Z") && strncmp(line->pattern, "_R", 2) != 0)
                return;
        if (strpbrk(line->pattern, "*?"))
                line->raw = true;
        else
                line->readable = demangle_name(line->pattern);
}

/* "file.c" or "file.c:12" */
static void place_line(struct suppress_line *line)
{
        char *colon = strrchr(line->pattern, ':');
        uint64_t number;

        if (!colon || !quantity_number(colon + 1, &number) || number > UINT32_MAX)
                return;
        *colon = 0;
        line->line = (uint32_t)number;
}

bool suppress_parse_line(struct suppress_rule *rule, const char *text)
{
        static const char *const words[] = { [SUPPRESS_FUNCTION] = "fun:",
                                             [SUPPRESS_OBJECT] = "obj:",
                                             [SUPPRESS_PLACE] = "src:" };

        if (strcmp(text, "...") == 0) {
                add_line(rule, SUPPRESS_REST, NULL);
                return true;
        }
        for (int match = SUPPRESS_FUNCTION; match <= SUPPRESS_PLACE; match++) {
                const char *pattern = text + strlen(words[match]);
                struct suppress_line *line;

                if (strncmp(text, words[match], strlen(words[match])) != 0 || !*pattern)
                        continue;
                line = add_line(rule, (enum suppress_match)match,
                                heap_text(pattern + strspn(pattern, " \t")));
                if (match == SUPPRESS_FUNCTION)
                        name_line(line);
                if (match == SUPPRESS_PLACE)
                        place_line(line);
                return true;
        }
        return false;
}

/* "definite,possible", "all" or "none" */
static bool leak_kinds(struct parser *p, char *list, uint32_t *leaks)
{
        *leaks = 0;
        for (char *save, *word = strtok_r(list, ", \t", &save); word;
             word = strtok_r(NULL, ", \t", &save)) {
                uint32_t leak = PROFILE_LEAK_REACHABLE;

                if (strcmp(word, "all") == 0) {
                        *leaks = ~0u;
                        continue;
                }
                if (strcmp(word, "none") == 0)
                        continue;
                while (leak < PROFILE_LEAK_COUNT && strcmp(word, profile_leak_word(leak)) != 0)
                        leak++;
                if (leak == PROFILE_LEAK_COUNT)
                        return wrong(p, word,
                                     "definite, indirect, possible, reachable, all or none is "
                                     "expected");
                *leaks |= 1u << leak;
        }
        return true;
}

static bool block_frames(struct parser *p, struct suppress_rule *rule)
{
        static const char kinds[] = "match-leak-kinds:";
        char *line;

        for (bool first = true; (line = next_line(p)) && strcmp(line, "}") != 0; first = false) {
                if (first && rule->about == SUPPRESS_LEAK &&
                    strncmp(line, kinds, strlen(kinds)) == 0) {
                        if (!leak_kinds(p, line + strlen(kinds), &rule->leaks))
                                return false;
                } else if (!suppress_parse_line(rule, line)) {
                        return wrong(p, line, "fun:NAME, obj:PATH, src:FILE, ... or } is expected");
                }
        }
        if (!line)
                return wrong(p, NULL, "} is expected");
        return rule->line_count ||
               wrong(p, line, "at least one line with fun:, obj: or src: is expected before it");
}

/* Whether "Memcheck,DRD" has Memcheck. */
static bool has_memcheck(const char *tools, size_t length)
{
        static const char ours[] = "Memcheck";

        for (const char *end = tools + length; tools < end; tools += strcspn(tools, ",:") + 1)
                if (strcspn(tools, ",:") == strlen(ours) && strncmp(tools, ours, strlen(ours)) == 0)
                        return true;
        return false;
}

static bool valgrind_block(struct parser *p)
{
        uint32_t at = p->at;
        char *name = next_line(p), *kind, *colon, *line;
        bool leak, release;

        if (!name || strcmp(name, "}") == 0)
                return wrong(p, name, "the name of the suppression is expected after {");
        kind = next_line(p);
        colon = kind ? strchr(kind, ':') : NULL;
        if (!colon)
                return wrong(p, kind,
                             "the kind of error, as in Memcheck:Leak, is expected after the name");
        leak = has_memcheck(kind, (size_t)(colon - kind)) && strcmp(colon + 1, "Leak") == 0;
        release = has_memcheck(kind, (size_t)(colon - kind)) && strcmp(colon + 1, "Free") == 0;
        if (leak || release) {
                struct suppress_rule *rule = add_rule(p, leak ? SUPPRESS_LEAK : SUPPRESS_RELEASE,
                                                      name);

                rule->at = at;
                if (block_frames(p, rule))
                        return true;
                suppress_truncate(p->to, p->to->count - 1); /* half a rule would cover too much */
                return false;
        }
        while ((line = next_line(p)))
                if (strcmp(line, "}") == 0)
                        return true;
        return wrong(p, NULL, "} is expected");
}

/* ---- files ---- */

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors begin a file with it */

bool suppress_read_text(struct suppressions *s, enum suppress_source source, const char *origin,
                        const char *text, struct err *e)
{
        char *copy = heap_text(text), *line;
        struct parser p = { s, source, origin, copy, 0, e };
        bool good = true;

        if (strncmp(copy, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
                p.next += strlen(BYTE_ORDER_MARK);
        while (good && (line = next_line(&p)))
                good = strcmp(line, "{") == 0 ? valgrind_block(&p) : lsan_line(&p, line);
        free(copy);
        return good;
}

bool suppress_read_file(struct suppressions *s, const char *path, struct err *e)
{
        struct str text = { 0 };
        bool good;

        if (!io_read_file(path, &text)) {
                str_free(&text);
                return err_sys(e, ERR_EXIT_USAGE, "--suppressions %s", path);
        }
        if (strlen(str_get(&text)) != text.length)
                good = err_set(e, ERR_EXIT_USAGE, "--suppressions %s: not a text file", path);
        else
                good = suppress_read_text(s, SUPPRESS_FILE, path, str_get(&text), e);
        str_free(&text);
        return good;
}
