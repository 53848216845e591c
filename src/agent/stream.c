/* SPDX-License-Identifier: MIT */
#include "agent/stream.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/hello.h"
#include "agent/stream_parts.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define CLOCK_COARSE 6 /* to some milliseconds, and cheap */
#define PATIENCE_MS 10000u /* nobody takes anything for so long: nobody will */
#define PATIENCE_SHORT_MS 2000u /* ... at the end, with --overflow=drop */
#define STUCK_MS 50u
#define LOCK_TRIES 5000u /* of 20 ms at most in all, the other one has patience too */
#define WORD_MAX 4096u
#define STEP_NS 50000000l

static struct {
        uint32_t lock; /* whoever writes out */
        uint32_t flushed_ms;
        uint32_t refused_ms; /* 1 + when nothing more could be sent; 0: all could */
        bool drop;    /* --overflow=drop */
        bool patient; /* packets that cannot be sent at once are waited for */
        uint64_t stuck; /* 1 + an event that was begun and not written, ... */
        uint32_t stuck_ms; /* ... since */
} stream;

/* ---- options ---- */

static void say(const char *text)
{
        sys_call3(SYS_write, 2, (long)text, (long)strlen(text));
}

/* One word.  False: it is not known. */
static bool take_word(const char *word, bool *journal)
{
        static const struct {
                const char *word;
                uint32_t flag;
        } flags[] = { { "--no-mmap", WIRE_F_NO_MMAP }, { "--no-cxx", WIRE_F_NO_CXX },
                      { "--free-stacks", WIRE_F_FREE_STACKS },
                      { "--start-off", WIRE_F_START_OFF },
                      { "--leak-scan", WIRE_F_LEAK_SCAN } };
        const char *value = bytes_after(word, "--journal="),
                   *over = bytes_after(word, "--overflow="),
                   *follow = bytes_after(word, "--follow=");

        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
                if (bytes_same_text(word, flags[i].word)) {
                        agent.flags |= flags[i].flag;
                        return true;
                }
        if (value) {
                *journal = true;
                return stream_out_name(value);
        }
        if (over) {
                stream.drop = bytes_same_text(over, "drop");
                return stream.drop || bytes_same_text(over, "block");
        }
        agent.follow = follow && bytes_same_text(follow, "all") ? FOLLOW_ALL : agent.follow;
        return follow && (bytes_same_text(follow, "all") || bytes_same_text(follow, "exec"));
}

static const char *next_word(const char *at, char *word)
{
        size_t length = 0;

        while (*at == ' ' || *at == '\t')
                at++;
        for (; *at && *at != ' ' && *at != '\t' && length + 1 < WORD_MAX; at++)
                word[length++] = *at;
        word[length] = 0;
        return at;
}

bool stream_options(const char *options, bool *said)
{
        static char word[WORD_MAX], wrong[WORD_MAX];
        bool journal = false;

        agent.follow = FOLLOW_EXEC;
        for (const char *at = next_word(options, word); *word; at = next_word(at, word))
                if (!take_word(word, &journal) && !*wrong)
                        memcpy(wrong, word, strlen(word) + 1);
        *said = journal && *wrong;
        if (*said) {
                say("seep: SEEP_OPTIONS: ");
                say(wrong);
                say(": with --journal=FILE|tcp:ADDRESS:PORT|udp:ADDRESS:PORT (numbers, or "
                    "localhost) only --overflow=block|drop, --follow=exec|all, --free-stacks, "
                    "--no-mmap, "
                    "--no-cxx and --start-off are understood; nothing is recorded\n");
        }
        if (!stream_out_target())
                agent.flags &= ~WIRE_F_LEAK_SCAN; /* there is nobody to search */
        if (!journal)
                agent.flags = agent.follow = 0;
        return journal && !*said;
}

/* ---- the clock ---- */

static uint32_t now_ms(void)
{
        uint64_t now = sys_clock_ns(CLOCK_COARSE), start = agent.head->start_monotonic_ns;
        uint32_t ms = now > start ? (uint32_t)((now - start) / 1000000u) : 0;
        uint32_t tick = agent_now_ms();

        /* Marks may have set it ahead. */
        if (ms > tick)
                __atomic_store_n(&agent.head->tick_ms, ms, __ATOMIC_RELAXED);
        return ms > tick ? ms : tick;
}

/* ---- writing out ---- */

static bool lock(void)
{
        return !__atomic_exchange_n(&stream.lock, 1, __ATOMIC_ACQUIRE);
}

static void unlock(void)
{
        __atomic_store_n(&stream.lock, 0, __ATOMIC_RELEASE);
}

bool stream_is_shared(void)
{
        return agent.stream && stream_out_target();
}

uint32_t stream_events(void)
{
        return stream_out_target() ? STREAM_EVENTS_SHARED : STREAM_EVENTS;
}

/* Negative: nobody wants any now (target/relay.h). */
static int64_t waiting(void)
{
        const struct ledger_head *h = agent.head;

        return (int64_t)(__atomic_load_n(&h->journal_reserved, __ATOMIC_ACQUIRE) -
                         __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE));
}

/* Event INDEX was begun and is not written yet: its thread is on the way, or was taken out of it
 * for good by a signal handler that jumped.  Whether to go on without it. */
static bool pass_over(uint64_t index, bool last)
{
        uint32_t now = now_ms();

        if (stream.stuck != index + 1) {
                stream.stuck = index + 1;
                stream.stuck_ms = now;
        }
        if (!last && (now - stream.stuck_ms < STUCK_MS || waiting() < (int64_t)STREAM_FLUSH))
                return false;
        __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
        return true;
}

/* All events that are there; LAST: there will be no more.  With the lock. */
static void drain(bool last)
{
        struct ledger_head *h = agent.head;
        const struct ledger_event *ring = arena_at(LEDGER_JOURNAL);
        uint64_t index = h->journal_read;

        if (!stream_tell_changes())
                return;
        while (index != __atomic_load_n(&h->journal_reserved, __ATOMIC_ACQUIRE)) {
                const struct ledger_event *e = &ring[index % STREAM_EVENTS];

                if (__atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE) == (uint32_t)(index + 1)) {
                        struct ledger_event copy = *e;

                        if (!stream_tell_event(&copy) || !stream_event(&copy))
                                return;
                } else if (!pass_over(index, last)) {
                        break;
                }
                __atomic_store_n(&h->journal_read, ++index, __ATOMIC_RELEASE);
        }
        stream.refused_ms = stream_close_packet() ? 0 : stream.refused_ms;
}

static void flush(void)
{
        uint64_t mask;

        if (!lock())
                return;
        mask = sys_block_signals(~0ull);
        stream.flushed_ms = now_ms();
        stream.refused_ms = stream.flushed_ms + 1; /* until it turns out that it is not so */
        drain(false);
        unlock();
        sys_restore_signals(mask);
}

void stream_tick(void)
{
        uint32_t now;

        if (stream_out_target())
                return; /* whose clock it is, too */
        now = now_ms();
        if (unlikely(waiting() >= (int64_t)STREAM_FLUSH ||
                     now - stream.flushed_ms >= STREAM_FLUSH_MS) &&
            now + 1 != stream.refused_ms)
                flush();
}

/* Until the target has read something, or a moment. */
static void wait_for_target(void)
{
        struct ledger_head *h = agent.head;
        uint32_t wake = __atomic_load_n(&h->journal_wake, __ATOMIC_ACQUIRE);
        long step[2] = { 0, STEP_NS };

        __atomic_add_fetch(&h->journal_waiting, 1, __ATOMIC_ACQ_REL);
        sys_call6(SYS_futex, (long)&h->journal_wake, SYS_FUTEX_WAIT, (long)wake, (long)step, 0, 0);
        __atomic_sub_fetch(&h->journal_waiting, 1, __ATOMIC_ACQ_REL);
}

bool stream_has_room(void)
{
        const int64_t full = stream_events() - STREAM_SLACK;
        uint32_t since, now;

        if (likely(waiting() < full))
                return true;
        for (since = now = now_ms(); !stream.drop && *agent.gate == GATE_ON; now = now_ms()) {
                if (!stream_out_target())
                        flush();
                if (waiting() < full)
                        return true;
                if (now - since >= PATIENCE_MS)
                        agent_stop(LEDGER_STOP_BY_USER);
                if (stream_out_target())
                        wait_for_target();
                else
                        stream_out_wait();
        }
        __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
        return false;
}

/* ---- from beginning to end ---- */

/* The target gets the ledger, and does the rest. */
static bool share(long ledger, uint32_t reason)
{
        bool good = hello_send(stream_out_target(), ledger, reason);

        if (!good && reason == WIRE_HELLO_START)
                say("seep: the seep-target that this program was started by is gone; nothing is "
                    "recorded\n");
        return good;
}

bool stream_start(long ledger)
{
        if (stream_out_target())
                return share(ledger, WIRE_HELLO_START);
        if (!stream_out_open(true) || !stream_pack_start() || !stream_tables_start())
                return false;
        stream.patient = true;
        stream_tell_process();
        stream_close_packet();
        stream.patient = false;
        return true;
}

bool stream_waits(uint32_t since_ms)
{
        return stream.patient &&
               now_ms() - since_ms < (stream.drop ? PATIENCE_SHORT_MS : PATIENCE_MS);
}

uint32_t stream_now_ms(void)
{
        return now_ms();
}

bool stream_forked(long ledger)
{
        stream.lock = 0;
        if (stream_out_target())
                return arena_commit(LEDGER_JOURNAL,
                                    STREAM_EVENTS_SHARED * sizeof(struct ledger_event)) &&
                       share(ledger, WIRE_HELLO_FORK);
        stream_out_close();
        stream_tables_forked();
        if (!stream_out_open(false) || !stream_pack_start() ||
            !arena_commit(LEDGER_JOURNAL, STREAM_EVENTS * sizeof(struct ledger_event)))
                return false;
        stream.patient = true;
        stream_tell_process();
        stream_tell_held();
        stream_close_packet();
        stream.patient = false;
        return true;
}

/* What datagrams told may have been lost on the way: once more. */
static void tell_again(void)
{
        struct ledger_event all = { .type = LEDGER_EVENT_ALLOC };

        stream_tables_forked();
        stream_tell_process();
        stream_tell_changes();
        for (all.site = 1; all.site < agent.head->site_count; all.site++)
                stream_tell_event(&all);
}

static void put_end(uint32_t how, uint32_t status)
{
        if (!stream_room(STREAM_RECORD))
                return;
        stream_byte(JOURNAL_END);
        stream_number(how);
        stream_number(status);
        stream_number(now_ms());
        stream_number(agent.head->journal_reserved);
        stream_close_packet();
}

/* The target reads that it is about to end from the ring, too. */
static void put_shared_end(uint32_t how, uint32_t status)
{
        struct ledger_head *h = agent.head;
        struct ledger_event *e;
        uint64_t index;

        if (!stream_has_room())
                return;
        index = __atomic_fetch_add(&h->journal_reserved, 1, __ATOMIC_ACQ_REL);
        if (index - __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE) >= stream_events())
                return; /* nobody wants it */
        e = (struct ledger_event *)arena_at(LEDGER_JOURNAL) + index % stream_events();
        *e = (struct ledger_event){ .type = LEDGER_EVENT_NONE, .kind = (uint8_t)how,
                                    .size = status };
        __atomic_store_n(&e->stamp, (uint32_t)(index + 1), __ATOMIC_RELEASE);
}

void stream_end(uint32_t how, uint32_t status)
{
        uint64_t mask;
        bool mine = false;

        if (!agent.stream || *agent.gate != GATE_ON || sys_pid() != agent.pid)
                return;
        if (stream_out_target()) {
                put_shared_end(how, status);
                return;
        }
        mask = sys_block_signals(~0ull);
        for (uint32_t i = 0; i < LOCK_TRIES && !(mine = lock()); i++)
                sys_yield();
        if (mine) {
                stream.patient = true;
                drain(true);
                if (stream_out_is_datagram())
                        tell_again();
                put_end(how, status);
                stream.patient = false;
                unlock();
        }
        sys_restore_signals(mask);
}
