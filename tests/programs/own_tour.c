/* SPDX-License-Identifier: MIT */
/* own_tour.c -- calls most of what seep intercepts and tells what came of it; own_name.c beside it
 * defines one or all of these names itself, passes calls on and counts them.  Whoever calls the
 * program's function where libc would not is seen in the count.  Children do what ends or replaces
 * a process. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

extern char **environ;

void own_tell(void);

void *new_one(size_t) __asm__("_Znwm");
void *new_array(size_t) __asm__("_Znam");
void delete_one(void *) __asm__("_ZdlPv");
void delete_array(void *) __asm__("_ZdaPv");
int sigaction_inner(int, const struct sigaction *, struct sigaction *) __asm__("__sigaction");

/* Not by stdio: its buffer would come from the malloc that is looked at. */
static void say(const char *what, long result)
{
        char line[200];
        int length = snprintf(line, sizeof line, "%s %ld\n", what, result);

        syscall(SYS_write, 1, line, length);
}

#define SAY(call) say(#call, (long)(call))
#define DID(call) say(#call, (call) != NULL)

static void memory(void)
{
        void *p = NULL, *m;

        DID(p = malloc(100));
        DID(p = realloc(p, 5000));
        DID(p = reallocarray(p, 10, 20));
        free(p);
        DID(p = calloc(3, 30));
        free(p);
        SAY(posix_memalign(&p, 64, 200));
        free(p);
        DID(p = aligned_alloc(64, 128));
        free(p);
        DID(p = memalign(32, 128));
        free(p);
        DID(p = valloc(10));
        free(p);
        DID(p = new_one(10));
        delete_one(p);
        DID(p = new_array(10));
        delete_array(p);
        DID(m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        SAY(madvise(m, 4096, MADV_DONTNEED));
        DID(m = mremap(m, 8192, 16384, MREMAP_MAYMOVE));
        SAY(munmap(m, 16384));
        DID(m = dlopen("libm.so.6", RTLD_NOW));
        SAY(dlclose(m));
}

static int handled;

static void on_signal(int number)
{
        handled += number;
}

static void signals(void)
{
        struct sigaction action = { .sa_handler = on_signal }, old;
        stack_t none;

        SAY(sigaction(SIGUSR2, &action, &old));
        SAY(sigaction_inner(SIGUSR2, NULL, &old));
        SAY(sigaction(SIGUSR1, &action, NULL));
        SAY(sigaction(SIGUSR1, NULL, &old));
        SAY(old.sa_handler == on_signal);
        DID(signal(SIGALRM, on_signal) == SIG_DFL ? "default" : NULL);
        DID(sysv_signal(SIGHUP, on_signal) == SIG_DFL ? "default" : NULL);
        raise(SIGUSR2);
        raise(SIGALRM);
        SAY(handled);
        SAY(sigaltstack(NULL, &none));
}

static void limits(void)
{
        struct rlimit limit;

        SAY(getrlimit(RLIMIT_CORE, &limit));
        limit.rlim_cur = 0; /* no core of the child that aborts */
        SAY(setrlimit(RLIMIT_CORE, &limit));
        SAY(getrlimit64(RLIMIT_CORE, (struct rlimit64 *)&limit));
        SAY(setrlimit64(RLIMIT_CORE, (struct rlimit64 *)&limit));
        SAY(prlimit(0, RLIMIT_CORE, NULL, &limit));
        SAY(prlimit64(0, RLIMIT_CORE, NULL, (struct rlimit64 *)&limit));
        SAY(prctl(PR_SET_NAME, "tour", 0, 0, 0));
        SAY(pthread_setname_np(pthread_self(), "tour2"));
}

static void waits(void)
{
        struct timespec little = { 0, 1000 };
        struct timeval short_ = { 0, 1 };
        sigset_t set;

        sigemptyset(&set);
        SAY(nanosleep(&little, NULL));
        SAY(clock_nanosleep(CLOCK_MONOTONIC, 0, &little, NULL));
        SAY(usleep(1));
        SAY(sleep(0));
        SAY(thrd_sleep(&little, NULL));
        SAY(poll(NULL, 0, 1));
        SAY(ppoll(NULL, 0, &little, NULL));
        SAY(select(0, NULL, NULL, NULL, &short_));
        SAY(pselect(0, NULL, NULL, NULL, &little, NULL));
        SAY(sigtimedwait(&set, NULL, &little));
        SAY(semop(-1, NULL, 0));
        SAY(semtimedop(-1, NULL, 0, &little));
        SAY(msgrcv(-1, NULL, 0, 0, 0));
        SAY(msgsnd(-1, NULL, 0, 0));
}

static void sockets(void)
{
        char byte = 'x';
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        struct mmsghdr messages = { .msg_hdr = message };
        int s[2];

        SAY(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
        SAY(send(s[0], &byte, 1, 0));
        SAY(recv(s[1], &byte, 1, 0));
        SAY(sendto(s[0], &byte, 1, 0, NULL, 0));
        SAY(recvfrom(s[1], &byte, 1, 0, NULL, NULL));
        SAY(sendmsg(s[0], &message, 0));
        SAY(recvmsg(s[1], &message, 0));
        SAY(sendmmsg(s[0], &messages, 1, 0));
        SAY(recvmmsg(s[1], &messages, 1, 0, NULL));
        SAY(write(s[0], &byte, 1));
        SAY(read(s[1], &byte, 1));
        SAY(writev(s[0], &part, 1));
        SAY(readv(s[1], &part, 1));
        SAY(close(s[0]));
        SAY(close(s[1]));
        SAY(s[0] = socket(AF_UNIX, SOCK_STREAM, 0));
        SAY(accept(s[0], NULL, NULL));
        SAY(accept4(s[0], NULL, NULL, 0));
        SAY(close(s[0]));
}

static void descriptors(void)
{
        char name[] = "/tmp/own_tour_XXXXXX";
        struct epoll_event event;
        int fd, pair[2];
        sigset_t set;

        sigemptyset(&set);
        SAY(fd = open("/dev/null", O_RDWR));
        SAY(close(fd));
        SAY(fd = openat(AT_FDCWD, "/dev/null", O_RDWR));
        SAY(dup(fd));
        SAY(dup2(fd, 40));
        SAY(dup3(fd, 41, O_CLOEXEC));
        SAY(fcntl(fd, F_DUPFD, 42));
        SAY(close_range(40, 60, 0));
        SAY(creat("/dev/null", 0600));
        SAY(mkstemp(name));
        unlink(name);
        SAY(pipe(pair));
        SAY(pipe2(pair, O_CLOEXEC));
        SAY(fd = epoll_create1(0));
        SAY(epoll_wait(fd, &event, 1, 0));
        SAY(epoll_pwait(fd, &event, 1, 0, NULL));
        SAY(eventfd(0, 0));
        SAY(timerfd_create(CLOCK_MONOTONIC, 0));
        SAY(signalfd(-1, &set, 0));
        SAY(inotify_init());
        SAY(inotify_init1(0));
        SAY(memfd_create("tour", 0));
        SAY(shm_open("", O_RDONLY, 0));
}

static void streams(void)
{
        FILE *f;
        DIR *d;

        DID(f = fopen("/dev/null", "w"));
        DID(f = freopen("/dev/null", "r", f));
        SAY(fclose(f));
        DID(f = tmpfile());
        SAY(fclose(f));
        DID(f = popen("exit 3", "r"));
        SAY(pclose(f));
        DID(d = opendir("/"));
        SAY(closedir(d));
}

/* ---- children ---- */

static int ended(pid_t pid)
{
        int status = -1;

        waitpid(pid, &status, 0);
        return status;
}

#define CHILD(...)                                                             \
        do {                                                                   \
                pid_t child_ = fork();                                         \
                                                                               \
                if (child_ == 0) {                                             \
                        __VA_ARGS__;                                           \
                        syscall(SYS_exit_group, 99);                           \
                }                                                              \
                say(#__VA_ARGS__, ended(child_));                              \
        } while (0)

static void programs(void)
{
        char *argv[] = { "sh", "-c", "exit 7", NULL };
        wordexp_t words;
        pid_t pid;
        int fd;

        CHILD(execl("/bin/sh", "sh", "-c", "exit 7", NULL));
        CHILD(execle("/bin/sh", "sh", "-c", "exit 7", NULL, environ));
        CHILD(execlp("sh", "sh", "-c", "exit 7", NULL));
        CHILD(execv("/bin/sh", argv));
        CHILD(execve("/bin/sh", argv, environ));
        CHILD(execvp("sh", argv));
        CHILD(execvpe("sh", argv, environ));
        CHILD(fd = open("/bin/sh", O_RDONLY), fexecve(fd, argv, environ));
        CHILD(execl("/no/such", "sh", NULL));
        CHILD(_exit(5));
        CHILD(_Exit(6));
        CHILD(exit(8));
        CHILD(abort());
        SAY(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ));
        SAY(ended(pid));
        SAY(posix_spawnp(&pid, "sh", NULL, NULL, argv, environ));
        SAY(ended(pid));
        SAY(system("exit 4"));
        SAY(wordexp("a b", &words, 0));
        SAY(words.we_wordc);
}

int main(void)
{
        memory();
        signals();
        limits();
        waits();
        sockets();
        descriptors();
        streams();
        programs();
        own_tell();
        return 12;
}
