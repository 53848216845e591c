/* SPDX-License-Identifier: MIT */
#include "session/children.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"

/* -1: there is none, or it is not ours. */
static int open_own(int parent, const char *name)
{
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || (fstat(fd, &st) == 0 && place_is_own(st.st_uid)))
                return fd;
        close(fd);
        errno = EPERM;
        return -1;
}

int children_open(int parent, const char *name)
{
        bool made = mkdirat(parent, name, 0755) == 0;
        int fd = made || errno == EEXIST ? open_own(parent, name) : -1;

        if (fd >= 0 && made)
                place_give(fd);
        return fd;
}

static bool ends_with(const char *name, const char *suffix)
{
        size_t length = strlen(name), tail = strlen(suffix);

        return length > tail && strcmp(name + length - tail, suffix) == 0;
}

static bool is_recording(const char *name)
{
        return name[0] != '.' && ends_with(name, ".seep");
}

bool children_are_there(int parent, const char *name)
{
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;
        bool found = false;

        while (directory && !found && (entry = readdir(directory)))
                found = is_recording(entry->d_name);
        if (directory)
                closedir(directory);
        return found;
}

void children_clear(int parent, const char *name)
{
        int fd = open_own(parent, name);
        DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;

        while (directory && (entry = readdir(directory)))
                if (is_recording(entry->d_name) || ends_with(entry->d_name, ".events"))
                        unlinkat(dirfd(directory), entry->d_name, 0);
        if (directory)
                closedir(directory);
        children_tidy(parent, name);
}

void children_tidy(int parent, const char *name)
{
        if (unlinkat(parent, name, AT_REMOVEDIR) != 0)
                return; /* there is something in it */
}
