/* SPDX-License-Identifier: MIT */
/* last_lost.c -- loses the block that lies highest in the heap: malloc's own pointer to the free
 * memory behind it is a pointer into its end. */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void lose(void)
{
        char *volatile p = memset(malloc(5000), 1, 5000);

        (void)p;
        p = NULL;
}

__attribute__((noinline)) static void clear_the_stack(void)
{
        volatile char room[4096];

        for (size_t i = 0; i < sizeof room; i++)
                room[i] = 0;
}

int main(void)
{
        free(malloc(10));
        lose();
        clear_the_stack();
        return 0;
}
