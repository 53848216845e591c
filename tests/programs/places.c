/* SPDX-License-Identifier: MIT */
/*
 * places.c -- the same few places lose memory, each reached by many stacks.
 *
 * Room:   tests only.  See leak.h.
 *
 * Usage:  places N   each of 12 functions (place_0 ...) loses N blocks, each block by another
 *         stack; what each block points to is lost with it (hangs).
 */
#include "leak.h"

static LEAK_ALONE void *hangs(void)
{
        void *p = calloc(1, 16);

        leak_note(INDIRECT, "hangs", 16);
        LEAK_ESCAPE(p);
        return p;
}

#define PLACE(n)                                                               \
        LEAK_ALONE void place_##n(void)                                        \
        {                                                                      \
                void **p = calloc(1, 1000 + 10 * n);                           \
                leak_note(DEFINITE, "place_" #n, 1000 + 10 * n);               \
                p[0] = hangs();                                                \
                LEAK_ESCAPE(p);                                                \
        }

PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)
PLACE(8)
PLACE(9)
PLACE(10)
PLACE(11)

static void (*const places[])(void) = { place_0, place_1, place_2, place_3, place_4,  place_5,
                                        place_6, place_7, place_8, place_9, place_10, place_11 };

static LEAK_ALONE void odd(int depth, int place);

static LEAK_ALONE void even(int depth, int place)
{
        if (depth)
                odd(depth - 1, place);
        else
                places[place]();
        __asm__ volatile("");
}

static LEAK_ALONE void odd(int depth, int place)
{
        if (depth)
                even(depth - 1, place);
        else
                places[place]();
        __asm__ volatile("");
}

int main(int argc, char **argv)
{
        int count = argc > 1 ? atoi(argv[1]) : 1;

        for (int place = 0; place < 12; place++)
                for (int depth = 0; depth < count; depth++)
                        even(depth, place);
        leak_wipe();
        leak_tell();
        return 0;
}
