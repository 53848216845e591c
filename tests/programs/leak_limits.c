/* SPDX-License-Identifier: MIT */
/*
 * leak_limits.c -- calls with a time limit that the kernel ends with EINTR when the process is
 * stopped.  Each must end by its limit, however often that happens.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define LIMIT_S 1

static int wait_epoll(void)
{
        struct epoll_event e;

        return epoll_wait(epoll_create1(0), &e, 1, 1000 * LIMIT_S) == 0 ? ETIMEDOUT : errno;
}

static int wait_signal(void)
{
        const struct timespec limit = { .tv_sec = LIMIT_S };
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return sigtimedwait(&set, NULL, &limit) < 0 && errno == EAGAIN ? ETIMEDOUT : errno;
}

static int wait_semaphore(void)
{
        const struct timespec limit = { .tv_sec = LIMIT_S };
        struct sembuf down = { .sem_op = -1 };
        int set = semget(IPC_PRIVATE, 1, 0600), error;

        error = semtimedop(set, &down, 1, &limit) < 0 && errno == EAGAIN ? ETIMEDOUT : errno;
        semctl(set, 0, IPC_RMID);
        return error;
}

static int wait_socket(void)
{
        const struct timeval limit = { .tv_sec = LIMIT_S };
        int ends[2];
        char c;

        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        return recv(ends[0], &c, 1, 0) < 0 && errno == EAGAIN ? ETIMEDOUT : errno;
}

int main(void)
{
        static const struct {
                const char *name;
                int (*wait)(void);
        } waits[] = { { "epoll", wait_epoll },
                      { "signal", wait_signal },
                      { "semaphore", wait_semaphore },
                      { "socket", wait_socket } };

        for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
                int error = waits[i].wait();

                printf("%s %s\n", waits[i].name,
                       error == ETIMEDOUT ? "ended by its limit" : "failed");
                fflush(stdout);
        }
        return 0;
}
