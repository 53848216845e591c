/* SPDX-License-Identifier: MIT */
#include "cli/receive.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/message.h"
#include "journal/receive.h"
#include "profile/model.h"
#include "session/output.h"

struct taker {
        const struct receive_job *job;
        struct output output;
        uint32_t count, failed;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
        interrupted = number;
}

static void say(void *context, const char *text)
{
        (void)context;
        message("%s", text);
}

/* P gets its file, and a line that says so. */
static void store(struct taker *t, struct profile *p)
{
        struct err e = { 0 };
        char *path = output_name(&t->output, p->meta.program, p->meta.pid, t->count + 1,
                                 t->count == 0);

        t->count++;
        if (!output_write(&t->output, p, &path, true, &e)) {
                message_error(&e);
                t->failed++;
        } else if (!t->job->quiet) {
                if (e.text[0])
                        message("%s", e.text);
                message("%s (pid %" PRIu32 "): %" PRIu64 " allocations, %" PRIu64 " bytes live; "
                        "'seep report %s' shows them", p->meta.program, p->meta.pid,
                        p->totals.allocations, p->totals.live_bytes, path);
                for (uint32_t i = 0; i < p->meta.warning_count; i++)
                        message("warning: %s", p->meta.warnings[i]);
        }
        if (t->count == 1)
                output_make_newest(path);
        free(path);
}

static void done(void *context, struct incoming *in)
{
        struct profile p;

        incoming_profile(in, &p);
        store(context, &p);
        profile_free(&p);
}

static int receive_all(struct taker *t)
{
        struct receive_wishes w = { .address = t->job->from, .context = t, .done = done,
                                    .say = say };
        struct sigaction action = { .sa_handler = on_signal };
        struct err e = { 0 };
        struct receive *r = receive_open(&w, &e);

        if (!r)
                return message_error(&e);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
        if (receive_is_open(r))
                message("warning: anyone who can reach %s can send a journal, unencrypted; "
                        "'ssh -R' forwards a port of the target to this machine",
                        receive_where(r));
        if (!t->job->quiet)
                message("receiving at %s%s", receive_where(r),
                        t->job->once ? "" : "; Ctrl-C ends it");
        receive_run(r, &interrupted, t->job->once);
        receive_close(r);
        if (!t->count && !t->job->quiet)
                message("no journal came");
        return t->failed ? ERR_EXIT_CANNOT_TRACE : 0;
}

static int receive_file(struct taker *t)
{
        struct profile p;
        struct err e = { 0 };

        if (!incoming_read(&p, t->job->from, &e))
                return message_error(&e);
        store(t, &p);
        profile_free(&p);
        return t->failed ? ERR_EXIT_CANNOT_TRACE : 0;
}

int receive_journals(const struct receive_job *job)
{
        struct taker t = { .job = job };
        struct err e = { 0 };
        int status;

        if (!output_prepare(&t.output, job->pattern ? job->pattern : OUTPUT_DEFAULT, job->force,
                            &e))
                return message_error(&e);
        if (e.text[0])
                message("%s", e.text);
        status = access(job->from, F_OK) == 0 ? receive_file(&t) : receive_all(&t);
        output_free(&t.output);
        return status;
}
