/* SPDX-License-Identifier: MIT */
/*
 * gpu_static.c -- as a program with a runtime that is linked statically: functions of the driver
 * are asked for by name.
 *
 * Room:   tests only.  usage: gpu_static dlsym|cuGetProcAddress [late].  Prints "ready" when it has
 *         them, and goes on when its input has ended; late: it loads the driver only then, as
 *         runtimes do at their first call.  Says what is left (fact NAME=BYTES) and how often it
 *         got memory (fact calls=N).
 */
#include "truth.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

typedef int give(uint64_t *, size_t, ...);
typedef int take(uint64_t, ...);

static struct {
        const char *name, *versioned;
        void *at;
} functions[] = {
        { "cuMemAlloc", "cuMemAlloc_v2", NULL },
        { "cuMemFree", "cuMemFree_v2", NULL },
        { "cuMemAllocAsync", "cuMemAllocAsync", NULL },
        { "cuMemFreeAsync", "cuMemFreeAsync", NULL },
        { "cuMemHostAlloc", "cuMemHostAlloc", NULL },
        { "cuMemFreeHost", "cuMemFreeHost", NULL },
        { "cuMemCreate", "cuMemCreate", NULL },
        { "cuMemRelease", "cuMemRelease", NULL },
};

static void find_all(int by_name)
{
        void *driver = dlopen("./libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        int (*ask)(const char *, void **, int, uint64_t);

        if (!driver)
                truth_die("gpu_static: no driver\n");
        *(void **)&ask = dlsym(driver, "cuGetProcAddress");
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
                if (by_name)
                        functions[i].at = dlsym(driver, functions[i].versioned);
                else if (ask(functions[i].name, &functions[i].at, 12000, 0) != 0)
                        functions[i].at = NULL;
                if (!functions[i].at)
                        truth_die("gpu_static: no function\n");
        }
}

/* The runtime. */
static int __attribute__((noinline)) cudaMalloc(int pair, uint64_t *to, size_t bytes)
{
        free(malloc(33));
        return ((give *)functions[2 * pair].at)(to, bytes, NULL, NULL);
}

static int __attribute__((noinline)) cudaFree(int pair, uint64_t handle)
{
        return ((take *)functions[2 * pair + 1].at)(handle, NULL);
}

int main(int argc, char **argv)
{
        static uint64_t left[4];
        size_t size = 1000, calls = 0;
        char byte;

        bool late = argc > 2, by_name = argc > 1 && strcmp(argv[1], "dlsym") == 0;

        if (!late)
                find_all(by_name);
        if (write(1, "ready\n", 6) != 6)
                return 1;
        while (read(0, &byte, 1) > 0)
                ;
        if (late)
                find_all(by_name);
        for (int i = 0; i < 12; i++, size += 512) {
                uint64_t handle = 0;

                if (cudaMalloc(i % 4, &handle, size) != 0)
                        truth_die("gpu_static: no memory\n");
                calls++;
                if (i < 4 && cudaFree(i % 4, handle) != 0)
                        truth_die("gpu_static: not released\n");
                else if (i >= 4)
                        left[i % 4] += size;
        }
        truth_say("fact device=%llu\n", (unsigned long long)(left[0] + left[1]));
        truth_say("fact host=%llu\n", (unsigned long long)left[2]);
        truth_say("fact handles=%llu\n", (unsigned long long)left[3]);
        truth_say("fact calls=%llu\n", (unsigned long long)calls);
        return 0;
}
