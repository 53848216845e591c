/* SPDX-License-Identifier: MIT */
#include "session/diagnosis.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/program.h"
#include "attach/sandbox.h"
#include "session/family.h"

#define DIAGNOSIS_LEDGER_BYTES (160u << 20) /* a ledger is reserved with so much at least ... */
/* ... which may be half of the address space. */
#define DIAGNOSIS_SPACE_BYTES (2 * DIAGNOSIS_LEDGER_BYTES)

#define DIAGNOSIS_DATA_BYTES (4u << 20) /* with less data the agent does not begin (arena.c) */

/* The soft limit can be raised. */
static bool is_limited(pid_t pid, int resource, rlim_t least)
{
        struct rlimit limit;

        return prlimit(pid, resource, NULL, &limit) == 0 && limit.rlim_max < least;
}

void diagnosis_limits(struct diagnosis *s, pid_t pid)
{
        struct rlimit data;

        s->files_limited = is_limited(pid, RLIMIT_FSIZE, DIAGNOSIS_LEDGER_BYTES);
        s->space_limited = is_limited(pid, RLIMIT_AS, DIAGNOSIS_SPACE_BYTES);
        /* Which is not raised. */
        s->data_limited = prlimit(pid, RLIMIT_DATA, NULL, &data) == 0 &&
                          data.rlim_cur < DIAGNOSIS_DATA_BYTES;
}

static bool is_any_limited(const struct diagnosis *s)
{
        return s->files_limited || s->space_limited || s->data_limited;
}

/* Why the library may have no ledger. */
static const char *obstacle_to_ledger(const struct diagnosis *s)
{
        if (s->data_limited)
                return "its data is limited to less than 4 MiB (ulimit -d), too little for our "
                       "tables";
        if (s->files_limited && s->space_limited)
                return "files, and its ledger with them, are limited (ulimit -f), or its address "
                       "space is (ulimit -v)";
        if (s->files_limited)
                return "the size of files is limited (ulimit -f), and its ledger counts as one";
        return s->space_limited ? "its address space is limited (ulimit -v)"
                                : "a sandbox, or no memory for its ledger";
}

void diagnosis_look(struct diagnosis *s, pid_t pid, uid_t uid)
{
        struct program_user user = { uid, getgid() };
        char link[64], exe[sizeof s->exe];
        ssize_t length;

        snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
        length = readlink(link, exe, sizeof exe - 1);
        if (length <= 0)
                return;
        exe[length] = 0;
        if (!s->seen)
                strcpy(s->first, exe);
        s->seen = true;
        if (strcmp(exe, s->exe) != 0) {
                strcpy(s->exe, exe);
                s->obstacle = program_obstacle(link, &user);
        }
        s->is_filtered = !sandbox_is_ours(pid);
        s->has_preload = family_has_preload(pid);
        s->has_agent = family_has_agent(pid);
        diagnosis_limits(s, pid);
}

const char *diagnosis_left(const struct diagnosis *s)
{
        if (is_any_limited(s))
                return obstacle_to_ledger(s);
        return "it cannot load our library (statically linked, of 32 bits, built with a "
               "sanitizer, or behind chroot?), or it runs under a system call "
               "filter (seccomp) that forbids what recording needs";
}

void diagnosis_explain(const struct diagnosis *s, const char *program, int status, char *out,
                       size_t room)
{
        bool replaced = s->seen && strcmp(s->first, s->exe) != 0;

        if (s->starved)
                snprintf(out, room, "seep had no file descriptor left for %s (ulimit -n)", program);
        else if (s->launched && s->refused[0])
                snprintf(out, room, "%s: %s", program, s->refused);
        else if (s->launched)
                snprintf(out, room, "%s ended before it allocated anything", program);
        else if (replaced && s->obstacle)
                snprintf(out, room, "%s was replaced by %s, which %s", program, s->exe,
                         s->obstacle);
        else if (s->obstacle)
                snprintf(out, room, "%s runs as %s, which %s", program, s->exe, s->obstacle);
        else if (s->has_agent && s->is_filtered)
                snprintf(out, room,
                         "%s runs under a system call filter (seccomp) that forbids what recording "
                         "needs, or that was loaded unseen", program);
        else if (s->has_agent)
                snprintf(out, room, "%s has our library, but it did not reach us: %s", program,
                         obstacle_to_ledger(s));
        else if (s->seen && !s->has_preload)
                snprintf(out, room, "%s was started with an environment that lacks LD_PRELOAD",
                         replaced ? s->exe : program);
        else if (s->seen && !WIFSIGNALED(status))
                snprintf(out, room,
                         "%s was told to load our library by LD_PRELOAD, but its loader did not",
                         s->exe);
        else if (WIFSIGNALED(status))
                snprintf(out, room, "%s was killed by signal %d (%s) before our library started",
                         program, WTERMSIG(status), strsignal(WTERMSIG(status)));
        else if (is_any_limited(s))
                snprintf(out, room, "%s ended without our library reaching us; %s", program,
                         obstacle_to_ledger(s));
        else
                snprintf(out, room,
                         "%s ended before it allocated anything, or its loader ignores LD_PRELOAD",
                         program);
}
