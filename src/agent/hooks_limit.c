/* SPDX-License-Identifier: MIT */
/*
 * hooks_limit.c -- the limit on address space, as the program means it.
 *
 * Room:   inside; called by the program.
 * Keeps:  the reservation of the ledger counts as address space of the process, though almost none of it is ever used.  A program that
 *         limits itself (ulimit -v in a shell, setrlimit) means its own memory: the kernel is told that much more, and the program is
 *         told the number it gave.
 */
#include "agent/arena.h"
#include "agent/hook.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define LIMIT_ADDRESS_SPACE 9
#define LIMIT_NONE (~0ull)

/* struct rlimit, on all 64-bit ports. */
struct limit {
        uint64_t soft, hard;
};

int hook_getrlimit(int resource, struct limit *out) HOOK("getrlimit");
int hook_getrlimit64(int resource, struct limit *out) HOOK("getrlimit64");
int hook_setrlimit(int resource, const struct limit *in) HOOK("setrlimit");
int hook_setrlimit64(int resource, const struct limit *in) HOOK("setrlimit64");
int hook_prlimit(int pid, int resource, const struct limit *in, struct limit *out) HOOK("prlimit");
int hook_prlimit64(int pid, int resource, const struct limit *in, struct limit *out) HOOK("prlimit64");

/* Also of a process that is not recorded any more, or a forked child that never is: the reservation is there. */
static uint64_t reserved(int resource)
{
        return resource == LIMIT_ADDRESS_SPACE ? arena_reserved() : 0;
}

static uint64_t for_kernel(uint64_t value, uint64_t ours)
{
        return value > LIMIT_NONE - ours ? LIMIT_NONE : value + ours;
}

static uint64_t for_program(uint64_t value, uint64_t ours)
{
        return value == LIMIT_NONE || value < ours ? value : value - ours;
}

/* All of them are this one; OURS is what the ledger takes if PID is ourselves. */
static int change(int pid, int resource, const struct limit *in, struct limit *out)
{
        uint64_t ours = pid == 0 || (uint32_t)pid == sys_pid() ? reserved(resource) : 0;
        struct limit raised;
        int result;

        if (in && ours) {
                raised = (struct limit){ for_kernel(in->soft, ours), for_kernel(in->hard, ours) };
                in = &raised;
        }
        result = (real.prlimit_ ? real.prlimit_ : real.prlimit64_)(pid, resource, in, out);
        if (result == 0 && out && ours)
                *out = (struct limit){ for_program(out->soft, ours), for_program(out->hard, ours) };
        return result;
}

int hook_prlimit(int pid, int resource, const struct limit *in, struct limit *out)
{
        agent_on();
        return change(pid, resource, in, out);
}

int hook_prlimit64(int pid, int resource, const struct limit *in, struct limit *out)
{
        agent_on();
        return change(pid, resource, in, out);
}

int hook_getrlimit(int resource, struct limit *out)
{
        agent_on();
        if (reserved(resource))
                return change(0, resource, NULL, out);
        return real.getrlimit_(resource, out);
}

int hook_getrlimit64(int resource, struct limit *out)
{
        return hook_getrlimit(resource, out);
}

int hook_setrlimit(int resource, const struct limit *in)
{
        agent_on();
        if (reserved(resource))
                return change(0, resource, in, NULL);
        return real.setrlimit_(resource, in);
}

int hook_setrlimit64(int resource, const struct limit *in)
{
        return hook_setrlimit(resource, in);
}
