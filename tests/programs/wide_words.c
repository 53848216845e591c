// SPDX-License-Identifier: MIT
/*
 * Words of 64 bits that threads and their signal handlers change at the same time, across 0 and
 * across 2^32: each change is one step, and no reader sees a half.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

#define THREADS 4
#define ROUNDS 5000
#define STEP (1ull << 30)

/* What the agent asks before each system call. */
bool sandbox_allows(long number, const uint64_t *arguments);

bool sandbox_allows(long number, const uint64_t *arguments)
{
        (void)number, (void)arguments;
        return true;
}

static int64_t around;               /* 0, up and down by 7 */
static uint64_t total, highest, last; /* grows; its maximum; exchanged */
static uint64_t differences;         /* of what was exchanged */
static uint64_t bits;                /* each thread has one in each half */
static uint64_t handled, handled_sum;
static uint32_t done, wrong;

static void on_alarm(int number)
{
        (void)number;
        __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&handled_sum, STEP, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&around, -7, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&around, 7, __ATOMIC_SEQ_CST);
}

static void raise_to(uint64_t *place, uint64_t value)
{
        uint64_t old = __atomic_load_n(place, __ATOMIC_SEQ_CST);

        while (old < value && !__atomic_compare_exchange_n(place, &old, value, false,
                                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                ;
}

static void *body(void *arg)
{
        uint64_t own = 1ull << (uintptr_t)arg | 1ull << (32 + (uintptr_t)arg);

        for (uint64_t i = 1; i <= ROUNDS; i++) {
                uint64_t now = i % 2 ? i * STEP : ~0ull;

                __atomic_fetch_add(&around, i % 2 ? -7 : 7, __ATOMIC_SEQ_CST);
                raise_to(&highest, __atomic_add_fetch(&total, STEP, __ATOMIC_SEQ_CST));
                __atomic_fetch_add(&differences,
                                   now - __atomic_exchange_n(&last, now, __ATOMIC_SEQ_CST),
                                   __ATOMIC_SEQ_CST);
                if ((__atomic_or_fetch(&bits, own, __ATOMIC_SEQ_CST) & own) != own ||
                    (__atomic_and_fetch(&bits, ~own, __ATOMIC_SEQ_CST) & own))
                        __atomic_store_n(&wrong, 1, __ATOMIC_SEQ_CST);
        }
        __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
        return NULL;
}

/* Two words per thread and handler may be under way. */
static void *reader(void *arg)
{
        uint64_t before = 0, now;
        int64_t near;

        while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < THREADS) {
                near = __atomic_load_n(&around, __ATOMIC_SEQ_CST);
                now = __atomic_load_n(&total, __ATOMIC_SEQ_CST);
                if (near > 14 * (THREADS + 2) || near < -14 * (THREADS + 2) || now < before ||
                    now % STEP)
                        __atomic_store_n(&wrong, 2, __ATOMIC_SEQ_CST);
                before = now;
        }
        return arg;
}

int main(void)
{
        struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
        pthread_t t[THREADS], r;
        uint64_t all = (uint64_t)THREADS * ROUNDS * STEP;

        signal(SIGALRM, on_alarm);
        pthread_create(&r, NULL, reader, NULL);
        for (uintptr_t i = 0; i < THREADS; i++)
                pthread_create(&t[i], NULL, body, (void *)i);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < THREADS; i++)
                pthread_join(t[i], NULL);
        pthread_join(r, NULL);
        setitimer(ITIMER_REAL, &never, NULL);
        printf("%d %d %d %d %d %d %u\n", around == 0, total == all, highest == all,
               differences == last, bits == 0, handled_sum == handled * STEP, wrong);
        return 0;
}
