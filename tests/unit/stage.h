/* SPDX-License-Identifier: MIT */
/*
 * stage.h -- processes that a test starts, and the memory that both see.
 *
 * Room:   tests of attach/ only.
 */
#ifndef SEEP_TESTS_UNIT_STAGE_H
#define SEEP_TESTS_UNIT_STAGE_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/freeze.h"
#include "tap.h"

#define PATIENCE_S 20
#define NOBODY 65534
#define PAGE 4096ul

/* Seen by the test and by the processes that it starts. */
struct stage {
        volatile long turns, handled, result, over;
        volatile int ready, tid;
        void *volatile address, *volatile second;
        char text[2048];
};

static struct stage *stage;
/* each process has its own; grows along with stage->turns, ahead by one at most */
static volatile long own_turns;

static inline void nap(void)
{
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

#define wait_until(condition)                                         \
        do {                                                          \
                time_t begin_s = time(NULL);                          \
                while (!(condition) && time(NULL) - begin_s < PATIENCE_S) \
                        nap();                                        \
                is_true(condition);                                   \
        } while (0)

static inline pid_t start(void (*run)(void))
{
        pid_t pid;

        if (!stage)
                stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        *stage = (struct stage){ 0 };
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                run();
                _exit(0);
        }
        wait_until(stage->ready);
        return pid;
}

static inline int end(pid_t pid)
{
        int status = -1;

        stage->over = 1;
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
                ;
        return status;
}

static inline char state_of(pid_t pid)
{
        char path[64], line[256] = "", *at;
        FILE *f;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        f = fopen(path, "r");
        if (!f || !fgets(line, sizeof line, f))
                line[0] = 0;
        if (f)
                fclose(f);
        at = strrchr(line, ')');
        return at ? at[2] : 'X';
}

static inline void count_turns(void)
{
        stage->ready = 1;
        while (!stage->over) {
                own_turns++;
                stage->turns++;
        }
}

static inline long turns_of(const struct freeze *f)
{
        long turns = 0;

        is_equal(freeze_read(f, (uint64_t)(uintptr_t)&own_turns, &turns, sizeof turns),
                 sizeof turns);
        return turns;
}

#endif
