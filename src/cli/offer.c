/* SPDX-License-Identifier: MIT */
#include "cli/offer.h"

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
#include "cli/load.h"
#include "cli/message.h"
#include "session/ask.h"

static uint32_t begun; /* the process that is recorded for as long as this command runs; 0 none */

/* ---- the question ---- */

static bool is_yes(const char *line)
{
        return line[0] == 'y' || line[0] == 'Y';
}

static bool agrees(uint32_t pid)
{
        char line[64] = "";

        if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
                return false;
        fprintf(stderr, "seep: process %" PRIu32 " is not being recorded. Attach to it? [y/N] ",
                pid);
        return fgets(line, sizeof line, stdin) && is_yes(line);
}

/* ---- the recording ---- */

/* In the child.  ENDS: with the command that started it, whatever ends that. */
static _Noreturn void become_attach(uint32_t pid, bool ends, int says)
{
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        char number[16];
        char *words[] = { "seep", "attach", "--no-summary", number, NULL };

        snprintf(number, sizeof number, "%" PRIu32, pid);
        setsid();
        if (ends)
                prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
            dup2(says, STDERR_FILENO) < 0)
                _exit(ERR_EXIT_CANNOT_TRACE);
        execv("/proc/self/exe", words);
        _exit(ERR_EXIT_CANNOT_TRACE);
}

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
                (int)length, length ? line : "seep attach failed");
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

static bool start(uint32_t pid, bool ends, struct err *e)
{
        int says = memfd_create("seep-attach", MFD_CLOEXEC);
        pid_t seep = says < 0 ? -1 : fork();
        bool good;

        if (seep < 0)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot start seep attach");
        if (!seep)
                become_attach(pid, ends, says);
        good = wait_for(seep, pid) || tell_failure(pid, says, e);
        close(says);
        return good;
}

bool offer_attach(uint32_t pid, unsigned how, struct err *e)
{
        if (ask_is_routed() || load_is_recorded(pid) || kill((pid_t)pid, 0) < 0)
                return true;
        if (!(how & OFFER_WANTED) && !((how & OFFER_ASKS) && agrees(pid)))
                return true;
        if (!start(pid, how & OFFER_ENDS, e))
                return false;
        if (how & OFFER_ENDS)
                begun = pid;
        else if (!(how & OFFER_QUIET))
                message("process %" PRIu32 " is being recorded now; 'seep detach %" PRIu32
                        "' ends that",
                        pid, pid);
        return true;
}

void offer_end(void)
{
        struct err e = { 0 };

        if (begun && !ask_leave(begun, &e) && kill((pid_t)begun, 0) == 0)
                message("%s", e.text);
        begun = 0;
}
