/* SPDX-License-Identifier: MIT */
/*
 * gpu.c -- gets and releases memory of a device by every function of CUDA, HIP and the driver.
 *
 * Room:   tests only.  Each function that gives memory is called twice, with sizes of its own, and
 *         one of both is released. Says what is left (fact NAME=BYTES of device, host and handles),
 *         and whether the names can be found (fact found=N).
 */
#include "gpu.h"
#include "truth.h"

#include <dlfcn.h>

static uint64_t left_device, left_host, left_handles, calls;
static size_t size = 1000;

int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemAllocAsync(uint64_t *, size_t, void *);
int cuMemAllocManaged(uint64_t *, size_t, unsigned);
int cuMemAllocFromPoolAsync(uint64_t *, size_t, void *, void *);
int cuMemAllocHost_v2(uint64_t *, size_t);
int cuMemHostAlloc(uint64_t *, size_t, unsigned);
int cuMemCreate(uint64_t *, size_t, const void *, uint64_t);
int cuMemAllocPitch_v2(uint64_t *, size_t *, size_t, size_t, unsigned);
int cuMemFree_v2(uint64_t);
int cuMemFreeAsync(uint64_t, void *);
int cuMemFreeHost(uint64_t);
int cuMemRelease(uint64_t);

/* CALL gives memory to `at`, TAKE takes it back. */
#define PAIR(LEFT, CALL, TAKE)                                                 \
        for (int i = 0; i < 2; i++) {                                          \
                uint64_t at = 0;                                               \
                                                                               \
                size += 512;                                                   \
                if ((CALL) != 0)                                               \
                        truth_die("gpu: no memory\n");                         \
                calls++;                                                       \
                if (i)                                                         \
                        LEFT += size;                                          \
                else if ((TAKE) != 0)                                          \
                        truth_die("gpu: not released\n");                      \
        }

#define RUNTIME(FRONT)                                                         \
        PAIR(left_device, FRONT##Malloc(&at, size), FRONT##Free(at))           \
        PAIR(left_device, FRONT##MallocAsync(&at, size, 0), FRONT##FreeAsync(at, 0)) \
        PAIR(left_device, FRONT##MallocManaged(&at, size, 1), FRONT##Free(at)) \
        PAIR(left_device, FRONT##MallocFromPoolAsync(&at, size, 0, 0), FRONT##FreeAsync(at, 0)) \
        PAIR(left_host, FRONT##MallocHost(&at, size), FRONT##FreeHost(at))     \
        PAIR(left_host, FRONT##HostAlloc(&at, size, 0), FRONT##FreeHost(at))

static void __attribute__((noinline)) runtimes(void)
{
        RUNTIME(cuda)
        RUNTIME(hip)
        PAIR(left_host, hipHostMalloc(&at, size, 0), hipHostFree(at))
        PAIR(left_device, hipExtMallocWithFlags(&at, size, 0), hipFree(at))
}

static void __attribute__((noinline)) driver(void)
{
        PAIR(left_device, cuMemAlloc_v2(&at, size), cuMemFree_v2(at))
        PAIR(left_device, cuMemAllocAsync(&at, size, 0), cuMemFreeAsync(at, 0))
        PAIR(left_device, cuMemAllocManaged(&at, size, 0), cuMemFree_v2(at))
        PAIR(left_device, cuMemAllocFromPoolAsync(&at, size, 0, 0), cuMemFreeAsync(at, 0))
        PAIR(left_host, cuMemAllocHost_v2(&at, size), cuMemFreeHost(at))
        PAIR(left_host, cuMemHostAlloc(&at, size, 0), cuMemFreeHost(at))
        PAIR(left_handles, cuMemCreate(&at, size, NULL, 0), cuMemRelease(at))
}

static void __attribute__((noinline)) planes(void)
{
        struct pitched cube;
        uint64_t at;
        size_t pitch;

        if (cudaMallocPitch(&at, &pitch, 1000, 7) || hipMallocPitch(&at, &pitch, 1000, 7) ||
            cuMemAllocPitch_v2(&at, &pitch, 1000, 7, 4))
                truth_die("gpu: no plane\n");
        left_device += 3 * pitch * 7;
        if (cudaMalloc3D(&cube, (struct extent){ 1000, 3, 5 }) ||
            hipMalloc3D(&cube, (struct extent){ 1000, 3, 5 }))
                truth_die("gpu: no cube\n");
        left_device += 2 * cube.pitch * 3 * 5;
        calls += 5;
}

int main(void)
{
        uint64_t none;

        if (cudaMalloc(&none, 0) == 0)
                truth_die("gpu: nothing was given\n");
        runtimes();
        driver();
        planes();
        truth_say("fact device=%llu\n", (unsigned long long)left_device);
        truth_say("fact host=%llu\n", (unsigned long long)left_host);
        truth_say("fact handles=%llu\n", (unsigned long long)left_handles);
        truth_say("fact calls=%llu\n", (unsigned long long)calls);
        return 0;
}
