/* SPDX-License-Identifier: MIT */
/*
 * session_arrivals.c -- what arrives at a session: agents that say hello, agents with a new mark in
 * their ledger, requests of commands.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "session/requests.h"
#include "session/session_parts.h"
#include "session/verbose.h"
static const char *program_name(const struct session *s, const struct greeting *g, bool first)
{
        if (first && s->o.program)
                return s->o.program;
        if (first && g->view.head.command[0])
                return g->view.head.command; /* its first word, as typed */
        return g->view.head.exe[0] ? g->view.head.exe : g->view.head.command;
}

/* The recording of the main process is that of its last program: `sh -c 'exec tool'` is about the
 * tool.  With one file for all of them it is called as what was typed. */
static char *main_name(struct session *s, const char *program, uint32_t pid)
{
        struct output *o = s->o.output;
        const char *named;
        char *there = NULL;

        if (!s->main_first)
                s->main_first = heap_text(program);
        named = o->together ? s->main_first : program;
        if (s->main_path)
                there = output_make_room(o, named, pid, s->made, s->main_last, s->main_path);
        if (there)
                s->o.moved(s->o.context, s->main_path, there);
        free(there);
        free(s->main_path);
        free(s->main_last);
        s->main_last = heap_text(program);
        s->main_path = output_name(o, named, pid, s->made, true);
        return heap_text(s->main_path);
}

/* "": no recording is wanted, only reports. */
static char *recording_name(struct session *s, const char *program, uint32_t pid, bool is_main)
{
        if (!*s->o.output->pattern)
                return heap_text("");
        if (!is_main && s->o.program) /* also when that one is not recorded */
                output_set_main(s->o.output, s->o.program, s->main_id);
        return is_main ? main_name(s, program, pid)
                       : output_name(s->o.output, program, pid, s->made, false);
}

static void welcome(struct session *s, struct greeting *g)
{
        const struct recording_plan *plan;
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
        session_finish_earlier(s, g->pid);
        s->made++;
        s->children_come += g->hello.reason == WIRE_HELLO_FORK;
        s->becoming = s->becoming == g->pid ? 0 : s->becoming;
        s->main_programs += is_main;
        s->diagnosis.left = s->diagnosis.left && !is_main;
        plan = &s->plan;
        if (g->injected && !s->o.carrier->leaves) {
                s->injected_plan = s->plan;
                s->injected_plan.carrier = &carrier_launched;
                plan = &s->injected_plan;
        }
        r = recording_new(&g->view, g->pid, g->pidfd, heap_text(program),
                          recording_name(s, program, g->pid, is_main), plan);
        s->recordings = heap_grow(s->recordings, s->count + 1, sizeof *s->recordings);
        s->recordings[s->count++] = r;
        s->plan.recordings = s->count;
        session_say(s, first && !s->o.carrier->borrowed ? SESSION_NOTE : SESSION_DETAIL,
                    "recording %s (pid %u) by %s, to %s", program, g->pid, plan->carrier->engine,
                    *r->path ? r->path : "reports only");
        verbose_begin(&s->o, r, g->hello.reason == WIRE_HELLO_FORK);
        recording_tick(r, clock_now_ns());
}

/* Somebody waits for a mark.  PID 0: it cannot be told who.  A stranger who knocks has taken over a
 * process of ours (session/endpoint.c). */
static void serve_knock(struct session *s, uint32_t pid, uid_t uid)
{
        bool known = false;

        for (uint32_t i = 0; i < s->count; i++)
                if (pid == 0 || s->recordings[i]->pid == pid) {
                        recording_knock(s->recordings[i], clock_now_ns());
                        verbose_signal(&s->o, s->recordings[i],
                                       s->recordings[i]->pid == s->main_id);
                        known = true;
                }
        if (!known && members_know(&s->members, uid))
                session_find_execs(s);
}

static void tell_stranger(struct session *s, const struct err *e)
{
        if (e->text[0] && !s->told_stranger)
                session_say(s, SESSION_TROUBLE, "%s", e->text);
        s->told_stranger = s->told_stranger || e->text[0];
}

void session_meet(struct session *s, struct greeting *g, struct err *e)
{
        s->members.main = s->main_id ? s->main_id : g->pid;
        if (members_admit(&s->members, &(struct members_tree){ s->recordings, s->count }, g, e)) {
                welcome(s, g);
        } else {
                tell_stranger(s, e);
                listener_leave(g);
        }
}

/* Whoever sets breakpoints speaks for the processes that have them. */
static void name_spoken_for(const struct session *s, struct greeting *g)
{
        if (!s->breakpoints.pid || g->pid != (uint32_t)s->breakpoints.pid)
                return;
        g->pid = g->hello.pid;
        if (g->pidfd >= 0)
                close(g->pidfd);
        g->pidfd = g->pid ? (int)syscall(SYS_pidfd_open, g->pid, 0) : -1;
        if (g->pidfd >= 0)
                fcntl(g->pidfd, F_SETFD, FD_CLOEXEC);
}

static bool records(const struct session *s, uint32_t pid)
{
        for (uint32_t i = 0; i < s->count; i++)
                if (s->recordings[i]->pid == pid)
                        return true;
        return pid == s->main_id;
}

/* Whoever asks waits for it. */
static void answer_launch(struct session *s, const struct greeting *g, int fd)
{
        bool loaded = g->file < 0 && g->launch.spawn == 3;
        uint8_t answer = members_know(&s->members, g->uid) &&
                         (loaded ? records(s, g->pid) && session_library_came(s, (pid_t)g->pid)
                                 : session_launch_other(s, g));

        if (g->file >= 0)
                close(g->file);
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                session_say(s, SESSION_DETAIL, "a process that was to be recorded has gone on");
}

/* Everybody is asked who may know of a process: only who records it leaves it. */
static void answer_leave(struct session *s, const struct greeting *g, int fd)
{
        if (records(s, g->request.pid))
                session_dismiss(s, fd);
        else
                listener_refuse(fd, "process %u is not among those recorded there (see --follow)",
                                g->request.pid);
}

bool session_hear(void *context, int fd)
{
        struct session *s = context;
        struct greeting g = { .pidfd = -1, .file = -1 };
        struct err e = { 0 };

        switch (listener_receive(fd, &g, &e)) {
        case LISTENER_LATER:
                return false;
        case LISTENER_COME:
                name_spoken_for(s, &g);
                session_meet(s, &g, &e);
                break;
        case LISTENER_KNOCKED:
                name_spoken_for(s, &g);
                serve_knock(s, g.pid, g.uid);
                break;
        case LISTENER_LAUNCHES:
                answer_launch(s, &g, fd);
                break;
        case LISTENER_ASKED:
                if (members_may_ask(&s->members, g.uid))
                        session_find_execs(s);
                if (g.request.type == WIRE_REQUEST_LEAVE && members_may_ask(&s->members, g.uid)) {
                        answer_leave(s, &g, fd);
                        return true;
                }
                requests_serve(&(struct requests_among){ s->recordings, s->count,
                                                         members_may_ask(&s->members, g.uid) },
                               &g.request, fd);
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
                session_say(s, SESSION_TROUBLE,
                            "there are too few file descriptors to record with; allow more (ulimit "
                            "-n)");
                s->diagnosis.starved = true;
        }
}

void session_take_hellos(struct session *s, bool all)
{
        connections_take(&s->connections, s->listener.fd, s->endpoint, all);
        tell_starved(s);
}
