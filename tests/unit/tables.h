/* SPDX-License-Identifier: MIT */
/*
 * tables.h -- writes unwind tables, and stands in for the rest of the agent around the code that
 * reads them.
 *
 * The memory of a table ends at a page that cannot be read: who reads behind it is seen without a
 * sanitizer too.
 */
#ifndef SEEP_TESTS_UNIT_TABLES_H
#define SEEP_TESTS_UNIT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/object.h"
#include "agent/thread.h"

/* The code that the tables are about lies so far behind their start; nobody reads it. */
#define TABLES_CODE 0x100000u

struct tables {
        uint8_t data[4096];
        size_t size;
        size_t frames;  /* where .eh_frame begins; before it the header */
        size_t cie;     /* the last one */
        struct { uint32_t start; size_t at; } fdes[16];
        size_t fde_count;
};

struct tables_cie {
        uint8_t version;            /* 0: 1 */
        const char *augmentation;   /* NULL: "zR" with ENCODING */
        uint8_t encoding;           /* 0: relative to itself, 4 bytes */
        const uint8_t *program;     /* NULL: CFA = sp + 8, return address at CFA - 8 */
        size_t program_bytes;
};

void tables_byte(struct tables *t, uint8_t byte);
void tables_bytes(struct tables *t, const void *bytes, size_t count);
void tables_u32(struct tables *t, uint32_t value);
void tables_uleb(struct tables *t, uint64_t value);
void tables_set_u32(struct tables *t, size_t at, uint32_t value);

/* An empty header with room for COUNT entries; tables_finish fills it. */
void tables_begin(struct tables *t, size_t count);
void tables_cie(struct tables *t, const struct tables_cie *c);
/* For the code [START, START + SIZE), from TABLES_CODE; the entries in the order of START. */
void tables_fde(struct tables *t, uint32_t start, uint32_t size, const void *program, size_t bytes);
void tables_finish(struct tables *t);

/* Two functions: one that pushes its frame pointer and makes it the base, one whose CFA is an
 * expression. */
void tables_sample(struct tables *t);

/* A copy of COUNT bytes in memory that ends where nothing can be read.  It stays until the next
 * one. */
uint8_t *tables_place(const void *bytes, size_t count);

/* That memory as an object: all of it readable, its header at the start (OFFSET 0) or none
 * (SIZE_MAX).  rule.c finds it as number 0. */
extern struct object tables_object;
void tables_open(const uint8_t *memory, size_t count, size_t header);

/* A thread for rule.c and expression.c; it can read what tables_place placed and [0x1000, 0x2000),
 * where each word is its address. */
extern struct thread tables_thread;

/* All memory that the agent's code took. */
void tables_release(void);

/* A file with these bytes, read from its start; the same descriptor each time. */
int tables_file(const void *bytes, size_t count);

#endif
