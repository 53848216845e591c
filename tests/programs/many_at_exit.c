/* SPDX-License-Identifier: MIT */
/* many_at_exit.c -- so many functions for exit that the C library needs memory of its own. */
#include "lost.h"

#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS 400

static char *held;

static void at_exit(void)
{
        static int calls;

        if (++calls == FUNCTIONS)
                puts("end");
}

int main(void)
{
        lose(33);
        held = malloc(44);
        for (int i = 0; i < FUNCTIONS; i++)
                if (atexit(at_exit) != 0)
                        return 1;
        clear_stack();
        return 0;
}
