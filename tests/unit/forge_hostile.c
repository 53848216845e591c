/* SPDX-License-Identifier: MIT */
/*
 * forge_hostile.c -- a recording whose names were chosen to break the forms of other tools.
 *
 * usage: forge_hostile FILE      prints the name of each function, in hexadecimal, with its live
 *        bytes; main calls them all
 *
 * Not a test, but the half of some: tests/e2e/test_export_hostile.py asks it.
 */
#include <stdio.h>

#include "forge.h"
#include "profile/file.h"

static const char *const names[] = {
        "plain",
        "semi;colon;",
        "two\nlines 5",
        "carriage\r\nreturn",
        "tab\tand\vmore\x01\x1b[31m",
        "quote\"s 'single' back\\slash\\",
        "</script><!-- & ]]> -->",
        "# no comment",
        "{lambda()#1}",
        "fn=(1) other",
        "calls=7 7",
        "(2)",
        "12 34",
        " begins and ends with spaces ",
        "9999",
        "%s%n%p",
        "not utf-8: \xff\xfe\xc0\x80 \xed\xa0\x80 cut \xe2\x82",
        "separators \xe2\x80\xa8\xe2\x80\xa9 and nulls \xc2\x80",
        "=HYPERLINK(\"x\")",
        "'; DROP TABLE frame; --",
        "__proto__",
        "constructor",
        "n1: 5 0x1: f (a.c:1)",
        "a, b, c",
        ("\x1b]0;title\x07\x1b[2J\xc2\x9b" "9;1H\x7f"),
        "back\xe2\x80\xaewards\xe2\x81\xa6 and \xd8\x9c\xe2\x80\x8f",
        "+1+cmd|'/c calc'!A0",
        "@SUM(1)",
        "-[Object method]",
};

enum { NAMES = sizeof names / sizeof names[0], LONG = 20000 };

static char long_name[LONG + 1];

static const char *name_of(uint32_t i)
{
        if (i < NAMES)
                return names[i];
        memset(long_name, 'x', LONG);
        return long_name;
}

static void forge(struct profile *p)
{
        uint16_t module;
        uint32_t main_node;

        forge_start(p);
        free(p->meta.program);
        p->meta.program = heap_text("./pro\"gram\n;<x>\xff");
        p->meta.exe = heap_text("/bin/evil;\n\"<module>\xff");
        p->meta.args = heap_zero(2, sizeof *p->meta.args);
        p->meta.args[0] = heap_text("pro\"gram\n");
        p->meta.args[1] = heap_text("fn=(1)\nevents: X\xff");
        p->meta.arg_count = 2;
        module = forge_module(p, p->meta.exe);
        p->modules[module].end = 0x100000;
        forge_thread(p, 7, "thr;ead\n\"\xff");
        main_node = forge_node(p, 0, 0x1000, module);
        forge_name(p, 0x1000, 0, "main", "/src/m.c", 1);
        for (uint32_t i = 0; i <= NAMES; i++) {
                uint32_t node = forge_node(p, main_node, 0x2000 + 16 * i, module);
                struct profile_site *site = forge_site(p, node, LEDGER_KIND_MALLOC, 100 + i, 1);

                site->peak_bytes = site->live_bytes;
                site->peak_blocks = 1;
                forge_name(p, 0x2000 + 16 * i, 0, name_of(i), i % 2 ? "/src/x.c" : name_of(i),
                           1 + i);
                forge_block(p, 0x10000 + 0x1000 * i, 100 + i, 1 + i, 1, 0);
                p->totals.live_bytes += 100 + i;
        }
        p->shares = heap_zero(NAMES + 1, sizeof *p->shares);
        for (uint32_t i = 0; i <= NAMES; i++)
                p->shares[p->share_count++] = (struct profile_share){
                        .site = 1 + i, .thread = 1, .allocs = 1, .alloc_bytes = 100 + i
                };
        p->totals.allocations = p->totals.live_blocks = p->totals.peak_blocks = NAMES + 1;
        p->totals.bytes_allocated = p->totals.peak_bytes = p->totals.live_bytes;
        forge_slice(p, 0);
}

int main(int argc, char **argv)
{
        struct profile p;
        struct err e = { 0 };

        if (argc != 2)
                return 2;
        forge(&p);
        if (!file_write(&p, argv[1], &e)) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
        }
        for (uint32_t i = 0; i <= NAMES; i++) {
                for (const char *c = name_of(i); *c; c++)
                        printf("%02x", (unsigned char)*c);
                printf(" %u\n", 100 + i);
        }
        profile_free(&p);
        return 0;
}
