/* SPDX-License-Identifier: MIT */
/* test_functions.c -- the functions of files: this program's own, and the C library's. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/functions.h"
#include "tap.h"

static __attribute__((noinline, used)) int only_in_the_full_table(int a)
{
        return a + 1;
}

static bool read_file(struct functions *f, const char *path)
{
        struct err e = { 0 };
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool good = fd >= 0 && functions_read(f, fd, &e);

        if (fd >= 0)
                close(fd);
        return good;
}

TEST(a_program_s_own_functions_are_found)
{
        const struct function *f;
        struct functions all;
        struct link_map *own = dlopen(NULL, RTLD_LAZY);
        uint32_t count;

        is_true(read_file(&all, "/proc/self/exe"));
        f = functions_find(&all, "only_in_the_full_table", &count);
        is_true(f && count == 1 && !f->exported && !f->resolver);
        is_true(f && own && f->address + own->l_addr == (uintptr_t)only_in_the_full_table);
        is_true(f && f->size && f->room >= f->size);
        is_true(!functions_find(&all, "no such function", &count) && count == 0);
        is_true(!functions_find(&all, "malloc", &count)); /* it is used, not defined */
        functions_free(&all);
}

TEST(functions_of_the_c_library_are_where_the_loader_finds_them)
{
        const struct function *a, *b;
        struct functions all;
        uint32_t count;
        Dl_info info;

        if (!dlsym(RTLD_DEFAULT, "gnu_get_libc_version") ||
            !dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info)) {
                tap_skip("another C library than glibc");
                return;
        }
        is_true(read_file(&all, info.dli_fname));
        a = functions_find(&all, "getpid", &count);
        b = functions_find(&all, "gnu_get_libc_version", &count);
        is_true(a && b && a->exported && b->exported);
        is_true(a && (uintptr_t)info.dli_fbase + b->address == (uintptr_t)info.dli_saddr);
        a = functions_find(&all, "memcpy", &count);
        is_true(a && count >= 2); /* one per version */
        functions_free(&all);
}

TEST(what_is_no_program_has_none)
{
        struct functions all;

        is_true(!read_file(&all, "/dev/null"));
        is_true(!read_file(&all, "/proc/self/maps"));
}

TAP_MAIN(a_program_s_own_functions_are_found,
         functions_of_the_c_library_are_where_the_loader_finds_them, what_is_no_program_has_none)
