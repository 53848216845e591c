/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "cli/progress.h"

/* What is written to stderr while a line that began AGO_S seconds ago hears of the steps [FROM, TO)
 * of 200; to be freed. */
static char *written(double ago_s, uint64_t from, uint64_t to)
{
        struct progress_line line;
        struct str seen = { 0 };
        FILE *file = tmpfile();
        int before = dup(STDERR_FILENO);

        fflush(stderr);
        dup2(fileno(file), STDERR_FILENO);
        progress_start(&line, "resolving names", false);
        is_true(!line.terminal); /* a file is none: the command would not listen */
        line.start_s -= ago_s;
        line.step_s -= ago_s;
        for (uint64_t i = from; i < to; i++)
                progress_tell(&line.progress, i, 200);
        progress_end(&line);
        fflush(stderr);
        dup2(before, STDERR_FILENO);
        close(before);
        lseek(fileno(file), 0, SEEK_SET);
        io_read(fileno(file), &seen);
        fclose(file);
        str_char(&seen, '|');
        return seen.data;
}

TEST(the_first_second_is_silent)
{
        char *text = written(0, 0, 100);

        is_text(text, "|");
        free(text);
}

TEST(later_one_line_tells_and_goes_away)
{
        char *text = written(10, 0, 17); /* told of at 0; 16 comes sooner than the next showing */

        is_text(text, "\r\033[Kseep: resolving names: 0 %\r\033[K|");
        free(text);
}

TEST(what_is_left_is_reckoned_from_what_was_done)
{
        char *text = written(10, 160, 161);

        has_text(text, "seep: resolving names: 80 %, ");
        has_text(text, " s left\r\033[K|");
        free(text);
}

TEST(nobody_needs_to_listen)
{
        progress_tell(NULL, 0, 10);
}

TAP_MAIN(the_first_second_is_silent, later_one_line_tells_and_goes_away,
         what_is_left_is_reckoned_from_what_was_done, nobody_needs_to_listen)
