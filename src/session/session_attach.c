/* SPDX-License-Identifier: MIT */
/* session_attach.c -- processes that the agent is injected into: attaching and detaching. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/engine.h"
#include "attach/inject.h"
#include "attach/launch.h"
#include "attach/refusal.h"
#include "base/heap.h"
#include "session/endpoint.h"
#include "session/family.h"
#include "session/session_parts.h"

/* What could not be patched, line by line. */
static void tell_refused(struct session *s, const char *text)
{
        while (*text) {
                size_t length = strcspn(text, "\n");

                session_say(s, SESSION_ADVICE, "calls are not seen of %.*s", (int)length, text);
                text += length + (text[length] != 0);
        }
}

static void tell_entered(struct session *s, pid_t pid, const struct inject_result *r)
{
        session_say(s, SESSION_DETAIL,
                    "attached to process %d: %" PRIu32 " functions, %" PRIu32
                    " threads stopped for %.2f ms%s",
                    (int)pid, r->patched, r->threads, (double)r->pause_ns / 1e6,
                    r->again ? " (the agent was there from before)" : "");
        tell_refused(s, str_get(&r->refused));
}

/* Whoever comes to ask about it finds us from the first moment on. */
static bool claim(struct session *s, pid_t pid, bool orphan, struct err *e)
{
        if (!refusal_possible(pid, e) || !(orphan || refusal_is_own_kind(pid, e)) ||
            !refusal_sees_itself(pid, e))
                return false;
        s->endpoint = endpoint_open((uint32_t)pid);
        if (s->endpoint >= 0 && (orphan || !family_has_agent(pid)))
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %d is being recorded already; 'seep detach %d' ends that", (int)pid,
                       (int)pid);
}

/* PID has an agent, whose ledger is LEDGER. */
static bool greet(struct session *s, pid_t pid, int ledger, bool injected, struct err *e)
{
        struct greeting g = { .pid = (uint32_t)pid, .pidfd = -1, .uid = s->o.uid,
                              .injected = injected,
                              .hello = { WIRE_HELLO_MAGIC, 0, WIRE_HELLO_START, (uint32_t)pid,
                                         0 } };

        g.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (!view_open(&g.view, ledger, e))
                return false;
        session_meet(s, &g, e);
        return true;
}

/* H: what stands still already, and goes on here; NULL: all of PID is to be stopped for it. */
static bool enter(struct session *s, pid_t pid, struct hold *h, struct err *e)
{
        struct inject_request q = { s->o.image, s->o.library, s->environment, s->o.flags,
                                    h != NULL, s->o.fill || s->o.quarantine_bytes,
                                    s->o.custom, s->o.gpu };
        struct inject_result r = { .ledger = -1 };
        bool good = h ? inject_enter_held(h, &q, &r, e) : inject_enter(pid, &q, &r, e);

        if (h)
                hold_release(h);
        if (good) {
                tell_entered(s, pid, &r);
                if (!h || pid == s->main_pid)
                        s->main_id = (uint32_t)pid;
                good = greet(s, pid, r.ledger, true, e);
        }
        str_free(&r.refused);
        return good;
}

/* Go on where a seep that is gone was, with what holds for that recording. */
static bool take_over(struct session *s, pid_t pid, const struct family_orphan *o, struct err *e)
{
        struct inject_orphan q = { s->o.image, s->environment, o->ledger, o->ledger_bytes,
                                   o->rejoin };
        struct inject_result r = { .ledger = -1 };

        if (o->obstacle)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s", o->obstacle);
        if (!inject_rejoin(pid, &q, &r, e))
                return false;
        if (r.preloaded)
                s->o.carrier = s->plan.carrier = &carrier_continued;
        s->o.follow = s->plan.follow = r.follows_all ? SESSION_FOLLOW_ALL : SESSION_FOLLOW_EXEC;
        s->main_id = (uint32_t)pid;
        session_say(s, s->o.visit ? SESSION_DETAIL : SESSION_ADVICE,
                    "process %d was being recorded by a seep that is gone; this one goes on with "
                    "its recording, with the options of that (threads stopped for %.2f ms)",
                    (int)pid, (double)r.pause_ns / 1e6);
        return greet(s, pid, r.ledger, !r.preloaded, e);
}

bool session_attach(struct session *s, pid_t pid, struct err *e)
{
        struct family_orphan left;
        bool orphan = family_is_orphan(pid, &left);
        struct err why = { 0 };

        if (!claim(s, pid, orphan, e))
                return false;
        if (orphan && take_over(s, pid, &left, &why))
                return true;
        if (orphan && s->o.visit)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the recording of process %d, whose seep is gone, cannot be read: "
                               "%s; 'seep attach %d' begins a new one",
                               (int)pid, why.text, (int)pid);
        if (orphan)
                session_say(s, SESSION_ADVICE,
                            "process %d was still being recorded by a seep that is gone; that "
                            "recording cannot be continued (%s), and a new one begins",
                            (int)pid, why.text);
        return enter(s, pid, NULL, e);
}

bool session_launch(void *session, pid_t pid, struct err *e)
{
        struct session *s = session;

        s->launch = launch_new(pid, s->o.custom, e);
        s->diagnosis.launched = true;
        return s->launch;
}

void session_launched(struct session *s, int status)
{
        struct err e = { 0 };
        struct hold h;

        switch (launch_step(s->launch, status, &h, &e)) {
        case LAUNCH_RUNS:
                return;
        case LAUNCH_STOPPED:
                relay_stopped(s->main_pid, WSTOPSIG(status));
                return;
        case LAUNCH_READY:
                enter(s, s->main_pid, &h, &e);
                break;
        case LAUNCH_UNFIT:
                break;
        }
        snprintf(s->diagnosis.refused, sizeof s->diagnosis.refused, "%s", e.text);
        launch_free(s->launch);
        s->launch = NULL;
}

bool session_library_came(struct session *s, pid_t pid)
{
        struct inject_request q = { .image = s->o.image, .flags = s->o.flags, .gpu = s->o.gpu };
        struct inject_result r = { .ledger = -1 };
        struct err e = { 0 };
        bool good = q.image && q.gpu && inject_add(pid, &q, &r, &e);

        if (good)
                session_say(s, SESSION_DETAIL,
                            "process %d has loaded a library of graphics processors: %" PRIu32
                            " functions more, threads stopped for %.2f ms",
                            (int)pid, r.patched, (double)r.pause_ns / 1e6);
        else if (e.text[0])
                session_say(s, SESSION_ADVICE,
                            "memory of graphics processors that process %d gets is not seen: %s",
                            (int)pid, e.text);
        tell_refused(s, str_get(&r.refused));
        str_free(&r.refused);
        return good;
}

/* ---- programs that it starts ---- */

/* Why the program NAME is not recorded: once for each. */
static void tell_unfit(struct session *s, const char *name, uint32_t pid, const char *why)
{
        for (uint32_t i = 0; i < s->unfit_count; i++)
                if (strcmp(s->unfit[i], name) == 0)
                        return;
        s->unfit = heap_grow(s->unfit, s->unfit_count + 1, sizeof *s->unfit);
        s->unfit[s->unfit_count++] = heap_text(name);
        session_say(s, SESSION_ADVICE, "not recorded, started by process %u: %s", pid, why);
}

/* Whether an agent can be written into the program NAME.  false: E, or "" where nothing is wrong
 * with that. */
static bool is_fit(const struct session *s, const char *name, uid_t uid, struct err *e)
{
        struct engine_choice choice = { .engine = ENGINE_INJECT, .custom = s->o.custom != NULL };
        struct program_user user = { uid, getgid() };
        struct program_image image;

        if (!engine_choose(&choice, name, &user, e) || !program_look(name, &image, e))
                return false;
        if (!program_is_static(&image.facts))
                return false; /* a loader, which is given the program as an argument */
        if (engine_is_go(name))
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s is a statically linked Go program, "
                               "whose own heap is not seen", name);
        return s->o.image || err_set(e, ERR_EXIT_CANNOT_TRACE, "%s is statically linked", name);
}

static void launch_over(struct session *s, uint32_t i)
{
        launch_free(s->launches[i]);
        s->launches[i] = s->launches[--s->launch_count];
}

/* The thread TID did not become the program.  It waits until it is traced no more: a search for
 * leaks may follow. */
static void launch_stays(struct session *s, pid_t tid)
{
        for (uint32_t i = s->launch_count; i-- > 0;)
                if (launch_is(s->launches[i], tid, 0) && launch_abandon(s->launches[i]))
                        launch_over(s, i);
}

bool session_launch_other(struct session *s, const struct greeting *g)
{
        bool same = g->launch.pid == g->pid; /* its numbers are ours */
        struct launch_later q = { (pid_t)(same ? g->launch.tid : g->pid), (pid_t)g->pid,
                                  g->launch.spawn != 0 };
        char link[64], name[4096];
        struct launch *l = NULL;
        struct err e = { 0 };
        ssize_t length;

        if (g->file < 0) {
                launch_stays(s, q.tid);
                return false;
        }
        snprintf(link, sizeof link, "/proc/self/fd/%d", g->file);
        length = readlink(link, name, sizeof name - 1);
        name[length > 0 ? length : 0] = 0;
        if (access(name, R_OK) != 0) /* of another world */
                snprintf(name, sizeof name, "%s", link);
        if (is_fit(s, name, g->uid, &e))
                l = launch_later(&q, s->o.custom, &e);
        if (!l && e.text[0])
                tell_unfit(s, name, g->pid, e.text);
        if (l) {
                s->launches = heap_grow(s->launches, s->launch_count + 1, sizeof *s->launches);
                s->launches[s->launch_count++] = l;
        }
        return l;
}

static void other_stopped(struct session *s, uint32_t i, pid_t pid, int status)
{
        char link[64], name[4096];
        struct err e = { 0 };
        ssize_t length;
        struct hold h;

        switch (launch_step(s->launches[i], status, &h, &e)) {
        case LAUNCH_RUNS:
                return;
        case LAUNCH_STOPPED:
                if (pid == s->main_pid)
                        relay_stopped(pid, WSTOPSIG(status));
                return;
        case LAUNCH_READY:
                enter(s, pid, &h, &e);
                break;
        case LAUNCH_UNFIT:
                break;
        }
        launch_over(s, i);
        snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
        length = readlink(link, name, sizeof name - 1);
        name[length > 0 ? length : 0] = 0;
        if (e.text[0] && length > 0)
                tell_unfit(s, name, (uint32_t)pid, e.text);
}

bool session_other_changed(struct session *s, pid_t pid, int status)
{
        bool early = false;

        for (uint32_t i = 0; i < s->launch_count; i++)
                if (launch_is(s->launches[i], pid, status)) {
                        if (WIFSTOPPED(status))
                                other_stopped(s, i, pid, status);
                        else
                                launch_over(s, i);
                        return true;
                }
        /* Threads that start programs at the same time: which of them it is a child of is known
         * only when that thread stops. */
        for (uint32_t i = 0; status >> 16 && pid != s->main_pid && i < s->launch_count; i++)
                early = launch_early(s->launches[i], pid) || early;
        return early;
}

/* ---- the end ---- */

static void leave(struct session *s, pid_t pid)
{
        struct inject_result r;
        struct err e = { 0 };
        bool good = inject_leave(pid, s->o.image, &r, &e);

        if (!good && refusal_possible(pid, &(struct err){ 0 })) /* else it ended meanwhile */
                session_say(s, SESSION_TROUBLE,
                            "%s; the agent stays in process %d until 'seep detach %d'", e.text,
                            (int)pid, (int)pid);
        else if (good && r.again)
                session_say(s, SESSION_DETAIL, "left process %d: stopped for %.2f ms", (int)pid,
                            (double)r.pause_ns / 1e6);
}

/* The last search for leaks needs a ledger that is kept, so the agent goes after it. */
void session_leave(struct session *s)
{
        uint32_t count = s->count;
        pid_t *pids = heap_zero(count, sizeof *pids);

        for (uint32_t i = 0; i < count; i++)
                if (!recording_is_gone(s->recordings[i]) &&
                    (s->o.carrier->leaves || s->recordings[i]->plan == &s->injected_plan))
                        pids[i] = (pid_t)s->recordings[i]->pid;
        session_finish_all(s);
        for (uint32_t i = 0; i < count; i++)
                if (pids[i])
                        leave(s, pids[i]);
        free(pids);
}

void session_dismiss(struct session *s, int fd)
{
        s->dismissed = heap_grow(s->dismissed, s->dismissed_count + 1, sizeof *s->dismissed);
        s->dismissed[s->dismissed_count++] = fd;
        s->stop = true;
}

void session_dismissed(struct session *s)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC };

        while (s->dismissed_count)
                listener_reply(s->dismissed[--s->dismissed_count], &reply);
}
