/* SPDX-License-Identifier: MIT */
/*
 * idle.c -- waits in a system call of choice, and tells what the call gave: idle CALL [THREADS].
 *
 * Room:   tests only.  Says "ready" before the call.  A call without a time limit is ended by a
 *         forked child once it reads a line of input; the others end by themselves after WAIT_MS;
 *         those with an alarm by that, long before.  Says "CALL: result errno", and on descriptor 3
 *         how long it took.
 */
#include "truth.h"

#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_MS 700
#define ALARM_MS 400
#define LONG_MS 60000
#define THREADS_MAX 4

static int pipes[THREADS_MAX][2], pairs[THREADS_MAX][2], listening, queue, semaphores, locked;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static pid_t child, parent;
static mqd_t posix_queue;

/* Shared with the child. */
static struct {
        sem_t semaphore[THREADS_MAX];
        pthread_mutex_t mutex;
        pthread_cond_t condition;
        int open;
} *shared;

/* The limit of the call, in the forms that calls take. */
static long wait_ms = WAIT_MS;
static struct timespec span = {.tv_nsec = WAIT_MS * 1000000l};
static struct timeval micro_span = {.tv_usec = WAIT_MS * 1000};

static struct timespec later(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        t.tv_sec += span.tv_sec;
        t.tv_nsec += span.tv_nsec;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        return t;
}

static void nothing(int sig) { (void)sig; }

static sigset_t only(int sig)
{
        sigset_t set;
        sigemptyset(&set);
        if (sig)
                sigaddset(&set, sig);
        return set;
}

static long wait_epoll(int i, int ms, const sigset_t *mask)
{
        struct epoll_event event = {.events = EPOLLIN};
        int fd = epoll_create1(0);
        long n;
        epoll_ctl(fd, EPOLL_CTL_ADD, pipes[i][0], &event);
        n = mask ? epoll_pwait(fd, &event, 1, ms, mask) : epoll_wait(fd, &event, 1, ms);
        close(fd);
        return n;
}

static long do_epoll_wait(int i) { return wait_epoll(i, (int)wait_ms, NULL); }
static long do_epoll_wait_for_ever(int i) { return wait_epoll(i, -1, NULL); }
static long do_epoll_pwait(int i)
{
        sigset_t none = only(0);
        return wait_epoll(i, (int)wait_ms, &none);
}

static long do_poll(int i)
{
        struct pollfd p = { pipes[i][0], POLLIN, 0 };
        return poll(&p, 1, (int)wait_ms);
}
static long do_poll_for_ever(int i)
{
        struct pollfd p = { pipes[i][0], POLLIN, 0 };
        return poll(&p, 1, -1);
}

static long do_ppoll(int i)
{
        struct pollfd p = {pipes[i][0], POLLIN, 0};
        sigset_t none = only(0);
        return ppoll(&p, 1, &span, &none);
}

static long do_ppoll_for_ever(int i)
{
        struct pollfd p = {pipes[i][0], POLLIN, 0};
        sigset_t none = only(0);
        return ppoll(&p, 1, NULL, &none);
}

/* Nobody lives to see that limit: it is as good as none. */
static long do_ppoll_far(int i)
{
        struct pollfd p = {pipes[i][0], POLLIN, 0};
        struct timespec far = {.tv_sec = LONG_MAX};
        return ppoll(&p, 1, &far, NULL);
}

static long wait_select(int i, int limited, const sigset_t *mask)
{
        struct timeval t = micro_span;
        fd_set set;
        FD_ZERO(&set);
        FD_SET(pipes[i][0], &set);
        if (mask)
                return pselect(pipes[i][0] + 1, &set, NULL, NULL, limited ? &span : NULL, mask);
        return select(pipes[i][0] + 1, &set, NULL, NULL, limited ? &t : NULL);
}

static long do_select(int i) { return wait_select(i, 1, NULL); }
static long do_select_for_ever(int i) { return wait_select(i, 0, NULL); }
static long do_pselect(int i) { sigset_t none = only(0); return wait_select(i, 1, &none); }

static long do_semop(int i)
{
        struct sembuf take = { (unsigned short)i, -1, 0 };
        return semop(semaphores, &take, 1);
}
static long do_semtimedop(int i)
{
        struct sembuf take = { (unsigned short)i, -1, 0 };
        return semtimedop(semaphores, &take, 1, &span);
}

static long do_sigwaitinfo(int i)
{
        sigset_t set = only(SIGUSR2);
        (void)i;
        return sigwaitinfo(&set, NULL);
}
static long do_sigtimedwait(int i)
{
        sigset_t set = only(SIGUSR2);
        (void)i;
        return sigtimedwait(&set, NULL, &span);
}

static long do_recv(int i) { char byte; return recv(pairs[i][0], &byte, 1, 0); }

static void limit_pair(int i)
{
        struct timeval t = micro_span;
        setsockopt(pairs[i][0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}

static long do_recv_timeout(int i) { limit_pair(i); return do_recv(i); }
static long do_read_timeout(int i) { char byte; limit_pair(i); return read(pairs[i][0], &byte, 1); }

static long do_recvmsg_timeout(int i)
{
        char byte;
        struct iovec part = {&byte, 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        limit_pair(i);
        return recvmsg(pairs[i][0], &message, 0);
}

static long do_accept(int i) { (void)i; return accept(listening, NULL, NULL) > 2; }

static long do_accept_timeout(int i)
{
        struct timeval t = micro_span;
        (void)i;
        setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
        return accept(listening, NULL, NULL);
}

static long do_read(int i) { char byte; return read(pipes[i][0], &byte, 1); }

/* The remainder must be untouched: the program was not interrupted. */
static long do_nanosleep(int i)
{
        struct timespec rest = {-7, -7};
        (void)i;
        return nanosleep(&span, &rest) * 100 - (rest.tv_sec != -7);
}

static long do_clock_nanosleep(int i)
{
        (void)i;
        return clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static long do_clock_nanosleep_until(int i)
{
        struct timespec end = later(CLOCK_MONOTONIC);
        (void)i;
        return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static long do_usleep(int i) { (void)i; return usleep((useconds_t)wait_ms * 1000); }
static long do_sleep(int i) { (void)i; return sleep(1); }
static long do_pause(int i) { (void)i; return pause(); }
static long do_sigsuspend(int i) { sigset_t none = only(0); (void)i; return sigsuspend(&none); }
static long do_msgrcv(int i)
{
        struct {
                long type;
                char text[8];
        } m;
        (void)i;
        return msgrcv(queue, &m, sizeof m.text, 0, 0);
}
static long do_sem_wait(int i) { return sem_wait(&shared->semaphore[i]); }

static long do_sem_timedwait(int i)
{
        struct timespec end = later(CLOCK_REALTIME);
        return sem_timedwait(&shared->semaphore[i], &end);
}

static long do_cond_timedwait(int i)
{
        struct timespec end = later(CLOCK_REALTIME);
        int n = 0;
        (void)i;
        pthread_mutex_lock(&shared->mutex);
        while (!n && !shared->open)
                n = pthread_cond_timedwait(&shared->condition, &shared->mutex, &end);
        pthread_mutex_unlock(&shared->mutex);
        return n;
}

static long do_cond_wait(int i)
{
        int n = 0;
        (void)i;
        pthread_mutex_lock(&shared->mutex);
        while (!n && !shared->open)
                n = pthread_cond_wait(&shared->condition, &shared->mutex);
        pthread_mutex_unlock(&shared->mutex);
        return n;
}

static long do_mq_timedreceive(int i)
{
        struct timespec end = later(CLOCK_REALTIME);
        char text[64];
        (void)i;
        return mq_timedreceive(posix_queue, text, sizeof text, NULL, &end);
}

static long do_waitpid(int i) { (void)i; return waitpid(child, NULL, 0) == child; }
static long do_flock(int i) { (void)i; return flock(open("lock", O_RDWR), LOCK_EX); }

/* A signal of the program's own ends the call, as ever: its handler is not one that lets calls go
 * on.  It comes again until it has: one that arrives in the very moment in which a call begins, or
 * begins anew, ends nothing, with or without a tool. */
static void alarm_soon(void)
{
        struct sigaction act = {.sa_handler = nothing};
        struct itimerval soon = {{0, ALARM_MS * 1000}, {0, ALARM_MS * 1000}};
        wait_ms = LONG_MS; /* a limit that is near could be first on a busy machine */
        span = (struct timespec){.tv_sec = LONG_MS / 1000};
        micro_span = (struct timeval){.tv_sec = LONG_MS / 1000};
        sigaction(SIGALRM, &act, NULL);
        setitimer(ITIMER_REAL, &soon, NULL);
}

#define WITH_ALARM(name) static long do_##name##_alarm(int i) { alarm_soon(); return do_##name(i); }
WITH_ALARM(poll)
WITH_ALARM(poll_for_ever)
WITH_ALARM(epoll_wait)
WITH_ALARM(select)
WITH_ALARM(semop)
WITH_ALARM(semtimedop)
WITH_ALARM(recv)
WITH_ALARM(recv_timeout)
WITH_ALARM(read)
WITH_ALARM(usleep)
WITH_ALARM(clock_nanosleep)
WITH_ALARM(msgrcv)
WITH_ALARM(pause)
WITH_ALARM(sigtimedwait)
WITH_ALARM(accept)
WITH_ALARM(sem_wait)

static void wake_pipe(int i) { if (write(pipes[i][1], "x", 1) != 1) _exit(1); }
static void wake_pair(int i) { if (write(pairs[i][1], "x", 1) != 1) _exit(1); }
static void wake_semop(int i)
{
        struct sembuf give = { (unsigned short)i, 1, 0 };
        semop(semaphores, &give, 1);
}
static void wake_signal(int i) { (void)i; kill(parent, SIGUSR2); }
static void wake_semaphore(int i) { sem_post(&shared->semaphore[i]); }
static void wake_nothing(int i) { (void)i; }
static void wake_lock(int i) { (void)i; flock(locked, LOCK_UN); }

static void wake_accept(int i)
{
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        (void)i;
        if (connect(fd, (struct sockaddr *)&address, sizeof address))
                _exit(1);
}

static void wake_message(int i)
{
        struct { long type; char text[8]; } m = {1, "hello"};
        (void)i;
        msgsnd(queue, &m, 5, 0);
}

static void wake_condition(int i)
{
        (void)i;
        pthread_mutex_lock(&shared->mutex);
        shared->open = 1;
        pthread_cond_broadcast(&shared->condition);
        pthread_mutex_unlock(&shared->mutex);
}

static const struct call {
        const char *name;
        long (*wait)(int thread);
        void (*wake)(int thread); /* NULL: ends by itself */
} calls[] = {
        {"epoll_wait", do_epoll_wait, NULL},
        {"epoll_pwait", do_epoll_pwait, NULL},
        {"poll", do_poll, NULL},
        {"ppoll", do_ppoll, NULL},
        {"select", do_select, NULL},
        {"pselect", do_pselect, NULL},
        {"semtimedop", do_semtimedop, NULL},
        {"sigtimedwait", do_sigtimedwait, NULL},
        {"recv_timeout", do_recv_timeout, NULL},
        {"read_timeout", do_read_timeout, NULL},
        {"recvmsg_timeout", do_recvmsg_timeout, NULL},
        {"accept_timeout", do_accept_timeout, NULL},
        {"nanosleep", do_nanosleep, NULL},
        {"clock_nanosleep", do_clock_nanosleep, NULL},
        {"clock_nanosleep_until", do_clock_nanosleep_until, NULL},
        {"usleep", do_usleep, NULL},
        {"sleep", do_sleep, NULL},
        {"sem_timedwait", do_sem_timedwait, NULL},
        {"cond_timedwait", do_cond_timedwait, NULL},
        {"mq_timedreceive", do_mq_timedreceive, NULL},
        {"poll_alarm", do_poll_alarm, NULL},
        {"poll_for_ever_alarm", do_poll_for_ever_alarm, NULL},
        {"epoll_wait_alarm", do_epoll_wait_alarm, NULL},
        {"select_alarm", do_select_alarm, NULL},
        {"semop_alarm", do_semop_alarm, NULL},
        {"semtimedop_alarm", do_semtimedop_alarm, NULL},
        {"recv_alarm", do_recv_alarm, NULL},
        {"recv_timeout_alarm", do_recv_timeout_alarm, NULL},
        {"read_alarm", do_read_alarm, NULL},
        {"usleep_alarm", do_usleep_alarm, NULL},
        {"clock_nanosleep_alarm", do_clock_nanosleep_alarm, NULL},
        {"msgrcv_alarm", do_msgrcv_alarm, NULL},
        {"pause_alarm", do_pause_alarm, NULL},
        {"sigtimedwait_alarm", do_sigtimedwait_alarm, NULL},
        {"accept_alarm", do_accept_alarm, NULL},
        {"sem_wait_alarm", do_sem_wait_alarm, NULL},
        {"epoll_wait_for_ever", do_epoll_wait_for_ever, wake_pipe},
        {"poll_for_ever", do_poll_for_ever, wake_pipe},
        {"ppoll_for_ever", do_ppoll_for_ever, wake_pipe},
        {"ppoll_far", do_ppoll_far, wake_pipe},
        {"select_for_ever", do_select_for_ever, wake_pipe},
        {"semop", do_semop, wake_semop},
        {"sigwaitinfo", do_sigwaitinfo, wake_signal},
        {"recv", do_recv, wake_pair},
        {"accept", do_accept, wake_accept},
        {"read", do_read, wake_pipe},
        {"pause", do_pause, wake_signal},
        {"sigsuspend", do_sigsuspend, wake_signal},
        {"msgrcv", do_msgrcv, wake_message},
        {"sem_wait", do_sem_wait, wake_semaphore},
        {"cond_wait", do_cond_wait, wake_condition},
        {"waitpid", do_waitpid, wake_nothing},
        {"flock", do_flock, wake_lock},
};

static const struct call *chosen;
static int threads;

static void prepare_shared(void)
{
        pthread_mutexattr_t mutex;
        pthread_condattr_t condition;
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        pthread_mutexattr_init(&mutex);
        pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&shared->mutex, &mutex);
        pthread_condattr_init(&condition);
        pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
        pthread_cond_init(&shared->condition, &condition);
        for (int i = 0; i < THREADS_MAX; i++)
                sem_init(&shared->semaphore[i], 1, 0);
}

static void prepare(void)
{
        sigset_t waited = only(SIGUSR2);
        prepare_shared();
        for (int i = 0; i < THREADS_MAX; i++)
                if (pipe(pipes[i]) || socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
                        truth_die("idle: no pipe\n");
        listening = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(address.sun_path, sizeof address.sun_path, "idle.socket");
        if (bind(listening, (struct sockaddr *)&address, sizeof address) || listen(listening, 4))
                truth_die("idle: cannot listen\n");
        queue = msgget(IPC_PRIVATE, 0600);
        semaphores = semget(IPC_PRIVATE, THREADS_MAX, 0600);
        if (strstr(chosen->name, "mq_")) {
                struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 64};
                char name[32];
                snprintf(name, sizeof name, "/seep-idle-%d", (int)getpid());
                posix_queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
                mq_unlink(name);
        }
        /* held together with the child, until it lets go */
        locked = open("lock", O_CREAT | O_RDWR, 0600);
        flock(locked, LOCK_EX);
        if (chosen->wake == wake_signal)
                signal(SIGUSR2, nothing);
        if (strstr(chosen->name, "sig"))
                sigprocmask(SIG_BLOCK, &waited, NULL);
}

static void clean(void)
{
        msgctl(queue, IPC_RMID, NULL);
        semctl(semaphores, 0, IPC_RMID);
        unlink(address.sun_path);
        unlink("lock");
}

/* The child: wakes the parent when told. */
static void waker(void)
{
        char byte;
        tell("ready\n");
        if (read(0, &byte, 1) != 1)
                _exit(1);
        for (int i = 0; i < threads; i++)
                chosen->wake(i);
        _exit(0);
}

static void *waits(void *arg)
{
        int i = (int)(intptr_t)arg;
        struct timespec before, after;
        long result;
        int error;
        clock_gettime(CLOCK_MONOTONIC, &before);
        errno = 0;
        result = chosen->wait(i);
        error = errno;
        clock_gettime(CLOCK_MONOTONIC, &after);
        tell("%s: %ld %s\n", chosen->name, result, error ? strerror(error) : "fine");
        truth_say("fact took_ms%d=%ld\n", i,
                  (after.tv_sec - before.tv_sec) * 1000 +
                          (after.tv_nsec - before.tv_nsec) / 1000000);
        return NULL;
}

static void keep(void)
{
        void *p = malloc(12345);
        TRUTH_GOT(p, 12345);
}

static void run(void)
{
        pthread_t t[THREADS_MAX];
        if (threads == 1) {
                waits(NULL);
                return;
        }
        for (int i = 0; i < threads; i++)
                pthread_create(&t[i], NULL, waits, (void *)(intptr_t)i);
        for (int i = 0; i < threads; i++)
                pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
        threads = argc > 2 ? atoi(argv[2]) : 1;
        for (size_t i = 0; argc > 1 && i < sizeof calls / sizeof calls[0]; i++)
                if (!strcmp(calls[i].name, argv[1]))
                        chosen = &calls[i];
        if (!chosen || threads > THREADS_MAX)
                return 2;
        prepare();
        keep();
        parent = getpid();
        if (chosen->wake && (child = fork()) == 0)
                waker();
        if (!chosen->wake)
                tell("ready\n");
        run();
        truth_print();
        clean();
        return 0;
}
