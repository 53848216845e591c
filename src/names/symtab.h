/* SPDX-License-Identifier: MIT */
/* symtab.h -- the functions or variables of a module by address, from its symbol tables. */
#ifndef SEEP_NAMES_SYMTAB_H
#define SEEP_NAMES_SYMTAB_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_entry {
        uint64_t start, end;
        const char *name; /* mangled; belongs to the Dwfl */
        uint32_t rank;    /* among names of one place the smallest is taken */
        uint32_t local;   /* not visible outside of its file */
};

struct symtab {
        struct symtab_entry *entries; /* sorted by start */
        size_t count;
        uint64_t longest; /* size of the largest entry: how far back a search must look */
};

enum symtab_kind {
        SYMTAB_CODE,
        SYMTAB_DATA,
        SYMTAB_THREAD /* thread-local variables; addresses are offsets in the
                       * module's thread-local storage */
};

/* From .symtab, or .dynsym and .gnu_debugdata where that was stripped. */
void symtab_read(struct symtab *t, Dwfl_Module *module, enum symtab_kind kind);
void symtab_free(struct symtab *t);

/* The entry that covers ADDRESS, NULL if none does: never the nearest one before it. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address);

#endif
