/* SPDX-License-Identifier: MIT */
/*
 * test_worker.c -- functions in processes of their own: what they say, how they end, and when they
 * do not.
 */
#include "base/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "tap.h"

static bool write_number(void *context, int fd)
{
        return io_write(fd, context, sizeof(uint64_t));
}

TEST(what_it_writes_is_there_after_its_end)
{
        uint64_t number = 4711, got = 0;
        struct worker w;
        int status;

        is_true(worker_start(&w, &(struct worker_order){ .work = write_number,
                                                         .context = &number,
                                                         .file = "test" }));
        status = worker_wait(&w);
        is_equal(status, 0);
        is_equal(w.pid, 0);
        is_true(worker_read(&w, 0, &got, sizeof got));
        is_equal(got, 4711);
        is_true(!worker_read(&w, 4, &got, sizeof got));
        worker_close(&w);
        is_true(!worker_read(&w, 0, &got, sizeof got));
        status = worker_wait(&w); /* it does not run */
        is_equal(status, 0);
}

static bool fail(void *context, int fd)
{
        *(bool *)context = true; /* in a copy */
        return fd >= 0;
}

TEST(one_that_fails_says_so_and_changes_nothing_here)
{
        bool changed = false;
        struct worker w;
        int status;

        is_true(worker_start(&w, &(struct worker_order){ .work = fail, .context = &changed }));
        is_equal(w.fd, -1);
        status = worker_wait(&w);
        is_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        is_true(!changed);
}

static bool start_another(void *context, int fd)
{
        struct worker w;

        return worker_start(&w, &(struct worker_order){ .work = write_number,
                                                        .context = context,
                                                        .file = "inner" }) &&
               worker_wait(&w) == 0 && worker_read(&w, 0, context, sizeof(uint64_t)) &&
               write_number(context, fd);
}

/* Also where forks are watched for the sake of a sanitizer. */
TEST(one_may_start_another)
{
        uint64_t number = 4712, got = 0;
        struct worker w;
        int status;

        is_true(worker_start(&w, &(struct worker_order){ .work = start_another,
                                                         .context = &number,
                                                         .file = "outer" }));
        status = worker_end(&w, 60000);
        is_equal(status, 0);
        is_true(worker_read(&w, 0, &got, sizeof got));
        is_equal(got, 4712);
        worker_close(&w);
}

/* Says 1 if the descriptor in CONTEXT is open in it; then it stays. */
static bool tell_and_stay(void *context, int fd)
{
        char is_open = fcntl(*(int *)context, F_GETFD) >= 0;

        send(fd, &is_open, 1, 0);
        while (pause() < 0)
                ;
        return true;
}

TEST(one_with_a_socket_has_no_other_descriptor_and_is_ended_when_it_stays)
{
        int other = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100), status;
        struct worker w;
        char is_open = 2;

        is_true(worker_start(&w, &(struct worker_order){ .work = tell_and_stay,
                                                         .context = &other,
                                                         .socket = SOCK_STREAM }));
        is_true(recv(w.fd, &is_open, 1, 0) == 1);
        is_equal(is_open, 0);
        status = worker_end(&w, 0);
        is_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        is_true(kill(getpid(), 0) == 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
        worker_close(&w);
        close(other);
}

static bool end_at_once(void *context, int fd)
{
        (void)context;
        return fd < 0;
}

TEST(one_that_ends_in_time_is_not_ended)
{
        struct worker w;
        int status;

        is_true(worker_start(&w,
                             &(struct worker_order){ .work = end_at_once, .program = getpid() }));
        status = worker_end(&w, 600000);
        is_equal(status, 0);
        is_equal(w.pid, 0);
}

TAP_MAIN(what_it_writes_is_there_after_its_end, one_that_fails_says_so_and_changes_nothing_here,
         one_may_start_another,
         one_with_a_socket_has_no_other_descriptor_and_is_ended_when_it_stays,
         one_that_ends_in_time_is_not_ended)
