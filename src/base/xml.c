/* SPDX-License-Identifier: MIT */
#include "base/xml.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* In an attribute a line's end would be read as a space. */
static void put_ascii(struct str *out, char c, bool attribute)
{
        static const char special[] = "&<>\r\"\n\t";
        static const char *const as[] = { "&amp;", "&lt;", "&gt;", "&#13;", "&quot;", "&#10;",
                                          "&#9;" };
        const char *found = strchr(special, c);

        if (found && (attribute || found < strchr(special, '"')))
                str_text(out, as[found - special]);
        else if (found)
                str_char(out, c);
        else if ((unsigned char)c < 0x20)
                str_text(out, UTF8_WRONG);
        else
                str_char(out, c);
}

static bool is_none(const char *text, unsigned bytes)
{
        return bytes == 0 || (bytes == 3 && (memcmp(text, "\xef\xbf\xbe", 3) == 0 ||
                                             memcmp(text, "\xef\xbf\xbf", 3) == 0));
}

static void put_text(struct str *out, const char *text, bool attribute)
{
        unsigned bytes;

        for (; utf8_care(out, &text, "&<>\"", &bytes); text += bytes ? bytes : 1)
                if (bytes == 1)
                        put_ascii(out, *text, attribute);
                else if (is_none(text, bytes))
                        str_text(out, UTF8_WRONG);
                else
                        str_bytes(out, text, bytes);
}

void xml_text(struct str *out, const char *text)
{
        put_text(out, text, false);
}

void xml_attribute(struct str *out, const char *name, const char *text)
{
        str_char(out, ' ');
        str_text(out, name);
        str_text(out, "=\"");
        put_text(out, text, true);
        str_char(out, '"');
}

void xml_number(struct str *out, const char *name, uint64_t value)
{
        str_format(out, " %s=\"%" PRIu64 "\"", name, value);
}

void xml_element(struct str *out, const char *indent, const char *name, const char *text)
{
        str_text(out, indent);
        str_char(out, '<');
        str_text(out, name);
        str_char(out, '>');
        xml_text(out, text);
        str_text(out, "</");
        str_text(out, name);
        str_text(out, ">\n");
}
