/* SPDX-License-Identifier: MIT */
/*
 * visitors.h -- connections to the session, heard one by one.
 *
 * Room:   outside.  Called by observe/session.c.
 * Keeps:  nobody is let in while there are too few descriptors to receive a ledger: it would be lost.  Those who come wait.
 */
#ifndef SEEP_OBSERVE_VISITORS_H
#define SEEP_OBSERVE_VISITORS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VISITORS_MAX 256u

struct visitors {
        int waiting[VISITORS_MAX]; /* let in, but have not spoken yet */
        uint32_t count;
        bool starved; /* too few descriptors for more */
        void *context;
        bool (*hear)(void *context, int fd); /* false: it has not spoken yet; else FD belongs to the callee */
};

void visitors_close(struct visitors *v);

/* Hear those who wait. */
void visitors_hear(struct visitors *v);

/* Let in and hear those at DOOR (-1: none).  OPEN: to anybody, else only to root and the users ONE and OTHER. */
void visitors_let_in(struct visitors *v, int door, bool open, uid_t one, uid_t other);

/* What to wait for, as entries of POLLS; returns how many. */
uint32_t visitors_polls(const struct visitors *v, struct pollfd *polls);

/* Each process that is recorded takes descriptors. */
void visitors_raise_limit(void);

#endif
