/* SPDX-License-Identifier: MIT */
/*
 * hooks_signal.c -- what the program does about the signal that we use.
 *
 * Room:   inside; called by the program.
 * Keeps:  as long as the program leaves the signal at its default, it reads as such; its own handler takes our place at once.
 */
#include "agent/agent.h"
#include "agent/bytes.h"
#include "agent/hook.h"
#include "agent/real.h"
#include "agent/signal.h"

#include "agent/guest.h"

#define DEFAULT ((void *)0)
#define IGNORED ((void *)1)
#define LIBC_ACTION_BYTES 152 /* struct sigaction in glibc and musl alike; the handler is its first word */

int hook_sigaction(int number, const void *action, void *old) HOOK("sigaction");
int hook_sigaction_inner(int number, const void *action, void *old) HOOK("__sigaction");
void *hook_signal(int number, void *handler) HOOK("signal");
void *hook_bsd_signal(int number, void *handler) HOOK("bsd_signal");
void *hook_ssignal(int number, void *handler) HOOK("ssignal");
void *hook_sysv_signal(int number, void *handler) HOOK("sysv_signal");
void *hook_sysv_signal_inner(int number, void *handler) HOOK("__sysv_signal");
void *hook_sigset(int number, void *handler) HOOK("sigset");

static void note_handler(void *handler)
{
        if (handler > IGNORED)
                signal_program_handles = true;
}

static bool ours_now(void)
{
        return agent.head->signal_state == LEDGER_SIGNAL_OURS;
}

static int change(int number, const void *action, void *old)
{
        bool was_ours = ours_now(), to_default = action && *(void *const *)action == DEFAULT;
        int result = was_ours && (!action || to_default) ? 0 : REAL(sigaction_)(number, action, old);

        if (result != 0)
                return result;
        if (was_ours && old)
                memset(old, 0, LIBC_ACTION_BYTES);
        if (action && !to_default)
                signal_given_up();
        else if (to_default && !was_ours)
                signal_taken_back();
        return 0;
}

int hook_sigaction(int number, const void *action, void *old)
{
        note_handler(action ? *(void *const *)action : DEFAULT);
        return signal_is_ours(number) ? change(number, action, old) : REAL(sigaction_)(number, action, old);
}

int hook_sigaction_inner(int number, const void *action, void *old)
{
        return hook_sigaction(number, action, old);
}

/* The functions that take and give a handler only. */
static void *exchange(void *(*function)(int, void *), int number, void *handler)
{
        void *old;

        note_handler(handler);
        if (!signal_is_ours(number))
                return function(number, handler);
        if (ours_now() && handler == DEFAULT)
                return DEFAULT;
        old = function(number, handler);
        if (old == (void *)-1)
                return old;
        if (ours_now())
                old = DEFAULT;
        if (handler == DEFAULT)
                signal_taken_back();
        else
                signal_given_up();
        return old;
}

void *hook_signal(int number, void *handler)
{
        return exchange(REAL(signal_), number, handler);
}

void *hook_bsd_signal(int number, void *handler)
{
        return exchange(REAL(bsd_signal_), number, handler);
}

void *hook_ssignal(int number, void *handler)
{
        return exchange(REAL(ssignal_), number, handler);
}

void *hook_sysv_signal(int number, void *handler)
{
        return exchange(REAL(sysv_signal_), number, handler);
}

void *hook_sysv_signal_inner(int number, void *handler)
{
        return exchange(REAL(sysv_signal_inner_), number, handler);
}

void *hook_sigset(int number, void *handler)
{
        return exchange(REAL(sigset_), number, handler);
}
