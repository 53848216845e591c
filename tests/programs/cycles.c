/* SPDX-License-Identifier: MIT */
/*
 * cycles.c -- a process that is attached to and left again and again: cycles FILE MODE...
 *
 * Room:   tests/stress only.  FILE has what each worker has done so far (struct account), and in
 *         its last entry what must not happen: calls that failed with EINTR or were wrong
 *         otherwise. "batch N" on the input: N rounds of each worker, answered when all are done.
 *         MODE: what happens besides, all the time: threads, forks, signals, loads (what comes and
 *         goes), vfork, sleeps (uninterruptible), waits (calls that a stop may end early), headless
 *         (the first thread ends), walled (a filter of system calls).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<linux/filter.h>) /* not with musl's compiler, nor the modes that need them */
#define KERNEL 1
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#endif

#define WORKERS 4
#define SLOTS 32

struct account {
        uint64_t allocs, bytes, frees, errors;
};

static struct account *accounts; /* WORKERS, and one for what goes wrong besides */
static volatile uint64_t rounds[WORKERS];
static volatile int quit;

static void wrong(const char *what)
{
        char line[128];
        int length = snprintf(line, sizeof line, "%s: %s\n", what, strerror(errno));

        __atomic_add_fetch(&accounts[WORKERS].errors, 1, __ATOMIC_RELAXED);
        if (write(2, line, (size_t)length) < 0)
                _exit(9);
}

/* ---- workers, whose account is exact ---- */

static void one_round(struct account *a, void **slots, unsigned *seed)
{
        void **s;
        size_t size;

        *seed = *seed * 1103515245u + 12345u;
        s = &slots[*seed >> 16 & (SLOTS - 1)];
        size = 16 + (*seed >> 8) % 3000;
        if (*s) {
                free(*s);
                a->frees++;
        }
        *s = *seed & 0x1000 ? calloc(1, size) : malloc(size);
        memset(*s, 7, size);
        a->allocs++;
        a->bytes += size;
}

static void *work(void *argument)
{
        unsigned me = (unsigned)(uintptr_t)argument, seed = me + 1;
        void *slots[SLOTS] = { 0 };

        while (!quit) {
                while (rounds[me]) {
                        one_round(&accounts[me], slots, &seed);
                        __atomic_sub_fetch(&rounds[me], 1, __ATOMIC_SEQ_CST);
                }
                usleep(200);
        }
        for (int i = 0; i < SLOTS; i++)
                free(slots[i]);
        return NULL;
}

/* ---- what comes and goes ---- */

static void *short_life(void *argument)
{
        free(malloc((size_t)(uintptr_t)argument));
        return NULL;
}

static void *make_threads(void *argument)
{
        pthread_t t;

        (void)argument;
        while (!quit) {
                if (pthread_create(&t, NULL, short_life, (void *)(uintptr_t)100))
                        wrong("pthread_create");
                else
                        pthread_join(t, NULL);
                usleep(500);
        }
        return NULL;
}

static void *make_forks(void *argument)
{
        int status;

        (void)argument;
        while (!quit) {
                pid_t pid = fork();

                if (pid == 0) {
                        for (int i = 0; i < 20; i++)
                                free(malloc(100));
                        _exit(3);
                }
                if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 3 << 8)
                        wrong("fork");
                usleep(2000);
        }
        return NULL;
}

static void *make_vforks(void *argument)
{
        int status;

        (void)argument;
        while (!quit) {
                pid_t pid = vfork();

                if (pid == 0) {
                        struct timespec nap = { .tv_nsec = 3000000 };

                        syscall(SYS_nanosleep, &nap, NULL);
                        _exit(3);
                }
                if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 3 << 8)
                        wrong("vfork");
                usleep(2000);
        }
        return NULL;
}

static volatile uint64_t handled;

static void handle(int number)
{
        (void)number;
        handled++;
}

static void *make_signals(void *argument)
{
        (void)argument;
        while (!quit) {
                kill(getpid(), SIGUSR1);
                usleep(1000);
        }
        return NULL;
}

static void *make_loads(void *argument)
{
        (void)argument;
        while (!quit) {
                void *h = dlopen("libz.so.1", RTLD_NOW);

                if (!h)
                        wrong("dlopen");
                else
                        dlclose(h);
                usleep(1000);
        }
        return NULL;
}

#ifdef KERNEL

/* ---- a thread that the kernel does not let go: it reads into a page that is not there yet ---- */

static int faults, pipes[2];
static char *page;

static void *serve_faults(void *argument)
{
        struct uffd_msg message;
        static char content[4096];

        (void)argument;
        while (read(faults, &message, sizeof message) == (ssize_t)sizeof message) {
                struct uffdio_copy copy = { .dst = (uintptr_t)page, .src = (uintptr_t)content,
                                            .len = 4096 };

                usleep(3000);
                if (ioctl(faults, UFFDIO_COPY, &copy) && errno != EEXIST)
                        wrong("UFFDIO_COPY");
        }
        return NULL;
}

static void *sleep_deeply(void *argument)
{
        (void)argument;
        while (!quit) {
                madvise(page, 4096, MADV_DONTNEED);
                if (write(pipes[1], "12345678", 8) != 8 || read(pipes[0], page, 8) != 8 ||
                    memcmp(page, "12345678", 8) != 0)
                        wrong("read into a page that is missing");
                usleep(1000);
        }
        return NULL;
}

static int start_faults(void)
{
        struct uffdio_api api = { .api = UFFD_API };
        struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        range.range.start = (uintptr_t)page;
        range.range.len = 4096;
        faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
        return faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 &&
               ioctl(faults, UFFDIO_REGISTER, &range) == 0 && pipe(pipes) == 0;
}

/* ---- a filter of system calls ---- */

static void wall(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 3, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 2, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        struct sock_fprog program = { sizeof code / sizeof *code, code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
                wrong("seccomp");
}

#endif

/* From here on there is nothing new in the process. */
static void ready(void)
{
        __atomic_add_fetch(&accounts[WORKERS].allocs, 1, __ATOMIC_RELAXED);
}

/* ---- calls that end early when their thread is stopped ---- */

static void *wait_epoll(void *argument)
{
        int fd = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event;

        (void)argument;
        ready();
        while (!quit)
                if (epoll_wait(fd, &event, 1, -1) < 0)
                        wrong("epoll_wait");
        return NULL;
}

static void *wait_semaphore(void *argument)
{
        int id = semget(IPC_PRIVATE, 1, 0600);
        struct sembuf take = { .sem_op = -1 };

        (void)argument;
        *(volatile int *)&accounts[WORKERS].bytes = id; /* for whoever removes it */
        ready();
        while (!quit)
                if (semop(id, &take, 1) < 0 && errno != EIDRM && errno != EINVAL)
                        wrong("semop");
        return NULL;
}

static void *wait_signal(void *argument)
{
        sigset_t set;

        (void)argument;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        ready();
        while (!quit)
                if (sigwaitinfo(&set, NULL) < 0)
                        wrong("sigwaitinfo");
        return NULL;
}

static void *wait_socket(void *argument)
{
        struct timeval long_time = { .tv_sec = 100000 };
        int pair[2];
        char byte;

        (void)argument;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
            setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof long_time))
                wrong("socketpair");
        ready();
        while (!quit)
                if (recv(pair[0], &byte, 1, 0) < 0)
                        wrong("recv");
        return NULL;
}

/* ---- the start ---- */

static void start(void *(*what)(void *), uintptr_t argument)
{
        pthread_t t;

        if (pthread_create(&t, NULL, what, (void *)argument))
                wrong("pthread_create");
}

static int has_mode(char **modes, const char *name)
{
        for (; *modes; modes++)
                if (strcmp(*modes, name) == 0)
                        return 1;
        return 0;
}

static void start_all(char **modes)
{
        static const struct {
                const char *name;
                void *(*what)(void *);
        } all[] = { { "threads", make_threads }, { "forks", make_forks }, { "vfork", make_vforks },
                    { "signals", make_signals }, { "loads", make_loads },
                    { "waits", wait_epoll },     { "waits", wait_semaphore },
                    { "waits", wait_signal },    { "waits", wait_socket } };

        for (uintptr_t i = 0; i < WORKERS; i++)
                start(work, i);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                if (has_mode(modes, all[i].name))
                        start(all[i].what, 0);
#ifdef KERNEL
        if (has_mode(modes, "sleeps")) {
                if (!start_faults())
                        wrong("userfaultfd");
                start(serve_faults, 0);
                start(sleep_deeply, 0);
        }
        if (has_mode(modes, "walled"))
                wall();
#endif
}

static void answer(void)
{
        if (write(1, "done\n", 5) != 5)
                _exit(9);
}

/* No stream: it would allocate. */
static void *obey(void *argument)
{
        char line[64];
        size_t used = 0;

        (void)argument;
        answer();
        while (read(0, line + used, 1) == 1) {
                if (line[used] != '\n' && ++used < sizeof line - 1)
                        continue;
                line[used] = 0;
                used = 0;
                for (int i = 0; line[0] == 'b' && i < WORKERS; i++)
                        rounds[i] = strtoul(line + 6, NULL, 10);
                for (int i = 0; i < WORKERS; i++)
                        while (rounds[i])
                                usleep(200);
                answer();
        }
        quit = 1;
        semctl(*(volatile int *)&accounts[WORKERS].bytes, 0, IPC_RMID);
        usleep(100000);
        _exit(accounts[WORKERS].errors ? 4 : 0);
}

int main(int argc, char **argv)
{
        struct sigaction handler = { .sa_handler = handle, .sa_flags = SA_RESTART };
        int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
        sigset_t set;

        if (fd < 0 || ftruncate(fd, (WORKERS + 1) * sizeof *accounts))
                return 2;
        accounts = mmap(NULL, (WORKERS + 1) * sizeof *accounts, PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd, 0);
        signal(SIGTRAP, SIG_IGN);
        sigaction(SIGUSR1, &handler, NULL);
        /* the waiting threads get none of the signals that are meant for others */
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigaddset(&set, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        start_all(argv + 2);
        sigdelset(&set, SIGUSR2);
        if (has_mode(argv + 2, "signals"))
                pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        if (!has_mode(argv + 2, "headless"))
                obey(NULL);
        start(obey, 0);
        pthread_exit(NULL);
}
