/* SPDX-License-Identifier: MIT */
/*
 * hooks_exit.c -- the ways out of the program, for the last report of plain LD_PRELOAD.
 *
 * Room:   inside.
 * Keeps:  after exit() the report comes behind all destructors: a function registered while they run is called when they are done (glibc;
 *         in musl it is our own destructor).
 */
#include "agent/agent.h"
#include "agent/attend.h"
#include "agent/hook.h"
#include "agent/real.h"

#include "agent/guest.h"

void hook_exit_now(int status) HOOK("_exit");
void hook_exit_now_c(int status) HOOK("_Exit");

void hook_exit_now(int status)
{
        attend_exit();
        REAL(exit_now_)(status);
}

void hook_exit_now_c(int status)
{
        attend_exit();
        REAL(exit_now_c_)(status);
}

static void leave(void *unused)
{
        (void)unused;
        attend_exit();
}

__attribute__((constructor)) static void register_quick_exit(void)
{
        if (agent_on() && (agent.flags & WIRE_F_ATTENDED) && real.cxa_at_quick_exit)
                real.cxa_at_quick_exit(leave, NULL);
}

__attribute__((destructor)) static void register_exit(void)
{
        if (!(agent.flags & WIRE_F_ATTENDED))
                return;
        if (!real.gnu_get_libc_version || !real.cxa_atexit || real.cxa_atexit(leave, NULL, NULL) != 0)
                attend_exit();
}
