/* SPDX-License-Identifier: MIT */
/* inject_rejoin.c -- a recording whose observer has died is continued (wire/rejoin.h). */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/inject_parts.h"
#include "attach/procfs.h"
#include "wire/rejoin.h"

#define SESSION_FIELDS 11 /* in front of what to leave out, and of the path */
#define FIELD_FOLLOW 1
#define FIELD_FLAGS 2
#define FIELD_OBSERVER 6

struct rejoin {
        struct inject *inject;
        uint64_t at; /* where WORDS are */
        struct wire_rejoin words;
};

static bool cannot(struct err *e, const char *why)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s", why);
}

/* ---- what the agent is told: as before, but for who observes, and where ---- */

struct fields {
        const char *at[SESSION_FIELDS];
        int length[SESSION_FIELDS];
        const char *rest;
};

static bool divide(const char *text, struct fields *out)
{
        for (int i = 0; i < SESSION_FIELDS; i++) {
                size_t length = strcspn(text, ":");

                if (!text[length])
                        return false;
                out->at[i] = text;
                out->length[i] = (int)length;
                text += length + 1;
        }
        out->rest = text;
        return true;
}

static uint64_t flags_of(const struct fields *f)
{
        return strtoull(f->at[FIELD_FLAGS], NULL, 16);
}

/* "LENGTH:EXPRESSION:" in front of the path. */
static int omit_length(const struct fields *f)
{
        char *colon;
        uint64_t length;

        if (!(flags_of(f) & WIRE_F_OMIT))
                return 0;
        length = strtoull(f->rest, &colon, 16);
        return *colon == ':' && length <= REGEX_MAX && strlen(colon + 1) > length
                       ? (int)(colon + 2 + length - f->rest)
                       : -1;
}

/* What is known of filters is known to the one who is gone. */
static bool make_session(const char *old, const char *ours, struct str *out, bool *all)
{
        struct fields from, to;
        int omit;

        if (!divide(old, &from) || !divide(ours, &to) || (omit = omit_length(&from)) < 0 ||
            omit_length(&to) < 0)
                return false;
        for (int i = 0; i < SESSION_FIELDS; i++)
                if (i == FIELD_FLAGS)
                        str_format(out, "%0*" PRIx64 ":", WIRE_FLAGS_DIGITS,
                                   (flags_of(&from) & UINT32_MAX & ~(uint64_t)WIRE_F_FILTERS) |
                                           (flags_of(&to) & WIRE_F_FILTERS));
                else if (i == FIELD_OBSERVER)
                        str_format(out, "%.*s:", to.length[i], to.at[i]);
                else
                        str_format(out, "%.*s:", from.length[i], from.at[i]);
        str_format(out, "%.*s%s", omit, from.rest, to.rest + omit_length(&to));
        *all = strncmp(from.at[FIELD_FOLLOW], "all:", 4) == 0;
        return out->length < WIRE_SESSION_MAX;
}

/* ---- whether it can be continued ---- */

/* The agent sees which pages there are by what is in memory. */
static bool is_swapped(pid_t pid, uint64_t from, uint64_t to)
{
        pid_t living = procfs_living(pid);
        struct str text = { 0 };
        bool inside = false, swapped = false;
        uint64_t start, end;

        if (!procfs_text(living, living, "smaps", &text))
                return true;
        for (const char *line = str_get(&text); *line && !swapped;
             line += strcspn(line, "\n"), line += *line == '\n') {
                if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
                        inside = start >= from && end <= to;
                else if (inside && strncmp(line, "Swap:", 5) == 0)
                        swapped = strtoull(line + 5, NULL, 10) != 0;
        }
        str_free(&text);
        return swapped;
}

static bool look(struct rejoin *r, const struct inject_orphan *q, struct err *e)
{
        struct inject *j = r->inject;
        uint32_t gate = 0;

        if (is_swapped(j->pid, q->ledger, q->ledger + q->ledger_bytes))
                return cannot(e, "parts of it were swapped out");
        r->at = q->words;
        if (!inject_read(j, r->at, &r->words, sizeof r->words) ||
            r->words.magic != WIRE_REJOIN_MAGIC ||
            !inject_read(j, r->words.gate.whole, &gate, sizeof gate) || gate != r->words.gate_on)
                return cannot(e, "its agent is at rest");
        r->words.session[sizeof r->words.session - 1] = 0;
        return !r->words.injected || (inject_find_image(j) && j->room->alive) ||
               cannot(e, "its agent is of another build");
}

/* ---- the handover ---- */

static bool read_words(const struct rejoin *r, struct wire_rejoin *out)
{
        return inject_read(r->inject, r->at, out, sizeof *out);
}

static bool is_done(void *context)
{
        struct wire_rejoin w;

        return read_words(context, &w) && w.done;
}

static bool is_over(void *context)
{
        struct wire_rejoin w;

        return read_words(context, &w) && w.done == WIRE_REJOIN_OVER;
}

static bool take(struct rejoin *r, struct err *e)
{
        struct inject *j = r->inject;
        uint32_t taken = 1;
        char path[96];

        if (!read_words(r, &r->words) || r->words.ledger < 0)
                return cannot(e, "there is no memory for a copy of its ledger, or no descriptor");
        snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)j->pid, (int)j->remote.tid,
                 (int)r->words.ledger);
        j->out->ledger = open(path, O_RDWR | O_CLOEXEC);
        if (j->out->ledger < 0)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "its ledger cannot be opened");
        return (inject_write(j, r->at + offsetof(struct wire_rejoin, taken), &taken,
                             sizeof taken) &&
                remote_wait(&j->remote, is_over, r) && j->out->ledger >= 0) ||
               (e->text[0] == 0 && cannot(e, REMOTE_LOST));
}

/* All stand still. */
static bool hand_over(struct inject *j, struct err *e)
{
        struct rejoin *r = j->rejoin;
        const char *why = remote_begin(&j->remote, j->hold, &j->maps);
        bool good;

        if (why)
                return cannot(e, why);
        r->words.done = r->words.taken = 0;
        r->words.ledger = -1;
        good = inject_write(j, r->at, &r->words, sizeof r->words) &&
               remote_jump(&j->remote, r->words.enter.whole,
                           r->words.stack.whole + WIRE_REJOIN_STACK) &&
               remote_wait(&j->remote, is_done, r);
        good = good ? take(r, e) : cannot(e, REMOTE_LOST);
        remote_end(&j->remote);
        return good;
}

static void rejoin(struct inject_job *job)
{
        struct inject j;
        struct rejoin r = { .inject = &j };
        struct str session = { 0 };
        bool good = inject_open(&j, job->pid, procfs_living(job->pid), job->image, job->e);

        j.out = job->out;
        good = good && look(&r, job->orphan, job->e);
        if (good && !make_session(r.words.session, job->orphan->session, &session,
                                  &job->out->follows_all))
                good = cannot(job->e, "what holds for it is not known");
        if (good) {
                snprintf(r.words.session, sizeof r.words.session, "%s", str_get(&session));
                job->out->preloaded = !r.words.injected;
                j.rejoin = &r;
        }
        job->good = good && inject_maps(&j) && inject_with_all(&j, hand_over, job->e);
        str_free(&session);
        inject_close(&j);
}

bool inject_rejoin(pid_t pid, const struct inject_orphan *q, struct inject_result *out,
                   struct err *e)
{
        struct inject_job job = { .pid = pid, .image = q->image, .orphan = q, .out = out, .e = e,
                                  .run = rejoin };

        *out = (struct inject_result){ .ledger = -1 };
        return inject_do(&job);
}
