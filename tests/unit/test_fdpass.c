/* SPDX-License-Identifier: MIT */
/* test_fdpass.c -- descriptors through a socket: what arrives, and what is closed. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

#include "base/fdpass.h"

/* A pair of sockets with boundaries between messages. */
static bool pair(int ends[2])
{
        return is_true(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
}

/* Whether nobody has the write end of the pipe open of which FD is the other one. */
static bool is_at_end(int fd)
{
        char byte;

        return read(fd, &byte, 1) == 0;
}

/* COUNT descriptors, more than fdpass_send() sends. */
static bool send_many(int socket, const int *files, size_t count)
{
        union {
                char room[CMSG_SPACE(4 * sizeof(int))];
                struct cmsghdr head;
        } control = { { 0 } };
        struct iovec part = { "many", 4 };
        struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room,
                            .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

        control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
                                         .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.head), files, count * sizeof(int));
        return sendmsg(socket, &m, 0) == 4;
}

TEST(a_descriptor_arrives_with_its_message)
{
        char text[8] = "", byte = 0;
        int ends[2], pipes[2], file;

        if (!pair(ends) || !is_true(pipe2(pipes, O_NONBLOCK) == 0))
                return;
        is_equal(fdpass_send(ends[0], "hello", 5, pipes[1], 0), 5);
        is_equal(fdpass_receive(ends[1], text, sizeof text, &file, 0), 5);
        is_text(text, "hello");
        is_true(file >= 0 && file != pipes[1]);
        is_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
        is_true(write(file, "x", 1) == 1 && read(pipes[0], &byte, 1) == 1 && byte == 'x');
        close(pipes[1]); /* it stayed open here */
        close(file);
        is_true(is_at_end(pipes[0]));
        close(pipes[0]);
        close(ends[0]);
        close(ends[1]);
}

TEST(a_message_can_come_alone)
{
        char text[8];
        int ends[2], file = 0;

        if (!pair(ends))
                return;
        is_equal(fdpass_send(ends[0], "alone", 5, -1, 0), 5);
        is_equal(fdpass_receive(ends[1], text, sizeof text, &file, 0), 5);
        is_equal(file, -1);
        file = 0;
        is_equal(fdpass_receive(ends[1], text, sizeof text, &file, MSG_DONTWAIT), -1);
        is_equal(file, -1);
        close(ends[0]);
        is_equal(fdpass_receive(ends[1], text, sizeof text, &file, 0), 0);
        is_equal(file, -1);
        close(ends[1]);
}

TEST(further_descriptors_are_closed)
{
        char text[8];
        int ends[2], first[2], second[2], file;

        if (!pair(ends) || !is_true(pipe2(first, O_NONBLOCK) == 0) ||
            !is_true(pipe2(second, O_NONBLOCK) == 0))
                return;
        is_true(send_many(ends[0], (int[]){ first[1], second[1] }, 2));
        is_equal(fdpass_receive(ends[1], text, sizeof text, &file, 0), 4);
        close(first[1]);
        close(second[1]);
        is_true(is_at_end(second[0]));
        is_true(!is_at_end(first[0])); /* the one that was kept */
        close(file);
        is_true(is_at_end(first[0]));
        close(first[0]);
        close(second[0]);
        close(ends[0]);
        close(ends[1]);
}

TAP_MAIN(a_descriptor_arrives_with_its_message, a_message_can_come_alone,
         further_descriptors_are_closed)
