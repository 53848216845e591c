/* SPDX-License-Identifier: MIT */
/*
 * hurry.c -- a thread that goes before all others for a moment.
 *
 * Room:   outside.
 */
#include "attach/hurry.h"

#include <sched.h>
#include <sys/resource.h>

void hurry_begin(struct hurry *h, pid_t tid)
{
        int policy = sched_getscheduler(tid), nice = getpriority(PRIO_PROCESS, (id_t)tid);

        *h = (struct hurry){ 0 };
        if (policy < 0 || (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
                return;
        if (sched_setscheduler(tid, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }) == 0 ||
            setpriority(PRIO_PROCESS, (id_t)tid, -20) == 0)
                *h = (struct hurry){ tid, policy, nice };
}

void hurry_end(struct hurry *h)
{
        if (!h->tid)
                return;
        sched_setscheduler(h->tid, h->policy, &(struct sched_param){ 0 });
        setpriority(PRIO_PROCESS, (id_t)h->tid, h->nice);
        h->tid = 0;
}
