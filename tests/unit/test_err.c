/* SPDX-License-Identifier: MIT */
/*
 * test_err.c -- error values say what, on what, why.
 */
#include "base/err.h"

#include <errno.h>

#include "tap.h"

TEST(an_error_carries_its_text_and_exit_code)
{
        struct err e = { 0 };

        is_true(!err_set(&e, ERR_EXIT_BAD_FILE, "%s is %d", "x", 5));
        is_text(e.text, "x is 5");
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
}

TEST(a_system_error_adds_the_reason_and_keeps_errno)
{
        struct err e = { 0 };

        errno = ENOENT;
        is_true(!err_sys(&e, ERR_EXIT_FINDINGS, "cannot open %s", "x"));
        is_text(e.text, "cannot open x: No such file or directory");
        is_equal(errno, ENOENT);
}

TEST(context_is_put_in_front)
{
        struct err e = { 0 };

        err_set(&e, ERR_EXIT_FINDINGS, "inner");
        is_true(!err_context(&e, "outer %d", 1));
        is_text(e.text, "outer 1: inner");
        is_equal(e.exit_code, ERR_EXIT_FINDINGS);
}

TEST(a_text_that_is_too_long_is_cut_and_still_ends)
{
        struct err e = { 0 };

        err_set(&e, 1, "%05000d", 1);
        is_equal(strlen(e.text), sizeof e.text - 1);
        errno = EPERM;
        err_sys(&e, 1, "%05000d", 1);
        is_equal(strlen(e.text), sizeof e.text - 1);
        err_context(&e, "%05000d", 1);
        is_equal(strlen(e.text), sizeof e.text - 1);
}

TAP_MAIN(an_error_carries_its_text_and_exit_code, a_system_error_adds_the_reason_and_keeps_errno,
         context_is_put_in_front, a_text_that_is_too_long_is_cut_and_still_ends)
