/* SPDX-License-Identifier: MIT */
/* order.h -- comparison functions for qsort() and the like. */
#ifndef SEEP_BASE_ORDER_H
#define SEEP_BASE_ORDER_H

#include <stdint.h>

/*
 * Below 0 when A comes before B, above 0 when it comes after B, 0 when they are equal.  With
 * several keys, the first that differs decides:
 *
 *     return ORDER(x->address, y->address) ?: ORDER(y->size, x->size);        the largest of one
 *                                                                             address first
 */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* A function NAME for qsort(): elements of TYPE by one FIELD, smallest first. */
#define ORDER_BY(name, type, field)                                            \
        static int name(const void *a, const void *b)                          \
        {                                                                      \
                const type *x = a, *y = b;                                     \
                                                                               \
                return ORDER(x->field, y->field);                              \
        }

/* For qsort() of plain numbers, smallest first. */
static inline int order_u32(const void *a, const void *b)
{
        const uint32_t *x = a, *y = b;

        return ORDER(*x, *y);
}

static inline int order_u64(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;

        return ORDER(*x, *y);
}

#endif
