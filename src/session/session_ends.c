/* SPDX-License-Identifier: MIT */
/* session_ends.c -- how recordings end, and what the user is told about it. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/headroom.h"
#include "base/heap.h"
#include "profile/packed.h"
#include "session/requests.h"
#include "session/session_parts.h"
#include "session/verbose.h"

void session_say(struct session *s, enum session_level level, const char *format, ...)
{
        char text[2400];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof text, format, ap);
        va_end(ap);
        s->o.say(s->o.context, level, text);
}

/* ---- what the user is told ---- */

void session_tell_report(void *context, const struct recording *r, const struct snapshots_due *due,
                         const struct reports_result *result)
{
        struct session *s = context;
        char text[2048];

        if (result->written)
                s->o.reported(s->o.context, r->program, r->pid, result->path);
        if (answers_word(&s->o, r, due, result, text, sizeof text))
                session_say(s,
                            due->type != LEDGER_MARK_LIMIT && s->told_failed ? SESSION_DETAIL
                                                                             : SESSION_TROUBLE,
                            "%s", text);
        else
                session_say(s, SESSION_DETAIL, "snapshot %u of %s (pid %u): report in %s",
                            result->seq, r->program, r->pid, result->path);
        s->told_failed = s->told_failed ||
                         !result->written; /* a thousand signals: once is enough */
        if (result->elsewhere && !s->told_elsewhere)
                session_say(s, SESSION_TROUBLE, "%s; it is in %s", result->why, result->path);
        s->told_elsewhere = s->told_elsewhere || result->elsewhere;
        if (due->asker >= 0)
                answers_reply(due, result);
}

void session_tell_scan(void *context, const struct recording *r, const struct scanner_words *words)
{
        char text[1400];

        answers_scan(r, words, text, sizeof text);
        session_say(context, words->good ? SESSION_ADVICE : SESSION_TROUBLE, "%s", text);
}

/* ---- the end of a recording ---- */

static void finish(struct session *s, struct recording *r, const struct recording_end *end)
{
        struct profile p;
        struct err why = { 0 };
        char *wanted = heap_text(r->path);
        bool written;

        recording_finish(r, end, clock_now_ns(), &p);
        verbose_end(&s->o, r, end);
        verbose_signal(&s->o, r, r->pid == s->main_id);
        s->children_announced += r->view.head.forks_followed;
        written = *wanted && output_write(s->o.output, &p, &r->path, true, &why);
        if (*wanted && !written)
                session_say(s, SESSION_TROUBLE,
                            "the recording of %s (pid %u) could not be written anywhere: %s",
                            r->program, r->pid, why.text);
        else if (*wanted && strcmp(wanted, r->path) != 0)
                session_say(s, SESSION_TROUBLE, "%s; this recording is in %s", why.text, r->path);
        if (p.block_count < PACKED_LEAST)
                packed_undo(&p);
        if (s->o.done)
                s->o.done(s->o.context, &p, r->path, written, r->pid == s->main_id);
        profile_free(&p);
        free(wanted);
        recording_free(r, written);
}

void session_finish_departed(struct session *s, bool all)
{
        struct recording_end end;

        for (struct recording *r; (r = departed_take(&s->departed, all, &end));)
                finish(s, r, &end);
        s->plan.departed = s->departed.count;
}

static void take_out(struct session *s, uint32_t index, const struct recording_end *end)
{
        struct recording *r = s->recordings[index];

        s->recordings[index] = s->recordings[--s->count];
        s->plan.recordings = s->count;
        if (!departed_add(&s->departed, r, end))
                finish(s, r, end);
        s->plan.departed = s->departed.count;
}

void session_finish_all(struct session *s)
{
        struct recording_end end = { .end = PROFILE_END_UNKNOWN,
                                     .goes_on = s->stop && s->o.duration_ms };

        if (s->stop)
                departed_stop(&s->departed);
        while (s->count)
                take_out(s, s->count - 1, &end);
        session_finish_departed(s, true);
}

/* The recording of what it was before must not pass for that of what it became. */
static void tell_left(struct session *s)
{
        if (s->diagnosis.left && !s->told_left)
                session_say(s, SESSION_TROUBLE,
                            "the program was replaced by one that is not recorded: %s",
                            diagnosis_left(&s->diagnosis));
        s->told_left = s->told_left || s->diagnosis.left;
}

/* The main process ended: the kernel told us how, and how much memory it had at most.  That number
 * covers all programs the process has been and our own image before the first, so it counts only
 * when it can be no other's, or when its only program was too quick to be measured. */
void session_finish_main(struct session *s)
{
        uint32_t signal = WIFSIGNALED(s->status) ? (uint32_t)WTERMSIG(s->status) : 0;
        struct recording_end end = { .end = signal ? PROFILE_END_SIGNAL : PROFILE_END_EXIT,
                                     .signal = signal,
                                     .code = WIFEXITED(s->status) ? (uint32_t)WEXITSTATUS(s->status)
                                                                  : 0 };

        end.starved = signal == SIGKILL && headroom_kills() > s->kills;
        for (uint32_t i = s->count; i-- > 0;) {
                const struct recording *r = s->recordings[i];

                if (r->pid != s->main_id)
                        continue;
                if ((s->diagnosis.left |= view_is_leaving(&r->view)))
                        end = (struct recording_end){ .end = PROFILE_END_EXEC };
                end.rss_seen = s->main_programs == 1 && s->main_rss_bytes &&
                               s->main_rss_bytes <= s->own_rss_bytes;
                if (s->main_programs == 1 &&
                    (r->rss.peak_bytes == 0 || s->main_rss_bytes > s->own_rss_bytes))
                        end.rss_peak_bytes = s->main_rss_bytes;
                take_out(s, i, &end);
        }
        tell_left(s);
}

/* Other processes than the main one: how they ended is known to their parents only. */
void session_find_ended(struct session *s)
{
        struct recording_end end = { .end = PROFILE_END_GONE };

        for (uint32_t i = s->count; i-- > 0;)
                if ((s->recordings[i]->pid != s->main_id || !s->main_pid) &&
                    recording_is_gone(s->recordings[i]))
                        take_out(s, i, &end);
}

void session_finish_earlier(struct session *s, uint32_t pid)
{
        for (uint32_t i = s->count; i-- > 0;) {
                struct recording_end end = { .end = PROFILE_END_EXEC };

                if (s->recordings[i]->pid != pid || pid == 0)
                        continue;
                if (recording_is_gone(s->recordings[i]))
                        end.end = PROFILE_END_GONE; /* the number is another process's now */
                take_out(s, i, &end);
        }
}

void session_find_execs(struct session *s)
{
        struct recording_end end = { .end = PROFILE_END_EXEC };

        for (uint32_t i = s->count; i-- > 0;)
                if (recording_has_execed(s->recordings[i])) {
                        s->diagnosis.left = s->diagnosis.left ||
                                            s->recordings[i]->pid == s->main_id;
                        s->becoming = s->recordings[i]->pid;
                        s->becoming_ns = clock_now_ns();
                        take_out(s, i, &end);
                }
}
