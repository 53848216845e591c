/* SPDX-License-Identifier: MIT */
/* bypass.c -- memory that is got from the allocator by a name that seep does not hook. */
#include "lost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef JEMALLOC
void *mallocx(size_t bytes, int flags);
static void *get_past(size_t bytes)
{
        return mallocx(bytes, 0);
}
#else
void *__libc_malloc(size_t bytes);
static void *get_past(size_t bytes)
{
        return __libc_malloc(bytes);
}
#endif

#define BOXES 50

struct box {
        struct box *next;
        char *held;
};

static struct box *all;

__attribute__((noinline)) static void held_by_box(struct box *b, size_t bytes)
{
        b->held = malloc(bytes);
        memset(b->held, 1, bytes);
}

__attribute__((noinline)) static void fill_boxes(void)
{
        for (size_t i = 0; i < BOXES; i++) {
                struct box *b = get_past(sizeof *b);

                b->next = all;
                held_by_box(b, 100 + i);
                all = b;
        }
}

/* A block that is freed with pointers in it. */
__attribute__((noinline)) static void free_a_holder(void)
{
        void **holder = malloc(200 * sizeof *holder);

        for (int i = 0; i < 200; i++)
                holder[i] = malloc(40);
        free(holder);
}

/* Which: "held" boxes by a variable, "lost" boxes by nobody, "freed" none. */
int main(int argc, char **argv)
{
        const char *which = argc > 1 ? argv[1] : "held";

        for (int i = 0; i < 3; i++)
                lose(33);
        if (strcmp(which, "freed") == 0)
                free_a_holder();
        else
                fill_boxes();
        if (strcmp(which, "lost") == 0)
                all = NULL;
        clear_stack();
        puts("end");
        return 0;
}
