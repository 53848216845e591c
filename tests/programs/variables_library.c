/* SPDX-License-Identifier: MIT */
/* variables_library.c -- the library of variables.c. */
#include "variables_library.h"

struct shelf *library_shelf;
struct shelf *library_copied; /* the program refers to it: the linker puts a copy there */
__thread struct shelf *library_thread;
static struct shelf *library_static;

void library_tell(void (*tell)(void *address, const char *name, int line, int is_static))
{
        static int calls;

        calls++;
        tell(&library_shelf, "library_shelf", 5, 0);
        tell(&library_static, "library_static", 8, 1);
        tell(&calls, "calls", 12, 1);
}

void *library_thread_place(void)
{
        return &library_thread;
}
