/* SPDX-License-Identifier: MIT */
/*
 * entries.h -- the functions with breakpoints: names, effects, and the arguments that give sizes.
 *
 * X(name, symbol, does, kind, size, count, align)
 *
 * SIZE, COUNT and ALIGN are places among the arguments; NO: it has none.  Where a library has one
 * function by several names (glibc: aligned_alloc and memalign), the first of them here is meant.
 */
#ifndef SEEP_BREAKPOINT_ENTRIES_H
#define SEEP_BREAKPOINT_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"

enum entry_does {
        DOES_ALLOC,   /* returns a block */
        DOES_STORE,   /* ... in the place that its first argument points to; posix_memalign */
        DOES_REALLOC,
        DOES_FREE,
        DOES_MAP,
        DOES_UNMAP,
        DOES_REMAP,
        DOES_EXIT, /* the process ends ... */
        DOES_EXEC  /* ... or becomes another program */
};

#define ENTRY_NO 7u

#define ENTRIES(X)                                                                              \
        X(MALLOC, "malloc", ALLOC, MALLOC, 0, NO, NO)                                           \
        X(FREE, "free", FREE, MALLOC, NO, NO, NO)                                               \
        X(CALLOC, "calloc", ALLOC, CALLOC, 1, 0, NO)                                            \
        X(REALLOC, "realloc", REALLOC, REALLOC, 1, NO, NO)                                      \
        X(REALLOCARRAY, "reallocarray", REALLOC, REALLOCARRAY, 2, 1, NO)                        \
        X(POSIX_MEMALIGN, "posix_memalign", STORE, POSIX_MEMALIGN, 2, NO, NO)                   \
        X(ALIGNED_ALLOC, "aligned_alloc", ALLOC, ALIGNED_ALLOC_BY, 1, NO, 0)                    \
        X(MEMALIGN, "memalign", ALLOC, MEMALIGN, 1, NO, NO)                                     \
        X(VALLOC, "valloc", ALLOC, VALLOC, 0, NO, NO)                                           \
        X(PVALLOC, "pvalloc", ALLOC, PVALLOC, 0, NO, NO)                                        \
        X(CFREE, "cfree", FREE, MALLOC, NO, NO, NO)                                             \
        X(FREE_SIZED, "free_sized", FREE, MALLOC, 1, NO, NO)                                    \
        X(FREE_ALIGNED_SIZED, "free_aligned_sized", FREE, MALLOC, 2, NO, 1)                     \
        X(NEW, "_Znwm", ALLOC, NEW, 0, NO, NO)                                                  \
        X(NEW_A, "_Znam", ALLOC, NEW_ARRAY, 0, NO, NO)                                          \
        X(NEW_N, "_ZnwmRKSt9nothrow_t", ALLOC, NEW, 0, NO, NO)                                  \
        X(NEW_A_N, "_ZnamRKSt9nothrow_t", ALLOC, NEW_ARRAY, 0, NO, NO)                          \
        X(NEW_BY, "_ZnwmSt11align_val_t", ALLOC, NEW_ALIGNED, 0, NO, 1)                         \
        X(NEW_A_BY, "_ZnamSt11align_val_t", ALLOC, NEW_ARRAY_ALIGNED, 0, NO, 1)                 \
        X(NEW_BY_N, "_ZnwmSt11align_val_tRKSt9nothrow_t", ALLOC, NEW_ALIGNED, 0, NO, 1)         \
        X(NEW_A_BY_N, "_ZnamSt11align_val_tRKSt9nothrow_t", ALLOC, NEW_ARRAY_ALIGNED, 0, NO, 1) \
        X(DELETE, "_ZdlPv", FREE, NEW, NO, NO, NO)                                              \
        X(DELETE_A, "_ZdaPv", FREE, NEW_ARRAY, NO, NO, NO)                                      \
        X(DELETE_N, "_ZdlPvRKSt9nothrow_t", FREE, NEW, NO, NO, NO)                              \
        X(DELETE_A_N, "_ZdaPvRKSt9nothrow_t", FREE, NEW_ARRAY, NO, NO, NO)                      \
        X(DELETE_S, "_ZdlPvm", FREE, NEW, 1, NO, NO)                                            \
        X(DELETE_A_S, "_ZdaPvm", FREE, NEW_ARRAY, 1, NO, NO)                                    \
        X(DELETE_BY, "_ZdlPvSt11align_val_t", FREE, NEW, NO, NO, 1)                             \
        X(DELETE_A_BY, "_ZdaPvSt11align_val_t", FREE, NEW_ARRAY, NO, NO, 1)                     \
        X(DELETE_BY_N, "_ZdlPvSt11align_val_tRKSt9nothrow_t", FREE, NEW, NO, NO, 1)             \
        X(DELETE_A_BY_N, "_ZdaPvSt11align_val_tRKSt9nothrow_t", FREE, NEW_ARRAY, NO, NO, 1)     \
        X(DELETE_S_BY, "_ZdlPvmSt11align_val_t", FREE, NEW, 1, NO, 2)                           \
        X(DELETE_A_S_BY, "_ZdaPvmSt11align_val_t", FREE, NEW_ARRAY, 1, NO, 2)                   \
        X(MMAP, "mmap", MAP, MMAP, 1, NO, NO)                                                   \
        X(MMAP64, "mmap64", MAP, MMAP, 1, NO, NO)                                               \
        X(MUNMAP, "munmap", UNMAP, MMAP, 1, NO, NO)                                             \
        X(MREMAP, "mremap", REMAP, MREMAP, 2, NO, NO)                                           \
        X(EXIT, "_exit", EXIT, NONE, NO, NO, NO)                                                \
        X(EXIT_C, "_Exit", EXIT, NONE, NO, NO, NO)                                              \
        X(EXECVE, "execve", EXEC, NONE, NO, NO, NO)                                             \
        X(EXECVEAT, "execveat", EXEC, NONE, NO, NO, NO)                                         \
        X(FEXECVE, "fexecve", EXEC, NONE, NO, NO, NO)

enum entry_number {
#define ENTRY_ENUM(name, symbol, does, kind, size, count, align) ENTRY_##name,
        ENTRIES(ENTRY_ENUM)
#undef ENTRY_ENUM
        ENTRY_COUNT
};

struct entry {
        const char *symbol;
        uint8_t does, kind, size, count, align;
};

extern const struct entry entries[ENTRY_COUNT];

/* -1: not one of them. */
int entry_named(const char *symbol);

/* Whether it is looked at with these WIRE_F_*. */
bool entry_wanted(uint32_t number, uint32_t flags);

#endif
