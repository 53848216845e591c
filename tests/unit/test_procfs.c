/* SPDX-License-Identifier: MIT */
/*
 * test_procfs.c -- what /proc tells of processes whose first thread has ended, or has not.
 */
#include "attach/procfs.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static void *wait_for_the_end(void *ready)
{
        int first = *(int *)ready;

        while (procfs_state(getpid(), getpid()) != 'Z')
                usleep(1000);
        if (write(first, "x", 1) != 1)
                _exit(1);
        for (;;)
                pause();
}

/* A process that goes on without its first thread. */
static pid_t headless(void)
{
        int ends[2];
        pthread_t thread;
        pid_t pid;
        char byte;

        is_true(pipe(ends) == 0);
        pid = fork();
        if (pid == 0) {
                pthread_create(&thread, NULL, wait_for_the_end, &ends[1]);
                syscall(SYS_exit, 0);
        }
        is_true(pid > 0 && read(ends[0], &byte, 1) == 1);
        close(ends[0]);
        close(ends[1]);
        return pid;
}

static void end(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

/* The same as of this process, whose child it is. */
static void knows(pid_t pid, uint64_t inode)
{
        uint64_t dev = 0, ino = 0, our_dev = 1, our_ino = 1;
        char *cwd = process_link((uint32_t)pid, "cwd"), here[4096];

        is_true(getcwd(here, sizeof here) != NULL);
        is_text(cwd, here);
        free(cwd);
        is_true(process_exe((uint32_t)pid, &dev, &ino) &&
                process_exe((uint32_t)getpid(), &our_dev, &our_ino));
        is_true(dev == our_dev && ino == our_ino);
        is_true(process_stack((uint32_t)pid) && process_stack((uint32_t)pid) ==
                                                        process_stack((uint32_t)getpid()));
        is_true(process_maps((uint32_t)pid, inode));
        is_true(!process_maps((uint32_t)pid, inode + 1));
}

TEST(a_process_is_known_with_its_first_thread_and_without_it)
{
        int file = memfd_create("mapped", MFD_CLOEXEC);
        struct stat st;
        pid_t pid;

        is_true(ftruncate(file, 4096) == 0 && fstat(file, &st) == 0);
        is_true(mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED);
        pid = headless();
        is_equal(procfs_state(pid, pid), 'Z');
        knows(getpid(), st.st_ino);
        knows(pid, st.st_ino);
        end(pid);
        close(file);
}

TEST(of_a_process_that_is_gone_nothing_is_known)
{
        uint64_t dev, ino;
        pid_t pid = fork();
        char *exe;

        if (pid == 0)
                _exit(0);
        waitpid(pid, NULL, 0);
        exe = process_link((uint32_t)pid, "exe");
        is_text(exe, "");
        free(exe);
        is_true(!process_exe((uint32_t)pid, &dev, &ino));
        is_equal(process_stack((uint32_t)pid), 0);
        is_true(process_maps((uint32_t)pid, 1)); /* it may have */
}

TAP_MAIN(a_process_is_known_with_its_first_thread_and_without_it,
         of_a_process_that_is_gone_nothing_is_known)
