/* SPDX-License-Identifier: MIT */
#include "cli/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/emulator.h"
#include "attach/procfs.h"
#include "attach/engine.h"
#include "attach/program.h"
#include "attach/spawn.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/plain.h"
#include "base/quantity.h"
#include "cli/message.h"
#include "names/symbol.h"
#include "report/memlog.h"
#include "report/summary.h"
#include "session/output.h"
#include "wire/hello.h"

/* ---- what the session tells ---- */

static void on_say(void *context, enum session_level level, const char *text)
{
        const struct record *r = ((struct run *)context)->wishes;
        uint32_t least = level == SESSION_TRACE ? 2 : level < SESSION_ADVICE ? 1 : 0;
        bool wanted = r->session.verbose >= least ||
                      (level == SESSION_NOTE && isatty(STDERR_FILENO));

        if (wanted && (!r->quiet || level == SESSION_TROUBLE))
                message_sentence(text);
}

static int news = -1;

void run_tell(int fd)
{
        news = fd;
}

/* Nobody need be there to hear it. */
static void tell_news(uint32_t pid, const char *path)
{
        struct run_news n = { .pid = pid };

        snprintf(n.path, sizeof n.path, "%s", path);
        if (news >= 0)
                send(news, &n, sizeof n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_done(void *context, struct profile *p, const char *path, bool written, bool is_main)
{
        struct run *r = context;

        if (r->wishes->session.verbose && !r->wishes->quiet)
                message("recording %s (pid %u) took %" PRIu64 " KiB of memory, which counts as the "
                        "program's", p->meta.program, p->meta.pid, p->totals.ledger_bytes / 1024);
        push_recorded(r->push, p, written ? path : NULL);
        if (written)
                tell_news(p->meta.pid, path);
        if (written)
                server_recorded(r->server, p, path, is_main);
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

        server_moved(r->server, from, to);
        roster_rename(&r->roster, from, to);
}

void record_write_report(void *context, const struct profile *p, uint32_t from, uint32_t to,
                         struct str *out)
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

bool record_open_push(const struct record *r, const struct carrier *carrier, struct push **out,
                      struct err *e)
{
        static const struct symbol_options shy = { .no_debuginfod = true, .raw = true,
                                                   .no_new_cache = true };
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

/* ---- what the user sees at the end ---- */

static bool want_color(void)
{
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(STDERR_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static void remove_recording(void *context, const char *path)
{
        output_remove(context, path);
}

/* Helpers of scripts are many, and few want to see them.  Who looks at a finished recording from
 * elsewhere (serve, shell) may still want it. */
static bool drops_small(const struct run *r)
{
        return !r->wishes->keep_small && !(r->wishes->session.flags & WIRE_F_EVENTS) &&
               r->output->together && !r->server && news < 0;
}

/* FOLDER: of other processes' recordings; NULL none. */
static void summarize(struct run *r, const struct roster_choice *choice, const char *folder)
{
        /* The end of a run must not wait for a server. */
        struct symbol_options options = { .no_debuginfod = true };
        struct symbols *symbols = symbols_new(choice->profile, &options);
        struct str out = { 0 };

        if (r->program_argv)
                roster_explain(&r->roster, r->program_argv[0], &out);
        summary_write(choice->profile, symbols,
                      &(struct summary_options){ choice->path, want_color(),
                                                 r->wishes->suppressions }, &out);
        symbols_free(symbols);
        roster_list(&r->roster, &out);
        if (folder && roster_kept(&r->roster) > 1)
                roster_list_folder(&r->roster, folder, &out);
        roster_list_reports(&r->roster, &out);
        plain_output(&out, 0, true);
        io_write(STDERR_FILENO, str_get(&out), out.length);
        str_free(&out);
}

void run_conclude(struct run *r, const struct session_end *end)
{
        const struct record *wishes = r->wishes;
        struct roster_choice choice;
        char *folder;

        if (wishes->session.verbose && !wishes->quiet) {
                struct rusage own;

                getrusage(RUSAGE_SELF, &own);
                message("recording took %.2f s of CPU time and %ld MiB of memory outside the "
                        "program",
                        (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                                (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6,
                        own.ru_maxrss / 1024);
        }
        if (end->recordings == 0)
                message("nothing was recorded: %s", end->diagnosis);
        if (!roster_choose(&r->roster, &choice))
                return;
        if (r->roster.count > 1)
                output_make_newest(choice.path);
        if (drops_small(r))
                roster_drop(&r->roster, remove_recording, r->output);
        folder = output_settle(r->output);
        if (!wishes->quiet && !wishes->no_summary)
                summarize(r, &choice, folder);
        free(folder);
}

/* ---- the run ---- */

static int exit_status(int status)
{
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Until there is nothing more to record. */
static void observe(struct run *r, struct session *s, pid_t pid, struct session_end *end)
{
        r->started = true;
        tell_news((uint32_t)pid, "");
        push_program(r->push, (uint32_t)pid);
        server_program(r->server, (uint32_t)pid, session_socket(s));
        session_run(s, pid, end);
        r->recorded(r, end);
}

static int run(struct run *r, const struct session_options *options, const char *file)
{
        struct spawn_request request = { .file = file, .argv = r->program_argv,
                                         .user = r->wishes->user,
                                         .emulated = r->emulation.runner != NULL };
        char **emulated_argv = NULL;
        bool preloaded = options->carrier == &carrier_preload;
        struct session_end end;
        struct err e = { 0 };
        struct session *s = session_open(options, &e);
        pid_t pid;

        if (!s)
                return message_error(&e);
        request.agent = preloaded ? session_agent(s, options->library, &e) : NULL;
        request.session = session_environment(s);
        request.signals = session_signals(s);
        if (r->wishes->python) { /* each object is a block, each function has code of its own */
                setenv("PYTHONPERFSUPPORT", "1", 1);
                setenv("PYTHONMALLOC", "malloc", 1);
        }
        if (!preloaded)
                request.born = options->carrier->breakpoints ? session_trace : session_launch;
        request.context = s;
        if (request.emulated && request.agent) {
                emulated_argv = emulator_argv(&r->emulation, request.agent, file, request.argv);
                request.file = r->emulation.runner;
                request.argv = emulated_argv;
        }
        pid = request.agent || !preloaded ? spawn_start(&request, &e) : -1;
        free(emulated_argv);
        if (pid < 0) {
                session_close(s);
                return message_error(&e);
        }
        observe(r, s, pid, &end);
        if (end.running)
                session_wait(s, &end);
        session_close(s);
        r->killed_by = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
        return exit_status(end.status);
}

static struct session_options make_options(struct run *r)
{
        /* The program may be waiting. */
        static struct symbol_options names = { .no_debuginfod = true };
        struct session_options o = r->wishes->session;

        if (getenv("SEEP_TEST_VERIFY")) /* for tests: stacks checked as they are taken */
                o.flags |= WIRE_F_VERIFY;
        o.carrier = r->wishes->engine == ENGINE_BREAKPOINT ? &carrier_breakpoint : &carrier_preload;
        o.program = r->program_argv ? r->program_argv[0] : NULL;
        o.context = r;
        o.say = on_say;
        o.done = on_done;
        o.reported = on_reported;
        o.moved = on_moved;
        o.author = (struct reports_author){ &names, record_write_report };
        o.custom = r->wishes->custom.count ? &r->wishes->custom : NULL;
        return o;
}

/* As program_find(); "--sample 64k ./program" takes 64k for the program. */
static char *find_program(const struct run *r, struct err *e)
{
        const char *name = r->program_argv[0];
        char *file = program_find(name, e);
        uint64_t size;

        if (!file && r->wishes->sample_given && r->program_argv[1] && quantity_size(name, &size))
                err_set(e, e->exit_code,
                        "%s: not found in PATH; if it is the size of --sample, write --sample=%s",
                        name, name);
        return file;
}

static char *find_agent(const struct run *r, struct err *e)
{
        return r->wishes->session.gpu ? spawn_find_gpu_agent(e) : spawn_find_agent(e);
}

/* Somebody who has learnt to run programs of another processor by qemu-arm types it here, too. */
static void say_emulated(struct run *r, const char *file)
{
        const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
        char note[512];

        for (char **at = r->program_argv + 1; *at && strncmp(name, "qemu-", 5) == 0; at++) {
                struct elf_facts facts;
                int fd = open(*at, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
                bool is_program = fd >= 0 && elf_look(fd, &facts);
                const struct emulator *by = is_program ? emulator_of(&facts) : NULL;

                if (fd >= 0)
                        close(fd);
                if (!by || strncmp(name, by->runner, strlen(by->runner)) != 0)
                        continue;
                snprintf(note, sizeof note, "recording %s itself, not the program of %s that it "
                         "runs: 'seep %s' records that one", name, by->name, *at);
                on_say(r, SESSION_ADVICE, note);
                return;
        }
}

/* What is needed for the engine that suits the program. */
static bool choose_engine(struct run *r, const char *file, struct session_options *o, struct err *e)
{
        struct engine_choice choice = { .engine = r->wishes->engine, .custom = o->custom != NULL };
        struct program_user user;
        struct err unused = { 0 };
        char note[256];

        if (!spawn_user(r->wishes->user, &user, e))
                return false;
        o->uid = user.uid;
        if (o->carrier->breakpoints)
                return true;
        if (!engine_choose(&choice, file, &user, e))
                return false;
        if (choice.emulation.by) {
                r->emulation = choice.emulation;
                o->library = heap_text(choice.emulation.agent);
                snprintf(note, sizeof note, "a program of %s: run by %s", r->emulation.by->name,
                         r->emulation.runner ? r->emulation.runner : "this machine");
                on_say(r, SESSION_DETAIL, note);
                return true;
        }
        if (!(o->library = find_agent(r, e)))
                return false;
        say_emulated(r, file);
        if (choice.go)
                on_say(r, SESSION_ADVICE, "this is a Go program: what its C code allocates is "
                                          "recorded, Go's own heap is not");
        if (choice.engine == ENGINE_PRELOAD) {
                if (r->wishes->engine != ENGINE_PRELOAD)
                        o->image = spawn_find_image(&unused); /* for programs that it starts */
                return true;
        }
        o->carrier = &carrier_launched;
        o->image = spawn_find_image(e);
        if (choice.why) {
                snprintf(note, sizeof note, "recording by injection: %s", choice.why);
                on_say(r, SESSION_DETAIL, note);
        }
        return o->image;
}

int run_program(struct run *r)
{
        const struct record *wishes = r->wishes;
        struct session_options options = make_options(r);
        struct output output = { 0 };
        struct err e = { 0 };
        char *file = NULL;
        int status = -1;

        if ((file = find_program(r, &e)) && choose_engine(r, file, &options, &e) &&
            output_prepare(&output, wishes->pattern ? wishes->pattern : OUTPUT_DEFAULT,
                           wishes->force, &e) &&
            (r->server || output_gather(&output, wishes->pattern, &e)) &&
            output_check_length(&output, r->program_argv[0], options.flags & WIRE_F_EVENTS, &e) &&
            record_open_push(wishes, options.carrier, &r->push, &e)) {
                if (e.text[0])
                        message("%s", e.text);
                if (output.exposed)
                        on_say(r, SESSION_ADVICE, OUTPUT_EXPOSED);
                if (wishes->push && !wishes->sample_given)
                        on_say(r, SESSION_NOTE,
                               "--push implies --sample: about one block per 512 KiB is recorded; "
                               "--sample=SIZE chooses another rate, --sample=0 records all");
                options.output = r->output = &output;
                status = run(r, &options, file);
        }
        if (!push_close(r->push))
                message("not all profiles were pushed: the process that sends them did not get "
                        "that far");
        if (status < 0)
                status = message_error(&e);
        output_free(&output);
        free((char *)options.library);
        free((char *)options.image);
        emulator_free(&r->emulation);
        free(file);
        return status;
}

/* ---- a process that runs already ---- */

static int attach(struct run *r, const struct session_options *options, pid_t pid)
{
        struct session_end end;
        struct err e = { 0 };
        struct session *s = session_open(options, &e);

        if (!s)
                return message_error(&e);
        if (!session_attach(s, pid, &e)) {
                session_close(s);
                return message_error(&e);
        }
        observe(r, s, pid, &end);
        session_close(s);
        return 0;
}

int run_attached(struct run *r, pid_t pid)
{
        const struct record *wishes = r->wishes;
        struct session_options options = make_options(r);
        struct output output = { 0 };
        struct err e = { 0 };
        char *agent = NULL, *image = NULL;
        int status = -1;

        options.carrier = &carrier_injected;
        options.uid = (uid_t)procfs_status(pid, pid, "Uid", 10, geteuid());
        if ((agent = find_agent(r, &e)) && (image = spawn_find_image(&e)) &&
            (r->visit ? output_prepare_reports(&output, &e)
                      : output_prepare(&output, wishes->pattern ? wishes->pattern : OUTPUT_DEFAULT,
                                       wishes->force, &e) &&
                                (r->server || output_gather(&output, wishes->pattern, &e))) &&
            record_open_push(wishes, options.carrier, &r->push, &e)) {
                options.visit = r->visit;
                options.output = r->output = &output;
                options.image = image;
                options.library = agent;
                status = attach(r, &options, pid);
        }
        push_close(r->push);
        if (status < 0)
                status = message_error(&e);
        output_free(&output);
        free(agent);
        free(image);
        return status;
}
