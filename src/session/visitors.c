/* SPDX-License-Identifier: MIT */
#include "session/visitors.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/greeter.h"

static void forget(struct visitors *v, uint32_t i)
{
        v->count--;
        memmove(v->waiting + i, v->waiting + i + 1, (v->count - i) * sizeof *v->waiting);
}

void visitors_close(struct visitors *v)
{
        for (uint32_t i = 0; i < v->count; i++)
                close(v->waiting[i].fd);
        v->count = 0;
}

static void drop(struct visitors *v, uint32_t i)
{
        if (!v->hear(v->context, v->waiting[i].fd)) /* it may have spoken while we did other things */
                close(v->waiting[i].fd);
        forget(v, i);
}

static void drop_silent(struct visitors *v)
{
        uint64_t now = v->count ? clock_now_ns() : 0;

        while (v->count && now - v->waiting[0].since_ns > VISITORS_SILENT_MS * 1000000ull && !v->starved) {
                drop(v, 0);
                v->starved = !greeter_has_room();
        }
}

/* Only those who have spoken, or gone, are worth a look. */
static void hear_waiting(struct visitors *v)
{
        struct pollfd polls[VISITORS_MAX];

        v->starved = !greeter_has_room();
        visitors_polls(v, polls);
        if (v->count && !v->starved && poll(polls, v->count, 0) > 0)
                for (uint32_t i = v->count; i-- > 0 && !v->starved;) {
                        if (!polls[i].revents || !v->hear(v->context, v->waiting[i].fd))
                                continue;
                        forget(v, i);
                        v->starved = !greeter_has_room();
                }
        drop_silent(v);
}

static uid_t user_of(int fd)
{
        struct ucred who = { .uid = (uid_t)-1 };
        socklen_t length = sizeof who;

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 ? (uid_t)-1 : who.uid;
}

/* One more silent visitor.  The oldest one of the same user goes when there are too many of these, else the oldest of all. */
static void keep(struct visitors *v, int fd, uid_t uid)
{
        uint32_t same = 0, oldest = 0;

        for (uint32_t i = v->count; i-- > 0;)
                if (v->waiting[i].uid == uid) {
                        oldest = i;
                        same++;
                }
        if (same >= VISITORS_EACH)
                drop(v, oldest);
        else if (v->count == VISITORS_MAX)
                drop(v, 0);
        v->waiting[v->count++] = (struct visitor){ fd, uid, clock_now_ns() };
}

/* true: there may be more of them. */
static bool let_in(struct visitors *v, int door)
{
        uint32_t count = 0;
        int fd;

        while (door >= 0 && !v->starved && count < VISITORS_ROUND && (fd = greeter_accept(door)) >= 0) {
                count++;
                if (!v->hear(v->context, fd))
                        keep(v, fd, user_of(fd));
                v->starved = !greeter_has_room();
        }
        return count == VISITORS_ROUND;
}

void visitors_take(struct visitors *v, int greeter, int door, bool all)
{
        bool more;

        for (uint32_t rounds = all ? GREETER_BACKLOG / VISITORS_ROUND + 1 : 1; rounds; rounds--) {
                hear_waiting(v);
                more = let_in(v, greeter);
                v->crowded = let_in(v, door);
                if (!more && !v->crowded)
                        break;
        }
}

uint32_t visitors_polls(const struct visitors *v, struct pollfd *polls)
{
        for (uint32_t i = 0; i < v->count; i++)
                polls[i] = (struct pollfd){ .fd = v->starved ? -1 : v->waiting[i].fd, .events = POLLIN };
        return v->count;
}

int visitors_wait_ms(const struct visitors *v)
{
        return v->count ? (int)VISITORS_SILENT_MS : -1;
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
