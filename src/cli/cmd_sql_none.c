/* SPDX-License-Identifier: MIT */
/* cmd_sql_none.c -- in place of cmd_sql.c in a build without SQLite. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"

const struct option_entry sql_options[] = { OPTION_END };

int cmd_sql(int argc, char **argv)
{
        struct err e = { 0 };

        (void)argc;
        (void)argv;
        err_set(&e, ERR_EXIT_USAGE,
                "this seep was built without SQLite, which 'seep sql' needs; 'seep export --to "
                "json' and '--to csv' have the same data. A build that finds sqlite3 (Debian: "
                "libsqlite3-dev) has it");
        return message_error(&e);
}
