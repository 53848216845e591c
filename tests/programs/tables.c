/* SPDX-License-Identifier: MIT */
/*
 * tables.c -- threads, each with a table of the loader for thread-local variables, which grows when
 * libraries come that have some.
 *
 * Room:   tests only.  Arguments: copies of variables_library.c, each one a library of its own.
 *         The first thread uses none of them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 6
#define LIBRARIES 64

typedef void *place(void);

static pthread_barrier_t met;
static place *places[LIBRARIES];

static void *run(void *arg)
{
        pthread_barrier_wait(&met); /* all are there, with their first tables */
        pthread_barrier_wait(&met); /* and the libraries */
        for (int i = 0; i < LIBRARIES && places[i]; i++)
                if (!places[i]())
                        abort();
        return arg;
}

int main(int argc, char **argv)
{
        pthread_t all[THREADS];

        pthread_barrier_init(&met, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
                if (pthread_create(&all[i], NULL, run, NULL))
                        return 1;
        pthread_barrier_wait(&met);
        for (int i = 1; i < argc && i < LIBRARIES; i++) {
                void *library = dlopen(argv[i], RTLD_NOW);

                places[i - 1] = library ? (place *)dlsym(library, "library_thread_place") : NULL;
                if (!places[i - 1])
                        return 2;
        }
        pthread_barrier_wait(&met);
        for (int i = 0; i < THREADS; i++)
                pthread_join(all[i], NULL);
        return 0;
}
