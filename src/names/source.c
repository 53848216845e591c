/* SPDX-License-Identifier: MIT */
#include "names/source.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { SOURCE_BYTES_MAX = 64 << 20 };

/* Only what is a file: a path in damaged or hostile debug information may name anything. */
bool source_load(const char *path, struct str *text, time_t *changed)
{
        struct stat st;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        bool good;

        if (fd < 0)
                return false;
        good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SOURCE_BYTES_MAX &&
               io_read(fd, text);
        close(fd);
        if (good)
                *changed = st.st_mtime;
        return good && text->length;
}

static bool source_below(const char *folder, const char *path, struct str *text, time_t *changed)
{
        struct str full = { 0 };
        bool good;

        str_format(&full, "%s%s%s", folder, path[0] == '/' ? "" : "/", path);
        good = source_load(str_get(&full), text, changed);
        str_free(&full);
        return good;
}

/* Below a debug path also with leading folders of the recorded path left out, one by one. */
bool source_read(const struct symbol_options *names, const char *path, struct str *text,
                 time_t *changed)
{
        if (names->sysroot && source_below(names->sysroot, path, text, changed))
                return true;
        for (uint32_t i = 0; i < names->debug_path_count; i++)
                for (const char *rest = path; rest; rest = strchr(rest + 1, '/'))
                        if (source_below(names->debug_paths[i], rest, text, changed))
                                return true;
        return source_load(path, text, changed);
}
