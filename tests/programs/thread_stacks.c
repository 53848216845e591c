/* SPDX-License-Identifier: MIT */
/*
 * thread_stacks.c -- threads of every kind: alive at the end, joined, detached, one after another,
 * on memory of the program's own; argv[1] names the case.
 *
 * Room:   tests only.  Each thread asks the C library where its stack is.  "mapped START END" for
 *         each that is there at the end, "fact made=N" how many threads got one from the C library,
 *         "fact own=BYTES" what the program mapped itself.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>

#define PAGE 4096ul
#define MANY 40
#define STACKS 512

static struct {
        uintptr_t start, end;
} stacks[STACKS];
static int stack_count, made, running;
static long own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int let_go;

/* Those that were in the same place before are gone. */
static void note(uintptr_t start, uintptr_t end)
{
        int left = 0;

        for (int i = 0; i < stack_count; i++)
                if (stacks[i].end <= start || stacks[i].start >= end)
                        stacks[left++] = stacks[i];
        if (left == STACKS)
                truth_die("thread_stacks: too many\n");
        stacks[left].start = start;
        stacks[left].end = (end + PAGE - 1) / PAGE * PAGE;
        stack_count = left + 1;
}

static void *body(void *waits)
{
        pthread_attr_t how;
        size_t bytes;
        void *start;

        if (pthread_getattr_np(pthread_self(), &how) ||
            pthread_attr_getstack(&how, &start, &bytes) || pthread_attr_destroy(&how))
                truth_die("thread_stacks: where\n");
        pthread_mutex_lock(&lock);
        note((uintptr_t)start, (uintptr_t)start + bytes);
        made++;
        running++;
        pthread_cond_broadcast(&change);
        while (waits && !let_go)
                pthread_cond_wait(&change, &lock);
        running--;
        pthread_mutex_unlock(&lock);
        return NULL;
}

static int body_c11(void *waits)
{
        body(waits);
        return 0;
}

static void *body_on_own(void *unused)
{
        return unused;
}

__attribute__((noinline)) static pthread_t make(const pthread_attr_t *how, void *waits)
{
        pthread_t t;

        if (pthread_create(&t, how, body, waits))
                truth_die("thread_stacks: create\n");
        return t;
}

static void wait_for(int count)
{
        pthread_mutex_lock(&lock);
        while (running < count)
                pthread_cond_wait(&change, &lock);
        pthread_mutex_unlock(&lock);
}

static void end_all(void)
{
        pthread_mutex_lock(&lock);
        let_go = 1;
        pthread_cond_broadcast(&change);
        pthread_mutex_unlock(&lock);
}

/* Until the kernel has no other thread of ours. */
static void wait_until_alone(void)
{
        char text[4096], *at;
        int fd;

        do {
                sched_yield();
                fd = open("/proc/self/status", O_RDONLY);
                text[read(fd, text, sizeof text - 1)] = 0;
                close(fd);
                at = strstr(text, "\nThreads:");
        } while (!at || atoi(at + 9) != 1);
}

static void alive(void)
{
        pthread_attr_t how;
        thrd_t t;

        make(NULL, "");
        make(NULL, "");
        pthread_attr_init(&how);
        pthread_attr_setstacksize(&how, (1ul << 20) + 64);
        pthread_attr_setguardsize(&how, 5 * PAGE);
        make(&how, "");
        pthread_attr_setguardsize(&how, 0);
        pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        make(&how, "");
        if (thrd_create(&t, body_c11, "") != thrd_success)
                truth_die("thread_stacks: thrd_create\n");
        wait_for(5);
}

static void joined(void)
{
        pthread_t t[3];
        thrd_t one;

        for (int i = 0; i < 3; i++)
                t[i] = make(NULL, "");
        wait_for(3);
        end_all();
        for (int i = 0; i < 3; i++)
                pthread_join(t[i], NULL);
        if (thrd_create(&one, body_c11, NULL) != thrd_success ||
            thrd_join(one, NULL) != thrd_success)
                truth_die("thread_stacks: thrd\n");
}

static void one_after_another(void)
{
        for (int i = 0; i < 200; i++)
                pthread_join(make(NULL, NULL), NULL);
}

/* More than the C library keeps. */
static void many(void)
{
        pthread_t t[MANY];

        for (int i = 0; i < MANY; i++)
                t[i] = make(NULL, "");
        wait_for(MANY);
        end_all();
        for (int i = 0; i < MANY; i++)
                pthread_join(t[i], NULL);
}

static void detached(void)
{
        pthread_attr_t how;

        pthread_attr_init(&how);
        pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        for (int i = 0; i < MANY; i++)
                make(&how, "");
        wait_for(MANY);
        end_all();
        wait_until_alone();
}

static void detached_short(void)
{
        pthread_attr_t how;

        pthread_attr_init(&how);
        pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        for (int i = 0; i < 200; i++)
                make(&how, NULL);
        wait_until_alone();
}

static void *map(size_t bytes)
{
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                truth_die("thread_stacks: mmap\n");
        own += (long)bytes;
        return p;
}

/* Where the stacks were is memory of the program's now. */
static void mapped_over(void)
{
        many();
        for (int i = 0; i < 8; i++)
                map(24ul << 20);
}

/* The same for malloc, and without a thread made or joined since the stacks went. */
static void allocated_over(void)
{
        detached();
        for (int i = 0; i < 8; i++)
                if (!malloc(24ul << 20))
                        truth_die("thread_stacks: malloc\n");
}

static void own_stack(void)
{
        static _Alignas(4096) char data[1 << 17];
        pthread_attr_t how;
        pthread_t t;

        pthread_attr_init(&how);
        if (pthread_attr_setstack(&how, map(1 << 20), 1 << 20) ||
            pthread_create(&t, &how, body_on_own, NULL) || pthread_join(t, NULL))
                truth_die("thread_stacks: own\n");
        if (pthread_attr_setstack(&how, data, sizeof data) ||
            pthread_create(&t, &how, body_on_own, NULL) || pthread_join(t, NULL))
                truth_die("thread_stacks: own data\n");
}

static void refused(void)
{
        pthread_attr_t how;
        pthread_t t;

        pthread_attr_init(&how);
        pthread_attr_setstacksize(&how, 1ul << 46);
        errno = 7;
        if (!pthread_create(&t, &how, body, NULL) || errno == ENOSYS)
                truth_die("thread_stacks: so much memory\n");
}

static const struct {
        const char *name;
        void (*run)(void);
} cases[] = {
        { "alive", alive },
        { "joined", joined },
        { "one_after_another", one_after_another },
        { "many", many },
        { "detached", detached },
        { "detached_short", detached_short },
        { "mapped_over", mapped_over },
        { "allocated_over", allocated_over },
        { "own_stack", own_stack },
        { "refused", refused },
};

/* Whether the kernel has memory that begins right there, behind a guard.  What others mapped where
 * a stack was does not. */
static int is_mapped(uintptr_t start)
{
        unsigned long from, to, before = 0;
        char *line = NULL, rights[8];
        int found = 0, guarded = 0;
        size_t room = 0;
        FILE *maps;

        if (running)
                return 1; /* its thread is alive */
        maps = fopen("/proc/self/maps", "r");
        while (maps && getline(&line, &room, maps) > 0 &&
               sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3) {
                found |= from == start && before == start && guarded && rights[0] == 'r';
                before = to;
                guarded = rights[0] == '-';
        }
        if (!maps || fclose(maps))
                truth_die("thread_stacks: maps\n");
        free(line);
        return found;
}

int main(int argc, char **argv)
{
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                if (argc > 1 && !strcmp(argv[1], cases[i].name))
                        cases[i].run();
        pthread_mutex_lock(&lock);
        for (int i = 0; i < stack_count; i++)
                if (is_mapped(stacks[i].start))
                        truth_say("mapped %lu %lu\n", (unsigned long)stacks[i].start,
                                  (unsigned long)stacks[i].end);
        truth_say("fact made=%d own=%ld\n", made, own);
        return 0;
}
