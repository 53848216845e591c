/* SPDX-License-Identifier: MIT */
/*
 * short_lived.c -- children that are killed at once, most of them before they have done anything.
 *
 * Room:   tests only.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
        free(malloc(10));
        for (int i = 0; i < 50; i++) {
                pid_t child = fork();

                if (child < 0)
                        return 1;
                if (child == 0)
                        for (;;)
                                pause();
                kill(child, SIGKILL);
                waitpid(child, NULL, 0);
        }
        return 0;
}
