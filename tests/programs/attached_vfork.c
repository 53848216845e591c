/* SPDX-License-Identifier: MIT */
/*
 * attached_vfork.c -- a process that waits for a child of vfork(), which takes its time.
 *
 * Room:   tests only.  Commands on the input: "vfork" answers "inside" in the child, which ends at
 *         the next line: "done"; "allocate" makes ten allocations and releases them: "done".
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char line[64];

static int read_line(void)
{
        size_t used = 0;

        while (used + 1 < sizeof line && read(0, line + used, 1) == 1 && line[used] != '\n')
                used++;
        line[used] = 0;
        return used != 0;
}

static void answer(const char *text, size_t bytes)
{
        if (write(1, text, bytes) != (ssize_t)bytes)
                _exit(9);
}

static void *(*volatile get)(size_t) = malloc;

int main(void)
{
        while (read_line()) {
                if (line[0] == 'v') {
                        pid_t child = vfork();

                        if (child == 0) {
                                answer("inside\n", 7);
                                read_line();
                                _exit(0);
                        }
                        if (waitpid(child, NULL, 0) != child)
                                return 2;
                } else {
                        for (int i = 0; i < 10; i++)
                                free(get(100));
                }
                answer("done\n", 5);
        }
        return 0;
}
