/* SPDX-License-Identifier: MIT */
/*
 * hooks_gpu.c -- memory of graphics processors as resources (record --track-gpu).
 *
 * Room:   inside; called by the program.  Only in gpu/libseep.so, which is preloaded in place of
 *         libseep.so: a program that asks whether it has cudaMalloc is not to find ours otherwise.
 * Keeps:  the runtime's functions may call the driver's: the outermost call is the event.  What
 *         they allocate on the heap meanwhile is recorded as usual.  Memory is noted after it was
 *         given and forgotten before it is taken back, so that its address cannot be another's.
 *         Where no library has the real function, the call fails as it does without a device.
 */
#ifndef SEEP_GPU
#define SEEP_GPU 1 /* also where this file is compiled by itself */
#endif
#include "agent/hook.h"
#include "agent/resource.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define GPU_DEVICE "gpu"       /* addresses of the device, or of both sides (managed) */
#define GPU_HOST "gpu-host"    /* memory of the host that the device reaches */
#define GPU_HANDLE "gpu-handle" /* physical memory, mapped later (cuMemCreate) */

static __thread uint32_t depth; /* calls under way in this thread */

/* A child of vfork() shares our memory, and none of the device's. */
static struct thread *enter(uint64_t handle, struct arch_state caller)
{
        return handle && agent_on() && sys_pid() == agent.pid ? hook_enter(caller) : NULL;
}

static void note(const char *type, uint64_t handle, uint64_t bytes, struct arch_state caller)
{
        struct thread *t = enter(handle, caller);

        if (!t)
                return;
        hook_work(t);
        resource_acquire(t, resource_kind(type), handle, bytes, caller);
        hook_leave(t);
}

static void forget(const char *type, uint64_t handle, struct arch_state caller)
{
        struct thread *t = enter(handle, caller);

        if (!t)
                return;
        hook_work(t);
        resource_release(t, resource_kind(type), handle, caller);
        hook_leave(t);
}

/* A call that returns 0 when it has put the handle of BYTES bytes into HANDLE. */
#define GIVES(NAME, SYMBOL, TYPE, PARAMETERS, ARGUMENTS, HANDLE, BYTES)        \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                struct arch_state caller;                                      \
                int status;                                                    \
                                                                               \
                depth++;                                                       \
                status = REAL(NAME##_) ARGUMENTS;                              \
                if (--depth == 0 && status == 0) {                             \
                        ARCH_FRAME(caller);                                    \
                        note(TYPE, HANDLE, BYTES, caller);                     \
                }                                                              \
                return status;                                                 \
        }

#define TAKES(NAME, SYMBOL, TYPE, PARAMETERS, ARGUMENTS)                       \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                struct arch_state caller;                                      \
                int status;                                                    \
                                                                               \
                if (depth++ == 0) {                                            \
                        ARCH_FRAME(caller);                                    \
                        forget(TYPE, handle, caller);                          \
                }                                                              \
                status = REAL(NAME##_) ARGUMENTS;                              \
                depth--;                                                       \
                return status;                                                 \
        }

#define PLAIN(NAME, SYMBOL, TYPE)                                              \
        GIVES(NAME, SYMBOL, TYPE, (uint64_t * to, size_t bytes), (to, bytes), *to, bytes)
#define FLAGS(NAME, SYMBOL, TYPE)                                              \
        GIVES(NAME, SYMBOL, TYPE, (uint64_t * to, size_t bytes, unsigned flags), \
              (to, bytes, flags), *to, bytes)
#define STREAM(NAME, SYMBOL)                                                   \
        GIVES(NAME, SYMBOL, GPU_DEVICE, (uint64_t * to, size_t bytes, void *stream), \
              (to, bytes, stream), *to, bytes)
#define POOL(NAME, SYMBOL)                                                     \
        GIVES(NAME, SYMBOL, GPU_DEVICE,                                        \
              (uint64_t * to, size_t bytes, void *pool, void *stream),         \
              (to, bytes, pool, stream), *to, bytes)
#define PITCH(NAME, SYMBOL)                                                    \
        GIVES(NAME, SYMBOL, GPU_DEVICE,                                        \
              (uint64_t * to, size_t *pitch, size_t width, size_t height),     \
              (to, pitch, width, height), *to, *pitch * height)
#define CUBE(NAME, SYMBOL)                                                     \
        GIVES(NAME, SYMBOL, GPU_DEVICE, (struct gpu_pitched *to, struct gpu_extent extent), \
              (to, extent), to->pointer, to->pitch * extent.height * extent.depth)

PLAIN(cuda_malloc, "cudaMalloc", GPU_DEVICE)
STREAM(cuda_malloc_async, "cudaMallocAsync")
STREAM(cuda_malloc_async_ptsz, "cudaMallocAsync_ptsz")
FLAGS(cuda_malloc_managed, "cudaMallocManaged", GPU_DEVICE)
PITCH(cuda_malloc_pitch, "cudaMallocPitch")
CUBE(cuda_malloc_3d, "cudaMalloc3D")
POOL(cuda_malloc_pool, "cudaMallocFromPoolAsync")
POOL(cuda_malloc_pool_ptsz, "cudaMallocFromPoolAsync_ptsz")
PLAIN(cuda_malloc_host, "cudaMallocHost", GPU_HOST)
FLAGS(cuda_host_alloc, "cudaHostAlloc", GPU_HOST)
TAKES(cuda_free, "cudaFree", GPU_DEVICE, (uint64_t handle), (handle))
TAKES(cuda_free_async, "cudaFreeAsync", GPU_DEVICE, (uint64_t handle, void *stream),
      (handle, stream))
TAKES(cuda_free_async_ptsz, "cudaFreeAsync_ptsz", GPU_DEVICE, (uint64_t handle, void *stream),
      (handle, stream))
TAKES(cuda_free_host, "cudaFreeHost", GPU_HOST, (uint64_t handle), (handle))

PLAIN(hip_malloc, "hipMalloc", GPU_DEVICE)
STREAM(hip_malloc_async, "hipMallocAsync")
FLAGS(hip_malloc_managed, "hipMallocManaged", GPU_DEVICE)
PITCH(hip_malloc_pitch, "hipMallocPitch")
CUBE(hip_malloc_3d, "hipMalloc3D")
POOL(hip_malloc_pool, "hipMallocFromPoolAsync")
FLAGS(hip_malloc_flags, "hipExtMallocWithFlags", GPU_DEVICE)
PLAIN(hip_malloc_host, "hipMallocHost", GPU_HOST)
FLAGS(hip_host_malloc, "hipHostMalloc", GPU_HOST)
FLAGS(hip_host_alloc, "hipHostAlloc", GPU_HOST)
TAKES(hip_free, "hipFree", GPU_DEVICE, (uint64_t handle), (handle))
TAKES(hip_free_async, "hipFreeAsync", GPU_DEVICE, (uint64_t handle, void *stream),
      (handle, stream))
TAKES(hip_free_host, "hipFreeHost", GPU_HOST, (uint64_t handle), (handle))
TAKES(hip_host_free, "hipHostFree", GPU_HOST, (uint64_t handle), (handle))

PLAIN(cu_alloc, "cuMemAlloc_v2", GPU_DEVICE)
STREAM(cu_alloc_async, "cuMemAllocAsync")
STREAM(cu_alloc_async_ptsz, "cuMemAllocAsync_ptsz")
FLAGS(cu_alloc_managed, "cuMemAllocManaged", GPU_DEVICE)
GIVES(cu_alloc_pitch, "cuMemAllocPitch_v2", GPU_DEVICE,
      (uint64_t * to, size_t *pitch, size_t width, size_t height, unsigned unit),
      (to, pitch, width, height, unit), *to, *pitch * height)
POOL(cu_alloc_pool, "cuMemAllocFromPoolAsync")
POOL(cu_alloc_pool_ptsz, "cuMemAllocFromPoolAsync_ptsz")
PLAIN(cu_alloc_host, "cuMemAllocHost_v2", GPU_HOST)
FLAGS(cu_host_alloc, "cuMemHostAlloc", GPU_HOST)
GIVES(cu_create, "cuMemCreate", GPU_HANDLE,
      (uint64_t * to, size_t bytes, const void *properties, uint64_t flags),
      (to, bytes, properties, flags), *to, bytes)
TAKES(cu_free, "cuMemFree_v2", GPU_DEVICE, (uint64_t handle), (handle))
TAKES(cu_free_async, "cuMemFreeAsync", GPU_DEVICE, (uint64_t handle, void *stream),
      (handle, stream))
TAKES(cu_free_async_ptsz, "cuMemFreeAsync_ptsz", GPU_DEVICE, (uint64_t handle, void *stream),
      (handle, stream))
TAKES(cu_free_host, "cuMemFreeHost", GPU_HOST, (uint64_t handle), (handle))
TAKES(cu_release, "cuMemRelease", GPU_HANDLE, (uint64_t handle), (handle))
