/* SPDX-License-Identifier: MIT */
#include "cli/check_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE_PREFIX "seep-check-"
#define PLACE_MARK ".running" /* gone when a check has ended, also where recordings are kept */

static const char *above(void)
{
        const char *tmp = getenv("TMPDIR");

        return tmp && *tmp && access(tmp, W_OK | X_OK) == 0 ? tmp : "/tmp";
}

/* ---- of those who were killed ---- */

static bool is_ours(int folder)
{
        struct stat st;

        return fstat(folder, &st) == 0 && st.st_uid == geteuid();
}

/* The kernel took the lock from whoever died. */
static bool is_dead(int folder)
{
        int mark = is_ours(folder) ? openat(folder, PLACE_MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
        bool dead = mark >= 0 && flock(mark, LOCK_EX | LOCK_NB) == 0;

        if (mark >= 0)
                close(mark);
        return dead;
}

/* The mark goes last: should we be killed here, the next one goes on. */
static void remove_if_dead(int place, const char *name)
{
        int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *files = folder >= 0 ? fdopendir(folder) : NULL;
        struct dirent *d;

        if (files && is_dead(folder)) {
                while ((d = readdir(files)))
                        if (strcmp(d->d_name, PLACE_MARK) != 0)
                                unlinkat(folder, d->d_name, 0); /* not "." and "..", which are directories */
                unlinkat(folder, PLACE_MARK, 0);
                unlinkat(place, name, AT_REMOVEDIR);
        }
        if (files)
                closedir(files);
        else if (folder >= 0)
                close(folder);
}

static void remove_dead(void)
{
        DIR *all = opendir(above());
        struct dirent *d;

        while (all && (d = readdir(all)))
                if (strncmp(d->d_name, PLACE_PREFIX, strlen(PLACE_PREFIX)) == 0)
                        remove_if_dead(dirfd(all), d->d_name);
        if (all)
                closedir(all);
}

/* ---- our own ---- */

/* Made under another name, so that nobody finds it without its lock. */
static int lock_mark(const char *directory)
{
        struct str half = { 0 }, mark = { 0 };
        int fd;

        str_format(&half, "%s/.half", directory);
        str_format(&mark, "%s/" PLACE_MARK, directory);
        fd = open(half.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(half.data, mark.data) != 0)) {
                unlink(half.data); /* it works without */
                close(fd);
                fd = -1;
        }
        str_free(&half);
        str_free(&mark);
        return fd;
}

bool check_place_make(struct check_place *p, struct err *e)
{
        struct str path = { 0 };

        *p = (struct check_place){ .mark = -1 };
        remove_dead();
        str_format(&path, "%s/" PLACE_PREFIX "XXXXXX", above());
        if (!mkdtemp(path.data)) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot make a folder for the recordings (-o FILE chooses another place): %s", path.data);
                str_free(&path);
                return false;
        }
        p->mark = lock_mark(path.data);
        for (const char *c = path.data; *c; c++)
                str_text(&p->pattern, *c == '%' ? "%%" : (char[]){ *c, 0 });
        str_text(&p->pattern, "/%e.%p.seep");
        p->directory = path.data;
        return true;
}

void check_place_clear(const struct check_place *p, bool (*keep)(const void *context, const char *path), const void *context)
{
        DIR *directory = opendir(p->directory);
        struct dirent *d;

        while (directory && (d = readdir(directory))) {
                struct str path = { 0 };

                str_format(&path, "%s/%s", p->directory, d->d_name);
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && !keep(context, path.data))
                        unlink(path.data);
                str_free(&path);
        }
        if (directory)
                closedir(directory);
        rmdir(p->directory); /* unless something is kept */
}

void check_place_free(struct check_place *p)
{
        if (p->mark >= 0)
                close(p->mark);
        str_free(&p->pattern);
        free(p->directory);
        *p = (struct check_place){ .mark = -1 };
}
