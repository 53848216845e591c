/* SPDX-License-Identifier: MIT */
#include "query/location.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"

/* Nobody's source tree, unless the root itself lies there. */
static const char *const location_system[] = { "/usr/include", "/usr/lib", "/usr/lib32",
                                               "/usr/lib64", "/usr/libexec", "/lib", "/lib64",
                                               "/rustc" };

/* PATH is DIRECTORY or below it. */
static bool is_below(const char *path, const char *directory)
{
        size_t length = strlen(directory);

        return strncmp(path, directory, length) == 0 && (path[length] == '/' || !path[length]);
}

/* Append an absolute PATH without "." and "..", as the compiler's
 * "/app/build/../src/a.c" has them. */
static void normalize(const char *path, struct str *out)
{
        size_t start = out->length;

        for (const char *part = path; *part;) {
                size_t length;

                part += strspn(part, "/");
                length = strcspn(part, "/");
                if (length == 2 && part[0] == '.' && part[1] == '.') {
                        const char *slash = out->length > start ? strrchr(out->data + start, '/')
                                                                : NULL;

                        if (slash) {
                                out->length = (size_t)(slash - out->data);
                                out->data[out->length] = 0;
                        }
                } else if (length && !(length == 1 && part[0] == '.')) {
                        str_char(out, '/');
                        str_bytes(out, part, length);
                }
                part += length;
        }
}

/* *PATH becomes the nearest folder around it that git calls a repository; else it stays. */
static void find_repository(char **path)
{
        struct str here = { 0 };

        str_text(&here, *path);
        for (;;) {
                size_t length = here.length;
                char *slash;
                bool found;

                str_text(&here, "/.git");
                found = access(here.data, F_OK) == 0;
                here.data[here.length = length] = 0;
                if (found) {
                        free(*path);
                        *path = heap_text(str_get(&here));
                }
                slash = length ? strrchr(here.data, '/') : NULL;
                if (found || !slash)
                        break;
                here.data[here.length = (size_t)(slash - here.data)] = 0;
        }
        str_free(&here);
}

bool location_find_root(struct location_root *root, const char *directory, struct err *e)
{
        char *real = realpath(directory ? directory : ".", NULL);

        *root = (struct location_root){ 0 };
        if (!real)
                return err_sys(e, ERR_EXIT_USAGE, "cannot use %s as the source tree",
                               directory ? directory : "the working directory");
        if (strcmp(real, "/") == 0)
                real[0] = 0;
        if (!directory)
                find_repository(&real);
        root->path = real;
        return true;
}

void location_free(struct location_root *root)
{
        free(root->path);
        root->path = NULL;
}

/* The folder of the system that PATH is in; NULL none. */
static const char *system_folder(const char *path)
{
        for (size_t i = 0; i < sizeof location_system / sizeof *location_system; i++)
                if (is_below(path, location_system[i]))
                        return location_system[i];
        return NULL;
}

bool location_is_system(const char *path)
{
        return system_folder(path) != NULL;
}

static bool is_elsewhere(const struct location_root *root, const char *path)
{
        const char *folder = system_folder(path);

        return folder && !is_below(root->path, folder);
}

/* The part of the absolute PATH below ROOT; NULL: it is elsewhere. */
static const char *below_root(const struct location_root *root, const char *path)
{
        const char *rest = path + strlen(root->path);

        return is_below(path, root->path) && rest[0] == '/' && rest[1] && !is_elsewhere(root, path)
                       ? rest + 1
                       : NULL;
}

bool location_relative(const struct location_root *root, const char *file, struct str *out)
{
        struct str typed = { 0 }, path = { 0 };
        const char *rest = NULL;
        char *real = NULL;

        if (file[0] != '/')
                str_format(&typed, "%s/", root->path);
        str_text(&typed, file);
        normalize(str_get(&typed), &path);
        if (file[0] == '/' || access(str_get(&path), F_OK) == 0) {
                rest = below_root(root, str_get(&path));
                /* A symbolic link to the tree. */
                real = rest ? NULL : realpath(str_get(&path), NULL);
                if (real)
                        rest = below_root(root, real);
        }
        if (rest)
                str_text(out, rest);
        free(real);
        str_free(&typed);
        str_free(&path);
        return rest != NULL;
}
