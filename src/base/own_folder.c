/* SPDX-License-Identifier: MIT */
#include "base/own_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100

/* -1: it is in use (HOW LOCK_EX), or not a directory of ours. */
static int lock(const char *path, int how)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            flock(fd, how | LOCK_NB) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

int own_folder_hold(const char *path)
{
        return lock(path, LOCK_SH);
}

void own_folder_remove(const char *path)
{
        DIR *d = opendir(path);
        struct dirent *entry;

        while (d && (entry = readdir(d)))
                unlinkat(dirfd(d), entry->d_name, 0);
        if (d)
                closedir(d);
        rmdir(path);
}

static void remove_left(const struct own_folder_kind *kind)
{
        DIR *d = opendir(kind->place);
        struct dirent *entry;
        char path[4096];

        while (d && (entry = readdir(d))) {
                int fd;

                if (strncmp(entry->d_name, kind->prefix, strlen(kind->prefix)) != 0 ||
                    snprintf(path, sizeof path, "%s/%s", kind->place, entry->d_name) >=
                            (int)sizeof path)
                        continue;
                fd = lock(path, LOCK_EX);
                if (fd < 0)
                        continue;
                if (kind->empty_only)
                        rmdir(path);
                else
                        own_folder_remove(path);
                close(fd);
        }
        if (d)
                closedir(d);
}

/* One that is just made may be taken for one that is left: then there is another. */
int own_folder_make(const struct own_folder_kind *kind, char *path, size_t room)
{
        struct stat held, named;

        remove_left(kind);
        errno = EEXIST;
        for (int i = 0; i < TRIES; i++) {
                int fd;

                if (snprintf(path, room, "%s/%sXXXXXX", kind->place, kind->prefix) >= (int)room) {
                        errno = ENAMETOOLONG;
                        return -1;
                }
                if (!mkdtemp(path))
                        return -1;
                fd = own_folder_hold(path);
                if (fd >= 0 && fstat(fd, &held) == 0 && stat(path, &named) == 0 &&
                    held.st_ino == named.st_ino)
                        return fd;
                if (fd >= 0)
                        close(fd);
                rmdir(path);
        }
        return -1;
}
