/* SPDX-License-Identifier: MIT */
/*
 * test_io.c -- whole reads and writes, whatever the kernel gives at a time.
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

#define IO_BYTES 3000000

static void fill(struct str *s, size_t count)
{
        for (size_t i = 0; i < count; i++)
                str_char(s, (char)(i * 7 + i / 1000));
}

struct sender {
        int fd;
        const struct str *bytes;
        bool good;
};

static void *send_all(void *argument)
{
        struct sender *s = argument;

        s->good = io_write(s->fd, s->bytes->data, s->bytes->length);
        close(s->fd);
        return NULL;
}

/* A pipe takes 64 KiB at a time: this needs many short writes and reads. */
TEST(more_than_a_pipe_holds_arrives_whole)
{
        struct str sent = { 0 }, got = { 0 };
        struct sender s = { 0 };
        pthread_t thread;
        int ends[2];

        fill(&sent, IO_BYTES);
        is_true(!pipe(ends));
        s = (struct sender){ ends[1], &sent, false };
        pthread_create(&thread, NULL, send_all, &s);
        is_true(io_read(ends[0], &got));
        pthread_join(thread, NULL);
        is_true(s.good && got.length == sent.length && !memcmp(got.data, sent.data, sent.length));
        close(ends[0]);
        str_free(&sent);
        str_free(&got);
}

TEST(a_reader_that_went_away_is_an_error)
{
        int ends[2];

        signal(SIGPIPE, SIG_IGN);
        is_true(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        close(ends[0]);
        errno = 0;
        is_true(!io_write(ends[1], "x", 1));
        is_equal(errno, EPIPE);
        close(ends[1]);
}

TEST(a_full_device_is_an_error)
{
        int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

        is_true(fd >= 0 && !io_write(fd, "x", 1));
        is_equal(errno, ENOSPC);
        close(fd);
}

TEST(files_that_cannot_be_read_tell_why)
{
        struct str out = { 0 };

        is_true(!io_read_file("/nonexistent", &out));
        is_equal(errno, ENOENT);
        is_true(!io_read_file("/", &out));
        is_equal(errno, EISDIR);
        str_free(&out);
}

TEST(reading_appends)
{
        struct str out = { 0 };

        str_text(&out, "before ");
        is_true(io_read_file("/proc/self/comm", &out));
        has_text(str_get(&out), "before test_io");
        str_free(&out);
}

TAP_MAIN(more_than_a_pipe_holds_arrives_whole, a_reader_that_went_away_is_an_error,
         a_full_device_is_an_error, files_that_cannot_be_read_tell_why, reading_appends)
