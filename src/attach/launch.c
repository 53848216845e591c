/* SPDX-License-Identifier: MIT */
#include "attach/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/entries.h"
#include "attach/functions.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"

/* What a program does first: each of them is a reason to stop.  Those that make processes are here
 * because these would run into the breakpoints. */
static const char *const firsts[] = {
        "malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign",
        "valloc", "pvalloc", "reallocarray", "_Znwm", "_Znam", "mmap", "mmap64", "mremap", "munmap",
        "fork", "vfork", "clone", "_Fork", "posix_spawn", "posix_spawnp", "system", "popen",
        "execve", "execv",
        "pthread_create", "thrd_create", "dlopen",
        "open", "open64", "openat", "socket", "fopen", "fopen64", "pipe", "pipe2", "dup", "dup2",
        "sigaction", "signal", "sigaltstack",
};

#define FIRSTS (sizeof firsts / sizeof *firsts)
#define POINTS_MOST (FIRSTS + 64u)

struct point {
        uint64_t at;
        char was[ARCH_TRAP_BYTES];
};

struct launch {
        pid_t pid, group; /* a thread, and its process if that is another one */
        struct memory memory;
        struct point points[POINTS_MOST];
        uint32_t count;
        struct err *e;
        const struct custom *custom;
        bool spawn;   /* PID is the thread that starts it */
        bool later;   /* it is something else yet, and has no loader when it comes */
        bool cancelled;
        pid_t *early; /* children that have stopped already, of whichever thread */
        uint32_t early_count;
        bool loading; /* the one point is where the loader tells that its list has changed */
};

struct launch *launch_new(pid_t pid, const struct custom *custom, struct err *e)
{
        struct launch *l;

        if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC) != 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot trace the program to be recorded");
                return NULL;
        }
        l = heap_zero(1, sizeof *l);
        l->pid = pid;
        l->custom = custom;
        l->memory = MEMORY_CLOSED;
        return l;
}

struct launch *launch_later(const struct launch_later *q, const struct custom *custom,
                            struct err *e)
{
        unsigned births = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
        unsigned options = q->spawn ? births : PTRACE_O_TRACEEXEC;
        struct launch *l;

        if (ptrace(PTRACE_SEIZE, q->tid, 0, options) != 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "it cannot be traced");
                return NULL;
        }
        l = heap_zero(1, sizeof *l);
        *l = (struct launch){ .pid = q->tid, .group = q->pid, .memory = MEMORY_CLOSED,
                              .custom = custom, .spawn = q->spawn, .later = true };
        return l;
}

/* Who becomes another program has the number of its first thread from then on. */
bool launch_is(struct launch *l, pid_t pid, int status)
{
        if (!l->spawn && pid == l->group && status >> 16 == PTRACE_EVENT_EXEC)
                l->pid = pid;
        return pid == l->pid;
}

bool launch_early(struct launch *l, pid_t pid)
{
        if (!l->spawn)
                return false;
        l->early = heap_grow(l->early, l->early_count + 1, sizeof *l->early);
        l->early[l->early_count++] = pid;
        return true;
}

static bool has_stopped(const struct launch *l, pid_t child)
{
        for (uint32_t i = 0; i < l->early_count; i++)
                if (l->early[i] == child)
                        return true;
        return false;
}

void launch_free(struct launch *l)
{
        if (l) {
                memory_close(&l->memory);
                free(l->early);
        }
        free(l);
}

/* ---- breakpoints ---- */

static bool put_bytes(const struct launch *l, uint64_t at, const char *bytes)
{
        return pwrite(l->memory.mem, bytes, ARCH_TRAP_BYTES, (off_t)at) == (ssize_t)ARCH_TRAP_BYTES;
}

static bool is_point(const struct launch *l, uint64_t at)
{
        for (uint32_t i = 0; i < l->count; i++)
                if (l->points[i].at == at)
                        return true;
        return false;
}

static void add_point(struct launch *l, uint64_t at)
{
        struct point *p = &l->points[l->count];

        if (l->count == POINTS_MOST || is_point(l, at))
                return;
        p->at = at;
        if (memory_read(&l->memory, at, p->was, sizeof p->was) == sizeof p->was &&
            put_bytes(l, at, ARCH_TRAP))
                l->count++;
}

/* Back as they were; only that at AT, or all (0). */
static void drop_points(struct launch *l, uint64_t at)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < l->count; i++) {
                if (at && l->points[i].at != at)
                        l->points[kept++] = l->points[i];
                else
                        put_bytes(l, l->points[i].at, l->points[i].was);
        }
        l->count = kept;
}

/* ---- where they belong ---- */

/* Where the loader is, and what it is called; 0: the program has none. */
static uint64_t find_loader(const struct launch *l)
{
        struct str text = { 0 };
        const ElfW(auxv_t) *a;
        uint64_t base = 0;

        if (procfs_text(l->pid, l->pid, "auxv", &text)) {
                a = (const void *)text.data;
                for (size_t i = 0; i < text.length / sizeof *a; i++)
                        base = a[i].a_type == AT_BASE ? a[i].a_un.a_val : base;
        }
        str_free(&text);
        return base;
}

/* The file that is mapped at ADDRESS. */
static int open_mapped(const struct launch *l, uint64_t address)
{
        struct str text = { 0 };
        struct mappings maps;
        const struct mapping *m;
        char path[4200];
        int fd = -1;

        if (!procfs_text(l->pid, l->pid, "maps", &text))
                return -1;
        mappings_parse(&maps, str_get(&text));
        m = mappings_find(&maps, address);
        if (m && m->path[0] == '/') {
                snprintf(path, sizeof path, "/proc/%d/root%.*s", (int)l->pid,
                         (int)strcspn(m->path, "\n"), m->path);
                fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        mappings_free(&maps);
        str_free(&text);
        return fd;
}

/* For debuggers, loaders call this function when their list of libraries has changed. */
static bool stop_in_loader(struct launch *l, uint64_t base)
{
        static const char *const names[] = { "_dl_debug_state", "dl_debug_state" };
        struct functions all = { 0 };
        const struct function *f = NULL;
        uint32_t count;
        int fd = open_mapped(l, base);

        if (fd >= 0 && functions_read(&all, fd, l->e))
                for (size_t i = 0; i < 2 && !f; i++)
                        f = functions_find(&all, names[i], &count);
        if (f)
                add_point(l, base + f->address);
        functions_free(&all);
        if (fd >= 0)
                close(fd);
        l->loading = l->count == 1;
        return l->loading ||
               err_set(l->e, ERR_EXIT_CANNOT_TRACE,
                       "its loader does not tell debuggers about libraries (there is no function "
                       "_dl_debug_state)");
}

/* Whether the loader's list of libraries is complete. */
static bool is_loaded(struct launch *l)
{
        struct entries entries = { 0 };
        bool settled, found = entries_find(&entries, l->pid, &l->memory, l->e) &&
                              entries_first_loaded(&entries, &l->memory, &settled);

        entries_free(&entries);
        return found && settled;
}

/* Functions of custom.h; those that were asked for may be all that there is. */
static void stop_at_custom(struct launch *l)
{
        struct custom_functions f = { 0 };
        struct str text = { 0 };
        struct mappings maps;

        if (procfs_text(l->pid, l->pid, "maps", &text)) {
                mappings_parse(&maps, str_get(&text));
                custom_find(&f, l->custom, l->pid, &maps);
                mappings_free(&maps);
        }
        for (uint32_t i = 0; i < f.count; i++)
                if (!f.at[i].go)
                        add_point(l, f.at[i].address);
        custom_functions_free(&f);
        str_free(&text);
}

static bool is_go(const struct launch *l)
{
        char path[64];
        bool go;
        int fd;

        snprintf(path, sizeof path, "/proc/%d/exe", (int)l->pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        go = fd >= 0 && custom_is_go(fd);
        if (fd >= 0)
                close(fd);
        return go;
}

static bool stop_at_firsts(struct launch *l)
{
        struct entries_name names[FIRSTS] = { 0 };
        struct entries entries = { .names = names, .count = FIRSTS };
        bool found;

        for (size_t i = 0; i < FIRSTS; i++)
                names[i].name = firsts[i];
        found = entries_find(&entries, l->pid, &l->memory, l->e);
        for (size_t i = 0; found && i < FIRSTS; i++)
                if (names[i].address)
                        add_point(l, names[i].address);
        entries_free(&entries);
        l->loading = false;
        stop_at_custom(l);
        if (l->count)
                return true;
        return found && err_set(l->e, ERR_EXIT_CANNOT_TRACE,
                                is_go(l) ? "it is a Go program without C code: Go's own heap is "
                                           "not seen, only what C code allocates"
                                         : "no allocation function was found by its name");
}

/* ---- running ---- */

/* A new program: nothing of the old one is left. */
static bool begin_program(struct launch *l)
{
        char path[64];
        uint64_t base;

        memory_close(&l->memory);
        snprintf(path, sizeof path, "/proc/%d/mem", (int)l->pid);
        l->memory = (struct memory){ .tid = l->pid, .mem = open(path, O_RDWR | O_CLOEXEC),
                                     .pagemap = -1 };
        if (l->memory.mem < 0)
                return err_sys(l->e, ERR_EXIT_CANNOT_TRACE, "cannot write to the program's memory");
        l->count = 0;
        base = find_loader(l);
        if (base && l->later)
                return err_set(l->e, ERR_EXIT_CANNOT_TRACE, "it has a loader");
        return base ? stop_in_loader(l, base) : stop_at_firsts(l);
}

/* Wait for the next stop; true: *STATUS is one. */
static bool wait_stop(const struct launch *l, int *status)
{
        pid_t got;

        do
                got = waitpid(l->pid, status, __WALL);
        while (got < 0 && errno == EINTR);
        return got == l->pid && WIFSTOPPED(*status);
}

/* Over the instruction at a breakpoint, which stays. */
static enum launch_state pass_point(struct launch *l, const struct point *p)
{
        int status;

        if (put_bytes(l, p->at, p->was) && ptrace(PTRACE_SINGLESTEP, l->pid, 0, 0) == 0 &&
            wait_stop(l, &status) && status >> 8 == SIGTRAP && put_bytes(l, p->at, ARCH_TRAP))
                return LAUNCH_RUNS;
        err_set(l->e, ERR_EXIT_CANNOT_TRACE, "the program cannot be followed through its loader");
        return LAUNCH_UNFIT;
}

/* At a breakpoint of ours. */
static enum launch_state reach_point(struct launch *l, struct arch_registers *r)
{
        uint64_t at = arch_pc(r) - ARCH_TRAP_PAST;

        arch_set_pc(r, at);
        arch_write(l->pid, r);
        if (l->loading) {
                if (!is_loaded(l))
                        return pass_point(l, &l->points[0]);
                drop_points(l, 0);
                return stop_at_firsts(l) ? LAUNCH_RUNS : LAUNCH_UNFIT;
        }
        if (arch_thread_pointer_in(r)) {
                drop_points(l, 0);
                return LAUNCH_READY;
        }
        drop_points(l, at); /* so early that nothing can be done there; another call follows */
        return LAUNCH_RUNS;
}

static bool is_birth(int event)
{
        return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
               event == PTRACE_EVENT_CLONE;
}

/* The thread that we traced for this has a child: that one is it. */
static enum launch_state child_born(struct launch *l)
{
        unsigned long child = 0;
        pid_t parent = l->pid;
        int status;

        if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &child) != 0)
                return LAUNCH_RUNS;
        l->spawn = false;
        l->pid = l->group = (pid_t)child;
        ptrace(PTRACE_DETACH, parent, 0, 0);
        if ((has_stopped(l, l->pid) || wait_stop(l, &status)) &&
            ptrace(PTRACE_SETOPTIONS, l->pid, 0, PTRACE_O_TRACEEXEC) == 0)
                return LAUNCH_RUNS;
        err_set(l->e, ERR_EXIT_CANNOT_TRACE, "it ended at once");
        return LAUNCH_UNFIT;
}

/* What the stop STATUS means.  SIGNAL: what is to be delivered. */
static enum launch_state look(struct launch *l, int status, struct arch_registers *r, int *signal)
{
        *signal = 0;
        if (l->spawn && is_birth(status >> 16))
                return child_born(l);
        if (status >> 16 == PTRACE_EVENT_EXEC)
                return begin_program(l) ? LAUNCH_RUNS : LAUNCH_UNFIT;
        if (status >> 16 == PTRACE_EVENT_STOP && l->cancelled)
                return LAUNCH_UNFIT;
        if (status >> 16 == PTRACE_EVENT_STOP)
                return WSTOPSIG(status) == SIGTRAP ? LAUNCH_RUNS : LAUNCH_STOPPED;
        if (WSTOPSIG(status) == SIGTRAP && arch_read(l->pid, r) &&
            is_point(l, arch_pc(r) - ARCH_TRAP_PAST))
                return reach_point(l, r);
        *signal = WSTOPSIG(status);
        return LAUNCH_RUNS;
}

enum launch_state launch_step(struct launch *l, int status, struct hold *h, struct err *e)
{
        struct arch_registers registers;
        enum launch_state state;
        int signal;

        l->e = e;
        state = look(l, status, &registers, &signal);
        switch (state) {
        case LAUNCH_STOPPED:
                ptrace(PTRACE_LISTEN, l->pid, 0, 0);
                break;
        case LAUNCH_RUNS:
                ptrace(PTRACE_CONT, l->pid, 0, signal);
                break;
        case LAUNCH_READY:
                *h = (struct hold){ .pid = l->pid, .count = 1, .since_ns = clock_now_ns() };
                h->threads = heap_zero(1, sizeof *h->threads);
                h->threads[0] = (struct hold_thread){ .tid = l->pid, .state = HOLD_STOPPED,
                                                      .registers = registers };
                break;
        case LAUNCH_UNFIT:
                drop_points(l, 0);
                ptrace(PTRACE_DETACH, l->pid, 0, 0);
                break;
        }
        return state;
}

/* ---- leaving ---- */

/* A child that its parent has just got is traced as well. */
static void let_child_go(struct launch *l)
{
        unsigned long child = 0;
        int status;

        if (ptrace(PTRACE_GETEVENTMSG, l->pid, 0, &child) == 0 &&
            (has_stopped(l, (pid_t)child) || hold_wait((pid_t)child, &status, HOLD_PATIENCE_NS)))
                ptrace(PTRACE_DETACH, (pid_t)child, 0, 0);
}

bool launch_abandon(struct launch *l)
{
        struct arch_registers r;
        int status, signal;

        if (!l)
                return true;
        l->cancelled = true;
        ptrace(PTRACE_INTERRUPT, l->pid, 0, 0);
        if (!hold_wait(l->pid, &status, HOLD_PATIENCE_NS))
                return false;
        if (!WIFSTOPPED(status))
                return true;
        signal = status >> 16 ? 0 : WSTOPSIG(status);
        if (l->spawn && is_birth(status >> 16))
                let_child_go(l);
        if (signal == SIGTRAP && arch_read(l->pid, &r) &&
            is_point(l, arch_pc(&r) - ARCH_TRAP_PAST)) {
                arch_set_pc(&r, arch_pc(&r) - ARCH_TRAP_PAST);
                arch_write(l->pid, &r);
                signal = 0;
        }
        drop_points(l, 0);
        ptrace(PTRACE_DETACH, l->pid, 0, signal);
        return true;
}
