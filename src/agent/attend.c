/* SPDX-License-Identifier: MIT */
/*
 * attend.c -- plain LD_PRELOAD: nobody observes us yet, so the tool is started.
 *
 * Keeps:  the tool is no child of the program: a process in between starts it and ends at once,
 *         without SIGCHLD and unseen by wait().  No descriptor stays open.
 */
#include "agent/attend.h"

#include "agent/agent.h"
#include "agent/bytes.h"
#include "agent/mark.h"
#include "agent/real.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define ENVIRON_BYTES (4ul << 20)
#define ENVIRON_WORDS (1ul << 18)
#define PATH_BYTES 4096
#define ANSWER_MS 10000

enum { FAMILY_UNIX = 1, SOCKET_SEQPACKET = 5, CLONE_VM = 0x100, CLONE_VFORK = 0x4000,
       WAIT_ALL = 0x40000000, SIGNAL_CHILD = 17, SET_FD_FLAGS = 2, MAY_EXECUTE = 1, POLL_IN = 1 };

struct tool {
        char path[PATH_BYTES];
        const char *argv[4];
        char *texts;        /* the environment without LD_PRELOAD */
        const char **words; /* ... as execve wants it */
        char number[12];    /* of the descriptor */
        long fd;
        uint64_t mask;
};

static void say(const char *text)
{
        sys_call3(SYS_write, 2, (long)text, (long)strlen(text));
}

/* ---- where the tool is ---- */

/* PATH cut behind its last slash; "./" when there is none. */
static size_t directory_of(char *path)
{
        size_t length = strlen(path);

        while (length && path[length - 1] != '/')
                length--;
        if (!length) {
                memcpy(path, "./", 2);
                length = 2;
        }
        path[length] = 0;
        return length;
}

/* Room for two more bytes is behind PATH. */
static bool is_program(char *path)
{
        size_t length = strlen(path);
        bool is_folder;

        if (sys_failed(sys_access(path, MAY_EXECUTE)))
                return false;
        memcpy(path + length, "/.", 3);
        is_folder = !sys_failed(sys_access(path, 0));
        path[length] = 0;
        return !is_folder;
}

/* Beside the library: in the build tree, or installed below lib/seep, lib/seep/PROCESSOR,
 * lib/TRIPLET/seep or lib. */
static bool find_tool(struct tool *t)
{
        static const char *const places[] = { "../seep", "../../seep", "../../bin/seep",
                                              "../../../bin/seep", "../bin/seep", "seep" };
        const char *library = real_library();
        size_t length = library ? strlen(library) : PATH_BYTES;

        if (length + 24 > PATH_BYTES)
                return false;
        memcpy(t->path, library, length + 1);
        length = directory_of(t->path);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                memcpy(t->path + length, places[i], strlen(places[i]) + 1);
                if (is_program(t->path))
                        return true;
        }
        return false;
}

/* ---- what it is started with ---- */

static bool read_environment(struct tool *t)
{
        long fd = sys_open("/proc/self/environ"), got, used = 0;
        size_t count = 0;

        t->texts = sys_memory(ENVIRON_BYTES);
        t->words = sys_memory(ENVIRON_WORDS * sizeof *t->words);
        if (fd < 0 || !t->texts || !t->words)
                return false;
        while (used < (long)ENVIRON_BYTES - 1 &&
               (got = sys_read(fd, t->texts + used, ENVIRON_BYTES - 1 - (size_t)used)) > 0)
                used += got;
        sys_close(fd);
        for (const char *word = t->texts; word < t->texts + used && count < ENVIRON_WORDS - 1;
             word += strlen(word) + 1)
                if (*word && !bytes_after(word, "LD_PRELOAD="))
                        t->words[count++] = word;
        return true;
}

static void write_number(char *out, long value)
{
        char digits[12];
        int count = 0;

        do
                digits[count++] = (char)('0' + value % 10);
        while (value /= 10);
        while (count)
                *out++ = digits[--count];
        *out = 0;
}

/* ---- starting it ---- */

/* An emulator (qemu) knows processes that end with SIGCHLD only, and then makes a real one. */
static inline __attribute__((always_inline)) long clone_here(void)
{
        long pid = sys_call6(SYS_clone, ARCH_CLONE(CLONE_VM | CLONE_VFORK), 0, 0, 0, 0);

        return pid == -SYS_EINVAL && ARCH_EMULATION
                       ? sys_call6(SYS_clone, ARCH_CLONE(CLONE_VM | CLONE_VFORK | SIGNAL_CHILD), 0,
                                   0, 0, 0)
                       : pid;
}

static void become_tool(const struct tool *t)
{
        sys_call3(SYS_close_range, 3, t->fd - 1, 0);
        sys_call3(SYS_close_range, t->fd + 1, ~0u, 0);
        sys_call3(SYS_fcntl, t->fd, SET_FD_FLAGS, 0);
        sys_restore_signals(t->mask);
        sys_call3(SYS_execve, (long)t->path, (long)t->argv, (long)t->words);
        sys_call3(SYS_exit, 127, 0, 0);
}

/* The process in between.  Both share our memory and stack while we wait, as after vfork(). */
static __attribute__((noinline)) void start_tool(const struct tool *t)
{
        long between = clone_here();

        if (between == 0) {
                if (clone_here() == 0)
                        become_tool(t);
                sys_call3(SYS_exit, 0, 0, 0);
        }
        if (between > 0)
                sys_call6(SYS_wait4, between, 0, WAIT_ALL, 0, 0, 0);
}

static bool read_answer(long fd, char *out, size_t room)
{
        struct { int fd; short events, revents; } one = { (int)fd, POLL_IN, 0 };
        long limit[2] = { ANSWER_MS / 1000, 0 }, got = -1;

        if (sys_call6(SYS_ppoll, (long)&one, 1, (long)limit, 0, 0, 0) == 1)
                got = sys_read(fd, out, room - 1);
        if (got <= 0)
                return false;
        out[got] = 0;
        return out[0] != '-';
}

static void forget(struct tool *t)
{
        if (t->texts)
                sys_unmap(t->texts, ENVIRON_BYTES);
        if (t->words)
                sys_unmap(t->words, ENVIRON_WORDS * sizeof *t->words);
}

bool attend_start(char *out, size_t room, uint64_t mask)
{
        static struct tool t;
        int ends[2];
        bool good;

        if (!find_tool(&t)) {
                say("seep: the program seep is not beside this libseep.so; nothing is recorded\n");
                return false;
        }
        if (sys_failed(sys_call6(SYS_socketpair, FAMILY_UNIX, SOCKET_SEQPACKET | SYS_O_CLOEXEC, 0,
                                 (long)ends, 0, 0))) {
                say("seep: no descriptor is free to reach the observer (ulimit -n); nothing is "
                    "recorded\n");
                return false;
        }
        t.fd = ends[1];
        t.mask = mask;
        write_number(t.number, t.fd);
        t.argv[0] = "seep";
        t.argv[1] = "attend";
        t.argv[2] = t.number;
        good = read_environment(&t);
        if (good)
                start_tool(&t);
        sys_close(ends[1]);
        good = good && read_answer(ends[0], out, room);
        sys_close(ends[0]);
        forget(&t);
        return good;
}

void attend_failed(void)
{
        say("seep: the memory shared with the observer could not be made (limits on files, memory "
            "or descriptors?); nothing is recorded\n");
}

void attend_exit(void)
{
        static uint32_t done;

        if (!(agent.flags & WIRE_F_ATTENDED) || *agent.gate != GATE_ON || agent.sandboxed ||
            sys_pid() != agent.pid)
                return;
        if (!__atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL))
                mark_wait(mark_add(LEDGER_MARK_EXIT, NULL, LEDGER_MARK_WAITED));
}
