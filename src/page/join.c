/* SPDX-License-Identifier: MIT */
/*
 * join.c -- the page: the template with the data in it.
 *
 * Keeps:  the data are base64, so that nothing in them can be markup.
 */
#include <string.h>

#include "base/xml.h"
#include "page/page.h"

/* The element for the data, as it stands in the template. */
static const char join_tag[] = "id=\"seep-data\"";

static void add_base64(const unsigned char *bytes, size_t count, struct str *out)
{
        static const char digits[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        char *at = str_room(out, (count + 2) / 3 * 4);
        size_t i = 0;

        for (; i + 2 < count; i += 3) {
                uint32_t three = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 |
                                 bytes[i + 2];

                *at++ = digits[three >> 18];
                *at++ = digits[three >> 12 & 63];
                *at++ = digits[three >> 6 & 63];
                *at++ = digits[three & 63];
        }
        if (i < count) {
                uint32_t two = (uint32_t)bytes[i] << 16 |
                               (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0);

                *at++ = digits[two >> 18];
                *at++ = digits[two >> 12 & 63];
                *at++ = i + 1 < count ? digits[two >> 6 & 63] : '=';
                *at++ = '=';
        }
        str_end(out, at);
}

void page_join(const void *data, size_t bytes, const char *live, struct str *out)
{
        const char *page = (const char *)page_template, *end = page + page_template_bytes;
        const char *tag = memmem(page, page_template_bytes, join_tag, strlen(join_tag)), *inside;

        tag = tag ? tag + strlen(join_tag) : end; /* web/ has a test that it is there */
        inside = memchr(tag, '>', (size_t)(end - tag));
        inside = inside ? inside + 1 : end;
        str_bytes(out, page, (size_t)(tag - page));
        if (live)
                xml_attribute(out, "data-live", live);
        str_bytes(out, tag, (size_t)(inside - tag));
        add_base64(data, bytes, out);
        str_bytes(out, inside, (size_t)(end - inside));
}
