/* SPDX-License-Identifier: MIT */
/*
 * many_pointers.c -- N blocks of 40 bytes with two pointers each, all of them held at the end.
 *
 * usage: many_pointers N table|list
 *
 * table: in chains of 16 that a hash table has, each with a pointer to an older one.
 * list:  in one list with both directions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN = 16 };

struct link {
        struct link *next, *other;
        char data[24];
};

struct link *list, **table;

static struct link *chain(void)
{
        return calloc(1, sizeof(struct link));
}

static void add_to_table(unsigned long count, unsigned long chains)
{
        unsigned long state = 12345;
        struct link *older = NULL;

        for (unsigned long i = 0; i < count; i++) {
                struct link *l = chain();
                unsigned long at;

                state = state * 6364136223846793005ul + 1442695040888963407ul;
                at = (state >> 20) % chains;
                l->next = table[at];
                l->other = older;
                table[at] = l;
                if (!(state >> 13 & 3))
                        older = l;
        }
}

static void add_to_list(unsigned long count)
{
        for (unsigned long i = 0; i < count; i++) {
                struct link *l = chain();

                l->next = list;
                if (list)
                        list->other = l;
                list = l;
        }
}

int main(int argc, char **argv)
{
        unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

        if (!count) {
                fprintf(stderr, "usage: many_pointers N table|list\n");
                return 2;
        }
        table = calloc(count / CHAIN + 1, sizeof *table);
        if (strcmp(argv[2], "list") == 0)
                add_to_list(count);
        else
                add_to_table(count, count / CHAIN + 1);
        return table == NULL;
}
