/* SPDX-License-Identifier: MIT */
/* request.c -- the head of an HTTP/1.1 request, taken apart without trust. */
#include "serve/request.h"

#include <string.h>
#include <strings.h>

/* ---- letters ---- */

static bool is_token(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static bool is_visible(char c)
{
        return c > ' ' && c < 127;
}

/* What may stand in the value of a header: no control characters. */
static bool is_plain(char c)
{
        return (unsigned char)c >= ' ' ? c != 127 : c == '\t';
}

static bool are_all(const struct request_text *t, bool (*is)(char))
{
        for (size_t i = 0; i < t->length; i++)
                if (!is(t->at[i]))
                        return false;
        return true;
}

bool request_is(const struct request_text *text, const char *word)
{
        return text->at && strlen(word) == text->length &&
               memcmp(text->at, word, text->length) == 0;
}

static bool is_named(const struct request_text *text, const char *word)
{
        return strlen(word) == text->length && strncasecmp(text->at, word, text->length) == 0;
}

/* ---- the first line ---- */

/* Up to C, which is left out; what is behind it stays in LINE.  false: there is no C. */
static bool split(struct request_text *line, char c, struct request_text *part)
{
        const char *found = line->length ? memchr(line->at, c, line->length) : NULL;

        if (!found)
                return false;
        *part = (struct request_text){ line->at, (size_t)(found - line->at) };
        line->length -= part->length + 1;
        line->at = found + 1;
        return true;
}

static bool parse_first(struct request *r, struct request_text line)
{
        struct request_text method, target;

        if (!split(&line, ' ', &method) || !split(&line, ' ', &target))
                return false;
        if (method.length == 0 || !are_all(&method, is_token) || target.length == 0 ||
            target.at[0] != '/' || !are_all(&target, is_visible))
                return false;
        r->method = request_is(&method, "GET")    ? REQUEST_GET
                    : request_is(&method, "HEAD") ? REQUEST_HEAD
                    : request_is(&method, "POST") ? REQUEST_POST
                                                  : REQUEST_OTHER;
        r->close = request_is(&line, "HTTP/1.0");
        if (split(&target, '?', &r->path))
                r->query = target;
        else
                r->path = target;
        return r->close || request_is(&line, "HTTP/1.1");
}

/* ---- the other lines ---- */

static struct request_text trim(struct request_text t)
{
        for (; t.length && is_blank(t.at[0]); t.length--)
                t.at++;
        while (t.length && is_blank(t.at[t.length - 1]))
                t.length--;
        return t;
}

/* Once only. */
static bool keep(struct request_text *place, const struct request_text *value)
{
        if (place->at)
                return false;
        *place = *value;
        return true;
}

static bool has_word(struct request_text list, const char *word)
{
        struct request_text part;

        while (split(&list, ',', &part)) {
                part = trim(part);
                if (is_named(&part, word))
                        return true;
        }
        list = trim(list);
        return is_named(&list, word);
}

static bool parse_header(struct request *r, struct request_text line)
{
        struct request_text name;

        if (!split(&line, ':', &name) || name.length == 0 || !are_all(&name, is_token) ||
            !are_all(&line, is_plain))
                return false;
        line = trim(line);
        if (is_named(&name, "Host"))
                return keep(&r->host, &line);
        if (is_named(&name, "If-None-Match"))
                return keep(&r->if_none_match, &line);
        if (is_named(&name, "Connection"))
                r->close = r->close || has_word(line, "close");
        if (is_named(&name, "Content-Length") && !request_is(&line, "0")) {
                r->close = true; /* a body: it is not read, so nothing behind it can be */
                if (r->method == REQUEST_POST)
                        r->method = REQUEST_OTHER;
        }
        return !is_named(&name, "Transfer-Encoding");
}

/* The next line without its end; false: there is none yet. */
static bool next_line(const char *data, size_t length, size_t *at, struct request_text *line)
{
        const char *found = *at < length ? memchr(data + *at, '\n', length - *at) : NULL;

        if (!found)
                return false;
        *line = (struct request_text){ data + *at, (size_t)(found - data) - *at };
        *at = (size_t)(found - data) + 1;
        return true;
}

static bool take_end(struct request_text *line)
{
        return line->length > 0 && line->at[--line->length] == '\r';
}

enum request_state request_parse(struct request *r, const char *data, size_t length)
{
        size_t all = length < REQUEST_BYTES_MAX ? length : REQUEST_BYTES_MAX;
        struct request_text line;

        *r = (struct request){ 0 };
        for (uint32_t lines = 0; next_line(data, all, &r->bytes, &line); lines++) {
                if (!take_end(&line))
                        return REQUEST_WRONG;
                if (lines > 0 && line.length == 0)
                        return REQUEST_WHOLE;
                if (lines > REQUEST_HEADERS_MAX)
                        return REQUEST_LARGE;
                if (lines == 0 ? !parse_first(r, line) : !parse_header(r, line))
                        return REQUEST_WRONG;
        }
        return length < REQUEST_BYTES_MAX ? REQUEST_PART : REQUEST_LARGE;
}

/* ---- queries ---- */

static int digit_of(char c)
{
        static const char digits[] = "0123456789abcdef";
        const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;

        return found ? (int)(found - digits) : -1;
}

/* %41 and + as a form sends them.  A zero would end the text for us and not for others. */
static bool decode(const struct request_text *t, struct str *out)
{
        str_clear(out);
        str_text(out, "");
        for (size_t i = 0; i < t->length; i++) {
                int high = -1, low = -1;

                if (t->at[i] && t->at[i] != '%') {
                        str_char(out, t->at[i] == '+' ? ' ' : t->at[i]);
                        continue;
                }
                if (t->at[i] && i + 2 < t->length) {
                        high = digit_of(t->at[i + 1]);
                        low = digit_of(t->at[i + 2]);
                }
                if (high < 0 || low < 0 || high * 16 + low == 0)
                        return false;
                str_char(out, (char)(high * 16 + low));
                i += 2;
        }
        return true;
}

bool request_parameter(struct request_text *rest, struct str *name, struct str *value,
                       struct err *e)
{
        struct request_text part, word;

        do {
                if (!rest->at || rest->length == 0)
                        return false;
                if (!split(rest, '&', &part)) {
                        part = *rest;
                        rest->length = 0;
                }
        } while (part.length == 0);
        if (!split(&part, '=', &word)) {
                word = part;
                part.length = 0;
        }
        if (decode(&word, name) && decode(&part, value))
                return true;
        return err_set(e, ERR_EXIT_USAGE, "the query has '%%' without two hexadecimal digits");
}
