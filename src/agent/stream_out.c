/* SPDX-License-Identifier: MIT */
/*
 * stream_out.c -- where the packets of a journal go: a file, or a socket.
 *
 * Keeps:  a file is open for a moment only.  A socket is above the numbers that programs use,
 *         closes on exec, and is asked for its own port before each use: a program that closes what
 *         it does not know gets no bytes of ours into what it opens next.
 */
#include "agent/bytes.h"
#include "agent/stream_parts.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define TARGET 3u /* a kind: the ring is read from outside */

enum { FAMILY_4 = 2, FAMILY_6 = 10, SOCKET_STREAM = 1, SOCKET_DATAGRAM = 2, NO_SIGNAL = 0x4000,
       NOT_WAITING = 0x40, POLL_OUT = 4, LEVEL_SOCKET = 1, SOCKET_ERROR = 4,
       SOCKET_SEND_BUFFER = 7 };

#define DEFAULT_PORT 4576u
#define NAME_MAX_ 4096u
#define CONNECT_MS 5000u
#define SEND_BYTES (256 << 10) /* that the kernel keeps for us, at most */
#define WAIT_NS 20000000l
#define SYS_EEXIST 17
#define SYS_EINPROGRESS 115
#define SYS_ECONNREFUSED 111
#define SYS_EPIPE 32

struct address {
        uint16_t family;
        uint8_t port[2];
        uint8_t rest[24]; /* v4: the address; v6: flow, address, scope */
};

static struct {
        char name[NAME_MAX_ + 32]; /* of the file */
        size_t length;             /* ... without what tells processes apart */
        struct address to;
        uint32_t kind; /* SOCKET_* or TARGET; 0: a file */
        uint8_t port[2]; /* our own */
        long fd;
} out = { .fd = -1 };

uint32_t stream_out_most(void)
{
        return out.kind == SOCKET_DATAGRAM ? JOURNAL_DATAGRAM : JOURNAL_HEAD + JOURNAL_BODY_MAX;
}

bool stream_out_is_datagram(void)
{
        return out.kind == SOCKET_DATAGRAM;
}

const char *stream_out_target(void)
{
        return out.kind == TARGET ? out.name : NULL;
}

const char *stream_out_cwd(void)
{
        return "/proc/self/cwd";
}

/* ---- names ---- */

static const char *read_number(const char *at, uint32_t most, uint32_t *out_value)
{
        uint32_t value = 0;
        const char *from = at;

        for (; *at >= '0' && *at <= '9' && value <= most; at++)
                value = value * 10 + (uint32_t)(*at - '0');
        *out_value = value;
        return at > from && value <= most ? at : NULL;
}

static const char *read_v4(const char *at, uint8_t *to)
{
        const char *local = bytes_after(at, "localhost");
        uint32_t part;

        if (local) {
                memcpy(to, "\x7f\0\0\1", 4);
                return local;
        }
        for (int i = 0; i < 4 && at; i++) {
                if (i && *at++ != '.')
                        return NULL;
                at = read_number(at, 255, &part);
                to[i] = (uint8_t)part;
        }
        return at;
}

/* Groups of hexadecimal digits in brackets; "::" once for as many zeros as are missing. */
static const char *read_v6(const char *at, uint8_t *to)
{
        uint8_t groups[16] = { 0 };
        size_t count = 0, gap = 17;

        while (*at && *at != ']') {
                const char *from = at;
                uint64_t group;

                if (at[0] == ':' && at[1] == ':') {
                        gap = gap == 17 ? count : 18;
                        at += 2;
                        continue;
                }
                at += *at == ':' && count;
                group = bytes_hex(&at);
                if (at == from || group > 0xffff || count == sizeof groups)
                        return NULL;
                groups[count++] = (uint8_t)(group >> 8);
                groups[count++] = (uint8_t)group;
        }
        if (*at != ']' || gap == 18 || (gap == 17) != (count == 16))
                return NULL;
        memset(to, 0, 16);
        memcpy(to, groups, gap < count ? gap : count);
        if (gap < count)
                memcpy(to + 16 - (count - gap), groups + gap, count - gap);
        return at + 1;
}

static bool read_address(const char *text)
{
        uint32_t port = DEFAULT_PORT;

        memset(&out.to, 0, sizeof out.to);
        if (*text == '[') {
                out.to.family = FAMILY_6;
                text = read_v6(text + 1, out.to.rest + 4);
        } else {
                out.to.family = FAMILY_4;
                text = read_v4(text, out.to.rest);
        }
        if (text && *text == ':')
                text = read_number(text + 1, 65535, &port);
        out.to.port[0] = (uint8_t)(port >> 8);
        out.to.port[1] = (uint8_t)port;
        return text && !*text && port;
}

/* The whole path: the program may change its directory. */
static bool take_path(const char *path)
{
        size_t length = strlen(path);
        long got = 0;

        if (*path != '/') {
                got = sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)"/proc/self/cwd",
                                (long)out.name, NAME_MAX_ - 1, 0, 0);
                if (got <= 0)
                        return false;
                out.name[got++] = '/';
        }
        if (!length || (size_t)got + length >= NAME_MAX_)
                return false;
        memcpy(out.name + got, path, length + 1);
        out.length = (size_t)got + length;
        return true;
}

bool stream_out_name(const char *text)
{
        const char *tcp = bytes_after(text, "tcp:"), *udp = bytes_after(text, "udp:"),
                   *target = bytes_after(text, "target:");

        out.kind = tcp ? SOCKET_STREAM : udp ? SOCKET_DATAGRAM : 0;
        if (target) {
                out.kind = TARGET;
                return *target == '/' && take_path(target);
        }
        return out.kind ? read_address(tcp ? tcp : udp) : take_path(text);
}

/* ---- opening ---- */

static void say(const char *text)
{
        sys_call3(SYS_write, 2, (long)text, (long)strlen(text));
}

static size_t put_decimal(char *to, uint32_t value)
{
        char digits[12];
        size_t count = 0, at = 0;

        do
                digits[count++] = (char)('0' + value % 10);
        while (value /= 10);
        while (count)
                to[at++] = digits[--count];
        to[at] = 0;
        return at;
}

#define FILE_TRIES 100u

/* What another process writes, or wrote, is not touched: NAME, NAME.PID, NAME.PID.2, ... */
static bool make_file(void)
{
        long flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | SYS_O_CLOEXEC, fd = -SYS_EEXIST;

        out.name[out.length] = 0;
        for (uint32_t i = 0; i < FILE_TRIES && fd == -SYS_EEXIST; i++) {
                char *end = out.name + out.length;

                if (i) {
                        *end++ = '.';
                        end += put_decimal(end, agent.pid);
                }
                if (i > 1) {
                        *end++ = '.';
                        put_decimal(end, i);
                }
                fd = sys_call6(SYS_openat, SYS_AT_HERE, (long)out.name, flags, 0600, 0, 0);
        }
        if (sys_failed(fd))
                return false;
        sys_close(fd);
        return true;
}

/* Numbers that few programs come to. */
static long move_up(long fd)
{
        static const long places[] = { 1000, 250, 100 };
        long moved = -1;

        for (size_t i = 0; i < sizeof places / sizeof *places && moved < 0; i++)
                moved = sys_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, places[i]);
        if (sys_failed(moved))
                return fd;
        sys_close(fd);
        return moved;
}

static bool own_port(uint8_t *port)
{
        struct address a;
        uint32_t size = sizeof a;

        if (sys_failed(sys_call3(SYS_getsockname, out.fd, (long)&a, (long)&size)) ||
            a.family != out.to.family)
                return false;
        memcpy(port, a.port, 2);
        return true;
}

static bool is_ready(long fd, long ns)
{
        struct { int fd; short events, revents; } one = { (int)fd, POLL_OUT, 0 };
        long limit[2] = { ns / 1000000000l, ns % 1000000000l };

        return sys_call6(SYS_ppoll, (long)&one, 1, (long)limit, 0, 0, 0) == 1;
}

static bool is_connected(long fd)
{
        int32_t error = -1;
        uint32_t size = sizeof error;

        return is_ready(fd, CONNECT_MS * 1000000l) &&
               !sys_failed(sys_call6(SYS_getsockopt, fd, LEVEL_SOCKET, SOCKET_ERROR, (long)&error,
                                     (long)&size, 0)) &&
               !error;
}

static bool make_socket(void)
{
        long size = out.to.family == FAMILY_4 ? 16 : 28, result;
        int32_t room = SEND_BYTES;
        long fd = sys_call3(SYS_socket, out.to.family,
                            out.kind | SYS_O_CLOEXEC | SYS_O_NONBLOCK, 0);

        if (sys_failed(fd))
                return false;
        sys_call6(SYS_setsockopt, fd, LEVEL_SOCKET, SOCKET_SEND_BUFFER, (long)&room, sizeof room,
                  0);
        result = sys_call3(SYS_connect, fd, (long)&out.to, size);
        if (result != 0 && (result != -SYS_EINPROGRESS || !is_connected(fd))) {
                sys_close(fd);
                return false;
        }
        out.fd = move_up(fd);
        return own_port(out.port);
}

bool stream_out_open(bool tell)
{
        bool good = out.kind ? make_socket() : make_file();

        if (!good && tell)
                say(out.kind ? "seep: cannot reach the receiver of the journal ('seep connect "
                               "--receive' runs there?); nothing is recorded\n"
                             : "seep: cannot make the file of the journal (--journal=FILE in "
                               "SEEP_OPTIONS); nothing is recorded\n");
        return good;
}

void stream_out_close(void)
{
        uint8_t port[2];

        if (out.kind && out.fd >= 0 && own_port(port) && !memcmp(port, out.port, 2))
                sys_close(out.fd);
        out.fd = -1;
}

/* ---- sending ---- */

static long append(const uint8_t *bytes, uint32_t count)
{
        long put, fd = sys_call6(SYS_openat, SYS_AT_HERE, (long)out.name,
                                 O_WRONLY | O_APPEND | O_NOFOLLOW | SYS_O_CLOEXEC, 0, 0, 0);

        if (sys_failed(fd))
                return fd;
        do
                put = sys_call3(SYS_write, fd, (long)bytes, (long)count);
        while (put == -SYS_EINTR);
        sys_close(fd);
        return put;
}

static long send_on(const uint8_t *bytes, uint32_t count)
{
        uint8_t port[2];
        long sent;

        if (out.fd < 0 || !own_port(port) || memcmp(port, out.port, 2) != 0)
                return -SYS_EPIPE;
        do
                sent = sys_call6(SYS_sendto, out.fd, (long)bytes, (long)count,
                                 NO_SIGNAL | NOT_WAITING, 0, 0);
        while (sent == -SYS_EINTR);
        if (sent == -SYS_ECONNREFUSED && out.kind == SOCKET_DATAGRAM)
                sent = (long)count; /* nobody listens just now: lost on the way, as others are */
        return sent;
}

long stream_out_send(const uint8_t *bytes, uint32_t count)
{
        return out.kind ? send_on(bytes, count) : append(bytes, count);
}

void stream_out_wait(void)
{
        long nap[2] = { 0, WAIT_NS };

        if (!out.kind || out.fd < 0 || !is_ready(out.fd, WAIT_NS))
                sys_call3(SYS_nanosleep, (long)nap, 0, 0);
}
