/* SPDX-License-Identifier: MIT */
/*
 * temporaries.c -- blocks that are and are not "temporary": the thread's last allocation, released
 * as its next event.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

static void *take(size_t n)
{
        void *p = malloc(n);
        TRUTH_GOT(p, n);
        return p;
}

static void drop(void *p)
{
        truth_gone(p);
        free(p);
}

static void at_once(void)
{
        for (int i = 0; i < 100; i++) {
                void *p = malloc(10);
                TRUTH_GOT(p, 10);
                drop(p);
        }
}

static void one_between(void)
{
        for (int i = 0; i < 100; i++) {
                void *p = malloc(20);
                TRUTH_GOT(p, 20);
                drop(take(5));
                drop(p);
        }
}

static void in_order(void)
{
        for (int i = 0; i < 100; i++) {
                void *p = malloc(30), *q = malloc(31);
                TRUTH_GOT(p, 30);
                TRUTH_GOT(q, 31);
                drop(p);
                drop(q);
        }
}

static void reversed(void)
{
        for (int i = 0; i < 100; i++) {
                void *p = malloc(40), *q = malloc(41);
                TRUTH_GOT(p, 40);
                TRUTH_GOT(q, 41);
                drop(q);
                drop(p);
        }
}

static void *mailbox;

static void *thread_dropping(void *arg)
{
        (void)arg;
        drop(mailbox);
        return NULL;
}

/* Released by another thread: never temporary. */
static void *thread_of_hand_over(void *arg)
{
        pthread_t t;
        (void)arg;
        mailbox = malloc(60);
        truth_got("thread_of_hand_over", mailbox, 60);
        if (pthread_create(&t, NULL, thread_dropping, NULL))
                truth_die("temporaries: no thread\n");
        pthread_join(t, NULL);
        return NULL;
}

int main(void)
{
        at_once();
        one_between();
        in_order();
        reversed();
        for (int i = 0; i < 50; i++) {
                pthread_t t;
                if (pthread_create(&t, NULL, thread_of_hand_over, NULL))
                        return 1;
                pthread_join(t, NULL);
        }
        truth_print();
        return 0;
}
