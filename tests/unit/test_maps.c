/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/maps.h"
#include "tables.h"

static struct maps maps;
static struct maps_line line;

static void begin(const char *text)
{
        maps = (struct maps){ .fd = tables_file(text, strlen(text)) };
}

TEST(a_line_is_taken_apart)
{
        begin("7f00-7f80 r-xp 00001000 fe:1a 1234     /usr/lib/a b.so (deleted)\n");
        is_true(maps_next(&maps, &line));
        is_equal(line.start, 0x7f00);
        is_equal(line.end, 0x7f80);
        is_true(line.read && line.execute);
        is_equal(line.offset, 0x1000);
        is_true(line.dev == (0xfeull << 32 | 0x1a));
        is_equal(line.ino, 1234);
        is_text(line.path, "/usr/lib/a b.so (deleted)");
        is_true(!maps_next(&maps, &line) && !maps.failed);
}

TEST(lines_that_are_none_are_survived)
{
        static const char *const texts[] = {
                "\n",          "-\n",
                "1-\n",        "1-2\n",
                "1-2 \n",      "1-2 r\n",
                "1-2 rw\n",    "1-2 rwx\n",
                "1-2 rwxp\n",  "zz\n",
                "1-2 ---p \n", "1-2 --xp 0 0:0\n",
                "\n\n\n",      "1-2 rwxp ffffffffffffffffffffff 0:0 99999999999999999999999 p\n"
        };

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                begin(texts[i]);
                is_true(maps_next(&maps, &line));
                is_true(line.path >= maps.buffer && line.path <= maps.buffer + MAPS_BUFFER);
        }
        begin("1-2 --xp 0 0:0 0 "); /* no end */
        is_true(!maps_next(&maps, &line));
        begin("");
        is_true(!maps_next(&maps, &line));
}

TEST(odd_names_stay_as_the_kernel_writes_them)
{
        begin("1-2 r-xp 0 0:0 5 /tmp/a\\012b\033[31m\xff\xc3(x)  \n3-4 rwxp 0 0:0 0 \n");
        is_true(maps_next(&maps, &line));
        is_text(line.path, "/tmp/a\\012b\033[31m\xff\xc3(x)  ");
        is_true(maps_next(&maps, &line));
        is_text(line.path, "");
        is_equal(line.start, 3);
}

/* More than the buffer holds, and one line that it does not hold. */
TEST(many_lines_and_a_line_without_end)
{
        size_t lines = 3 * MAPS_BUFFER / 21, length = 21 * lines, count = 0;
        char *text = malloc(length + 1);

        for (size_t i = 0; i < lines; i++)
                snprintf(text + 21 * i, 22, "%04x-%04x r--p 0 0:0\n", (unsigned)i & 0xffff,
                         (unsigned)(i + 1) & 0xffff);
        begin(text);
        while (maps_next(&maps, &line))
                is_equal(line.start, count++);
        is_equal(count, lines);
        memset(text, '1', length);
        begin(text);
        is_true(!maps_next(&maps, &line) && !maps_next(&maps, &line));
        free(text);
}

TEST(what_cannot_be_read_is_told)
{
        maps = (struct maps){ .fd = -1 };
        is_true(!maps_next(&maps, &line) && maps.failed);
}

TAP_MAIN(a_line_is_taken_apart, lines_that_are_none_are_survived,
         odd_names_stay_as_the_kernel_writes_them, many_lines_and_a_line_without_end,
         what_cannot_be_read_is_told)
