/* SPDX-License-Identifier: MIT */
/*
 * api.c -- every macro of seep.h once; C99 and C++11, with -DLIBRARY as a library, with -DMAIN the
 * program that uses it.
 *
 * Room:   tests only.  With both or neither name it is a program of one file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "seep.h"

#ifdef __cplusplus
extern "C"
#endif
        int use_everything(void);

#ifndef MAIN
static char arena[256];

int use_everything(void)
{
        int turn;
        void *p = malloc(100);

        SEEP_TAG("begin");
        for (turn = 0; turn < 3; turn++)
                SEEP_ALLOC(arena + 32 * turn, 20);
        SEEP_FREE(arena);
        SEEP_RESOURCE_ACQUIRE("thing", 7, 70);
        SEEP_RESOURCE_ACQUIRE("thing", p, 1);
        SEEP_RESOURCE_RELEASE("thing", p);
        SEEP_DISABLE();
        if (!malloc(999))
                return 1;
        SEEP_ENABLE();
        if (turn == 3)
                SEEP_SNAPSHOT("middle");
        else
                SEEP_TAG("never");
        SEEP_IGNORE(p);
        SEEP_ROOT(arena, sizeof arena);
        free(p);
        SEEP_TAG("end");
        return (int)SEEP_LEAK_CHECK();
}
#endif

#ifndef LIBRARY
int main(void)
{
        int result = use_everything();
        printf("used: %s\n", result >= 0 ? "yes" : "no");
        return 0;
}
#endif
