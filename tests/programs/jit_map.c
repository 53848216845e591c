/* SPDX-License-Identifier: MIT */
/*
 * jit_map.c -- code made at run time calls malloc; its names are in the map that such compilers
 * write for perf.
 *
 * Room:   tests only; x86-64.  The map is left behind (fact map=PID), as compilers do.  -DNO_MAP:
 *         none is written. argv[1] "wait": ends when standard input does. -DMEMFD: the code lies in
 *         a file without a name, as some compilers have it.
 */
#include "truth.h"

#include <stdlib.h>
#include <sys/mman.h>

typedef void *thunk(size_t);

enum { THUNK_BYTES = 32 };

/* push rbp; mov rbp, rsp; mov rax, TARGET; call rax; pop rbp; ret: the argument passes through. */
static thunk *make_thunk(unsigned char *at, void *target)
{
        static const unsigned char before[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 };
        static const unsigned char after[] = { 0xff, 0xd0, 0x5d, 0xc3 };

        memcpy(at, before, sizeof before);
        memcpy(at + sizeof before, &target, 8);
        memcpy(at + sizeof before + 8, after, sizeof after);
        return (thunk *)(void *)at;
}

#ifndef NO_MAP
static void write_map(const unsigned char *code)
{
        uintptr_t at = (uintptr_t)code;
        char name[64];
        FILE *map;

        snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
        map = fopen(name, "w");
        if (!map)
                truth_die("jit_map: no map\n");
        fprintf(map, "%lx %x dropped_and_overwritten\n", at, 4 * THUNK_BYTES);
        fprintf(map, "not a line\n\n%lx\nffffffffffffffff ffffffffffffffff wraps\n0 0 nothing\n",
                at);
        fprintf(map, "%lx %x made_caller in script.js:7\n", at, THUNK_BYTES);
        fprintf(map, "%lx %x made_\033allocator\n", at + THUNK_BYTES, THUNK_BYTES);
        fprintf(map, "%lx %x cut off in the mid", at, 4 * THUNK_BYTES);
        fclose(map);
}
#endif

static unsigned char *make_room(void)
{
#ifdef MEMFD
        int fd = memfd_create("compiled", 0), flags = MAP_SHARED;

        if (ftruncate(fd, 4096) != 0)
                truth_die("jit_map: no file\n");
#else
        int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
        return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);
}

int main(int argc, char **argv)
{
        unsigned char *code = make_room();
        thunk *allocator, *caller;
        char byte;

        if (code == MAP_FAILED)
                truth_die("jit_map: no memory\n");
        allocator = make_thunk(code + THUNK_BYTES, (void *)malloc);
        caller = make_thunk(code, (void *)allocator);
#ifndef NO_MAP
        write_map(code);
#endif
        truth_say("fact map=%d\n", (int)getpid());
        if (!caller(4001))
                truth_die("jit_map: no block\n");
        if (argc > 1 && strcmp(argv[1], "wait") == 0 && read(0, &byte, 1) != 0)
                truth_die("jit_map: standard input should only be closed\n");
        return 0;
}
