/* SPDX-License-Identifier: MIT */
#include "query/expression.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"

enum {
        EXPRESSION_FLAGS = REG_EXTENDED | REG_NOSUB,
        EXPRESSION_SHOWN = 1000, /* bytes; a fault in a longer one is told without its place */
        EXPRESSION_STATES = 20000, /* 0.2 s and 50 MB to compile */
        EXPRESSION_DEPTH = 200
};

/* Behind the bracket expression that begins at AT: its last character, or that of TEXT. */
static const char *skip_set(const char *at)
{
        at += 1 + (at[1] == '^');
        at += *at == ']';
        for (; *at && *at != ']'; at++) {
                const char kind = at[1];

                if (*at != '[' || !kind || !strchr(":.=", kind))
                        continue;
                for (at += 2; *at && !(at[0] == kind && at[1] == ']');)
                        at++;
                at += *at != 0;
                if (!*at)
                        break;
        }
        return *at ? at : at - 1;
}

/* The greatest number between braces at *AT, which is left at the last character. */
static uint64_t repeated(const char **at)
{
        uint64_t most = 1;

        while ((*at)[1] && **at != '}') {
                char *end;
                uint64_t number = strtoul(*at += 1, &end, 10);

                most = number > most ? number : most;
                if (end > *at)
                        *at = end - 1;
        }
        return most;
}

/* Whether regcomp() has little to do with TEXT: it writes out what is to be repeated a number of
 * times, without any limit, and groups in groups multiply. */
static bool expression_is_small(const char *text)
{
        uint64_t outer[EXPRESSION_DEPTH], states = 0, last = 0, all = 0;
        uint32_t depth = 0;

        for (const char *at = text; *at && all <= EXPRESSION_STATES; at++) {
                uint64_t before = states;

                if (*at == '(') {
                        if (depth == EXPRESSION_DEPTH)
                                return false;
                        outer[depth++] = states;
                        states = last = 0;
                        continue;
                }
                if (*at == ')' && depth) {
                        last = states;
                        states += outer[--depth];
                } else if (*at == '{') {
                        uint64_t times = repeated(&at);

                        if (times > EXPRESSION_STATES)
                                return false;
                        states += last * (times - 1);
                        last *= times;
                        all += states - before;
                } else if (!strchr("*+?|^$", *at)) {
                        if (*at == '[')
                                at = skip_set(at);
                        else if (*at == '\\' && at[1])
                                at++;
                        last = 1;
                        states++;
                        all++;
                }
        }
        return all <= EXPRESSION_STATES;
}

static int expression_try(const char *text, size_t length)
{
        char *start = heap_zero(length + 1, 1);
        regex_t compiled;
        int status;

        memcpy(start, text, length);
        status = regcomp(&compiled, start, EXPRESSION_FLAGS);
        if (status == 0)
                regfree(&compiled);
        free(start);
        return status;
}

/* regcomp does not tell where the fault is.  What was opened and not closed begins where the
 * longest good start ends; any other fault is seen as soon as its last character is there. */
static size_t expression_fault(const char *text, int status)
{
        bool open = status == REG_EPAREN || status == REG_EBRACK || status == REG_EBRACE ||
                    status == REG_EESCAPE;
        size_t length = strlen(text), at;

        for (at = open ? length - 1 : 1; open ? at > 0 : at < length; at += open ? (size_t)-1 : 1)
                if (open ? expression_try(text, at) == 0 : expression_try(text, at) == status)
                        break;
        return open ? at : at - 1;
}

static bool expression_explain(const char *text, int status, const regex_t *compiled, struct err *e)
{
        size_t length = strlen(text), at, columns = 0;
        char why[256];

        regerror(status, compiled, why, sizeof why);
        if (!length || length > EXPRESSION_SHOWN)
                return err_set(e, ERR_EXIT_USAGE, "'%.40s%s' is not a regular expression: %s", text,
                               length > 40 ? "..." : "", why);
        at = expression_fault(text, status);
        for (size_t i = 0; i < at; i++)
                columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        return err_set(e, ERR_EXIT_USAGE,
                       "not a regular expression: %s, at character %zu\n    %s\n    %*s^", why,
                       columns + 1, text, (int)columns, "");
}

bool expressions_add(struct expressions *x, const char *text, struct err *e)
{
        regex_t compiled;
        int status;

        if (!expression_is_small(text))
                return err_set(e, ERR_EXIT_USAGE,
                               "'%.40s%s': too large an expression; repeat less by {m,n}, and "
                               "have fewer groups in groups", text, strlen(text) > 40 ? "..." : "");
        status = regcomp(&compiled, text, EXPRESSION_FLAGS);
        if (status != 0)
                return expression_explain(text, status, &compiled, e);
        x->all = heap_grow(x->all, x->count + 1, sizeof *x->all);
        x->all[x->count++] = compiled;
        return true;
}

bool expressions_match(const struct expressions *x, const char *text)
{
        for (uint32_t i = 0; i < x->count; i++)
                if (regexec(&x->all[i], text, 0, NULL, 0) == 0)
                        return true;
        return false;
}

void expressions_free(struct expressions *x)
{
        for (uint32_t i = 0; i < x->count; i++)
                regfree(&x->all[i]);
        free(x->all);
        *x = (struct expressions){ 0 };
}
