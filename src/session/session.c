/* SPDX-License-Identifier: MIT */
/*
 * session.c -- one run of `seep record`: the program, those it starts, and their recordings.
 *
 * Cost:   while recording, 100 wake-ups a second of about 10 us each, and the slices (at most 0.7
 *         %).
 */
#include "session/session_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/launch.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/headroom.h"
#include "base/heap.h"
#include "profile/image.h"
#include "session/endpoint.h"
#include "session/filters.h"
#include "session/verbose.h"

#define SESSION_TICK_MS 10
#define SESSION_TICK_NS (SESSION_TICK_MS * 1000000ull)
#define SESSION_SHORT_STEPS 4u     /* recordings at once, at most, with shorter
                                    * steps at their beginning */
#define SESSION_FAMILY_MS 100      /* between looks for processes that have not said hello yet */
#define SESSION_SLOW_TICKS 16u     /* what need not be done at each tick is done at each such */
#define SESSION_SILENCE_TICKS 100u /* a silent program is looked at for a second, then once a
                                    * second */
#define SESSION_EXEC_TICKS 4u      /* where a process that becomes another program gets
                                    * another observer: make room */
#define SESSION_TIDY_TICKS 100u    /* a session that lives so long tidies up after others */
#define SESSION_HELLO_MS 10000     /* a program that is there already says hello within a
                                    * moment, or its agent gave up */

/* ---- opening and closing ---- */

static void make_plan(struct session *s)
{
        s->plan = (struct recording_plan){
                .depth = s->o.depth,
                .follow = s->o.follow,
                .visit = s->o.visit,
                .snapshot_every_ms = s->o.snapshot_every_ms,
                .snapshot_rss_bytes = s->o.snapshot_rss_bytes,
                .log = { s->o.max_file_bytes, s->o.max_files },
                .scan_flags = s->o.scan_flags,
                .output = s->o.output,
                .unread = !s->o.done,
                .carrier = s->o.carrier,
                .author = s->o.author,
                .context = s,
                .told = session_tell_report,
                .scanned = session_tell_scan,
        };
}

_Static_assert(sizeof((struct listener *)0)->path < WIRE_SESSION_MAX - REGEX_MAX - 128,
               "path and numbers fit");

static void write_environment(struct session *s)
{
        static const char *const follow[] = { "none", "exec", "all" };
        const struct session_options *o = &s->o;
        char omit[REGEX_MAX + 24] = "";

        if (o->flags & WIRE_F_OMIT)
                snprintf(omit, sizeof omit, "%zx:%s:", strlen(o->omit), o->omit);
        snprintf(s->environment, sizeof s->environment,
                 "%d:%s:%0*" PRIx64 ":%x:%" PRIx64 ":%" PRIx64 ":%x:%" PRIx64 ":%" PRIx64 ":%x:%"
                 PRIx64 ":%s%s", WIRE_SESSION_VERSION, follow[o->follow], WIRE_FLAGS_DIGITS,
                 (uint64_t)o->flags, o->signal, o->limit_bytes, o->snapshot_heap_bytes,
                 (unsigned)getpid(), o->sample_bytes, o->quarantine_bytes, o->fill, o->ledger_bytes,
                 omit, s->listener.path);
}

static bool start_breakpoints(struct session *s, struct err *e)
{
        s->wishes = (struct breakpoint_wishes){
                .socket = s->listener.path,
                .omit = s->o.omit,
                .flags = s->o.flags,
                .follow_fork = s->o.follow == SESSION_FOLLOW_ALL,
                .follow_exec = s->o.follow != SESSION_FOLLOW_NONE,
        };
        if (!breakpoint_start(&s->breakpoints, &s->wishes, e))
                return false;
        s->plan.first_tracer = s->breakpoints.fd;
        return true;
}

struct session *session_open(const struct session_options *o, struct err *e)
{
        struct session *s = heap_zero(1, sizeof *s);

        if (*o->output->pattern)
                image_prepare(); /* a recording that cannot be written must not be made */
        s->o = *o;
        s->o.flags |= o->carrier->flags;
        s->lingering.wait_ms = o->wait_ms;
        s->begin_ns = clock_now_ns();
        s->members.owner = o->uid;
        s->connections = (struct connections){ .context = s, .hear = session_hear };
        make_plan(s);
        s->endpoint = -1;
        s->breakpoints = WORKER_NONE;
        s->timer = -1;
        s->listener.fd = -1;
        if (!relay_open(&s->relay, e)) {
                free(s);
                return NULL;
        }
        s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (s->timer < 0)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot create a timer");
        if (s->timer < 0 || !listener_open(&s->listener, o->uid, o->carrier->borrowed, e)) {
                session_close(s);
                return NULL;
        }
        s->o.flags |= filters_tell(s->listener.directory);
        write_environment(s);
        if (o->carrier->breakpoints && !start_breakpoints(s, e)) {
                session_close(s);
                return NULL;
        }
        return s;
}

void session_close(struct session *s)
{
        breakpoint_end(&s->breakpoints);
        connections_close(&s->connections);
        for (uint32_t i = 0; i < s->count; i++)
                recording_free(s->recordings[i], false);
        free(s->departed.at);
        if (s->timer >= 0)
                close(s->timer);
        if (s->endpoint >= 0)
                close(s->endpoint);
        listener_close(&s->listener);
        relay_close(&s->relay);
        free(s->recordings);
        free(s->polls);
        free(s->main_path);
        free(s->main_first);
        free(s->main_last);
        free(s->dismissed);
        launch_abandon(s->launch);
        launch_free(s->launch);
        for (uint32_t i = 0; i < s->launch_count; i++) {
                launch_abandon(s->launches[i]);
                launch_free(s->launches[i]);
        }
        for (uint32_t i = 0; i < s->unfit_count; i++)
                free(s->unfit[i]);
        free(s->launches);
        free(s->unfit);
        free(s);
}

const char *session_agent(struct session *s, const char *agent, struct err *e)
{
        if (!strpbrk(agent, " :"))
                return agent;
        return listener_alias(&s->listener, agent, e) ? s->listener.alias : NULL;
}

bool session_trace(void *session, pid_t pid, struct err *e)
{
        struct session *s = session;

        return breakpoint_trace(&s->breakpoints, pid, e);
}

void session_take_over(struct session *s, pid_t pid)
{
        s->endpoint = endpoint_take_over((uint32_t)pid);
}

const char *session_environment(const struct session *s)
{
        return s->environment;
}

const char *session_socket(const struct session *s)
{
        return s->listener.path;
}

const struct spawn_signals *session_signals(const struct session *s)
{
        return &s->relay.before;
}

/* The clock runs while someone reads it, or while nobody has come and we wonder why; faster for the
 * first seconds of a program. */
static void set_ticking(struct session *s)
{
        uint64_t step = s->count > 0 || (s->made == 0 && s->main_pid) ? SESSION_TICK_NS : 0;
        uint64_t wanted = s->count - 1 < SESSION_SHORT_STEPS
                                  ? recording_step_ms(s->recordings[s->count - 1]) * 1000000u
                                  : 0;
        struct itimerspec t = { 0 };

        step = wanted && wanted < step ? wanted : step;
        if (step == s->step_ns)
                return;
        t.it_value.tv_nsec = t.it_interval.tv_nsec = (long)step;
        timerfd_settime(s->timer, 0, &t, NULL);
        s->step_ns = step;
}

/* ---- ticks ---- */

static void tick(struct session *s)
{
        uint64_t expired, now = clock_now_ns();
        uint32_t turn; /* of one recording after the other */

        if (read(s->timer, &expired, sizeof expired) != (ssize_t)sizeof expired)
                return;
        if (now + s->step_ns / 2 < s->tick_ns) {
                for (uint32_t i = 0; i < s->count; i++)
                        recording_cut(s->recordings[i], now);
                return;
        }
        s->tick_ns = now + SESSION_TICK_NS;
        s->connections.crowded = false;
        for (uint32_t i = 0; i < s->count; i++) {
                recording_tick(s->recordings[i], now);
                verbose_look(&s->o, s->recordings[i]);
                verbose_signal(&s->o, s->recordings[i], s->recordings[i]->pid == s->main_id);
        }
        if (s->o.duration_ms && now >= s->begin_ns + s->o.duration_ms * 1000000u)
                s->stop = true;
        /* Whoever observed what this process was before may still hold it. */
        if (s->endpoint < 0 && s->main_id && s->o.carrier->one_program)
                s->endpoint = endpoint_open(s->main_id);
        if (++s->ticks % (s->o.carrier->one_program ? SESSION_EXEC_TICKS : SESSION_SLOW_TICKS) == 0)
                session_find_execs(s);
        if (s->ticks == SESSION_TIDY_TICKS)
                listener_tidy(&s->listener);
        turn = s->ticks % (s->count > SESSION_SLOW_TICKS ? s->count : SESSION_SLOW_TICKS);
        if (turn < s->count)
                filters_look(&s->recordings[turn]->view, (pid_t)s->recordings[turn]->pid);
        if (s->made == 0 && s->main_pid &&
            (s->ticks < SESSION_SILENCE_TICKS || s->ticks % SESSION_SILENCE_TICKS == 0))
                diagnosis_look(&s->diagnosis, s->main_pid, s->o.uid);
}

/* ---- children of ours ---- */

static void main_changed(struct session *s, int status)
{
        if (session_other_changed(s, s->main_pid, status) && WIFSTOPPED(status))
                return; /* it starts a program, or becomes one */
        if (WIFSTOPPED(status) && s->launch) {
                session_launched(s, status);
                return;
        }
        if (WIFSTOPPED(status)) {
                relay_stopped(s->main_pid, WSTOPSIG(status));
                return;
        }
        s->status = status;
        s->main_pid = 0;
        do {
                session_take_hellos(s, true); /* what it sent before it died */
                session_finish_main(s);
                session_find_ended(s);
        } while (s->connections.starved && listener_has_room());
}

static void writer_ended(struct session *s, pid_t pid, int status, const struct rusage *use)
{
        uint64_t cpu_ns = (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000000u +
                          (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec) * 1000u;

        for (uint32_t i = 0; i < s->count; i++) {
                struct recording *r = s->recordings[i];
                bool failed_before = r->checkpoint.failed;

                if (recording_child_ended(r, pid, status, cpu_ns) && r->checkpoint.failed &&
                    !failed_before)
                        session_say(s, SESSION_TROUBLE,
                                    "cannot write to %s now (disk full?); continuing, and trying "
                                    "again", r->path);
        }
        departed_child_ended(&s->departed, pid, status, cpu_ns);
        session_finish_departed(s, false);
}

static void reap(struct session *s)
{
        struct rusage use;
        int status;
        pid_t pid;

        while ((pid = relay_child()) > 0) {
                bool alone = pid == s->main_pid && process_is_childless((uint32_t)pid);

                if (pid == s->main_pid)
                        diagnosis_limits(&s->diagnosis, pid);
                if (wait4(pid, &status, WNOHANG | WUNTRACED, &use) != pid)
                        continue; /* goes on meanwhile */
                s->main_rss_bytes = alone ? (uint64_t)use.ru_maxrss * 1024 : 0;
                if (pid == s->main_pid)
                        main_changed(s, status);
                else if (!session_other_changed(s, pid, status) && !WIFSTOPPED(status))
                        writer_ended(s, pid, status, &use);
        }
}

static void take_signals(struct session *s)
{
        enum relay_event event;

        while ((event = relay_next(&s->relay, s->main_pid)) != RELAY_NOTHING) {
                if (event == RELAY_CHILD)
                        reap(s);
                /* else: that is to be written, whatever comes. */
                if (event == RELAY_STOP && !s->o.carrier->last_report)
                        s->stop = true;
        }
}

/* ---- the loop ---- */

static struct lingering_among among(const struct session *s)
{
        return (struct lingering_among){ s->recordings, s->count, s->environment,
                                         s->children_announced, s->children_come };
}

/* On a busy machine its loader takes longer than we need to see that it is another program. */
static bool is_becoming(const struct session *s)
{
        char state = s->becoming ? process_state(s->becoming) : 0;

        return state && state != 'Z' && state != 'X' && !s->o.carrier->one_program &&
               s->o.follow != SESSION_FOLLOW_NONE &&
               clock_now_ns() < s->becoming_ns + SESSION_HELLO_MS * 1000000ull;
}

static bool wait_for_visitor(struct session *s)
{
        struct lingering_among left = among(s);
        bool gone = s->main_id && kill((pid_t)s->main_id, 0) < 0 && errno == ESRCH;

        if (s->made == 0)
                return !gone && clock_now_ns() < s->begin_ns + SESSION_HELLO_MS * 1000000ull;
        return s->count > 0 || is_becoming(s) ||
               (s->o.follow == SESSION_FOLLOW_ALL && lingering_children(&s->lingering, &left));
}

static bool wait_for_more(struct session *s)
{
        struct lingering_among left = among(s);
        char *names;

        if (s->stop)
                return false;
        if (s->main_pid || s->departed.count)
                return true;
        if (!s->o.carrier->child)
                return wait_for_visitor(s);
        if (!lingering_lasts(&s->lingering, &left))
                return false;
        names = lingering_news(&s->lingering, &left);
        if (names)
                session_say(s, SESSION_NOTE,
                            "%s has ended; waiting for what it started: %s (Ctrl-C or "
                            "--wait=program: no waiting)", s->o.program, names);
        free(names);
        return true;
}

static uint32_t fill_polls(struct session *s)
{
        uint32_t n = 0;

        s->polls = heap_grow(s->polls, 4 + CONNECTIONS_MAX + s->count, sizeof *s->polls);
        s->polls[n++] = (struct pollfd){ .fd = s->relay.fd, .events = POLLIN };
        s->polls[n++] = (struct pollfd){ .fd = s->timer, .events = POLLIN };
        s->polls[n++] = (struct pollfd){ .fd = s->connections.starved ? -1 : s->listener.fd,
                                         .events = POLLIN };
        s->polls[n++] = (struct pollfd){ .fd = s->connections.starved || (s->connections.crowded &&
                                                                          s->step_ns)
                                                       ? -1
                                                       : s->endpoint,
                                         .events = POLLIN };
        n += connections_polls(&s->connections, s->polls + n);
        for (uint32_t i = 0; i < s->count; i++)
                if ((s->recordings[i]->pid != s->main_id || !s->main_pid) &&
                    s->recordings[i]->pidfd >= 0)
                        s->polls[n++] = (struct pollfd){ .fd = s->recordings[i]->pidfd,
                                                         .events = POLLIN };
        return n;
}

static bool any_ready(const struct pollfd *polls, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (polls[i].revents)
                        return true;
        return false;
}

static void run_loop(struct session *s)
{
        while (wait_for_more(s)) {
                uint32_t n = fill_polls(s), pending = s->connections.count;
                bool signals, ticks;

                set_ticking(s);
                if (poll(s->polls, n,
                         s->main_pid || s->count ? connections_wait_ms(&s->connections)
                                                 : SESSION_FAMILY_MS) < 0 &&
                    errno != EINTR)
                        break;
                signals = s->polls[0].revents;
                ticks = s->polls[1].revents;
                if (s->connections.starved || pending || any_ready(s->polls + 2, 2))
                        session_take_hellos(s, false);
                if (ticks)
                        tick(s);
                if (any_ready(s->polls + 4 + pending, n - 4 - pending) ||
                    s->ticks % SESSION_SLOW_TICKS == 0)
                        session_find_ended(s);
                if (signals)
                        take_signals(s);
        }
}

/* The kernel counts to a program what was resident of us when it was forked.  What getrusage() says
 * of us has the same of whoever started us in it, which is often more than the program needs. */
static uint64_t own_peak_rss(void)
{
        uint64_t bytes = process_peak_rss((uint32_t)getpid());
        struct rusage own;

        getrusage(RUSAGE_SELF, &own);
        return bytes ? bytes : (uint64_t)own.ru_maxrss * 1024;
}

void session_run(struct session *s, pid_t pid, struct session_end *end)
{
        if (s->o.carrier->child) { /* of others the kernel does not tell us how they ended */
                s->own_rss_bytes = own_peak_rss();
                s->kills = headroom_kills();
                s->main_pid = pid;
        }
        s->main_id = (uint32_t)pid;
        if (s->endpoint < 0 && pid)
                s->endpoint = endpoint_open(s->main_id);
        connections_raise_limit();
        run_loop(s);
        if ((s->o.carrier->leaves || s->injected_plan.carrier) && s->stop && !s->o.visit)
                session_leave(s);
        do {
                session_take_hellos(s, true);
                session_find_ended(s);
                session_finish_all(s);
        } while (s->connections.starved && listener_has_room());
        breakpoint_end(&s->breakpoints);
        session_dismissed(s);
        *end = (struct session_end){ .status = s->status, .running = s->main_pid != 0,
                                     .recordings = s->made };
        if (s->made == 0 && s->o.program)
                diagnosis_explain(&s->diagnosis, s->o.program, s->status, end->diagnosis,
                                  sizeof end->diagnosis);
}

void session_wait(struct session *s, struct session_end *end)
{
        struct pollfd signals = { .fd = s->relay.fd, .events = POLLIN };

        close(s->listener.fd);
        s->listener.fd = -1;
        while (s->main_pid) {
                take_signals(s);
                if (s->main_pid && poll(&signals, 1, -1) < 0 && errno != EINTR)
                        break;
        }
        end->status = s->status;
        end->running = false;
}
