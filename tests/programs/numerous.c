/* SPDX-License-Identifier: MIT */
/*
 * numerous.c -- argv[1] blocks of 48 bytes in lists: every tenth list is lost, every tenth held by
 * its inside.  With argv[2] every tenth is freed again in the end.
 *
 * Room:   tests only.
 */
#include <stdlib.h>
#include <string.h>

#define LENGTH 10

struct item {
        struct item *next;
        char rest[40];
};

static struct item **lists;

static __attribute__((noinline)) struct item *make_item(struct item *next)
{
        struct item *i = malloc(sizeof *i);

        memset(i, 0, sizeof *i);
        i->next = next;
        return i;
}

static void make_lists(size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct item *first = NULL;

                for (int k = 0; k < LENGTH; k++)
                        first = make_item(first);
                lists[i] = i % 10 == 0   ? NULL
                           : i % 10 == 1 ? (struct item *)(void *)(first->rest + 8)
                                         : first;
        }
}

static void free_list(struct item **list)
{
        while (*list) {
                struct item *first = *list;

                *list = first->next;
                free(first);
        }
}

int main(int argc, char **argv)
{
        size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) / LENGTH : 1000;

        lists = calloc(count, sizeof(struct item *));
        make_lists(count);
        for (size_t i = 2; argc > 2 && i < count; i += 10)
                free_list(&lists[i]);
        return 0;
}
