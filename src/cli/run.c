/* SPDX-License-Identifier: MIT */
#include "cli/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/program.h"
#include "attach/spawn.h"
#include "base/plain.h"
#include "base/quantity.h"
#include "cli/message.h"
#include "names/symbol.h"
#include "report/memlog.h"
#include "session/output.h"
#include "wire/hello.h"

/* ---- what the session tells ---- */

static void on_say(void *context, enum session_level level, const char *text)
{
        const struct record *r = ((struct run *)context)->wishes;
        uint32_t least = level == SESSION_TRACE ? 2 : level < SESSION_ADVICE ? 1 : 0;
        bool wanted = r->session.verbose >= least || (level == SESSION_NOTE && isatty(STDERR_FILENO));

        if (wanted && (!r->quiet || level == SESSION_TROUBLE))
                message_sentence(text);
}

static void on_done(void *context, struct profile *p, const char *path, bool written, bool is_main)
{
        struct run *r = context;

        if (r->wishes->session.verbose && !r->wishes->quiet)
                message("recording %s (pid %u) took %" PRIu64 " KiB of memory, which counts as the program's", p->meta.program, p->meta.pid,
                        p->totals.ledger_bytes / 1024);
        push_recorded(r->push, p, written ? path : NULL);
        roster_add(&r->roster, p, path, is_main);
        r->roster.rows[r->roster.count - 1].missing = !written; /* told through on_say() */
}

static void on_reported(void *context, const char *program, uint32_t pid, const char *path)
{
        struct run *r = context;

        (void)program;
        roster_report(&r->roster, pid, path);
}

static void on_moved(void *context, const char *from, const char *to)
{
        struct run *r = context;

        roster_rename(&r->roster, from, to);
}

void record_write_report(void *context, const struct profile *p, uint32_t from, uint32_t to, struct str *out)
{
        struct symbols *symbols = symbols_new(p, context);
        struct memlog_range range = { from, to };

        memlog_write(p, symbols, &range, out);
        plain_output(out, 0, false);
        symbols_free(symbols);
}

/* ---- what goes to a server ---- */

static void say_push(const char *text)
{
        message("%s", text);
}

bool record_open_push(const struct record *r, const struct carrier *carrier, struct push **out, struct err *e)
{
        static const struct symbol_options shy = { .no_debuginfod = true, .raw = true, .no_new_cache = true };
        struct push_request request = {
                .url = r->push,
                .every_ms = r->push_every_ms,
                .labels = r->push_labels,
                .label_count = r->push_label_count,
                .names = carrier->borrowed ? &shy : NULL,
                .say = carrier->borrowed ? NULL : say_push,
        };

        *out = r->push ? push_open(&request, e) : NULL;
        return *out || !r->push;
}

/* ---- the run ---- */

static int exit_status(int status)
{
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(struct run *r, const struct session_options *options, const char *file, const char *agent)
{
        struct spawn_request request = { .file = file, .argv = r->program_argv, .user = r->wishes->user };
        struct session_end end;
        struct err e = { 0 };
        struct session *s = session_open(options, &e);
        pid_t pid;

        if (!s)
                return message_error(&e);
        request.agent = agent ? session_agent(s, agent, &e) : NULL;
        request.session = session_environment(s);
        request.signals = session_signals(s);
        request.born = options->carrier->breakpoints ? session_trace : NULL;
        request.context = s;
        pid = request.agent || !agent ? spawn_start(&request, &e) : -1;
        if (pid < 0) {
                session_close(s);
                return message_error(&e);
        }
        r->started = true;
        push_program(r->push, (uint32_t)pid);
        session_run(s, pid, &end);
        r->recorded(r, &end);
        if (end.running)
                session_wait(s, &end);
        session_close(s);
        r->killed_by = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
        return exit_status(end.status);
}

static struct session_options make_options(struct run *r)
{
        static struct symbol_options names = { .no_debuginfod = true }; /* the program may be waiting */
        struct session_options o = r->wishes->session;

        if (getenv("SEEP_TEST_VERIFY")) /* for tests: stacks checked as they are taken */
                o.flags |= WIRE_F_VERIFY;
        o.carrier = r->wishes->engine == ENGINE_BREAKPOINT ? &carrier_breakpoint : &carrier_preload;
        o.program = r->program_argv[0];
        o.context = r;
        o.say = on_say;
        o.done = on_done;
        o.reported = on_reported;
        o.moved = on_moved;
        o.author = (struct reports_author){ &names, record_write_report };
        return o;
}

/* As program_find(); "--sample 64k ./program" takes 64k for the program. */
static char *find_program(const struct run *r, struct err *e)
{
        const char *name = r->program_argv[0];
        char *file = program_find(name, e);
        uint64_t size;

        if (!file && r->wishes->sample_given && r->program_argv[1] && quantity_size(name, &size))
                err_set(e, e->exit_code, "%s: not found in PATH; if it is the size of --sample, write --sample=%s", name, name);
        return file;
}

int run_program(struct run *r)
{
        const struct record *wishes = r->wishes;
        struct session_options options = make_options(r);
        struct program_user user;
        struct output output = { 0 };
        struct err e = { 0 };
        char *file = NULL, *agent = NULL;
        int status = -1;

        if (spawn_user(wishes->user, &user, &e) && (file = find_program(r, &e)) &&
            (options.carrier->breakpoints ||
             (program_check(file, &user, &e) && (agent = spawn_find_agent(&e)))) &&
            output_prepare(&output, wishes->pattern ? wishes->pattern : OUTPUT_DEFAULT, wishes->force, &e) &&
            output_check_length(&output, r->program_argv[0], options.flags & WIRE_F_EVENTS, &e) && record_open_push(wishes, options.carrier, &r->push, &e)) {
                if (e.text[0])
                        message("%s", e.text);
                if (output.exposed)
                        on_say(r, SESSION_ADVICE, OUTPUT_EXPOSED);
                if (wishes->push && !wishes->sample_given)
                        on_say(r, SESSION_NOTE, "--push implies --sample: about one block per 512 KiB is recorded; --sample=SIZE chooses another rate, --sample=0 records all");
                options.uid = user.uid;
                options.output = &output;
                status = run(r, &options, file, agent);
        }
        if (!push_close(r->push))
                message("not all profiles were pushed: the process that sends them did not get that far");
        if (status < 0)
                status = message_error(&e);
        output_free(&output);
        free(agent);
        free(file);
        return status;
}
