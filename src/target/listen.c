/* SPDX-License-Identifier: MIT */
/*
 * listen.c -- the address where hosts connect to seep-target: a path, or a port number.
 *
 * Forms:  as remote/address.h has them, but names of machines need a C library: numbers and
 *         localhost only.
 */
#include "target/target.h"

#define PORT 4576u
#define LINE_MOST 256u

static struct {
        char path[108]; /* of a socket that is ours to remove; "" none */
        uint32_t family;
        uint8_t port[2];
} bound;

/* ---- words ---- */

static const char *read_number(const char *at, uint32_t most, uint32_t *out)
{
        const char *from = at;
        uint32_t value = 0;

        for (; *at >= '0' && *at <= '9' && value <= most; at++)
                value = value * 10 + (uint32_t)(*at - '0');
        *out = value;
        return at > from && value <= most ? at : NULL;
}

static const char *read_v4(const char *at, uint8_t *to)
{
        const char *local = bytes_after(at, "localhost");
        uint32_t part;

        if (local || *at == ':') {
                memcpy(to, "\x7f\0\0\1", 4);
                return local ? local : at;
        }
        for (int i = 0; i < 4 && at; i++) {
                if (i && *at++ != '.')
                        return NULL;
                at = read_number(at, 255, &part);
                to[i] = (uint8_t)part;
        }
        return at;
}

/* "[::1]", "[::]" and whole addresses of eight groups. */
static const char *read_v6(const char *at, uint8_t *to)
{
        const char *one = bytes_after(at, "::1]"), *any = bytes_after(at, "::]");

        memset(to, 0, 16);
        if (one || any) {
                to[15] = one ? 1 : 0;
                return one ? one : any;
        }
        for (int i = 0; i < 8; i++) {
                const char *from = at;
                uint64_t group = bytes_hex(&at);

                if (at == from || group > 0xffff || *at++ != (i < 7 ? ':' : ']'))
                        return NULL;
                to[2 * i] = (uint8_t)(group >> 8);
                to[2 * i + 1] = (uint8_t)group;
        }
        return at;
}

static bool is_near(const struct kernel_inet *a)
{
        static const uint8_t one[16] = { [15] = 1 };

        return a->family == KERNEL_V4 ? a->rest[0] == 127 : !memcmp(a->rest + 4, one, 16);
}

/* ---- listening ---- */

static void say_where(const char *host, const uint8_t *port)
{
        char text[16];
        uint32_t value = (uint32_t)port[0] << 8 | port[1], at = sizeof text - 1;

        text[at] = 0;
        text[--at] = '\'';
        do
                text[--at] = (char)('0' + value % 10);
        while (value /= 10);
        text[--at] = ':';
        say_more("serving: 'seep connect ", host, text + at);
}

static bool listen_inet(const char *text, const char **why)
{
        struct kernel_inet a = { .family = *text == '[' ? KERNEL_V6 : KERNEL_V4 };
        uint32_t port = PORT, size = sizeof a;
        const char *end = *text == '[' ? read_v6(text + 1, a.rest + 4) : read_v4(text, a.rest);
        int32_t yes = 1;
        char host[64];

        if (end && (size_t)(end - text) < sizeof host) {
                memcpy(host, text, (size_t)(end - text));
                host[end - text] = 0;
        }
        if (end && *end == ':')
                end = read_number(end + 1, 65535, &port);
        *why = "--listen needs a path with a slash, localhost, an IPv4 address, or an IPv6 address "
               "in brackets, and :PORT";
        if (!end || *end)
                return false;
        *why = "other machines can reach that address: it needs --token-file FILE, the same on "
               "both sides; or listen at localhost, and use ssh -L";
        if (!is_near(&a) && !target.token.length)
                return false;
        a.port[0] = (uint8_t)(port >> 8);
        a.port[1] = (uint8_t)port;
        target.listener = sys_call3(SYS_socket, a.family, KERNEL_STREAM | SYS_O_CLOEXEC, 0);
        sys_call6(SYS_setsockopt, target.listener, KERNEL_SOL_SOCKET, 2 /* SO_REUSEADDR */,
                  (long)&yes, sizeof yes, 0);
        *why = "nobody can listen there: the port is taken, or it is no address of this machine";
        if (sys_call3(SYS_bind, target.listener, (long)&a, a.family == KERNEL_V4 ? 16 : 28) != 0 ||
            sys_call3(SYS_listen, target.listener, 16, 0) != 0)
                return false;
        sys_call3(SYS_getsockname, target.listener, (long)&a, (long)&size);
        bound.family = a.family;
        memcpy(bound.port, a.port, 2);
        if (!is_near(&a))
                say("what goes to hosts is not encrypted: on networks that others can read, listen "
                    "at localhost and use ssh -L");
        say_where(*host && *host != ':' ? host : "localhost", a.port);
        return true;
}

/* A socket that nobody listens at is replaced, and nothing else. */
static bool make_way(const struct kernel_unix *a, long size)
{
        uint32_t status[64] = { 0 }; /* struct statx: the mode is at 28 */
        long s, result;
        uint16_t mode;

        if (sys_call6(SYS_statx, SYS_AT_HERE, (long)a->path, 0x100, 2, (long)status, 0) != 0)
                return true;
        memcpy(&mode, (const uint8_t *)status + 28, 2);
        if ((mode & 0170000) != 0140000)
                return false;
        s = sys_call3(SYS_socket, KERNEL_UNIX, KERNEL_STREAM | SYS_O_CLOEXEC, 0);
        result = sys_call3(SYS_connect, s, (long)a, size);
        sys_close(s);
        return result == -111 /* ECONNREFUSED */ &&
               sys_call3(SYS_unlinkat, SYS_AT_HERE, (long)a->path, 0) == 0;
}

static bool listen_path(const char *text, const char **why)
{
        struct kernel_unix a = { .family = KERNEL_UNIX };
        size_t length = strlen(text);
        long size = (long)(sizeof a.family + length + 1), mask;

        *why = "the path is too long for a socket";
        if (length >= sizeof a.path)
                return false;
        memcpy(a.path, text, length);
        *why = "there is a file of that name, or somebody listens there";
        if (!make_way(&a, size))
                return false;
        target.listener = sys_call3(SYS_socket, KERNEL_UNIX, KERNEL_STREAM | SYS_O_CLOEXEC, 0);
        mask = sys_call3(SYS_umask, 0177, 0, 0);
        *why = "no socket can be made there";
        if (sys_call3(SYS_bind, target.listener, (long)&a, size) != 0 ||
            sys_call3(SYS_listen, target.listener, 16, 0) != 0)
                return false;
        sys_call3(SYS_umask, mask, 0, 0);
        memcpy(bound.path, text, length + 1);
        bound.family = KERNEL_UNIX;
        say_more("serving: 'seep connect ", text, "'");
        return true;
}

bool listen_is_folder(const char *path)
{
        uint8_t status[256] = { 0 };
        uint32_t uid;
        uint16_t mode;

        if (sys_call6(SYS_statx, SYS_AT_HERE, (long)path, 0x100, 0xb, (long)status, 0) != 0)
                return false;
        memcpy(&uid, status + 20, 4);
        memcpy(&mode, status + 28, 2);
        return (mode & 0170000) == 0040000 && !(mode & 077) && uid == target.uid;
}

static void put_user(char *to, const char *front)
{
        char digits[12];
        uint32_t uid = target.uid, count = 0;

        memcpy(to, front, strlen(front));
        to += strlen(front);
        do
                digits[count++] = (char)('0' + uid % 10);
        while (uid /= 10);
        while (count)
                *to++ = digits[--count];
        *to = 0;
}

/* The user's own socket, where remote/address.c has it. */
static bool listen_own(const char **why)
{
        char path[64];

        put_user(path, "/run/user/");
        if (!listen_is_folder(path)) {
                put_user(path, "/tmp/seep-");
                sys_call3(SYS_mkdirat, SYS_AT_HERE, (long)path, 0700);
        }
        *why = "there is no directory of yours alone for the socket; name another one";
        if (!listen_is_folder(path))
                return false;
        memcpy(path + strlen(path), "/seep.sock", 11);
        return listen_path(path, why);
}

bool listen_at(const char *text, const char **why)
{
        if (bytes_same_text(text, "."))
                return listen_own(why);
        return bytes_find(text, '/') ? listen_path(text, why) : listen_inet(text, why);
}

void listen_end(void)
{
        if (bound.path[0])
                sys_call3(SYS_unlinkat, SYS_AT_HERE, (long)bound.path, 0);
}

/* ---- who is there ---- */

/* Capital digits, as the kernel writes them here. */
static const char *read_hex(const char *at, uint32_t *out)
{
        for (*out = 0;; at++) {
                if (*at >= '0' && *at <= '9')
                        *out = *out * 16 + (uint32_t)(*at - '0');
                else if (*at >= 'A' && *at <= 'F')
                        *out = *out * 16 + (uint32_t)(*at - 'A' + 10);
                else
                        return at;
        }
}

static uint32_t port_of(const uint8_t *port)
{
        return (uint32_t)port[0] << 8 | port[1];
}

/* "12: ADDRESS:PORT ADDRESS:PORT STATE QUEUES TIMER RETRANSMIT UID ...": the line of the peer's own
 * end. */
static bool line_is_own(const char *at, uint32_t theirs, uint32_t ours)
{
        uint32_t ports[2] = { 0, 0 }, uid = 0;

        at = bytes_find(at, ':');
        for (int i = 0; at && i < 2; i++) {
                at = bytes_find(at + 1, ':');
                at = at ? read_hex(at + 1, &ports[i]) - 1 : NULL;
        }
        if (!at || ports[0] != theirs || ports[1] != ours)
                return false;
        /* Behind the second port come the state, both queues, the timer and the retransmits. */
        at++;
        for (int field = 0; field < 4; field++) {
                while (*at == ' ')
                        at++;
                while (*at && *at != ' ')
                        at++;
        }
        while (*at == ' ')
                at++;
        for (; *at >= '0' && *at <= '9'; at++)
                uid = uid * 10 + (uint32_t)(*at - '0');
        return uid == 0 || uid == target.uid;
}

static bool table_has(const char *file, uint32_t theirs, uint32_t ours)
{
        char part[1024], line[LINE_MOST];
        uint32_t used = 0;
        long fd = sys_open(file), got;
        bool found = false;

        while (fd >= 0 && !found && (got = sys_read(fd, part, sizeof part)) > 0)
                for (long i = 0; i < got && !found; i++) {
                        if (part[i] != '\n') {
                                if (used + 1 < sizeof line)
                                        line[used++] = part[i];
                                continue;
                        }
                        line[used] = 0;
                        used = 0;
                        found = line_is_own(line, theirs, ours);
                }
        if (fd >= 0)
                sys_close(fd);
        return found;
}

bool listen_is_own(long fd)
{
        struct { int32_t pid; uint32_t uid, gid; } who = { 0, ~0u, 0 };
        struct kernel_inet peer;
        uint32_t size = sizeof who;

        if (bound.family == KERNEL_UNIX)
                return sys_call6(SYS_getsockopt, fd, KERNEL_SOL_SOCKET, KERNEL_SO_PEERCRED,
                                 (long)&who, (long)&size, 0) == 0 &&
                       (who.uid == 0 || who.uid == target.uid);
        size = sizeof peer;
        if (sys_call3(SYS_getpeername, fd, (long)&peer, (long)&size) != 0)
                return false;
        return table_has("/proc/net/tcp", port_of(peer.port), port_of(bound.port)) ||
               table_has("/proc/net/tcp6", port_of(peer.port), port_of(bound.port));
}
