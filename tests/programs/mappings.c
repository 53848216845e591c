/* SPDX-License-Identifier: MIT */
/*
 * mappings.c -- mmap, munmap and mremap with pieces cut out in every way; argv[1] names the case.
 *
 * Room:   tests only.  "mapped BYTES" is what is left of this program's own mappings.
 */
#include "truth.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul

static long left;

static char *map(size_t bytes)
{
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
                truth_die("mappings: mmap\n");
        left += (long)((bytes + PAGE - 1) / PAGE * PAGE);
        return p;
}

static void unmap(char *p, size_t bytes, long lost)
{
        if (munmap(p, bytes))
                truth_die("mappings: munmap\n");
        left -= lost;
}

/* One range in which nothing else lies. */
static char *range(size_t pages)
{
        char *p = map(pages * PAGE);
        unmap(p, pages * PAGE, (long)(pages * PAGE));
        return p;
}

static char *map_at(char *at, size_t pages)
{
        if (mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0) != at)
                truth_die("mappings: fixed\n");
        left += (long)(pages * PAGE);
        return at;
}

static void second_page(void)
{
        char *p = map(20000);
        unmap(p + PAGE, PAGE, PAGE);
}

static void head(void)
{
        unmap(map(10 * PAGE), 3 * PAGE, 3 * PAGE);
}

static void tail(void)
{
        unmap(map(10 * PAGE) + 8 * PAGE, 2 * PAGE, 2 * PAGE);
}

/* Three mappings with gaps; one call takes the end of the first, the second, and the start of the
 * third. */
static void across(void)
{
        char *r = range(20);
        map_at(r, 5);
        map_at(r + 7 * PAGE, 3);
        map_at(r + 12 * PAGE, 8);
        unmap(r + 4 * PAGE, 10 * PAGE, 6 * PAGE);
}

static void fixed_over(void)
{
        char *p = map(10 * PAGE);
        map_at(p + 2 * PAGE, 3);
        left -= 3 * PAGE;
}

static void remapped(void)
{
        char *p = map(4 * PAGE), *wall = p, *q;
        q = mremap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
        if (q == MAP_FAILED)
                truth_die("mappings: mremap\n");
        (void)wall;
        left += 60 * PAGE;
}

static void shrunk(void)
{
        char *p = map_at(range(14), 10), *behind = map_at(p + 10 * PAGE, 4);
        if (mremap(p, 10 * PAGE, 8 * PAGE, 0) != p)
                truth_die("mappings: shrink\n");
        left -= 2 * PAGE;
        tell("behind: %d\n", *behind);
}

static void remapped_fixed(void)
{
        char *p = map(6 * PAGE), *target = map(6 * PAGE);
        if (mremap(p, 6 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) != target)
                truth_die("mappings: move\n");
        left -= 6 * PAGE;
}

/* Middle pages move away: the mapping becomes two parts, and a third elsewhere. */
static void remapped_middle(void)
{
        char *p = map(9 * PAGE), *target = range(3);
        if (mremap(p + 3 * PAGE, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) !=
            target)
                truth_die("mappings: move\n");
}

static void failures(void)
{
        char *p = map(2 * PAGE);
        void *volatile none = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        tell("mmap 0: %d\n", none == MAP_FAILED);
        tell("munmap odd: %d\n", munmap(p + 1, PAGE));
        tell("mremap odd: %d\n", mremap(p + 1, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
        tell("mremap huge: %d\n", mremap(p, 2 * PAGE, 1ul << 60, MREMAP_MAYMOVE) == MAP_FAILED);
        tell("mremap in place, blocked: %d\n", mremap(p, 2 * PAGE, 1ul << 46, 0) == MAP_FAILED);
}

static void never_mapped(void)
{
        char *r = range(10);
        tell("munmap of nothing: %d\n", munmap(r, 10 * PAGE));
        map(PAGE);
}

static void file_backed(void)
{
        int fd = open("/proc/self/exe", O_RDONLY);
        char *p = mmap64(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
        tell("file: %.3s\n", p + 1);
        left += 2 * PAGE;
        close(fd);
}

static void many(void)
{
        static char *kept[500];
        for (int i = 0; i < 500; i++)
                kept[i] = map((size_t)(1 + i % 7) * PAGE);
        for (int i = 0; i < 500; i += 2)
                unmap(kept[i], (size_t)(1 + i % 7) * PAGE, (long)((size_t)(1 + i % 7) * PAGE));
}

static const struct {
        const char *name;
        void (*run)(void);
} cases[] = {
        {"second_page", second_page},   {"head", head},
        {"tail", tail},                 {"across", across},
        {"fixed_over", fixed_over},     {"remapped", remapped},
        {"shrunk", shrunk},
        {"remapped_fixed", remapped_fixed}, {"remapped_middle", remapped_middle},
        {"failures", failures},         {"never_mapped", never_mapped},
        {"file_backed", file_backed},   {"many", many},
};

int main(int argc, char **argv)
{
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                if (argc > 1 && !strcmp(argv[1], cases[i].name))
                        cases[i].run();
        truth_say("fact mapped=%ld\n", left);
        return 0;
}
