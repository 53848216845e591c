/* SPDX-License-Identifier: MIT */
/*
 * latecomer.c -- a program that allocates nothing until it is told to: latecomer.
 *
 * Room:   tests only.  Says "ready", waits for a byte, makes a block and ends with 6.
 */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
        char byte, *volatile block;

        if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) != 1)
                _exit(2);
        block = malloc(100);
        block[0] = byte;
        free(block);
        _exit(6);
}
