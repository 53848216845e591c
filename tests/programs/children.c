/* SPDX-License-Identifier: MIT */
/*
 * children.c -- processes that come from processes; argv[1] names the way.
 *
 * Room:   tests only.  No stdio before a fork.  "child N" makes this program the exec'ed child: it
 *         allocates N blocks of 11 bytes and tells its truth on descriptor 3 behind the word
 *         "child".
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static char *self;

static void *before_child(size_t n)
{
        void *p = malloc(n);
        TRUTH_GOT(p, n);
        return p;
}

static void *after_child(size_t n)
{
        void *p = malloc(n);
        TRUTH_GOT(p, n);
        return p;
}

static void *in_child(size_t n)
{
        void *p = malloc(n);
        TRUTH_GOT(p, n);
        return p;
}

static void drop(void *p)
{
        truth_gone(p);
        free(p);
}

static int wait_for(pid_t pid)
{
        int status = 0;
        if (pid < 0)
                truth_die("children: no child\n");
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        truth_die("children: wait failed\n");
        tell("child status %d\n", status);
        return status;
}

static int child_main(int blocks)
{
        for (int i = 0; i < blocks; i++)
                in_child(11);
        truth_say("child pid=%d blocks=%d\n", (int)getpid(), blocks);
        return 7;
}

static void by_vfork(void)
{
        for (int i = 0; i < 5; i++) {
                char *args[] = {self, "child", "5", NULL};
                pid_t pid = vfork();
                if (pid == 0) {
                        execv(self, args);
                        _exit(127);
                }
                wait_for(pid);
                after_child(100);
        }
}

static void by_posix_spawn(void)
{
        for (int i = 0; i < 5; i++) {
                char *args[] = {self, "child", "6", NULL};
                pid_t pid;
                if (posix_spawn(&pid, self, NULL, NULL, args, environ))
                        truth_die("children: posix_spawn\n");
                wait_for(pid);
                after_child(100);
        }
}

static void by_fork_exec(void)
{
        char *args[] = {self, "child", "8", NULL};
        pid_t pid = fork();
        if (pid == 0) {
                execv(self, args);
                _exit(127);
        }
        wait_for(pid);
        after_child(100);
}

static void by_system(void)
{
        for (int i = 0; i < 3; i++) {
                tell("system %d\n", system("exit 5"));
                after_child(100);
        }
}

static void by_popen(void)
{
        char line[64] = "";
        FILE *f = popen("echo through the pipe", "r");
        if (!f || !fgets(line, sizeof line, f))
                truth_die("children: popen\n");
        tell("%s%d\n", line, pclose(f));
        after_child(100);
}

/* The child frees what it inherited and allocates its own; its exit must not disturb the parent's
 * numbers. */
static void by_fork(void)
{
        void *inherited[10];
        pid_t pid;
        for (int i = 0; i < 10; i++)
                inherited[i] = before_child(50);
        pid = fork();
        if (pid == 0) {
                for (int i = 0; i < 4; i++)
                        drop(inherited[i]);
                for (int i = 0; i < 3; i++)
                        in_child(70);
                truth_say("child pid=%d allocs=13 frees=4 live_blocks=9 live_bytes=510\n",
                          (int)getpid());
                _exit(3);
        }
        wait_for(pid);
        after_child(100);
        drop(inherited[9]);
}

static volatile int stop;

static void *busy_thread(void *arg)
{
        (void)arg;
        while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
                void *p = malloc(33);
                TRUTH_GOT(p, 33);
                drop(p);
        }
        return NULL;
}

static void fork_once(int i)
{
        pid_t pid;
        truth_lock(); /* so that the child's copy of the model is whole */
        pid = fork();
        truth_unlock();
        if (pid == 0) {
                drop(in_child(70));
                in_child(71);
                _exit(i);
        }
        wait_for(pid);
}

static void by_threaded_fork(void)
{
        pthread_t t[3];
        for (int i = 0; i < 3; i++)
                if (pthread_create(&t[i], NULL, busy_thread, NULL))
                        truth_die("children: no thread\n");
        for (int i = 0; i < 20; i++) {
                fork_once(i);
                after_child(100);
        }
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < 3; i++)
                pthread_join(t[i], NULL);
}

static void by_exec_in_place(void)
{
        char *args[] = {self, "child", "9", NULL};
        before_child(50);
        truth_print();
        execv(self, args);
        truth_die("children: exec\n");
}

/* A fork that the libc does not know of. */
static void by_raw_clone(void)
{
        void *inherited = before_child(50);
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0) {
                drop(inherited);
                in_child(70);
                in_child(70);
                truth_say("child pid=%d allocs=3 frees=1 live_blocks=2 live_bytes=140\n",
                          (int)getpid());
                _exit(4);
        }
        wait_for(pid);
        after_child(100);
}

/* The first process ends at once; the grandchild does the work. */
static void by_daemonising(void)
{
        before_child(50);
        if (fork())
                _exit(0);
        setsid();
        pid_t pid = fork();
        if (pid)
                _exit(0);
        for (int i = 0; i < 6; i++)
                in_child(70);
        truth_say("child pid=%d allocs=7 frees=0 live_blocks=7 live_bytes=470\n", (int)getpid());
        truth_print();
        close(3);
        _exit(0);
}

static const struct {
        const char *name;
        void (*run)(void);
} ways[] = {
        { "vfork", by_vfork },
        { "spawn", by_posix_spawn },
        { "fork-exec", by_fork_exec },
        { "system", by_system },
        { "popen", by_popen },
        { "fork", by_fork },
        { "threaded-fork", by_threaded_fork },
        { "exec", by_exec_in_place },
        { "daemon", by_daemonising },
        { "raw-clone", by_raw_clone },
};

int main(int argc, char **argv)
{
        self = argv[0];
        if (argc > 2 && !strcmp(argv[1], "child"))
                return child_main(atoi(argv[2]));
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
                if (argc > 1 && !strcmp(argv[1], ways[i].name)) {
                        ways[i].run();
                        truth_print();
                        return 0;
                }
        return 2;
}
