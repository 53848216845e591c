/* SPDX-License-Identifier: MIT */
/*
 * hooks_limit.c -- the limit on address space, as the program means it.
 *
 * Room:   inside; called by the program.
 * Keeps:  the reservation of the ledger counts as address space of the process, though almost
 *         none of it is ever used.  A program that limits itself (ulimit -v in a shell,
 *         setrlimit) means its own memory: the kernel is told that much more, and the program is
 *         told the number it gave.
 */
#include "agent/arena.h"
#include "agent/hook.h"
#include "agent/space.h"
#include "agent/sys.h"

#include "agent/guest.h"

int hook_getrlimit(int resource, struct space_limit *out) HOOK("getrlimit");
int hook_getrlimit64(int resource, struct space_limit *out) HOOK("getrlimit64");
int hook_setrlimit(int resource, const struct space_limit *in) HOOK("setrlimit");
int hook_setrlimit64(int resource, const struct space_limit *in) HOOK("setrlimit64");
int hook_prlimit(int pid, int resource, const struct space_limit *in, struct space_limit *out)
        HOOK("prlimit");
int hook_prlimit64(int pid, int resource, const struct space_limit *in, struct space_limit *out)
        HOOK("prlimit64");

/* Also of a process that is not recorded any more, or a forked child that never is:
 * the reservation is there. */
static uint64_t reserved(int resource)
{
        return resource == SPACE_LIMIT ? arena_reserved() : 0;
}

static uint64_t for_kernel(uint64_t value, uint64_t ours)
{
        return value > SPACE_NONE - ours ? SPACE_NONE : value + ours;
}

/* All of them are this one; OURS is what the ledger takes if PID is ourselves. */
static int change(int pid, int resource, const struct space_limit *in, struct space_limit *out)
{
        uint64_t ours = pid == 0 || (uint32_t)pid == sys_pid() ? reserved(resource) : 0;
        struct space_limit raised;
        int result;

        if (in && ours) {
                raised = (struct space_limit){ for_kernel(in->soft, ours),
                                               for_kernel(in->hard, ours) };
                in = &raised;
        }
        result = (real.prlimit_ ? real.prlimit_ : real.prlimit64_)(pid, resource, in, out);
        if (result == 0 && out && ours)
                *out = space_of_program(*out, ours);
        return result;
}

int hook_prlimit(int pid, int resource, const struct space_limit *in, struct space_limit *out)
{
        agent_on();
        return change(pid, resource, in, out);
}

int hook_prlimit64(int pid, int resource, const struct space_limit *in, struct space_limit *out)
{
        agent_on();
        return change(pid, resource, in, out);
}

int hook_getrlimit(int resource, struct space_limit *out)
{
        agent_on();
        if (reserved(resource))
                return change(0, resource, NULL, out);
        return real.getrlimit_(resource, out);
}

int hook_getrlimit64(int resource, struct space_limit *out)
{
        return hook_getrlimit(resource, out);
}

int hook_setrlimit(int resource, const struct space_limit *in)
{
        agent_on();
        if (reserved(resource))
                return change(0, resource, in, NULL);
        return real.setrlimit_(resource, in);
}

int hook_setrlimit64(int resource, const struct space_limit *in)
{
        return hook_setrlimit(resource, in);
}
