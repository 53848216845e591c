/* SPDX-License-Identifier: MIT */
/*
 * patient.c -- allocates, says "ready", waits for a byte on its input, allocates again and ends
 * with status 9.
 *
 * Room:   tests only.  What a test does to the tool or to the terminal happens while it waits.
 */
#include "truth.h"

#include <stdlib.h>

static void before_wait(void)
{
        for (int i = 0; i < 100; i++) {
                void *p = malloc(50);
                TRUTH_GOT(p, 50);
        }
}

static void after_wait(void)
{
        for (int i = 0; i < 200; i++) {
                void *p = malloc(60);
                TRUTH_GOT(p, 60);
        }
}

int main(void)
{
        char byte;
        before_wait();
        tell("ready\n");
        while (read(0, &byte, 1) < 0 && errno == EINTR)
                continue;
        after_wait();
        truth_print();
        tell("finished\n");
        return 9;
}
