/* SPDX-License-Identifier: MIT */
#include "serve/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"

static const char *words_of(enum reply_status status)
{
        switch (status) {
#define REPLY_WORDS(name, number, words) \
        case REPLY_##name:               \
                return words;
                REPLY_STATUSES(REPLY_WORDS)
#undef REPLY_WORDS
        }
        return "";
}

/* FNV-1a. */
static uint64_t tag_of(const struct str *text)
{
        uint64_t tag = 0xcbf29ce484222325ull;

        for (size_t i = 0; i < text->length; i++)
                tag = (tag ^ (unsigned char)text->data[i]) * 0x100000001b3ull;
        return tag;
}

struct reply_body *reply_body(enum reply_status status, enum reply_type type, struct str *text)
{
        struct reply_body *b = heap_zero(1, sizeof *b);

        *b = (struct reply_body){ .text = *text, .type = type, .status = status,
                                  .tag = tag_of(text), .users = 1 };
        *text = (struct str){ 0 };
        return b;
}

struct reply_body *reply_error(enum reply_status status, const char *text)
{
        struct str json = { 0 };

        json_text_field(&json, "{\"", "error", text);
        str_text(&json, "}\n");
        return reply_body(status, REPLY_JSON, &json);
}

struct reply_body *reply_share(struct reply_body *b)
{
        b->users++;
        return b;
}

void reply_leave(struct reply_body *b)
{
        if (!b || --b->users)
                return;
        str_free(&b->text);
        free(b);
}

void reply_tag(const struct reply_body *b, char out[20])
{
        snprintf(out, 20, "\"%016" PRIx64 "\"", b->tag);
}

void reply_head(const struct reply_body *b, bool same, bool close, struct str *out)
{
        static const char *const types[] = { [REPLY_HTML] = "text/html; charset=utf-8",
                                             [REPLY_DATA] = "application/octet-stream",
                                             [REPLY_JSON] = "application/json" };
        enum reply_status status = same ? REPLY_SAME : b->status;
        char tag[20];

        reply_tag(b, tag);
        str_format(out, "HTTP/1.1 %d %s\r\n", status, words_of(status));
        if (!same)
                str_format(out, "Content-Type: %s\r\nContent-Length: %zu\r\n", types[b->type],
                           b->text.length);
        if (b->status == REPLY_OK)
                str_format(out, "ETag: %s\r\n", tag);
        if (status == REPLY_METHOD)
                str_text(out, "Allow: GET, HEAD\r\n");
        str_text(out, "Cache-Control: no-store\r\n"
                      "X-Content-Type-Options: nosniff\r\n"
                      "X-Frame-Options: DENY\r\n"
                      "Referrer-Policy: no-referrer\r\n"
                      "Cross-Origin-Resource-Policy: same-origin\r\n"
                      "Cross-Origin-Opener-Policy: same-origin\r\n");
        str_text(out, close ? "Connection: close\r\n\r\n" : "\r\n");
}
