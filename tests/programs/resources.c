/* SPDX-License-Identifier: MIT */
/*
 * resources.c -- things with handles that are no memory: resources plain|wrong|threads.
 *
 * Room:   tests only.  Lines: "held TYPE FUNCTION HANDLE AMOUNT" for each that is not released.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

#include "seep.h"

static void texture(uint64_t handle, uint64_t amount)
{
        SEEP_RESOURCE_ACQUIRE("texture", handle, amount);
}

static void lock(const void *handle)
{
        SEEP_RESOURCE_ACQUIRE("lock", handle, 1);
}

static void other_texture(uint64_t handle, uint64_t amount)
{
        SEEP_RESOURCE_ACQUIRE("texture", handle, amount);
}

static void plain(void)
{
        static int locks[10];
        for (uint64_t i = 1; i <= 20; i++)
                texture(i, i * 1000);
        for (uint64_t i = 21; i <= 25; i++)
                other_texture(i, 1u << 20);
        for (int i = 0; i < 10; i++)
                lock(&locks[i]);
        SEEP_RESOURCE_ACQUIRE("huge", ~0ull, 1ull << 50);
        truth_say("held huge plain %llu %llu\n", ~0ull, 1ull << 50);
        for (uint64_t i = 1; i <= 20; i++)
                if (i % 5)
                        SEEP_RESOURCE_RELEASE("texture", i);
                else
                        truth_say("held texture texture %llu %llu\n", (unsigned long long)i,
                                  (unsigned long long)i * 1000);
        for (uint64_t i = 21; i <= 25; i++)
                if (i == 23)
                        truth_say("held texture other_texture %llu %u\n", (unsigned long long)i,
                                  1u << 20);
                else
                        SEEP_RESOURCE_RELEASE("texture", i);
        for (int i = 0; i < 9; i++)
                SEEP_RESOURCE_RELEASE("lock", &locks[i]);
        truth_say("held lock lock %llu 1\n", (unsigned long long)(uintptr_t)&locks[9]);
}

/* Handle 1 of one type is not handle 1 of another; what nobody acquired cannot be released. */
static void wrong(void)
{
        texture(1, 10);
        SEEP_RESOURCE_RELEASE("lock", 1);
        SEEP_RESOURCE_RELEASE("nothing like it", 1);
        SEEP_RESOURCE_RELEASE("texture", 2);
        truth_say("held texture texture 1 10\n");
        texture(7, 70);
        other_texture(7, 71); /* the same one again: the program lost track, the last word counts */
        truth_say("held texture other_texture 7 71\n");
        texture(8, 80);
        SEEP_RESOURCE_RELEASE("texture", 8);
        SEEP_RESOURCE_RELEASE("texture", 8);
}

#define ROUNDS 3000

static pthread_barrier_t all_made;

static void *thread(void *arg)
{
        uint64_t me = (uint64_t)(uintptr_t)arg;
        for (uint64_t i = 0; i < ROUNDS; i++)
                texture(me * ROUNDS + i, 3);
        pthread_barrier_wait(&all_made);
        me = (me + 1) % 8; /* the neighbour's */
        for (uint64_t i = 0; i < ROUNDS; i++)
                if (i % 100)
                        SEEP_RESOURCE_RELEASE("texture", me * ROUNDS + i);
                else
                        truth_say("held texture texture %llu 3\n",
                                  (unsigned long long)(me * ROUNDS + i));
        return NULL;
}

static void threads(void)
{
        pthread_t t[8];
        pthread_barrier_init(&all_made, NULL, 8);
        for (uintptr_t i = 0; i < 8; i++)
                if (pthread_create(&t[i], NULL, thread, (void *)i))
                        truth_die("resources: no thread\n");
        for (int i = 0; i < 8; i++)
                pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
        const char *mode = argc > 1 ? argv[1] : "plain";
        void *p = malloc(55);
        TRUTH_GOT(p, 55);
        if (!strcmp(mode, "plain"))
                plain();
        else if (!strcmp(mode, "wrong"))
                wrong();
        else
                threads();
        truth_print();
        return 0;
}
