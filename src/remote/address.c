/* SPDX-License-Identifier: MIT */
#include "remote/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "remote/protocol.h"

#define ADDRESS_BACKLOG 64
#define ADDRESS_DIAL_MS 15000
#define ADDRESS_PATH_MAX (sizeof((struct sockaddr_un *)0)->sun_path)

extern char **environ;

/* ---- words ---- */

static bool own_directory(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
               !(st.st_mode & 077);
}

/* Independent of the environment, so that a login by ssh finds what another one started. */
static bool default_path(char *out, size_t room, struct err *e)
{
        snprintf(out, room, "/run/user/%u", (unsigned)geteuid());
        if (!own_directory(out)) {
                snprintf(out, room, "/tmp/seep-%u", (unsigned)geteuid());
                if (mkdir(out, 0700) != 0 && errno != EEXIST)
                        return err_sys(e, ERR_EXIT_USAGE, "cannot make %s", out);
                if (!own_directory(out))
                        return err_set(e, ERR_EXIT_USAGE,
                                       "%s is not a directory of yours alone; name another socket",
                                       out);
        }
        snprintf(out + strlen(out), room - strlen(out), "/seep.sock");
        return true;
}

static bool is_port(const char *text)
{
        char *end;
        unsigned long port = strtoul(text, &end, 10);

        return *text >= '0' && *text <= '9' && !*end && port <= 65535;
}

static bool parse_net(const char *text, struct address *a, struct err *e)
{
        const char *colon = strrchr(text, ':'), *end = colon ? colon : text + strlen(text);
        const char *start = text;

        if (*text == '[') {
                start = text + 1;
                end = strchr(text, ']');
                if (!end || (end[1] && end[1] != ':'))
                        return err_set(e, ERR_EXIT_USAGE, "'%s': ] and :PORT are expected", text);
                colon = end[1] ? end + 1 : NULL;
        } else if (colon && strchr(text, ':') != colon) {
                colon = NULL; /* IPv6 without a port */
                end = text + strlen(text);
        }
        if ((size_t)(end - start) >= sizeof a->host)
                return err_set(e, ERR_EXIT_USAGE, "'%s': the name is too long", text);
        if (colon && !is_port(colon + 1))
                return err_set(e, ERR_EXIT_USAGE,
                               "'%s': a port from 0 to 65535 is expected behind the colon; a path "
                               "needs a slash: ./%s", text, text);
        snprintf(a->host, sizeof a->host, "%.*s", (int)(end - start), start);
        if (!a->host[0])
                strcpy(a->host, "127.0.0.1");
        snprintf(a->port, sizeof a->port, "%s", colon ? colon + 1 : PROTOCOL_PORT);
        a->near = strncmp(a->host, "127.", 4) == 0 || strcmp(a->host, "::1") == 0 ||
                  strcmp(a->host, "localhost") == 0;
        return true;
}

bool address_parse(const char *text, struct address *a, struct err *e)
{
        *a = (struct address){ .kind = ADDRESS_NET };
        if (!*text)
                return err_set(e, ERR_EXIT_USAGE, "an address is empty");
        snprintf(a->text, sizeof a->text, "%s", text);
        if (strcmp(text, ".") == 0) {
                a->kind = ADDRESS_PATH;
                return default_path(a->text, sizeof a->text, e);
        }
        if (strncmp(text, "ssh:", 4) == 0) {
                a->kind = ADDRESS_SSH;
                snprintf(a->text, sizeof a->text, "%s", text + 4);
                return (text[4] && text[4] != '-') ||
                       err_set(e, ERR_EXIT_USAGE, "'%s': ssh:[USER@]HOST is expected", text);
        }
        if (!strchr(text, '/'))
                return parse_net(text, a, e);
        a->kind = ADDRESS_PATH;
        return strlen(text) < ADDRESS_PATH_MAX ||
               err_set(e, ERR_EXIT_USAGE, "the path of a socket has at most %zu bytes: '%s' is too "
                       "long", ADDRESS_PATH_MAX - 1, text);
}

/* ---- sockets by path ---- */

static struct sockaddr_un path_address(const struct address *a)
{
        struct sockaddr_un out = { .sun_family = AF_UNIX };

        memcpy(out.sun_path, a->text, strlen(a->text));
        return out;
}

static int connect_path(const struct address *a)
{
        struct sockaddr_un to = path_address(a);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
                return fd;
        if (fd >= 0) {
                int why = errno;

                close(fd);
                errno = why;
        }
        return -1;
}

/* What has the name: nothing after this, or it is refused. */
static bool clear_path(const struct address *a, struct err *e)
{
        struct stat st;
        int fd;

        if (lstat(a->text, &st) != 0)
                return true;
        if (!S_ISSOCK(st.st_mode))
                return err_set(e, ERR_EXIT_USAGE, "%s is there, and is not a socket: name another",
                               a->text);
        fd = connect_path(a);
        if (fd >= 0) {
                close(fd);
                return err_set(e, ERR_EXIT_USAGE,
                               "another program already listens at %s: name another socket "
                               "(--listen)", a->text);
        }
        if (errno != ECONNREFUSED)
                return err_sys(e, ERR_EXIT_USAGE, "cannot replace the socket %s", a->text);
        return unlink(a->text) == 0 ||
               err_sys(e, ERR_EXIT_USAGE, "cannot replace the socket %s", a->text);
}

static int listen_path(const struct address *a, struct err *e)
{
        struct sockaddr_un at = path_address(a);
        mode_t before;
        bool good;
        int fd;

        if (!clear_path(a, e))
                return -1;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        before = umask(0177);
        good = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
               listen(fd, ADDRESS_BACKLOG) == 0;
        umask(before);
        if (good)
                return fd;
        err_sys(e, ERR_EXIT_USAGE, "cannot listen at %s", a->text);
        if (fd >= 0)
                close(fd);
        return -1;
}

void address_remove(const struct address *a)
{
        struct stat st;

        if (a->kind == ADDRESS_PATH && lstat(a->text, &st) == 0 && S_ISSOCK(st.st_mode))
                unlink(a->text);
}

/* ---- ports ---- */

static bool is_near(const struct sockaddr *at)
{
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)at;
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)at;

        if (at->sa_family == AF_INET)
                return ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

static struct addrinfo *find(const struct address *a, int flags, struct err *e)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags }, *found = NULL;
        int why = getaddrinfo(a->host, a->port, &hints, &found);

        if (why != 0)
                err_set(e, ERR_EXIT_USAGE,
                        "cannot find '%s': %s; HOST:PORT, a path with a slash, or . is expected",
                        a->host, why == EAI_SYSTEM ? strerror(errno) : gai_strerror(why));
        return why == 0 ? found : NULL;
}

static void name_bound(int fd, const struct address *a, char out[320])
{
        struct sockaddr_storage at = { 0 };
        socklen_t length = sizeof at;
        char port[16];

        snprintf(port, sizeof port, "%s", a->port);
        if (getsockname(fd, (struct sockaddr *)&at, &length) == 0)
                getnameinfo((struct sockaddr *)&at, length, NULL, 0, port, sizeof port,
                            NI_NUMERICSERV);
        snprintf(out, 320, strchr(a->host, ':') ? "[%s]:%s" : "%s:%s", a->host, port);
}

static int listen_net(struct address *a, char bound[320], struct err *e)
{
        struct addrinfo *found = find(a, AI_PASSIVE, e);
        int fd = -1, yes = 1;

        if (!found)
                return -1;
        a->near = is_near(found->ai_addr);
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
            listen(fd, ADDRESS_BACKLOG) != 0) {
                err_sys(e, ERR_EXIT_USAGE, "cannot listen at %s", a->text);
                if (fd >= 0)
                        close(fd);
                fd = -1;
        }
        freeaddrinfo(found);
        if (fd >= 0)
                name_bound(fd, a, bound);
        return fd;
}

int address_listen(struct address *a, char bound[320], struct err *e)
{
        if (a->kind == ADDRESS_SSH) {
                err_set(e, ERR_EXIT_USAGE, "ssh: is for 'seep connect'");
                return -1;
        }
        if (a->kind == ADDRESS_NET)
                return listen_net(a, bound, e);
        a->near = true;
        snprintf(bound, 320, "%s", a->text);
        return listen_path(a, e);
}

/* With a limit of time, which connect() has none of.  false: errno. */
static bool connect_within(int fd, const struct addrinfo *to)
{
        struct pollfd wait = { .fd = fd, .events = POLLOUT };
        int flags = fcntl(fd, F_GETFL), why = 0;
        socklen_t length = sizeof why;

        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
        if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
                if (errno != EINPROGRESS)
                        return false;
                if (poll(&wait, 1, ADDRESS_DIAL_MS) != 1) {
                        errno = ETIMEDOUT;
                        return false;
                }
                if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &length) != 0 || why) {
                        errno = why ? why : errno;
                        return false;
                }
        }
        fcntl(fd, F_SETFL, flags);
        return true;
}

void address_watch(int fd)
{
        int yes = 1, idle_s = 10, every_s = 5, times = 3, most_ms = 20000;

        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
}

static int dial_net(struct address *a, struct err *e)
{
        struct addrinfo *found = find(a, 0, e);
        int fd = -1, why = 0;

        if (!found)
                return -1;
        for (struct addrinfo *to = found; to && fd < 0; to = to->ai_next) {
                fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
                if (fd >= 0 && connect_within(fd, to)) {
                        a->near = is_near(to->ai_addr);
                        address_watch(fd);
                        break;
                }
                why = errno;
                if (fd >= 0)
                        close(fd);
                fd = -1;
        }
        freeaddrinfo(found);
        errno = why;
        return fd;
}

/* ---- ssh ---- */

/* Further connections of the same command go through the first one. */
static int dial_ssh(const struct address *a, pid_t *helper, struct err *e)
{
        char control[128];
        char *const argv[] = { (char[]){ "ssh" }, (char[]){ "-T" },
                               (char[]){ "-oControlMaster=auto" }, control,
                               (char[]){ "-oControlPersist=10" }, (char[]){ "--" },
                               (char *)a->text, (char[]){ "seep" }, (char[]){ "serve" },
                               (char[]){ "--stdio" }, NULL };
        posix_spawn_file_actions_t actions;
        struct address own;
        int ends[2], why;

        if (!address_parse(".", &own, e))
                return -1;
        snprintf(control, sizeof control, "-oControlPath=%.*s/ssh-%%C",
                 (int)(strrchr(own.text, '/') - own.text), own.text);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot start ssh");
                return -1;
        }
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        why = posix_spawnp(helper, "ssh", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (why == 0)
                return ends[0];
        close(ends[0]);
        *helper = 0;
        errno = why;
        err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot start ssh");
        return -1;
}

int address_dial(struct address *a, pid_t *helper, struct err *e)
{
        int fd;

        *helper = 0;
        e->text[0] = 0;
        if (a->kind == ADDRESS_SSH)
                return dial_ssh(a, helper, e);
        a->near = a->near || a->kind == ADDRESS_PATH;
        fd = a->kind == ADDRESS_PATH ? connect_path(a) : dial_net(a, e);
        if (fd < 0 && !e->text[0])
                err_sys(e, ERR_EXIT_CANNOT_TRACE,
                        "nobody can be reached at %s ('seep serve --listen ADDR -- PROGRAM' "
                        "listens)", a->text);
        return fd;
}

/* ---- who it is ---- */

/* AT as the kernel's tables have it. */
static void add_end(struct str *to, const struct sockaddr *at)
{
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)at;
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)at;
        uint32_t word[4];

        memcpy(word, &six->sin6_addr, sizeof word);
        if (at->sa_family == AF_INET)
                str_format(to, "%08X:%04X ", four->sin_addr.s_addr, ntohs(four->sin_port));
        else
                str_format(to, "%08X%08X%08X%08X:%04X ", word[0], word[1], word[2], word[3],
                           ntohs(six->sin6_port));
}

/* Whose the other end of a connection between two sockets of this machine is.  One that was closed
 * already belongs to nobody, which reads as root: only an open one counts. */
static uid_t find_owner(const struct sockaddr *peer, const struct sockaddr *own)
{
        struct str text = { 0 }, wanted = { 0 };
        uid_t owner = (uid_t)-1;
        const char *line = NULL;
        unsigned uid;

        str_text(&wanted, ": ");
        add_end(&wanted, peer);
        add_end(&wanted, own);
        str_text(&wanted, "01 "); /* established */
        if (io_read_file(peer->sa_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", &text))
                line = strstr(str_get(&text), str_get(&wanted));
        if (line && sscanf(line + wanted.length, "%*s %*s %*s %u", &uid) == 1)
                owner = uid;
        str_free(&text);
        str_free(&wanted);
        return owner;
}

bool address_is_own(int fd)
{
        struct sockaddr_storage peer = { 0 }, own = { 0 };
        socklen_t length = sizeof peer, own_length = sizeof own, size = sizeof(struct ucred);
        struct ucred who = { .uid = (uid_t)-1 };

        if (getpeername(fd, (struct sockaddr *)&peer, &length) != 0 ||
            getsockname(fd, (struct sockaddr *)&own, &own_length) != 0)
                return false;
        if (own.ss_family == AF_UNIX)
                getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
        else
                who.uid = find_owner((struct sockaddr *)&peer, (struct sockaddr *)&own);
        return who.uid == geteuid() || who.uid == 0;
}
