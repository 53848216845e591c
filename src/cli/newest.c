/* SPDX-License-Identifier: MIT */
#include "cli/newest.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/quantity.h"
#include "base/str.h"
#include "cli/folder.h"
#include "query/moment.h"

static bool is_later(const struct timespec *a, const struct timespec *b)
{
        return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Written in the same moment: the greater name, so that the answer does not depend
 * on the directory's order. */
static bool is_newer(const struct stat *st, const char *name, const struct stat *best,
                     const char *best_name)
{
        if (!best_name || is_later(&st->st_mtim, &best->st_mtim))
                return true;
        return !is_later(&best->st_mtim, &st->st_mtim) && strcmp(name, best_name) > 0;
}

struct newest {
        char *path; /* NULL: none yet */
        struct stat st;
};

/* An empty file holds the name of a recording that is being made (session/output.h). */
static void look_at(struct newest *n, DIR *directory, const char *folder, const char *name)
{
        struct str path = { 0 };
        struct stat st;

        str_format(&path, "%s%s%s", folder, *folder ? "/" : "", name);
        if (folder_has_recording(name) && fstatat(dirfd(directory), name, &st, 0) == 0 &&
            S_ISREG(st.st_mode) && st.st_size && is_newer(&st, path.data, &n->st, n->path)) {
                free(n->path);
                n->path = heap_text(path.data);
                n->st = st;
        }
        str_free(&path);
}

/* FOLDER: of other processes of a run (session/children.h). */
static void look_into(struct newest *n, const char *folder)
{
        DIR *directory = folder_is_named(folder) ? opendir(folder) : NULL;

        for (struct dirent *entry; directory && (entry = readdir(directory));)
                look_at(n, directory, folder, entry->d_name);
        if (directory)
                closedir(directory);
}

bool newest_recording(char **path, struct err *e)
{
        DIR *directory = opendir(".");
        struct newest n = { 0 };

        *path = NULL;
        if (!directory)
                return err_sys(e, ERR_EXIT_USAGE,
                               "cannot look for recordings in the working directory");
        for (struct dirent *entry; (entry = readdir(directory));) {
                look_at(&n, directory, "", entry->d_name);
                look_into(&n, entry->d_name);
        }
        closedir(directory);
        if ((*path = n.path))
                return true;
        return err_set(e, ERR_EXIT_USAGE,
                       "no recording given, and there is no *.seep file here: name one, or make "
                       "one with 'seep record PROGRAM'");
}

bool newest_or_named(const char *operand, const char *other, char **path, const char **when,
                     struct err *e)
{
        const char *at = moment_split(operand);

        *when = at ? at + 1 : "end";
        if (at == operand && !other)
                return newest_recording(path, e);
        *path = heap_text(at == operand ? other : operand);
        if (at > operand)
                (*path)[at - operand] = 0;
        return true;
}

bool newest_is_process(const char *operand, uint32_t *pid)
{
        uint64_t number;

        if (!operand || access(operand, F_OK) == 0 ||
            strspn(operand, "0123456789") != strlen(operand) ||
            !quantity_number(operand, &number) || !number || number > INT_MAX)
                return false;
        *pid = (uint32_t)number;
        return true;
}
