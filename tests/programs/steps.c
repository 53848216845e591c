/* SPDX-License-Identifier: MIT */
/*
 * steps.c -- does what its arguments say, one after another, and tells what that did.
 *
 * Room:   tests only.  A step is a word, or word:value.  Blocks are made by the functions red,
 *         green and blue, oldest freed first.
 *
 *   +red:COUNT:SIZE  -red:COUNT       allocate; free the oldest (COUNT 0: all)
 *   tag:NAME  snapshot:NAME  on  off  the macros of seep.h
 *   moment:NAME                       tell the state: "moment NAME", then the lines of truth_print
 *   since:NAME                        tell what was allocated after tag:NAME and is alive: "since
 *                                     NAME NOW SITE blocks=.. bytes=.."
 *   loop:N:SITE                       N times: tag:t0, t1, ...; one block of 10 bytes; every third
 *                                     time the oldest is freed
 *   ready  wait                       say "ready"; wait for a line of input
 *   there:SEQ                         say whether the report of that number is there, in the
 *                                     directory of the start
 *   usr1  raise:N                     signals
 *   chdir:DIR  fork  exec:FILE        the forked child does the rest of the steps, its parent waits
 *                                     and ends with its status
 *   orphan                            the same, but its parent ends at once; the child says "orphan
 *                                     PID" when it has another one
 *   spin:MS  churn:N                  allocate and free for so long, or so often (blue)
 *   alone                             say what wait() and the list of children tell
 *   exit:N  _exit:N  quick_exit:N  group_exit:N  abort  segv  kill
 */
#include "truth.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "seep.h"

#define BLOCKS_MAX 40000

struct shelf {
        const char *name;
        void *(*make)(size_t);
        void *block[BLOCKS_MAX];
        size_t size[BLOCKS_MAX];
        int era[BLOCKS_MAX];
        int first, last; /* alive: [first, last) */
};

#define MAKER(name)                                                            \
        static void *name(size_t size)                                         \
        {                                                                      \
                void *p = malloc(size);                                        \
                TRUTH_GOT(p, size);                                            \
                return memset(p, 1, size);                                     \
        }
MAKER(red)
MAKER(green)
MAKER(blue)

static struct shelf shelves[] = { { .name = "red", .make = red },
                                  { .name = "green", .make = green },
                                  { .name = "blue", .make = blue } };
#define SHELVES 3

static const char *tags[16];
static int tag_count;
static char start_directory[PATH_MAX];

static struct shelf *shelf_find(const char *name, size_t length)
{
        for (int i = 0; i < SHELVES; i++)
                if (strlen(shelves[i].name) == length && !memcmp(shelves[i].name, name, length))
                        return &shelves[i];
        truth_die("steps: no such shelf\n");
        return NULL;
}

static void shelf_put(struct shelf *s, size_t size)
{
        if (s->last == BLOCKS_MAX)
                truth_die("steps: shelf full\n");
        s->era[s->last] = tag_count;
        s->size[s->last] = size;
        s->block[s->last++] = s->make(size);
}

static void shelf_take(struct shelf *s)
{
        void *p;
        if (s->first == s->last)
                truth_die("steps: shelf empty\n");
        p = s->block[s->first++];
        truth_gone(p);
        free(p);
}

static void allocate(const char *what)
{
        const char *colon = strchr(what, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
        if (!second)
                truth_die("steps: +NAME:COUNT:SIZE\n");
        for (int n = atoi(colon + 1); n > 0; n--)
                shelf_put(shelf_find(what, (size_t)(colon - what)), (size_t)atol(second + 1));
}

static void release(const char *what)
{
        const char *colon = strchr(what, ':');
        struct shelf *s = shelf_find(what, colon ? (size_t)(colon - what) : strlen(what));
        int n = colon ? atoi(colon + 1) : 0;
        for (n = n ? n : s->last - s->first; n > 0; n--)
                shelf_take(s);
}

static void tag(const char *name)
{
        if (tag_count == 16)
                truth_die("steps: too many tags\n");
        SEEP_TAG(name);
        tags[tag_count++] = name;
}

/* Blocks born after the tag that are alive now. */
static void since(const char *name)
{
        int from = 0;
        while (from < tag_count && strcmp(tags[from], name))
                from++;
        if (from == tag_count)
                truth_die("steps: no such tag\n");
        for (int i = 0; i < SHELVES; i++) {
                struct shelf *s = &shelves[i];
                size_t bytes = 0, blocks = 0;
                for (int b = s->first; b < s->last; b++)
                        if (s->era[b] > from) {
                                bytes += s->size[b];
                                blocks++;
                        }
                truth_say("since %s %s %s blocks=%zu bytes=%zu\n", name, tags[tag_count - 1],
                          s->name, blocks, bytes);
        }
}

static void loop(const char *what)
{
        char name[16];
        const char *site = strchr(what, ':') + 1;
        struct shelf *s = shelf_find(site, strlen(site));
        for (int i = 0; i < atoi(what); i++) {
                snprintf(name, sizeof name, "t%d", i);
                SEEP_TAG(name);
                shelf_put(s, 10);
                if (i % 3 == 2)
                        shelf_take(s);
        }
}

static void moment(const char *name)
{
        truth_say("moment %s\n", name);
        truth_print();
}

static void wait_line(const char *unused)
{
        char byte = 0;
        ssize_t n = 1;
        (void)unused;
        while (n == 1 && byte != '\n')
                n = read(0, &byte, 1);
        if (n < 0)
                tell("read: %s\n", strerror(errno));
}

static void ready(const char *unused)
{
        (void)unused;
        tell("ready\n");
}

static void there(const char *seq)
{
        char path[PATH_MAX + 100];
        snprintf(path, sizeof path, "%s/steps-%d-%s.memlog", start_directory, (int)getpid(), seq);
        tell("report %s: %s\n", seq, access(path, R_OK) ? "no" : "yes");
}

static void pass(void)
{
        shelf_put(&shelves[2], 24);
        shelf_take(&shelves[2]);
        shelves[2].first = --shelves[2].last;
}

static void churn(const char *times)
{
        for (long i = atol(times); i > 0; i--)
                pass();
}

static void spin(const char *ms)
{
        struct timespec now, end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += atol(ms) % 1000 * 1000000;
        end.tv_sec += atol(ms) / 1000 + end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        do {
                pass();
                clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec < end.tv_sec ||
                 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void alone(const char *unused)
{
        char text[100], path[64];
        int status;
        pid_t got = waitpid(-1, &status, __WALL);
        (void)unused;
        tell("wait: %d %s\n", (int)got, strerror(errno));
        snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
        int fd = open(path, O_RDONLY);
        tell("children: %zd\n", read(fd, text, sizeof text));
        close(fd);
}

static void fork_rest(const char *unused)
{
        int status;
        pid_t child = fork();
        (void)unused;
        if (child == 0)
                return;
        truth_say("fact child=%d\n", (int)child);
        if (waitpid(child, &status, 0) != child)
                truth_die("steps: lost my child\n");
        tell("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        moment("end");
        exit(WIFSIGNALED(status) ? 0 : WEXITSTATUS(status));
}

static void orphan(const char *unused)
{
        pid_t parent = getpid(), child = fork();
        (void)unused;
        if (child) {
                moment("end");
                _exit(0);
        }
        setsid();
        while (getppid() == parent)
                usleep(1000);
        tell("orphan %d\n", (int)getpid());
}

static void replace(const char *file)
{
        execl(file, file, (char *)NULL);
        truth_die("steps: cannot exec\n");
}

static void on(const char *unused)
{
        (void)unused;
        SEEP_ENABLE();
}

static void off(const char *unused)
{
        (void)unused;
        SEEP_DISABLE();
}

static void snapshot(const char *label)
{
        SEEP_SNAPSHOT(label);
}

static void usr1(const char *unused)
{
        (void)unused;
        kill(getpid(), SIGUSR1);
}

static void raise_it(const char *number)
{
        raise(atoi(number));
}

static void go(const char *directory)
{
        if (chdir(directory))
                truth_die("steps: cannot go there\n");
}

static volatile uintptr_t nowhere = 8;

static void end(const char *way)
{
        const char *colon = strchr(way, ':');
        int status = colon ? atoi(colon + 1) : 0;
        moment("end");
        switch (way[0]) {
        case 'e': exit(status);
        case '_': _exit(status);
        case 'q': quick_exit(status);
        case 'g': syscall(SYS_exit_group, status); break;
        case 'a': abort();
        case 's': *(volatile int *)nowhere = 1; break;
        default: kill(getpid(), SIGKILL);
        }
}

static const struct {
        const char *word;
        void (*act)(const char *value);
} words[] = {
        { "tag", tag },       { "snapshot", snapshot }, { "on", on },
        { "off", off },       { "moment", moment },     { "since", since },
        { "loop", loop },     { "ready", ready },       { "wait", wait_line },
        { "there", there },   { "usr1", usr1 },         { "raise", raise_it },
        { "chdir", go },      { "fork", fork_rest },    { "exec", replace },
        { "spin", spin },     { "churn", churn },       { "alone", alone },
        { "orphan", orphan },
};

static void step(const char *s)
{
        size_t length = strcspn(s, ":");
        if (*s == '+' || *s == '-') {
                (*s == '+' ? allocate : release)(s + 1);
                return;
        }
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
                if (strlen(words[i].word) == length && !memcmp(words[i].word, s, length)) {
                        words[i].act(s[length] ? s + length + 1 : NULL);
                        return;
                }
        end(s);
}

int main(int argc, char **argv)
{
        if (!getcwd(start_directory, sizeof start_directory))
                return 2;
        for (int i = 1; i < argc; i++)
                step(argv[i]);
        moment("end");
        return 0;
}
