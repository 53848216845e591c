/* SPDX-License-Identifier: MIT */
/*
 * apart.c -- libraries in namespaces of their own (dlmopen), of which some cannot be loaded.
 *
 * Room:   tests only.  argv: libraries, each to be tried; "close" gives back the last one; "_exit"
 *         ends here.
 */
#include "truth.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
        void *last = NULL;
        size_t loaded = 0;

        free(malloc(10));
        for (int i = 1; i < argc && strcmp(argv[i], "_exit") != 0; i++) {
                if (strcmp(argv[i], "close") == 0) {
                        dlclose(last);
                        continue;
                }
                last = dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW);
                loaded += last != NULL;
        }
        truth_say("fact loaded=%zu\n", loaded);
        if (argc > 1 && strcmp(argv[argc - 1], "_exit") == 0)
                _exit(0);
        return 0;
}
