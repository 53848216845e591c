/* SPDX-License-Identifier: MIT */
#include "cli/beside.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "cli/run.h"
#include "session/ask.h"
#include "session/family.h"

/* ---- in the child ---- */

/* ENDS: with the command that started it, whatever ends that. */
static void stand_apart(bool ends, int says)
{
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

        setsid();
        if (ends)
                prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
            dup2(says, STDERR_FILENO) < 0)
                _exit(ERR_EXIT_CANNOT_TRACE);
}

static _Noreturn void become_attach(uint32_t pid, bool ends, int says)
{
        char number[16];
        char *words[] = { "seep", "attach", "--no-summary", number, NULL };

        snprintf(number, sizeof number, "%" PRIu32, pid);
        stand_apart(ends, says);
        execv("/proc/self/exe", words);
        _exit(ERR_EXIT_CANNOT_TRACE);
}

static void say_nothing(struct run *r, const struct session_end *end)
{
        (void)r, (void)end;
}

static _Noreturn void become_visitor(uint32_t pid, bool ends, int says)
{
        struct record wishes;
        struct run r = { .wishes = &wishes, .recorded = say_nothing, .visit = true };

        stand_apart(ends, says);
        record_start(&wishes);
        record_settle(&wishes);
        _exit(run_attached(&r, (pid_t)pid));
}

/* ---- in the command ---- */

/* It has ended: what it said last is why. */
static bool tell_failure(uint32_t pid, int says, struct err *e)
{
        struct str text = { 0 };
        const char *line;
        size_t length;

        lseek(says, 0, SEEK_SET);
        io_read(says, &text);
        line = str_get(&text);
        if (strncmp(line, "seep: ", 6) == 0)
                line += 6;
        length = strcspn(line, "\n");
        err_set(e, ERR_EXIT_CANNOT_TRACE, "process %" PRIu32 " cannot be attached to: %.*s", pid,
                length ? (int)length : -1, length ? line : "seep attach ended without a word");
        str_free(&text);
        return false;
}

/* Until it records, or has ended. */
static bool wait_for(pid_t seep, uint32_t pid)
{
        struct timespec step = { .tv_nsec = 10 * 1000 * 1000 };
        struct wire_status status;

        for (;;) {
                if (ask_glance(pid, &status) == ASK_ANSWERED)
                        return true;
                if (waitpid(seep, NULL, WNOHANG) != 0)
                        return false;
                nanosleep(&step, NULL);
        }
}

/* The one that BECOMES what is wanted; -1: E says why there is none. */
static pid_t start(uint32_t pid, bool ends, void (*becomes)(uint32_t pid, bool ends, int says),
                   struct err *e)
{
        int says = memfd_create("seep-attach", MFD_CLOEXEC);
        pid_t seep = says < 0 ? -1 : fork();

        if (seep == 0)
                becomes(pid, ends, says);
        if (seep < 0)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot start seep attach");
        else if (!wait_for(seep, pid) && !tell_failure(pid, says, e))
                seep = -1;
        if (says >= 0)
                close(says);
        return seep;
}

bool beside_attach(uint32_t pid, bool ends, struct err *e)
{
        return start(pid, ends, become_attach, e) > 0;
}

static pid_t visitor, host; /* who visits, and for whom */

/* Whoever comes next finds nobody there. */
static void end_visit(void)
{
        if (getpid() != host)
                return;
        kill(visitor, SIGTERM);
        waitpid(visitor, NULL, 0);
}

bool beside_visit(uint32_t pid, struct err *e)
{
        struct family_orphan left;

        if (ask_is_routed() || !family_is_orphan((pid_t)pid, &left))
                return true;
        visitor = start(pid, true, become_visitor, e);
        host = getpid();
        if (visitor > 0)
                atexit(end_visit);
        return visitor > 0;
}
