/* SPDX-License-Identifier: MIT */
/* push_address.c -- where profiles are sent, and under which name. */
#include "serve/push_address.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "serve/request.h"

#define TARGET_INGEST "/ingest"
#define TARGET_VALUE_MAX 256u /* bytes of a label; servers take 2048 */

/* ---- letters ---- */

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static void add_encoded(struct str *out, const char *text)
{
        for (; *text; text++) {
                if (is_letter(*text) || is_digit(*text) || strchr(".-~", *text))
                        str_char(out, *text);
                else
                        str_format(out, "%%%02X", (unsigned char)*text);
        }
}

/* Letters that mean something to the server, or nothing to anybody, become '_'. */
static void add_name(struct str *out, const char *name)
{
        for (; *name; name++)
                str_char(out,
                         is_letter(*name) || is_digit(*name) || strchr("./-", *name) ? *name : '_');
}

static void add_value(struct str *out, const char *value)
{
        size_t begin = out->length;

        while (*value && out->length - begin < TARGET_VALUE_MAX) {
                unsigned bytes = utf8_bytes(value);
                bool plain = bytes && (unsigned char)*value >= ' ' && *value != 127 &&
                             !strchr(",={}\"", *value);

                str_bytes(out, plain ? value : "_", plain ? bytes : 1);
                value += bytes ? bytes : 1;
        }
}

/* ---- labels ---- */

static void add_label(struct str *out, const char *key, const char *value)
{
        if (!*value)
                return;
        str_format(out, "%s%s=", out->length ? "," : "", key);
        add_value(out, value);
}

/* Is KEY, of LENGTH letters, in LABELS: "one=1,other=2"?  No value has '=' or ',' in it. */
static bool has_label(const struct str *labels, const char *key, size_t length)
{
        for (const char *at = str_get(labels); at;
             at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
                if (strncmp(at, key, length) == 0 && at[length] == '=')
                        return true;
        return false;
}

static bool take_label(struct push_address *t, const char *text, struct err *e)
{
        const char *equals = strchr(text, '='), *at = text;
        char *key;

        while (is_letter(*at) || (at > text && is_digit(*at)))
                at++;
        if (!equals || at != equals || at == text || strncmp(text, "__", 2) == 0)
                return err_set(e, ERR_EXIT_USAGE,
                               "'%s' is not a label: KEY=VALUE is expected, with a key of letters, "
                               "digits and '_'", text);
        if (has_label(&t->labels, text, (size_t)(equals - text)))
                return err_set(e, ERR_EXIT_USAGE, "the label '%.*s' is given twice",
                               (int)(equals - text), text);
        key = strndup(text, (size_t)(equals - text));
        add_label(&t->labels, key, equals + 1);
        free(key);
        return true;
}

/* "app{env=prod,zone=a}" */
static bool take_name(struct push_address *t, char *text, struct err *e)
{
        char *brace = strchr(text, '{'), *end = brace ? strchr(brace, '}') : NULL, *label, *rest;
        struct str name = { 0 };

        if (brace && (!end || end[1]))
                return err_set(e, ERR_EXIT_USAGE,
                               "the name '%s' in the URL is neither APP nor APP{KEY=VALUE,...}",
                               text);
        if (brace) {
                *brace = *end = 0;
                for (label = strtok_r(brace + 1, ",", &rest); label;
                     label = strtok_r(NULL, ",", &rest))
                        if (!take_label(t, label, e))
                                return false;
        }
        add_name(&name, text);
        if (name.length)
                t->name = heap_text(str_get(&name));
        str_free(&name);
        return true;
}

/* ---- the URL ---- */

static bool take_query(struct push_address *t, const char *query, struct err *e)
{
        struct request_text rest = { query, strlen(query) };
        struct str name = { 0 }, value = { 0 };
        bool good = true;

        e->text[0] = 0;
        while (good && request_parameter(&rest, &name, &value, e)) {
                if (strcmp(str_get(&name), "name") == 0 && !t->name) {
                        good = take_name(t, value.data, e);
                        continue;
                }
                str_char(&t->rest, '&');
                add_encoded(&t->rest, str_get(&name));
                str_char(&t->rest, '=');
                add_encoded(&t->rest, str_get(&value));
        }
        str_free(&name);
        str_free(&value);
        return good && !e->text[0];
}

static size_t scheme_length(const char *url)
{
        static const char *const schemes[] = { "http://", "https://" };

        for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
                if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
                        return strlen(schemes[i]);
        return 0;
}

/* Without "/" and "/ingest" at the end: the same whether they are given or not. */
static size_t without_end(const char *url, size_t length)
{
        size_t end = strlen(TARGET_INGEST);

        while (length && url[length - 1] == '/')
                length--;
        if (length > end && strncmp(url + length - end, TARGET_INGEST, end) == 0)
                length -= end;
        while (length && url[length - 1] == '/')
                length--;
        return length;
}

static bool take_address(struct push_address *t, const char *url, struct err *e)
{
        size_t scheme = scheme_length(url), length = strcspn(url, "?#"), host = scheme,
               slash = scheme + strcspn(url + scheme, "/?#");
        struct str address = { 0 }, shown = { 0 };

        for (size_t i = scheme; i < slash; i++)
                host = url[i] == '@' ? i + 1 : host;
        for (const char *at = url; *at; at++)
                if ((unsigned char)*at <= ' ' || *at == 127)
                        scheme = 0;
        if (!scheme || host == slash || url[host] == ':')
                return err_set(e, ERR_EXIT_USAGE,
                               "'%s' is not a URL to push to: http://HOST:PORT or "
                               "https://HOST:PORT is expected", url);
        length = without_end(url, length);
        str_bytes(&address, url, length);
        str_bytes(&shown, url, scheme);
        str_bytes(&shown, url + host, length > host ? length - host : 0);
        str_text(&address, TARGET_INGEST);
        t->address = address.data;
        t->shown = shown.data;
        return true;
}

bool push_address_parse(struct push_address *t, const struct push_request *r, struct err *e)
{
        const char *question = strchr(r->url, '?');
        bool good;

        *t = (struct push_address){ 0 };
        good = take_address(t, r->url, e) && (!question || take_query(t, question + 1, e));
        for (uint32_t i = 0; good && i < r->label_count; i++)
                good = take_label(t, r->labels[i], e);
        if (!good)
                push_address_free(t);
        return good;
}

void push_address_free(struct push_address *t)
{
        free(t->address);
        free(t->shown);
        free(t->name);
        str_free(&t->labels);
        str_free(&t->rest);
        *t = (struct push_address){ 0 };
}

/* The user knows better: behind a proxy, in a container. */
static void add_usual(struct str *out, const struct push_address *t, const char *key,
                      const char *value)
{
        if (!has_label(&t->labels, key, strlen(key)))
                add_label(out, key, value);
}

void push_address_url(const struct push_address *t, const struct push_subject *s, struct str *out)
{
        const char *slash = strrchr(s->program, '/'),
                   *program = slash && slash[1] ? slash + 1 : s->program;
        struct str name = { 0 }, labels = { 0 };
        char pid[16];

        snprintf(pid, sizeof pid, "%" PRIu32, s->pid);
        add_usual(&labels, t, "program", program);
        add_usual(&labels, t, "hostname", s->host);
        add_usual(&labels, t, "pid", pid);
        if (t->labels.length)
                str_format(&labels, "%s%s", labels.length ? "," : "", str_get(&t->labels));
        add_name(&name, t->name ? t->name : *program ? program : "seep");
        str_format(&name, "{%s}", str_get(&labels));
        str_format(out, "%s?name=", t->address);
        add_encoded(out, str_get(&name));
        str_format(out, "&from=%" PRIu64 "&until=%" PRIu64 "&spyName=seep&sampleRate=100%s",
                   s->from, s->until, str_get(&t->rest));
        str_free(&name);
        str_free(&labels);
}
