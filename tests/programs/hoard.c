/* SPDX-License-Identifier: MIT */
/* hoard.c -- 8 MB in small blocks that stay, then a line, then nothing until its input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[8000];

int main(void)
{
        for (int i = 0; i < 8000; i++)
                kept[i] = memset(malloc(1000), 1, 1000);
        puts("ready");
        fflush(stdout);
        return getchar() != EOF;
}
