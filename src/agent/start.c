/* SPDX-License-Identifier: MIT */
/*
 * start.c -- start and stop of the recording.
 *
 * Room:   inside.  The start runs at the first intercepted call, which may come before any
 *         constructor, or from ours.
 * Keeps:  no libc function is called; signals are blocked meanwhile, so nothing of the
 *         program runs in between.
 */
#include "agent/agent.h"

#include "agent/arena.h"
#include "agent/attend.h"
#include "agent/bytes.h"
#include "agent/environment.h"
#include "agent/fatal.h"
#include "agent/hello.h"
#include "agent/inject.h"
#include "agent/life.h"
#include "agent/limit.h"
#include "agent/object.h"
#include "agent/omit.h"
#include "agent/quarantine.h"
#include "agent/queue.h"
#include "agent/real.h"
#include "agent/rejoin.h"
#include "agent/ring.h"
#include "agent/rule.h"
#include "agent/sandbox.h"
#include "agent/signal.h"
#include "agent/stream.h"
#include "agent/sys.h"
#include "agent/thin.h"
#include "book/shadow.h"
#include "book/tree.h"
#include "ledger/weight.h"

#include "agent/guest.h"

#define PR_SET_PTRACER 0x59616d61
#define OPTIONS_MAX 8192
#define AUX_PAGE 6
#define AUX_SECURE 23

enum { STARTED_NOT, STARTED_ON_THE_WAY, STARTED_DONE };

static volatile uint32_t gate_at_rest;

unsigned long sys_page_bytes = ARCH_PAGE_MOST;

struct agent agent = { .gate = &gate_at_rest };
struct book agent_book;

static char session[WIRE_SESSION_MAX];
static uint32_t filters_number;
static bool invited; /* by the environment, not by the tool that we started */

/* What is known of the variable being read. */
struct start_search {
        const char *name;
        char *out;
        size_t room, matched, used;
        bool wrong, inside, found;
};

static void search_byte(struct start_search *s, char c)
{
        if (s->inside && c && s->used + 1 < s->room) {
                s->out[s->used++] = c;
        } else if (!c) {
                s->found |= s->inside;
                s->inside = s->wrong = false;
                s->matched = 0;
        } else if (!s->inside && !s->wrong) {
                s->wrong = c != s->name[s->matched++];
                s->inside = !s->wrong && !s->name[s->matched];
        }
}

/* Copy the value of the variable NAME (with its '=') from the environment the
 * program was started with. */
static bool read_session(const char *name, char *out, size_t room)
{
        struct start_search s = { .name = name, .out = out, .room = room };
        char part[1024];
        long fd = sys_open("/proc/self/environ"), got;

        if (fd < 0)
                return false;
        while (!s.found && (got = sys_read(fd, part, sizeof part)) > 0)
                for (long i = 0; i < got && !s.found; i++)
                        search_byte(&s, part[i]);
        sys_close(fd);
        return s.found;
}

/* "LENGTH:EXPRESSION:" at P: what to leave out.  Returns what follows; NULL: it is not that. */
static const char *parse_omit(const char *p)
{
        uint64_t length = bytes_hex(&p);

        if (*p++ != ':' || length > REGEX_MAX || strlen(p) <= length || p[length] != ':')
                return NULL;
        memcpy(agent.omit, p, length);
        return p + length + 1;
}

/* SEEP_SESSION: wire/hello.h has its fields. */
static bool parse_session(const char *p)
{
        static const char *const words[] = { "none:", "exec:", "all:" };
        const char *rest = NULL;
        uint64_t numbers[9];

        p = bytes_after(p, "6:");
        for (uint32_t i = 0; p && !rest && i < 3; i++) {
                rest = bytes_after(p, words[i]);
                agent.follow = i;
        }
        if (!rest)
                return false;
        for (int i = 0; i < 9; i++) {
                numbers[i] = bytes_hex(&rest);
                if (*rest++ != ':')
                        return false;
        }
        agent.flags = (uint32_t)numbers[0];
        filters_number = (uint32_t)(numbers[0] >> 32);
        agent.signal = (uint32_t)numbers[1];
        agent.limit = numbers[2];
        agent.snapshot_at = numbers[3];
        agent.observer = (uint32_t)numbers[4];
        agent.sample = numbers[5] < WEIGHT_MEAN_MAX ? numbers[5] : WEIGHT_MEAN_MAX;
        agent.quarantine = numbers[6];
        agent.fill = (uint32_t)numbers[7];
        agent.ledger_limit = numbers[8];
        agent.socket = agent.flags & WIRE_F_OMIT ? parse_omit(rest) : rest;
        return agent.socket != NULL;
}

#define STAT_STACK_START 28
#define STAT_HEAP_START 47

/* The numbers of /proc/self/stat that are wanted; fields count from 1. */
static void read_stat(void)
{
        char text[1024];
        long fd = sys_open(SYS_OWN("stat")), got, at = 0;

        if (fd < 0)
                return;
        got = sys_read(fd, text, sizeof text);
        sys_close(fd);
        for (long i = 0; i < got; i++)
                if (text[i] == ')')
                        at = i;
        for (int field = 2; at < got && field <= STAT_HEAP_START; field++) {
                uint64_t value = 0;

                for (; at < got && text[at] >= '0' && text[at] <= '9'; at++)
                        value = value * 10 + (uint64_t)(text[at] - '0');
                if (field == STAT_STACK_START)
                        agent.stack_start = value;
                else if (field == STAT_HEAP_START)
                        agent.heap_start = value;
                while (at < got && text[at] != ' ')
                        at++;
                at++;
        }
}

static void describe(struct ledger_head *head)
{
        long fd;

        head->pid = agent.pid = sys_pid();
        head->ppid = (uint32_t)sys_call3(SYS_getppid, 0, 0, 0);
        head->flags = agent.flags;
        head->emulated = agent.emulated;
        head->start_realtime_ns = sys_clock_ns(SYS_CLOCK_REAL);
        head->start_monotonic_ns = sys_clock_ns(SYS_CLOCK_MONO);
        sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)SYS_OWN("exe"), (long)head->exe,
                  sizeof head->exe - 1, 0, 0);
        fd = sys_open(SYS_OWN("cmdline"));
        if (fd >= 0) {
                long got = sys_read(fd, head->command, sizeof head->command - 1);

                head->command_bytes = got > 0 ? (uint32_t)got : 0;
                sys_close(fd);
        }
}

/* A page that is zero in every forked child; NULL: there is none. */
static uint32_t *make_gate(void)
{
        uint32_t *page = INJECTED ? own_gate() : arena_private(SYS_PAGE);

        return page && !sys_failed(sys_advise(page, SYS_PAGE, MADV_WIPEONFORK)) ? page : NULL;
}

/* What the kernel told at the start: the size of a page, and (true) that the program has
 * rights that whoever started it does not have (setuid, file capabilities).  Its
 * environment commands nothing then: neither which observer gets to see the memory, nor
 * what the tool does with these rights. */
static bool read_facts(void)
{
        struct { unsigned long kind, value; } facts[64];
        long fd = sys_open(SYS_OWN("auxv")), got = 0;
        bool raised = false;

        if (fd >= 0) {
                got = sys_read(fd, facts, sizeof facts);
                sys_close(fd);
        }
        for (long i = 0; i < got / (long)sizeof *facts; i++)
                if (facts[i].kind == AUX_PAGE)
                        sys_page_bytes = facts[i].value;
                else if (facts[i].kind == AUX_SECURE)
                        raised = facts[i].value != 0;
        return raised;
}

/* The session of an agent that was written into a process may be the words of SEEP_OPTIONS: its
 * ledger, and the ring in it, are for seep-target then. */
static bool take_journal(bool told)
{
        bool said;

        if (!stream_options(session, &said))
                return false;
        agent.stream = 1;
        agent.socket = "";
        return told || sandbox_learn("", false, 0);
}

/* Whoever wrote us into the process had the right to do so. */
static bool take_session(void)
{
        size_t length = strlen(own_session());
        bool told = own_filter_count() && own_filters();

        read_facts();
        if (length >= sizeof session || (own_filter_count() && !told))
                return false;
        memcpy(session, own_session(), length + 1);
        if (bytes_after(session, "--journal="))
                return take_journal(told);
        return environment_remember(session) && parse_session(session) &&
               (told ||
                sandbox_learn(agent.socket, agent.flags & WIRE_F_FILTERS, filters_number));
}

/* SEEP_OPTIONS names a journal: no tool is needed.  SAID: it does, but something is wrong. */
static bool find_journal(bool *said)
{
        static char options[OPTIONS_MAX];

        if (!read_session("SEEP_OPTIONS=", options, sizeof options) || !sandbox_is_common() ||
            !stream_options(options, said))
                return false;
        agent.stream = 1;
        agent.socket = "";
        return sandbox_learn("", false, 0);
}

static bool find_session(uint64_t mask)
{
        bool said = false, named = read_session(WIRE_SESSION_ENV "=", session, sizeof session);

        if (read_facts())
                return false;
        if (!named && (find_journal(&said) || said))
                return !said;
        if (!named && (!sandbox_is_common() || !attend_start(session, sizeof session, mask)))
                return false;
        if (!parse_session(session))
                return false;
        invited = named;
        return sandbox_learn(agent.socket, agent.flags & WIRE_F_FILTERS, filters_number);
}

/* qemu-user says at /proc/self/exe what the program is, and does not know the other name for that,
 * where the kernel says what qemu is. */
static bool is_emulated(void)
{
        char told[256] = { 0 }, seen[256] = { 0 };

        if (!ARCH_EMULATION)
                return false;
        sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)"/proc/self/exe", (long)told, sizeof told, 0,
                  0);
        sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)"/proc/thread-self/exe", (long)seen,
                  sizeof seen, 0, 0);
        return memcmp(told, seen, sizeof told) != 0;
}

static bool start_tables(void)
{
        return arena_commit(LEDGER_STRINGS, 1) &&
               arena_commit(LEDGER_THREADS, sizeof(struct ledger_thread)) &&
               shadow_start(&agent_book) && omit_start() && tree_start(&agent_book) &&
               rule_start() && queue_start() && thread_start() && ring_start() && object_start();
}

static bool start_recording(uint64_t mask)
{
        uint32_t *gate = NULL;
        bool good;
        long fd;

        if (INJECTED ? !take_session() : !find_session(mask))
                return false;
        if (!INJECTED && agent.follow == FOLLOW_NONE && !(agent.flags & WIRE_F_ATTENDED) &&
            !hello_is_main(agent.socket))
                return false;
        agent.emulated = is_emulated();
        fd = arena_create();
        if (fd < 0)
                return false;
        if (real_has_own_operators())
                agent.flags |= WIRE_F_NO_CXX;
        describe(agent.head);
        read_stat();
        real_find_loader();
        agent.glibc = real_is_glibc();
        /* The smallest block of glibc. */
        agent_book.spread = !agent.glibc || 4 * sizeof(arch_word) < LEDGER_SHADOW_GRANULE;
        agent.head->own_malloc = real_is_bypassed();
        agent.head->allocator = (uintptr_t)real.malloc_;
        if (!INJECTED)
                agent.head->wait_offset = (int64_t)((uintptr_t)&signal_wait -
                                                    arch_thread_pointer());
        agent.head->one_way = own_one_way();
        agent.head->attached = INJECTED && !own_is_fresh();
        agent.head->off = agent.flags & WIRE_F_START_OFF ? 1 : 0;
        agent.head->sample_bytes = agent.sample;
        agent.special = (agent.head->off ? SPECIAL_OFF : 0) | (agent.sample ? SPECIAL_SAMPLE : 0) |
                        (agent.fill ? SPECIAL_FILL : 0) |
                        (quarantine_start() ? SPECIAL_QUARANTINE : 0) |
                        (agent.omit[0] ? SPECIAL_OMIT : 0);
        agent.head->special_at = (uintptr_t)&agent.special;
        thin_start();
        good = start_tables() && (gate = make_gate()) &&
               (INJECTED       ? inject_hand_over(fd)
                : agent.stream ? stream_start(fd)
                               : hello_send(agent.socket, fd, WIRE_HELLO_START));
        if (!INJECTED || !good)
                sys_close(fd);
        agent.head->omit = good && agent.omit[0] ? book_string(&agent_book, agent.omit) : 0;
        agent.head->own_module = good ? object_module(object_find((uintptr_t)agent_wake)) + 1 : 0;
        if (!good)
                return false;
        agent.gate = gate;
        *gate = GATE_ON;
        limit_start();
        if (!INJECTED) {
                signal_start();
                fatal_start();
                agent_let_in();
        }
        sandbox_watch(&agent.head->filters);
        if (!agent.stream && !(agent.flags & WIRE_F_ATTENDED))
                rejoin_start(session);
        return true;
}

uint32_t sys_pid_known(void)
{
        return agent.pid;
}

static bool wake_first(void)
{
        uint32_t not_yet = STARTED_NOT;
        uint64_t old;

        if (!__atomic_compare_exchange_n(&agent.started, &not_yet, STARTED_ON_THE_WAY, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                while (__atomic_load_n(&agent.started, __ATOMIC_ACQUIRE) != STARTED_DONE)
                        sys_yield();
                return *agent.gate == GATE_ON;
        }
        sandbox_begin();
        old = sys_block_signals(~0ull);
        real_find();
        if (!start_recording(old)) {
                gate_at_rest = GATE_OFF;
                if (agent.flags & WIRE_F_ATTENDED)
                        attend_failed();
        }
        __atomic_store_n(&agent.started, STARTED_DONE, __ATOMIC_RELEASE);
        sys_restore_signals(old);
        return *agent.gate == GATE_ON;
}

bool agent_wake(void)
{
        if (*agent.gate == GATE_OFF)
                return false;
        if (__atomic_load_n(&agent.started, __ATOMIC_ACQUIRE) != STARTED_DONE)
                return wake_first();
        return life_child(-1);
}

/* Where only ancestors may look at a process (Yama): the observer and its children may, too. */
void agent_let_in(void)
{
        if (agent.flags & WIRE_F_LEAK_SCAN)
                sys_call3(SYS_prctl, PR_SET_PTRACER, agent.observer, 0);
}

void agent_stop(enum ledger_stop reason)
{
        uint32_t none = LEDGER_STOP_NOT;

        if (sandbox_refused_memory())
                reason = LEDGER_STOP_SANDBOX;
        __atomic_compare_exchange_n(&agent.head->stop_reason, &none, reason, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        *agent.gate = GATE_OFF;
}

void agent_reassign(const char *told)
{
        uint32_t flags = agent.flags; /* some of which were found out */

        memcpy(session, told, strlen(told) + 1);
        parse_session(session);
        agent.flags = flags;
        environment_remember(session);
        if (!INJECTED)
                agent_let_in();
}

void agent_wipe(void)
{
        if (*agent.gate == GATE_ON)
                *agent.gate = GATE_ASLEEP;
}

/* glibc tells constructors what it will tell main(); in musl the environment is
 * where the program finds it. */
static void begin(char **env)
{
        agent_on();
        /* Its handlers come before our hook of fork() goes on, and so do the program's; in musl the
         * same function would allocate as if the program did. */
        if (agent.emulated && real.register_atfork)
                real.register_atfork(NULL, NULL, agent_wipe, NULL);
        if (!real.gnu_get_libc_version)
                env = environment_now();
        if (invited && env)
                environment_hide(env, session);
}

ARCH_CONSTRUCTOR(begin)
