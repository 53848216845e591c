/* SPDX-License-Identifier: MIT */
/* gpu.h -- functions of CUDA's and HIP's runtimes, as tests/programs/gpu_runtime.c has them. */
#include <stddef.h>
#include <stdint.h>

struct pitched {
        uint64_t pointer;
        size_t pitch, width, height;
};

struct extent {
        size_t width, height, depth;
};

#define GPU_FAMILY(FRONT, GIVE, TAKE, PITCH, CUBE)                              \
        GIVE(FRONT##Malloc)                                                    \
        GIVE(FRONT##MallocAsync, void *stream)                                 \
        GIVE(FRONT##MallocManaged, unsigned flags)                             \
        GIVE(FRONT##MallocFromPoolAsync, void *pool, void *stream)             \
        GIVE(FRONT##MallocHost)                                                \
        GIVE(FRONT##HostAlloc, unsigned flags)                                 \
        PITCH(FRONT##MallocPitch)                                              \
        CUBE(FRONT##Malloc3D)                                                  \
        TAKE(FRONT##Free, uint64_t handle)                                     \
        TAKE(FRONT##FreeAsync, uint64_t handle, void *stream)                  \
        TAKE(FRONT##FreeHost, uint64_t handle)

#define GPU_RUNTIME(GIVE, TAKE, PITCH, CUBE)                                   \
        GPU_FAMILY(cuda, GIVE, TAKE, PITCH, CUBE)                              \
        GPU_FAMILY(hip, GIVE, TAKE, PITCH, CUBE)                               \
        GIVE(hipHostMalloc, unsigned flags)                                    \
        GIVE(hipExtMallocWithFlags, unsigned flags)                            \
        TAKE(hipHostFree, uint64_t handle)

#define GPU_GIVES(NAME, ...) int NAME(uint64_t *to, size_t bytes, ##__VA_ARGS__);
#define GPU_TAKES(NAME, ...) int NAME(__VA_ARGS__);
#define GPU_PITCHED(NAME) int NAME(uint64_t *to, size_t *pitch, size_t width, size_t height);
#define GPU_CUBE(NAME) int NAME(struct pitched *to, struct extent e);
GPU_RUNTIME(GPU_GIVES, GPU_TAKES, GPU_PITCHED, GPU_CUBE)
