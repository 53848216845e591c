/* SPDX-License-Identifier: MIT */
#include "target/relay.h"

#include "agent/arena.h"
#include "agent/stream_parts.h"
#include "book/peak.h"
#include "target/kernel.h"

#define PACKET_MOST 60000u /* fits into a message of the wire */
#define ROOM STREAM_EVENTS_SHARED
#define AHEAD_MOST (1ull << 22) /* more threads than there are cannot wait for room */
#define WAKE_EVERY 2048u
#define STUCK_MS 2000u /* an event that is not finished for so long was left by a handler that
                        * jumped */
#define LATE_MS 50u /* the same for one that may not have been meant for us */
#define CHANGES_MS 100u
#define TIME_MS 1000u /* an idle program's clock is told so often */
#define PEAK_TRIES 3
#define NAP_MOST_MS 8
#define STATUS_MS 1000u
#define SEALS_GET 1034 /* F_GET_SEALS */
#define SEAL_SHRINK 2
#define PIDFD_OPEN 434 /* SYS_pidfd_open, on every processor */
#define HANDLES_MOST (1u << 20)

static struct {
        struct relay_job job;
        char cwd[32];
        long pidfd;
        uint64_t told, next, window; /* events: sent so far, that comes next, before which what was
                                      * told may know them already */
        bool exact; /* the window is over */
        uint64_t how, status; /* its end, as it has told it itself; 0: it has not */
        uint64_t stuck_ms, told_ms, time_ms; /* time_ms: the last word about the time */
        uint32_t moments; /* that were told */
} relay;

/* ---- what packs journals wants to know (agent/stream_parts.h) ---- */

uint32_t stream_out_most(void)
{
        return PACKET_MOST;
}

bool stream_out_is_datagram(void)
{
        return false;
}

const char *stream_out_cwd(void)
{
        return relay.cwd;
}

/* Whoever reads is gone when this fails, and so are we. */
long stream_out_send(const uint8_t *bytes, uint32_t count)
{
        long sent;

        do
                sent = sys_call6(SYS_sendto, relay.job.out, (long)bytes, count, KERNEL_NOSIGNAL, 0,
                                 0);
        while (sent == -SYS_EINTR);
        if (sent != (long)count)
                kernel_exit(0);
        return sent;
}

void stream_out_wait(void)
{
        kernel_nap(1);
}

uint32_t stream_now_ms(void)
{
        return agent_now_ms();
}

bool stream_waits(uint32_t since_ms)
{
        (void)since_ms;
        return true;
}

/* ---- the ledger ---- */

static uint64_t file_bytes(long fd)
{
        long size = sys_call3(SYS_lseek, fd, 0, 2 /* SEEK_END */);

        return size > 0 ? (uint64_t)size : 0;
}

struct ledger_head *relay_head(long fd)
{
        uint64_t size = file_bytes(fd);
        long seals = sys_call3(SYS_fcntl, fd, SEALS_GET, 0);
        struct ledger_head *h;

        if (size < BOOK_STEP || sys_failed(seals) || !(seals & SEAL_SHRINK))
                return NULL;
        h = sys_map(NULL, (sizeof *h + SYS_PAGE - 1) & ~(SYS_PAGE - 1), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd);
        if (sys_failed((long)h))
                return NULL;
        if (h->magic == LEDGER_MAGIC && h->version == LEDGER_VERSION && h->file_size == size)
                return h;
        sys_unmap(h, (sizeof *h + SYS_PAGE - 1) & ~(SYS_PAGE - 1));
        return NULL;
}

void relay_forget(struct ledger_head *h)
{
        __atomic_store_n(&h->journal_read, RELAY_NOBODY, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&h->journal_wake, 1, __ATOMIC_SEQ_CST);
        kernel_wake(&h->journal_wake);
}

/* All of it, in our memory. */
static bool map_ledger(long fd)
{
        uint64_t size = file_bytes(fd);
        struct ledger_head *h = sys_map(NULL, size, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_NORESERVE, fd);

        if (sys_failed((long)h))
                return false;
        for (int i = 0; i < LEDGER_PARTS; i++)
                if (h->part[i].offset > size || h->part[i].size > size - h->part[i].offset)
                        return false;
        if (h->part[LEDGER_JOURNAL].size < ROOM * sizeof(struct ledger_event))
                return false;
        agent.head = h;
        agent.pid = h->pid;
        agent_book.head = h;
        agent_book.nodes = book_part(&agent_book, LEDGER_NODES);
        agent_book.sites = book_part(&agent_book, LEDGER_SITES);
        agent_book.slots = book_part(&agent_book, LEDGER_SLOTS);
        agent_book.counters = book_part(&agent_book, LEDGER_COUNTERS);
        agent_book.shadow = book_part(&agent_book, LEDGER_SHADOW);
        return true;
}

/* ---- what was there before ---- */

static void put(uint32_t what, const uint64_t *numbers, uint32_t count)
{
        stream_room((count + 1) * 10);
        stream_byte(what);
        for (uint32_t i = 0; i < count; i++)
                stream_number(numbers[i]);
}

/* NULL: the slot has none for SITE. */
static const struct ledger_counter *counter_of(uint32_t slot, uint32_t site)
{
        uint32_t chunk = book_slot(&agent_book, slot)->chunk[site / LEDGER_COUNTERS_PER_CHUNK];

        if (!chunk || chunk > agent.head->counter_chunk_count)
                return NULL;
        return (const struct ledger_counter *)(agent_book.counters +
                                               (chunk - 1ull) * LEDGER_COUNTER_CHUNK_BYTES) +
               site % LEDGER_COUNTERS_PER_CHUNK;
}

/* Blocks of SITE that came and went: what the counters of all slots have. */
static void tell_gone(uint32_t site)
{
        uint64_t n[] = { site, 0, 0, 0, 0 };

        for (uint32_t i = 0; i < agent.head->slot_count; i++) {
                const struct ledger_counter *c = counter_of(i, site);

                if (!c)
                        continue;
                n[1] += c->frees;
                n[2] += c->free_bytes;
                n[3] += c->lifetime_ms;
                n[4] += c->temporary;
        }
        if (n[1])
                put(JOURNAL_GONE, n, 5);
}

static void tell_sites(void)
{
        struct ledger_event all = { .type = LEDGER_EVENT_ALLOC };

        for (all.site = 1; all.site < agent.head->site_count; all.site++) {
                stream_tell_event(&all);
                tell_gone(all.site);
        }
}

static void tell_marks(void)
{
        struct ledger_event mark = { .type = LEDGER_EVENT_MARK };

        for (; mark.address < agent.head->mark_count && mark.address < LEDGER_MARKS_MAX;
             mark.address++)
                stream_tell_event(&mark);
}

static void tell_handles(void)
{
        const struct ledger_handle *h = arena_at(LEDGER_HANDLES);
        struct ledger_event e = { .type = LEDGER_EVENT_ACQUIRE };

        for (uint32_t i = 0; i < agent.head->handle_count && i < HANDLES_MOST; i++, h++) {
                e.site = h->site;
                e.address = h->handle;
                e.size = h->amount;
                e.ms = h->birth_ms;
                e.thread = (uint16_t)h->thread;
                if (e.site && e.site < agent.head->site_count && stream_tell_event(&e))
                        stream_event(&e);
        }
}

static uint64_t reserved(void)
{
        return __atomic_load_n(&agent.head->journal_reserved, __ATOMIC_SEQ_CST);
}

/* From here on each event is written for us, but for those of threads that looked just before. */
static void begin(void)
{
        struct ledger_head *h = agent.head;

        if (relay.job.again)
                __atomic_store_n(&h->journal_read, reserved(), __ATOMIC_SEQ_CST);
        relay.next = __atomic_load_n(&h->journal_read, __ATOMIC_SEQ_CST);
        relay.exact = !relay.job.again && !h->parent_start_monotonic_ns;
        stream_tell_process();
        if (!relay.exact) {
                put(JOURNAL_AGAIN, (const uint64_t[]){ 1 }, 1);
                tell_marks();
                stream_tell_held();
                tell_handles();
                relay.window = reserved();
                tell_sites();
        }
        stream_tell_changes();
        stream_close_packet();
        stream_out_send((const uint8_t *)(const char[]){ RELAY_CURRENT }, 1);
}

/* ---- what happens ---- */

static bool is_gone(void)
{
        struct kernel_poll p = { (int32_t)relay.pidfd, KERNEL_IN, 0 };

        if (__atomic_load_n(&relay.job.control->finish, __ATOMIC_ACQUIRE) ||
            __atomic_load_n(&relay.job.control->ended, __ATOMIC_ACQUIRE))
                return true;
        if (relay.pidfd >= 0)
                return kernel_poll(&p, 1, 0) == 1;
        return sys_call3(SYS_kill, relay.job.pid, 0, 0) == -SYS_ESRCH;
}

static void make_room(void)
{
        struct ledger_head *h = agent.head;

        __atomic_store_n(&h->journal_read, relay.next, __ATOMIC_RELEASE);
        if (!__atomic_load_n(&h->journal_waiting, __ATOMIC_ACQUIRE))
                return;
        __atomic_add_fetch(&h->journal_wake, 1, __ATOMIC_SEQ_CST);
        kernel_wake(&h->journal_wake);
}

/* The next event is begun and not finished: whether to go on without it. */
static bool pass_over(bool last)
{
        uint64_t now = kernel_now_ms();

        relay.stuck_ms = relay.stuck_ms ? relay.stuck_ms : now;
        if (!last && now - relay.stuck_ms < (relay.next < relay.window ? LATE_MS : STUCK_MS))
                return false;
        if (relay.next >= relay.window)
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
        relay.stuck_ms = 0;
        return true;
}

/* What SITE had at the maximum; of counters that change meanwhile, never less than nothing. */
static void tell_part(uint32_t site)
{
        uint64_t n[] = { site, 0, 0 };

        for (uint32_t i = 0; i < agent.head->slot_count; i++) {
                const struct ledger_counter *c = counter_of(i, site);

                if (c)
                        peak_of(agent.head, c, &n[1], &n[2]);
        }
        if ((int64_t)n[1] > 0 && (int64_t)n[2] > 0)
                put(JOURNAL_PART, n, 3);
}

/* The maximum so far; where another one comes up meanwhile, that one. */
static void tell_peak(void)
{
        const struct ledger_head *h = agent.head;
        uint32_t epoch;

        for (int i = 0; i < PEAK_TRIES; i++) {
                epoch = __atomic_load_n(&h->epoch, __ATOMIC_ACQUIRE);
                put(JOURNAL_PEAK,
                    (const uint64_t[]){ h->peak_bytes, h->peak_tick_ms, h->peak_error_bytes }, 3);
                for (uint32_t site = 1; site < h->site_count; site++)
                        tell_part(site);
                if (__atomic_load_n(&h->epoch, __ATOMIC_ACQUIRE) == epoch)
                        return;
        }
}

/* An idle program makes no events, and its blocks grow older. */
static void tell_time(void)
{
        struct journal_model *m = &stream_packet->model;
        uint32_t now = agent_now_ms();

        stream_room(STREAM_RECORD); /* which may begin a packet with a model of its own */
        relay.time_ms = kernel_now_ms();
        if (now <= m->ms)
                return;
        put(JOURNAL_TIME, (const uint64_t[]){ journal_zigzag((uint64_t)now - m->ms) }, 1);
        m->ms = now;
}

/* The maximum is told last: what comes behind it is in it already, or told as events. */
static void settle_window(void)
{
        if (relay.exact || relay.next < relay.window)
                return;
        relay.exact = true;
        tell_time();
        tell_peak();
        put(JOURNAL_AGAIN, (const uint64_t[]){ 0 }, 1);
}

/* LEDGER_EVENT_NONE: it is about to end, as KIND (enum journal_end) and SIZE say. */
static void tell(const struct ledger_event *e)
{
        if (e->type == LEDGER_EVENT_NONE) {
                relay.how = e->kind;
                relay.status = e->size;
                return;
        }
        relay.told++;
        stream_tell_event(e);
        stream_event(e);
}

/* All that happened before a reader stopped the process is told. */
static void tell_moment(void)
{
        uint32_t moments = __atomic_load_n(&relay.job.control->moments, __ATOMIC_ACQUIRE);
        uint8_t word[RELAY_MOMENT_BYTES] = { RELAY_MOMENT };

        if (moments == relay.moments || relay.next < relay.job.control->moment)
                return;
        relay.moments = moments;
        tell_time();
        stream_tell_changes();
        stream_close_packet();
        memcpy(word + 1, &relay.job.control->ticket, RELAY_MOMENT_BYTES - 1);
        stream_out_send(word, sizeof word);
}

/* All events that are there; whether there were any. */
static bool drain(bool last)
{
        const struct ledger_event *ring = arena_at(LEDGER_JOURNAL);
        uint64_t from = relay.next, end = reserved();

        if (end - relay.next > ROOM + AHEAD_MOST)
                kernel_exit(1);
        if (kernel_now_ms() - relay.told_ms >= CHANGES_MS || last || end - relay.next > ROOM / 4) {
                stream_tell_changes();
                relay.told_ms = kernel_now_ms();
        }
        while (settle_window(), tell_moment(), relay.next != end) {
                struct ledger_event e = ring[relay.next % ROOM];

                if (__atomic_load_n(&ring[relay.next % ROOM].stamp, __ATOMIC_ACQUIRE) ==
                    (uint32_t)(relay.next + 1)) {
                        e = ring[relay.next % ROOM];
                        tell(&e);
                        relay.stuck_ms = 0;
                } else if (!pass_over(last)) {
                        break;
                }
                if (++relay.next % WAKE_EVERY == 0)
                        make_room();
        }
        make_room();
        if (relay.next != from)
                relay.time_ms = kernel_now_ms();
        else if (kernel_now_ms() - relay.time_ms >= TIME_MS)
                tell_time();
        stream_close_packet();
        return relay.next != from;
}

/* How it ended, as far as that is known (a host that comes later learns it of our own child only);
 * our own child's status may come a little later. */
static void tell_end(void)
{
        uint64_t how = relay.how, status = relay.status, ended = 0, since = kernel_now_ms();
        uint32_t finish;

        while (relay.job.is_child && !relay.job.control->finish &&
               !(ended = __atomic_load_n(&relay.job.control->ended, __ATOMIC_ACQUIRE)) &&
               kernel_now_ms() - since < STATUS_MS)
                kernel_nap(1);
        finish = __atomic_load_n(&relay.job.control->finish, __ATOMIC_ACQUIRE);
        if (finish == JOURNAL_END_LEFT && how != JOURNAL_END_EXEC && how)
                finish = 0; /* it had said that it ends */
        if (ended) {
                status = ended - 1;
                how = status & 127 ? JOURNAL_END_SIGNAL : JOURNAL_END_EXIT;
                status = how == JOURNAL_END_SIGNAL ? status & 127 : status >> 8 & 255;
        } else if (finish || how == JOURNAL_END_EXEC) {
                /* An exec that failed, and then it was killed? */
                how = finish ? finish : JOURNAL_END_UNKNOWN;
        }
        put(JOURNAL_END,
            (const uint64_t[]){ how ? how : JOURNAL_END_UNKNOWN, status, agent_now_ms(),
                                relay.told }, 4);
        stream_close_packet();
}

static void name_cwd(uint32_t pid)
{
        char digits[12], *at = relay.cwd;
        uint32_t count = 0;

        memcpy(at, "/proc/", 6);
        at += 6;
        do
                digits[count++] = (char)('0' + pid % 10);
        while (pid /= 10);
        while (count)
                *at++ = digits[--count];
        memcpy(at, "/cwd", 5);
}

void relay_run(const struct relay_job *job)
{
        long nap_ms = 1;
        bool gone;

        relay.job = *job;
        relay.moments = job->moments;
        relay.pidfd = sys_call3(PIDFD_OPEN, job->pid, 0, 0);
        name_cwd(job->pid);
        if (!map_ledger(job->ledger) || !stream_pack_start() || !stream_tables_start())
                kernel_exit(1);
        begin();
        do {
                gone = is_gone() || relay.pidfd == -SYS_ESRCH;
                nap_ms = drain(gone) ? 1 : nap_ms < NAP_MOST_MS ? nap_ms + 1 : NAP_MOST_MS;
                if (!gone)
                        kernel_nap(nap_ms);
        } while (!gone);
        settle_window();
        tell_end();
        kernel_exit(0);
}
