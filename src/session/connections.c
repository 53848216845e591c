/* SPDX-License-Identifier: MIT */
#include "session/connections.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/listener.h"

static void forget(struct connections *v, uint32_t i)
{
        v->count--;
        memmove(v->waiting + i, v->waiting + i + 1, (v->count - i) * sizeof *v->waiting);
}

void connections_close(struct connections *v)
{
        for (uint32_t i = 0; i < v->count; i++)
                close(v->waiting[i].fd);
        v->count = 0;
}

static void drop(struct connections *v, uint32_t i)
{
        /* It may have spoken while we did other things. */
        if (!v->hear(v->context, v->waiting[i].fd))
                close(v->waiting[i].fd);
        forget(v, i);
}

static void drop_silent(struct connections *v)
{
        uint64_t now = v->count ? clock_now_ns() : 0;

        while (v->count && now - v->waiting[0].since_ns > CONNECTIONS_SILENT_MS * 1000000ull &&
               !v->starved) {
                drop(v, 0);
                v->starved = !listener_has_room();
        }
}

/* Only those who have spoken, or gone, are worth a look. */
static void hear_waiting(struct connections *v)
{
        struct pollfd polls[CONNECTIONS_MAX];

        v->starved = !listener_has_room();
        connections_polls(v, polls);
        if (v->count && !v->starved && poll(polls, v->count, 0) > 0)
                for (uint32_t i = v->count; i-- > 0 && !v->starved;) {
                        if (!polls[i].revents || !v->hear(v->context, v->waiting[i].fd))
                                continue;
                        forget(v, i);
                        v->starved = !listener_has_room();
                }
        drop_silent(v);
}

static uid_t user_of(int fd)
{
        struct ucred who = { .uid = (uid_t)-1 };
        socklen_t length = sizeof who;

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 ? (uid_t)-1 : who.uid;
}

/* One more silent connection.  The oldest one of the same user goes when there are too many of
 * these, else the oldest of all. */
static void keep(struct connections *v, int fd, uid_t uid)
{
        uint32_t same = 0, oldest = 0;

        for (uint32_t i = v->count; i-- > 0;)
                if (v->waiting[i].uid == uid) {
                        oldest = i;
                        same++;
                }
        if (same >= CONNECTIONS_EACH)
                drop(v, oldest);
        else if (v->count == CONNECTIONS_MAX)
                drop(v, 0);
        v->waiting[v->count++] = (struct connection){ fd, uid, clock_now_ns() };
}

/* true: there may be more of them. */
static bool let_in(struct connections *v, int endpoint)
{
        uint32_t count = 0;
        int fd;

        while (endpoint >= 0 && !v->starved && count < CONNECTIONS_ROUND &&
               (fd = listener_accept(endpoint)) >= 0) {
                count++;
                if (!v->hear(v->context, fd))
                        keep(v, fd, user_of(fd));
                v->starved = !listener_has_room();
        }
        return count == CONNECTIONS_ROUND;
}

void connections_take(struct connections *v, int listener, int endpoint, bool all)
{
        bool more;

        for (uint32_t rounds = all ? LISTENER_BACKLOG / CONNECTIONS_ROUND + 1 : 1; rounds;
             rounds--) {
                hear_waiting(v);
                more = let_in(v, listener);
                v->crowded = let_in(v, endpoint);
                if (!more && !v->crowded)
                        break;
        }
}

uint32_t connections_polls(const struct connections *v, struct pollfd *polls)
{
        for (uint32_t i = 0; i < v->count; i++)
                polls[i] = (struct pollfd){ .fd = v->starved ? -1 : v->waiting[i].fd,
                                            .events = POLLIN };
        return v->count;
}

int connections_wait_ms(const struct connections *v)
{
        return v->count ? (int)CONNECTIONS_SILENT_MS : -1;
}

/* The program keeps the limit that it got. */
void connections_raise_limit(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                setrlimit(RLIMIT_NOFILE, &limit);
        }
}
