/* SPDX-License-Identifier: MIT */
/* heap_walk_small.c -- one block, "ready" on descriptor 3, then waits for the end of its input; for
 * any C library. */
#include <stdlib.h>
#include <unistd.h>

void *kept;

int main(void)
{
        char byte;

        kept = malloc(1000);
        if (write(3, "ready\n", 6) != 6)
                return 1;
        while (read(0, &byte, 1) > 0)
                ;
        return 0;
}
