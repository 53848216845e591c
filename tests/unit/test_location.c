/* SPDX-License-Identifier: MIT */
/* test_location.c -- which source files are the user's own. */
#include "query/location.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "tap.h"

/* The path of FILE below ROOT; "-": it is not there. */
static const char *below(const char *root_path, const char *file)
{
        static struct str out;
        struct location_root root = { heap_text(root_path) };

        str_clear(&out);
        if (!location_relative(&root, file, &out)) {
                is_equal(out.length, 0);
                str_text(&out, "-");
        }
        location_free(&root);
        return str_get(&out);
}

TEST(files_below_the_root_are_relative_to_it)
{
        is_text(below("/src", "/src/a.c"), "a.c");
        is_text(below("/src", "/src/deep/er/a.c"), "deep/er/a.c");
        is_text(below("/src", "/srcs/a.c"), "-");
        is_text(below("/src", "/src"), "-");
        is_text(below("/src", "/elsewhere/a.c"), "-");
}

TEST(detours_of_the_compiler_are_taken_out)
{
        is_text(below("/app", "/app/build/../src/./a.c"), "src/a.c");
        is_text(below("/app", "/app//src///a.c"), "src/a.c");
        is_text(below("/app", "/app/../other/a.c"), "-");
        is_text(below("/app", "/../../app/a.c"), "a.c");
        is_text(below("/app", "/"), "-");
        is_text(below("/app", ""), "-");
}

TEST(below_a_root_of_everything_the_system_is_not_the_users)
{
        is_text(below("", "/app/a.c"), "app/a.c");
        is_text(below("", "/usr/include/c++/12/bits/stl_vector.h"), "-");
        is_text(below("", "/usr/src/mine/a.c"), "usr/src/mine/a.c");
        is_text(below("/usr/include/mine", "/usr/include/mine/a.h"), "a.h");
}

struct folder {
        char path[64], was[4096];
};

static void enter(struct folder *f)
{
        strcpy(f->path, "/tmp/test_location-XXXXXX");
        is_true(mkdtemp(f->path));
        is_true(getcwd(f->was, sizeof f->was));
        is_equal(chdir(f->path), 0);
        is_equal(mkdir("real", 0777), 0);
        is_equal(mkdir("real/sub", 0777), 0);
        is_equal(symlink("real", "link"), 0);
        fclose(fopen("real/sub/a.c", "w"));
}

static void leave(struct folder *f)
{
        is_equal(unlink("real/sub/a.c"), 0);
        rmdir("real/.git");
        is_equal(rmdir("real/sub"), 0);
        is_equal(rmdir("real"), 0);
        is_equal(unlink("link"), 0);
        is_equal(chdir(f->was), 0);
        is_equal(rmdir(f->path), 0);
}

TEST(relative_files_count_when_they_are_there)
{
        struct folder f;
        char *real;

        enter(&f);
        real = realpath("real", NULL);
        is_text(below(real, "sub/a.c"), "sub/a.c");
        is_text(below(real, "./sub/../sub/a.c"), "sub/a.c");
        is_text(below(real, "sub/b.c"), "-");
        is_text(below(real, "../../../etc/passwd"), "-");
        free(real);
        leave(&f);
}

TEST(a_link_to_the_tree_is_the_tree)
{
        struct folder f;
        struct str path = { 0 };
        char *real;

        enter(&f);
        real = realpath("real", NULL);
        str_format(&path, "%s/link/sub/a.c", f.path);
        is_text(below(real, str_get(&path)), "sub/a.c");
        str_free(&path);
        free(real);
        leave(&f);
}

TEST(the_root_is_the_repository_around_us)
{
        struct location_root root;
        struct folder f;
        struct err e = { 0 };
        char *real, *sub;

        enter(&f);
        real = realpath("real", NULL);
        sub = realpath("real/sub", NULL);
        is_equal(mkdir("real/.git", 0777), 0);
        is_equal(chdir("real/sub"), 0);
        is_true(location_find_root(&root, NULL, &e));
        is_text(root.path, real);
        location_free(&root);
        is_true(location_find_root(&root, ".", &e));
        is_text(root.path, sub);
        location_free(&root);
        is_true(!location_find_root(&root, "nowhere", &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        is_equal(chdir(f.path), 0);
        free(sub);
        free(real);
        leave(&f);
}

TAP_MAIN(files_below_the_root_are_relative_to_it, detours_of_the_compiler_are_taken_out,
         below_a_root_of_everything_the_system_is_not_the_users,
         relative_files_count_when_they_are_there, a_link_to_the_tree_is_the_tree,
         the_root_is_the_repository_around_us)
