/* SPDX-License-Identifier: MIT */
/* test_xml.c -- text inside XML. */
#include "base/xml.h"

#include "tap.h"

TEST(what_means_something_to_xml_is_escaped)
{
        struct str out = { 0 };

        xml_text(&out, "a<b> && \"c\"\n\td'\r");
        is_text(str_get(&out), "a&lt;b&gt; &amp;&amp; \"c\"\n\td'&#13;");
        str_clear(&out);
        xml_attribute(&out, "n", "a<\"b\">\nc\td&");
        xml_number(&out, "m", 18446744073709551615u);
        is_text(str_get(&out),
                " n=\"a&lt;&quot;b&quot;&gt;&#10;c&#9;d&amp;\" m=\"18446744073709551615\"");
        str_clear(&out);
        xml_element(&out, "  ", "x", "y & z");
        is_text(str_get(&out), "  <x>y &amp; z</x>\n");
        str_free(&out);
}

TEST(what_xml_cannot_hold_is_replaced)
{
        struct str out = { 0 };

        xml_text(&out, "\x01\x1f|\xff|\xc3|\xed\xa0\x80|\xef\xbf\xbe|\xef\xbf\xbf|");
        is_text(str_get(&out), "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|"
                               "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|");
        str_clear(&out);
        xml_text(&out, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
        is_text(str_get(&out), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
        str_free(&out);
}

TAP_MAIN(what_means_something_to_xml_is_escaped, what_xml_cannot_hold_is_replaced)
