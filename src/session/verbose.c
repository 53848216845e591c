/* SPDX-License-Identifier: MIT */
#include "session/verbose.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/signals.h"
#include "base/str.h"
#include "session/requests.h"

/* "PROGRAM (pid N) " in front. */
static void tell(const struct session_options *o, enum session_level level,
                 const struct recording *r, struct str *what)
{
        struct str text = { 0 };

        str_format(&text, "%s (pid %u) %s", r->program, r->pid, str_get(what));
        o->say(o->context, level, str_get(&text));
        str_free(&text);
        str_free(what);
}

void verbose_begin(const struct session_options *o, const struct recording *r, bool forked)
{
        struct str what = { 0 };

        if (!forked || !o->verbose)
                return;
        str_format(&what, "was forked by pid %u", r->view.head.ppid);
        tell(o, SESSION_DETAIL, r, &what);
}

/* ---- libraries ---- */

static char *path_of(const struct recording *r, const struct ledger_module *m)
{
        char path[4097] = "";

        /* What is missing is zero. */
        view_read(&r->view, LEDGER_STRINGS, m->path, path, sizeof path - 1);
        return heap_text(path);
}

static void tell_module(const struct session_options *o, const struct recording *r,
                        const struct ledger_module *m, const char *verb)
{
        char *path = path_of(r, m);
        struct str what = { 0 };

        if (*path && !(m->flags & LEDGER_MODULE_ANONYMOUS))
                str_format(&what, "%s %s", verb, path);
        else if (o->verbose > 1)
                str_format(&what, "%s code without a file", verb);
        if (what.length && o->verbose > 1)
                str_format(&what, " at 0x%" PRIx64 "-0x%" PRIx64, m->start, m->end);
        if (what.length)
                tell(o, SESSION_DETAIL, r, &what);
        str_free(&what);
        free(path);
}

/* TO_MS: what was unloaded before that moment; more may still come with it. */
static void look_at_modules(const struct session_options *o, struct recording *r, uint64_t to_ms)
{
        struct recording_told *told = &r->told;
        uint32_t count = r->view.head.module_count;
        struct ledger_module *all;

        if (count <= told->modules && o->verbose < 2)
                return;
        all = view_table(&r->view, LEDGER_MODULES, &count, sizeof *all);
        for (uint32_t i = 0; i < count; i++) {
                if (i >= told->modules)
                        tell_module(o, r, &all[i], "loaded");
                if (all[i].gone_ms > told->gone_ms && all[i].gone_ms < to_ms)
                        tell_module(o, r, &all[i], "unloaded");
        }
        told->modules = count > told->modules ? count : told->modules;
        told->gone_ms = to_ms ? to_ms - 1 : 0;
        free(all);
}

/* ---- threads ---- */

static void tell_thread(const struct session_options *o, const struct recording *r,
                        const struct ledger_thread *t, bool ended)
{
        struct str what = { 0 };

        str_format(&what, "%s thread %u", ended ? "ended" : "began", t->tid);
        if (t->name[0])
                str_format(&what, " '%.*s'", (int)sizeof t->name, t->name);
        tell(o, SESSION_TRACE, r, &what);
}

static void look_at_threads(const struct session_options *o, struct recording *r, uint64_t to_ms)
{
        uint32_t count = r->view.head.thread_count;
        struct ledger_thread *all;

        if (o->verbose < 2)
                return;
        all = view_table(&r->view, LEDGER_THREADS, &count, sizeof *all);
        for (uint32_t i = 1; i < count; i++) {
                if (i >= r->told.threads && all[i].tid)
                        tell_thread(o, r, &all[i], false);
                if (all[i].end_ms > r->told.end_ms && all[i].end_ms < to_ms)
                        tell_thread(o, r, &all[i], true);
        }
        r->told.threads = count > r->told.threads ? count : r->told.threads;
        r->told.end_ms = to_ms ? to_ms - 1 : 0;
        free(all);
}

/* ---- the rest ---- */

static void look_at_forks(const struct session_options *o, struct recording *r)
{
        uint64_t forks = r->view.head.forks_not_followed;
        struct str what = { 0 };

        if (forks > r->told.forks) {
                str_format(&what,
                           "forked %" PRIu64 " process%s that %s not recorded (--follow=all "
                           "records them)", forks - r->told.forks,
                           forks - r->told.forks == 1 ? "" : "es",
                           forks - r->told.forks == 1 ? "is" : "are");
                tell(o, SESSION_DETAIL, r, &what);
        }
        r->told.forks = forks;
}

static void look(const struct session_options *o, struct recording *r, uint64_t to_ms)
{
        look_at_modules(o, r, to_ms);
        look_at_threads(o, r, to_ms);
        look_at_forks(o, r);
}

void verbose_look(const struct session_options *o, struct recording *r)
{
        if (o->verbose)
                look(o, r, r->view.head.tick_ms);
}

void verbose_end(const struct session_options *o, struct recording *r,
                 const struct recording_end *end)
{
        struct str what = { 0 };
        char name[SIGNALS_NAME_BYTES];

        if (!o->verbose)
                return;
        look(o, r, UINT64_MAX);
        switch (end->end) {
        case PROFILE_END_EXIT:
                str_format(&what, "ended with status %u", end->code);
                break;
        case PROFILE_END_SIGNAL:
                signals_name(end->signal, name);
                str_format(&what, "was killed by signal %s", name);
                break;
        case PROFILE_END_EXEC:
                str_text(&what, "became another program (exec)");
                break;
        case PROFILE_END_GONE:
                str_text(&what, "ended; its status is known to its parent only");
                break;
        default:
                str_text(&what, "continues without being recorded");
        }
        tell(o, SESSION_DETAIL, r, &what);
}

void verbose_signal(const struct session_options *o, struct recording *r, bool is_main)
{
        uint32_t state = r->view.head.signal_state;
        char text[512];

        if (state == r->signal_state)
                return;
        r->signal_state = state;
        if (r->told_signal || (state != LEDGER_SIGNAL_PROGRAM && state != LEDGER_SIGNAL_BEFORE))
                return;
        r->told_signal = true;
        answers_signal(o, r, text, sizeof text);
        o->say(o->context, is_main ? SESSION_ADVICE : SESSION_DETAIL, text);
}
