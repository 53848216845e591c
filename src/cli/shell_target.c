/* SPDX-License-Identifier: MIT */
/*
 * shell_target.c -- the processes and recordings that `seep shell` works on, also when they have
 * ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/heap.h"
#include "base/plain.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "cli/shell.h"
#include "profile/file.h"
#include "session/ask.h"
#include "words/label.h"

enum {
        TARGET_TOGETHER = 256,
        TARGET_PATIENCE_MS = 30000, /* for the last search, and the writing of the recording */
        TARGET_STRANGER_MS = 5000,  /* the same, when nobody is seen to do it */
        TARGET_NAP_MS = 500
};

/* ---- knowing them ---- */

struct shell_target *shell_target_of(struct shell *s, uint32_t pid)
{
        for (uint32_t i = 0; i < s->count; i++)
                if (s->targets[i]->pid == pid)
                        return s->targets[i];
        return NULL;
}

struct shell_target *shell_target_add(struct shell *s, const char *name, uint32_t pid)
{
        struct shell_target *t = heap_zero(1, sizeof *t);
        void *memory = mmap(NULL, sizeof *t->memory, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                heap_none();
        s->targets = heap_grow(s->targets, s->count + 1, sizeof *s->targets);
        s->targets[s->count++] = t;
        *t = (struct shell_target){ .name = heap_text(name), .pid = pid, .pidfd = -1, .look = -1,
                                    .memory = memory };
        return t;
}

static bool is_seep(uint32_t pid)
{
        uint64_t dev[2], ino[2];

        return process_exe(pid, &dev[0], &ino[0]) &&
               process_exe((uint32_t)getpid(), &dev[1], &ino[1]) && dev[0] == dev[1] &&
               ino[0] == ino[1];
}

static struct shell_target *add_process(struct shell *s, uint32_t pid)
{
        char number[16], name[PROCFS_NAME_BYTES];
        struct shell_target *t;

        snprintf(number, sizeof number, "%" PRIu32, pid);
        t = shell_target_add(s, number, pid);
        t->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
        t->program = process_link(pid, "exe");
        if (!t->program || !*t->program) {
                free(t->program);
                t->program = heap_text(procfs_name((pid_t)pid, name));
        }
        plain_name(t->program);
        t->recorder = process_parent(pid);
        if (!is_seep(t->recorder))
                t->recorder = 0;
        shell_target_look(t);
        return t;
}

static bool is_there(uint32_t pid)
{
        return (kill((pid_t)pid, 0) == 0 || errno != ESRCH) && process_state(pid) != 'Z';
}

/* A process of the target. */
static struct shell_target *find_far(struct shell *s, uint32_t pid, struct err *e)
{
        struct shell_target *t;

        if (!shell_far_look(s, e))
                return NULL;
        t = shell_target_of(s, pid);
        if (!t)
                err_set(e, ERR_EXIT_CANNOT_TRACE, "process %" PRIu32 " is not among those recorded "
                        "at %s; 'proclist' shows them", pid, shell_far_name(s));
        return t;
}

struct shell_target *shell_target_named(struct shell *s, const char *word, struct err *e)
{
        struct shell_target *t;
        uint32_t pid;

        if (newest_is_process(word, &pid)) {
                t = shell_target_of(s, pid);
                if (t || s->far)
                        return t ? t : find_far(s, pid, e);
                if (!is_there(pid)) {
                        err_set(e, ERR_EXIT_CANNOT_TRACE, "there is no process %s", word);
                        return NULL;
                }
                if (!ask_program(&pid, e))
                        return NULL;
                t = shell_target_of(s, pid);
                return t ? t : add_process(s, pid);
        }
        for (uint32_t i = 0; i < s->count; i++)
                if (!s->targets[i]->pid && strcmp(s->targets[i]->name, word) == 0)
                        return s->targets[i];
        if (shell_far_is_address(word)) {
                err_set(e, ERR_EXIT_USAGE,
                        "'%s': a shell is for one target, which is named at its start: 'seep shell "
                        "%s'", word, word);
                return NULL;
        }
        if (access(word, R_OK) != 0) {
                err_sys(e, ERR_EXIT_USAGE, "'%s' is neither a process nor a recording", word);
                return NULL;
        }
        return shell_target_add(s, word, 0);
}

struct shell_target *shell_target_chosen(struct shell *s, struct err *e)
{
        if (s->chosen < s->count)
                return s->targets[s->chosen];
        err_set(e, ERR_EXIT_USAGE, "no process and no recording is chosen: 'set process PID|FILE'");
        return NULL;
}

void shell_target_others(struct shell *s)
{
        uint32_t known = s->count, pids[TARGET_TOGETHER];
        struct err unused = { 0 };

        if (s->far && shell_far_look(s, &unused))
                return;
        for (uint32_t i = 0; i < known; i++) {
                struct err e = { 0 };
                bool near = !s->far && shell_target_is_live(s->targets[i]);
                uint32_t pid = near ? s->targets[i]->pid : 0;
                uint32_t count = pid ? ask_processes(pid, pids, TARGET_TOGETHER, &e) : 0;

                for (uint32_t k = 0; k < count; k++)
                        if (!shell_target_of(s, pids[k]) && is_there(pids[k]))
                                add_process(s, pids[k]);
        }
}

void shell_target_free(struct shell *s)
{
        for (uint32_t i = 0; i < s->count; i++) {
                struct shell_target *t = s->targets[i];

                if (t->pidfd >= 0)
                        close(t->pidfd);
                if (t->look >= 0)
                        close(t->look);
                munmap(t->memory, sizeof *t->memory);
                free(t->name);
                free(t->program);
                free(t->recording);
                free(t);
        }
        free(s->targets);
        s->targets = NULL;
        s->count = 0;
}

/* ---- what is left of them ---- */

void shell_target_look(struct shell_target *t)
{
        struct ask_image i = { .pid = t->pid, .flags = WIRE_LOOK_BLOCKS, .fd = -1 };
        struct err e = { 0 };

        if (!t->pid || t->far || t->ended || t->recording || !ask_for_image(&i, &e))
                return;
        if (t->look >= 0)
                close(t->look);
        t->look = -1;
        if (i.recording[0]) {
                t->recording = heap_text(i.recording);
                ask_image_close(&i);
        } else {
                t->look = i.fd;
        }
}

/* What is written while a program runs has no end. */
static bool is_whole(const char *file)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        struct stat st;
        bool whole = stat(file, &st) == 0 && st.st_size > 0 && file_glance(&p, file, &e) &&
                     p.meta.end != PROFILE_END_UNKNOWN;

        profile_free(&p);
        return whole;
}

/* Whoever records it searches it for leaks when it ends, and then writes. */
static void await_recording(const struct shell_target *t)
{
        int patience = t->recorder ? TARGET_PATIENCE_MS : TARGET_STRANGER_MS;

        for (int nap = 20, waited = 0; waited < patience && !shell_interrupted; waited += nap) {
                bool busy = !t->recorder || (is_there(t->recorder) && is_seep(t->recorder));
                struct timespec pause = { .tv_nsec = nap * 1000000 };

                if (is_whole(t->recording) || !busy)
                        return;
                nanosleep(&pause, NULL);
                nap = nap < TARGET_NAP_MS / 2 ? nap * 2 : TARGET_NAP_MS;
        }
}

static bool has_recording(const struct shell_target *t)
{
        struct stat st;

        return t->recording && stat(t->recording, &st) == 0 && st.st_size > 0;
}

static void tell_end(struct shell_target *t)
{
        t->ended = true;
        if (t->recording)
                await_recording(t);
        if (t->far && t->look >= 0)
                message("process %s (%s) has ended; what follows is from its recording, which "
                        "'save FILE' or 'seep connect' stores", t->name, label_base(t->program));
        else if (has_recording(t))
                message("process %s (%s) has ended; its recording is %s", t->name,
                        label_base(t->program), t->recording);
        else
                message("process %s (%s) has ended; %s", t->name, label_base(t->program),
                        t->look >= 0 ? "what follows is from the last look at it"
                                     : "nothing of it is left to look at");
}

static bool has_ended(const struct shell_target *t)
{
        struct pollfd end = { .fd = t->pidfd, .events = POLLIN };

        if (t->far)
                return t->gone;
        return t->pidfd >= 0 ? poll(&end, 1, 0) > 0 : !is_there(t->pid);
}

void shell_target_watch(struct shell *s)
{
        struct err unused = { 0 };

        if (s->far)
                shell_far_look(s, &unused); /* the command will say why, if it cannot be reached */
        for (uint32_t i = 0; i < s->count; i++) {
                struct shell_target *t = s->targets[i];

                if (t->pid && !t->ended && has_ended(t)) {
                        shell_start_ended(s, t);
                        tell_end(t);
                }
        }
}

bool shell_target_is_live(const struct shell_target *t)
{
        struct wire_status status;

        return t->pid && !t->ended && ask_glance(t->pid, &status) == ASK_ANSWERED;
}

void shell_target_operand(const struct shell_target *t, struct str *out)
{
        if (!t->pid || (!t->ended && !t->recording) || shell_target_is_live(t))
                str_text(out, t->name);
        else if (has_recording(t))
                str_text(out, t->recording);
        else if (t->ended && t->look >= 0)
                str_format(out, "/proc/self/fd/%d", t->look);
        else
                str_text(out, t->name);
}
