/* SPDX-License-Identifier: MIT */
/*
 * fuzz_request.c -- any bytes as an HTTP request: texts lie inside what was sent, a part is never
 * more than its whole.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
        if (!good)
                abort();
}

static void must_be_inside(const struct request_text *t, const char *data, size_t size)
{
        must(!t->at ||
             (t->at >= data && t->length <= size && (size_t)(t->at - data) <= size - t->length));
}

static void ask_query(struct request_text rest)
{
        struct str name = { 0 }, value = { 0 };
        struct err e = { 0 };

        while (request_parameter(&rest, &name, &value, &e))
                must(strlen(str_get(&name)) == name.length &&
                     strlen(str_get(&value)) == value.length);
        str_free(&name);
        str_free(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        struct request r, part;
        enum request_state state = request_parse(&r, text, size);

        must_be_inside(&r.path, text, size);
        must_be_inside(&r.query, text, size);
        must_be_inside(&r.host, text, size);
        must_be_inside(&r.if_none_match, text, size);
        if (state == REQUEST_WHOLE) {
                must(r.bytes <= size && r.bytes <= REQUEST_BYTES_MAX && r.path.length > 0 &&
                     r.path.at[0] == '/');
                must(request_parse(&part, text, r.bytes) == REQUEST_WHOLE && part.bytes == r.bytes);
                must(request_parse(&part, text, r.bytes - 1) == REQUEST_PART);
        }
        ask_query(state == REQUEST_WHOLE ? r.query : (struct request_text){ text, size });
        return 0;
}
