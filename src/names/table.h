/* SPDX-License-Identifier: MIT */
/* table.h -- the functions or variables of a module by address, from its symbol tables. */
#ifndef SEEP_NAMES_TABLE_H
#define SEEP_NAMES_TABLE_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct table_entry {
        uint64_t start, end;
        const char *name; /* mangled; belongs to the Dwfl */
        uint32_t rank;    /* among names of one place the smallest is taken */
        uint32_t local;   /* not visible outside of its file */
};

struct table {
        struct table_entry *entries; /* sorted by start */
        size_t count;
        uint64_t longest; /* size of the largest entry: how far back a search must look */
};

enum table_kind {
        TABLE_CODE,
        TABLE_DATA,
        TABLE_THREAD /* thread-local variables; addresses are offsets in the module's thread-local storage */
};

/* From .symtab, or .dynsym and .gnu_debugdata where that was stripped. */
void table_read(struct table *t, Dwfl_Module *module, enum table_kind kind);
void table_free(struct table *t);

/* The entry that covers ADDRESS, NULL if none does: never the nearest one before it. */
const struct table_entry *table_find(const struct table *t, uint64_t address);

#endif
