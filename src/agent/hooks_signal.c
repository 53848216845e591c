/* SPDX-License-Identifier: MIT */
/*
 * hooks_signal.c -- what the program does about the signals that we use.
 *
 * Room:   inside; called by the program.
 * Keeps:  as long as the program leaves such a signal at its default, it reads as such; its own
 *         handler takes our place at once.
 */
#include "agent/action.h"
#include "agent/agent.h"
#include "agent/bytes.h"
#include "agent/fatal.h"
#include "agent/hook.h"
#include "agent/real.h"
#include "agent/signal.h"

#include "agent/guest.h"

#define DEFAULT ((void *)0)
#define IGNORED ((void *)1)
#define HOLD ((void *)2)
#define FAILED ((void *)-1)
#define SIGNALS 64

int hook_sigaction(int number, const void *action, void *old) HOOK("sigaction");
int hook_sigaction_inner(int number, const void *action, void *old) HOOK("__sigaction");
void *hook_signal(int number, void *handler) HOOK("signal");
void *hook_bsd_signal(int number, void *handler) HOOK("bsd_signal");
void *hook_ssignal(int number, void *handler) HOOK("ssignal");
void *hook_sysv_signal(int number, void *handler) HOOK("sysv_signal");
void *hook_sysv_signal_inner(int number, void *handler) HOOK("__sysv_signal");
void *hook_sigset(int number, void *handler) HOOK("sigset");
int hook_sigaltstack(const struct fatal_stack *wanted, struct fatal_stack *old) HOOK("sigaltstack");

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
        int result = was_ours && (!action || to_default) ? 0
                                                         : REAL(sigaction_)(number, action, old);

        if (result != 0)
                return result;
        if (was_ours && old)
                memset(old, 0, ARCH_ACTION_BYTES);
        if (action && !to_default)
                signal_given_up();
        else if (to_default && !was_ours)
                signal_taken_back();
        return 0;
}

static int *flags_of(void *action)
{
        return (int *)((uint8_t *)action + ARCH_ACTION_FLAGS_AT);
}

/* As hook_sigaction() where the end of the program is watched: its handlers do not run on our
 * stack, and ours is none. */
static int change_watched(int number, const void *action, void *old)
{
        bool was_stripped = fatal_is_stripped(number), strips = false;
        const void *handler = action ? *(void *const *)action : DEFAULT;
        uint8_t copy[ARCH_ACTION_BYTES];
        int result;

        if (handler > IGNORED && fatal_strips(handler)) {
                memcpy(copy, action, sizeof copy);
                strips = *flags_of(copy) & ACTION_ON_STACK;
                *flags_of(copy) &= ~(int)ACTION_ON_STACK;
                action = copy;
        }
        result = signal_is_ours(number) ? change(number, action, old)
                                        : REAL(sigaction_)(number, action, old);
        if (result != 0)
                return result;
        if (old && fatal_is_once(*(void **)old))
                memcpy(old, fatal_once(number), ARCH_ACTION_BYTES);
        else if (old && fatal_is_ours(*(void **)old))
                fatal_describe(number, old);
        else if (old && was_stripped)
                *flags_of(old) |= (int)ACTION_ON_STACK;
        if (action)
                fatal_changed(number, handler, strips);
        return 0;
}

int hook_sigaction(int number, const void *action, void *old)
{
        note_handler(action ? *(void *const *)action : DEFAULT);
        if (fatal_on() && number > 0 && number <= SIGNALS)
                return change_watched(number, action, old);
        return signal_is_ours(number) ? change(number, action, old)
                                      : REAL(sigaction_)(number, action, old);
}

int hook_sigaction_inner(int number, const void *action, void *old)
{
        return hook_sigaction(number, action, old);
}

static void *exchange_watched(void *(*function)(int, void *), int number, void *handler)
{
        void *old = function(number, handler);

        if (old == FAILED || !fatal_on())
                return old;
        if (fatal_is_once(old))
                old = *(void *const *)fatal_once(number);
        if (handler != HOLD)
                fatal_changed(number, handler, false);
        return fatal_is_ours(old) ? DEFAULT : old;
}

/* The functions that take and give a handler only. */
static void *exchange(void *(*function)(int, void *), int number, void *handler)
{
        void *old;

        note_handler(handler);
        if (!signal_is_ours(number))
                return exchange_watched(function, number, handler);
        if (ours_now() && handler == DEFAULT)
                return DEFAULT;
        old = function(number, handler);
        if (old == FAILED)
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

int hook_sigaltstack(const struct fatal_stack *wanted, struct fatal_stack *old)
{
        struct fatal_stack given = wanted ? *wanted : (struct fatal_stack){ 0, 0, 0 };
        int result = REAL(sigaltstack_)(wanted, old);

        if (result == 0 && fatal_on())
                fatal_stack_changed(wanted ? &given : NULL, old);
        return result;
}
