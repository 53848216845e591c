/* SPDX-License-Identifier: MIT */
/*
 * visitors.c -- connections to the session, heard one by one.
 *
 * Room:   outside.
 */
#include "observe/visitors.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "observe/answers.h"
#include "observe/greeter.h"

void visitors_close(struct visitors *v)
{
        for (uint32_t i = 0; i < v->count; i++)
                close(v->waiting[i]);
        v->count = 0;
}

void visitors_hear(struct visitors *v)
{
        v->starved = !greeter_has_room();
        for (uint32_t i = v->count; i-- > 0 && !v->starved;) {
                if (v->hear(v->context, v->waiting[i]))
                        v->waiting[i] = v->waiting[--v->count];
                v->starved = !greeter_has_room();
        }
}

static uid_t user_of(int fd)
{
        struct ucred who = { .uid = (uid_t)-1 };
        socklen_t length = sizeof who;

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 ? (uid_t)-1 : who.uid;
}

void visitors_let_in(struct visitors *v, int door, bool open, uid_t one, uid_t other)
{
        int fd;

        while (door >= 0 && !v->starved && v->count < VISITORS_MAX && (fd = greeter_accept(door)) >= 0) {
                uid_t uid = open ? 0 : user_of(fd);

                if (uid != 0 && uid != one && uid != other)
                        answers_refuse(fd, "the process is recorded by another user; only that user and root may ask");
                else if (!v->hear(v->context, fd))
                        v->waiting[v->count++] = fd;
                v->starved = !greeter_has_room();
        }
}

uint32_t visitors_polls(const struct visitors *v, struct pollfd *polls)
{
        for (uint32_t i = 0; i < v->count; i++)
                polls[i] = (struct pollfd){ .fd = v->starved ? -1 : v->waiting[i], .events = POLLIN };
        return v->count;
}

/* The program keeps the limit that it got. */
void visitors_raise_limit(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                setrlimit(RLIMIT_NOFILE, &limit);
        }
}
