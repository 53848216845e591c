/* SPDX-License-Identifier: MIT */
/*
 * reloads.c -- libraries that are loaded again and again, each time losing a block of 101 bytes:
 * how often, and at how many addresses.
 *
 * Room:   tests only.  argv: how, rounds, libraries made from plug.c (with their letter).
 *   same      the loader puts it where it was
 *   moving    it cannot: what it left is taken
 *   turns     one library after the other, all with the same letter
 *   replaced  the files argv[4..] take turns at the path argv[3]
 *   copied    the file argv[4] is copied to the path argv[3] anew each time
 *   twice     two at a time, each in a name space of its own
 *   crowded   as moving, and there are 3,000 mappings besides
 */
#include "truth.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ul
#define ADDRESSES 100000

typedef void *allocator(size_t);

static uintptr_t seen[ADDRESSES];
static unsigned seen_count, lost;

static void see(uintptr_t address)
{
        for (unsigned i = 0; i < seen_count; i++)
                if (seen[i] == address)
                        return;
        if (seen_count < ADDRESSES)
                seen[seen_count++] = address;
}

static void *load(const char *path, int apart)
{
        void *library = apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
                              : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
                truth_die("reloads: cannot load\n");
        return library;
}

/* Two blocks from the library, one of them lost. */
static uintptr_t use(void *library, size_t size)
{
        allocator *allocate = (allocator *)dlsym(library, "outer_a");
        if (!allocate)
                truth_die("reloads: no function\n");
        for (int i = 0; i < 2; i++) {
                void *p = allocate(size);
                if (i == 0)
                        free(p);
        }
        lost++;
        return (uintptr_t)allocate;
}

/* Make sure that nothing is loaded there again.  By the system call itself, and side by side: one
 * mapping in the end, of which nobody else knows. */
static void take(uintptr_t base, uintptr_t end)
{
        long at = syscall(SYS_mmap, base, end - base, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != (long)base)
                truth_die("reloads: cannot take an address\n");
}

/* Neighbours that differ stay mappings of their own. */
static void crowd(void)
{
        char *at = mmap(NULL, 3000 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
        for (int i = 0; at != MAP_FAILED && i < 3000; i += 2)
                if (mprotect(at + (size_t)i * PAGE, PAGE, PROT_NONE) != 0)
                        truth_die("reloads: cannot crowd\n");
}

static int measure(struct dl_phdr_info *info, size_t size, void *wanted)
{
        uintptr_t *range = wanted;
        (void)size;
        if (info->dlpi_addr != range[0])
                return 0;
        for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_LOAD)
                        range[1] = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
                                    info->dlpi_phdr[i].p_memsz + PAGE - 1) &
                                   ~(PAGE - 1);
        return 1;
}

static void put_file(const char *from, const char *to, int copy)
{
        char part[65536];
        ssize_t n;
        int in, out;
        unlink(to);
        if (!copy) {
                if (link(from, to) != 0)
                        truth_die("reloads: cannot link\n");
                return;
        }
        in = open(from, O_RDONLY | O_CLOEXEC);
        out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        while ((n = read(in, part, sizeof part)) > 0)
                if (write(out, part, (size_t)n) != n)
                        truth_die("reloads: cannot write\n");
        if (in < 0 || out < 0 || n < 0)
                truth_die("reloads: cannot copy\n");
        close(in);
        close(out);
}

static void round_of(const char *how, int i, int files, char **file)
{
        const char *path = file[0];
        void *library, *other = NULL;
        uintptr_t at, range[2] = { 0, 0 };
        Dl_info where;
        if (!strcmp(how, "turns"))
                path = file[i % files];
        if (!strcmp(how, "replaced"))
                put_file(file[1 + i % (files - 1)], path, 0);
        if (!strcmp(how, "copied"))
                put_file(file[1], path, 1);
        library = load(path, 0);
        if (!strcmp(how, "twice"))
                other = load(path, 1);
        at = use(library, 100);
        see(at);
        if (!dladdr((void *)at, &where))
                truth_die("reloads: not loaded\n");
        range[0] = (uintptr_t)where.dli_fbase;
        dl_iterate_phdr(measure, range);
        if (other)
                use(other, 100);
        dlclose(library);
        if (other)
                dlclose(other);
        if (!strcmp(how, "moving") || !strcmp(how, "crowded"))
                take(range[0], range[1]);
}

int main(int argc, char **argv)
{
        int rounds = argc > 3 ? atoi(argv[2]) : 0;
        if (rounds && !strcmp(argv[1], "crowded"))
                crowd();
        for (int i = 0; i < rounds; i++)
                round_of(argv[1], i, argc - 3, argv + 3);
        truth_say("fact addresses=%u\nfact lost=%u\n", seen_count, lost);
        return 0;
}
