/* SPDX-License-Identifier: MIT */
#include "cli/offer.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/beside.h"
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

bool offer_attach(uint32_t pid, unsigned how, struct err *e)
{
        if (ask_is_routed() || load_is_recorded(pid) || kill((pid_t)pid, 0) < 0)
                return true;
        if (!(how & OFFER_WANTED) && !((how & OFFER_ASKS) && agrees(pid)))
                return true;
        if (!beside_attach(pid, how & OFFER_ENDS, e))
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
