/* SPDX-License-Identifier: MIT */
/*
 * suppress.h -- suppressions of leaks and invalid frees: rules in files of LSan and Valgrind, and
 * built-in ones.
 *
 * Keeps:  a rule of an LSan file ("leak:pattern") covers a stack when the pattern is found in the
 *         function, source file or module of any of its frames; one of a Valgrind file ({ name /
 *         Memcheck:Leak / fun: obj: src: ... }) when its lines match the frames from the allocation
 *         function outwards.  Both count the allocation function itself as the innermost frame, as
 *         those tools do.  Names of functions match mangled or readable.
 */
#ifndef SEEP_QUERY_SUPPRESS_H
#define SEEP_QUERY_SUPPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "base/lookup.h"

enum suppress_source {
        SUPPRESS_FILE,    /* --suppressions FILE */
        SUPPRESS_PROGRAM, /* __lsan_default_suppressions() of the program */
        SUPPRESS_BUILT_IN
};

enum suppress_about { SUPPRESS_LEAK, SUPPRESS_RELEASE };

enum suppress_match {
        SUPPRESS_ANY,      /* LSan: function, file or module of one frame, anywhere in the stack */
        SUPPRESS_FUNCTION, /* fun: */
        SUPPRESS_OBJECT,   /* obj: */
        SUPPRESS_PLACE,    /* src:file or src:file:line */
        SUPPRESS_REST      /* ...: any number of frames */
};

struct suppress_line {
        enum suppress_match match;
        char *pattern;  /* NULL for ... */
        char *readable; /* the same as names of ours are written: of fun: demangled, where it is a
                         * whole mangled name; else NULL */
        bool raw;       /* of a mangled name with wildcards: needs the mangled name of the frame */
        uint32_t line;  /* src: 0 any */
};

struct suppress_rule {
        enum suppress_source source;
        enum suppress_about about;
        uint32_t leaks;    /* bit per enum profile_leak */
        char *name;        /* what it is called: its own name, the pattern, or the
                            * reason of a built-in one */
        char *file;        /* where it stands; NULL built in */
        uint32_t at;       /* line there */
        struct suppress_line *lines;
        uint32_t line_count;
        bool interpreter;  /* and nothing but the interpreter stands between the allocation and
                            * the function of a script that led to it */
        uint64_t times, blocks, bytes; /* what it covered so far, by the caller of
                                        * suppress_leak(); times: stacks */
};

/* Which lines of the rules fit which frames: stacks are many, frames few. */
struct suppress_memo {
        const struct symbols *names; /* whose frames they are */
        uint32_t rules;              /* how many there were; other rules: all is forgotten */
        uint32_t *first;             /* by rule: number of its first line */
        uint32_t lines;              /* of all rules */
        uint32_t leaks; /* what rules about leaks are about: others need not be asked about */
        struct lookup known;       /* by frame: 1 + its number */
        uint32_t count, room;
        uint8_t *fits;           /* by number and line: 0 not asked, 1 no, 2 yes */
        uint64_t *may;           /* by number: a bit for each line that may fit; lines
                                  * share bits when they are many */
        uint64_t *needs;         /* by rule: bits of its lines, each of which must fit some frame */
        struct frame *frames;    /* of the stack asked about last */
        uint32_t frame_room;
};

/* Zeroed: no rules. */
struct suppressions {
        struct suppress_rule *rules;
        uint32_t count;
        struct suppress_memo memo;
};

/* Add the rules of a file, or of TEXT that came from ORIGIN.  false: E (exit code 2, 4 when the
 * file cannot be read) names file, line and what was expected. */
bool suppress_read_file(struct suppressions *s, const char *path, struct err *e);
bool suppress_read_text(struct suppressions *s, enum suppress_source source, const char *origin,
                        const char *text, struct err *e);

/* Add our own: pools and tables of the C library and of runtimes. */
void suppress_add_built_in(struct suppressions *s);
void suppress_free(struct suppressions *s);

/* Forget all rules but the first COUNT. */
void suppress_truncate(struct suppressions *s, uint32_t count);

/* The first rule that covers blocks of class LEAK from SITE, or the invalid free ERROR; NULL
 * none.  It is marked as used. */
struct suppress_rule *suppress_leak(struct suppressions *s, const struct profile *p,
                                    struct symbols *names, uint32_t site, uint32_t leak);
struct suppress_rule *suppress_release(struct suppressions *s, const struct profile *p,
                                       struct symbols *names, const struct profile_error *error);

enum suppress_format { SUPPRESS_AS_LSAN, SUPPRESS_AS_VALGRIND };

/* What the tool calls the allocation function that made blocks of KIND: "malloc", "_Znwm",
 * "operator new(unsigned long)". */
const char *suppress_allocation(uint32_t kind, enum suppress_format format);

/* ---- for suppress_parse.c ---- */

/* Add a line of Valgrind's format ("fun:main", "...") to RULE.  false: it is none. */
bool suppress_parse_line(struct suppress_rule *rule, const char *text);

#endif
