/* SPDX-License-Identifier: MIT */
#include "session/scanner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/headroom.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/signals.h"
#include "collect/blocks.h"
#include "collect/shadow_walk.h"
#include "profile/file.h"
#include "profile/packed.h"
#include "scan/scan.h"
#include "scan/scan_store.h"
#include "session/listener.h"

static void close_file(struct scanner_file *f)
{
        if (f->fd >= 0)
                close(f->fd);
        f->fd = -1;
}

static bool open_file(struct scanner_file *f, const char *name)
{
        close_file(f);
        f->fd = memfd_create(name, MFD_CLOEXEC);
        return f->fd >= 0;
}

void scanner_init(struct scanner *s)
{
        *s = (struct scanner){ .worker = WORKER_NONE, .image = { -1 }, .lost = { -1 },
                               .last = { -1 }, .known = { -1 } };
}

void scanner_free(struct scanner *s)
{
        for (uint32_t i = 0; i < s->asker_count; i++)
                listener_refuse(s->askers[i].fd, "the process ended, or its recording did");
        free(s->askers);
        close_file(&s->image);
        worker_close(&s->worker);
        close_file(&s->lost);
        close_file(&s->last);
        close_file(&s->known);
        for (uint32_t i = 0; i < s->kept_count; i++)
                close(s->kept[i].fd);
        free(s->kept);
}

void scanner_ask(struct scanner *s, const struct scanner_asker *asker)
{
        s->askers = heap_grow(s->askers, s->asker_count + 1, sizeof *s->askers);
        s->askers[s->asker_count++] = *asker;
}

/* ---- the worker ---- */

struct work {
        struct scanner *s;
        const struct scanner_order *o;
        uint32_t flags; /* WIRE_SCAN_* */
        int words;      /* where it tells how it went */
        uint64_t definite; /* blocks that were found to be lost */
        struct headroom room;
};

static struct work *at_work; /* in the process that searches */

static void collect_for(void *context, struct profile *p)
{
        const struct work *w = context;

        w->o->collect(w->o->context, p);
}

static void tell_program(void *context, uint64_t definite)
{
        struct work *w = context;

        w->definite = definite;
        if (w->s->request)
                view_scanned(w->o->view, w->s->request, definite);
}

/* Whoever kills us while we make a copy kills the program, too: at its end the kernel is not
 * offered to before that is done. */
static void let_leave(void *context, bool copied)
{
        const struct work *w = context;

        headroom_offer(0);
        if (copied && PROFILE_SCAN_IS_LAST(w->s->when))
                tell_program(context, 0); /* nobody at an end asks what was found */
}

static const struct scan_lost *map_known(const struct scanner *s, uint64_t *count)
{
        struct stat st;
        void *at = MAP_FAILED;

        *count = 0;
        if (s->known.fd < 0 || fstat(s->known.fd, &st) < 0)
                return NULL;
        if (st.st_size)
                at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, s->known.fd, 0);
        *count = at == MAP_FAILED ? 0 : (uint64_t)st.st_size / sizeof(struct scan_lost);
        return *count ? at : (const struct scan_lost *)""; /* known, and nothing */
}

/* What was found, in numbers, and the list of what is lost. */
static bool sum_up(const struct profile *p, struct scanner_words *words, int fd)
{
        struct scan_lost part[1024];
        struct packed_walk w;
        size_t count = 0;
        bool good = true;

        words->blocks[PROFILE_LEAK_DEFINITE] = 0;
        packed_open(&w, p);
        while (good && packed_next(&w) && w.verdict) {
                words->blocks[w.verdict->leak]++;
                words->bytes[w.verdict->leak] += w.block->size;
                if (w.verdict->leak >= PROFILE_LEAK_INDIRECT)
                        part[count++] = (struct scan_lost){ w.block->address, w.block->birth_ms };
                if (count == sizeof part / sizeof *part) {
                        good = io_write(fd, part, count * sizeof *part);
                        count = 0;
                }
        }
        packed_close(&w);
        return good && io_write(fd, part, count * sizeof *part);
}

/* Whether what is found goes into the recording of the program's end and nowhere else. */
static bool is_for_end(const struct scanner *s)
{
        return PROFILE_SCAN_IS_LAST(s->when) && !s->served;
}

static _Noreturn void end_with(const struct work *w, const struct scanner_words *words)
{
        _exit(io_write(w->words, words, sizeof *words) ? 0 : 1);
}

/* Nothing is found, for this reason. */
static _Noreturn void end_without(struct work *w, const char *why)
{
        struct scanner_words words = { 0 };

        snprintf(words.trouble, sizeof words.trouble, "%.1000s", why);
        tell_program(w, 0);
        end_with(w, &words);
}

static void out_of_memory(void)
{
        char why[HEADROOM_WHY_BYTES];

        snprintf(why, sizeof why, "it takes more memory than the %u MiB that %s leaves",
                 (unsigned)(at_work->room.bytes >> 20), at_work->room.limit);
        end_without(at_work, why);
}

/* Below this a search takes some milliseconds. */
#define SCANNER_SMALL_BYTES (64ull << 20)
#define SCANNER_SMALL_BLOCKS 200000u

static bool is_elsewhere(pid_t pid)
{
        struct stat theirs, ours;
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)procfs_living(pid));
        return stat(path, &theirs) != 0 || stat("/proc/self/ns/pid", &ours) != 0 ||
               theirs.st_ino != ours.st_ino;
}

/* A copy of the program shares its memory until one of both writes: it may come to be there twice.
 * The copy of one that leaves outlives it, and that can be seen: its group still has a process, its
 * file cannot be written to, its directory not be unmounted.  So a short search is made before the
 * program leaves, too; and one where another process than ours would have to wait for the copy, the
 * first one of a namespace.  From an exec that fails a program comes back. */
static bool may_copy(const struct work *w, uint64_t need)
{
        bool last = PROFILE_SCAN_IS_LAST(w->s->when);
        uint64_t own = process_anonymous((uint32_t)w->o->pid);

        if (last && (w->o->hold || w->s->when == PROFILE_SCAN_EXEC || is_elsewhere(w->o->pid)))
                return false;
        if (last && own < SCANNER_SMALL_BYTES && blocks_count(w->o->view) < SCANNER_SMALL_BLOCKS)
                return false;
        own *= last ? 2 : 1; /* whoever comes after it may take as much while the copy is there */
        return w->room.bytes == UINT64_MAX || (need < w->room.bytes && own < w->room.bytes - need);
}

/* The program comes first: what it needs is not taken.  Returns flags for the search. */
static uint32_t begin(struct work *w)
{
        char why[HEADROOM_WHY_BYTES] = "", text[HEADROOM_WHY_BYTES + 16];
        uint64_t need;
        struct err e;

        at_work = w;
        worker_bound(w->o->pid, &w->room, out_of_memory);
        if (!PROFILE_SCAN_IS_LAST(w->s->when))
                headroom_offer(0);
        view_refresh(w->o->view, &e); /* an earlier copy of the head will do */
        need = scan_need(w->o->view);
        if (!headroom_allows(&w->room, need, why)) {
                snprintf(text, sizeof text, "it takes %s", why);
                end_without(w, text);
        }
        return may_copy(w, need) ? 0 : WIRE_SCAN_HOLD;
}

static bool search(void *context, int words_fd)
{
        struct work *w = context;
        struct scanner *s = w->s;
        struct scan_order order = { .pid = w->o->pid, .view = w->o->view, .when = s->when,
                                    .flags = w->flags | w->o->flags, .far = w->o->far,
                                    .first_tracer = w->o->first_tracer,
                                    .context = w, .collect = collect_for,
                                    .stopped = let_leave, .read = tell_program };
        struct scanner_words words = { 0 };
        struct profile p;
        struct err e = { 0 };

        w->words = words_fd;
        order.flags |= begin(w);
        order.lost = map_known(s, &order.lost_count);
        words.good = scan_run(&order, &p, &e);
        snprintf(words.trouble, sizeof words.trouble, "%.1000s", e.text);
        if (!words.good)
                tell_program(w, 0);
        words.ms = p.scan_count ? p.scans[0].ms : 0;
        words.blocks[PROFILE_LEAK_DEFINITE] = w->definite;
        if (!is_for_end(s) || s->when == PROFILE_SCAN_EXEC) /* which may fail: others may follow */
                words.good &= sum_up(&p, &words, s->lost.fd);
        if (is_for_end(s))
                scan_leave_findings(&p);
        words.good = words.good && file_put(&p, s->image.fd, &e);
        end_with(w, &words);
}

static uint32_t reason_when(uint32_t reason)
{
        switch (reason) {
        case LEDGER_SCAN_EXIT:
                return PROFILE_SCAN_EXIT;
        case LEDGER_SCAN_EXEC:
                return PROFILE_SCAN_EXEC;
        case LEDGER_SCAN_CHECK:
                return PROFILE_SCAN_API;
        case LEDGER_SCAN_SIGNAL:
                return PROFILE_SCAN_SIGNAL;
        default:
                return PROFILE_SCAN_ASKED;
        }
}

/* What the program asks for now; 0 nothing. */
static uint32_t program_wants(const struct view *v, uint32_t *when)
{
        const struct ledger_head *h = view_shared(v);
        uint32_t asked = h ? view_load(v, &h->scan_asked) : 0;

        if (!h || asked == view_load(v, &h->scan_done))
                return 0;
        *when = reason_when(view_load(v, &h->scan_reason));
        return asked;
}

static bool launch(struct work *w)
{
        struct scanner *s = w->s;

        worker_close(&s->worker);
        if (!open_file(&s->image, "seep-scan") || !open_file(&s->lost, "seep-lost"))
                return false;
        s->kills = headroom_kills();
        return worker_start(&s->worker,
                            &(struct worker_order){ .work = search, .context = w,
                                                    .file = "seep-words" });
}

/* No process, no descriptors: everybody is told so. */
static void give_up(struct scanner *s, const struct view *v)
{
        snprintf(s->last_trouble, sizeof s->last_trouble, "cannot start a process for it: %s",
                 strerror(errno));
        for (uint32_t i = 0; i < s->asker_count; i++)
                listener_refuse(s->askers[i].fd, "%s", s->last_trouble);
        s->asker_count = s->served = 0;
        if (s->request)
                view_scanned(v, s->request, 0);
        s->request = 0;
}

/* ---- no block, no search ---- */

static void note_live(void *context, const struct ledger_block *b, uint64_t address)
{
        bool *found = context;

        (void)address;
        *found |= LEDGER_BLOCK_SITE(*b) != 0;
}

static bool is_found(void *context, uint64_t bytes)
{
        (void)bytes;
        return *(bool *)context;
}

/* Many short programs have freed all that they had: a process for each of them would
 * cost more than all the rest. */
static bool has_nothing(struct view *v)
{
        bool found = false;
        struct err e;

        if (!view_refresh(v, &e) || v->head.attached)
                return false;
        shadow_walk(v,
                    &(struct shadow_visitor){ .context = &found, .take = note_live,
                                              .enough = is_found });
        return !found;
}

bool scanner_is_busy(const struct scanner *s)
{
        return s->worker.pid && PROFILE_SCAN_IS_LAST(s->when);
}

void scanner_stop(struct scanner *s)
{
        if (s->worker.pid)
                s->stopped = kill(s->worker.pid, SIGKILL) == 0;
}

bool scanner_is_last(const struct scanner *s)
{
        return (s->worker.pid || s->nothing) && PROFILE_SCAN_IS_LAST(s->when);
}

void scanner_tell_nothing(struct scanner *s, const struct scanner_order *o)
{
        if (!s->nothing)
                return;
        s->nothing = false;
        close_file(&s->last);
        s->last_when = s->when;
        s->last_trouble[0] = 0;
        s->last_nothing = (struct profile_scan){
                .ms = view_moment(o->view),
                .when = s->when,
                .flags = PROFILE_SCAN_GRAPH | (s->known.fd >= 0 && ftruncate(s->known.fd, 0) == 0
                                                       ? PROFILE_SCAN_INCREMENT
                                                       : 0),
                .threads = process_threads((uint32_t)o->pid),
                .trouble = "",
                .suppressions = "",
        };
        view_scanned(o->view, s->request, 0);
        s->request = 0;
}

void scanner_start(struct scanner *s, const struct scanner_order *o)
{
        struct work w = { .s = s, .o = o };

        if (s->worker.pid)
                return;
        s->when = PROFILE_SCAN_ASKED;
        s->request = program_wants(o->view, &s->when);
        if (!s->request && !s->asker_count)
                return;
        /* A search for one may do for all who want the same. */
        if (!s->request)
                w.flags = s->askers[0].flags;
        for (s->served = 0; s->served < s->asker_count && s->askers[s->served].flags == w.flags;
             s->served++)
                ;
        s->nothing = s->request && !s->served && PROFILE_SCAN_IS_LAST(s->when) &&
                     has_nothing(o->view);
        if (PROFILE_SCAN_IS_LAST(s->when))
                o->before_end(o->context);
        if (!s->nothing && !launch(&w))
                give_up(s, o->view);
}

/* ---- the answer ---- */

#define SCANNER_STARVED                                                                    \
        "the kernel killed the search for lack of memory (--limit-ledger bounds what the " \
        "recording takes)"

/* It could not say so itself. */
static void tell_why_dead(const struct scanner *s, int status, struct scanner_words *w)
{
        char name[SIGNALS_NAME_BYTES];

        *w = (struct scanner_words){ 0 };
        if (s->stopped) {
                snprintf(w->trouble, sizeof w->trouble, "it was stopped by a signal (Ctrl-C)");
        } else if (!WIFSIGNALED(status)) {
                snprintf(w->trouble, sizeof w->trouble, "the searching process ended early");
        } else if (WTERMSIG(status) == SIGKILL && headroom_kills() > s->kills) {
                snprintf(w->trouble, sizeof w->trouble, SCANNER_STARVED);
        } else {
                signals_name((uint32_t)WTERMSIG(status), name);
                snprintf(w->trouble, sizeof w->trouble, "the searching process was killed by %s",
                         name);
        }
}

static void read_words(const struct scanner *s, int status, struct scanner_words *w)
{
        if (!worker_read(&s->worker, 0, w, sizeof *w))
                tell_why_dead(s, status, w);
        else if (strcmp(w->trouble, SCAN_KILLED) == 0 && headroom_kills() > s->kills)
                snprintf(w->trouble, sizeof w->trouble, SCANNER_STARVED);
        w->trouble[sizeof w->trouble - 1] = 0;
}

static void answer_askers(struct scanner *s, const struct scanner_words *w)
{
        for (uint32_t i = 0; i < s->served; i++) {
                struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 1,
                                            .status = w->good ? 0 : ERR_EXIT_CANNOT_TRACE };

                snprintf(reply.text, sizeof reply.text, "%s", w->trouble);
                listener_reply_file(s->askers[i].fd, &reply, w->good ? s->image.fd : -1);
        }
        s->asker_count -= s->served;
        if (s->asker_count)
                memmove(s->askers, s->askers + s->served, s->asker_count * sizeof *s->askers);
        s->served = 0;
}

/* ---- what is kept ---- */

/* Besides the one at the end: those that snapshots asked for, and the last one of all others. */
static void keep_one(struct scanner *s, const struct scanner_words *w, uint32_t seq)
{
        struct scanner_kept one = { .fd = dup(s->image.fd),
                                    .search = { .ms = w->ms, .when = s->when, .seq = seq } };
        uint32_t i = 0;

        if (one.fd < 0)
                return;
        while (i < s->kept_count && s->kept[i].search.seq != seq)
                i++;
        if (i < s->kept_count) {
                close(s->kept[i].fd);
        } else {
                s->kept = heap_grow(s->kept, s->kept_count + 1, sizeof *s->kept);
                s->kept_count++;
        }
        s->kept[i] = one;
}

static void keep_asked(struct scanner *s, const struct scanner_words *w)
{
        bool plain = s->request != 0;

        for (uint32_t i = 0; i < s->served; i++) {
                plain |= !s->askers[i].seq;
                if (s->askers[i].seq)
                        keep_one(s, w, s->askers[i].seq);
        }
        if (plain)
                keep_one(s, w, 0);
}

void scanner_keep(const struct scanner *s, struct profile *p)
{
        for (uint32_t i = 0; i < s->kept_count; i++)
                kept_add(p, s->kept[i].fd, &s->kept[i].search);
}

static void keep_last(struct scanner *s, const struct scanner_words *w)
{
        if (!w->good && s->last.fd >= 0 && s->last_when == s->when)
                return; /* it ended during a second one */
        close_file(&s->last);
        s->last_nothing.trouble = NULL;
        s->last_when = s->when;
        snprintf(s->last_trouble, sizeof s->last_trouble, "%s", w->trouble);
        if (!w->good)
                return;
        s->last = s->image;
        s->image.fd = -1;
}

bool scanner_done(struct scanner *s, const struct view *v, int status, struct scanner_words *words)
{
        bool told = s->when == PROFILE_SCAN_API;

        worker_reaped(&s->worker);
        read_words(s, status, words);
        if (s->request) /* it told so itself, unless it was killed */
                view_scanned(v, s->request, words->blocks[PROFILE_LEAK_DEFINITE]);
        if (words->good && !PROFILE_SCAN_IS_LAST(s->when))
                keep_asked(s, words);
        answer_askers(s, words);
        if (s->when != PROFILE_SCAN_ASKED && s->when != PROFILE_SCAN_API)
                keep_last(s, words);
        if (words->good) {
                close_file(&s->known);
                s->known = s->lost;
                s->lost.fd = -1;
        }
        s->request = 0;
        return told;
}

static void wait_for_worker(struct scanner *s, const struct view *v)
{
        struct scanner_words words;

        if (s->worker.pid)
                scanner_done(s, v, worker_wait(&s->worker), &words);
}

/* ---- the end ---- */

/* A program that became another one, of which we hear nothing (a static one), seems to end with
 * that. */
static bool fits_end(uint32_t when, uint32_t end)
{
        if (end == PROFILE_END_SIGNAL)
                return when == PROFILE_SCAN_SIGNAL;
        return end == PROFILE_END_EXIT || end == PROFILE_END_GONE ||
               (end == PROFILE_END_EXEC && when == PROFILE_SCAN_EXEC);
}

void scanner_over(struct scanner *s, uint64_t ms)
{
        s->over_ms = ms;
        s->over_when = s->when;
}

bool scanner_is_over(const struct scanner *s)
{
        return s->over_ms && (s->over_when == PROFILE_SCAN_EXIT || s->worker.pid);
}

uint64_t scanner_end_ms(const struct scanner *s, uint32_t end, uint64_t now_ms)
{
        return s->over_ms && fits_end(s->over_when, end) ? s->over_ms : now_ms;
}

#define SCANNER_ADVICE "; 'seep leaks PID' searches it while it runs"

/* Signals by which people end a program that works. */
static bool is_order(uint32_t number)
{
        return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT ||
               number == SIGKILL;
}

/* Why there is no search that counts. */
static void explain(const struct scanner *s, struct profile *p)
{
        const struct profile_meta *m = &p->meta;
        bool tried = s->last_trouble[0] && s->last_when == PROFILE_SCAN_SIGNAL;
        char name[SIGNALS_NAME_BYTES], why[sizeof s->last_trouble + 128];

        if (m->end == PROFILE_END_SIGNAL) {
                signals_name(m->exit_signal, name);
                snprintf(why, sizeof why, "the program was killed by %s%s%s", name,
                         tried                      ? ": "
                         : is_order(m->exit_signal) ? SCANNER_ADVICE
                                                    : "",
                         tried ? s->last_trouble : "");
                scan_trouble(p, why);
        } else if (s->last_trouble[0]) {
                scan_trouble(p, s->last_trouble);
        } else if (p->totals.thin_ms[0] && p->totals.ledger_limit) {
                scan_trouble(p,
                             "the ledger came near its limit (--limit-ledger), and later blocks "
                             "are not known individually");
        } else if (m->stop_reason != LEDGER_STOP_NOT) {
                scan_trouble(p, "the recording had stopped before the program ended");
        } else if (m->end == PROFILE_END_EXEC) {
                scan_trouble(p, "the program executed another one by a direct system call");
        } else {
                scan_trouble(p,
                             "the program ended without going through the C library (a direct "
                             "system call, a sandbox, or a signal)");
        }
}

static void merge_nothing(const struct scanner *s, struct profile *p)
{
        struct profile scanned = { .scans = heap_zero(1, sizeof *scanned.scans), .scan_count = 1 };

        scanned.scans[0] = s->last_nothing;
        scanned.scans[0].trouble = heap_text("");
        scanned.scans[0].suppressions = heap_text("");
        scan_merge(&scanned, p);
}

static bool read_last(const struct scanner *s, struct profile *scanned)
{
        char path[32];
        struct err e;

        snprintf(path, sizeof path, "/proc/self/fd/%d", s->last.fd);
        return s->last.fd >= 0 && file_take(scanned, path, 0, &e);
}

static bool merge_last(struct scanner *s, struct profile *p)
{
        struct profile scanned;

        if (s->last_nothing.trouble) {
                merge_nothing(s, p);
                return true;
        }
        if (!read_last(s, &scanned))
                return false;
        packed_undo_pointers(&scanned);
        scan_merge(&scanned, p);
        return true;
}

bool scanner_has_blocks(struct scanner *s, const struct scanner_order *o, uint32_t end)
{
        wait_for_worker(s, o->view);
        return s->last.fd >= 0 && fits_end(s->last_when, end);
}

bool scanner_adopt(struct scanner *s, struct profile *p)
{
        struct profile scanned;

        return s->adopted = read_last(s, &scanned) && scan_adopt(&scanned, p);
}

/* What it found is about blocks that are not listed. */
static void forget_search(const struct scanner_order *o, struct profile *p)
{
        char why[HEADROOM_WHY_BYTES + 64];

        snprintf(why, sizeof why, "a list of all blocks takes %s", o->unlisted);
        scan_trouble(p, why);
}

void scanner_finish(struct scanner *s, const struct scanner_order *o, struct profile *p)
{
        wait_for_worker(s, o->view);
        if (!(p->meta.flags & WIRE_F_LEAK_SCAN) || s->adopted)
                return;
        if (*o->unlisted)
                forget_search(o, p);
        else if (!fits_end(s->last_when, p->meta.end) || !merge_last(s, p))
                explain(s, p);
}

void scanner_last(struct scanner *s, const struct scanner_order *o, struct profile *p)
{
        struct work w = { .s = s, .o = o };

        wait_for_worker(s, o->view);
        if (!(p->meta.flags & WIRE_F_LEAK_SCAN))
                return;
        s->when = PROFILE_SCAN_ASKED;
        s->request = 0;
        if (launch(&w)) {
                struct scanner_words words;

                scanner_done(s, o->view, worker_wait(&s->worker), &words);
                keep_last(s, &words);
        }
        if (*o->unlisted)
                forget_search(o, p);
        else if (!merge_last(s, p))
                scan_trouble(p, s->last_trouble);
}
