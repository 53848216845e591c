/* SPDX-License-Identifier: MIT */
#include "journal/parts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "collect/collect.h"
#include "collect/reset.h"
#include "profile/mapped.h"
#include "profile/unseen.h"

#define LEDGER_SHIFT 3u

/* ---- heads ---- */

bool incoming_head(const uint8_t *from, struct incoming_head *out, struct err *e)
{
        *out = (struct incoming_head){
                .bytes = journal_load(from + JOURNAL_AT_BYTES),
                .number = journal_load(from + JOURNAL_AT_NUMBER),
                .sum = journal_load(from + JOURNAL_AT_SUM),
                .pid = journal_load(from + JOURNAL_AT_PID),
                .stream = journal_load(from + JOURNAL_AT_STREAM),
                .version = from[JOURNAL_AT_VERSION],
                .word_bytes = from[JOURNAL_AT_WORD],
                .byte_order = from[JOURNAL_AT_ORDER],
                .flags = from[JOURNAL_AT_FLAGS],
        };
        if (memcmp(from, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES) != 0)
                return err_set(e, ERR_EXIT_BAD_FILE, "it is no journal of seep");
        if (out->version != JOURNAL_VERSION)
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "it is a journal of version %u, and this seep reads version %u: "
                               "take libseep.so and seep of one release",
                               out->version, JOURNAL_VERSION);
        return out->bytes <= JOURNAL_BODY_MAX ||
               err_set(e, ERR_EXIT_BAD_FILE, "a packet of %u bytes is too long", out->bytes);
}

/* ---- the ledger ---- */

static bool make_ledger(struct incoming *in)
{
        uint64_t bytes = book_layout(NULL, LEDGER_SHIFT);
        struct ledger_head *head;

        in->ledger = memfd_create("seep-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (in->ledger < 0 || ftruncate(in->ledger, (off_t)bytes) != 0 ||
            fcntl(in->ledger, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
                return false;
        /* All of it at once: forked processes open parts of it, too (incoming_look), and what they
         * have opened counts as open here. */
        head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, in->ledger, 0);
        if (head == MAP_FAILED)
                return false;
        book_layout(head, LEDGER_SHIFT);
        book_begin(&in->book, head);
        return apply_start(in);
}

struct incoming *incoming_new(struct err *e)
{
        struct incoming *in = heap_zero(1, sizeof *in);
        int copy;

        in->view.fd = -1;
        if (!make_ledger(in)) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot make memory for the ledger of a journal");
                incoming_free(in);
                return NULL;
        }
        copy = fcntl(in->ledger, F_DUPFD_CLOEXEC, 3);
        if (copy < 0 || !view_open(&in->view, copy, e)) {
                in->view.fd = -1;
                incoming_free(in);
                return NULL;
        }
        return in;
}

void incoming_free(struct incoming *in)
{
        for (uint32_t i = 0; i < INCOMING_AHEAD; i++)
                free(in->ahead[i].body);
        if (in->book.head)
                apply_end(in);
        if (in->view.fd >= 0)
                view_close(&in->view);
        if (in->book.head)
                munmap(in->book.head, in->book.head->file_size);
        if (in->ledger >= 0)
                close(in->ledger);
        slices_free(&in->slices);
        table_free(&in->handle_table);
        free(in->handles);
        free(in->regions);
        free(in->cuts);
        free(in->threads);
        free(in->parts);
        for (uint32_t i = 0; i < in->mark_count; i++)
                free(in->marks[i].label);
        free(in->marks);
        free(in);
}

bool incoming_may_be(const struct incoming *in, uint64_t number, uint32_t most)
{
        uint64_t lost = in->lost_packets < 1u << 20 ? in->lost_packets : 1u << 20;

        return number < most && number < 4096 + in->bytes + lost * JOURNAL_DATAGRAM;
}

/* ---- packets in their order ---- */

static bool sum_fits(const struct incoming_head *h, const uint8_t *body)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
        (void)h, (void)body;
        return true;
#else
        return journal_sum(body, h->bytes) == h->sum;
#endif
}

static void take(struct incoming *in, const struct incoming_head *h, const uint8_t *body)
{
        in->packets++;
        in->bytes += JOURNAL_HEAD + h->bytes;
        in->byte_order = h->byte_order;
        if (h->flags & JOURNAL_FRESH) {
                in->model = (struct journal_model){ .thread = 0 };
                in->in_step = true;
        }
        if (!in->in_step)
                in->lost_packets++; /* what it says builds on what is lost */
        else if (!records_read(in, body, h->bytes)) {
                in->damaged_packets++;
                in->in_step = false;
        }
        in->expected = h->number + 1;
}

/* The packets from the next one on that wait; FORCE: also past a gap. */
static void take_waiting(struct incoming *in, bool force)
{
        while (in->ahead_count) {
                struct incoming_packet *p = &in->ahead[in->expected % INCOMING_AHEAD];

                if (!p->body && !force)
                        return;
                if (!p->body) {
                        in->lost_packets++;
                        in->in_step = false;
                        in->expected++;
                        continue;
                }
                take(in, &p->head, p->body);
                free(p->body);
                p->body = NULL;
                in->ahead_count--;
        }
}

static void keep(struct incoming *in, const struct incoming_head *h, const uint8_t *body)
{
        struct incoming_packet *p = &in->ahead[h->number % INCOMING_AHEAD];

        if (p->body)
                return; /* twice */
        p->head = *h;
        p->body = heap_zero(h->bytes + 1u, 1);
        memcpy(p->body, body, h->bytes);
        in->ahead_count++;
}

void incoming_packet(struct incoming *in, const struct incoming_head *h, const uint8_t *body)
{
        uint32_t early = h->number - in->expected;

        if (!sum_fits(h, body)) {
                incoming_damaged(in, JOURNAL_HEAD + h->bytes);
                return;
        }
        if (early > UINT32_MAX / 2)
                return; /* it came before, or was given up */
        if (early >= INCOMING_AHEAD) {
                take_waiting(in, true);
                in->lost_packets += h->number - in->expected;
                in->in_step = in->in_step && h->number == in->expected;
                in->expected = h->number;
                early = 0;
        }
        if (early) {
                keep(in, h, body);
                return;
        }
        take(in, h, body);
        take_waiting(in, false);
}

void incoming_give_up(struct incoming *in)
{
        take_waiting(in, true);
}

void incoming_damaged(struct incoming *in, uint64_t count)
{
        in->damaged_bytes += count;
}

bool incoming_is_over(const struct incoming *in)
{
        return in->end && in->end != JOURNAL_END_EXEC;
}

bool incoming_is_left(const struct incoming *in)
{
        return in->end == JOURNAL_END_LEFT;
}

const char *incoming_program(const struct incoming *in)
{
        const char *slash = strrchr(in->book.head->exe, '/');

        return slash ? slash + 1 : in->book.head->exe;
}

/* ---- the profile ---- */

static void fill_meta(const struct incoming *in, struct profile *p)
{
        static const uint8_t ends[] = { PROFILE_END_UNKNOWN, PROFILE_END_EXIT, PROFILE_END_SIGNAL,
                                        PROFILE_END_EXEC, PROFILE_END_GONE, PROFILE_END_UNKNOWN };
        struct profile_meta *m = &p->meta;

        m->program = heap_text(m->arg_count ? m->args[0] : m->exe);
        m->cwd = heap_text(in->cwd);
        m->host = heap_text(in->host);
        m->engine = heap_text("journal");
        m->version = heap_text(SEEP_VERSION);
        m->duration_ms = slices_end_ms(&in->slices, in->end_ms);
        m->end = ends[in->end <= JOURNAL_END_LEFT ? in->end : 0];
        m->exit_code = m->end == PROFILE_END_EXIT ? in->status : 0;
        m->exit_signal = m->end == PROFILE_END_SIGNAL ? in->status : 0;
        m->byte_order = in->byte_order == 2 ? 2 : 1;
        typed_arguments(m);
}

static void add_warnings(const struct incoming *in, struct profile *p)
{
        uint64_t lost = in->end_events > in->events ? in->end_events - in->events : 0;
        struct str text = { 0 };

        if (unseen_say(p, UNSEEN_LOST, &text)) {
                p->meta.complete = 0;
                collect_warn(p, "%s", str_get(&text));
        }
        str_free(&text);
        if (in->lost_packets || in->damaged_bytes || in->damaged_packets) {
                p->meta.complete = 0;
                collect_warn(p,
                             "%" PRIu64 " packets of the journal were lost, %" PRIu64 " damaged "
                             "(%" PRIu64 " bytes): %s%" PRIu64 " events are missing",
                             in->lost_packets, in->damaged_packets, in->damaged_bytes,
                             in->end_events ? "" : "at least ", lost);
        }
        if (in->was_again)
                collect_warn(p,
                             "the host was not connected from the beginning: sizes, ages and the "
                             "timeline%s are of the time since then; totals%s are those of the "
                             "whole run", in->peak_told ? "" : ", and the maximum,",
                             in->peak_told ? " and the maximum" : "");
        if (!in->end && !in->looked_at)
                collect_warn(p,
                             "the journal does not tell the end of the program: it was killed, "
                             "runs on, or could not write any more; of its last second, or its "
                             "last 4,096 events, some may be missing");
}

void incoming_profile(struct incoming *in, struct profile *p)
{
        struct ledger_head *h = in->book.head;
        struct collect_input input = { .view = &in->view, .slices = &in->slices,
                                       .ended = in->end != 0, .depth = in->depth };
        struct err e;

        take_waiting(in, true);
        if (in->again)
                apply_current(in);
        extents_end(in);
        h->lost_events = 0; /* what is said about them depends on what is known below */
        if (in->end_ms < book_now_ms(&in->book))
                in->end_ms = book_now_ms(&in->book);
        if (view_refresh(&in->view, &e))
                slices_cut(&in->slices, &in->view, slices_end_ms(&in->slices, in->end_ms), 0, true);
        collect(&input, p);
        fill_meta(in, p);
        p->totals.lost_events = in->lost_told + in->lost_here;
        add_warnings(in, p);
}

void incoming_look(struct incoming *in, struct profile *p)
{
        in->looked_at = true;
        incoming_profile(in, p);
}

const struct view *incoming_view(struct incoming *in)
{
        struct err e;

        view_refresh(&in->view, &e); /* an earlier copy of the head will do */
        return &in->view;
}

/* ---- a program that can be asked, too ---- */

static uint32_t put_ranges(struct incoming *in, enum ledger_part part,
                           const struct incoming_ranges *r)
{
        uint32_t count = r->count < LEDGER_ROOTS_MAX ? r->count : LEDGER_ROOTS_MAX;

        if (!count || !book_commit(&in->book, part, (uint64_t)count * sizeof *r->at))
                return 0;
        memcpy(book_part(&in->book, part), r->at, count * sizeof *r->at);
        return count;
}

void incoming_tell(struct incoming *in, const struct incoming_facts *f)
{
        struct ledger_head *h = in->book.head;

        h->allocator = f->allocator;
        h->scan_sp = f->scan_sp;
        h->scan_context = f->scan_context;
        h->own_count = put_ranges(in, LEDGER_OWN, &f->own);
        h->root_count = put_ranges(in, LEDGER_ROOTS, &f->told);
}

void incoming_asks(struct incoming *in, uint32_t asked, uint32_t reason)
{
        in->book.head->scan_reason = reason;
        in->book.head->scan_asked = asked;
}

void incoming_depth(struct incoming *in, uint32_t depth)
{
        in->depth = depth;
}

void incoming_off(struct incoming *in, bool off)
{
        in->book.head->off = off;
}

void incoming_mark(struct incoming *in, uint32_t type, const char *label,
                   struct incoming_moment *out)
{
        uint32_t now_ms = book_now_ms(&in->book);
        struct profile_mark m = { .type = type, .label = heap_text(label),
                                  .ms = slices_end_ms(&in->slices, now_ms) };
        const struct profile_slice *slice;

        if (type == LEDGER_MARK_OUTSIDE)
                m.seq = ++in->seq;
        *out = (struct incoming_moment){ .seq = m.seq };
        slices_mark(&in->slices, incoming_view(in), m.ms, 0, &m, 1);
        if (!in->slices.slice_count)
                return;
        slice = &in->slices.slice[in->slices.slice_count - 1];
        out->live_bytes = slice->live_bytes;
        out->live_blocks = slice->live_blocks;
}

/* The course begins anew, too: what was before cannot be compared with what comes. */
bool incoming_reset(struct incoming *in, struct err *e)
{
        uint64_t now_ms = slices_end_ms(&in->slices, book_now_ms(&in->book));

        apply_settle(in);
        if (!reset_ledger(incoming_view(in), e))
                return false;
        in->older_here = 0;
        slices_free(&in->slices);
        in->slices = (struct slices){ 0 };
        slices_cut(&in->slices, incoming_view(in), now_ms, 0, true);
        return true;
}

/* ---- a file ---- */

bool incoming_is_file(const char *path)
{
        uint8_t magic[JOURNAL_MAGIC_BYTES];
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        bool is = fd >= 0 && io_read_at(fd, magic, sizeof magic, 0) &&
                  !memcmp(magic, JOURNAL_MAGIC, sizeof magic);

        if (fd >= 0)
                close(fd);
        return is;
}

/* The packet at *AT; moves on behind it, or to where the next may be. */
static void read_packet(struct incoming *in, const uint8_t **at, const uint8_t *end)
{
        struct incoming_head h;
        struct err unused;
        const uint8_t *next;

        if ((size_t)(end - *at) >= JOURNAL_HEAD && incoming_head(*at, &h, &unused) &&
            h.bytes <= (size_t)(end - *at) - JOURNAL_HEAD &&
            sum_fits(&h, *at + JOURNAL_HEAD)) {
                incoming_packet(in, &h, *at + JOURNAL_HEAD);
                *at += JOURNAL_HEAD + h.bytes;
                return;
        }
        next = memmem(*at + 1, (size_t)(end - *at) - 1, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES);
        next = next ? next : end;
        /* The last packet of a program that was killed is cut short: that is no damage. */
        if (next < end)
                incoming_damaged(in, (uint64_t)(next - *at));
        *at = next;
}

bool incoming_read(struct profile *p, const char *path, struct err *e)
{
        struct incoming_head first;
        struct incoming *in;
        struct mapped file;
        const uint8_t *at;

        if (!mapped_open(&file, path, e))
                return false;
        if (file.size < JOURNAL_HEAD || !incoming_head(file.data, &first, e)) {
                if (file.size < JOURNAL_HEAD)
                        err_set(e, ERR_EXIT_BAD_FILE, "it ends inside of its first packet");
                err_context(e, "%s", path);
                mapped_close(&file);
                return false;
        }
        in = incoming_new(e);
        at = file.data;
        while (in && at < (const uint8_t *)file.data + file.size)
                read_packet(in, &at, (const uint8_t *)file.data + file.size);
        mapped_close(&file);
        if (!in)
                return false;
        incoming_profile(in, p);
        incoming_free(in);
        return true;
}
