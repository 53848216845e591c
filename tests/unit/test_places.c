/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "base/str.h"
#include "names/places.h"

static bool note(void *context, const char *path)
{
        str_format(context, "%s\n", path);
        return false;
}

static bool stop_at_c(void *context, const char *path)
{
        str_format(context, "%s\n", path);
        return strcmp(path, "D/c.so") == 0;
}

static struct profile_module wanted = { .path = (char *)"/a/b/c.so",
                                        .build_id_bytes = 3,
                                        .build_id = { 0xab, 0x01, 0xff } };

TEST(a_debug_path_is_tried_with_leading_directories_stripped_one_by_one)
{
        const char *dirs[] = { "D" };
        struct symbol_options options = { .debug_paths = dirs, .debug_path_count = 1 };
        struct str said = { 0 };

        is_true(!places_walk(&wanted, &options, note, &said));
        has_text(str_get(&said),
                 "D/a/b/c.so\nD/b/c.so\nD/c.so\nD/a/b/c.so.debug\nD/b/c.so.debug\nD/c.so.debug\n"
                 "D/.build-id/ab/01ff.debug\nD/.build-id/ab/01ff\n/a/b/c.so\n");
        str_free(&said);
}

TEST(the_walk_ends_where_the_visitor_says)
{
        const char *dirs[] = { "D", "E" };
        struct symbol_options options = { .debug_paths = dirs, .debug_path_count = 2 };
        struct str said = { 0 };

        is_true(places_walk(&wanted, &options, stop_at_c, &said));
        is_text(str_get(&said), "D/a/b/c.so\nD/b/c.so\nD/c.so\n");
        str_free(&said);
}

static void check_root(const char *path, const char *expected)
{
        struct profile_module m = { .path = (char *)(uintptr_t)path };
        struct symbol_options options = { .sysroot = "R" };
        struct str said = { 0 };

        places_walk(&m, &options, note, &said);
        has_text(str_get(&said), expected);
        is_true(strncmp(str_get(&said), "R/", 2) == 0);
        /* without a build id nothing of this machine is trusted */
        is_true(!strstr(str_get(&said), "\n/"));
        str_free(&said);
}

TEST(a_sysroot_may_have_usr_merged_or_not)
{
        check_root("/lib/x/c.so", "R/lib/x/c.so\n");
        check_root("/lib/x/c.so", "\nR/usr/lib/x/c.so\n");
        check_root("/usr/lib64/c.so", "\nR/lib64/c.so\n");
        check_root("/usr/bin/tool", "\nR/bin/tool\n");
        check_root("/usr/bin/tool", "\nR/usr/lib/debug/usr/bin/tool.debug\n");
        check_root("/opt/tool", "R/opt/tool\nR/opt/tool.debug\nR/usr/lib/debug/opt/tool.debug\n");
}

TEST(odd_paths_do_no_harm)
{
        static const char *const paths[] = { "", "/", "//", "c.so", "a//b", "///c" };
        const char *dirs[] = { "D" };
        struct symbol_options options = { .debug_paths = dirs, .debug_path_count = 1 };

        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
                struct profile_module m = { .path = (char *)(uintptr_t)paths[i] };
                struct str said = { 0 };

                places_walk(&m, &options, note, &said);
                is_true(!strstr(str_get(&said), "D/\n"));
                str_free(&said);
        }
}

TAP_MAIN(a_debug_path_is_tried_with_leading_directories_stripped_one_by_one,
         the_walk_ends_where_the_visitor_says, a_sysroot_may_have_usr_merged_or_not,
         odd_paths_do_no_harm)
