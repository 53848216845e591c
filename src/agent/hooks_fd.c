/* SPDX-License-Identifier: MIT */
/*
 * hooks_fd.c -- file descriptors as resources (record --track-fds).
 *
 * Room:   inside; called by the program.
 * Keeps:  a descriptor is noted after it was made and forgotten before it is closed, so its number
 *         cannot be another's meanwhile.  Descriptors that arrive by other ways (inherited,
 *         SCM_RIGHTS) are not noted; closing them is no event.
 */
#include "agent/environment.h"
#include "agent/hook.h"
#include "agent/resource.h"
#include "agent/wait.h"

#include "agent/guest.h"

#define FD_TYPE "fd"

/* A child of vfork() shares our memory, but not our descriptors. */
static bool tracking(void)
{
        return unlikely(agent.flags & WIRE_F_TRACK_FDS) && agent_on() && sys_pid() == agent.pid;
}

static void change(int fd, bool made, struct arch_state caller)
{
        struct thread *t = fd >= 0 ? hook_enter(caller) : NULL;

        if (!t)
                return;
        hook_work(t);
        if (made)
                resource_acquire(t, resource_kind(FD_TYPE), (uint64_t)fd, 1, caller);
        else
                resource_release(t, resource_kind(FD_TYPE), (uint64_t)fd, caller);
        hook_leave(t);
}

/* ---- calls that give one descriptor ---- */

#define GIVES(NAME, SYMBOL, PARAMETERS, ARGUMENTS)                             \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                struct arch_state caller;                                      \
                int fd = REAL(NAME##_) ARGUMENTS;                              \
                                                                               \
                if (tracking()) {                                              \
                        ARCH_FRAME(caller);                                    \
                        change(fd, true, caller);                              \
                }                                                              \
                return fd;                                                     \
        }

/* The third argument of open() may be absent: then it is passed on as it happens to
 * be, and nobody reads it. */
GIVES(open, "open", (const char *path, int flags, unsigned mode), (path, flags, mode))
GIVES(open64, "open64", (const char *path, int flags, unsigned mode), (path, flags, mode))
GIVES(openat, "openat", (int at, const char *path, int flags, unsigned mode),
      (at, path, flags, mode))
GIVES(openat64, "openat64", (int at, const char *path, int flags, unsigned mode),
      (at, path, flags, mode))
GIVES(open_2, "__open_2", (const char *path, int flags), (path, flags))
GIVES(open64_2, "__open64_2", (const char *path, int flags), (path, flags))
GIVES(openat_2, "__openat_2", (int at, const char *path, int flags), (at, path, flags))
GIVES(openat64_2, "__openat64_2", (int at, const char *path, int flags), (at, path, flags))
GIVES(creat, "creat", (const char *path, unsigned mode), (path, mode))
GIVES(creat64, "creat64", (const char *path, unsigned mode), (path, mode))
GIVES(mkstemp, "mkstemp", (char *pattern), (pattern))
GIVES(mkstemp64, "mkstemp64", (char *pattern), (pattern))
GIVES(mkostemp, "mkostemp", (char *pattern, int flags), (pattern, flags))
GIVES(mkostemp64, "mkostemp64", (char *pattern, int flags), (pattern, flags))
GIVES(mkstemps, "mkstemps", (char *pattern, int tail), (pattern, tail))
GIVES(mkostemps, "mkostemps", (char *pattern, int tail, int flags), (pattern, tail, flags))
GIVES(shm_open, "shm_open", (const char *name, int flags, unsigned mode), (name, flags, mode))
GIVES(memfd_create, "memfd_create", (const char *name, unsigned flags), (name, flags))
GIVES(posix_openpt, "posix_openpt", (int flags), (flags))
GIVES(socket, "socket", (int family, int type, int protocol), (family, type, protocol))
GIVES(dup, "dup", (int old), (old))
GIVES(epoll_create, "epoll_create", (int size), (size))
GIVES(epoll_create1, "epoll_create1", (int flags), (flags))
GIVES(eventfd, "eventfd", (unsigned value, int flags), (value, flags))
GIVES(timerfd_create, "timerfd_create", (int clock, int flags), (clock, flags))
GIVES(signalfd, "signalfd", (int old, const void *mask, int flags), (old, mask, flags))
GIVES(inotify_init, "inotify_init", (void), ())
GIVES(inotify_init1, "inotify_init1", (int flags), (flags))
GIVES(fanotify_init, "fanotify_init", (unsigned flags, unsigned events), (flags, events))
GIVES(pidfd_open, "pidfd_open", (int pid, unsigned flags), (pid, flags))
GIVES(dup2, "dup2", (int old, int fd_wanted), (old, fd_wanted))
GIVES(dup3, "dup3", (int old, int fd_wanted, int flags), (old, fd_wanted, flags))

/* A listening socket may have a time limit. */
#define ACCEPTS(NAME, SYMBOL, PARAMETERS, ARGUMENTS)                           \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                uint32_t begin = wait_begin();                                 \
                struct arch_state caller;                                      \
                int fd;                                                        \
                                                                               \
                RETRY(fd, REAL(NAME##_) ARGUMENTS, EINTR_FAILED(fd), {         \
                        if (!wait_socket(listener, WAIT_RECEIVE, WAIT_IN, begin)) \
                                break;                                         \
                });                                                            \
                if (tracking()) {                                              \
                        ARCH_FRAME(caller);                                    \
                        change(fd, true, caller);                              \
                }                                                              \
                return fd;                                                     \
        }

ACCEPTS(accept, "accept", (int listener, void *address, void *length), (listener, address, length))
ACCEPTS(accept4, "accept4", (int listener, void *address, void *length, int flags),
        (listener, address, length, flags))

/* ---- two at once ---- */

#define GIVES_TWO(NAME, SYMBOL, PARAMETERS, ARGUMENTS)                         \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                struct arch_state caller;                                      \
                int result = REAL(NAME##_) ARGUMENTS;                          \
                                                                               \
                if (tracking() && result == 0) {                               \
                        ARCH_FRAME(caller);                                    \
                        change(ends[0], true, caller);                         \
                        change(ends[1], true, caller);                         \
                }                                                              \
                return result;                                                 \
        }

GIVES_TWO(pipe, "pipe", (int *ends), (ends))
GIVES_TWO(pipe2, "pipe2", (int *ends, int flags), (ends, flags))
GIVES_TWO(socketpair, "socketpair", (int family, int type, int protocol, int *ends),
          (family, type, protocol, ends))

/* ---- fcntl ---- */

enum { FCNTL_DUP = 0, FCNTL_DUP_CLOEXEC = 1030 };

#define FCNTL(NAME, SYMBOL)                                                    \
        int hook_##NAME(int fd, int command, long argument) HOOK(SYMBOL);      \
        int hook_##NAME(int fd, int command, long argument)                    \
        {                                                                      \
                struct arch_state caller;                                      \
                int result = REAL(NAME##_)(fd, command, argument);             \
                                                                               \
                if ((command == FCNTL_DUP || command == FCNTL_DUP_CLOEXEC) && tracking()) { \
                        ARCH_FRAME(caller);                                    \
                        change(result, true, caller);                          \
                }                                                              \
                return result;                                                 \
        }

FCNTL(fcntl, "fcntl")
FCNTL(fcntl64, "fcntl64")
#if ARCH_TWO_TIMES
FCNTL(fcntl_64, "__fcntl_time64")
#endif

/* ---- streams and directories: the C library opens and closes inside ---- */

#define GIVES_STREAM(NAME, SYMBOL, NUMBER, PARAMETERS, ARGUMENTS)              \
        void *hook_##NAME PARAMETERS HOOK(SYMBOL);                             \
        void *hook_##NAME PARAMETERS                                           \
        {                                                                      \
                struct arch_state caller;                                      \
                void *stream;                                                  \
                                                                               \
                if (!tracking())                                               \
                        return REAL(NAME##_) ARGUMENTS;                        \
                stream = REAL(NAME##_) ARGUMENTS;                              \
                if (stream) {                                                  \
                        ARCH_FRAME(caller);                                    \
                        change(REAL(NUMBER)(stream), true, caller);            \
                }                                                              \
                return stream;                                                 \
        }

#define CLOSES_STREAM(NAME, SYMBOL, NUMBER)                                    \
        int hook_##NAME(void *stream) HOOK(SYMBOL);                            \
        int hook_##NAME(void *stream)                                          \
        {                                                                      \
                struct arch_state caller;                                      \
                                                                               \
                if (tracking() && stream) {                                    \
                        ARCH_FRAME(caller);                                    \
                        change(REAL(NUMBER)(stream), false, caller);           \
                }                                                              \
                return REAL(NAME##_)(stream);                                  \
        }

GIVES_STREAM(stream_open, "fopen", fileno_, (const char *path, const char *mode), (path, mode))
GIVES_STREAM(fopen64, "fopen64", fileno_, (const char *path, const char *mode), (path, mode))
GIVES_STREAM(tmpfile, "tmpfile", fileno_, (void), ())
GIVES_STREAM(tmpfile64, "tmpfile64", fileno_, (void), ())
GIVES_STREAM(opendir, "opendir", dirfd_, (const char *path), (path))
CLOSES_STREAM(fclose, "fclose", fileno_)
CLOSES_STREAM(pclose, "pclose", fileno_)
CLOSES_STREAM(closedir, "closedir", dirfd_)

/* The C library starts a shell by itself. */
void *hook_popen(const char *command, const char *mode) HOOK("popen");
void *hook_popen(const char *command, const char *mode)
{
        struct arch_state caller;
        void *stream;

        environment_lend();
        stream = REAL(popen_)(command, mode);
        environment_give_back();
        if (stream && tracking()) {
                ARCH_FRAME(caller);
                change(REAL(fileno_)(stream), true, caller);
        }
        return stream;
}

#define REOPENS(NAME, SYMBOL)                                                  \
        void *hook_##NAME(const char *path, const char *mode, void *stream) HOOK(SYMBOL); \
        void *hook_##NAME(const char *path, const char *mode, void *stream)    \
        {                                                                      \
                struct arch_state caller;                                      \
                                                                               \
                ARCH_FRAME(caller);                                            \
                if (tracking() && stream)                                      \
                        change(REAL(fileno_)(stream), false, caller);          \
                stream = REAL(NAME##_)(path, mode, stream);                    \
                if (tracking() && stream)                                      \
                        change(REAL(fileno_)(stream), true, caller);           \
                return stream;                                                 \
        }

REOPENS(freopen, "freopen")
REOPENS(freopen64, "freopen64")

/* ---- closing ---- */

int hook_close(int fd) HOOK("close");
int hook_close_range(unsigned first, unsigned last, int flags) HOOK("close_range");
void hook_closefrom(int first) HOOK("closefrom");

int hook_close(int fd)
{
        struct arch_state caller;

        if (tracking()) {
                ARCH_FRAME(caller);
                change(fd, false, caller);
        }
        return REAL(close_)(fd);
}

static void forget_range(uint64_t first, uint64_t last, struct arch_state caller)
{
        struct thread *t = hook_enter(caller);

        if (!t)
                return;
        hook_work(t);
        resource_release_range(t, resource_kind(FD_TYPE), first, last);
        hook_leave(t);
}

enum { RANGE_CLOEXEC = 4 };

int hook_close_range(unsigned first, unsigned last, int flags)
{
        struct arch_state caller;

        if (tracking() && !(flags & RANGE_CLOEXEC) && first <= last) {
                ARCH_FRAME(caller);
                forget_range(first, last, caller);
        }
        return REAL(close_range_)(first, last, flags);
}

void hook_closefrom(int first)
{
        struct arch_state caller;

        if (tracking()) {
                ARCH_FRAME(caller);
                forget_range(first < 0 ? 0 : (uint64_t)first, UINT64_MAX, caller);
        }
        REAL(closefrom_)(first);
}
