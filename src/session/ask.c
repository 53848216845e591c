/* SPDX-License-Identifier: MIT */
#include "session/ask.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/io.h"
#include "base/fdpass.h"
#include "base/str.h"
#include "profile/file.h"
#include "session/endpoint.h"
#include "session/family.h"

#define ASK_PATIENCE_S 15
#define ASK_SCAN_PATIENCE_S 600 /* of many gigabytes */
#define ASK_STATUS_PATIENCE_S 3 /* which takes no time */
#define ASK_ANCESTORS_MAX 64u
#define ASK_TRIES 20
#define ASK_NAP_MS 50
#define ASK_START_MS 30000u /* until then a seep may be about to start its program,
                             * on a very busy machine ... */
#define ASK_AGAIN_MS 1000u  /* ... and one that has had a child, the next */
#define ASK_ENDPOINTS_MAX 256u
#define ASK_CHILDREN_MAX 256u
#define ASK_SESSION_FIELDS 11 /* in front of the path */

/* ---- where questions go ---- */

static const struct ask_route *route;

static struct {
        struct sockaddr_un address; /* "": the usual way */
        void (*tick)(void *context);
        void *context;
} session;

void ask_through(const struct ask_route *to)
{
        route = to;
}

bool ask_is_routed(void)
{
        return route != NULL;
}

void ask_session(const char *path, void (*tick)(void *context), void *context)
{
        session.address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        snprintf(session.address.sun_path, sizeof session.address.sun_path, "%s", path);
        session.tick = tick;
        session.context = context;
}

static void take_nap(void)
{
        const struct timespec nap = { .tv_nsec = ASK_NAP_MS * 1000000 };

        nanosleep(&nap, NULL);
}

/* ---- what it records ---- */

static bool is_same_program(uint32_t one, uint32_t other)
{
        uint64_t dev[2], ino[2];

        return process_exe(one, &dev[0], &ino[0]) && process_exe(other, &dev[1], &ino[1]) &&
               dev[0] == dev[1] && ino[0] == ino[1];
}

/* Not one that is itself recorded. */
static bool is_seep(uint32_t pid)
{
        return is_same_program(pid, (uint32_t)getpid()) && !family_has_agent((pid_t)pid);
}

/* `seep ./server & seep snapshot $!`: the shell's child is still the shell. */
static bool is_about_to_start(uint32_t pid)
{
        uint32_t shell = (uint32_t)getppid();

        return process_parent(pid) == shell && is_same_program(pid, shell);
}

/* How many recorded children the seep PID has; WHICH is the last of them.  Others are writers of
 * its own. */
static uint32_t count_recorded(uint32_t pid, uint32_t *which)
{
        uint32_t children[ASK_CHILDREN_MAX],
                count = process_children(pid, children, ASK_CHILDREN_MAX), recorded = 0;

        for (uint32_t i = 0; i < count; i++)
                if (family_has_agent((pid_t)children[i])) {
                        *which = children[i];
                        recorded++;
                }
        return recorded;
}

/* A child that is there may still be on its way to the program, and that to its agent. */
static bool may_start_soon(uint32_t pid)
{
        uint32_t child;
        bool on_its_way = process_is_childless(pid) || process_children(pid, &child, 1) > 0;

        return process_age_ms(pid) < (on_its_way ? ASK_START_MS : ASK_AGAIN_MS);
}

bool ask_program(uint32_t *pid, struct err *e)
{
        uint32_t given = *pid, count = 0;

        if (route)
                return true;
        while (is_seep(given) || is_about_to_start(given)) {
                count = count_recorded(given, pid);
                if (count || !may_start_soon(given))
                        break;
                take_nap();
        }
        if (count == 1 || !is_seep(given))
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %u is seep itself and records %s; name the process: 'pgrep -a "
                       "NAME' finds it", given,
                       count ? "several programs" : "no child of its own now");
}

/* ---- who records it ---- */

/* VALUE behind "LENGTH:EXPRESSION:"; NULL: it does not begin so. */
static const char *behind_omit(const char *value)
{
        char *end;
        size_t length = strtoul(value, &end, 16);

        if (end == value || *end != ':' || length > REGEX_MAX || strlen(end + 1) <= length ||
            end[length + 1] != ':')
                return NULL;
        return end + length + 2;
}

const char *ask_session_path(const char *value)
{
        for (int i = 0; i < ASK_SESSION_FIELDS && value; i++) {
                value = strchr(value, ':');
                value = value ? value + 1 : NULL;
        }
        if (value && *value != '/')
                value = behind_omit(value);
        return value && *value == '/' ? value : NULL;
}

static bool read_process_file(uint32_t pid, const char *file, struct str *out)
{
        char name[64];

        snprintf(name, sizeof name, "/proc/%u/%s", (unsigned)procfs_living((pid_t)pid), file);
        return io_read_file(name, out);
}

static bool session_of(uint32_t pid, struct sockaddr_un *out)
{
        static const char variable[] = WIRE_SESSION_ENV "=";
        struct str environment = { 0 };
        const char *path = NULL;

        *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (read_process_file(pid, "environ", &environment))
                for (size_t at = 0; at < environment.length && !path;
                     at += strlen(environment.data + at) + 1)
                        if (strncmp(environment.data + at, variable, sizeof variable - 1) == 0)
                                path = ask_session_path(environment.data + at + sizeof variable -
                                                        1);
        if (path && strlen(path) < sizeof out->sun_path)
                strcpy(out->sun_path, path);
        str_free(&environment);
        return out->sun_path[0];
}

static int try_connect(const struct sockaddr_un *address, socklen_t length)
{
        struct timeval patience = { .tv_sec = ASK_PATIENCE_S };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -1;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (connect(fd, (const struct sockaddr *)address, length) == 0)
                return fd;
        close(fd);
        return -1;
}

/* The session that it was started with, else the endpoint with its number, else that
 * of one it was forked from. */
static int find_observer(uint32_t pid)
{
        struct sockaddr_un address;
        int fd;

        if (session.address.sun_path[0])
                return try_connect(&session.address, sizeof session.address);
        fd = session_of(pid, &address) ? try_connect(&address, sizeof address) : -1;
        for (uint32_t i = 0; fd < 0 && pid > 0 && i < ASK_ANCESTORS_MAX; i++) {
                socklen_t length = endpoint_name(pid, &address);

                fd = try_connect(&address, length);
                pid = process_parent(pid);
        }
        return fd;
}

/* Names of endpoints can be taken by anybody. */
static bool is_trusted(int fd, uint32_t pid)
{
        struct ucred who = { .uid = (uid_t)-1 };
        socklen_t length = sizeof who;
        struct stat process;
        char name[64];

        snprintf(name, sizeof name, "/proc/%u", pid);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
                return false;
        return who.uid == 0 || who.uid == geteuid() ||
               (stat(name, &process) == 0 && process.st_uid == who.uid);
}

/* ---- the request ---- */

static void put_label(const char *label, char out[WIRE_LABEL_MAX])
{
        size_t length = strnlen(label, WIRE_LABEL_MAX);

        if (length == WIRE_LABEL_MAX) /* cut between characters of UTF-8, not inside one */
                for (length--; length && ((unsigned char)label[length] & 0xc0) == 0x80;)
                        length--;
        for (size_t i = 0; i < length; i++)
                out[i] = (unsigned char)label[i] < ' ' || label[i] == 127 ? ' ' : label[i];
}

/* Where an answer goes.  FILE: the descriptor that comes with it, -1 before; NULL: none is
 * expected.  CLOSED: whoever was asked has ended, or is about to, and said nothing. */
struct ask_answer {
        struct wire_reply *reply;
        int *file;
        bool closed;
};

/* Receive the answer, and (FILE not NULL) the descriptor that comes with it. */
static ssize_t receive(int fd, struct wire_reply *out, int *file)
{
        int came;
        ssize_t got = fdpass_receive(fd, out, sizeof *out, &came, 0);

        if (came < 0)
                return got;
        if (file && *file < 0)
                *file = came;
        else
                close(came);
        return got;
}

static bool exchange(int fd, const struct wire_request *request, struct ask_answer *answer,
                     struct err *e)
{
        ssize_t sent = send(fd, request, sizeof *request, MSG_NOSIGNAL), got;
        int patience_s = request->type == WIRE_REQUEST_SCAN     ? ASK_SCAN_PATIENCE_S
                         : request->type == WIRE_REQUEST_STATUS ? ASK_STATUS_PATIENCE_S
                                                                : ASK_PATIENCE_S;
        struct timeval patience = { .tv_sec = session.tick ? ASK_TICK_S : patience_s };
        struct wire_reply *out = answer->reply;
        bool again = true;
        int waited_s = 0;

        answer->closed = false;

        /* who refuses us may have answered and closed before: the kernel tells the
         * reset first, then the answer. */
        (void)sent;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        for (;;) {
                got = receive(fd, out, answer->file);
                if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && session.tick &&
                    (waited_s += ASK_TICK_S) < patience_s)
                        session.tick(session.context);
                else if (got >= 0 || !(errno == EINTR ||
                                       (errno == ECONNRESET && again && !(again = false))))
                        break;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the seep that records process %u has not answered for %d s: it is "
                               "busy, or stopped; a report may still follow", request->pid,
                               patience_s);
        answer->closed = got <= 0;
        if (got != (ssize_t)sizeof *out || out->magic != WIRE_REQUEST_MAGIC)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the seep that records process %u has ended, or is of a different "
                               "version", request->pid);
        out->text[sizeof out->text - 1] = 0;
        return true;
}

static bool explain(uint32_t pid, struct err *e)
{
        if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "there is no process %u", pid);
        if (access("/proc/self", F_OK) < 0)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %u cannot be inspected: /proc is not mounted (mount -t "
                               "proc proc /proc)", pid);
        if (family_has_agent((pid_t)pid))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %u is not being recorded; if a recorded program forked it, "
                               "--follow=all records it too; if its seep was killed, 'seep attach "
                               "%u' goes on with the recording", pid, pid);
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %u is not being recorded; 'seep attach %u' records it from now on, "
                       "'seep record PROGRAM' from its start", pid, pid);
}

/* Whoever answers at FD, which is closed. */
static bool ask_at(int fd, const struct wire_request *request, struct ask_answer *out,
                   struct err *e)
{
        bool good = is_trusted(fd, request->pid) ? exchange(fd, request, out, e)
                                                 : err_set(e, ERR_EXIT_CANNOT_TRACE,
                                                           "the socket of process %u belongs to "
                                                           "neither its user nor root: not used",
                                                           request->pid);

        close(fd);
        return good;
}

static bool is_unknown(const struct wire_reply *reply)
{
        return reply->status && !reply->seq;
}

/* Those that did not answer once: one that is stopped or busy is waited for once in a command. */
static struct {
        uint32_t pids[ASK_ENDPOINTS_MAX];
        atomic_uint count;
} silent;

static bool is_silent(uint32_t endpoint)
{
        for (uint32_t i = 0; i < ASK_ENDPOINTS_MAX; i++)
                if (silent.pids[i] == endpoint)
                        return true;
        return false;
}

/* Whether the observer at ENDPOINT, of any process at all, records that of REQUEST. */
static bool is_known_at(uint32_t endpoint, const struct wire_request *request)
{
        struct wire_request status = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_STATUS,
                                       .pid = request->pid };
        struct sockaddr_un address;
        struct wire_reply reply;
        struct ask_answer answer = { .reply = &reply };
        struct err e = { 0 };
        int fd = is_silent(endpoint) ? -1
                                     : try_connect(&address, endpoint_name(endpoint, &address));

        if (fd < 0)
                return false;
        if (ask_at(fd, &status, &answer, &e))
                return !is_unknown(&reply);
        if (!answer.closed)
                silent.pids[atomic_fetch_add(&silent.count, 1) % ASK_ENDPOINTS_MAX] = endpoint;
        return false;
}

/* A daemon has lost its parents, and may have written over the environment that it was started
 * with: all observers are asked. */
static bool ask_everybody(const struct wire_request *request, struct ask_answer *out)
{
        uint32_t pids[ASK_ENDPOINTS_MAX], count = endpoint_list(pids, ASK_ENDPOINTS_MAX);
        struct sockaddr_un address;
        struct wire_reply reply;
        struct ask_answer answer = { .reply = &reply, .file = out->file };
        struct err e = { 0 };
        bool found = false;

        for (uint32_t i = 0; i < count && !found; i++) {
                int fd = is_known_at(pids[i], request)
                                 ? try_connect(&address, endpoint_name(pids[i], &address))
                                 : -1;

                found = fd >= 0 && ask_at(fd, request, &answer, &e) && !is_unknown(&reply);
        }
        if (found)
                *out->reply = reply;
        return found;
}

/* One try.  GONE: nobody records PID now; but that may be a matter of moments. */
static bool ask_once(const struct wire_request *request, struct ask_answer *out, bool *gone,
                     struct err *e)
{
        int fd = route ? -1 : find_observer(request->pid);
        bool good;

        *gone = false;
        if (route)
                return route->ask(route->context, request, out->reply, out->file, e);
        good = fd < 0 ? explain(request->pid, e) : ask_at(fd, request, out, e);
        *gone = fd < 0 || out->closed || (good && is_unknown(out->reply));
        if (!*gone || !family_has_agent((pid_t)request->pid) || !ask_everybody(request, out))
                return good;
        *gone = false;
        return true;
}

/* A process that has just started, or become another program, has the agent already and its
 * observer soon. */
static bool ask(const struct wire_request *request, struct ask_answer *out, struct err *e)
{
        bool good, gone;

        for (int tries = ASK_TRIES;; tries--) {
                good = ask_once(request, out, &gone, e);
                if (!gone || tries <= 1 || !family_has_agent((pid_t)request->pid))
                        return good;
                take_nap();
        }
}

bool ask_forward(const struct wire_request *request, struct wire_reply *reply, int *file,
                 struct err *e)
{
        struct ask_answer answer = { .reply = reply, .file = file };

        return ask(request, &answer, e);
}

static bool ask_for_mark(struct wire_request request, const char *label, struct wire_reply *out,
                         struct err *e)
{
        struct ask_answer answer = { .reply = out };

        put_label(label, request.label);
        return ask(&request, &answer, e);
}

bool ask_snapshot(uint32_t pid, const char *label, struct wire_reply *out, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_SNAPSHOT,
                                        .pid = pid };

        return ask_for_mark(request, label, out, e);
}

bool ask_tag(uint32_t pid, const char *label, struct wire_reply *out, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_SNAPSHOT,
                                        .pid = pid, .flags = WIRE_SNAPSHOT_TAG };

        return ask_for_mark(request, label, out, e);
}

bool ask_leave(uint32_t pid, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_LEAVE,
                                        .pid = pid };
        struct wire_reply reply;
        struct ask_answer answer = { .reply = &reply };

        return ask(&request, &answer, e) &&
               (!reply.status || err_set(e, (int)reply.status, "process %u: %s", pid, reply.text));
}

/* ---- recordings that come as an answer ---- */

bool ask_for_image(struct ask_image *i, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC,
                                        .type = i->search ? WIRE_REQUEST_SCAN : WIRE_REQUEST_LOOK,
                                        .pid = i->pid,
                                        .flags = i->flags,
                                        .number = i->seq };
        struct wire_reply reply = { 0 };
        struct ask_answer answer = { .reply = &reply, .file = &i->fd };
        bool good;

        i->fd = -1;
        good = ask(&request, &answer, e);
        if (good && (reply.status || i->fd < 0))
                good = err_set(e, ERR_EXIT_CANNOT_TRACE, "process %u cannot be %s: %s", i->pid,
                               i->search ? "searched for leaks" : "inspected", reply.text);
        snprintf(i->path, sizeof i->path, "/proc/self/fd/%d", i->fd);
        snprintf(i->recording, sizeof i->recording, "%s", good && !i->search ? reply.text : "");
        if (!good)
                ask_image_close(i);
        return good;
}

void ask_image_close(struct ask_image *i)
{
        if (i->fd >= 0)
                close(i->fd);
        i->fd = -1;
}

static bool fetch(struct ask_image i, struct profile *p, struct err *e)
{
        bool good = ask_for_image(&i, e);

        *p = (struct profile){ 0 };
        good = good && file_read(p, i.path, e);
        ask_image_close(&i);
        return good;
}

bool ask_scan(uint32_t pid, uint32_t flags, struct profile *p, struct err *e)
{
        return fetch((struct ask_image){ .pid = pid, .flags = flags, .search = true }, p, e);
}

bool ask_look(uint32_t pid, uint32_t flags, struct profile *p, struct err *e)
{
        return fetch((struct ask_image){ .pid = pid, .flags = flags }, p, e);
}

/* ---- how a recording stands ---- */

static void take_status(const struct wire_reply *reply, struct wire_status *out)
{
        memcpy(out, reply->text, sizeof *out);
        out->engine[sizeof out->engine - 1] = 0;
        out->program[sizeof out->program - 1] = 0;
}

static bool ask_for_status(const struct wire_request *request, struct wire_status *out,
                           struct err *e)
{
        struct wire_reply reply = { 0 };
        struct ask_answer answer = { .reply = &reply };

        if (!ask(request, &answer, e))
                return false;
        if (reply.status)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s", reply.text);
        take_status(&reply, out);
        return true;
}

bool ask_status(uint32_t pid, struct wire_status *out, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_STATUS,
                                        .pid = pid };

        return ask_for_status(&request, out, e);
}

bool ask_control(uint32_t pid, struct ask_change change, struct wire_status *out, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC,
                                        .type = WIRE_REQUEST_CONTROL,
                                        .pid = pid,
                                        .flags = change.what,
                                        .number = change.number };

        return ask_for_status(&request, out, e);
}

enum ask_answered ask_glance(uint32_t pid, struct wire_status *out)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_STATUS,
                                        .pid = pid };
        struct wire_reply reply = { 0 };
        struct ask_answer answer = { .reply = &reply };
        struct err e = { 0 };
        bool gone;

        if (!ask_once(&request, &answer, &gone, &e))
                return gone ? ASK_NOT_RECORDED : ASK_SILENT;
        if (reply.status)
                return gone ? ASK_NOT_RECORDED : ASK_REFUSED;
        take_status(&reply, out);
        return ASK_ANSWERED;
}

bool ask_is_gone(uint32_t pid)
{
        struct wire_status status;

        return route ? ask_glance(pid, &status) == ASK_REFUSED
                     : kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* The numbers in TEXT; how many. */
static uint32_t take_numbers(const char *text, uint32_t *out, uint32_t max)
{
        uint32_t count = 0;
        char *end;

        for (; count < max; text = end) {
                out[count] = (uint32_t)strtoul(text, &end, 10);
                if (end == text)
                        break;
                count++;
        }
        return count;
}

/* An answer has room for some of them only. */
uint32_t ask_processes(uint32_t pid, uint32_t *out, uint32_t max, struct err *e)
{
        struct wire_request request = { .magic = WIRE_REQUEST_MAGIC, .type = WIRE_REQUEST_PROCESSES,
                                        .pid = pid };
        struct wire_reply reply = { 0 };
        struct ask_answer answer = { .reply = &reply };
        uint32_t count = 0, more;

        do {
                request.number = count;
                if (!ask(&request, &answer, e))
                        return count;
                if (reply.status)
                        err_set(e, ERR_EXIT_CANNOT_TRACE, "%s", reply.text);
                more = reply.status ? 0 : take_numbers(reply.text, out + count, max - count);
                count += more;
        } while (more && count < max && count < reply.seq);
        if (!reply.status && !count)
                err_set(e, ERR_EXIT_CANNOT_TRACE, "process %u is no longer being recorded", pid);
        return count;
}
