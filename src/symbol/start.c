/* SPDX-License-Identifier: MIT */
/*
 * start.c -- which frames of a stack are start code: what runs before main or before the function of a thread.
 *
 * Room:   outside.
 *
 * Start code is recognised by its place.  It is the outer end of a stack, as long as that is in the C library or the
 * loader:
 *
 *      main's stack                            a thread's stack
 *      ------------                            ----------------
 *      _start                    program       clone3                 C library     outermost
 *      __libc_start_main         C library     start_thread           C library
 *      __libc_start_call_main    C library     work                   program       <- shown from here on
 *      main                      program       calloc's caller        program
 *
 * The same holds for constructors (called by the loader) and for functions that exit() calls.  No name is needed, so
 * that it works without the debug files of the C library, which are the only ones to name its local functions.
 *
 * Names are needed in three cases only, and then only those of frames at the outer end:
 * - _start is part of the program.  Without a name it is what has no caller and calls the C library.
 * - In a static program the C library has no file of its own.
 * - Where the outer end of a stack is missing, its outermost frame may be anything.
 */
#include "symbol/start.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

bool start_is_libc(const char *path)
{
        static const char *const libraries[] = { "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl" };
        const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;

        for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
                if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
                        return true;
        return false;
}

static const char *outer_name(struct symbols *s, uint32_t node)
{
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(s, node, &frames);

        return frames[count - 1].function;
}

static bool names_start(const char *name)
{
        static const char *const names[] = { "_start", "_start_c", "start_thread", "clone3", "__clone3", "clone", "__clone" };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return strncmp(name, "__libc_start_", 13) == 0;
}

enum { START_CALLS_LIBC = 2 }; /* noted in the first pass */

/* Mark the outermost frames that call the C library. */
static void mark_callers(const struct profile *p, const uint8_t *libc, uint8_t *start)
{
        for (uint32_t i = 2; i < p->node_count; i++) {
                uint32_t caller = p->nodes[i].parent;

                if (caller > 1 && p->nodes[caller].parent == 0 && p->nodes[i].module < p->module_count && libc[p->nodes[i].module])
                        start[caller] = START_CALLS_LIBC;
        }
}

static bool is_start(const struct profile *p, struct symbols *s, uint32_t node, bool libc, bool calls_libc)
{
        uint32_t outer = p->nodes[node].parent;
        const char *name;

        if (libc && outer != 1)
                return true;
        name = outer_name(s, node);
        return name ? names_start(name) : outer == 0 && calls_libc;
}

/* A node's number is larger than that of its parent: one pass from the outside inwards decides all. */
uint8_t *start_find(const struct profile *p, struct symbols *s)
{
        uint8_t *start = heap_zero(p->node_count, 1), *libc = heap_zero(p->module_count, 1);

        for (uint32_t i = 0; i < p->module_count; i++)
                libc[i] = p->modules[i].path && start_is_libc(p->modules[i].path);
        mark_callers(p, libc, start);
        for (uint32_t i = 2; i < p->node_count; i++) {
                const struct profile_node *n = &p->nodes[i];
                bool at_end = n->parent <= 1 || start[n->parent] == 1;

                start[i] = at_end && is_start(p, s, i, n->module < p->module_count && libc[n->module], start[i] == START_CALLS_LIBC);
        }
        free(libc);
        return start;
}
