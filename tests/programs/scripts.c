/* SPDX-License-Identifier: MIT */
/*
 * scripts.c -- an interpreter as Python 3.12 is one: a trampoline for each function, and a map with
 * their names.
 *
 * Room:   tests only; x86-64.  The trampolines are those of Python, without a frame pointer.  The
 *         map is left behind (fact map=PID).  argv[1] is a library (built of this file with
 *         -DEXTENSION) that loses a block; argv[2] "none": no map is written.
 */
#ifdef EXTENSION
#include <stdlib.h>

void extension_lose(void);
void extension_lose(void)
{
        ((volatile char *)malloc(700))[0] = 1;
}
#else
#include "truth.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { TRAMPOLINE_BYTES = 16, FUNCTIONS = 4 };

typedef void evaluator(long function, long unused, long none);
typedef void trampoline(long function, long unused, long none, evaluator *evaluate);

static const char *const names[FUNCTIONS] = { "py::<module>:/srv/me/p.py", "py::work:/srv/me/p.py",
                                              "py::leak:/srv/me/p.py",
                                              "py::dumps:/usr/lib/python3.12/json/__init__.py" };
static unsigned char *code;
static void *volatile kept[2];
static void (*extension)(void);

static void evaluate(long function, long unused, long none);

static __attribute__((noinline)) void call(long function)
{
        ((trampoline *)(void *)(code + function * TRAMPOLINE_BYTES))(function, 0, 0, evaluate);
        __asm__ volatile("" ::: "memory"); /* not a tail call */
}

/* What the functions of the script do. */
static __attribute__((noinline)) void evaluate(long function, long unused, long none)
{
        (void)unused;
        (void)none;
        if (function == 0 || function == 1)
                call(function + 1);
        if (function == 1)
                call(3);
        if (function == 2) {
                kept[0] = malloc(4001);
                ((volatile char *)malloc(500))[0] = 1;
                extension();
        }
        if (function == 3)
                kept[1] = malloc(6001);
        __asm__ volatile("" ::: "memory");
}

static void write_map(void)
{
        char name[64];
        FILE *map;

        snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
        map = fopen(name, "w");
        if (!map)
                truth_die("scripts: no map\n");
        for (long i = 0; i < FUNCTIONS; i++)
                fprintf(map, "%lx %x %s\n", (long)(code + i * TRAMPOLINE_BYTES), 11, names[i]);
        fclose(map);
}

int main(int argc, char **argv)
{
        /* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
        static const unsigned char bytes[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1,
                                               0x48, 0x83, 0xc4, 8, 0xc3 };
        void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

        code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
        if (!library || code == MAP_FAILED)
                truth_die("scripts: no library or no memory\n");
        extension = (void (*)(void))dlsym(library, "extension_lose");
        for (int i = 0; i < FUNCTIONS; i++)
                memcpy(code + i * TRAMPOLINE_BYTES, bytes, sizeof bytes);
        if (argc < 3)
                write_map();
        truth_say("fact map=%d\n", (int)getpid());
        call(0);
        return 0;
}
#endif
