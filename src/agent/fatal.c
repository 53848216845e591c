/* SPDX-License-Identifier: MIT */
/*
 * fatal.c -- signals that end the program: what it lost is searched for before they do.
 *
 * Room:   inside; the handler runs in whatever thread the kernel chose, with all signals blocked
 *         but those of the second order to end.
 */
#include "agent/fatal.h"

#include "agent/action.h"
#include "agent/agent.h"
#include "agent/apart.h"
#include "agent/arena.h"
#include "agent/attend.h"
#include "agent/bytes.h"
#include "agent/object.h"
#include "agent/real.h"
#include "agent/search_request.h"
#include "agent/stream.h"
#include "agent/sys.h"
#include "wire/journal.h"

#include "agent/guest.h"

enum { HANG_UP = 1, INTERRUPT, QUIT, ILLEGAL, ABORT = 6, BUS, FLOAT, SEGMENT = 11, PIPE = 13, ALARM,
       TERMINATE };

/* By which people and other programs tell a program to end. */
#define ORDERS \
        (ACTION_BIT(HANG_UP) | ACTION_BIT(INTERRUPT) | ACTION_BIT(QUIT) | ACTION_BIT(TERMINATE))
#define FATAL                                                                                     \
        (ORDERS | ACTION_BIT(ILLEGAL) | ACTION_BIT(ABORT) | ACTION_BIT(BUS) | ACTION_BIT(FLOAT) | \
         ACTION_BIT(SEGMENT) |                                                                    \
         ACTION_BIT(PIPE) | ACTION_BIT(ALARM))
#define FATAL_MAX TERMINATE

#define SAME_ORDER_NS 500000000ull /* whoever sends an order to a process and to its group means it
                                    * once */
#define STACK_OFF 2                /* SS_DISABLE */
#define STACK_BYTES 65536u

static bool on;                /* the program's dispositions are not quite what it sees */
static uint64_t taken;         /* signals that are ours while they are at their default */
static uint64_t stripped;      /* handlers of the program that want SA_ONSTACK and were installed
                                * without */
static bool program_has_stack; /* it has set a stack for signals, in whatever thread */
static uint32_t dying;         /* thread that waits for the last search */
static uint64_t dying_since_ns;

/* What the program has set for signals at their default: flags and a mask that nobody
 * ever needs, but may ask for. */
static uint8_t defaults[FATAL_MAX + 1][ARCH_ACTION_BYTES];

/* What it has set for those whose handlers are to be called once. */
static uint8_t once_set[FATAL_MAX + 1][ARCH_ACTION_BYTES];
static uint64_t once; /* that were not called yet */

/* ---- the end ---- */

/* When this handler returns, the signal is delivered where it first was. */
static void end_by_default(int number, void *information, void *context)
{
        struct action none = { ACTION_DEFAULT, 0, NULL, 0 };
        long pid = sys_pid(), tid = sys_tid();

        action_set((uint32_t)number, &none, NULL);
        arch_sig_unblock(context, ACTION_BIT(number));
        if (sys_failed(sys_call6(SYS_rt_tgsigqueueinfo, pid, tid, number, (long)information, 0, 0)))
                sys_call3(SYS_tgkill, pid, tid, number);
}

static void arrived(int number, void *information, void *context);

/* Orders that may come a second time: they end the program at once. */
static uint64_t orders_open(int number, const void *context)
{
        uint64_t open = ACTION_BIT(number) & ORDERS;

        for (uint64_t left = ORDERS & taken & ~arch_sig_mask(context); left; left &= left - 1) {
                uint32_t other = (uint32_t)__builtin_ctzll(left) + 1;

                if (action_of(other).handler == (uintptr_t)arrived)
                        open |= ACTION_BIT(other);
        }
        return open;
}

static void search(int number, void *context)
{
        uint64_t blocked;

        __atomic_store_n(&dying_since_ns, sys_clock_ns(SYS_CLOCK_MONO), __ATOMIC_RELEASE);
        blocked = sys_block_signals(~orders_open(number, context));
        apart_settle();
        if (search_request_wanted(LEDGER_SCAN_SIGNAL)) {
                agent.head->ending = (uint32_t)number;
                if (!search_request_is_last())
                        search_request_wait(LEDGER_SCAN_SIGNAL,
                                            (uintptr_t)__builtin_frame_address(0), context);
        }
        attend_exit();
        stream_end(JOURNAL_END_SIGNAL, (uint32_t)number);
        sys_restore_signals(blocked);
}

/* Another thread has been told so first, and ends us both when its search is done. */
static void wait_for_the_end(void)
{
        long nap[2] = { 1, 0 };

        for (;;)
                sys_call3(SYS_nanosleep, (long)nap, 0, 0);
}

static bool is_told_again(int number)
{
        uint64_t since = __atomic_load_n(&dying_since_ns, __ATOMIC_ACQUIRE);

        return (ACTION_BIT(number) & ORDERS) && since &&
               sys_clock_ns(SYS_CLOCK_MONO) - since > SAME_ORDER_NS;
}

static void arrived(int number, void *information, void *context)
{
        uint32_t first = 0, tid = sys_tid();

        if (sys_pid() == agent.pid && !agent.sandboxed) { /* no child that is not recorded */
                if (__atomic_compare_exchange_n(&dying, &first, tid, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_ACQUIRE))
                        search(number, context);
                else if (!is_told_again(number) && first == tid)
                        return; /* to the search */
                else if (!is_told_again(number))
                        wait_for_the_end();
        }
        end_by_default(number, information, context);
}

/* ---- taking and giving back ---- */

static void install(uint32_t number)
{
        struct action ours = { (uintptr_t)arrived,
                               ACTION_SIGINFO | ACTION_RESTORER | ACTION_ON_STACK | ACTION_NO_DEFER,
                               signal_return, ~0ull };

        action_set(number, &ours, NULL);
}

typedef void handler_function(int number, void *information, void *context);

static void before_once(int number, void *information, void *context);

/* The kernel would have set the signal to its default before the handler.  A second thread that
 * comes here finds that.  A child of vfork has dispositions of its own; and another thread may just
 * have set a new one.  Its locals must not be in the frame that jumps. */
static __attribute__((noinline)) handler_function *take_once(int number)
{
        struct action none = { ACTION_DEFAULT, 0, NULL, 0 };
        handler_function *handler = *(handler_function **)once_set[number];
        bool in_place = action_of((uint32_t)number).handler == (uintptr_t)before_once;

        if (sys_pid() != agent.pid) {
                action_set((uint32_t)number, &none, NULL);
                return handler;
        }
        if (!(__atomic_fetch_and(&once, ~ACTION_BIT(number), __ATOMIC_ACQ_REL) &
              ACTION_BIT(number)))
                return in_place ? arrived : handler;
        if (in_place) {
                memcpy(defaults[number], once_set[number], ARCH_ACTION_BYTES);
                memset(defaults[number], 0, sizeof(void *));
                install((uint32_t)number);
        }
        return handler;
}

/* This ends in a jump: the handler returns to where it would return to without us. */
static void before_once(int number, void *information, void *context)
{
        take_once(number)(number, information, context);
}

static int *flags_of(void *libc_action)
{
        return (int *)((uint8_t *)libc_action + ARCH_ACTION_FLAGS_AT);
}

/* The program has set a handler that is to be called once: so that the signal is ours
 * afterwards, we come first. */
static void note_once(int number, bool without_stack)
{
        struct action a = action_of((uint32_t)number);

        if (!(a.flags & ACTION_ONCE) || a.handler == (uintptr_t)before_once ||
            REAL(sigaction_)(number, NULL, once_set[number]) != 0)
                return;
        if (without_stack)
                *flags_of(once_set[number]) |= (int)ACTION_ON_STACK;
        a.handler = (uintptr_t)before_once;
        a.flags = (a.flags & ~ACTION_ONCE) | ACTION_SIGINFO;
        __atomic_or_fetch(&once, ACTION_BIT(number), __ATOMIC_ACQ_REL);
        action_set((uint32_t)number, &a, NULL);
}

/* As the program set it. */
static void give_once_back(uint32_t number)
{
        REAL(sigaction_)((int)number, once_set[number], NULL);
        __atomic_and_fetch(&once, ~ACTION_BIT(number), __ATOMIC_ACQ_REL);
}

/* The first process of a container is not ended by signals that it leaves at their default. */
void fatal_start(void)
{
        if (!(agent.flags & WIRE_F_LEAK_SCAN || agent.stream) || agent.sample || agent.sandboxed ||
            agent.pid == 1 || agent.emulated)
                return;
        on = true;
        taken = FATAL & (agent.signal ? ~ACTION_BIT(agent.signal) : ~0ull);
        for (uint64_t left = taken; left; left &= left - 1) {
                uint32_t number = (uint32_t)__builtin_ctzll(left) + 1;

                if (action_of(number).handler == ACTION_DEFAULT)
                        install(number);
        }
}

void fatal_withdraw(void)
{
        struct action none = { ACTION_DEFAULT, 0, NULL, 0 };

        for (uint64_t left = taken; left; left &= left - 1) {
                uint32_t number = (uint32_t)__builtin_ctzll(left) + 1;

                if (action_of(number).handler == (uintptr_t)arrived)
                        action_set(number, &none, NULL);
                if (action_of(number).handler == (uintptr_t)before_once)
                        give_once_back(number);
        }
        taken = 0;
}

void fatal_adopted(void)
{
        dying = 0;
        dying_since_ns = 0;
}

/* ---- stacks ---- */

static struct thread *thread_of_its_own(void)
{
        struct thread *t = thread_self;

        while (t && t->owner)
                t = t->owner;
        return t;
}

static void set_stack(uint64_t base, int32_t flags, uint64_t size)
{
        struct fatal_stack s = { (arch_word)base, flags, (arch_word)size };

        sys_call3(SYS_sigaltstack, (long)&s, 0, 0);
}

void fatal_thread(struct thread *t)
{
        struct fatal_stack now = { 0, 0, 0 };

        if (!taken || program_has_stack ||
            sys_failed(sys_call3(SYS_sigaltstack, 0, (long)&now, 0)) || !(now.flags & STACK_OFF))
                return;
        if (!t->signal_stack)
                t->signal_stack = arena_private(STACK_BYTES);
        if (t->signal_stack)
                set_stack((uintptr_t)t->signal_stack, 0, STACK_BYTES);
}

static void give_flags_back(void)
{
        uint64_t left = __atomic_exchange_n(&stripped, 0, __ATOMIC_ACQ_REL);

        for (; left; left &= left - 1) {
                uint32_t number = (uint32_t)__builtin_ctzll(left) + 1;
                struct action a = action_of(number);

                a.flags |= ACTION_ON_STACK;
                if (a.handler > ACTION_IGNORED)
                        action_set(number, &a, NULL);
        }
}

void fatal_stack_changed(const struct fatal_stack *wanted, struct fatal_stack *old)
{
        const struct thread *t = thread_of_its_own();
        uint64_t own = t ? (uintptr_t)t->signal_stack : 0;

        if (old && own && old->base == own)
                *old = (struct fatal_stack){ 0, STACK_OFF, 0 };
        if (!wanted || sys_pid() != agent.pid)
                return;
        if (!(wanted->flags & STACK_OFF)) {
                program_has_stack = true;
                give_flags_back();
        } else if (own && taken && !program_has_stack) {
                set_stack(own, 0, STACK_BYTES);
        }
}

void fatal_forked(void)
{
        const struct thread *t = thread_of_its_own();
        struct fatal_stack now = { 0, 0, 0 };

        if (!on)
                return;
        fatal_withdraw();
        if (t && t->signal_stack && !sys_failed(sys_call3(SYS_sigaltstack, 0, (long)&now, 0)) &&
            now.base == (uintptr_t)t->signal_stack)
                set_stack(0, STACK_OFF, 0);
        give_flags_back();
        on = false;
}

/* ---- what the program sees and does ---- */

bool fatal_on(void)
{
        return on;
}

bool fatal_is_ours(const void *handler)
{
        return handler == (const void *)arrived;
}

bool fatal_is_once(const void *handler)
{
        return handler == (const void *)before_once;
}

const void *fatal_once(int number)
{
        return once_set[number];
}

bool fatal_is_stripped(int number)
{
        return __atomic_load_n(&stripped, __ATOMIC_ACQUIRE) & ACTION_BIT(number);
}

/* Go's runtime sets its stacks by system calls of its own, and takes ours for one that the thread
 * came with: its handlers must run there. */
static bool is_of_go(const void *handler)
{
        const struct object *o = object_open(object_find((uintptr_t)handler));

        return o && o->is_go;
}

bool fatal_strips(const void *handler)
{
        const struct thread *t = thread_of_its_own();
        struct fatal_stack now = { 0, STACK_OFF, 0 };

        if (program_has_stack || sys_pid() != agent.pid)
                return !program_has_stack;
        sys_call3(SYS_sigaltstack, 0, (long)&now, 0);
        program_has_stack = is_of_go(handler) ||
                            (!(now.flags & STACK_OFF) &&
                             now.base != (t ? (uintptr_t)t->signal_stack : 0));
        return !program_has_stack;
}

void fatal_describe(int number, void *libc_action)
{
        memcpy(libc_action, defaults[number], ARCH_ACTION_BYTES);
}

void fatal_changed(int number, const void *handler, bool without_stack)
{
        bool at_default = handler == (const void *)ACTION_DEFAULT;

        if (sys_pid() != agent.pid) /* a child of vfork: its own dispositions, but our memory */
                return;
        if (without_stack)
                __atomic_or_fetch(&stripped, ACTION_BIT(number), __ATOMIC_ACQ_REL);
        else
                __atomic_and_fetch(&stripped, ~ACTION_BIT(number), __ATOMIC_ACQ_REL);
        if (!(taken & ACTION_BIT(number)))
                return;
        if (at_default) {
                REAL(sigaction_)(number, NULL, defaults[number]);
                install((uint32_t)number);
        } else if ((uintptr_t)handler > ACTION_IGNORED) {
                note_once(number, without_stack);
        }
}
