/* SPDX-License-Identifier: MIT */
/*
 * journalled.c -- known work, and then a way to end.
 *
 * Room:   tests only.  journalled WAY [EVENTS]: kill, exit, _exit, segv, fork (a child that has
 *         blocks of its parent, frees some and makes more), exec (another program in its place),
 *         spawn (one beside it), pause (until somebody kills it).
 */
#include "truth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[100];

static void made_by_parent(int i)
{
        kept[i] = malloc(1000);
        TRUTH_GOT(kept[i], 1000);
}

static void made_by_child(int i)
{
        kept[i] = malloc(10);
        TRUTH_GOT(kept[i], 10);
}

static void drop(int i)
{
        truth_gone(kept[i]);
        free(kept[i]);
}

static void churn(long events)
{
        for (long i = 0; i < events / 2; i++) {
                void *volatile p = malloc(50 + (size_t)i % 7);

                free(p);
        }
}

static int parent_of(void (*work)(void))
{
        int status;
        pid_t child = fork();

        if (child == 0) {
                work();
                _exit(7);
        }
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void child(void)
{
        for (int i = 0; i < 20; i++)
                drop(i);
        for (int i = 0; i < 20; i++)
                made_by_child(i);
        truth_print();
}

static void other(void)
{
        execl("/bin/echo", "echo", "another", (char *)NULL);
}

static void end(const char *way)
{
        if (strcmp(way, "kill") == 0)
                kill(getpid(), SIGKILL);
        else if (strcmp(way, "segv") == 0)
                raise(SIGSEGV);
        else if (strcmp(way, "_exit") == 0)
                _exit(9);
        else if (strcmp(way, "exec") == 0)
                other();
        while (strcmp(way, "pause") == 0)
                pause();
}

int main(int argc, char **argv)
{
        const char *way = argc > 1 ? argv[1] : "exit";
        int status = 9;

        for (int i = 0; i < 50; i++)
                made_by_parent(i);
        churn(argc > 2 ? atol(argv[2]) : 0);
        if (strcmp(way, "fork") == 0 || strcmp(way, "spawn") == 0)
                status = parent_of(way[0] == 'f' ? child : other);
        else
                truth_print();
        puts("worked");
        fflush(stdout);
        end(way);
        return status;
}
