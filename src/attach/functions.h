/* SPDX-License-Identifier: MIT */
/*
 * functions.h -- the functions of an ELF file by name, from its dynamic and its full symbol table.
 *
 * Keeps:  no byte of the file is trusted.  Addresses are those of the file.  Names of one function
 *         (aliases, versions) are entries of their own with one address.
 */
#ifndef SEEP_ATTACH_FUNCTIONS_H
#define SEEP_ATTACH_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct function {
        const char *name; /* lives as long as the table */
        uint64_t address;
        uint64_t size; /* 0 not known */
        uint64_t room; /* in which no other function begins; 0 not known */
        bool resolver; /* of an indirect function: what is there returns the function */
        bool exported; /* other objects can call it by this name */
};

struct functions {
        struct function *at; /* by name, and of one name by address */
        uint32_t count;
        struct functions_file *file;
        bool recognized; /* by their code (recognize.h): names are of the table's own */
};

/* All of the file FD, which need not stay open.  false: E; one without symbols has none. */
bool functions_read(struct functions *f, int fd, struct err *e);
void functions_free(struct functions *f);

/* Put entries that were added in order; of the same ones, one is kept. */
void functions_sort(struct functions *f);

/* The first of that NAME, and how many follow with it; NULL: there is none. */
const struct function *functions_find(const struct functions *f, const char *name, uint32_t *count);

#endif
