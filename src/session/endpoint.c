/* SPDX-License-Identifier: MIT */
#include "session/endpoint.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/io.h"
#include "base/str.h"
#include "wire/hello.h"

#define ENDPOINT_PREFIX "seep-"
#define ENDPOINT_BACKLOG 1024
#define ENDPOINT_ANCESTORS_MAX 64
#define ENDPOINT_TRIES 1500 /* two milliseconds apart */

socklen_t endpoint_name(uint32_t pid, struct sockaddr_un *out)
{
        int length;

        *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
        length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, ENDPOINT_PREFIX "%u", pid);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int endpoint_open(uint32_t pid)
{
        struct sockaddr_un address;
        socklen_t length = endpoint_name(pid, &address);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 &&
            listen(fd, ENDPOINT_BACKLOG) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

/* A connection to the endpoint of PID, when that is one of ours; -1. */
static int come_to(uint32_t pid)
{
        struct ucred who = { .uid = (uid_t)-1 };
        struct sockaddr_un address;
        socklen_t length = endpoint_name(pid, &address), size = sizeof who;
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
            (who.uid == geteuid() || who.uid == 0))
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

/* So that it looks at once. */
static bool knock_at(uint32_t pid)
{
        struct wire_knock knock = { .magic = WIRE_KNOCK_MAGIC, .pid = pid };
        int fd = come_to(pid);
        bool good = fd >= 0 &&
                    send(fd, &knock, sizeof knock, MSG_NOSIGNAL) == (ssize_t)sizeof knock;

        if (fd >= 0)
                close(fd);
        return good;
}

bool endpoint_of_ancestor(uint32_t pid)
{
        uint32_t at = process_parent(pid);

        for (int i = 0; at > 0 && i < ENDPOINT_ANCESTORS_MAX; i++) {
                int fd = come_to(at);

                if (fd >= 0) {
                        close(fd);
                        return true;
                }
                at = process_parent(at);
        }
        return false;
}

int endpoint_take_over(uint32_t pid)
{
        const struct timespec nap = { .tv_nsec = 2000000 };
        int fd = endpoint_open(pid);

        if (fd >= 0 || !knock_at(pid))
                return fd;
        for (int i = 0; fd < 0 && i < ENDPOINT_TRIES; i++) {
                nanosleep(&nap, NULL);
                fd = endpoint_open(pid);
        }
        return fd;
}

/* The kernel shows the zero in front of an abstract name as an at sign; a connection has a line of
 * its own with the same name. */
uint32_t endpoint_list(uint32_t *pids, uint32_t room)
{
        static const char mark[] = " @" ENDPOINT_PREFIX;
        struct str sockets = { 0 };
        uint32_t count = 0, known;

        if (io_read_file("/proc/net/unix", &sockets) && sockets.length)
                for (const char *at = strstr(str_get(&sockets), mark); at && count < room;
                     at = strstr(at, mark)) {
                        at += sizeof mark - 1;
                        pids[count] = (uint32_t)strtoul(at, NULL, 10);
                        for (known = 0; pids[known] != pids[count];)
                                known++;
                        count += known == count && pids[count] > 0;
                }
        str_free(&sockets);
        return count;
}
