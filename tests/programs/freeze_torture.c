/* SPDX-License-Identifier: MIT */
/*
 * freeze_torture.c -- threads in every kind of waiting call, which check that nothing but what they
 * wait for ever happens.
 *
 * Told on descriptor 3: "ready", and when descriptor 0 ends: "waits NAME N" per kind, "fault ..."
 * for what must not be, "well" when there was none.
 */
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

#define CHILD_STATUS 7     /* what every child of ours ends with */
#define STRANGE_ERRNO 1234 /* no call gives this */
#define LONG_S 300         /* longer than any test: a timeout that ends is a fault */

static volatile int is_over, fault_count;

struct part {
        const char *name;
        int (*wait)(struct part *);  /* one wait: 0 when all was as it should be */
        void (*kick)(struct part *); /* ends one wait */
        void (*make)(struct part *);
        pthread_t thread;
        int fd[2], other;
        union {
                sem_t semaphore;
                aio_context_t aio;
        };
        pthread_mutex_t mutex;
        pthread_cond_t condition;
        volatile int flag, done;
        volatile long waits, handled;
};

static __thread struct part *own;

static void fault(const char *name, const char *what, long value)
{
        if (__atomic_add_fetch(&fault_count, 1, __ATOMIC_RELAXED) <= 20)
                truth_say("fault %s %s %ld errno %d\n", name, what, value, errno);
}

static void nap(long ns)
{
        nanosleep(&(struct timespec){ 0, ns }, NULL);
}

/* ---- pipes ---- */

static void make_pipe(struct part *p)
{
        if (pipe(p->fd))
                truth_die("no pipe\n");
}

static void kick_pipe(struct part *p)
{
        if (write(p->fd[1], "x", 1) != 1)
                fault(p->name, "kick", 0);
}

static int take(struct part *p)
{
        char c;

        return read(p->fd[0], &c, 1) != 1;
}

static int wait_poll(struct part *p)
{
        struct pollfd f = { p->fd[0], POLLIN, 0 };

        return poll(&f, 1, LONG_S * 1000) != 1 || take(p);
}

static int wait_ppoll(struct part *p)
{
        struct pollfd f = { p->fd[0], POLLIN, 0 };
        sigset_t mask;

        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        return ppoll(&f, 1, NULL, &mask) != 1 || take(p);
}

static int wait_select(struct part *p)
{
        fd_set set;

        FD_ZERO(&set);
        FD_SET(p->fd[0], &set);
        return select(p->fd[0] + 1, &set, NULL, NULL, NULL) != 1 || take(p);
}

static void make_epoll(struct part *p)
{
        struct epoll_event e = { .events = EPOLLIN };

        make_pipe(p);
        p->other = epoll_create1(0);
        if (epoll_ctl(p->other, EPOLL_CTL_ADD, p->fd[0], &e))
                truth_die("no epoll\n");
}

static int wait_epoll(struct part *p)
{
        struct epoll_event e;

        return epoll_wait(p->other, &e, 1, -1) != 1 || take(p);
}

static int wait_epoll_pwait(struct part *p)
{
        struct epoll_event e;
        sigset_t mask;

        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        return epoll_pwait(p->other, &e, 1, LONG_S * 1000, &mask) != 1 || take(p);
}

/* ---- sockets ---- */

static void make_listener(struct part *p)
{
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

        p->fd[0] = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(p->fd[0], (struct sockaddr *)&a, sizeof a) || listen(p->fd[0], 50))
                truth_die("no listener\n");
}

static int wait_accept(struct part *p)
{
        int fd = accept(p->fd[0], NULL, NULL);

        return fd < 0 || close(fd);
}

static void kick_connect(struct part *p)
{
        struct sockaddr_in a;
        socklen_t length = sizeof a;
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        getsockname(p->fd[0], (struct sockaddr *)&a, &length);
        if (connect(fd, (struct sockaddr *)&a, length))
                fault(p->name, "connect", 0);
        close(fd);
}

static void make_socket(struct part *p)
{
        struct timeval t = { LONG_S, 0 };

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, p->fd) ||
            setsockopt(p->fd[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t))
                truth_die("no socket\n");
}

static int wait_recv(struct part *p)
{
        char c;

        return recv(p->fd[0], &c, 1, 0) != 1;
}

/* ---- locks ---- */

static void make_lock(struct part *p)
{
        sem_init(&p->semaphore, 0, 0);
        pthread_mutex_init(&p->mutex, NULL);
        pthread_cond_init(&p->condition, NULL);
}

static int wait_condition(struct part *p)
{
        pthread_mutex_lock(&p->mutex);
        while (!p->flag)
                pthread_cond_wait(&p->condition, &p->mutex);
        p->flag = 0;
        pthread_mutex_unlock(&p->mutex);
        return 0;
}

static void kick_condition(struct part *p)
{
        pthread_mutex_lock(&p->mutex);
        p->flag = 1;
        pthread_cond_signal(&p->condition);
        pthread_mutex_unlock(&p->mutex);
}

static int wait_semaphore(struct part *p)
{
        return sem_wait(&p->semaphore);
}

static int wait_semaphore_timed(struct part *p)
{
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += LONG_S;
        return sem_timedwait(&p->semaphore, &t);
}

static void kick_semaphore(struct part *p)
{
        sem_post(&p->semaphore);
}

/* ---- System V ---- */

struct message {
        long type;
        char text[8];
};

static void make_queue(struct part *p)
{
        p->other = msgget(IPC_PRIVATE, 0600);
}

static int wait_message(struct part *p)
{
        struct message m;

        return msgrcv(p->other, &m, sizeof m.text, 0, 0) != (ssize_t)sizeof m.text;
}

static void kick_message(struct part *p)
{
        if (msgsnd(p->other, &(struct message){ 1, "hello" }, sizeof((struct message *)0)->text, 0))
                fault(p->name, "msgsnd", 0);
}

static void make_semop(struct part *p)
{
        p->other = semget(IPC_PRIVATE, 1, 0600);
}

static int wait_semop(struct part *p)
{
        return semop(p->other, &(struct sembuf){ 0, -1, 0 }, 1);
}

static void kick_semop(struct part *p)
{
        if (semop(p->other, &(struct sembuf){ 0, 1, 0 }, 1))
                fault(p->name, "semop", 0);
}

/* ---- time ---- */

static int wait_nanosleep(struct part *p)
{
        struct timespec begin, end;
        int bad;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        bad = nanosleep(&(struct timespec){ 0, 4000000 }, NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        if ((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec < 4000000)
                fault(p->name, "too early", 0);
        return bad;
}

static int wait_clock(struct part *p)
{
        struct timespec t;

        (void)p;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += 3000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* ---- files that tell of events ---- */

static void make_aio(struct part *p)
{
        p->fd[0] = eventfd(0, EFD_NONBLOCK);
        p->aio = 0;
        if (syscall(SYS_io_setup, 8, &p->aio))
                truth_die("no aio\n");
}

static int wait_aio(struct part *p)
{
        struct iocb poll_it = { .aio_lio_opcode = IOCB_CMD_POLL,
                                .aio_fildes = (unsigned)p->fd[0],
                                .aio_buf = POLLIN },
                    *list = &poll_it;
        struct io_event event;
        uint64_t count;

        if (syscall(SYS_io_submit, p->aio, 1, &list) != 1)
                return 1;
        if (syscall(SYS_io_getevents, p->aio, 1, 1, &event, NULL) != 1)
                return 2;
        return read(p->fd[0], &count, sizeof count) != sizeof count;
}

static void kick_event(struct part *p)
{
        if (write(p->fd[0], &(uint64_t){ 1 }, 8) != 8)
                fault(p->name, "eventfd", 0);
}

static void make_inotify(struct part *p)
{
        char path[] = "/tmp/freeze_torture.XXXXXX";

        p->fd[0] = inotify_init1(0);
        p->fd[1] = mkstemp(path);
        if (inotify_add_watch(p->fd[0], path, IN_MODIFY) < 0)
                truth_die("no inotify\n");
        unlink(path);
}

static int wait_inotify(struct part *p)
{
        char bytes[4096];

        return read(p->fd[0], bytes, sizeof bytes) < (ssize_t)sizeof(struct inotify_event);
}

/* ---- signals ---- */

static void on_signal(int number)
{
        (void)number;
        if (own) /* not yet in a thread that has just begun */
                own->handled++;
}

/* A call may end with EINTR only when a handler of this thread has run. */
static int interrupted(struct part *p, long before, long result)
{
        if (result != -1 || errno != EINTR || p->handled == before)
                return 1;
        errno = STRANGE_ERRNO;
        return 0;
}

static int wait_pause(struct part *p)
{
        sigset_t mask, all;
        long before;
        int result;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &mask);
        before = p->handled;
        result = sigsuspend(&mask);
        result = interrupted(p, before, result);
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
        return result;
}

static int wait_epoll_interrupted(struct part *p)
{
        struct epoll_event e;
        long before = p->handled;
        int got = epoll_wait(p->other, &e, 1, -1);

        return got == 1 ? take(p) : interrupted(p, before, got);
}

static void kick_interrupt(struct part *p)
{
        pthread_kill(p->thread, SIGUSR2);
}

static void kick_both(struct part *p)
{
        kick_interrupt(p);
        kick_pipe(p);
}

/* The read goes on after any number of these. */
static void kick_storm(struct part *p)
{
        for (int i = 0; i < 5; i++)
                pthread_kill(p->thread, SIGUSR1);
        kick_pipe(p);
}

static int wait_signal(struct part *p)
{
        struct timespec t = { LONG_S, 0 };
        sigset_t set;

        (void)p;
        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN);
        return sigtimedwait(&set, NULL, &t) != SIGRTMIN;
}

static int wait_signal_forever(struct part *p)
{
        siginfo_t info;
        sigset_t set;

        (void)p;
        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN);
        return sigwaitinfo(&set, &info) != SIGRTMIN || info.si_pid != getpid();
}

static void kick_signal(struct part *p)
{
        pthread_kill(p->thread, SIGRTMIN);
}

/* ---- children ---- */

static int reap(pid_t child)
{
        int status = 0;

        return waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
               WEXITSTATUS(status) != CHILD_STATUS;
}

static int wait_fork(struct part *p)
{
        pid_t child = fork();

        if (child == 0) {
                char c;

                while (read(p->fd[0], &c, 1) < 0)
                        ;
                _exit(CHILD_STATUS);
        }
        return child < 0 || reap(child);
}

static int wait_vfork(struct part *p)
{
        pid_t child = vfork();

        (void)p;
        if (child == 0) {
                execl("/proc/self/exe", "freeze_torture", "0", (char *)NULL);
                _exit(1);
        }
        nap(2000000);
        return child < 0 || reap(child);
}

/* SIGCHLD is blocked everywhere; one of another cause than our own children is a stranger's. */
static int wait_sigchld(struct part *p)
{
        siginfo_t info;
        sigset_t set;

        (void)p;
        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        if (sigwaitinfo(&set, &info) != SIGCHLD)
                return 1;
        return info.si_code != CLD_EXITED || info.si_status != CHILD_STATUS;
}

/* ---- work ---- */

static int work_compute(struct part *p)
{
        static unsigned long expected;
        unsigned long x = 1;
        double y = 1;

        (void)p;
        for (int i = 0; i < 20000; i++) {
                x = x * 6364136223846793005ul + 1442695040888963407ul;
                y = y * 0.5 + 0.5;
        }
        nap(200000);
        expected = expected ? expected : x;
        return x != expected || y != 1;
}

static int work_malloc(struct part *p)
{
        void *block[64];

        (void)p;
        for (int i = 0; i < 64; i++)
                block[i] = memset(malloc((size_t)i * 97 + 1), i, (size_t)i * 97 + 1);
        for (int i = 0; i < 64; i++) {
                if (((char *)block[i])[i * 97] != i)
                        return 1;
                free(block[i]);
        }
        nap(100000);
        return 0;
}

static void *short_life(void *unused)
{
        return unused;
}

static int work_threads(struct part *p)
{
        pthread_t t[4];
        void *result = NULL;

        for (int i = 0; i < 4; i++)
                if (pthread_create(&t[i], NULL, short_life, p))
                        return 1;
        for (int i = 0; i < 4; i++)
                if (pthread_join(t[i], &result) || result != p)
                        return 2;
        nap(500000);
        return 0;
}

/* ---- all together ---- */

static struct part parts[] = {
        { .name = "read", take, kick_pipe, make_pipe },
        { .name = "poll", wait_poll, kick_pipe, make_pipe },
        { .name = "ppoll", wait_ppoll, kick_pipe, make_pipe },
        { .name = "select", wait_select, kick_pipe, make_pipe },
        { .name = "epoll_wait", wait_epoll, kick_pipe, make_epoll },
        { .name = "epoll_pwait", wait_epoll_pwait, kick_pipe, make_epoll },
        { .name = "accept", wait_accept, kick_connect, make_listener },
        { .name = "recv", wait_recv, kick_pipe, make_socket },
        { .name = "cond_wait", wait_condition, kick_condition, make_lock },
        { .name = "sem_wait", wait_semaphore, kick_semaphore, make_lock },
        { .name = "sem_timedwait", wait_semaphore_timed, kick_semaphore, make_lock },
        { .name = "msgrcv", wait_message, kick_message, make_queue },
        { .name = "semop", wait_semop, kick_semop, make_semop },
        { .name = "nanosleep", wait_nanosleep },
        { .name = "clock_nanosleep", wait_clock },
        { .name = "io_getevents", wait_aio, kick_event, make_aio },
        { .name = "inotify", wait_inotify, kick_pipe, make_inotify },
        { .name = "sigsuspend", wait_pause, kick_interrupt },
        { .name = "interrupted", wait_epoll_interrupted, kick_both, make_epoll },
        { .name = "storm", take, kick_storm, make_pipe },
        { .name = "sigtimedwait", wait_signal, kick_signal },
        { .name = "sigwaitinfo", wait_signal_forever, kick_signal },
        { .name = "sigchld", wait_sigchld },
        { .name = "fork", wait_fork, kick_pipe, make_pipe },
        { .name = "vfork", wait_vfork },
        { .name = "compute", work_compute },
        { .name = "malloc", work_malloc },
        { .name = "threads", work_threads },
};
#define PARTS (sizeof parts / sizeof *parts)

static void *part_main(void *part)
{
        struct part *p = own = part;

        errno = STRANGE_ERRNO;
        while (!is_over) {
                int bad = p->wait(p);

                if (bad)
                        fault(p->name, "result", bad);
                else if (errno != STRANGE_ERRNO)
                        fault(p->name, "changed errno", errno);
                errno = STRANGE_ERRNO;
                p->waits++;
        }
        p->done = 1;
        return NULL;
}

static void *waker_main(void *unused)
{
        for (size_t left = 1; left;) {
                left = 0;
                for (struct part *p = parts; p < parts + PARTS; p++)
                        if (!p->done) {
                                left += p->wait != wait_sigchld;
                                if (p->kick)
                                        p->kick(p);
                        }
                nap(3000000);
        }
        return unused;
}

static void block_signals(void)
{
        struct sigaction restart = { .sa_handler = on_signal, .sa_flags = SA_RESTART },
                         interrupt = { .sa_handler = on_signal };
        sigset_t set;

        sigaction(SIGUSR1, &restart, NULL);
        sigaction(SIGUSR2, &interrupt, NULL);
        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigaddset(&set, SIGRTMIN);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void clean_up(void)
{
        for (struct part *p = parts; p < parts + PARTS; p++) {
                if (p->make == make_queue)
                        msgctl(p->other, IPC_RMID, NULL);
                if (p->make == make_semop)
                        semctl(p->other, 0, IPC_RMID);
        }
}

static void report(void)
{
        if (waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD)
                fault("main", "a child that is not ours", 0);
        for (struct part *p = parts; p < parts + PARTS; p++)
                truth_say("waits %s %ld\n", p->name, p->waits);
        if (!fault_count)
                truth_say("well\n");
}

static void *sleep_forever(void *unused)
{
        for (;;)
                nap(100000);
        return unused;
}

static void *exec_again(void *arguments)
{
        char **argv = arguments, left[16];

        nap(1000000 + atoi(argv[1]) % 7 * 300000);
        snprintf(left, sizeof left, "%d", atoi(argv[1]) - 1);
        execl(argv[0], argv[0], left, (char *)NULL);
        return NULL;
}

/* `freeze_torture N`: N times the same program again, called by one of several threads, with and
 * without the first. */
static int exec_some_times(char **argv)
{
        pthread_t t;

        if (atoi(argv[1]) <= 0)
                return CHILD_STATUS;
        for (int i = 0; i < 3; i++)
                pthread_create(&t, NULL, sleep_forever, NULL);
        pthread_create(&t, NULL, exec_again, argv);
        if (atoi(argv[1]) % 2)
                pthread_exit(NULL);
        pthread_join(t, NULL);
        return 1;
}

int main(int argc, char **argv)
{
        pthread_t waker;
        char c;

        if (argc > 1)
                return exec_some_times(argv);
        block_signals();
        for (struct part *p = parts; p < parts + PARTS; p++)
                if (p->make)
                        p->make(p);
        for (struct part *p = parts; p < parts + PARTS; p++)
                pthread_create(&p->thread, NULL, part_main, p);
        pthread_create(&waker, NULL, waker_main, NULL);
        truth_say("ready\n");
        if (read(0, &c, 1) != 0)
                fault("main", "read", 0);
        is_over = 1;
        pthread_join(waker, NULL);
        for (struct part *p = parts; p < parts + PARTS; p++)
                if (p->wait != wait_sigchld)
                        pthread_join(p->thread, NULL);
        clean_up();
        report();
        return fault_count != 0;
}
