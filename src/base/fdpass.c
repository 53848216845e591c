/* SPDX-License-Identifier: MIT */
#include "base/fdpass.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DESCRIPTORS 4u /* of one message that are received, to be closed */

ssize_t fdpass_send(int socket, const void *bytes, size_t count, int file, int flags)
{
        union {
                char room[CMSG_SPACE(sizeof file)];
                struct cmsghdr head;
        } control = { { 0 } };
        struct iovec part = { (void *)(uintptr_t)bytes, count };
        struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

        if (file >= 0) {
                control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof file),
                                                 .cmsg_level = SOL_SOCKET,
                                                 .cmsg_type = SCM_RIGHTS };
                memcpy(CMSG_DATA(&control.head), &file, sizeof file);
                m.msg_control = control.room;
                m.msg_controllen = sizeof control.room;
        }
        return sendmsg(socket, &m, flags | MSG_NOSIGNAL);
}

/* The first descriptor in M, or -1. */
static int take_first(struct msghdr *m)
{
        int kept = -1;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
                size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t i = 0; i < count; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                        if (kept < 0)
                                kept = fd;
                        else
                                close(fd);
                }
        }
        return kept;
}

ssize_t fdpass_receive(int socket, void *bytes, size_t count, int *file, int flags)
{
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
        struct iovec part = { bytes, count };
        struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                            .msg_controllen = sizeof control };
        ssize_t got = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);

        *file = got >= 0 ? take_first(&m) : -1;
        return got;
}
