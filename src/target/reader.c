/* SPDX-License-Identifier: MIT */
/*
 * reader.c -- a further connection of the host: a process is stopped or copied for it, and its
 * memory read (docs/PROTOCOL.md).
 *
 * Keeps:  in a process of its own, which holds up nobody else; when it is killed, the kernel lets
 *         go of everything.  A process is let go when the host asks for nothing for IDLE_MS, or the
 *         connection ends.
 *
 * The moment: all threads are stopped with no event half written.  How far the ring is then goes
 * into the relay's control, and the relay says so in the journal when it has come there.  A copy
 * keeps the memory of that moment while the process goes on.
 */
#include "attach/copy.h"
#include "attach/hold.h"
#include "attach/memory.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "remote/pointers.h"
#include "target/target.h"
#include "agent/stream.h"
#include "wire/hello.h"

#define IDLE_MS 60000u
#define TRIES 100u
#define TRY_NAP_MS 2
#define RANGES_MOST LEDGER_ROOTS_MAX

static struct {
        const struct source *source; /* that is held; NULL none */
        struct hold hold;
        bool held; /* stopped now */
        pid_t copy;
        struct str maps;
        struct mappings mappings;
        struct memory memory, original;
        struct str out; /* words that are to be sent */
        uint64_t begin_ns;
} reader;

/* ---- the connection ---- */

static void let_go(void)
{
        if (reader.copy)
                copy_end(reader.copy);
        if (reader.held) {
                reader.hold.wait_offset = reader.source->head->wait_offset;
                hold_release(&reader.hold);
        }
        reader.held = false;
        reader.copy = 0;
        reader.source = NULL;
}

static void serve(const struct guest *g, const struct protocol_message *welcome)
{
        struct host *h = &target.host;

        *h = (struct host){ .fd = -1 };
        host_becomes(g, welcome);
        while (h->stage && kernel_now_ms() - h->since_ms < IDLE_MS) {
                struct kernel_poll p = { (int32_t)h->fd,
                                         (int16_t)(KERNEL_IN | (h->out_used ? KERNEL_OUT : 0)), 0 };

                if (kernel_poll(&p, 1, 200) != 1)
                        continue;
                if (p.revents & (KERNEL_IN | KERNEL_BROKEN))
                        host_reads();
                if (h->stage)
                        host_writes();
        }
        let_go();
        kernel_exit(0);
}

bool reader_start(const struct guest *g, const struct protocol_message *welcome)
{
        uint32_t free = 0;

        while (free < TARGET_READERS && target.readers[free])
                free++;
        if (free == TARGET_READERS)
                return false;
        target.readers[free] = kernel_fork();
        if (target.readers[free] == 0) {
                sys_call6(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, 15, 0, 0, 0, 0);
                target.is_reader = true;
                target_forget(g);
                for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                        if (target.sources[i].used && target.sources[i].pipe >= 0)
                                sys_close(target.sources[i].pipe);
                serve(g, welcome);
        }
        if (target.readers[free] < 0) {
                target.readers[free] = 0;
                return false;
        }
        sys_close(g->fd);
        return true;
}

void reader_reap(void)
{
        int32_t unused;

        for (uint32_t i = 0; i < TARGET_READERS; i++)
                if (target.readers[i] && kernel_wait(target.readers[i], &unused, 1) != 0)
                        target.readers[i] = 0;
}

/* ---- the moment ---- */

/* Where the ring is; whether each event before that is written. */
static bool is_settled(const struct source *s, uint64_t *at)
{
        struct ledger_event e;
        const struct ledger_head *h = s->head;
        uint64_t i = __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE);

        *at = __atomic_load_n(&h->journal_reserved, __ATOMIC_ACQUIRE);
        for (; i < *at; i++) {
                uint64_t place = h->part[LEDGER_JOURNAL].offset +
                                 i % STREAM_EVENTS_SHARED * sizeof e;

                if (sys_read_at(s->ledger, &e, sizeof e, place) != (long)sizeof e ||
                    e.stamp != (uint32_t)(i + 1))
                        return false;
        }
        return true;
}

/* All threads stand still, and none is in the middle of an event, if that can be had. */
static bool stop(const struct source *s, uint64_t *at, struct err *e)
{
        for (uint32_t i = 0; i < TRIES; i++) {
                if (!hold_all(&reader.hold, (pid_t)s->pid, e))
                        return false;
                if (is_settled(s, at) || i + 1 == TRIES)
                        break;
                hold_release(&reader.hold);
                kernel_nap(TRY_NAP_MS);
        }
        reader.held = true;
        return true;
}

static void put(uint64_t value)
{
        if (reader.out.room < reader.out.length + 8) {
                reader.out.room = 2 * reader.out.room + 8192;
                reader.out.data = heap_grow(reader.out.data, reader.out.room, 1);
        }
        for (uint32_t i = 0; i < 8; i++)
                reader.out.data[reader.out.length++] = (char)(value >> 8 * i);
}

/* Its last words that are 0 are left out. */
static void put_words(const uint64_t *words, uint32_t count)
{
        while (count && !words[count - 1])
                count--;
        put(count);
        for (uint32_t i = 0; i < count; i++)
                put(words[i]);
}

static void put_thread(const struct hold_thread *h)
{
        static struct freeze_thread t;

        memset(&t, 0, sizeof t);
        t.tid = (uint32_t)h->tid;
        if (h->state == HOLD_STOPPED && !h->foreign)
                arch_describe(&t, &h->registers);
        put(t.tid);
        put(h->state == HOLD_STOPPED);
        put(t.pc);
        put(t.sp);
        put(t.base);
        put(t.tp);
        put_words(t.registers, FREEZE_REGISTERS);
        put_words(t.vectors, FREEZE_VECTORS);
}

/* A table of ranges in the ledger. */
static void put_ranges(const struct source *s, enum ledger_part part, uint32_t count)
{
        struct ledger_range r;

        count = count < RANGES_MOST ? count : RANGES_MOST;
        put(count);
        for (uint32_t i = 0; i < count; i++) {
                r = (struct ledger_range){ 0, 0 };
                sys_read_at(s->ledger, &r, sizeof r, s->head->part[part].offset + i * sizeof r);
                put(r.start);
                put(r.end);
        }
}

/* What the host must know of it: remote/held.h reads it. */
static void describe(const struct source *s)
{
        const struct ledger_head *h = s->head;
        uint32_t threads = 0;

        put(reader.copy ? 1 : 0);
        put(h->allocator);
        put(h->scan_sp);
        put(h->scan_context);
        for (uint32_t i = 0; i < reader.hold.count; i++)
                threads += reader.hold.threads[i].state == HOLD_STOPPED ||
                           reader.hold.threads[i].state == HOLD_ASKED;
        put(threads);
        for (uint32_t i = 0; i < reader.hold.count; i++)
                if (reader.hold.threads[i].state == HOLD_STOPPED ||
                    reader.hold.threads[i].state == HOLD_ASKED)
                        put_thread(&reader.hold.threads[i]);
        put_ranges(s, LEDGER_OWN, h->own_count);
        put_ranges(s, LEDGER_ROOTS, h->root_count);
        put(reader.maps.length);
}

/* Memory that a process keeps from its children is not in the copy. */
static void find_missing(void)
{
        struct mappings copied;
        struct str text = { 0 };

        procfs_text(reader.copy, reader.copy, "maps", &text);
        mappings_parse(&copied, str_get(&text));
        mappings_compare(&reader.mappings, &copied);
        mappings_free(&copied);
        str_free(&text);
}

static void take(const struct source *s, bool still)
{
        struct err e;
        pid_t witness = hold_witness(&reader.hold);

        procfs_text((pid_t)s->pid, witness, "maps", &reader.maps);
        mappings_parse(&reader.mappings, str_get(&reader.maps));
        memory_open(&reader.original, (pid_t)s->pid, witness);
        if (!still && !s->head->wipes)
                reader.copy = copy_make(&reader.hold, &reader.mappings, &e);
        if (!reader.copy)
                return;
        memory_open_copy(&reader.memory, reader.copy);
        find_missing();
}

void reader_hold(const struct protocol_request *r)
{
        const struct source *s = source_of(r->pid);
        struct err e = { 0 };
        uint64_t at = 0;

        if (reader.source || !s || s->over || !r->number) {
                host_answer(3, 0, reader.source ? "a process is held already"
                                                : "the process is not recorded, or has ended");
                return;
        }
        reader.begin_ns = sys_clock_ns(SYS_CLOCK_MONO);
        if (!stop(s, &at, &e)) {
                host_answer(3, 0, e.text);
                return;
        }
        reader.source = s;
        reader.memory = reader.original = MEMORY_CLOSED;
        take(s, r->flags & PROTOCOL_HOLD_STILL);
        describe(s);
        s->control->moment = at;
        s->control->ticket = r->number;
        __atomic_add_fetch(&s->control->moments, 1, __ATOMIC_RELEASE);
        if (reader.copy) {
                reader.hold.wait_offset = s->head->wait_offset;
                hold_release(&reader.hold);
                reader.held = false;
        }
        put(reader.copy ? sys_clock_ns(SYS_CLOCK_MONO) - reader.begin_ns : 0);
        if (host_answer(0, reader.out.length + reader.maps.length, "") &&
            host_chunks((const uint8_t *)reader.out.data, reader.out.length))
                host_chunks((const uint8_t *)reader.maps.data, reader.maps.length);
        str_free(&reader.out);
}

/* ---- memory ---- */

static const struct memory *memory_at(const struct mapping *m)
{
        return reader.copy && !(m && m->missing) ? &reader.memory : &reader.original;
}

void reader_memory(const struct protocol_request *r)
{
        static uint8_t bytes[PROTOCOL_MEMORY_MAX];
        const struct mapping *of;
        uint64_t done;

        if (!reader.source || reader.source->pid != r->pid || !r->number ||
            r->number > sizeof bytes) {
                host_answer(3, 0, "1 byte to 1 MiB of the process that is held can be read");
                return;
        }
        of = mappings_find(&reader.mappings, r->address);
        done = memory_read_in(memory_at(of), of, r->address, bytes, r->number);
        if (!(r->flags & PROTOCOL_MEMORY_PART) && done != r->number) {
                host_answer(3, 0, "the memory cannot be read there");
                return;
        }
        if (host_answer(0, done, ""))
                host_chunks(bytes, done);
}

/* ---- words that lead somewhere ---- */

static struct {
        struct pointers known;
        uint8_t ranges[POINTERS_RANGES_MOST * POINTERS_RANGE_BYTES];
        uint32_t wanted, got; /* bytes of them; WANTED 0: none are on their way */
} expected;

void reader_expect(const struct protocol_request *r)
{
        expected.known.count = expected.wanted = expected.got = 0;
        if (!r->number || r->number > POINTERS_RANGES_MOST) {
                host_answer(3, 0, "1 to 4096 ranges can be taken");
                return;
        }
        expected.wanted = r->number * POINTERS_RANGE_BYTES;
        host_answer(0, 0, "");
}

bool reader_ranges(const uint8_t *bytes, uint32_t count)
{
        if (!count || count > expected.wanted - expected.got)
                return false;
        memcpy(expected.ranges + expected.got, bytes, count);
        expected.got += count;
        if (expected.got < expected.wanted)
                return true;
        if (pointers_expect(&expected.known, expected.ranges, expected.got))
                host_answer(0, 0, "");
        else
                host_answer(3, 0, "ranges must be sorted, and apart from each other");
        expected.wanted = expected.got = 0;
        return true;
}

void reader_pointers(const struct protocol_request *r)
{
        static _Alignas(8) uint8_t memory[PROTOCOL_POINTERS_MAX];
        static uint8_t packed[PROTOCOL_POINTERS_MAX + POINTERS_HEAD];
        const struct mapping *of;
        uint64_t done;
        size_t bytes;

        if (!reader.source || reader.source->pid != r->pid || !expected.known.count ||
            !r->number || r->number > sizeof memory || r->address % sizeof(long)) {
                host_answer(3, 0, "words of 1 byte to 256 KiB of the process that is held can be "
                                  "looked at, when it is known where they are to lead");
                return;
        }
        of = mappings_find(&reader.mappings, r->address);
        done = memory_read_in(memory_at(of), of, r->address, memory, r->number);
        bytes = pointers_pack(&expected.known, memory, (uint32_t)done, sizeof(long), packed);
        if (host_answer(0, bytes, ""))
                host_chunks(packed, bytes);
}

/* ---- pages ---- */

static struct {
        uint64_t ranges[2 * PROTOCOL_USED_MAX];
        uint32_t count;
} used;

/* False: there is no room for more. */
static bool add_range(uint64_t start, uint64_t end)
{
        if (used.count && used.ranges[2 * used.count - 1] == start) {
                used.ranges[2 * used.count - 1] = end;
                return true;
        }
        if (used.count == PROTOCOL_USED_MAX)
                return false;
        used.ranges[2 * used.count] = start;
        used.ranges[2 * used.count++ + 1] = end;
        return true;
}

/* Of one mapping; how far it came. */
static uint64_t find_used(const struct mapping *m, uint64_t at, uint64_t end)
{
        const struct memory *memory = memory_at(m);

        while (at < end) {
                uint64_t start = m->shared ? memory_next_data(memory, m, at, end)
                                           : memory_next_page(memory, at, end),
                         stop = start < end ? (start | (SYS_PAGE - 1)) + 1 : end;

                stop = m->shared ? end : stop;
                if (start < end && !add_range(start, stop))
                        return start;
                at = stop;
        }
        return end;
}

void reader_used(const struct protocol_request *r)
{
        uint64_t at = r->address, end = at + (uint64_t)r->number * PROTOCOL_PAGE;

        used.count = 0;
        if (!reader.source || reader.source->pid != r->pid || end < at) {
                host_answer(3, 0, "no such process is held");
                return;
        }
        for (uint32_t i = mappings_from(&reader.mappings, at);
             i < reader.mappings.count && reader.mappings.at[i].start < end; i++) {
                const struct mapping *m = &reader.mappings.at[i];
                uint64_t from = at > m->start ? at : m->start, to = end < m->end ? end : m->end,
                         reached = find_used(m, from, to);

                if (reached < to) {
                        end = reached;
                        break;
                }
        }
        reader.out.length = 0;
        put(end);
        for (uint32_t i = 0; i < 2 * used.count; i++)
                put(used.ranges[i]);
        if (host_answer(0, reader.out.length, ""))
                host_chunks((const uint8_t *)reader.out.data, reader.out.length);
}

/* ---- on and off ---- */

/* The word of the agent that each event looks at. */
static bool turn(const struct source *s, bool on)
{
        uint64_t at = s->head->special_at;
        uint32_t word = 0;
        long mem = process_open_memory(s->pid);
        bool good = at && mem >= 0 && sys_read_at(mem, &word, sizeof word, at) == sizeof word;

        word = on ? word & ~LEDGER_SPECIAL_OFF : word | LEDGER_SPECIAL_OFF;
        good = good && sys_write_at(mem, &word, sizeof word, at) == sizeof word;
        if (mem >= 0)
                sys_close(mem);
        if (good)
                __atomic_store_n(&s->head->off, !on, __ATOMIC_RELEASE);
        return good;
}

void reader_control(const struct protocol_request *r)
{
        const struct source *s = source_of(r->pid);
        uint64_t begin = sys_clock_ns(SYS_CLOCK_MONO);
        struct err e = { 0 };
        bool good;

        if (reader.source || !s || s->over ||
            (r->flags != WIRE_CONTROL_START && r->flags != WIRE_CONTROL_STOP)) {
                host_answer(3, 0, "no process that is recorded can be changed so");
                return;
        }
        if (!hold_all(&reader.hold, (pid_t)s->pid, &e)) {
                host_answer(3, 0, e.text);
                return;
        }
        good = turn(s, r->flags == WIRE_CONTROL_START);
        reader.hold.wait_offset = s->head->wait_offset;
        hold_release(&reader.hold);
        reader.out.length = 0;
        put(sys_clock_ns(SYS_CLOCK_MONO) - begin);
        if (!good)
                host_answer(3, 0, "its memory cannot be written");
        else if (host_answer(0, reader.out.length, ""))
                host_chunks((const uint8_t *)reader.out.data, reader.out.length);
}
