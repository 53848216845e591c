/* SPDX-License-Identifier: MIT */
/*
 * signal.c -- the signal that asks for a snapshot.
 *
 * Room:   inside; the handler runs in whatever thread the kernel chose, with all signals blocked.
 */
#include "agent/signal.h"

#include "agent/action.h"
#include "agent/agent.h"
#include "agent/mark.h"
#include "agent/search_request.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define ABORT 6
#define UNBLOCK 1
#define NAPS 200
#define NAPS_FIRST 20 /* nobody has ever sent it: probably it is something else */
#define NAP_NS 1000000l

OWN_THREAD struct ledger_wait signal_wait;
uint32_t signal_arrivals;
bool signal_program_handles;

ARCH_SIGRETURN(signal_return);

/* What the signal would have done without us. */
static void by_default(uint32_t number)
{
        struct action none = { ACTION_DEFAULT, 0, NULL, 0 };
        uint64_t mask = arch_signals(1ull << (number - 1));

        action_set(number, &none, NULL);
        sys_call6(SYS_rt_sigprocmask, UNBLOCK, (long)&mask, 0, sizeof mask, 0, 0);
        sys_call3(SYS_tgkill, sys_pid(), sys_tid(), number);
}

/* Signals of the program's own that wait to be handled: then an interruption is rightly theirs. */
static uint64_t others_pending(void *context)
{
        uint64_t pending = 0;

        if (!agent.sandboxed)
                sys_call3(SYS_rt_sigpending, (long)&pending, sizeof pending, 0);
        return arch_signals(pending) & ~arch_sig_mask(context) & ~(1ull << (agent.signal - 1));
}

/* Whether one of them has a handler that ends a call. */
static bool one_interrupts(uint64_t pending)
{
        for (; pending; pending &= pending - 1) {
                struct action a = { ACTION_DEFAULT, 0, NULL, 0 };

                action_set((uint32_t)__builtin_ctzll(pending) + 1, NULL, &a);
                if (a.handler > ACTION_IGNORED && !(a.flags & ACTION_RESTART))
                        return true;
        }
        return false;
}

/* A call that our signal met must do what it would have done without it. */
static void repair_call(void *context)
{
        uint64_t others = others_pending(context);

        if (others) {
                if (arch_sig_calls_next(context) && one_interrupts(others))
                        /* The kernel was about to begin it again, because of us. */
                        arch_sig_fail(context);
        } else if (arch_sig_interrupted(context)) {
                if (signal_wait.waiting)
                        signal_wait.interrupted = true;
                else if (arch_sig_call(context) >= 0)
                        arch_sig_restart(context, arch_sig_call(context));
        }
}

static void arrived(int number, void *information, void *context)
{
        (void)information;
        if (!agent.sandboxed && sys_pid() != agent.pid) { /* a child that is not recorded */
                by_default((uint32_t)number);
                return;
        }
        __atomic_add_fetch(&signal_arrivals, 1, __ATOMIC_ACQ_REL);
        if (*agent.gate == GATE_ON)
                mark_add(LEDGER_MARK_SIGNAL, NULL, 0);
        repair_call(context);
}

static void install(void)
{
        struct action ours = { (uintptr_t)arrived,
                               ACTION_SIGINFO | ACTION_RESTORER | ACTION_ON_STACK | ACTION_RESTART,
                               signal_return, ~0ull };

        action_set(agent.signal, &ours, NULL);
        agent.head->signal_state = LEDGER_SIGNAL_OURS;
}

bool signal_only_ours(uint32_t before)
{
        long nap[2] = { 0, NAP_NS };

        if (signal_wait.interrupted)
                return true;
        if (!agent.signal)
                return false;
        for (int i = 0; i < (before ? NAPS : NAPS_FIRST) && !signal_program_handles; i++) {
                if (__atomic_load_n(&signal_arrivals, __ATOMIC_ACQUIRE) != before)
                        return true;
                sys_call3(SYS_nanosleep, (long)nap, 0, 0);
        }
        return false;
}

void signal_start(void)
{
        struct action was = { ACTION_DEFAULT, 0, NULL, 0 };

        agent.head->signal = agent.signal;
        if (!agent.signal || sys_failed(action_set(agent.signal, NULL, &was)))
                return;
        if (was.handler == ACTION_DEFAULT)
                install();
        else
                agent.head->signal_state = LEDGER_SIGNAL_BEFORE;
}

bool signal_is_ours(int number)
{
        return agent.head && agent.signal && number == (int)agent.signal &&
               (agent.sandboxed || sys_pid() == agent.pid) &&
               (agent.head->signal_state == LEDGER_SIGNAL_OURS ||
                agent.head->signal_state == LEDGER_SIGNAL_PROGRAM);
}

void signal_given_up(void)
{
        agent.head->signal_state = LEDGER_SIGNAL_PROGRAM;
}

void signal_taken_back(void)
{
        install();
}

void signal_forked(void)
{
        struct action none = { ACTION_DEFAULT, 0, NULL, 0 };

        if (agent.signal && agent.head->signal_state == LEDGER_SIGNAL_OURS)
                action_set(agent.signal, &none, NULL);
}

void signal_abort(void)
{
        if (search_request_wanted(LEDGER_SCAN_SIGNAL)) {
                agent.head->ending = ABORT;
                /* What the hook has in hand is still held by its own frame. */
                search_request_wait(LEDGER_SCAN_SIGNAL, 0, NULL);
        }
        by_default(ABORT);
}
