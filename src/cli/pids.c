/* SPDX-License-Identifier: MIT */
#include "cli/pids.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/heap.h"
#include "base/quantity.h"
#include "cli/message.h"

#define LISTED 20u /* candidates in a message */

/* ---- which ---- */

static void add(struct pids *t, pid_t pid)
{
        for (uint32_t i = 0; i < t->count; i++)
                if (t->list[i] == pid)
                        return;
        t->list = heap_grow(t->list, t->count + 1, sizeof *t->list);
        t->list[t->count++] = pid;
}

void pids_free(struct pids *t)
{
        free(t->list);
        *t = (struct pids){ 0 };
}

static bool ends_with(const char *path, const char *name)
{
        const char *slash = path ? strrchr(path, '/') : NULL;

        return path && strcmp(slash ? slash + 1 : path, name) == 0;
}

/* As ps shows it, the file that it runs, or what it was called by. */
static bool is_called(pid_t pid, const char *name)
{
        char *exe = process_link((uint32_t)pid, "exe"), short_name[PROCFS_NAME_BYTES];
        struct str words = { 0 };
        bool found = ends_with(exe, name) ||
                     strcmp(procfs_name(pid, short_name), name) == 0 ||
                     (procfs_text(pid, pid, "cmdline", &words) &&
                      ends_with(str_get(&words), name));

        free(exe);
        str_free(&words);
        /* Of a zombie with threads only the first one has ended. */
        return found && pid != getpid() &&
               (process_state((uint32_t)pid) != 'Z' || process_threads((uint32_t)pid) > 1);
}

static void find_called(struct pids *t, const char *name)
{
        struct dirent *entry;
        DIR *list = opendir("/proc");

        while (list && (entry = readdir(list))) {
                pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

                if (pid > 0 && is_called(pid, name))
                        add(t, pid);
        }
        if (list)
                closedir(list);
}

static void show(pid_t pid)
{
        struct str words = { 0 };

        procfs_text(pid, pid, "cmdline", &words);
        for (size_t i = 0; i + 1 < words.length; i++)
                if (words.data[i] == 0)
                        words.data[i] = ' ';
        message("  %d  %.60s", (int)pid, str_get(&words));
        str_free(&words);
}

int pids_add(struct pids *t, const char *command, const char *word)
{
        struct pids found = { 0 };
        uint32_t count;
        uint64_t pid;

        if (quantity_number(word, &pid)) {
                if (pid == 0 || pid > INT_MAX)
                        return message_usage(command, "'%s' is not a process id", word);
                add(t, (pid_t)pid);
                return 0;
        }
        find_called(&found, word);
        count = found.count;
        if (count == 1)
                add(t, found.list[0]);
        for (uint32_t i = 0; count > 1 && i < count && i < LISTED; i++)
                show(found.list[i]);
        pids_free(&found);
        if (count == 0)
                return message_usage(
                        command, "'%s' is neither a process id nor the name of a process", word);
        return count == 1 ? 0
                          : message_usage(command, "'%s' is the name of %" PRIu32
                                                   " processes: give the number of one",
                                          word, count);
}

int pids_check(uint32_t count, const char *command, const char *pattern)
{
        return count < 2 || !pattern || strstr(pattern, "%p")
                       ? 0
                       : message_usage(command, "-o %s: several processes need a name with %%p",
                                       pattern);
}

/* ---- several at once ---- */

static int turn = -1; /* a file that is locked by who speaks */

static void conclude_in_turn(struct run *r, const struct session_end *end)
{
        bool locked = lockf(turn, F_LOCK, 0) == 0;

        run_conclude(r, end);
        if (locked && lockf(turn, F_ULOCK, 0) != 0)
                return;
}

/* PID 0: the program. */
static __attribute__((noreturn)) void record_one(struct run *r, pid_t pid, const sigset_t *mask)
{
        int status;

        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_SETMASK, mask, NULL);
        r->recorded = conclude_in_turn;
        if (!pid) {
                status = run_program(r);
                exit(r->killed_by ? 128 + r->killed_by : status);
        }
        r->program_argv = NULL;
        exit(run_attached(r, pid));
}

/* Children end by themselves or when they are told to. */
static void wait_for_all(pid_t *workers, int *statuses, uint32_t count)
{
        uint32_t left = count;
        sigset_t signals;
        int number, status;
        pid_t pid;

        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        while (left) {
                while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
                        for (uint32_t i = 0; i < count; i++)
                                if (workers[i] == pid) {
                                        statuses[i] = WIFEXITED(status) ? WEXITSTATUS(status)
                                                                        : 128 + WTERMSIG(status);
                                        workers[i] = 0;
                                        left--;
                                }
                if (!left || sigwait(&signals, &number) != 0 || number == SIGCHLD)
                        continue;
                for (uint32_t i = 0; i < count; i++)
                        if (workers[i])
                                kill(workers[i], number);
        }
}

static int fail(const char *what)
{
        struct err e = { 0 };

        err_sys(&e, ERR_EXIT_CANNOT_TRACE, "%s", what);
        return message_error(&e);
}

int pids_record(struct run *r, const struct pids *t)
{
        uint32_t count = t->count + (r->program_argv != NULL);
        pid_t *workers = heap_zero(count, sizeof *workers);
        int *statuses = heap_zero(count, sizeof *statuses), status = 0;
        sigset_t all, before;
        uint32_t made = 0;

        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before);
        turn = memfd_create("seep-turn", MFD_CLOEXEC);
        for (; made < count; made++) {
                workers[made] = fork();
                if (workers[made] == 0)
                        record_one(r, made < t->count ? t->list[made] : 0, &before);
                if (workers[made] < 0)
                        break;
        }
        if (made < count) {
                status = fail("cannot start a process");
                for (uint32_t i = 0; i < made; i++)
                        kill(workers[i], SIGTERM);
        }
        wait_for_all(workers, statuses, made);
        close(turn);
        sigprocmask(SIG_SETMASK, &before, NULL);
        for (uint32_t i = made; i-- > 0 && !status;)
                status = statuses[i];
        if (r->program_argv && made == count)
                status = statuses[count - 1];
        free(workers);
        free(statuses);
        return status;
}
