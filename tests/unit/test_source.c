/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "forge.h"
#include "report/source.h"
#include "report/views.h"

static char *source_of(const struct profile *p, const char *file,
                       const struct symbol_options *names, struct err *e)
{
        struct select_request request = { .cost = SELECT_LIVE };
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };
        struct selection sel;

        is_true(select_make(&sel, p, s, &request, e));
        source_write(&sel, s, file, names, &out, e);
        select_free(&sel);
        symbols_free(s);
        return out.data;
}

static const struct symbol_options nowhere = { .no_cache = true };

TEST(without_text_there_are_line_numbers)
{
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_usual(&p);
        text = source_of(&p, "a.c", &nowhere, &e);
        is_text(text, "/src/a.c: not freed, 700B by its own lines (its text was not found)\n"
                      "        own    through    line\n"
                      "      600 B      600 B      10\n"
                      "      100 B      100 B      20\n");
        free(text);
        text = source_of(&p, "m.c", &nowhere, &e);
        has_text(text, "m.c: not freed, 0B by its own lines");
        has_text(text, "                 900 B       1\n"
                       "                   4 B       2\n"
                       "                   3 B       3\n"
                       "                  93 B       4\n");
        free(text);
        text = source_of(&p, "src/w.c", &nowhere, &e);
        has_text(text, "       93 B       93 B      61\n"
                       "                  93 B      66\n");
        free(text);
        profile_free(&p);
}

TEST(a_line_that_is_twice_in_a_stack_counts_once)
{
        struct err e = { 0 };
        struct profile p;
        uint32_t node;
        char *text;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        forge_name(&p, 0x200, 0, "walk", "/src/w.c", 2);
        node = forge_node(&p, 0, 0x200, 0);
        forge_site(&p, node, LEDGER_KIND_MALLOC, 5, 1);
        node = forge_node(&p, node, 0x200, 0);
        forge_site(&p, node, LEDGER_KIND_MALLOC, 70, 7);
        text = source_of(&p, "w.c", &nowhere, &e);
        has_text(text, "       75 B       75 B       2\n");
        free(text);
        profile_free(&p);
}

TEST(a_part_of_a_name_is_another_file)
{
        struct err e = { 0 };
        struct profile p;

        forge_usual(&p);
        is_true(source_of(&p, "rc/a.c", &nowhere, &e) == NULL);
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, "no line of a file 'rc/a.c' is in these stacks");
        profile_free(&p);
}

/* A folder FOLDER/a.c with 22 lines, the tenth with a tab and a bell. */
static void put_text(const char *folder)
{
        struct str path = { 0 };
        FILE *f;

        mkdir(folder, 0777);
        str_format(&path, "%s/a.c", folder);
        f = fopen(str_get(&path), "w");
        for (int i = 1; i <= 22 && f; i++)
                fprintf(f, i == 10 ? "\tmalloc\a(100);\n" : "line %d\n", i);
        if (f)
                fclose(f);
        str_free(&path);
}

TEST(text_is_found_below_sysroot_and_debug_path)
{
        char folder[] = "/tmp/seep-source-XXXXXX", inner[64];
        const char *paths[1] = { folder };
        struct symbol_options by_path = { .debug_paths = paths, .debug_path_count = 1 },
                              by_root = { .sysroot = folder };
        static const char shown[] = "                             9  line 9\n"
                                    "      600 B      600 B      10          malloc?(100);\n"
                                    "                            11  line 11\n"
                                    "                            12  line 12\n"
                                    "                            13  line 13\n"
                                    "                           ...\n"
                                    "                            17  line 17\n";
        struct err e = { 0 };
        struct profile p;
        char *text;

        is_true(mkdtemp(folder) != NULL);
        snprintf(inner, sizeof inner, "%s/src", folder);
        put_text(inner);
        put_text(folder);
        forge_usual(&p);
        text = source_of(&p, "a.c", &by_root, &e);
        has_text(text, shown);
        has_text(text, "                            22  line 22\n");
        is_true(!strstr(text, "      23"));
        free(text);
        text = source_of(&p, "a.c", &by_path, &e);
        has_text(text, shown);
        free(text);
        snprintf(inner, sizeof inner, "%s/src/a.c", folder);
        unlink(inner);
        text = source_of(&p, "a.c", &by_path, &e);
        has_text(text, shown); /* now with /src left out */
        free(text);
        text = source_of(&p, "a.c", &by_root, &e);
        has_text(text, "(its text was not found)");
        free(text);
        snprintf(inner, sizeof inner, "%s/src", folder);
        rmdir(inner);
        snprintf(inner, sizeof inner, "%s/a.c", folder);
        unlink(inner);
        rmdir(folder);
        profile_free(&p);
}

TEST(modules_have_what_their_own_functions_allocate)
{
        struct select_request request = { .cost = SELECT_LIVE };
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;

        forge_usual(&p);
        forge_module(&p, "/lib/libx.so");
        forge_module(&p, "/usr/bin/prog"); /* loaded again elsewhere */
        p.nodes[p.sites[FORGE_SITE_PARSE].node].module = 1;
        p.nodes[p.sites[FORGE_SITE_TINY].node].module = 2;
        p.nodes[p.sites[FORGE_SITE_SMALL].node].module = PROFILE_NO_MODULE;
        s = forge_symbols(&p);
        is_true(select_make(&sel, &p, s, &request, &e));
        modules_write(&sel, 0, &out);
        is_text(str_get(&out),
                "by module; shares are of: not freed\n"
                "  share   allocations      bytes  not freed       mmap  module\n"
                "   60 %             6      600 B      600 B        0 B  /lib/libx.so\n"
                "   40 %             7      397 B      397 B    4.0 KiB  /usr/bin/prog\n"
                "  0.3 %             3        3 B        3 B        0 B  (unknown)\n");
        str_clear(&out);
        modules_write(&sel, 1, &out);
        has_text(out.data, "/lib/libx.so\n2 more (-n 1)\n");
        str_free(&out);
        select_free(&sel);
        symbols_free(s);
        profile_free(&p);
}

TAP_MAIN(without_text_there_are_line_numbers, a_line_that_is_twice_in_a_stack_counts_once,
         a_part_of_a_name_is_another_file, text_is_found_below_sysroot_and_debug_path,
         modules_have_what_their_own_functions_allocate)
