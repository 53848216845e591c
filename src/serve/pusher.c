/* SPDX-License-Identifier: MIT */
/* pusher.c -- the process that looks at recorded processes and sends their profiles. */
#include "serve/pusher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/fdpass.h"
#include "export/export.h"
#include "profile/file.h"
#include "query/select.h"
#include "serve/interval.h"
#include "serve/outbox.h"
#include "serve/latest.h"
#include "session/ask.h"

#define PUSHER_PROCESSES_MAX 256u
#define PUSHER_SIGHTS 4u /* names of so many programs are kept: some megabytes each */
#define PUSHER_FILES_MAX 256u /* descriptors: most systems allow 1024 */
#define PUSHER_NS_PER_MS 1000000ull
#define PUSHER_NS_PER_S 1000000000ull
/* from the observer's end to ours: before we are ended. */
#define PUSHER_LAST_MS (PUSH_PATIENCE_MS - 500u)

/* A recorded process.  One that became another program is another one. */
struct process {
        uint32_t pid;      /* as it sees itself */
        uint64_t start_ns; /* of the recording, by the clock on the wall */
        uint64_t until_s;  /* up to here everything was sent */
        struct interval interval;
};

struct pusher {
        const struct push_request *request;
        const struct push_address *to;
        struct outbox outbox;
        struct latest latests[PUSHER_SIGHTS];
        struct process *processes;
        uint32_t count;
        /* Whom to ask about; those from LOOKED on have their turn yet. */
        uint32_t pids[PUSHER_PROCESSES_MAX], pid_count, looked;
        int files[PUSHER_FILES_MAX]; /* finished recordings that wait for room in the outbox */
        uint32_t file_count, lost; /* LOST: recordings that the observer could not hand over */
        int fd; /* -1: the observer has ended */
        uint64_t look_ns, end_ns;
};

/* ---- processes ---- */

static struct process *find_process(struct pusher *u, const struct profile *p)
{
        for (uint32_t i = 0; i < u->count; i++)
                if (u->processes[i].pid == p->meta.pid &&
                    u->processes[i].start_ns == p->meta.start_realtime_ns)
                        return &u->processes[i];
        u->processes = heap_grow(u->processes, ++u->count, sizeof *u->processes);
        u->processes[u->count - 1] = (struct process){
                .pid = p->meta.pid, .start_ns = p->meta.start_realtime_ns,
                .until_s = p->meta.start_realtime_ns / PUSHER_NS_PER_S };
        return &u->processes[u->count - 1];
}

/* ---- profiles ---- */

static bool make_pprof(const struct latest *latest, struct str *out, struct err *e)
{
        struct select_request all = { .cost = SELECT_LIVE };
        struct selection sel;
        struct export_input in = { .profile = latest->profile, .symbols = latest->symbols,
                                   .sel = &sel, .usual = true };
        bool good;

        if (!select_make(&sel, in.profile, in.symbols, &all, e))
                return false;
        good = export_pprof(&in, out, e);
        select_free(&sel);
        return good;
}

/* P, which is taken, is a look at NOW_NS by the clock on the wall. */
static void send_interval(struct pusher *u, struct profile *p, uint64_t now_ns)
{
        struct process *o = find_process(u, p);
        struct push_subject s = { p->meta.program ? p->meta.program : "",
                                  p->meta.host ? p->meta.host : "", p->meta.pid, o->until_s,
                                  now_ns / PUSHER_NS_PER_S };
        struct latest *latest;
        struct str pprof = { 0 };
        struct err e = { 0 };
        uint64_t start_ns;

        s.until = s.until > s.from ? s.until : s.from + 1;
        o->until_s = s.until;
        interval_take(&o->interval, p);
        latest = latest_take_among(u->latests, PUSHER_SIGHTS, p, u->request->names);
        start_ns = p->meta.start_realtime_ns;
        /* The profile tells its own time, and servers believe that. */
        p->meta.start_realtime_ns = s.from * PUSHER_NS_PER_S;
        p->meta.duration_ms = (s.until - s.from) * 1000;
        if (make_pprof(latest, &pprof, &e))
                outbox_put(&u->outbox, &s, &pprof);
        else
                u->request->say(e.text);
        p->meta.start_realtime_ns = start_ns; /* by which the next one of this process is known */
        str_free(&pprof);
}

static uint64_t wall_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        return (uint64_t)t.tv_sec * PUSHER_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Whoever of those known before is still there knows who else is. */
static void find_pids(struct pusher *u)
{
        uint32_t found[PUSHER_PROCESSES_MAX], count = 0;
        struct err e = { 0 };

        for (uint32_t i = 0; i < u->pid_count && !count; i++)
                count = ask_processes(u->pids[i], found, PUSHER_PROCESSES_MAX, &e);
        if (!count)
                return;
        memcpy(u->pids, found, count * sizeof *found);
        u->pid_count = count;
}

/* One that cannot be looked at has ended, most likely: then its recording comes soon. */
static void look(struct pusher *u, uint32_t pid)
{
        struct profile *p = heap_zero(1, sizeof *p);
        struct err e = { 0 };

        if (ask_look(pid, 0, p, &e))
                send_interval(u, p, wall_ns());
        else
                free(p);
}

/* ---- news of the observer ---- */

static void take_recording(struct pusher *u, int file)
{
        struct profile *p = heap_zero(1, sizeof *p);
        struct process *o;
        struct err e = { 0 };
        char path[32];

        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (!file_read(p, path, &e)) {
                u->request->say(e.text);
                free(p);
                return;
        }
        o = find_process(u, p);
        send_interval(u, p, p->meta.start_realtime_ns + p->meta.duration_ms * PUSHER_NS_PER_MS);
        interval_free(&o->interval);
        *o = u->processes[--u->count];
}

static void note_pid(struct pusher *u, uint32_t pid)
{
        if (u->pid_count == 0)
                u->look_ns = clock_now_ns() + u->request->every_ms * PUSHER_NS_PER_MS;
        if (u->pid_count == PUSHER_PROCESSES_MAX)
                return;
        u->looked += u->looked == u->pid_count; /* its turn is in the next round */
        u->pids[u->pid_count++] = pid;
}

static void send_oldest_file(struct pusher *u)
{
        int file = u->files[0];

        u->file_count--;
        memmove(u->files, u->files + 1, u->file_count * sizeof *u->files);
        take_recording(u, file);
        close(file);
}

/* False: there is none now. */
static bool take_news(struct pusher *u)
{
        struct pusher_news news = { 0 };
        int file;
        ssize_t got = fdpass_receive(u->fd, &news, sizeof news, &file, MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return errno == EINTR;
        if (got != (ssize_t)sizeof news) {
                close(u->fd);
                u->fd = -1;
                u->end_ns = clock_now_ns() + PUSHER_LAST_MS * PUSHER_NS_PER_MS;
                outbox_finish(&u->outbox);
                return false;
        }
        u->lost = news.lost;
        if (news.pid)
                note_pid(u, news.pid);
        if (file >= 0) {
                if (u->file_count == PUSHER_FILES_MAX)
                        send_oldest_file(u);
                u->files[u->file_count++] = file;
        }
        return true;
}

/* ---- the loop ---- */

/* Nothing is looked at, and no recording read, that would push out what waits only for the
 * server to be ready with another: with many processes or a slow server intervals get
 * longer, and nothing is lost. */
static bool has_work(const struct pusher *u)
{
        return (u->file_count || u->looked < u->pid_count) && outbox_is_open(&u->outbox);
}

/* What comes first: a look, another try, our end. */
static uint64_t patience_ms(const struct pusher *u, uint64_t now_ns)
{
        uint64_t first = outbox_due_ns(&u->outbox);

        if (has_work(u))
                return 0;
        first = u->look_ns < first && u->looked == u->pid_count ? u->look_ns : first;
        first = u->end_ns < first ? u->end_ns : first;
        return first == UINT64_MAX ? UINT64_MAX
               : first > now_ns    ? (first - now_ns) / PUSHER_NS_PER_MS + 1
                                   : 0;
}

/* Times are those of the plan, not those of the last look: intervals do not get longer and
 * longer. */
static void begin_round_if_due(struct pusher *u)
{
        uint64_t now_ns = clock_now_ns();

        if (u->fd < 0) {
                u->look_ns = UINT64_MAX;
                u->looked = u->pid_count;
        }
        if (now_ns < u->look_ns || u->looked < u->pid_count)
                return;
        find_pids(u);
        u->looked = 0;
        while (u->look_ns <= now_ns)
                u->look_ns += u->request->every_ms * PUSHER_NS_PER_MS;
}

static void work(struct pusher *u)
{
        if (u->file_count)
                send_oldest_file(u);
        else
                look(u, u->pids[u->looked++]);
}

static bool goes_on(const struct pusher *u)
{
        return u->fd >= 0 ||
               ((!outbox_is_empty(&u->outbox) || u->file_count) && clock_now_ns() < u->end_ns);
}

void pusher_run(const struct push_request *r, const struct push_address *t, struct push_http *h,
                int fd)
{
        struct pusher u = { .request = r, .to = t, .fd = fd, .look_ns = UINT64_MAX,
                            .end_ns = UINT64_MAX };

        outbox_init(&u.outbox, t, h, r->say);
        while (goes_on(&u)) {
                if (push_http_wait(h, u.fd, patience_ms(&u, clock_now_ns())))
                        while (take_news(&u))
                                ;
                begin_round_if_due(&u);
                if (has_work(&u))
                        work(&u);
                outbox_step(&u.outbox);
        }
        outbox_close(&u.outbox, u.file_count + u.lost);
        for (uint32_t i = 0; i < u.count; i++)
                interval_free(&u.processes[i].interval);
        for (uint32_t i = 0; i < PUSHER_SIGHTS; i++)
                latest_free(&u.latests[i]);
        free(u.processes);
}
