/* SPDX-License-Identifier: MIT */
/*
 * gpu_runtime.c -- stand-ins for libcudart, libcuda and libamdhip64: memory of a device that is not
 * there.
 *
 * Room:   tests only.  -DDRIVER: libcuda; else the runtimes, whose cudaMalloc and hipMalloc call
 *         cuMemAlloc_v2 through their PLT. Addresses count up from 0x700000000; a size of 0 fails.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef DRIVER
static uint64_t next = 0x700000000u;

static int give(uint64_t *to, size_t bytes)
{
        if (!bytes)
                return 2;
        *to = next;
        next += (bytes + 511) & ~(size_t)511;
        return 0;
}

#define GIVE(NAME, ...) int NAME(uint64_t *to, size_t bytes, ##__VA_ARGS__); \
        int NAME(uint64_t *to, size_t bytes, ##__VA_ARGS__) { return give(to, bytes); }
#define TAKE(NAME, ...) int NAME(__VA_ARGS__); int NAME(__VA_ARGS__) { return handle ? 0 : 1; }

#pragma GCC diagnostic ignored "-Wunused-parameter"
GIVE(cuMemAlloc_v2)
GIVE(cuMemAllocAsync, void *stream)
GIVE(cuMemAllocManaged, unsigned flags)
GIVE(cuMemAllocFromPoolAsync, void *pool, void *stream)
GIVE(cuMemAllocHost_v2)
GIVE(cuMemHostAlloc, unsigned flags)
GIVE(cuMemCreate, const void *properties, uint64_t flags)
TAKE(cuMemFree_v2, uint64_t handle)
TAKE(cuMemFreeAsync, uint64_t handle, void *stream)
TAKE(cuMemFreeHost, uint64_t handle)
TAKE(cuMemRelease, uint64_t handle)

int cuMemAllocPitch_v2(uint64_t *to, size_t *pitch, size_t width, size_t height, unsigned unit);
int cuMemAllocPitch_v2(uint64_t *to, size_t *pitch, size_t width, size_t height, unsigned unit)
{
        *pitch = (width + 511) & ~(size_t)511;
        return give(to, *pitch * height);
}

/* As the driver's: without going through a name that somebody else may have, too. */
int cuGetProcAddress(const char *name, void **to, int version, uint64_t flags);
int cuGetProcAddress(const char *name, void **to, int version, uint64_t flags)
{
        static const struct { const char *name; void *at; } all[] = {
                { "cuMemAlloc", cuMemAlloc_v2 },         { "cuMemFree", cuMemFree_v2 },
                { "cuMemAllocAsync", cuMemAllocAsync },  { "cuMemFreeAsync", cuMemFreeAsync },
                { "cuMemHostAlloc", cuMemHostAlloc },    { "cuMemFreeHost", cuMemFreeHost },
                { "cuMemCreate", cuMemCreate },          { "cuMemRelease", cuMemRelease },
        };

        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                if (strcmp(all[i].name, name) == 0) {
                        *to = all[i].at;
                        return 0;
                }
        return 500;
}
#else
#include "gpu.h"

int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuMemAllocPitch_v2(uint64_t *, size_t *, size_t, size_t, unsigned);

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define GIVE(NAME, ...) int NAME(uint64_t *to, size_t bytes, ##__VA_ARGS__) \
        { free(malloc(33)); return cuMemAlloc_v2(to, bytes); }
#define TAKE(NAME, ...) int NAME(__VA_ARGS__) { return cuMemFree_v2(handle); }
#define PITCH(NAME) int NAME(uint64_t *to, size_t *pitch, size_t width, size_t height) \
        { return cuMemAllocPitch_v2(to, pitch, width, height, 4); }
#define CUBE(NAME)                                                                               \
        int NAME(struct pitched *to, struct extent e)                                            \
        {                                                                                        \
                to->width = e.width;                                                             \
                to->height = e.height;                                                           \
                return cuMemAllocPitch_v2(&to->pointer, &to->pitch, e.width, e.height * e.depth, \
                                          4);                                                    \
        }
GPU_RUNTIME(GIVE, TAKE, PITCH, CUBE)
#endif
