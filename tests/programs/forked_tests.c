/* SPDX-License-Identifier: MIT */
/*
 * forked_tests.c -- what frameworks do that run each test in a forked child: the parent is clean.
 *
 * Room:   tests only.
 * Usage:  forked_tests clean|lose|release...    one child for each word; release frees what the parent got, and no more
 * Lines:  leak definite lose_block BYTES BLOCKS, by the children
 */
#include "leak.h"

#include <sys/wait.h>

MAKER(lose_block)

static int run_test(const char *word)
{
        void *work = malloc(100);

        if (strcmp(word, "lose") == 0)
                lose_block(DEFINITE, 40);
        free(work);
        leak_wipe();
        leak_tell();
        return 0;
}

int main(int argc, char **argv)
{
        void *inherited = malloc(1000);
        int failed = 0;

        for (int i = 1; i < argc; i++) {
                int status;
                pid_t pid = fork();

                if (pid == 0 && strcmp(argv[i], "release") == 0) {
                        free(inherited);
                        _exit(0);
                }
                if (pid == 0)
                        exit(run_test(argv[i]));
                failed |= waitpid(pid, &status, 0) != pid || status != 0;
        }
        free(inherited);
        return failed;
}
