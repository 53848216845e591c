/* SPDX-License-Identifier: MIT */
#include "base/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The signals below SIGRTMIN, and why some of them cannot ask for a snapshot. */
static const struct {
        int number;
        const char *name, *refused;
} known[] = {
        { SIGHUP, "HUP", NULL },
        { SIGINT, "INT", NULL },
        { SIGQUIT, "QUIT", NULL },
        { SIGILL, "ILL", "it reports a fault of the program" },
        { SIGTRAP, "TRAP", "it belongs to debuggers" },
        { SIGABRT, "ABRT", "it ends a program that detected an error" },
        { SIGBUS, "BUS", "it reports a fault of the program" },
        { SIGFPE, "FPE", "it reports a fault of the program" },
        { SIGKILL, "KILL", "it cannot be caught" },
        { SIGUSR1, "USR1", NULL },
        { SIGSEGV, "SEGV", "it reports a fault of the program" },
        { SIGUSR2, "USR2", NULL },
        { SIGPIPE, "PIPE", "it comes from writing to closed pipes" },
        { SIGALRM, "ALRM", NULL },
        { SIGTERM, "TERM", NULL },
        { SIGCHLD, "CHLD", "it comes whenever a child ends" },
        { SIGCONT, "CONT", "it wakes stopped programs" },
        { SIGSTOP, "STOP", "it cannot be caught" },
        { SIGTSTP, "TSTP", "it stops programs" },
        { SIGTTIN, "TTIN", "it stops programs" },
        { SIGTTOU, "TTOU", "it stops programs" },
        { SIGURG, "URG", NULL },
        { SIGXCPU, "XCPU", NULL },
        { SIGXFSZ, "XFSZ", "it comes from files that are too large" },
        { SIGVTALRM, "VTALRM", NULL },
        { SIGPROF, "PROF", NULL },
        { SIGWINCH, "WINCH", NULL },
        { SIGIO, "IO", NULL },
        { SIGIO, "POLL", NULL },
        { SIGPWR, "PWR", NULL },
        { SIGSYS, "SYS", "it reports a forbidden system call" },
};

#define SIGNALS_KNOWN (sizeof known / sizeof *known)

/* What follows the name RTMIN or RTMAX. */
static bool parse_offset(const char *text, int *out)
{
        char *end;
        long value;

        if (!*text) {
                *out = 0;
                return true;
        }
        if ((*text != '+' && *text != '-') || text[1] < '0' || text[1] > '9')
                return false;
        value = strtol(text, &end, 10);
        *out = value < -1000 || value > 1000 ? 1000 : (int)value;
        return *end == 0;
}

static int by_name(const char *name)
{
        for (size_t i = 0; i < SIGNALS_KNOWN; i++)
                if (strcasecmp(known[i].name, name) == 0)
                        return known[i].number;
        return 0;
}

/* NULL: no signal below SIGRTMIN has that number. */
static const char *name_of(long number)
{
        for (size_t i = 0; i < SIGNALS_KNOWN; i++)
                if (known[i].number == number)
                        return known[i].name;
        return NULL;
}

/* 0: there is none such. */
static int find(const char *text)
{
        const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
        int base = strncasecmp(name, "RTMIN", 5) == 0   ? SIGRTMIN
                   : strncasecmp(name, "RTMAX", 5) == 0 ? SIGRTMAX
                                                        : 0;
        int offset = 0;
        char *end;
        long number;

        if (base && !parse_offset(name + 5, &offset))
                return 0;
        if (base)
                return base + offset >= SIGRTMIN && base + offset <= SIGRTMAX ? base + offset : 0;
        if (*text < '0' || *text > '9')
                return by_name(name);
        number = strtol(text, &end, 10);
        return *end == 0 && (name_of(number) || (number >= SIGRTMIN && number <= SIGRTMAX))
                       ? (int)number
                       : 0;
}

bool signals_parse(const char *text, uint32_t *out, struct err *e)
{
        int number = find(text);

        *out = 0;
        if (strcasecmp(text, "none") == 0)
                return true;
        if (!number)
                return err_set(e, ERR_EXIT_USAGE,
                               "unknown signal '%s'; examples: USR2, RTMIN+3, 12, or 'none'", text);
        for (size_t i = 0; i < SIGNALS_KNOWN; i++)
                if (known[i].number == number && known[i].refused)
                        return err_set(e, ERR_EXIT_USAGE,
                                       "signal %s cannot be used for snapshots: %s; use USR1, USR2 "
                                       "or RTMIN+3", text, known[i].refused);
        *out = (uint32_t)number;
        return true;
}

void signals_name(uint32_t number, char *out)
{
        const char *name = name_of(number);

        if (name)
                snprintf(out, SIGNALS_NAME_BYTES, "SIG%s", name);
        else if (number >= (uint32_t)SIGRTMIN && number <= (uint32_t)SIGRTMAX)
                snprintf(out, SIGNALS_NAME_BYTES, "SIGRTMIN+%u", number - (uint32_t)SIGRTMIN);
        else
                snprintf(out, SIGNALS_NAME_BYTES, "signal %u", number);
}
