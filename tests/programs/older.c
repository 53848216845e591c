/* SPDX-License-Identifier: MIT */
/*
 * older.c -- gets blocks before and after somebody attaches, loses some of each, and tells which.
 *
 * usage: older COUNT
 *
 * "ready" (descriptor 1) when COUNT blocks and what holds them are there; a line of input, and
 * COUNT more come; then each block is a line "AGE CLASS ADDRESS SIZE" on descriptor 3, and "ready"
 * once more.  It ends at the end of its input.  AGE: old, new.
 *
 * Blocks are held by tables, which are blocks too.  Of each four blocks of an age one is lost (its
 * address is nowhere), one is held by the old table, one by the new table, and one by the block
 * before it that is lost.  Old ones are put into the new table, and new ones into the old table, so
 * whoever does not know old blocks takes some new ones for lost.
 */
#include "leak.h"

#include <stdint.h>
#include <stdio.h>

enum { MOST = 4096 };

struct table {
        struct table *next;
        void *at[2 * MOST];
};

static struct table *table; /* the old one, which holds the new one */
static uintptr_t hidden[2][MOST];
static int sizes[2][MOST];
static int count;

LEAK_ALONE static void *get(int age, int i)
{
        int size = 24 + 8 * ((i * 7 + age) % 60);
        void *p = leak_blank(malloc((size_t)size), (size_t)size);

        hidden[age][i] = leak_hidden(p);
        sizes[age][i] = size;
        return p;
}

LEAK_ALONE static void get_all(int age)
{
        for (int i = 0; i < count; i++)
                get(age, i);
}

/* All are there: old ones may come to be held by the new table. */
LEAK_ALONE static void link_all(void)
{
        for (int age = 0; age < 2; age++)
                for (int i = 0; i + 3 < count; i += 4) {
                        void **lost = leak_shown(hidden[age][i]);

                        table->at[age * MOST + i + 1] = leak_shown(hidden[age][i + 1]);
                        table->next->at[age * MOST + i + 2] = leak_shown(hidden[age][i + 2]);
                        lost[1] = leak_shown(hidden[!age][i + 3]);
                }
}

/* Until then all old ones are held. */
LEAK_ALONE static void keep_old(int yes)
{
        for (int i = 0; i < count; i++)
                table->at[MOST + i] = yes ? leak_shown(hidden[0][i]) : NULL;
}

static void say(const char *age, const char *leak, uintptr_t where, int size)
{
        truth_say("%s %s %lx %d\n", age, leak, (unsigned long)~where, size);
}

int main(int argc, char **argv)
{
        static const char *const classes[] = { DEFINITE, REACHABLE, REACHABLE, INDIRECT };
        char c;

        count = argc > 1 ? atoi(argv[1]) / 4 * 4 : 0;
        if (count <= 0 || count > MOST)
                truth_die("older: how many?\n");
        free(leak_blank(malloc(64), 64)); /* static musl has another malloc for who never frees */
        table = leak_blank(malloc(sizeof *table), sizeof *table);
        get_all(0);
        keep_old(1);
        leak_wipe();
        tell("ready\n");
        if (read(0, &c, 1) != 1)
                return 1;
        table->next = leak_blank(malloc(sizeof *table), sizeof *table);
        get_all(1);
        keep_old(0);
        link_all();
        for (int age = 0; age < 2; age++)
                for (int i = 0; i < count; i++)
                        say(age ? "new" : "old", classes[i % 4], hidden[age][i], sizes[age][i]);
        leak_wipe();
        tell("ready\n");
        while (read(0, &c, 1) > 0)
                ;
        leak_wipe();
        return 0;
}
