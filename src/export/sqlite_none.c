/* SPDX-License-Identifier: MIT */
/* sqlite_none.c -- in place of sqlite.c in a build without SQLite. */
#include "export/export.h"

bool export_sqlite(const struct export_input *in, struct str *out, struct err *e)
{
        (void)in;
        (void)out;
        return err_set(e, ERR_EXIT_USAGE,
                       "this seep was built without SQLite; --to json and --to csv have the same "
                       "data, and a build that finds sqlite3 (Debian: libsqlite3-dev) makes "
                       "databases");
}
