/* SPDX-License-Identifier: MIT */
/*
 * attached.c -- a process that is recorded while it runs: attached THREADS FILE.
 *
 * Room:   tests only.  FILE has what each thread has done so far, as an array of struct account; no
 *         allocation that is not in one.  Commands on the input, each answered by a line: "run" and
 *         "stop" (without pause; the answer to the latter comes when all stand still), "batch N" (N
 *         rounds each), "keep N" and "drop" (blocks of the first thread), "quit".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MAX 128
#define SLOTS 64
#define KEPT_MAX 4096

struct account {
        uint64_t allocs, bytes, frees, errors;
};

static struct account *accounts;
static volatile int running, quit;
static uint64_t rounds[THREADS_MAX];
static uint32_t busy[THREADS_MAX];
static void *kept[KEPT_MAX];
static size_t kept_count;

/* Taken before anybody can have changed anything. */
static void *(*volatile old_malloc)(size_t) = malloc;
static void (*volatile old_free)(void *) = free;

static void *get(struct account *a, unsigned how, size_t size)
{
        void *p = NULL;

        switch (how % 6) {
        case 0: p = malloc(size); break;
        case 1: p = old_malloc(size); break;
        case 2:
                p = calloc(2, size / 2 + 1);
                size = 2 * (size / 2 + 1);
                break;
        case 3: p = posix_memalign(&p, 64, size) ? NULL : p; break;
        case 4: p = realloc(NULL, size); break;
        default: p = memalign(32, size); break;
        }
        if (!p)
                __atomic_add_fetch(&a->errors, 1, __ATOMIC_RELAXED);
        a->bytes += size;
        a->allocs++;
        return p;
}

static void put(struct account *a, unsigned how, void *p)
{
        if (how & 1)
                free(p);
        else
                old_free(p);
        a->frees++;
}

/* A block is as it was left, whatever happened to the code that handles it. */
static void check(struct account *a, const unsigned char *p, size_t size, unsigned char mark)
{
        if (p[0] != mark || p[size - 1] != mark)
                a->errors++;
}

struct slot {
        unsigned char *at;
        size_t size;
        unsigned char mark;
};

static void one_round(struct account *a, struct slot *slots, unsigned *seed)
{
        struct slot *s;

        *seed = *seed * 1103515245u + 12345u;
        s = &slots[*seed >> 16 & (SLOTS - 1)];
        if (s->at && (*seed >> 8 & 3) == 3) { /* resized: an allocation and a release */
                size_t size = 16 + (*seed >> 10) % 2000;

                check(a, s->at, s->size, s->mark);
                s->at = realloc(s->at, size);
                a->frees++;
                a->allocs++;
                a->bytes += size;
                s->size = size;
        } else {
                if (s->at) {
                        check(a, s->at, s->size, s->mark);
                        put(a, *seed >> 5, s->at);
                }
                s->size = 16 + (*seed >> 12) % 3000;
                s->at = get(a, *seed >> 9, s->size);
        }
        s->mark = (unsigned char)(*seed >> 7);
        s->at[0] = s->at[s->size - 1] = s->mark;
}

static void *work(void *argument)
{
        unsigned me = (unsigned)(uintptr_t)argument, seed = me + 1;
        struct slot slots[SLOTS] = { { 0 } };
        struct account *a = &accounts[me];

        while (!quit) {
                while (!quit && !running && !rounds[me])
                        usleep(500);
                __atomic_store_n(&busy[me], 1, __ATOMIC_SEQ_CST);
                while (!quit && (running || rounds[me])) {
                        one_round(a, slots, &seed);
                        if (rounds[me])
                                rounds[me]--;
                }
                __atomic_store_n(&busy[me], 0, __ATOMIC_SEQ_CST);
        }
        for (unsigned i = 0; i < SLOTS; i++)
                if (slots[i].at)
                        put(a, i, slots[i].at);
        return NULL;
}

static void stand_still(unsigned threads)
{
        for (unsigned i = 0; i < threads; i++)
                while (rounds[i] || __atomic_load_n(&busy[i], __ATOMIC_SEQ_CST))
                        usleep(500);
}

static void answer(void)
{
        if (write(1, "done\n", 5) != 5)
                _exit(9);
}

static void obey(const char *line, unsigned threads)
{
        unsigned long number = strchr(line, ' ') ? strtoul(strchr(line, ' '), NULL, 10) : 0;

        if (line[0] == 'r') {
                running = 1;
        } else if (line[0] == 's') {
                running = 0;
                stand_still(threads);
        } else if (line[0] == 'b') {
                for (unsigned i = 0; i < threads; i++)
                        rounds[i] = number;
                stand_still(threads);
        } else if (line[0] == 'k') {
                while (number-- && kept_count < KEPT_MAX)
                        kept[kept_count++] = get(&accounts[0], 0, 100);
        } else if (line[0] == 'd') {
                while (kept_count)
                        put(&accounts[0], 1, kept[--kept_count]);
        }
        answer();
}

/* No stream: it would allocate. */
static int read_line(char *line, size_t room)
{
        size_t used = 0;

        while (used + 1 < room && read(0, line + used, 1) == 1 && line[used] != '\n')
                used++;
        line[used] = 0;
        return used != 0;
}

int main(int argc, char **argv)
{
        unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
        int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;
        pthread_t t[THREADS_MAX];
        uint64_t errors = 0;
        char line[64];

        if (!threads || threads > THREADS_MAX || fd < 0 ||
            ftruncate(fd, THREADS_MAX * sizeof *accounts))
                return 2;
        accounts = mmap(NULL, THREADS_MAX * sizeof *accounts, PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd, 0);
        signal(SIGTRAP, SIG_IGN);
        for (unsigned i = 0; i < threads; i++)
                if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i))
                        return 3;
        answer();
        while (read_line(line, sizeof line) && line[0] != 'q')
                obey(line, threads);
        quit = 1;
        for (unsigned i = 0; i < threads; i++) {
                pthread_join(t[i], NULL);
                errors += accounts[i].errors;
        }
        while (kept_count)
                put(&accounts[0], 1, kept[--kept_count]);
        errors += signal(SIGTRAP, SIG_DFL) != SIG_IGN;
        answer();
        return errors ? 4 : 0;
}
