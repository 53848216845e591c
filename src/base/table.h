/* SPDX-License-Identifier: MIT */
/*
 * table.h -- hash tables with numbers as values.
 *
 * The things themselves stand in a list of the caller's, in the order in which they came; the
 * table has their places in that list.  So it knows nothing of keys but their hashes, and
 * nothing moves when it grows.
 *
 *     uint32_t n = TABLE_NUMBER(&names->table, table_hash(a, b), i,
 *                               names->list[i].a == a && names->list[i].b == b);
 *
 *     if (n == names->count) {
 *             names->list = heap_next(names->list, names->count, sizeof *names->list);
 *             names->list[names->count++] = (struct name){ a, b };
 *     }
 *
 * Cost:   8 bytes a slot, open addressing, at most half full.
 */
#ifndef SEEP_BASE_TABLE_H
#define SEEP_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_slot {
        uint32_t hash;
        uint32_t number; /* of the thing, counted from 1; 0: free */
};

/* Zeroed: empty.  COUNT may be set before the first thing comes: it is the first number given. */
struct table {
        struct table_slot *slots;
        uint32_t room, count;
};

void table_widen(struct table *t);
void table_free(struct table *t);

/* ---- hashes ---- */

static inline uint32_t table_hash(uint64_t a, uint64_t b)
{
        uint64_t hash = a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu;

        return (uint32_t)((hash ^ hash >> 29) * 0x9e3779b97f4a7c15u >> 32);
}

uint32_t table_hash_text(const char *text);

/* ---- search ---- */

/* The slot of the thing with hash OF for which SAME, an expression of its number I, is true; a free
 * slot if there is none.  The table must have room for one more. */
#define TABLE_SLOT(in, of, i, same)                                                            \
        __extension__({                                                                        \
                const struct table *table_in = (in);                                           \
                uint32_t table_of = (of), table_at = table_of & (table_in->room - 1);          \
                                                                                               \
                for (;; table_at = (table_at + 1) & (table_in->room - 1)) {                    \
                        uint32_t i = table_in->slots[table_at].number - 1;                     \
                                                                                               \
                        if (i == UINT32_MAX)                                                   \
                                break;                                                         \
                        if (table_in->slots[table_at].hash == table_of && (same))              \
                                break;                                                         \
                }                                                                              \
                &table_in->slots[table_at];                                                    \
        })

/* The number of that thing; the next number, the table's COUNT until now, where it is new. */
#define TABLE_NUMBER(in, of, i, same)                                                          \
        __extension__({                                                                        \
                struct table *table_to = (in);                                                 \
                uint32_t table_with = (of);                                                    \
                struct table_slot *table_found;                                                \
                                                                                               \
                if ((uint64_t)table_to->count * 2 >= table_to->room)                           \
                        table_widen(table_to);                                                 \
                table_found = TABLE_SLOT(table_to, table_with, i, same);                       \
                if (!table_found->number) {                                                    \
                        table_found->hash = table_with;                                        \
                        table_found->number = ++table_to->count;                               \
                }                                                                              \
                table_found->number - 1;                                                       \
        })

#endif
