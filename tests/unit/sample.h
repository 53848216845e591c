/* SPDX-License-Identifier: MIT */
/*
 * sample.h -- made-up recordings for tests: valid, but with numbers no real program would give.
 */
#ifndef SEEP_TESTS_UNIT_SAMPLE_H
#define SEEP_TESTS_UNIT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* A generator that gives the same numbers everywhere (xorshift64*); state must not be 0. */
uint64_t sample_random(uint64_t *state);

/* Fill P (release with profile_free): up to SIZE records in each array, from SEED.  Every field is
 * set. */
void sample_profile(struct profile *p, uint64_t seed, uint32_t size);

/* Where A and B differ, as static text; NULL when they are equal in every field. */
const char *sample_difference(const struct profile *a, const struct profile *b);

/* Walk over everything that an index points to, as a report would; the result is of no use, but
 * reading it under AddressSanitizer shows an index that leads outside. */
uint64_t sample_touch(const struct profile *p);

/* The part of each that is about leaks (sample_leaks.c). */
void sample_fill_leaks(struct profile *p, uint64_t *state, uint32_t size);
const char *sample_leaks_difference(const struct profile *a, const struct profile *b);
uint64_t sample_leaks_touch(const struct profile *p);

/* Records without padding or pointers are compared as bytes. */
#define SAMPLE_DIFFERS(array, counter) \
        (a->counter != b->counter ||   \
         (a->counter && memcmp(a->array, b->array, a->counter * sizeof *a->array)))

#endif
