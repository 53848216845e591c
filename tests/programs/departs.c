/* SPDX-License-Identifier: MIT */
/*
 * departs.c -- a program that has left while what it left is still searched; argv[1] names what it
 * does.
 *
 * Room:   tests only. "parent" starts "heap" again and again until, after it has been waited for, a
 *         process of the same program is still there that is no child of anybody here: its copy.
 *         Prints how often waiting was wrong, and whether a copy was seen. "heap" has many blocks,
 *         ten of which are lost.  "hidden" has a block whose only pointer is in memory that it
 *         keeps from children.  "unused" has a large block that it never wrote to.  They end with
 *         status 7.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 300000
#define TRIES 60
#define UNUSED_BYTES (1ul << 30)

struct node {
        struct node *next;
        char rest[240];
};

static struct node *list;

static void *make_lost(void)
{
        return malloc(777);
}

static int heap(void)
{
        for (int i = 0; i < BLOCKS; i++) {
                struct node *n = calloc(1, sizeof *n);

                n->next = list;
                list = n;
        }
        for (int i = 0; i < 10; i++)
                make_lost();
        return 7;
}

static int hidden(void)
{
        void **page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        madvise(page, 4096, MADV_DONTFORK);
        page[7] = make_lost();
        return 7;
}

/* Whether another process of this program is there. */
static int is_seen(const char *self)
{
        DIR *all = opendir("/proc");
        char path[300], exe[4096];
        int seen = 0;

        for (struct dirent *d; (d = readdir(all));) {
                ssize_t got;

                if (!isdigit((unsigned char)d->d_name[0]) || atoi(d->d_name) == getpid())
                        continue;
                snprintf(path, sizeof path, "/proc/%s/exe", d->d_name);
                got = readlink(path, exe, sizeof exe - 1);
                exe[got > 0 ? got : 0] = 0;
                seen |= strcmp(exe, self) == 0;
        }
        closedir(all);
        return seen;
}

static int parent(void)
{
        char self[4096] = "";
        int wrong = 0, seen = 0;

        if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
                return 1;
        for (int i = 0; i < TRIES && !seen; i++) {
                pid_t pid = fork();
                int status = 0;

                if (pid == 0) {
                        execl(self, self, "heap", (char *)NULL);
                        _exit(1);
                }
                wrong += waitpid(-1, &status, 0) != pid || !WIFEXITED(status) ||
                         WEXITSTATUS(status) != 7;
                wrong += waitpid(-1, &status, __WALL) != -1 || errno != ECHILD;
                seen = is_seen(self);
        }
        printf("wrong %d seen %d\n", wrong, seen);
        return 0;
}

static int unused(void)
{
        list = calloc(1, UNUSED_BYTES);
        return list ? 7 : 1;
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "unused") == 0)
                return unused();
        return strcmp(what, "heap") == 0     ? heap()
               : strcmp(what, "hidden") == 0 ? hidden()
                                             : parent();
}
