/* SPDX-License-Identifier: MIT */
/* own_address.c -- takes addresses of functions of libc without PIC: the program's own stub becomes
 * the address for everybody, and the loader must be content with where it leads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
        void *(*volatile make)(size_t) = malloc;
        void (*volatile drop)(void *) = free;
        int (*volatile act)(int, const struct sigaction *, struct sigaction *) = sigaction;
        unsigned (*volatile rest)(unsigned) = sleep;
        struct sigaction old;

        drop(make(10));
        printf("%d %u %d\n", act(SIGUSR2, NULL, &old), rest(0),
               make == dlsym(RTLD_DEFAULT, "malloc"));
        return 12;
}
