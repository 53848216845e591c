/* SPDX-License-Identifier: MIT */
/*
 * hooks_exit.c -- the ways out of the program, for the search for leaks and the last report of
 * plain LD_PRELOAD, and names of threads.
 *
 * Room:   inside.
 * Keeps:  after exit() both come behind all destructors: a function registered while they run is
 *         called when they are done (glibc; in musl it is our own destructor).
 */
#include "agent/agent.h"
#include "agent/apart.h"
#include "agent/attend.h"
#include "agent/hook.h"
#include "agent/real.h"
#include "agent/region.h"
#include "agent/ring.h"
#include "agent/search_request.h"
#include "agent/stream.h"
#include "wire/journal.h"

#include "agent/guest.h"

void hook_exit_now(int status) HOOK("_exit");
void hook_exit_now_c(int status) HOOK("_Exit");
int hook_daemon(int stay, int keep_open) HOOK("daemon");
int hook_setname(void *thread, const char *name) HOOK("pthread_setname_np");

/* The second of two threads that leave at once waits for the first one's search, which ends
 * both. */
#define LEAVE(how, status)                                                     \
        do {                                                                   \
                apart_settle();                                                \
                SCAN_ASK(LEDGER_SCAN_EXIT);                                    \
                attend_exit();                                                 \
                stream_end(how, status);                                       \
        } while (0)

/* The recording of the end has the stacks that are there. */
#define LOOK()                                                                 \
        do {                                                                   \
                struct arch_state caller_;                                     \
                                                                               \
                ARCH_FRAME(caller_);                                           \
                region_look_for(caller_, REGION_LOOK_ALL);                     \
        } while (0)

void hook_exit_now(int status)
{
        LOOK();
        LEAVE(JOURNAL_END_EXIT, (uint32_t)status & 255);
        REAL(exit_now_)(status);
}

void hook_exit_now_c(int status)
{
        LOOK();
        LEAVE(JOURNAL_END_EXIT, (uint32_t)status & 255);
        REAL(exit_now_c_)(status);
}

/* The parent ends inside of it. */
int hook_daemon(int stay, int keep_open)
{
        LEAVE(JOURNAL_END_UNKNOWN, 0);
        return REAL(daemon_)(stay, keep_open);
}

int hook_setname(void *thread, const char *name)
{
        int result = REAL(pthread_setname_np_)(thread, name);

        if ((uintptr_t)thread == arch_thread_pointer())
                thread_renamed();
        return result;
}

/* What exit() was called with, where the C library tells; -1 not known. */
static int exit_status = -1;

static void leave_by_exit(void)
{
        LEAVE(exit_status < 0 ? JOURNAL_END_UNKNOWN : JOURNAL_END_EXIT,
              exit_status < 0 ? 0 : (uint32_t)exit_status);
}

/* A second thread that leaves while the first one waits would end the process under the search: it
 * finds this function again, and waits too. */
static void leave(void *unused)
{
        static uint32_t done;

        (void)unused;
        if (__atomic_load_n(&done, __ATOMIC_ACQUIRE))
                return;
        if (real.cxa_atexit && real.gnu_get_libc_version)
                real.cxa_atexit(leave, NULL, NULL);
        leave_by_exit();
        __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

static void leave_with(int status, void *unused)
{
        exit_status = status & 255;
        leave(unused);
}

/* Only one more function to call: its place is that of one that was called before, and with it goes
 * what that was given. */
static bool register_leave(void)
{
        if (!real.gnu_get_libc_version)
                return false;
        if (agent.stream && real.on_exit_)
                return real.on_exit_(leave_with, NULL) == 0;
        return real.cxa_atexit && real.cxa_atexit(leave, NULL, NULL) == 0;
}

static bool waits_at_end(void)
{
        return agent.stream || (agent.flags & (WIRE_F_ATTENDED | WIRE_F_LEAK_SCAN));
}

__attribute__((constructor)) static void register_quick_exit(void)
{
        if (agent_on() && waits_at_end() && real.cxa_at_quick_exit)
                real.cxa_at_quick_exit(leave, NULL);
}

/* First of all there is something for a second thread to find: looking takes milliseconds. */
__attribute__((destructor)) static void register_exit(void)
{
        bool on = agent_on();
        bool wanted = waits_at_end();
        bool registered = wanted && register_leave();

        if (on) {
                ring_look();
                apart_settle();
        }
        LOOK();
        if (wanted && !registered)
                leave_by_exit();
}
