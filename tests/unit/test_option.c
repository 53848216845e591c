/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <unistd.h>

#include "cli/option.h"

#define TRY_OPTIONS(X)                                                                   \
        X(TRY_HEADING, NULL, 0, NULL, "things:")                                         \
        X(TRY_LIMIT, "limit", 'n', "N", "at most N\nlines")                              \
        X(TRY_QUIET, "quiet", 'q', NULL, "say less")                                     \
        X(TRY_SAMPLE, "sample", 0, "[SIZE]", "now and then")                             \
        X(TRY_COLOR, "color", 'c', "WHEN", "auto, always or never", "auto|always|never") \
        X(TRY_AT, "at", 0, "WHEN", "peak, end, or a time", "peak|end|...")

enum { TRY_OPTIONS(OPTION_ENUM) TRY_COUNT };
static const struct option_entry try_options[] = { TRY_OPTIONS(OPTION_ENTRY) OPTION_END };

/* Options found, as "limit=5 quiet | first operand"; messages go nowhere. */
static const char *parsed(int program, int argc, char **argv)
{
        static struct str out;
        struct option_parser parser;
        int which, saved = dup(STDERR_FILENO);

        str_clear(&out);
        is_true(freopen("/dev/null", "w", stderr) != NULL);
        (program ? option_start_program : option_start)(&parser, "try", try_options, argc, argv);
        while ((which = option_next(&parser)) >= 0)
                str_format(&out, "%s%s%s ", try_options[which].name, parser.value ? "=" : "",
                           parser.value ? parser.value : "");
        if (which == OPTION_WRONG)
                str_text(&out, "WRONG");
        else
                str_format(&out, "| %s",
                           argv[parser.first_operand] ? argv[parser.first_operand] : "");
        fflush(stderr);
        dup2(saved, STDERR_FILENO);
        close(saved);
        return str_get(&out);
}

#define PARSED(program, ...)                                                              \
        parsed(program, (int)(sizeof((char *[]){ "try", __VA_ARGS__ }) / sizeof(char *)), \
               (char *[]){ "try", __VA_ARGS__, NULL })

TEST(long_short_joined_and_abbreviated)
{
        is_text(PARSED(0, "--limit", "5", "-q"), "limit=5 quiet | ");
        is_text(PARSED(0, "--limit=5", "-n6", "-qn7"), "limit=5 limit=6 quiet limit=7 | ");
        is_text(PARSED(0, "--lim=5"), "limit=5 | ");
        is_text(PARSED(0, "--sample", "--sample=3k"), "sample sample=3k | ");
}

TEST(operands_may_stand_between_options_unless_they_are_a_program)
{
        is_text(PARSED(0, "file", "-q"), "quiet | file");
        is_text(PARSED(1, "-q", "prog", "-n", "x"), "quiet | prog");
        is_text(PARSED(0, "-q", "--", "-n"), "quiet | -n");
}

TEST(wrong_use_is_told)
{
        is_text(PARSED(0, "--limti", "5"), "WRONG");
        is_text(PARSED(0, "-z"), "WRONG");
        is_text(PARSED(0, "--limit"), "WRONG");
        is_text(PARSED(0, "-n"), "WRONG");
        is_text(PARSED(0, "--quiet=3"), "WRONG");
}

TEST(a_value_is_one_of_those_that_the_table_lists)
{
        is_text(PARSED(0, "--color=never", "-calways"), "color=never color=always | ");
        /* clear which one is meant */
        is_text(PARSED(0, "--color=alway", "-cn"), "color=always color=never | ");
        is_text(PARSED(0, "--color=a"), "WRONG");
        is_text(PARSED(0, "-c", "auto|always"), "WRONG");
        is_text(PARSED(0, "--color="), "WRONG");
        is_text(PARSED(0, "--at=peak", "--at=3s"), "at=peak at=3s | ");
        is_true(option_choice("none|exec|all", "none") == 0 &&
                option_choice("none|exec|all", "all") == 2);
        is_true(option_choice("none|exec|all", "al") < 0 && option_choice("none|exec|all", "") < 0);
}

TEST(help_is_made_from_the_same_table)
{
        struct str out = { 0 };

        option_help(try_options, &out);
        is_text(str_get(&out), "\nthings:\n"
                               "  -n, --limit N             at most N\n"
                               "                            lines\n"
                               "  -q, --quiet               say less\n"
                               "      --sample[=SIZE]       now and then\n"
                               "  -c, --color WHEN          auto, always or never\n"
                               "      --at WHEN             peak, end, or a time\n");
        str_free(&out);
}

TEST(help_fits_80_columns)
{
        static const struct option_entry wide[] = {
                { NULL, 0, NULL,
                  "a heading with so many words that they cannot stand in one line of a terminal "
                  "of 80 columns:",
                  NULL },
                { "with-a-very-long-name-indeed", 'w', "ARGUMENT",
                  "and with much to say about it, more than one line can hold", NULL },
                OPTION_END,
        };
        struct str out = { 0 };
        size_t widest = 0;

        option_help(wide, &out);
        for (const char *line = str_get(&out); *line; line += strcspn(line, "\n") + 1)
                if (strcspn(line, "\n") > widest)
                        widest = strcspn(line, "\n");
        is_true(widest > 60 && widest <= 80);
        str_free(&out);
}

TAP_MAIN(long_short_joined_and_abbreviated,
         operands_may_stand_between_options_unless_they_are_a_program, wrong_use_is_told,
         a_value_is_one_of_those_that_the_table_lists, help_is_made_from_the_same_table,
         help_fits_80_columns)
