/* SPDX-License-Identifier: MIT */
/*
 * session.c -- one run of `seep record`: the program, those it starts, and their recordings.
 *
 * Cost:   while recording, 100 wake-ups a second of about 10 us each, and the slices (at most 0.7 %).
 */
#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/room.h"
#include "profile/packed.h"
#include "session/endpoint.h"
#include "session/family.h"
#include "session/filters.h"
#include "session/listener.h"
#include "session/lingering.h"
#include "session/members.h"
#include "session/recording.h"
#include "session/relay.h"
#include "session/requests.h"
#include "session/diagnosis.h"
#include "session/verbose.h"
#include "session/connections.h"
#include "wire/hello.h"

#define SESSION_TICK_MS 10
#define SESSION_TICK_NS (SESSION_TICK_MS * 1000000ull)
#define SESSION_SHORT_STEPS 4u     /* recordings at once, at most, with shorter steps at their beginning */
#define SESSION_FAMILY_MS 100      /* between looks for processes that have not said hello yet */
#define SESSION_SLOW_TICKS 16u     /* what need not be done at each tick is done at each such */
#define SESSION_SILENCE_TICKS 100u /* a silent program is looked at for a second, then once a second */
#define SESSION_EXEC_TICKS 4u      /* where a process that becomes another program gets another observer: make room */
#define SESSION_HELLO_MS 10000     /* a program that is there already says hello within a moment, or its agent gave up */

struct session {
        struct session_options o;
        struct recording_plan plan;
        struct listener listener;
        int endpoint; /* for commands that know the main process only; -1 */
        struct relay relay;
        int timer;
        uint64_t step_ns; /* of the clock; 0: it stands still */
        uint64_t tick_ns; /* when the next whole tick is due */
        uint32_t ticks;
        char environment[WIRE_SESSION_MAX];

        struct recording **recordings;
        uint32_t count, made;
        struct connections connections;
        struct members members;
        struct pollfd *polls;

        pid_t main_pid; /* 0: ended */
        uint32_t main_id;
        uint32_t main_programs; /* how many programs with an agent the main process has been */
        char *main_path;        /* where the recording of the last of them should go */
        int status;
        uint64_t kills, own_rss_bytes, main_rss_bytes; /* room_kills() at the start; the last one 0: not known to be its own */
        struct lingering lingering;
        bool stop, told_stranger, told_elsewhere, told_failed, told_left;
        uint64_t begin_ns;
        struct diagnosis diagnosis;
        uint64_t children_announced, children_come; /* forked ones, with --follow=all */
};

static void say(struct session *s, enum session_level level, const char *format, ...)
{
        char text[2400];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof text, format, ap);
        va_end(ap);
        s->o.say(s->o.context, level, text);
}

/* ---- what the user is told ---- */

static void tell_report(void *context, const struct recording *r, const struct snapshots_due *due, const struct reports_result *result)
{
        struct session *s = context;
        char text[2048];

        if (result->written)
                s->o.reported(s->o.context, r->program, r->pid, result->path);
        if (answers_word(&s->o, r, due, result, text, sizeof text))
                say(s, due->type != LEDGER_MARK_LIMIT && s->told_failed ? SESSION_DETAIL : SESSION_TROUBLE, "%s", text);
        else
                say(s, SESSION_DETAIL, "snapshot %u of %s (pid %u): report in %s", result->seq, r->program, r->pid, result->path);
        s->told_failed = s->told_failed || !result->written; /* a thousand signals: once is enough */
        if (result->elsewhere && !s->told_elsewhere)
                say(s, SESSION_TROUBLE, "%s; it is in %s", result->why, result->path);
        s->told_elsewhere = s->told_elsewhere || result->elsewhere;
        if (due->asker >= 0)
                answers_reply(due, result);
}

static void tell_scan(void *context, const struct recording *r, const struct scanner_words *words)
{
        char text[1400];

        answers_scan(r, words, text, sizeof text);
        say(context, words->good ? SESSION_ADVICE : SESSION_TROUBLE, "%s", text);
}

/* ---- opening and closing ---- */

static bool listen_to(void *context, int fd);

static void make_plan(struct session *s)
{
        s->plan = (struct recording_plan){
                .depth = s->o.depth,
                .snapshot_every_ms = s->o.snapshot_every_ms, .snapshot_rss_bytes = s->o.snapshot_rss_bytes,
                .log = { s->o.max_file_bytes, s->o.max_files },
                .scan_flags = s->o.scan_flags,
                .output = s->o.output,
                .carrier = s->o.carrier, .author = s->o.author,
                .context = s, .told = tell_report, .scanned = tell_scan,
        };
}

_Static_assert(sizeof((struct listener *)0)->path < WIRE_SESSION_MAX - REGEX_MAX - 128, "path and numbers fit");

static void write_environment(struct session *s)
{
        static const char *const follow[] = { "none", "exec", "all" };
        const struct session_options *o = &s->o;
        char omit[REGEX_MAX + 24] = "";

        if (o->flags & WIRE_F_OMIT)
                snprintf(omit, sizeof omit, "%zx:%s:", strlen(o->omit), o->omit);
        snprintf(s->environment, sizeof s->environment, "%d:%s:%0*" PRIx64 ":%x:%" PRIx64 ":%" PRIx64 ":%x:%" PRIx64 ":%" PRIx64 ":%x:%" PRIx64 ":%s%s",
                 WIRE_SESSION_VERSION, follow[o->follow], WIRE_FLAGS_DIGITS, (uint64_t)o->flags, o->signal, o->limit_bytes, o->snapshot_heap_bytes,
                 (unsigned)getpid(), o->sample_bytes, o->quarantine_bytes, o->fill, o->ledger_bytes, omit, s->listener.path);
}

struct session *session_open(const struct session_options *o, struct err *e)
{
        struct session *s = heap_zero(1, sizeof *s);

        s->o = *o;
        s->o.flags |= o->carrier->flags;
        s->lingering.wait_ms = o->wait_ms;
        s->begin_ns = clock_now_ns();
        s->members.owner = o->uid;
        s->connections = (struct connections){ .context = s, .hear = listen_to };
        make_plan(s);
        s->endpoint = -1;
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
        return s;
}

void session_close(struct session *s)
{
        connections_close(&s->connections);
        for (uint32_t i = 0; i < s->count; i++)
                recording_free(s->recordings[i], false);
        if (s->timer >= 0)
                close(s->timer);
        if (s->endpoint >= 0)
                close(s->endpoint);
        listener_close(&s->listener);
        relay_close(&s->relay);
        free(s->recordings);
        free(s->polls);
        free(s->main_path);
        free(s);
}

const char *session_agent(struct session *s, const char *agent, struct err *e)
{
        if (!strpbrk(agent, " :"))
                return agent;
        return listener_alias(&s->listener, agent, e) ? s->listener.alias : NULL;
}

void session_take_over(struct session *s, pid_t pid)
{
        s->endpoint = endpoint_take_over((uint32_t)pid);
}

const char *session_environment(const struct session *s)
{
        return s->environment;
}

const struct spawn_signals *session_signals(const struct session *s)
{
        return &s->relay.before;
}

/* The clock runs while someone reads it, or while nobody has come and we wonder why; faster for the first seconds of a program. */
static void set_ticking(struct session *s)
{
        uint64_t step = s->count > 0 || (s->made == 0 && s->main_pid) ? SESSION_TICK_NS : 0;
        uint64_t wanted = s->count - 1 < SESSION_SHORT_STEPS ? recording_step_ms(s->recordings[s->count - 1]) * 1000000u : 0;
        struct itimerspec t = { 0 };

        step = wanted && wanted < step ? wanted : step;
        if (step == s->step_ns)
                return;
        t.it_value.tv_nsec = t.it_interval.tv_nsec = (long)step;
        timerfd_settime(s->timer, 0, &t, NULL);
        s->step_ns = step;
}

/* ---- the end of a recording ---- */

static void finish(struct session *s, uint32_t index, const struct recording_end *end)
{
        struct recording *r = s->recordings[index];
        struct profile p;
        struct err why = { 0 };
        char *wanted = heap_text(r->path);
        bool written;

        s->recordings[index] = s->recordings[--s->count];
        s->plan.recordings = s->count;
        recording_finish(r, end, clock_now_ns(), &p);
        verbose_end(&s->o, r, end);
        verbose_signal(&s->o, r, r->pid == s->main_id);
        s->children_announced += r->view.head.forks_followed;
        written = *wanted && output_write(s->o.output, &p, &r->path, true, &why);
        if (*wanted && !written)
                say(s, SESSION_TROUBLE, "the recording of %s (pid %u) could not be written anywhere: %s", r->program, r->pid, why.text);
        else if (*wanted && strcmp(wanted, r->path) != 0)
                say(s, SESSION_TROUBLE, "%s; this recording is in %s", why.text, r->path);
        if (p.block_count < PACKED_LEAST)
                packed_undo(&p);
        s->o.done(s->o.context, &p, r->path, written, r->pid == s->main_id);
        profile_free(&p);
        free(wanted);
        recording_free(r, written);
}

static void finish_all(struct session *s, enum profile_end how)
{
        struct recording_end end = { .end = how };

        while (s->count)
                finish(s, s->count - 1, &end);
}

/* The main process ended: the kernel told us how, and how much memory it had at most.  That number covers all
 * programs the process has been and our own image before the first, so it counts only when it can be no other's, or
 * when its only program was too quick to be measured. */
static void finish_main(struct session *s)
{
        uint32_t signal = WIFSIGNALED(s->status) ? (uint32_t)WTERMSIG(s->status) : 0;
        struct recording_end end = { .end = signal ? PROFILE_END_SIGNAL : PROFILE_END_EXIT, .signal = signal,
                                     .code = WIFEXITED(s->status) ? (uint32_t)WEXITSTATUS(s->status) : 0 };

        end.starved = signal == SIGKILL && room_kills() > s->kills;
        for (uint32_t i = s->count; i-- > 0;) {
                const struct recording *r = s->recordings[i];

                if (r->pid != s->main_id)
                        continue;
                if ((s->diagnosis.left |= view_is_leaving(&r->view)))
                        end = (struct recording_end){ .end = PROFILE_END_EXEC };
                end.rss_seen = s->main_programs == 1 && s->main_rss_bytes && s->main_rss_bytes <= s->own_rss_bytes;
                if (s->main_programs == 1 && (r->rss.peak_bytes == 0 || s->main_rss_bytes > s->own_rss_bytes))
                        end.rss_peak_bytes = s->main_rss_bytes;
                finish(s, i, &end);
        }
}

/* The recording of what it was before must not pass for that of what it became. */
static void tell_left(struct session *s)
{
        if (s->diagnosis.left && !s->told_left)
                say(s, SESSION_TROUBLE, "the program was replaced by one that is not recorded: %s", diagnosis_left(&s->diagnosis));
        s->told_left = s->told_left || s->diagnosis.left;
}

/* Other processes than the main one: how they ended is known to their parents only. */
static void find_ended(struct session *s)
{
        struct recording_end end = { .end = PROFILE_END_GONE };

        for (uint32_t i = s->count; i-- > 0;)
                if ((s->recordings[i]->pid != s->main_id || !s->main_pid) && recording_is_gone(s->recordings[i]))
                        finish(s, i, &end);
}

/* ---- hellos ---- */

static void finish_earlier_programs(struct session *s, uint32_t pid)
{
        for (uint32_t i = s->count; i-- > 0;) {
                struct recording_end end = { .end = PROFILE_END_EXEC };

                if (s->recordings[i]->pid != pid || pid == 0)
                        continue;
                if (recording_is_gone(s->recordings[i]))
                        end.end = PROFILE_END_GONE; /* the number was given to another process meanwhile */
                finish(s, i, &end);
        }
}

static const char *program_name(const struct session *s, const struct greeting *g, bool first)
{
        if (first && s->o.program)
                return s->o.program;
        if (first && g->view.head.command[0])
                return g->view.head.command; /* its first word, as typed */
        return g->view.head.exe[0] ? g->view.head.exe : g->view.head.command;
}

/* The main process's name for its recording is that of its last program: `sh -c 'exec tool'` is about the tool. */
static char *main_name(struct session *s, const char *program, uint32_t pid)
{
        char *there = s->main_path ? output_make_room(s->o.output, program, pid, s->made, s->main_path) : NULL;

        if (there)
                s->o.moved(s->o.context, s->main_path, there);
        free(there);
        free(s->main_path);
        s->main_path = output_name(s->o.output, program, pid, s->made, true);
        return heap_text(s->main_path);
}

/* "": no recording is wanted, only reports. */
static char *recording_name(struct session *s, const char *program, uint32_t pid, bool is_main)
{
        if (!*s->o.output->pattern)
                return heap_text("");
        return is_main ? main_name(s, program, pid) : output_name(s->o.output, program, pid, s->made, false);
}

static void welcome(struct session *s, struct greeting *g)
{
        bool is_main, first;
        const char *program;
        struct recording *r;

        if (s->main_id == 0)
                s->main_id = g->pid;
        is_main = g->pid == s->main_id;
        first = is_main && s->main_programs == 0;
        program = program_name(s, g, first);
        if (s->o.follow == SESSION_FOLLOW_NONE && !is_main) {
                listener_leave(g);
                return;
        }
        finish_earlier_programs(s, g->pid);
        s->made++;
        s->children_come += g->hello.reason == WIRE_HELLO_FORK;
        s->main_programs += is_main;
        s->diagnosis.left = s->diagnosis.left && !is_main;
        r = recording_new(&g->view, g->pid, g->pidfd, heap_text(program), recording_name(s, program, g->pid, is_main), &s->plan);
        s->recordings = heap_grow(s->recordings, s->count + 1, sizeof *s->recordings);
        s->recordings[s->count++] = r;
        s->plan.recordings = s->count;
        say(s, first && !s->o.carrier->borrowed ? SESSION_NOTE : SESSION_DETAIL, "recording %s (pid %u) by %s, to %s", program, g->pid,
            s->o.carrier->engine, *r->path ? r->path : "reports only");
        verbose_begin(&s->o, r, g->hello.reason == WIRE_HELLO_FORK);
        recording_tick(r, clock_now_ns());
}

static void find_execs(struct session *s)
{
        struct recording_end end = { .end = PROFILE_END_EXEC };

        for (uint32_t i = s->count; i-- > 0;)
                if (recording_has_execed(s->recordings[i])) {
                        s->diagnosis.left = s->diagnosis.left || s->recordings[i]->pid == s->main_id;
                        finish(s, i, &end);
                }
}

/* Somebody waits for a mark.  PID 0: it cannot be told who.  A stranger who knocks has taken over a process of ours (session/endpoint.c). */
static void serve_knock(struct session *s, uint32_t pid, uid_t uid)
{
        bool known = false;

        for (uint32_t i = 0; i < s->count; i++)
                if (pid == 0 || s->recordings[i]->pid == pid) {
                        recording_knock(s->recordings[i], clock_now_ns());
                        verbose_signal(&s->o, s->recordings[i], s->recordings[i]->pid == s->main_id);
                        known = true;
                }
        if (!known && members_know(&s->members, uid))
                find_execs(s);
}

static void tell_stranger(struct session *s, const struct err *e)
{
        if (e->text[0] && !s->told_stranger)
                say(s, SESSION_TROUBLE, "%s", e->text);
        s->told_stranger = s->told_stranger || e->text[0];
}

/* A process that belongs here, or one that has to do without us. */
static void meet(struct session *s, struct greeting *g, struct err *e)
{
        s->members.main = s->main_id ? s->main_id : g->pid;
        if (members_admit(&s->members, &(struct members_tree){ s->recordings, s->count }, g, e)) {
                welcome(s, g);
        } else {
                tell_stranger(s, e);
                listener_leave(g);
        }
}

static bool listen_to(void *context, int fd)
{
        struct session *s = context;
        struct greeting g = { .pidfd = -1 };
        struct err e = { 0 };

        switch (listener_receive(fd, &g, &e)) {
        case LISTENER_LATER:
                return false;
        case LISTENER_COME:
                meet(s, &g, &e);
                break;
        case LISTENER_KNOCKED:
                serve_knock(s, g.pid, g.uid);
                break;
        case LISTENER_ASKED:
                if (members_may_ask(&s->members, g.uid))
                        find_execs(s);
                requests_serve(&(struct requests_among){ s->recordings, s->count, members_may_ask(&s->members, g.uid) }, &g.request, fd);
                return true;
        case LISTENER_WRONG:
                tell_stranger(s, &e);
                break;
        }
        close(fd);
        return true;
}

/* With nobody recorded, nobody will end and make room. */
static void tell_starved(struct session *s)
{
        if (s->connections.starved && s->count == 0 && !s->diagnosis.starved) {
                say(s, SESSION_TROUBLE, "there are too few file descriptors to record with; allow more (ulimit -n)");
                s->diagnosis.starved = true;
        }
}

static void take_hellos(struct session *s, bool all)
{
        connections_take(&s->connections, s->listener.fd, s->endpoint, all);
        tell_starved(s);
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
        if (s->endpoint < 0 && s->main_id && s->o.carrier->one_program) /* whoever observed what this process was before may still hold it */
                s->endpoint = endpoint_open(s->main_id);
        if (++s->ticks % (s->o.carrier->one_program ? SESSION_EXEC_TICKS : SESSION_SLOW_TICKS) == 0)
                find_execs(s);
        turn = s->ticks % (s->count > SESSION_SLOW_TICKS ? s->count : SESSION_SLOW_TICKS);
        if (turn < s->count)
                filters_look(&s->recordings[turn]->view, (pid_t)s->recordings[turn]->pid);
        if (s->made == 0 && s->main_pid && (s->ticks < SESSION_SILENCE_TICKS || s->ticks % SESSION_SILENCE_TICKS == 0))
                diagnosis_look(&s->diagnosis, s->main_pid, s->o.uid);
}

/* ---- children of ours ---- */

static void main_changed(struct session *s, int status)
{
        if (WIFSTOPPED(status)) {
                relay_stopped(s->main_pid, WSTOPSIG(status));
                return;
        }
        s->status = status;
        s->main_pid = 0;
        do {
                take_hellos(s, true); /* what it sent before it died */
                finish_main(s);
                tell_left(s);
                find_ended(s);
        } while (s->connections.starved && listener_has_room());
}

static void writer_ended(struct session *s, pid_t pid, int status, const struct rusage *use)
{
        uint64_t cpu_ns = (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000000u +
                          (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec) * 1000u;

        for (uint32_t i = 0; i < s->count; i++) {
                struct recording *r = s->recordings[i];
                bool failed_before = r->checkpoint.failed;

                if (recording_child_ended(r, pid, status, cpu_ns) && r->checkpoint.failed && !failed_before)
                        say(s, SESSION_TROUBLE, "cannot write to %s now (disk full?); continuing, and trying again", r->path);
        }
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
                else if (!WIFSTOPPED(status))
                        writer_ended(s, pid, status, &use);
        }
}

static void take_signals(struct session *s)
{
        enum relay_event event;

        while ((event = relay_next(&s->relay, s->main_pid)) != RELAY_NOTHING) {
                if (event == RELAY_CHILD)
                        reap(s);
                if (event == RELAY_STOP && !s->o.carrier->last_report) /* else: that is to be written, whatever comes */
                        s->stop = true;
        }
}

/* ---- the loop ---- */

static struct lingering_among among(const struct session *s)
{
        return (struct lingering_among){ s->recordings, s->count, s->environment, s->children_announced, s->children_come };
}

static bool wait_for_visitor(struct session *s)
{
        struct lingering_among left = among(s);
        bool gone = s->main_id && kill((pid_t)s->main_id, 0) < 0 && errno == ESRCH;

        if (s->made == 0)
                return !gone && clock_now_ns() < s->begin_ns + SESSION_HELLO_MS * 1000000ull;
        return s->count > 0 || (s->o.follow == SESSION_FOLLOW_ALL && lingering_children(&s->lingering, &left));
}

static bool wait_for_more(struct session *s)
{
        struct lingering_among left = among(s);
        char *names;

        if (s->stop)
                return false;
        if (s->main_pid)
                return true;
        if (!s->o.carrier->child)
                return wait_for_visitor(s);
        if (!lingering_lasts(&s->lingering, &left))
                return false;
        names = lingering_news(&s->lingering, &left);
        if (names)
                say(s, SESSION_NOTE, "%s has ended; waiting for what it started: %s (Ctrl-C or --wait=program: no waiting)", s->o.program, names);
        free(names);
        return true;
}

static uint32_t fill_polls(struct session *s)
{
        uint32_t n = 0;

        s->polls = heap_grow(s->polls, 4 + CONNECTIONS_MAX + s->count, sizeof *s->polls);
        s->polls[n++] = (struct pollfd){ .fd = s->relay.fd, .events = POLLIN };
        s->polls[n++] = (struct pollfd){ .fd = s->timer, .events = POLLIN };
        s->polls[n++] = (struct pollfd){ .fd = s->connections.starved ? -1 : s->listener.fd, .events = POLLIN };
        s->polls[n++] = (struct pollfd){ .fd = s->connections.starved || (s->connections.crowded && s->step_ns) ? -1 : s->endpoint, .events = POLLIN };
        n += connections_polls(&s->connections, s->polls + n);
        for (uint32_t i = 0; i < s->count; i++)
                if ((s->recordings[i]->pid != s->main_id || !s->main_pid) && s->recordings[i]->pidfd >= 0)
                        s->polls[n++] = (struct pollfd){ .fd = s->recordings[i]->pidfd, .events = POLLIN };
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
                if (poll(s->polls, n, s->main_pid || s->count ? connections_wait_ms(&s->connections) : SESSION_FAMILY_MS) < 0 && errno != EINTR)
                        break;
                signals = s->polls[0].revents;
                ticks = s->polls[1].revents;
                if (s->connections.starved || pending || any_ready(s->polls + 2, 2))
                        take_hellos(s, false);
                if (ticks)
                        tick(s);
                if (any_ready(s->polls + 4 + pending, n - 4 - pending) || s->ticks % SESSION_SLOW_TICKS == 0)
                        find_ended(s);
                if (signals)
                        take_signals(s);
        }
}

void session_run(struct session *s, pid_t pid, struct session_end *end)
{
        struct rusage own;

        getrusage(RUSAGE_SELF, &own);
        s->own_rss_bytes = (uint64_t)own.ru_maxrss * 1024;
        s->kills = room_kills();
        s->main_pid = s->o.carrier->child ? pid : 0;
        s->main_id = (uint32_t)pid;
        if (s->endpoint < 0 && pid)
                s->endpoint = endpoint_open(s->main_id);
        connections_raise_limit();
        run_loop(s);
        do {
                take_hellos(s, true);
                find_ended(s);
                finish_all(s, PROFILE_END_UNKNOWN);
        } while (s->connections.starved && listener_has_room());
        *end = (struct session_end){ .status = s->status, .running = s->main_pid != 0, .recordings = s->made };
        if (s->made == 0 && s->o.program)
                diagnosis_explain(&s->diagnosis, s->o.program, s->status, end->diagnosis, sizeof end->diagnosis);
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
