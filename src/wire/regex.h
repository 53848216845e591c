/* SPDX-License-Identifier: MIT */
/*
 * regex.h -- the regular expressions that the agent understands (record --omit).
 *
 * Room:   both sides: the tool checks an expression, the agent matches it.  No memory is allocated.
 * Keeps:  what regex_fault() lets pass means here what it means as a POSIX extended expression, for
 *         texts in ASCII: characters, . [...] \ ^ $ | and * + ? behind one character.  No groups,
 *         no {n}, no classes with a name.
 * Cost:   bytes of the expression times bytes of the text, whatever they are.
 */
#ifndef SEEP_WIRE_REGEX_H
#define SEEP_WIRE_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#define REGEX_MAX 1000u /* bytes of an expression */
#define REGEX_WORDS (REGEX_MAX / 64 + 1)

/* What may come next: a set of places in the expression. */
struct regex_places {
        uint64_t bits[REGEX_WORDS];
};

static inline void regex_put(struct regex_places *p, uint32_t at)
{
        p->bits[at / 64] |= 1ull << at % 64;
}

static inline bool regex_has(const struct regex_places *p, uint32_t at)
{
        return p->bits[at / 64] >> at % 64 & 1;
}

static inline bool regex_is_repeat(char c)
{
        return c == '*' || c == '+' || c == '?';
}

/* Behind the set [...] that begins at AT; the end of the text when it is not closed. */
static inline uint32_t regex_set_end(const char *x, uint32_t at)
{
        at += x[at + 1] == '^' ? 2 : 1;
        at += x[at] == ']';
        while (x[at] && x[at] != ']')
                at++;
        return x[at] ? at + 1 : at;
}

/* Behind the character, set or anchor that begins at AT. */
static inline uint32_t regex_atom_end(const char *x, uint32_t at)
{
        if (x[at] == '[')
                return regex_set_end(x, at);
        return x[at] == '\\' && x[at + 1] ? at + 2 : at + 1;
}

static inline bool regex_set_has(const char *x, uint32_t at, unsigned char c)
{
        uint32_t end = regex_set_end(x, at) - 1;
        bool but = x[at + 1] == '^', found = false;

        for (at += but ? 2 : 1; at < end; at++) {
                if (x[at + 1] == '-' && at + 2 < end) {
                        found |= (unsigned char)x[at] <= c && c <= (unsigned char)x[at + 2];
                        at += 2;
                } else {
                        found |= (unsigned char)x[at] == c;
                }
        }
        return found != but;
}

static inline bool regex_atom(const char *x, uint32_t at, char c)
{
        if (x[at] == '[')
                return regex_set_has(x, at, (unsigned char)c);
        return x[at] == '\\' ? x[at + 1] == c : x[at] == '.' || x[at] == c;
}

/* The text goes on with C, 0 at its end: the places that are open NOW become those open THEN.
 * FIRST: the text begins with C.  True: all of an alternative was there.  Places follow from
 * earlier ones only, so one pass over the expression is enough. */
static inline bool regex_step(const char *x, struct regex_places *now, struct regex_places *then,
                              char c, bool first)
{
        bool begins = true; /* an alternative */

        for (uint32_t at = 0, end, next; at <= REGEX_MAX; at = next) {
                bool open = begins || regex_has(now, at);
                char repeat;

                begins = x[at] == '|';
                if (open && (!x[at] || begins))
                        return true;
                if (!x[at])
                        return false;
                end = regex_atom_end(x, at);
                repeat = regex_is_repeat(x[end]) && !begins ? x[end] : 0;
                next = repeat ? end + 1 : end;
                if (!open || begins)
                        continue;
                if (x[at] == '^' || x[at] == '$') {
                        if (x[at] == '^' ? first : !c)
                                regex_put(now, next);
                        continue;
                }
                if (repeat == '*' || repeat == '?')
                        regex_put(now, next);
                if (!c || !regex_atom(x, at, c))
                        continue;
                if (repeat == '*' || repeat == '+')
                        regex_put(then, at);
                if (repeat != '*')
                        regex_put(then, next);
        }
        return false;
}

/* Whether the expression X, in which regex_fault() found none, matches TEXT somewhere. */
static inline bool regex_find(const char *x, const char *text)
{
        struct regex_places now = { { 0 } };

        for (const char *c = text;; c++) {
                struct regex_places then = { { 0 } };

                if (regex_step(x, &now, &then, *c, c == text))
                        return true;
                if (!*c)
                        return false;
                now = then;
        }
}

static inline bool regex_is_ascii(char c)
{
        return (unsigned char)c < 0x80;
}

/* Why the set at AT is none; NULL: it is one. */
static inline const char *regex_set_fault(const char *x, uint32_t at)
{
        uint32_t end = regex_set_end(x, at), first = at + (x[at + 1] == '^' ? 2 : 1);

        if (x[end - 1] != ']' || end - 1 <= first)
                return "a [ that is not closed";
        for (uint32_t i = at + 1; i < end - 1; i++) {
                if (x[i] == '[' && (x[i + 1] == ':' || x[i + 1] == '.' || x[i + 1] == '='))
                        return "classes like [:alpha:] are not supported here";
                if (!regex_is_ascii(x[i]))
                        return "a set may hold ASCII characters only";
        }
        for (uint32_t i = first; i < end - 1; i++) {
                if (x[i + 1] != '-' || i + 2 >= end - 1)
                        continue;
                if (x[i] > x[i + 2])
                        return "a range that ends before it begins";
                i += 2;
        }
        return 0;
}

/* The same for what begins at AT and is no set. */
static inline const char *regex_atom_fault(const char *x, uint32_t at)
{
        char c = x[at], escaped = c == '\\' ? x[at + 1] : 0;

        if (regex_is_repeat(c))
                return "there is nothing to repeat";
        if (c == '(' || c == ')')
                return "groups are not supported here; give several expressions, or put \\ before "
                       "a ( or ) that is meant";
        if (c == '{' || c == '}')
                return "{n} is not supported here; put \\ before a { or } that is meant";
        if (c == '\\' && !escaped)
                return "nothing follows the \\";
        if ((escaped >= 'a' && escaped <= 'z') || (escaped >= 'A' && escaped <= 'Z') ||
            (escaped >= '0' && escaped <= '9') || !regex_is_ascii(escaped))
                return "only punctuation may follow a \\";
        return 0;
}

/* What is wrong with the expression X, at the byte *PLACE; NULL: nothing. */
static inline const char *regex_fault(const char *x, uint32_t *place)
{
        bool empty = true; /* the alternative, so far */

        for (uint32_t at = 0, end; at <= REGEX_MAX; at = end) {
                const char *why;

                *place = at;
                if (empty && (!x[at] || x[at] == '|'))
                        return "an empty alternative would match everything";
                if (!x[at])
                        return 0;
                empty = x[at] == '|';
                end = regex_atom_end(x, at);
                why = empty ? 0 : x[at] == '[' ? regex_set_fault(x, at) : regex_atom_fault(x, at);
                if (why)
                        return why;
                if (empty || !regex_is_repeat(x[end]))
                        continue;
                *place = end;
                if (x[at] == '^' || x[at] == '$')
                        return "there is nothing to repeat";
                if (!regex_is_ascii(x[at]))
                        return "only ASCII characters can be repeated";
                end++;
                if (regex_is_repeat(x[end]))
                        return "repeated twice";
        }
        return "too long";
}

#endif
