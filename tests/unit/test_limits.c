/* SPDX-License-Identifier: MIT */
/* Calls with a time limit, in a process that is stopped again and again: the process knows by its
 * own clock how long they took. */
#include "attach/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "attach/hold.h"
#include "base/clock.h"
#include "tap.h"

#define LIMIT_MS 300
#define PATIENCE_NS 60000000000ull
#define STOPS_EVERY_US 10000

static const struct timespec span = { 0, LIMIT_MS * 1000000 };

enum { RIGHT, WRONG_RESULT, TOO_EARLY, NO_CHANCE };

static bool is_late(long result, int error)
{
        return result == -1 && errno == error;
}

static bool by_epoll_wait(void)
{
        struct epoll_event event;

        return epoll_wait(epoll_create1(0), &event, 1, LIMIT_MS) == 0;
}

static bool by_epoll_pwait2(void)
{
        struct epoll_event event;

        return epoll_pwait2(epoll_create1(0), &event, 1, &span, NULL) == 0;
}

static bool by_semtimedop(void)
{
        int id = semget(IPC_PRIVATE, 1, 0600);
        struct sembuf down = { 0, -1, 0 };
        bool good = is_late(semtimedop(id, &down, 1, &span), EAGAIN);

        semctl(id, 0, IPC_RMID);
        return good;
}

static bool by_sigtimedwait(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return is_late(sigtimedwait(&set, NULL, &span), EAGAIN);
}

static bool by_recv(void)
{
        struct timeval limit = { 0, LIMIT_MS * 1000 };
        int ends[2];
        char c;

        return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
               setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
               is_late(recv(ends[0], &c, 1, 0), EAGAIN);
}

#ifdef __x86_64__
/* The limit is in a register that this code uses again: it must be as it was. */
static bool by_own_instruction(void)
{
        struct epoll_event event;
        long result = SYS_epoll_wait, fd = epoll_create1(0);
        register long limit __asm__("r10") = LIMIT_MS;

        __asm__ volatile("syscall" : "+a"(result), "+r"(limit) : "D"(fd), "S"(&event), "d"(1l)
                         : "rcx", "r11", "memory");
        return result == 0 && limit == LIMIT_MS;
}
#else
#define by_own_instruction by_epoll_wait
#endif

static int wait_in(bool (*call)(void), int ready)
{
        uint64_t begin;
        bool good;

        if (write(ready, "", 1) != 1)
                return WRONG_RESULT;
        begin = clock_now_ns();
        good = call();
        return !good                                            ? WRONG_RESULT
               : clock_now_ns() - begin < LIMIT_MS * 1000000ull ? TOO_EARLY
                                                                : RIGHT;
}

/* How it ended under stops that come faster than its limit passes.  It says so itself: whoever
 * holds a child of his own may be the one that gets its exit status. */
static int stopped_often(bool (*call)(void))
{
        uint64_t begin = clock_now_ns();
        int *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                         0),
            ready[2], result;
        struct err e;
        struct hold h;
        pid_t pid;
        char c;

        *told = NO_CHANCE;
        if (pipe(ready) != 0 || (pid = fork()) < 0)
                return NO_CHANCE;
        if (pid == 0) {
                *told = wait_in(call, ready[1]);
                _exit(0);
        }
        if (read(ready[0], &c, 1) != 1)
                c = 1;
        while (waitpid(pid, NULL, WNOHANG) == 0) {
                if (clock_now_ns() - begin > PATIENCE_NS) { /* 200 times its limit */
                        kill(pid, SIGKILL);
                        waitpid(pid, NULL, 0);
                        break;
                }
                if (hold_all(&h, pid, &e))
                        hold_release(&h);
                usleep(STOPS_EVERY_US);
        }
        close(ready[0]);
        close(ready[1]);
        result = *told;
        munmap(told, sizeof *told);
        return result;
}

#define ENDS(name, call)                                                                  \
        TEST(name)                                                                        \
        {                                                                                 \
                if (!arch_keeps_marks())                                                  \
                        tap_skip("this kernel or processor keeps nothing with a call");   \
                else                                                                      \
                        is_equal(stopped_often(call), RIGHT);                             \
        }

ENDS(epoll_wait_ends_under_stops, by_epoll_wait)
ENDS(a_limit_in_memory_that_cannot_be_written_ends_under_stops, by_epoll_pwait2)
ENDS(semtimedop_ends_under_stops, by_semtimedop)
ENDS(sigtimedwait_ends_under_stops, by_sigtimedwait)
ENDS(the_limit_of_a_socket_ends_under_stops, by_recv)
ENDS(a_call_outside_of_the_c_library_ends_and_keeps_its_registers, by_own_instruction)

TAP_MAIN(epoll_wait_ends_under_stops, a_limit_in_memory_that_cannot_be_written_ends_under_stops,
         semtimedop_ends_under_stops, sigtimedwait_ends_under_stops,
         the_limit_of_a_socket_ends_under_stops,
         a_call_outside_of_the_c_library_ends_and_keeps_its_registers)
