/* SPDX-License-Identifier: MIT */
/*
 * custom.h -- allocation functions other than malloc: those of --hook, and those of allocators with
 * known names (je_malloc, mi_malloc, ...).
 *
 * Keeps:  no byte of a file is trusted.  Of known allocators, a file must have the function that
 *         allocates and the one that frees: another program may have a "tc_new" of its own.
 */
#ifndef SEEP_ATTACH_CUSTOM_H
#define SEEP_ATTACH_CUSTOM_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/mappings.h"
#include "base/err.h"

#define CUSTOM_GO "it is a function of Go, which has other rules for arguments and stacks than C"

/* What a function does, and which of its arguments say what: as in struct wire_inject_slot. */
struct custom_act {
        uint8_t does, size, count, block, kind;
        bool pool;
};

/* One word of --hook. */
struct custom_rule {
        char *text;   /* as it was given, without its argument */
        char *module; /* of MODULE+0xADDRESS; NULL */
        uint64_t address; /* of 0xADDRESS; 0: TEXT is a name, or a pattern of names */
        struct custom_act act;
        bool pattern;
};

struct custom {
        struct custom_rule *rules;
        uint32_t count;
};

/* Add the rules of TEXT: "alloc=NAME[:ARG],free=NAME[:ARG]", also calloc= and realloc=.  false: E
 * is what follows "--hook: ". */
bool custom_parse(struct custom *c, const char *text, struct err *e);
void custom_free(struct custom *c);

/* A function that was found. */
struct custom_function {
        char *name;
        uint64_t address; /* in the process */
        uint64_t size, room; /* as in functions.h */
        struct custom_act act;
        uint32_t rule; /* 1 + which; 0: of an allocator that is known */
        bool go;       /* of Go: it cannot be recorded */
        bool seen; /* it is recorded, by a slot or as the function of the C library that it is */
        uint32_t slot; /* 1 + which of the agent's it leads to; 0 none */
        uint64_t rules; /* all that name it: a bit each, the last for the 64th and all behind it */
};

static inline uint64_t custom_bit(uint32_t rule)
{
        return 1ull << (rule < 63 ? rule : 63);
}

struct custom_functions {
        struct custom_function *at;
        uint32_t count;
        bool allocator; /* the program itself has an allocator that is known */
};

/* All in the process PID, whose mappings are M.  RULES: NULL none. */
void custom_find(struct custom_functions *f, const struct custom *rules, int pid,
                 const struct mappings *m);

/* Remove all functions but those of --hook. */
void custom_leave_known(struct custom_functions *f);

void custom_functions_free(struct custom_functions *f);

/* Whether the file FD has code of Go: its heap is its own, and its functions get their arguments in
 * other registers and have stacks too small for an agent. */
bool custom_is_go(int fd);

/* Whether the file FD has an allocator that is known, or calls one of a library by its names. */
bool custom_has_allocator(int fd);

#endif
