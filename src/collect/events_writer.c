/* SPDX-License-Identifier: MIT */
/*
 * events_writer.c -- the events of one process, from the ring in its ledger to a file beside the
 * recording.
 *
 * Room:   outside; below "the thread" in the writer's own thread.
 */
#include "collect/events_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/place.h"
#include "base/worker.h"
#include "collect/collect.h"
#include "collect/turn.h"

#define JOURNAL_STEP 8192u /* events taken before the program is told that there is room */
#define JOURNAL_BATCH_LEAST 64u      /* events, when the log is almost as long as it may be */
#define JOURNAL_EVENT_BYTES 8u /* more than an event takes, for guessing whether a batch will fit */
#define JOURNAL_SLEEP_MS 1u          /* while events come */
#define JOURNAL_SLEEP_MAX_MS 10u     /* while none do */
#define JOURNAL_FLUSH_MS 500u        /* the first batch is written after so long, full or not;
                                      * further ones after twice the time */
#define JOURNAL_FLUSH_MAX_MS 5000u   /* at most */
#define JOURNAL_THREADS_MS 100u      /* between looks for threads that have ended */
#define JOURNAL_PATIENCE_MS 2000u    /* an entry not finished for so long was left by a signal
                                      * handler that did not return */

/* A thread that is in the log and has not ended. */
struct running {
        uint16_t thread; /* as events name it */
        uint32_t tid;
};

/* Batches that build on each other.  The first of a part builds on nothing, so that
 * the parts before it can go. */
struct part {
        uint64_t start, events; /* start: in the log */
        uint32_t batches;
};

struct events_writer {
        struct ledger_head *head;        /* shared with the program */
        bool turned;                     /* ... which has the other byte order */
        const struct ledger_event *ring; /* the same; NULL: there is none */
        uint64_t room, first, next; /* entries, and the numbers of the first and the next event */
        uint64_t missed;                 /* entries that were never finished */
        struct ledger_event *step;       /* copies, safe from the program */
        uint64_t stuck_ms, flush_ms;     /* since when NEXT is not finished (0: it is), when
                                          * a batch was written last */
        uint32_t sleep_ms, patience_ms; /* the latter: until a batch that is not full is written */
        uint32_t pid; /* as we see it; 0: threads cannot be looked for */
        struct running *running;
        uint32_t running_count;
        uint64_t looked_ms; /* when threads were looked for last */

        struct events_encoder *encoder;
        struct str batch, section;
        char *name; /* of the file, in the directory FOLDER */
        int folder, fd;
        struct events_writer_bound bound;
        uint64_t head_bytes, bytes, events; /* of the file; bytes count parts that are gone, too;
                                             * events are those in written batches */
        struct part *parts;                 /* that are there; the last one grows */
        uint32_t part_count;
        uint64_t dropped; /* events of parts that are gone */
        enum events_end end;
        int failure; /* errno */

        pthread_t thread;
        bool has_thread;
        pthread_mutex_t lock;
        pthread_cond_t stopped;
        bool stop;  /* under the lock */
        bool ended; /* of the process; before stop */

        struct str front, tail;
};

static uint64_t now_ms(void)
{
        return clock_now_ns() / 1000000u;
}

/* ---- words that both sides write ---- */

static uint64_t load_long(const struct events_writer *j, const uint64_t *word)
{
        return turn_64(j->turned, __atomic_load_n(word, __ATOMIC_ACQUIRE));
}

static bool somebody_waits(const struct events_writer *j)
{
        return __atomic_load_n(&j->head->journal_waiting, __ATOMIC_SEQ_CST) != 0;
}

static void close_ring(const struct events_writer *j)
{
        __atomic_store_n(&j->head->journal_closed, turn_32(j->turned, 1), __ATOMIC_RELEASE);
}

static void wake(const struct events_writer *j)
{
        uint32_t *word = &j->head->journal_wake, was = __atomic_load_n(word, __ATOMIC_RELAXED);

        while (!__atomic_compare_exchange_n(word, &was,
                                            turn_32(j->turned, turn_32(j->turned, was) + 1), true,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
                ;
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- the file ---- */

/* The log stops here, and the program need not go on. */
static void end_log(struct events_writer *j, enum events_end end, int failure)
{
        j->end = end;
        j->failure = failure;
        if (!j->head)
                return;
        close_ring(j);
        wake(j);
}

/* A new log.  As long as it is locked nobody takes it for a leftover; somebody may have done so
 * just before.  -1: errno. */
static int make_log(int folder, const char *name)
{
        int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        struct stat st;

        if (fd >= 0 && ((flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
                        (fstat(fd, &st) == 0 && st.st_nlink == 0))) {
                close(fd);
                errno = EEXIST;
                return -1;
        }
        return fd;
}

/* A log that is there belongs to somebody: to a recording of the same name that still runs, or to
 * one that was killed and left it as all there is. */
static void open_side(struct events_writer *j, const char *path)
{
        struct stat st;

        for (uint32_t try = 1;; try++) {
                j->name = events_log_name(path, try);
                j->fd = make_log(j->folder, j->name);
                if (j->fd >= 0 || errno != EEXIST || try == EVENTS_LOG_TRIES ||
                    (fstatat(j->folder, j->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                     !S_ISREG(st.st_mode)))
                        break;
                free(j->name);
        }
}

static void open_file(struct events_writer *j, struct events_writer_place place)
{
        struct str head = { 0 };

        j->folder = fcntl(place.folder, F_DUPFD_CLOEXEC, 0);
        open_side(j, place.path);
        events_log_head(&head);
        j->head_bytes = head.length;
        if (j->fd < 0 || !io_write(j->fd, head.data, head.length))
                end_log(j, EVENTS_END_FAILED, errno);
        str_free(&head);
        if (j->fd >= 0)
                place_give(j->fd);
}

static struct part *last_part(const struct events_writer *j)
{
        return &j->parts[j->part_count - 1];
}

/* Bytes that the part may still take. */
static uint64_t headroom_left(const struct events_writer *j)
{
        uint64_t used = j->bytes - last_part(j)->start;

        return used < j->bound.bytes ? j->bound.bytes - used : 0;
}

static void begin_part(struct events_writer *j)
{
        j->parts = heap_grow(j->parts, j->part_count + 1, sizeof *j->parts);
        j->parts[j->part_count++] = (struct part){ .start = j->bytes };
        events_encoder_free(j->encoder);
        j->encoder = events_encoder_new();
}

/* The oldest part becomes a hole in the file, so that what is left stays in one piece.  The hole
 * always begins at the first byte: only whole pages of it take no room. */
static void drop_part(struct events_writer *j)
{
        uint64_t bytes = j->parts[1].start;

        if (fallocate(j->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)j->head_bytes,
                      (off_t)bytes) != 0) {
                end_log(j, EVENTS_END_FAILED, errno);
                return;
        }
        j->dropped += j->parts[0].events;
        memmove(j->parts, j->parts + 1, --j->part_count * sizeof *j->parts);
}

/* Between batches: no event waits in the encoder. */
static void rotate(struct events_writer *j)
{
        if (!j->bound.parts || headroom_left(j) >= JOURNAL_BATCH_LEAST * JOURNAL_EVENT_BYTES)
                return;
        begin_part(j);
        while (j->part_count > j->bound.parts && !j->end)
                drop_part(j);
}

/* Write the waiting events.  What does not fit, or cannot be written, ends the log
 * before them.  Where parts follow each other the last batch of a part may be a few
 * bytes longer than it should. */
static void write_batch(struct events_writer *j)
{
        uint32_t count = events_waiting(j->encoder);

        j->flush_ms = now_ms();
        if (!count || j->end)
                return;
        str_clear(&j->batch);
        str_clear(&j->section);
        events_batch(j->encoder, &j->batch);
        events_log_batch(&j->batch, &j->section);
        if (j->bound.bytes && !j->bound.parts && j->section.length > headroom_left(j)) {
                end_log(j, EVENTS_END_FULL, 0);
        } else if (!io_write(j->fd, j->section.data, j->section.length)) {
                end_log(j, EVENTS_END_FAILED, errno);
                if (ftruncate(j->fd, (off_t)(j->head_bytes + j->bytes)))
                        return; /* a reader finds the end of the last whole batch, too */
        } else {
                j->bytes += j->section.length;
                j->events += count;
                last_part(j)->events += count;
                last_part(j)->batches++;
                rotate(j);
        }
}

/* Near the end batches become small, so that the log is as long as it may be. */
static uint32_t batch_limit(const struct events_writer *j)
{
        uint64_t fits = headroom_left(j) / JOURNAL_EVENT_BYTES;

        if (!j->bound.bytes || fits >= EVENTS_BATCH)
                return EVENTS_BATCH;
        return fits > JOURNAL_BATCH_LEAST ? (uint32_t)fits : JOURNAL_BATCH_LEAST;
}

static void encode(struct events_writer *j, const struct ledger_event *e, uint32_t count)
{
        while (count && !j->end) {
                uint32_t waiting = events_waiting(j->encoder), limit = batch_limit(j),
                         room = limit > waiting ? limit - waiting : 0;

                if (room > count)
                        room = count;
                events_encode(j->encoder, e, room);
                e += room;
                count -= room;
                if (events_waiting(j->encoder) >= limit)
                        write_batch(j);
        }
}

/* ---- threads: they say when they begin, but not when they end ---- */

static bool is_there(const struct events_writer *j, uint32_t tid)
{
        char name[64];

        snprintf(name, sizeof name, "/proc/%u/task/%u", j->pid, tid);
        return access(name, F_OK) == 0;
}

static void thread_ends(struct events_writer *j, uint32_t index)
{
        struct running *r = &j->running[index];
        struct ledger_event e = { .type = LEDGER_EVENT_THREAD_END, .thread = r->thread,
                                  .address = r->tid, .ms = turn_32(j->turned, j->head->tick_ms) };

        encode(j, &e, 1);
        *r = j->running[--j->running_count];
}

/* The number of an ended thread may be another's already: then its THREAD event tells. */
static void thread_begins(struct events_writer *j, const struct ledger_event *e)
{
        for (uint32_t i = j->running_count; i-- > 0;)
                if (j->running[i].tid == (uint32_t)e->address)
                        thread_ends(j, i);
        j->running = heap_grow(j->running, j->running_count + 1, sizeof *j->running);
        j->running[j->running_count++] = (struct running){ e->thread, (uint32_t)e->address };
}

/* A thread of another world of numbers, or one that ended at once, is not found the first time
 * either: it ends with the process. */
static void look_for_ended(struct events_writer *j, bool all)
{
        uint64_t now = now_ms();

        if (!all && (!j->pid || now - j->looked_ms < JOURNAL_THREADS_MS))
                return;
        j->looked_ms = now;
        for (uint32_t i = j->running_count; i-- > 0;)
                if (all || !is_there(j, j->running[i].tid))
                        thread_ends(j, i);
}

/* ---- the ring ---- */

/* The ring may be mapped when the head may be (collect/view.h says why). */
static bool map_ring(struct events_writer *j, const struct view *v)
{
        const struct ledger_extent *x = &v->head.part[LEDGER_JOURNAL];
        void *at;

        j->room = x->committed / sizeof(struct ledger_event);
        if (!j->head || !j->room || x->offset % (uint64_t)sysconf(_SC_PAGESIZE))
                return false;
        at = mmap(NULL, j->room * sizeof(struct ledger_event), PROT_READ, MAP_SHARED, v->fd,
                  (off_t)x->offset);
        if (at == MAP_FAILED)
                return false;
        j->ring = at;
        j->first = j->next = load_long(j, &j->head->journal_read);
        return true;
}

/* A name is bytes in the place of numbers. */
static void turn_event(struct ledger_event *e)
{
        turn_part(LEDGER_JOURNAL, 0, e, sizeof *e);
        if (e->type == LEDGER_EVENT_THREAD_NAME) {
                e->address = turn_64(true, e->address);
                e->size = turn_64(true, e->size);
        }
}

/* Copy the finished entries from NEXT on, up to END and JOURNAL_STEP of them. */
static uint32_t copy_step(const struct events_writer *j, uint64_t end)
{
        uint64_t place = j->next % j->room;
        uint32_t count = 0;

        while (count < JOURNAL_STEP && j->next + count < end) {
                const struct ledger_event *e = &j->ring[place];

                if (turn_32(j->turned, __atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE)) !=
                    (uint32_t)(j->next + count + 1))
                        break;
                j->step[count] = *e;
                if (j->turned)
                        turn_event(&j->step[count]);
                count++;
                place = place + 1 < j->room ? place + 1 : 0;
        }
        return count;
}

/* Entries before NEXT may be used again: tell those who wait for that. */
static void tell_read(const struct events_writer *j)
{
        __atomic_store_n(&j->head->journal_read, turn_64(j->turned, j->next), __ATOMIC_SEQ_CST);
        if (somebody_waits(j))
                wake(j);
}

static uint64_t ring_end(const struct events_writer *j)
{
        uint64_t reserved = load_long(j, &j->head->journal_reserved);

        return reserved < j->next + j->room ? reserved : j->next + j->room;
}

static void encode_step(struct events_writer *j, uint32_t count)
{
        uint32_t done = 0;

        for (uint32_t i = 0; i < count; i++)
                if (j->step[i].type == LEDGER_EVENT_THREAD) {
                        encode(j, j->step + done, i - done);
                        thread_begins(j, &j->step[i]);
                        done = i;
                }
        encode(j, j->step + done, count - done);
}

/* Take one step of events; how many. */
static uint32_t drain(struct events_writer *j)
{
        uint32_t count = copy_step(j, ring_end(j));

        if (!count)
                return 0;
        j->next += count;
        tell_read(j);
        encode_step(j, count);
        j->stuck_ms = 0;
        return count;
}

/* ---- the thread ---- */

/* An entry that was reserved and is not finished: its thread is just doing so, or never will.  That
 * matters only when others have to wait for it. */
static void look_at_stuck(struct events_writer *j)
{
        if (ring_end(j) <= j->next || !somebody_waits(j))
                j->stuck_ms = 0;
        else if (!j->stuck_ms)
                j->stuck_ms = now_ms();
        else if (now_ms() - j->stuck_ms > JOURNAL_PATIENCE_MS) {
                j->missed++;
                j->next++;
                j->stuck_ms = 0;
                tell_read(j);
        }
}

/* Sleep a little; true when it is time to stop. */
static bool sleep_until_stop(struct events_writer *j, uint32_t ms)
{
        struct timespec until;
        bool stop;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)ms * 1000000l;
        until.tv_sec += until.tv_nsec / 1000000000l;
        until.tv_nsec %= 1000000000l;
        pthread_mutex_lock(&j->lock);
        if (!j->stop && ms)
                pthread_cond_timedwait(&j->stopped, &j->lock, &until);
        stop = j->stop;
        pthread_mutex_unlock(&j->lock);
        return stop;
}

/* The last entries, without those that nobody will finish. */
static void drain_rest(struct events_writer *j)
{
        uint64_t end = ring_end(j);

        while (j->next < end && !j->end) {
                if (drain(j))
                        continue;
                if (!j->ended) /* it is being written now, so it is after the end */
                        return;
                j->missed++;
                j->next++;
        }
}

/* A program that is slow, or killed early, has a log too. */
static void write_in_time(struct events_writer *j)
{
        if (now_ms() - j->flush_ms <= j->patience_ms)
                return;
        if (events_waiting(j->encoder))
                j->patience_ms = 2 * j->patience_ms < JOURNAL_FLUSH_MAX_MS ? 2 * j->patience_ms
                                                                           : JOURNAL_FLUSH_MAX_MS;
        write_batch(j);
}

static void *run(void *context)
{
        struct events_writer *j = context;
        bool stop = false;

        j->sleep_ms = JOURNAL_SLEEP_MS;
        j->patience_ms = JOURNAL_FLUSH_MS;
        j->flush_ms = now_ms();
        while (!stop && !j->end) {
                uint32_t count = drain(j);

                if (!count)
                        look_at_stuck(j);
                look_for_ended(j, false);
                write_in_time(j);
                worker_beside_end();
                if (count)
                        j->sleep_ms = JOURNAL_SLEEP_MS;
                else if (j->sleep_ms < JOURNAL_SLEEP_MAX_MS)
                        j->sleep_ms++;
                stop = sleep_until_stop(j, count == JOURNAL_STEP ? 0 : j->sleep_ms);
                worker_beside_begin();
        }
        if (!j->end)
                drain_rest(j);
        if (j->ended)
                look_for_ended(j, true);
        write_batch(j);
        return NULL;
}

static void start_thread(struct events_writer *j)
{
        pthread_condattr_t attributes;
        int failure;

        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_mutex_init(&j->lock, NULL);
        pthread_cond_init(&j->stopped, &attributes);
        pthread_condattr_destroy(&attributes);
        failure = worker_beside(&j->thread, run, j);
        j->has_thread = !failure;
        if (failure)
                end_log(j, EVENTS_END_FAILED, failure);
}

/* ---- for the recording ---- */

struct events_writer *events_writer_open(const struct view *v, uint32_t pid,
                                         struct events_writer_place place,
                                         struct events_writer_bound bound)
{
        struct events_writer *j = heap_zero(1, sizeof *j);

        j->fd = -1;
        j->head = view_shared(v);
        j->turned = v->turned;
        j->pid = pid;
        j->bound = bound;
        open_file(j, place);
        if (!map_ring(j, v) && !j->end)
                end_log(j, EVENTS_END_FAILED, EACCES);
        if (j->end)
                return j;
        j->step = heap_zero(JOURNAL_STEP, sizeof *j->step);
        begin_part(j);
        start_thread(j);
        return j;
}

void events_writer_finish(struct events_writer *j, bool ended)
{
        if (!j->has_thread)
                return;
        if (!ended) /* the program goes on without us: no more events */
                close_ring(j);
        pthread_mutex_lock(&j->lock);
        j->ended = ended;
        j->stop = true;
        pthread_cond_signal(&j->stopped);
        pthread_mutex_unlock(&j->lock);
        pthread_join(j->thread, NULL);
        j->has_thread = false;
        if (!j->end)
                end_log(j, EVENTS_END_DONE, 0);
}

/* Whether the log has all that the sums have: from the first event to the end of the recording, in
 * one part: another one would know nothing of the blocks before it. */
static bool is_whole(const struct events_writer *j, const struct profile *p)
{
        const struct feed *f = j->encoder ? events_sums(j->encoder) : NULL;

        return f && j->part_count == 1 && !j->dropped && j->end == EVENTS_END_DONE && !j->first &&
               !j->missed && p->meta.complete && feed_live_bytes(f) == p->totals.live_bytes &&
               feed_live_blocks(f) == p->totals.live_blocks;
}

/* The log knows the order of events: with several threads, what it says about the peak is exact,
 * and the sums of the ledger are not. */
static void give_peak(const struct events_writer *j, const struct events_ids *ids,
                      struct profile *p)
{
        const struct feed *f = events_sums(j->encoder);
        struct profile_totals *t = &p->totals;

        for (uint32_t i = 1; i < p->site_count; i++)
                if (LEDGER_KIND_IS_HEAP(p->sites[i].kind))
                        p->sites[i].peak_bytes = p->sites[i].peak_blocks = 0;
        t->peak_bytes = t->peak_blocks = t->peak_error_bytes = 0;
        t->peak_ms = f->book.head->peak_tick_ms;
        for (uint32_t i = 1; i < ids->site_count; i++) {
                uint64_t bytes = 0, blocks = 0;

                if (!ids->sites[i])
                        continue;
                peak_of(f->book.head, feed_site(f, i), &bytes, &blocks);
                p->sites[ids->sites[i]].peak_bytes += bytes;
                p->sites[ids->sites[i]].peak_blocks += blocks;
                t->peak_bytes += bytes;
                t->peak_blocks += blocks;
        }
}

void events_writer_give(struct events_writer *j, struct events_ids *ids, struct profile *p)
{
        static const struct part none;
        const struct part *part = j->part_count ? last_part(j) : &none;
        uint64_t start = j->part_count ? j->parts[0].start : 0;
        struct str last = { 0 };
        uint32_t batches = 0;

        for (uint32_t i = 0; i < j->part_count; i++)
                batches += j->parts[i].batches;
        ids->first = j->first;
        ids->dropped = j->dropped;
        str_clear(&j->front);
        str_clear(&j->tail);
        events_log_ids(ids, &j->front);
        if (is_whole(j, p))
                give_peak(j, ids, p);
        events_last_batch(part->events, j->end, &last);
        events_log_batch(&last, &j->tail);
        str_free(&last);
        p->log = (struct profile_log){ .front = j->front.data, .front_bytes = j->front.length,
                                       .tail = j->tail.data, .tail_bytes = j->tail.length,
                                       .fd = j->fd, .offset = j->head_bytes + start,
                                       .bytes = j->bytes - start, .sections = batches + 2 };
        if (j->end != EVENTS_END_DONE)
                collect_warn(p, "the event log ends after %" PRIu64 " events: %s%s%s", j->events,
                             events_end_text(j->end), j->failure ? ": " : "",
                             j->failure ? strerror(j->failure) : "");
        if (j->missed)
                collect_warn(p,
                             "%" PRIu64 " events are missing from the log: threads were ended "
                             "while writing them", j->missed);
}

void events_writer_point(struct events_writer *j, struct events_ids *ids, struct profile *p)
{
        if (!j || j->fd < 0)
                return;
        ids->first = j->first;
        ids->beside = j->name;
        str_clear(&j->front);
        events_log_ids(ids, &j->front);
        p->log = (struct profile_log){ .front = j->front.data, .front_bytes = j->front.length,
                                       .fd = -1, .sections = 1 };
}

void events_writer_close(struct events_writer *j, bool keep)
{
        if (!j)
                return;
        events_writer_finish(j, false);
        if (j->fd >= 0) {
                close(j->fd);
                if (!keep)
                        unlinkat(j->folder, j->name, 0);
        }
        if (j->folder >= 0)
                close(j->folder);
        if (j->ring)
                munmap((void *)j->ring, j->room * sizeof *j->ring);
        events_encoder_free(j->encoder);
        str_free(&j->batch);
        str_free(&j->section);
        str_free(&j->front);
        str_free(&j->tail);
        free(j->step);
        free(j->running);
        free(j->parts);
        free(j->name);
        free(j);
}
