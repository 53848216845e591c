/* SPDX-License-Identifier: MIT */
/*
 * hooks_gpu.c -- memory of graphics processors as resources (record --track-gpu).
 *
 * Room:   inside; called by the program.  Only in gpu/libseep.so, which is preloaded in place of
 *         libseep.so (a program that asks whether it has cudaMalloc is not to find ours otherwise),
 *         and in the library that is written into running processes: there the functions of
 *         libcuda itself lead here, however the program found them.
 * Keeps:  the runtime's functions may call the driver's: the outermost call is the event.  What
 *         they allocate on the heap meanwhile is recorded as usual.  Memory is noted after it was
 *         given and forgotten before it is taken back, so that its address cannot be another's.
 *         Where no library has the real function, the call fails as it does without a device.
 */
#ifndef SEEP_GPU
#define SEEP_GPU 1 /* also where this file is compiled by itself */
#endif
#include "agent/hello.h"
#include "agent/hook.h"
#include "agent/resource.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define GPU_DEVICE "gpu"       /* addresses of the device, or of both sides (managed) */
#define GPU_HOST "gpu-host"    /* memory of the host that the device reaches */
#define GPU_HANDLE "gpu-handle" /* physical memory, mapped later (cuMemCreate) */

/* The thread to record a call of CALLER for; NULL: it was made inside of another one, or nothing is
 * recorded.  The inner one is known by where its stack is: libraries of graphics processors need
 * not have unwind tables.  A child of vfork() shares our memory, and none of the device's. */
static struct thread *enter(struct arch_state caller)
{
        struct thread *t = agent_on() && sys_pid() == agent.pid ? hook_enter(caller) : NULL;

        if (!t)
                return NULL;
        hook_work(t);
        if (t->gpu_sp && caller.sp < t->gpu_sp) {
                hook_leave(t);
                return NULL;
        }
        t->gpu_sp = caller.sp;
        return t;
}

/* The real function runs: we are outside, but not gone. */
static void pause_work(struct thread *t)
{
        compiler_barrier();
        if (t)
                t->inside = 0;
        compiler_barrier();
}

static void resume_work(struct thread *t)
{
        hook_work(t);
        t->gpu_sp = 0;
}

/* A call that returns 0 when it has put the handle of BYTES bytes into HANDLE. */
#define GIVES(NAME, SYMBOL, TYPE, PARAMETERS, ARGUMENTS, HANDLE, BYTES)        \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                struct arch_state caller;                                      \
                struct thread *t;                                              \
                int status;                                                    \
                                                                               \
                ARCH_FRAME(caller);                                            \
                t = enter(caller);                                             \
                pause_work(t);                                                 \
                status = REAL(NAME##_) ARGUMENTS;                              \
                if (!t)                                                        \
                        return status;                                         \
                resume_work(t);                                                \
                if (status == 0 && (HANDLE))                                   \
                        resource_acquire(t, resource_kind(TYPE), HANDLE, BYTES, caller); \
                hook_leave(t);                                                 \
                return status;                                                 \
        }

#define TAKES(NAME, SYMBOL, TYPE, PARAMETERS, ARGUMENTS)                       \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                struct arch_state caller;                                      \
                struct thread *t;                                              \
                int status;                                                    \
                                                                               \
                ARCH_FRAME(caller);                                            \
                t = enter(caller);                                             \
                if (t && handle)                                               \
                        resource_release(t, resource_kind(TYPE), handle, caller); \
                pause_work(t);                                                 \
                status = REAL(NAME##_) ARGUMENTS;                              \
                if (!t)                                                        \
                        return status;                                         \
                resume_work(t);                                                \
                hook_leave(t);                                                 \
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

#ifdef SEEP_INJECTED

/* The loader calls this function, which does nothing, for debuggers: its list has changed.  A
 * library that has just come is patched by the observer before anybody can call it. */
void hook_dl_debug_state(void) HOOK("_dl_debug_state");
void hook_dl_debug_state(void)
{
        real.dl_debug_state();
        if (agent_on() && sys_pid() == agent.pid && agent.socket && !agent.sandboxed &&
            real_gpu_came())
                hello_loaded(agent.socket);
}
#endif
