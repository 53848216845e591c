/* SPDX-License-Identifier: MIT */
/* Eight threads start the program FILE at the same time, ROUNDS times each, and wait for it:
 * starters ROUNDS FILE */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

enum { THREADS = 8 };

static pthread_barrier_t together;
static int rounds, good;
static char *file;

static void *start(void *unused)
{
        char *argv[] = { file, NULL };

        for (int i = 0; i < rounds; i++) {
                pid_t pid;
                int status;

                pthread_barrier_wait(&together);
                if (posix_spawn(&pid, file, NULL, NULL, argv, environ) == 0 &&
                    waitpid(pid, &status, 0) == pid && status == 0)
                        __atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
        }
        return unused;
}

int main(int argc, char **argv)
{
        pthread_t threads[THREADS];

        if (argc != 3)
                return 2;
        rounds = atoi(argv[1]);
        file = argv[2];
        pthread_barrier_init(&together, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
                if (pthread_create(&threads[i], NULL, start, NULL))
                        return 1;
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        fprintf(stderr, "%d\n", good);
        return good == THREADS * rounds ? 0 : 1;
}
