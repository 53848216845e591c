/* SPDX-License-Identifier: MIT */
/* A block is freed, another thread gets the same address and frees it, too; then the first one
 * releases it once more, by a function that does not lead to the first. */
#include <cstdlib>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

static void *volatile kept;
static pthread_barrier_t both;

void operator delete(void *) noexcept
{
}

static void *use(void *)
{
        void *got;

        free(malloc(1)); /* what a thread needs for itself is there from now on */
        pthread_barrier_wait(&both);
        pthread_barrier_wait(&both);
        got = malloc(5000);
        if (got != kept)
                _exit(7);
        free(got);
        pthread_barrier_wait(&both);
        return nullptr;
}

static void __attribute__((noinline)) release_again(volatile char *deeper)
{
        volatile char more[256];

        more[0] = deeper[0];
        operator delete(kept);
        more[1] = more[0];
}

int main()
{
        volatile char here[64] = { 0 };
        pthread_t thread;
        void *behind;

        mallopt(M_ARENA_MAX, 1);
        pthread_barrier_init(&both, nullptr, 2);
        pthread_create(&thread, nullptr, use, nullptr);
        pthread_barrier_wait(&both);
        kept = malloc(5000);
        behind = malloc(16);
        free(kept);
        pthread_barrier_wait(&both);
        pthread_barrier_wait(&both);
        release_again(here);
        free(behind);
        return 0;
}
