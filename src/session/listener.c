/* SPDX-License-Identifier: MIT */
#include "session/listener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fdpass.h"
#include "base/place.h"
#include "session/filters.h"

#define LISTENER_PLENTY 65536 /* descriptors: a limit above this is not reached by chance */
#define LISTENER_DESCRIPTORS 8 /* connection, ledger, pidfd, files in /proc, the output file, and
                                * some */
#define LISTENER_DEAD_SECONDS 60
#define LISTENER_NAME_BYTES (sizeof "/hello-" + 24) /* of the socket, behind its directory */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- the socket ---- */

/* Whether nobody listens at the socket NAME of DIRECTORY. */
static bool refuses(int directory, const char *name)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        bool refused;

        snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.64s", directory,
                 name);
        refused = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0 &&
                  errno == ECONNREFUSED;
        if (fd >= 0)
                close(fd);
        return refused;
}

/* A session makes a socket, and perhaps a link and files about filters. */
static bool is_dead(int directory, const char *name)
{
        struct stat st;

        if (name[0] == '.')
                return true;
        return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               (!S_ISSOCK(st.st_mode) || refuses(directory, name));
}

/* A session that was killed could not tidy up.  Its socket refuses; one that is
 * just being made is younger. */
static void remove_if_dead(int place, const char *name)
{
        int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *files = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *d;
        struct stat st;
        bool dead;

        if (!files) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        dead = fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
               st.st_mtime + LISTENER_DEAD_SECONDS < time(NULL);
        while (dead && (d = readdir(files)))
                dead = is_dead(fd, d->d_name);
        rewinddir(files);
        while (dead && (d = readdir(files)))
                if (d->d_name[0] != '.')
                        unlinkat(fd, d->d_name, 0);
        if (dead)
                unlinkat(place, name, AT_REMOVEDIR);
        closedir(files);
}

void listener_tidy(const struct listener *g)
{
        const char *end = strrchr(g->directory, '/');
        char place[sizeof g->directory];
        struct dirent *d;
        DIR *all;

        if (!end)
                return;
        snprintf(place, sizeof place, "%.*s", (int)(end - g->directory), g->directory);
        all = opendir(*place ? place : "/");
        while (all && (d = readdir(all)))
                if (strncmp(d->d_name, "seep-", 5) == 0 &&
                    strlen(d->d_name) == sizeof "seep-XXXXXX" - 1)
                        remove_if_dead(dirfd(all), d->d_name);
        if (all)
                closedir(all);
}

/* Others could put a directory of their own in the place of ours. */
static bool is_exposed(const char *place)
{
        int fd = place_folder(place);
        bool exposed = fd >= 0 && place_is_exposed(fd);

        if (fd >= 0)
                close(fd);
        return exposed;
}

/* BORROWED: the environment is the program's, and TMPDIR may be a folder that it is just about to
 * remove: the last choice then. */
static bool make_directory(struct listener *g, bool borrowed, struct err *e)
{
        const char *given = getenv("TMPDIR");
        const char *places[] = { getenv("XDG_RUNTIME_DIR"), borrowed ? "/tmp" : given,
                                 borrowed ? given : "/tmp" };

        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                int length = places[i] && places[i][0] == '/'
                                     ? snprintf(g->directory, sizeof g->directory, "%s/seep-XXXXXX",
                                                places[i])
                                     : -1;

                if (length < 0 || length + LISTENER_NAME_BYTES > sizeof g->path ||
                    is_exposed(places[i]) || !mkdtemp(g->directory))
                        continue;
                return true;
        }
        g->directory[0] = 0;
        return err_sys(e, ERR_EXIT_CANNOT_TRACE,
                       "cannot create a directory for the session in $TMPDIR or /tmp");
}

/* The socket gets a name that nobody can guess, list (they cannot read the directory) or find in
 * /proc/net/unix (which keeps the one that it was bound to): only the program and what it starts
 * are told, by their environment. */
static bool hide(struct listener *g)
{
        char name[sizeof g->path];
        uint64_t secret[2];

        if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
                return false;
        snprintf(name, sizeof name, "%.*s/hello-%016llx%08x",
                 (int)(sizeof name - LISTENER_NAME_BYTES), g->directory,
                 (unsigned long long)secret[0], (unsigned)secret[1]);
        if (rename(g->path, name) != 0)
                return false;
        memcpy(g->path, name, sizeof name);
        return true;
}

/* Root may record programs that change their user before they start others: those
 * must reach the socket too. */
static bool open_to_users(const struct listener *g, uid_t owner_uid)
{
        if (geteuid() != 0)
                return true;
        return chmod(g->directory, 0711) == 0 && chmod(g->path, 0666) == 0 &&
               (owner_uid == 0 || (chown(g->directory, owner_uid, (gid_t)-1) == 0 &&
                                   chown(g->path, owner_uid, (gid_t)-1) == 0));
}

bool listener_open(struct listener *g, uid_t owner_uid, bool borrowed, struct err *e)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        *g = (struct listener){ .fd = -1, .owner = getpid() };
        if (!make_directory(g, borrowed, e))
                return false;
        snprintf(g->path, sizeof g->path, "%.*s/hello", (int)(sizeof g->path - sizeof "/hello"),
                 g->directory);
        memcpy(address.sun_path, g->path, sizeof address.sun_path);
        g->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (g->fd >= 0 && bind(g->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
            hide(g) && open_to_users(g, owner_uid) && listen(g->fd, LISTENER_BACKLOG) == 0)
                return true;
        err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot listen on %s", g->path);
        listener_close(g);
        return false;
}

void listener_close(struct listener *g)
{
        int directory;

        if (g->fd >= 0)
                close(g->fd);
        g->fd = -1;
        if (!g->directory[0] || g->owner != getpid())
                return;
        directory = open(g->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory >= 0) {
                filters_remove(directory);
                close(directory);
        }
        unlink(g->path);
        if (g->alias[0])
                unlink(g->alias);
        rmdir(g->directory);
        g->directory[0] = 0;
}

bool listener_alias(struct listener *g, const char *file, struct err *e)
{
        const char *base = strrchr(file, '/');

        if (snprintf(g->alias, sizeof g->alias, "%s%s", g->directory, base ? base : "") <
                    (int)sizeof g->alias &&
            !strpbrk(g->alias, " :") && symlink(file, g->alias) == 0)
                return true;
        g->alias[0] = 0;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "LD_PRELOAD cannot hold the name %s, which has a space or a colon in it. "
                       "Install seep elsewhere, or set TMPDIR to a path without them",
                       file);
}

/* Whether NUMBER, the lowest that is free, is so far from the limit that there is no need to
 * try. */
static bool listener_has_plenty(int number)
{
        struct rlimit limit;

        return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > LISTENER_PLENTY &&
               (rlim_t)number < limit.rlim_cur / 2;
}

bool listener_has_room(void)
{
        int fds[LISTENER_DESCRIPTORS], count = 0;

        fds[count] = open("/", O_PATH | O_CLOEXEC);
        if (fds[count] < 0)
                return false;
        if (listener_has_plenty(fds[count++])) {
                close(fds[0]);
                return true;
        }
        while (count < LISTENER_DESCRIPTORS &&
               (fds[count] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0)) >= 0)
                count++;
        for (int i = 0; i < count; i++)
                close(fds[i]);
        return count == LISTENER_DESCRIPTORS;
}

int listener_accept(int endpoint)
{
        return accept4(endpoint, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void listener_reply_file(int fd, const struct wire_reply *reply, int file)
{
        ssize_t n = fdpass_send(fd, reply, sizeof *reply, file, MSG_DONTWAIT);

        (void)n; /* who does not wait for the answer does not get it */
        close(fd);
}

void listener_reply(int fd, const struct wire_reply *reply)
{
        listener_reply_file(fd, reply, -1);
}

void listener_refuse(int fd, const char *format, ...)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .status = ERR_EXIT_CANNOT_TRACE };
        va_list ap;

        va_start(ap, format);
        vsnprintf(reply.text, sizeof reply.text, format, ap);
        va_end(ap);
        listener_reply(fd, &reply);
}

/* ---- who comes ---- */

/* The process that connected: the kernel's word, not the sender's. */
static void identify(int fd, struct greeting *out)
{
        struct ucred who = { .uid = (uid_t)-1 };
        socklen_t length = sizeof who;

        out->pid = 0;
        out->uid = (uid_t)-1;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
                return;
        out->uid = who.uid;
        out->pid = who.pid > 0 ? (uint32_t)who.pid : 0;
}

static int process_of(int fd, uint32_t pid)
{
        int pidfd = -1;
        socklen_t length = sizeof pidfd;

        if (pid == 0)
                return -1;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) < 0)
                pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (pidfd >= 0)
                fcntl(pidfd, F_SETFD, FD_CLOEXEC);
        return pidfd;
}

/* All that can be said.  Longer messages are cut off by the kernel, and have the size of none of
 * them. */
union listener_words {
        uint64_t magic;
        struct wire_hello hello;
        struct wire_knock knock;
        struct wire_launch launch;
        struct wire_request request;
        char room[sizeof(struct wire_request) + 1];
};

/* An agent of the other byte order says the same with its numbers turned: a long one and short
 * ones. */
static void turn_words(union listener_words *words, size_t bytes)
{
        uint32_t *word = (uint32_t *)(void *)words;

        words->magic = __builtin_bswap64(words->magic);
        for (size_t i = sizeof words->magic / sizeof *word; i < bytes / sizeof *word; i++)
                word[i] = __builtin_bswap32(word[i]);
}

static bool is_turned(const union listener_words *words, size_t bytes)
{
        uint64_t magic = __builtin_bswap64(words->magic);

        return (bytes == sizeof words->hello && magic == WIRE_HELLO_MAGIC) ||
               (bytes == sizeof words->knock && magic == WIRE_KNOCK_MAGIC) ||
               (bytes == sizeof words->launch && magic == WIRE_LAUNCH_MAGIC);
}

static enum listener_answer understand(const union listener_words *words, size_t bytes,
                                       struct greeting *out)
{
        if (bytes == sizeof words->hello && words->magic == WIRE_HELLO_MAGIC) {
                out->hello = words->hello;
                return LISTENER_COME;
        }
        if (bytes == sizeof words->knock && words->magic == WIRE_KNOCK_MAGIC)
                return LISTENER_KNOCKED;
        if (bytes == sizeof words->launch && words->magic == WIRE_LAUNCH_MAGIC) {
                out->launch = words->launch;
                return LISTENER_LAUNCHES;
        }
        if (bytes == sizeof words->request && words->magic == WIRE_REQUEST_MAGIC) {
                out->request = words->request;
                out->request.label[sizeof out->request.label - 1] = 0;
                return LISTENER_ASKED;
        }
        return LISTENER_WRONG;
}

enum listener_answer listener_receive(int fd, struct greeting *out, struct err *e)
{
        union listener_words words = { .magic = 0 };
        enum listener_answer answer;
        int ledger;
        ssize_t got = fdpass_receive(fd, &words, sizeof words, &ledger, 0);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return LISTENER_LATER;
        if (got <= 0 && ledger < 0)
                return LISTENER_WRONG; /* it died before it spoke */
        identify(fd, out);
        if (got > 0 && is_turned(&words, (size_t)got))
                turn_words(&words, (size_t)got);
        answer = understand(&words, (size_t)(got > 0 ? got : 0), out);
        if (answer == LISTENER_COME && ledger >= 0) {
                if (!view_open(&out->view, ledger, e))
                        return LISTENER_WRONG;
                out->pidfd = process_of(fd, out->pid);
                return LISTENER_COME;
        }
        if (answer == LISTENER_LAUNCHES && (ledger >= 0 || out->launch.spawn >= 2)) {
                out->file = ledger;
                return answer;
        }
        if (ledger >= 0)
                close(ledger);
        if (answer != LISTENER_LAUNCHES && answer != LISTENER_COME && answer != LISTENER_WRONG)
                return answer;
        err_set(e, ERR_EXIT_CANNOT_TRACE,
                "something that is not an agent connected to the session's socket");
        return LISTENER_WRONG;
}

void listener_leave(struct greeting *g)
{
        view_refuse(&g->view);
        view_close(&g->view);
        if (g->pidfd >= 0)
                close(g->pidfd);
}
