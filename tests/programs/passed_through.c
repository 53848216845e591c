/* SPDX-License-Identifier: MIT */
/*
 * passed_through.c -- functions that keep blocks which others of the program's own got for them.
 *
 * Room:   tests only.
 *
 * argv[1]: few: only one function asks pool_alloc().  Without: three.
 * Tells "stack SIZE NAME" of each function that wanted a block, and that is no wrapper:
 * pool_alloc() and the one behind it give what is asked for, allocate_record() makes blocks of one
 * size, copy_name() copies what it is given.
 */
#include "truth.h"

#include <stdlib.h>

#define APART __attribute__((noinline))

static void *volatile kept[16];
static int count;

static void *keep(const char *place, void *block, size_t size)
{
        kept[count++] = block;
        truth_say("stack %zu %s\n", size, place);
        return block;
}

static APART void *raw_alloc(size_t size)
{
        void *block = malloc(size);

        if (!block)
                abort();
        return block;
}

APART void *pool_alloc(size_t size)
{
        void *block = raw_alloc(size + 16);

        memset(block, 0, 16);
        return block;
}

static APART void *allocate_record(void)
{
        void *block = malloc(640);

        memset(block, 0, 640);
        return block;
}

static APART char *copy_name(const char *name)
{
        char *copy = malloc(strlen(name) + 1);

        return strcpy(copy, name);
}

static APART void read_pages(void) { keep("read_pages", pool_alloc(50000), 50016); }
static APART void read_index(void) { keep("read_index", pool_alloc(7000), 7016); }
static APART void sort_rows(void) { keep("sort_rows", pool_alloc(900), 916); }
static APART void boot(void) { keep("boot", raw_alloc(3000), 3000); }
static APART void log_on(void) { keep("log_on", raw_alloc(2000), 2000); }

static APART void name_all(int more)
{
        keep("copy_name", copy_name("one"), 4);
        keep("allocate_record", allocate_record(), 640);
        if (more)
                keep("copy_name", copy_name("twenty one"), 11);
}

static APART void name_one(void)
{
        keep("copy_name", copy_name("three hundred"), 14);
        keep("allocate_record", allocate_record(), 640);
}

static APART void name_last(void)
{
        keep("copy_name", copy_name("last"), 5);
        keep("allocate_record", allocate_record(), 640);
}

int main(int argc, char **argv)
{
        volatile int few = argc > 1 && strcmp(argv[1], "few") == 0; /* each call stands once */

        read_pages();
        boot();
        if (!few) {
                read_index();
                sort_rows();
                log_on();
        }
        name_all(few);
        name_one();
        name_last();
        return 0;
}
