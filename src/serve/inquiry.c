/* SPDX-License-Identifier: MIT */
#include "serve/inquiry.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/worker.h"
#include "session/ask.h"

enum { INQUIRY_SECONDS = 60, INQUIRY_BYTES = 32 << 20 };

/* ---- of a running process ---- */

static bool is_running(const struct served *x, const char *what, struct err *e)
{
        return x->live || err_set(e, ERR_EXIT_USAGE, "%s: only of a process that is running", what);
}

bool inquiry_search(struct served *x, struct request_text query, struct str *out, struct err *e)
{
        struct profile *now;

        if (query.length)
                return err_set(e, ERR_EXIT_USAGE, "a search has no parameters");
        if (!is_running(x, "a search", e))
                return false;
        now = heap_zero(1, sizeof *now);
        if (!ask_scan(x->request->pid, WIRE_SCAN_GRAPH, now, e)) {
                free(now);
                return false;
        }
        served_take(x, now);
        return served_data(x, query, out, e);
}

/* The one parameter that an inquiry has. */
struct parameter {
        const char *name;
        char *value;
};

static bool take_value(void *into, const char *name, const char *value, struct err *e)
{
        struct parameter *p = into;

        if (strcmp(name, p->name) != 0 || p->value)
                return err_set(e, ERR_EXIT_USAGE, "'%s' in the query; known is one %s=", name,
                               p->name);
        p->value = heap_text(value);
        return true;
}

bool inquiry_snapshot(struct served *x, struct request_text query, struct str *out, struct err *e)
{
        struct parameter label = { .name = "label" };
        struct wire_reply reply = { 0 };
        bool good = served_parameters(query, take_value, &label, e) &&
                    is_running(x, "a snapshot", e) &&
                    ask_snapshot(x->request->pid, label.value ? label.value : "", &reply, e) &&
                    (!reply.status || err_set(e, ERR_EXIT_FINDINGS, "%s", reply.text));

        if (good) {
                str_format(out, "{\"seq\":%" PRIu32 ",\"live_bytes\":%" PRIu64 ",\"report\":",
                           reply.seq, reply.live_bytes);
                json_text(out, reply.text);
                str_char(out, '}');
                x->looked_ns = 0; /* the next look knows it */
        }
        free(label.value);
        return good;
}

/* ---- our own commands ---- */

static void bound(int what, rlim_t most)
{
        setrlimit(what, &(struct rlimit){ most, most });
}

/* In the process of the command: stdout and stderr are the file. */
static bool become(void *context, int fd)
{
        char *const *words = context;
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sigset_t none;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        bound(RLIMIT_CPU, INQUIRY_SECONDS);
        bound(RLIMIT_FSIZE, INQUIRY_BYTES);
        if (dup2(nothing, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
                return false;
        execv("/proc/self/exe", words);
        return false;
}

static void take_text(const struct worker *w, struct str *out)
{
        struct stat about;
        char *text;

        if (fstat(w->fd, &about) < 0 || about.st_size <= 0)
                return;
        text = heap_zero((size_t)about.st_size, 1);
        if (worker_read(w, 0, text, (size_t)about.st_size))
                str_bytes(out, text, (size_t)about.st_size);
        free(text);
}

/* The command said no: its message is ours, without the name in front. */
static bool refuse(int status, struct str *said, struct err *e)
{
        static const char name[] = "seep: ";
        const char *text = str_get(said);

        if (WIFSIGNALED(status))
                return err_set(e, ERR_EXIT_USAGE,
                               "this takes too long, or is too large, for the page: ask in a "
                               "terminal");
        if (strncmp(text, name, sizeof name - 1) == 0)
                text += sizeof name - 1;
        return err_set(e, ERR_EXIT_USAGE, "%.*s", (int)strcspn(text, "\n"),
                       *text ? text : "the command failed");
}

static bool run_own(char *const *words, struct str *out, struct err *e)
{
        struct str said = { 0 };
        struct worker w;
        int status;

        if (!worker_start(&w, &(struct worker_order){ .work = become,
                                                      .context = (void *)words,
                                                      .file = "seep-inquiry" }))
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "the command cannot be started");
        status = worker_wait(&w);
        take_text(&w, &said);
        worker_close(&w);
        if (status)
                refuse(status, &said, e);
        else
                str_bytes(out, str_get(&said), said.length);
        str_free(&said);
        return !status;
}

/* What commands call it: the number of the process, or the name of the file.  False: they cannot
 * know it. */
static bool name_target(const struct served *x, struct str *name, struct err *e)
{
        if (ask_is_routed())
                return err_set(e, ERR_EXIT_USAGE,
                               "not for a process of another machine: ask in a terminal, with "
                               "seep connect");
        if (x->request->count > 1)
                return err_set(e, ERR_EXIT_USAGE, "two recordings are compared here: ask of one");
        if (x->request->count == 0)
                str_format(name, "%" PRIu32, x->request->pid);
        else if (x->request->recordings[0].file)
                str_text(name, x->request->recordings[0].file);
        return name->length || err_set(e, ERR_EXIT_USAGE, "the recording has no file");
}

/* A command with the target and the one parameter behind its words. */
static bool run_about(struct served *x, struct request_text query, const char *parameter,
                      const char *const words[4], struct str *out, struct err *e)
{
        struct parameter p = { .name = parameter };
        struct str target = { 0 };
        char *all[8] = { 0 };
        bool good = served_parameters(query, take_value, &p, e);

        if (good && (!p.value || !*p.value))
                good = err_set(e, ERR_EXIT_USAGE, "%s= is missing in the query", parameter);
        good = good && name_target(x, &target, e);
        if (good) {
                memcpy(all, words, 4 * sizeof *words);
                all[4] = (char *)"--";
                all[5] = target.data;
                all[6] = p.value;
                good = run_own(all, out, e);
        }
        free(p.value);
        str_free(&target);
        return good;
}

bool inquiry_sql(struct served *x, struct request_text query, struct str *out, struct err *e)
{
        static const char *const words[4] = { "seep", "sql", "--json", "-q" };

        return run_about(x, query, "query", words, out, e);
}

bool inquiry_why(struct served *x, struct request_text query, struct str *out, struct err *e)
{
        static const char *const words[4] = { "seep", "why", "--color=never", "-q" };
        struct str text = { 0 };
        bool good = run_about(x, query, "what", words, &text, e);

        if (good) {
                str_text(out, "{\"text\":");
                json_text(out, str_get(&text));
                str_char(out, '}');
        }
        str_free(&text);
        return good;
}
