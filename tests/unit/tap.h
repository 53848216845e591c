/* SPDX-License-Identifier: MIT */
/*
 * tap.h -- the smallest test framework: claims in, TAP out.
 *
 *     TEST(a_failed_write_leaves_no_file) { is_true(...); is_equal(a, b); is_text(a, "b"); }
 *     TAP_MAIN(a_failed_write_leaves_no_file, ...)        names of all tests, in order
 *
 * A check that fails tells file and line, and the test goes on.
 */
#ifndef SEEP_TESTS_UNIT_TAP_H
#define SEEP_TESTS_UNIT_TAP_H

#include <stdio.h>
#include <string.h>

static int tap_failures, tap_failed_tests;
static const char *tap_skipped; /* why the running test could not do its work */

#define TEST(name) static void name(void)

static inline int tap_check(int good, const char *file, int line, const char *text)
{
        if (!good)
                printf("# %s:%d: %s\n", file, line, text), tap_failures++;
        return good;
}

static inline int tap_check_equal(long long a, long long b, const char *file, int line,
                                  const char *text)
{
        if (a != b)
                printf("# %s:%d: %s: %lld, expected %lld\n", file, line, text, a, b),
                        tap_failures++;
        return a == b;
}

static inline int tap_check_text(const char *a, const char *b, const char *file, int line)
{
        int good = a && b ? !strcmp(a, b) : a == b;

        if (!good)
                printf("# %s:%d: \"%s\", expected \"%s\"\n", file, line, a ? a : "(null)",
                       b ? b : "(null)");
        tap_failures += !good;
        return good;
}

#define is_true(x) tap_check(!!(x), __FILE__, __LINE__, #x)
#define is_equal(a, b) tap_check_equal((long long)(a), (long long)(b), __FILE__, __LINE__, #a)
#define is_text(a, b) tap_check_text(a, b, __FILE__, __LINE__)
#define has_text(a, b) tap_check(a && strstr(a, b), __FILE__, __LINE__, "\"" #b "\" is not in " #a)

/* To be followed by return. */
static inline void tap_skip(const char *reason)
{
        tap_skipped = reason;
}

static inline void tap_run(void (*test)(void), int number, const char *name, size_t length)
{
        int before = tap_failures;

        tap_skipped = NULL;
        test();
        tap_failed_tests += tap_failures != before;
        printf("%sok %d - %.*s%s%s\n", tap_failures != before ? "not " : "", number, (int)length,
               name, tap_skipped ? " # SKIP " : "", tap_skipped ? tap_skipped : "");
        fflush(stdout);
}

/* NAMES is the text between the parentheses of TAP_MAIN: "a, b, c". */
static inline int tap_main(void (*const *tests)(void), int count, const char *names)
{
        printf("1..%d\n", count);
        for (int i = 0; i < count; i++) {
                names += strspn(names, ", \n\t");
                tap_run(tests[i], i + 1, names, strcspn(names, ", \n\t"));
                names += strcspn(names, ",");
        }
        return tap_failed_tests != 0;
}

#define TAP_MAIN(...)                                                                \
        int main(void)                                                               \
        {                                                                            \
                static void (*const tests[])(void) = { __VA_ARGS__ };                \
                return tap_main(tests, sizeof tests / sizeof *tests, #__VA_ARGS__);  \
        }

#endif
