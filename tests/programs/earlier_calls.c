/* SPDX-License-Identifier: MIT */
/*
 * earlier_calls.c -- a program that was built for memtraq and memtrail: their calls, declared as
 * their headers do.
 *
 * Room:   tests only.  memtraq's functions are weak; memtrail's is looked up at run time.
 *         Functions seen_* allocate while recording is on, unseen_* while it is off.  With the
 *         argument "off" the program expects to be started with recording off.
 */
#include "truth.h"

#include <dlfcn.h>
#include <stdlib.h>

extern void memtraq_enable(void) __attribute__((weak));
extern void memtraq_disable(void) __attribute__((weak));
extern void memtraq_tag(const char *name) __attribute__((weak));

static void enable(void)
{
        if (memtraq_enable)
                memtraq_enable();
}

static void disable(void)
{
        if (memtraq_disable)
                memtraq_disable();
}

static void tag(const char *name)
{
        if (memtraq_tag)
                memtraq_tag(name);
}

static void snapshot(void)
{
        void (*found)(void) = __extension__(void (*)(void))dlsym(RTLD_DEFAULT, "memtrail_snapshot");

        if (found)
                found();
}

static void *seen_between(void) { void *p = malloc(64); TRUTH_GOT(p, 64); return p; }
static void *seen_after(void) { void *p = malloc(102); TRUTH_GOT(p, 102); return p; }
static void *unseen(void) { return malloc(103); }

int main(int argc, char **argv)
{
        void *off;

        if (argc > 1 && !strcmp(argv[1], "off")) {
                free(unseen());
                enable();
        }
        tag("first");
        snapshot();
        seen_between();
        snapshot();
        tag("second");
        disable();
        disable();
        off = unseen();
        enable(); /* a switch: one is enough */
        free(off);
        seen_after();
        enable();
        disable();
        free(unseen());
        enable();
        seen_after();
        tag("third");
        truth_print();
        return 0;
}
