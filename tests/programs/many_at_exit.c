/* SPDX-License-Identifier: MIT */
/* many_at_exit.c -- so many functions for exit that the C library needs memory of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 400

static char *held;

static void at_exit(void)
{
        static int calls;

        if (++calls == FUNCTIONS)
                puts("end");
}

__attribute__((noinline)) static void lose(size_t bytes)
{
        memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void clear_stack(void)
{
        volatile char room[4096];

        memset((char *)room, 0, sizeof room);
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
