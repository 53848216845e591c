/* SPDX-License-Identifier: MIT */
/*
 * arenas.c -- memory that was freed and that the allocator keeps: argv[1] threads (0: the main one
 * itself) take argv[2] MiB each.
 *
 * Room:   tests only.
 *
 * argv[3]: pinned     all but the last block of each thread is freed: below it, whole pages
 *          scattered  one block in eight stays: of the free pages, many have a part of one
 *          small      blocks of 100 bytes, of which all are freed: above the last block
 *          trim, scattered-trim, small-trim: the same, and malloc_trim(0)
 *          returned   as small-trim, and then each thread frees one block of 100,000 bytes
 *          large      blocks of 1 MiB, which have mappings of their own, and stay
 * The threads stay until the end.  Facts: resident and (glibc) free bytes before and after, as the
 * kernel and malloc_info() tell.
 */
#include "truth.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { BLOCK = 2000, LARGE = 1 << 20, SMALL = 100, LAST = 100000 };

static const char *how;
static size_t bytes_each;
static pthread_barrier_t done;
static char *last[64]; /* blocks that are freed at the end */
static atomic_int lasts;

static int is_small(void)
{
        return strncmp(how, "small", 5) == 0 || strcmp(how, "returned") == 0;
}

static void fill(void)
{
        size_t large = strcmp(how, "large") == 0, size = large ? LARGE : is_small() ? SMALL : BLOCK,
               count = bytes_each / size;
        size_t stays = large                              ? 1
                       : strncmp(how, "scattered", 9) == 0 ? 8
                       : is_small()                        ? count + 1
                                                           : count;
        char **blocks = malloc(count * sizeof *blocks);

        if (strcmp(how, "returned") == 0)
                last[lasts++ % 64] = malloc(LAST);
        for (size_t i = 0; i < count; i++) {
                blocks[i] = malloc(size);
                if (!blocks[i])
                        abort();
                memset(blocks[i], 1, size);
        }
        for (size_t i = 0; i < count; i++)
                if ((i + 1) % stays)
                        free(blocks[i]);
        free(blocks);
}

static void *body(void *unused)
{
        (void)unused;
        fill();
        pthread_barrier_wait(&done);
        for (;;)
                pause();
        return NULL;
}

/* Without files, and without what is shared with whoever watches. */
static unsigned long long resident(void)
{
        char text[128] = "";
        unsigned long long pages = 0, shared = 0;
        int fd = open("/proc/self/statm", O_RDONLY);

        if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
                abort();
        close(fd);
        sscanf(text, "%*u %llu %llu", &pages, &shared);
        return (pages - shared) * (unsigned long long)sysconf(_SC_PAGESIZE);
}

/* The sums stand behind those of the arenas. */
static unsigned long long size_behind(const char *text, const char *what)
{
        const char *at = NULL;
        unsigned long long size = 0;

        for (const char *next = text; (next = strstr(next, what)) != NULL; next++)
                at = next;
        if (at)
                sscanf(at + strlen(what), " count=\"%*u\" size=\"%llu\"", &size);
        return size;
}

static unsigned long long free_bytes(void)
{
        static char text[1 << 20];
        FILE *to = fmemopen(text, sizeof text, "w");

        if (!to || malloc_info(0, to))
                abort();
        fclose(to);
        return size_behind(text, "<total type=\"fast\"") +
               size_behind(text, "<total type=\"rest\"");
}

int main(int argc, char **argv)
{
        int threads = argc > 1 ? atoi(argv[1]) : 8;
        unsigned long long before, kept;

        bytes_each = (size_t)(argc > 2 ? atoi(argv[2]) : 16) << 20;
        how = argc > 3 ? argv[3] : "pinned";
        /* Otherwise the first free of a large block changes what others keep, at a time that
         * differs from run to run. */
        mallopt(M_TRIM_THRESHOLD, 128 << 10);
        pthread_barrier_init(&done, NULL, (unsigned)threads + 1);
        before = resident();
        for (int i = 0; i < threads; i++) {
                pthread_t t;

                if (pthread_create(&t, NULL, body, NULL))
                        return 1;
        }
        if (!threads)
                fill();
        pthread_barrier_wait(&done);
        kept = resident();
        if (strstr(how, "trim") || strcmp(how, "returned") == 0)
                malloc_trim(0);
        for (int i = 0; i < lasts && i < 64; i++)
                free(last[i]);
        truth_say("fact before=%llu kept=%llu after=%llu free=%llu\n", before, kept, resident(),
                  free_bytes());
        return 0;
}
