/* SPDX-License-Identifier: MIT */
/*
 * tables_gone.c -- functions whose unwind tables go while the program runs; argv[1] says how.
 *
 * Room:   tests only.  There are so many functions that the tables take several pages of their own.
 *         A few are called first, by all of them memory is allocated afterwards.
 */
#include "truth.h"

#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define ONE(n)                                                                 \
        __attribute__((noinline)) static void *f##n(size_t bytes)              \
        {                                                                      \
                void *volatile p = malloc(bytes);                              \
                                                                               \
                return p;                                                      \
        }
#define NAME(n) f##n,
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define SOME(X, n)                                                                           \
        EIGHT(X, n##0) EIGHT(X, n##1) EIGHT(X, n##2) EIGHT(X, n##3) EIGHT(X, n##4)           \
        EIGHT(X, n##5) EIGHT(X, n##6) EIGHT(X, n##7)
#define MANY(X, n)                                                                           \
        SOME(X, n##0) SOME(X, n##1) SOME(X, n##2) SOME(X, n##3) SOME(X, n##4) SOME(X, n##5)  \
        SOME(X, n##6) SOME(X, n##7)

MANY(ONE, 1)
static void *(*const functions[])(size_t) = {MANY(NAME, 1)};

enum { COUNT = sizeof functions / sizeof *functions };

/* The linker puts the tables behind all constants. */
static const char constants[8192] = {1};

static struct { uintptr_t start, end; } tables; /* whole pages of theirs */

static int find(struct dl_phdr_info *info, size_t bytes, void *context)
{
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), table = (uintptr_t)constants + sizeof constants;

        (void)bytes;
        (void)context;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *h = &info->dlpi_phdr[i];
                uintptr_t start = info->dlpi_addr + h->p_vaddr, end = start + h->p_memsz;

                if (h->p_type == PT_LOAD && table >= start && table < end) {
                        tables.start = (table + 2 * page - 1) & -page;
                        tables.end = (end + page - 1) & -page;
                }
        }
        return 1; /* the program is the first one */
}

/* By system calls that nobody sees. */
static long take_away(const char *how)
{
        size_t bytes = tables.end - tables.start;

        if (!strcmp(how, "forbidden"))
                return syscall(SYS_mprotect, tables.start, bytes, PROT_NONE);
        if (!strcmp(how, "unmapped"))
                return syscall(SYS_munmap, tables.start, bytes);
        if (!strcmp(how, "beyond")) /* the end of a file: SIGBUS there */
                return syscall(SYS_mmap, tables.start, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                               syscall(SYS_memfd_create, "empty", 0), 0) == -1;
        return 0;
}

int main(int argc, char **argv)
{
        dl_iterate_phdr(find, NULL);
        for (size_t i = 0; i < COUNT; i += 50)
                free(functions[i](100));
        if (argc < 2 || tables.end - tables.start < 8192 || take_away(argv[1]) != 0)
                truth_die("tables_gone: not set up\n");
        for (size_t i = 0; i < COUNT; i++)
                free(functions[i](1000));
        truth_say("fact calls=%d\n", COUNT + (COUNT + 49) / 50);
        return 0;
}
