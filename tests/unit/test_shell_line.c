/* SPDX-License-Identifier: MIT */
/*
 * test_shell_line.c -- a line of `seep shell` becomes commands, and a broken one a message.
 */
#include "base/str.h"
#include "cli/shell_line.h"
#include "tap.h"

/* The commands of TEXT as "[a][b]>FILE;", "error: ..." for the rest. */
static const char *taken(const char *text)
{
        static const char *const marks[] = { "", ">", ">>", ">!", "|" };
        static struct str out;
        struct shell_line line;
        struct err e;
        int got;

        str_clear(&out);
        while ((got = shell_line_take(&text, &line, &e)) > 0) {
                for (int i = 0; i < line.count; i++)
                        str_format(&out, "[%s]", line.words[i]);
                is_true(!line.words[line.count]);
                if (line.where)
                        str_format(&out, "%s%s", marks[line.to], line.where);
                str_char(&out, ';');
                shell_line_free(&line);
        }
        if (got < 0)
                str_format(&out, "error: %s", e.text);
        is_true(!*text);
        return str_get(&out);
}

TEST(commands_are_separated)
{
        is_text(taken(""), "");
        is_text(taken(" ; ;\n\t;"), "");
        is_text(taken("dump"), "[dump];");
        is_text(taken(" scan new ;leaks;; quit\nhelp"), "[scan][new];[leaks];[quit];[help];");
        is_text(taken("dump\r\nhelp\r\n"), "[dump];[help];");
}

TEST(quotes_group)
{
        is_text(taken("tag 'a b'; tag \"c;d\""), "[tag][a b];[tag][c;d];");
        is_text(taken("sql 'SELECT 1 > 0' | sed 's/;/x/' | cat; help"),
                "[sql][SELECT 1 > 0]|sed 's/;/x/' | cat;[help];");
        is_text(taken("tag a\\;b\\>c"), "[tag][a;b>c];");
        is_text(taken("''"), "[];");
}

TEST(results_go_somewhere)
{
        is_text(taken("dump >a"), "[dump]>a;");
        is_text(taken("dump>a"), "[dump]>a;");
        is_text(taken("dump > 'a b' ; help"), "[dump]>a b;[help];");
        is_text(taken("dump >>a"), "[dump]>>a;");
        is_text(taken("dump >! a"), "[dump]>!a;");
        is_text(taken("dump|wc -l"), "[dump]|wc -l;");
}

TEST(a_comment_begins_a_command_and_a_site_does_not)
{
        is_text(taken("# all of it; dump"), "");
        is_text(taken("dump # 3"), "[dump][#][3];");
        is_text(taken("why #3\n# no\nhelp"), "[why][#3];[help];");
}

TEST(broken_ones_are_refused)
{
        has_text(taken("help; dump 'a"), "[help];error: a quote is not closed");
        has_text(taken("dump >"), "error: '>': into which file?");
        has_text(taken("dump > ;help"), "error: '>': into which file?");
        has_text(taken("dump |"), "error: '|': to which command?");
        has_text(taken("dump | \"x"), "error: a quote is not closed");
        has_text(taken("dump >a >b"), "one place");
        has_text(taken("dump >a |b"), "one place");
        has_text(taken("dump >a b"), "behind the place");
        has_text(taken(">a"), "a command is expected in front of '>'");
        has_text(taken("|a"), "a command is expected in front of '|'");
}

TAP_MAIN(commands_are_separated, quotes_group, results_go_somewhere,
         a_comment_begins_a_command_and_a_site_does_not, broken_ones_are_refused)
