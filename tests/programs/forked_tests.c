/* SPDX-License-Identifier: MIT */
/*
 * forked_tests.c -- what frameworks do that run each test in a forked child: the parent is clean.
 *
 * Room:   tests only.
 * Usage:  forked_tests clean|lose|release|jail...
 *         One child for each word; release frees what the parent got, and no more.
 *         jail is no child: those that come next live in a root directory of their own.
 * Lines:  leak definite lose_block BYTES BLOCKS, by the children
 */
#include "leak.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Who is not root is so in a namespace. */
static int enter_jail(void)
{
        return chroot(".") == 0 || (unshare(CLONE_NEWUSER) == 0 && chroot(".") == 0);
}

int main(int argc, char **argv)
{
        void *inherited = malloc(1000);
        int failed = 0;

        for (int i = 1; i < argc; i++) {
                int status;
                pid_t pid;

                if (strcmp(argv[i], "jail") == 0) {
                        failed |= !enter_jail();
                        continue;
                }
                pid = fork();
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
