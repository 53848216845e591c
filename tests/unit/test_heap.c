/* SPDX-License-Identifier: MIT */
/*
 * test_heap.c -- memory that is there or the command ends, with a word about it.
 */
#include "base/heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "tap.h"

TEST(fresh_memory_is_zero_and_none_is_some)
{
        char *p = heap_zero(100, 3), *none = heap_zero(0, 0);

        for (int i = 0; i < 300; i++)
                is_equal(p[i], 0);
        is_true(none);
        free(none);
        free(p);
}

TEST(growing_keeps_the_contents)
{
        int *p = heap_grow(NULL, 2, sizeof *p);

        p[0] = 1;
        p[1] = 2;
        p = heap_grow(p, 100000, sizeof *p);
        is_equal(p[0] + p[1], 3);
        free(p);
}

TEST(a_copy_of_no_text_is_none)
{
        char *copy = heap_text("abc");

        is_text(copy, "abc");
        is_text(heap_text(NULL), NULL);
        free(copy);
}

/* AddressSanitizer would end the child itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
        return "allocator_may_return_null=1";
}

/* What a child says on stderr when it asks for COUNT times SIZE bytes, and how it ends. */
static int ask_in_child(size_t count, size_t size, struct str *said)
{
        int ends[2], status = -1;
        pid_t child;

        if (pipe(ends))
                return -1;
        fflush(stdout);
        child = fork();
        if (!child) {
                dup2(ends[1], 2);
                free(heap_zero(count, size));
                _Exit(0);
        }
        close(ends[1]);
        io_read(ends[0], said);
        close(ends[0]);
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_size_that_overflows_ends_the_command_with_a_message)
{
        struct str said = { 0 };

        is_equal(ask_in_child(SIZE_MAX / 2, 16, &said), 3);
        has_text(str_get(&said), "seep: out of memory");
        str_free(&said);
}

TAP_MAIN(fresh_memory_is_zero_and_none_is_some, growing_keeps_the_contents,
         a_copy_of_no_text_is_none, a_size_that_overflows_ends_the_command_with_a_message)
