/* SPDX-License-Identifier: MIT */
#include "agent/hello.h"

#include <asm/socket.h>

#include "agent/bytes.h"
#include "agent/sys.h"
#include "ledger/ledger.h"
#include "wire/hello.h"

#include "agent/guest.h"

/* The kernel's structures; the C library's headers would bring its names along. */
struct address {
        uint16_t family;
        char path[108];
};

struct vector {
        void *base;
        arch_word length;
};

struct message {
        void *name;
        uint32_t name_length;
        struct vector *vectors;
        arch_word vector_count;
        void *control;
        arch_word control_length;
        uint32_t flags;
};

struct control {
        arch_word length;
        int32_t level, type;
        int32_t fd;
};

enum { FAMILY_UNIX = 1, SOCKET_SEQPACKET = 5, LEVEL_SOCKET = 1, CONTROL_RIGHTS = 1,
       PEER_CREDENTIALS = SO_PEERCRED, NO_SIGNAL = 0x4000 };

#define READABLE 1
#define LAUNCH_S 2
#define HELLO_TRIES 2000 /* a millisecond apart */
#define HELLO_AGAIN 5    /* who was stopped between connecting and speaking finds the connection
                          * closed */

static void nap(void)
{
        long time[2] = { 0, 1000000 };

        sys_call3(SYS_nanosleep, (long)time, 0, 0);
}

static bool hello_connect(long s, const char *path, int tries)
{
        struct address a = { .family = FAMILY_UNIX };
        size_t length = strlen(path);
        long result;

        if (length >= sizeof a.path)
                return false;
        memcpy(a.path, path, length);
        while (tries-- > 0) {
                result = sys_call3(SYS_connect, s, (long)&a, (long)(sizeof a.family + length + 1));
                if (result != -SYS_EAGAIN && result != -SYS_EINTR)
                        return result == 0;
                if (tries)
                        nap();
        }
        return false;
}

/* BYTES of WORDS, with the descriptor FD. */
static bool send_with(long s, void *words, size_t bytes, long fd)
{
        struct vector v = { words, bytes };
        struct control c = { offsetof(struct control, fd) + sizeof c.fd, LEVEL_SOCKET,
                             CONTROL_RIGHTS, (int32_t)fd };
        struct message m = { .vectors = &v, .vector_count = 1, .control = &c,
                             .control_length = c.length }; /* without what pads it */

        return sys_call3(SYS_sendmsg, s, (long)&m, NO_SIGNAL) == (long)bytes;
}

static bool hello_message(long s, long fd, uint32_t reason)
{
        struct wire_hello hello = { WIRE_HELLO_MAGIC, LEDGER_VERSION, reason, sys_pid(),
                                    (uint32_t)sys_call3(SYS_getppid, 0, 0, 0) };

        return send_with(s, &hello, sizeof hello, fd);
}

static long hello_socket(void)
{
        return sys_call3(SYS_socket, FAMILY_UNIX, SOCKET_SEQPACKET | SYS_O_NONBLOCK | SYS_O_CLOEXEC,
                         0);
}

bool hello_reaches(const char *path)
{
        long s = hello_socket(), there;

        if (s < 0)
                return false;
        sys_close(s);
        there = sys_call6(SYS_openat, SYS_AT_HERE, (long)path, O_PATH | SYS_O_CLOEXEC, 0, 0, 0);
        if (!sys_failed(there))
                sys_close(there);
        return there != -SYS_ENOENT && there != -SYS_EACCES;
}

bool hello_is_main(const char *path)
{
        struct { int pid; uint32_t uid, gid; } peer = { 0, 0, 0 };
        uint32_t size = sizeof peer;
        long s = hello_socket();
        bool known;

        if (s < 0)
                return false;
        known = hello_connect(s, path, HELLO_TRIES) &&
                !sys_failed(sys_call6(SYS_getsockopt, s, LEVEL_SOCKET, PEER_CREDENTIALS,
                                      (long)&peer, (long)&size, 0));
        sys_close(s);
        return known && peer.pid == (int)sys_call3(SYS_getppid, 0, 0, 0);
}

bool hello_knock(const char *path)
{
        struct wire_knock knock = { .magic = WIRE_KNOCK_MAGIC, .pid = sys_pid() };
        long s = hello_socket();
        bool good;

        if (s < 0)
                return false;
        good = hello_connect(s, path, 1) && sys_call6(SYS_sendto, s, (long)&knock, sizeof knock,
                                                      NO_SIGNAL, 0, 0) == sizeof knock;
        sys_close(s);
        return good;
}

/* The observer's answer; 0: none in time.  The kernel counts TIME down when a stop or a signal
 * interrupts us. */
static uint8_t hear(long s)
{
        struct { int32_t fd; int16_t events, revents; } wait = { (int32_t)s, READABLE, 0 };
        long time[2] = { LAUNCH_S, 0 }, got;
        uint8_t answer = 0;

        do
                got = sys_call6(SYS_ppoll, (long)&wait, 1, (long)time, 0, 0, 0);
        while (got == -SYS_EINTR);
        if (got > 0)
                sys_call6(SYS_recvfrom, s, (long)&answer, sizeof answer, 0, 0, 0);
        return answer;
}

/* Say SPAWN (struct wire_launch), and wait for the answer. */
static void say_launch(const char *path, uint32_t spawn)
{
        struct wire_launch words = { .magic = WIRE_LAUNCH_MAGIC, .pid = sys_pid(),
                                     .tid = (uint32_t)sys_call3(SYS_gettid, 0, 0, 0),
                                     .spawn = spawn };
        long s = hello_socket();

        if (s < 0)
                return;
        if (hello_connect(s, path, HELLO_TRIES) &&
            sys_call6(SYS_sendto, s, (long)&words, sizeof words, NO_SIGNAL, 0, 0) == sizeof words)
                hear(s);
        sys_close(s);
}

void hello_stay(const char *path)
{
        say_launch(path, 2);
}

void hello_loaded(const char *path)
{
        say_launch(path, 3);
}

bool hello_launch(const char *path, long fd, bool spawn)
{
        struct wire_launch words = { .magic = WIRE_LAUNCH_MAGIC, .pid = sys_pid(),
                                     .tid = (uint32_t)sys_call3(SYS_gettid, 0, 0, 0),
                                     .spawn = spawn };
        long s = hello_socket();
        bool good;

        if (s < 0)
                return false;
        good = hello_connect(s, path, HELLO_TRIES) && send_with(s, &words, sizeof words, fd) &&
               hear(s) == 1;
        sys_close(s);
        return good;
}

bool hello_send(const char *path, long fd, uint32_t reason)
{
        bool come = true, good = false;

        for (int i = 0; i < HELLO_AGAIN && come && !good; i++) {
                long s = hello_socket();

                if (s < 0)
                        return false;
                come = hello_connect(s, path, HELLO_TRIES);
                good = come && hello_message(s, fd, reason);
                sys_close(s);
        }
        return good;
}
