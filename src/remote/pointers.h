/* SPDX-License-Identifier: MIT */
/*
 * pointers.h -- of memory that is searched on another machine, only the words that point into given
 * ranges
 *
 * Room:   both sides: seep-target packs, a host unpacks (docs/PROTOCOL.md).  No library is needed.
 * Keeps:  what is unpacked is the memory with zeros in place of all other words.  Packed memory is
 *         never longer than it was by more than POINTERS_HEAD.  Neither side trusts a byte.
 * Cost:   some 3 bytes a word that leads there; 1 ns for any other.
 */
#ifndef SEEP_REMOTE_POINTERS_H
#define SEEP_REMOTE_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POINTERS_RANGES_MOST 4096u
#define POINTERS_RANGE_BYTES 16u /* of one on the wire: start and end */
#define POINTERS_HEAD 11u        /* how, and how much could be read */

struct pointers {
        uint32_t count;
        struct {
                uint64_t start, end;
                uint64_t last; /* of the memory that is packed: the word that led there last */
        } range[POINTERS_RANGES_MOST]; /* sorted, disjoint, none is empty */
};

/* Take ranges as they come.  False: they are not what the protocol has; none is known then. */
bool pointers_expect(struct pointers *p, const uint8_t *bytes, size_t count);

/* COUNT bytes of MEMORY, which begins where a word does.  OUT has room for COUNT + POINTERS_HEAD;
 * how many bytes there are. */
size_t pointers_pack(struct pointers *p, const void *memory, uint32_t count, uint32_t width,
                     uint8_t *out);

/* The same back, into TO with ROOM; GOT: so much of the memory could be read.  TURNED: words there
 * have the other byte order.  False: it makes no sense. */
struct pointers_form {
        uint32_t width;
        bool turned;
};
bool pointers_unpack(struct pointers *p, const uint8_t *bytes, size_t count,
                     const struct pointers_form *form, uint8_t *to, size_t room, size_t *got);

#endif
