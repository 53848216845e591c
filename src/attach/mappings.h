/* SPDX-License-Identifier: MIT */
/* mappings.h -- the mappings of a process, by address. */
#ifndef SEEP_ATTACH_MAPPINGS_H
#define SEEP_ATTACH_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

struct mapping {
        uint64_t start, end, offset; /* OFFSET: where START is in the file */
        bool readable, writable, executable, shared, anonymous;
        const char *path; /* in the text; ends with the line.  "" where there is none */
        bool kernel;  /* [vdso] */
        bool missing; /* not in the copy of the process */
};

struct mappings {
        struct mapping *at; /* by address */
        uint32_t count;
};

/* TEXT: /proc/PID/maps; must outlive M. */
void mappings_parse(struct mappings *m, const char *text);
void mappings_free(struct mappings *m);

/* NULL: nothing is mapped there. */
const struct mapping *mappings_find(const struct mappings *m, uint64_t address);

/* Index of the first one that ends behind ADDRESS. */
uint32_t mappings_from(const struct mappings *m, uint64_t address);

/* Mark what COPY has not. */
void mappings_compare(struct mappings *m, const struct mappings *copy);

#endif
