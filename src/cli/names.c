/* SPDX-License-Identifier: MIT */
#include "cli/names.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/message.h"
#include "words/label.h"
#include "words/text.h"

enum { NAMES_HINT_MODULES = 3, NAMES_HINT_SHARE = 10 }; /* one name in so many is missing */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
        (void)signal;
        interrupted = 1;
}

static void say(const char *text)
{
        message("%s", text);
}

static double now_s(void)
{
        return (double)clock_now_ns() / 1e9;
}

static void show_progress(const char *name, uint64_t done, uint64_t total, double elapsed_s)
{
        struct str line = { 0 };

        str_format(&line, "\r\033[Kseep: %s: ", name);
        if (done && total) {
                text_size(&line, (int64_t)done);
                str_text(&line, " of ");
                text_size(&line, (int64_t)total);
                str_format(&line, ", %.0f s left",
                           elapsed_s * (double)(total - done) / (double)done);
        } else {
                str_format(&line, "asking the debuginfod servers, %.0f s", elapsed_s);
        }
        str_text(&line, " (Ctrl-C: continue without)");
        fputs(str_get(&line), stderr);
        str_free(&line);
}

static void take_interrupts(bool take)
{
        static struct sigaction before;
        struct sigaction ours = { .sa_handler = on_interrupt };

        if (!take) {
                sigaction(SIGINT, &before, NULL);
                return;
        }
        interrupted = 0;
        sigaction(SIGINT, NULL, &before);
        if (before.sa_handler != SIG_IGN)
                sigaction(SIGINT, &ours, NULL);
}

static bool on_fetch(enum symbol_fetch step, const char *name, uint64_t done_bytes,
                     uint64_t total_bytes)
{
        static double start_s;
        static bool shown;
        double elapsed_s = now_s() - start_s;

        switch (step) {
        case SYMBOL_FETCH_BEGIN:
                start_s = now_s();
                shown = false;
                take_interrupts(true);
                break;
        case SYMBOL_FETCH_GOING:
                if (elapsed_s < 1 || !isatty(STDERR_FILENO))
                        break;
                shown = true;
                show_progress(name, done_bytes, total_bytes, elapsed_s);
                break;
        case SYMBOL_FETCH_END:
                take_interrupts(false);
                if (shown)
                        fputs("\r\033[K", stderr);
                break;
        }
        return interrupted;
}

const struct symbol_listener names_listener = { say, on_fetch };
static const struct symbol_listener names_quiet = { NULL, on_fetch }; /* without sentences */

void names_init(struct names *n)
{
        *n = (struct names){ 0 };
        names_settle(n, false);
}

void names_settle(struct names *n, bool quiet)
{
        n->options.listener = quiet ? &names_quiet : &names_listener;
        n->options.debug_paths = n->debug_paths;
}

bool names_take(struct names *n, const char *command, const char *option, const char *value,
                int *status)
{
        *status = 0;
        if (strcmp(option, "sysroot") == 0)
                n->options.sysroot = value;
        else if (strcmp(option, "no-debuginfod") == 0)
                n->options.no_debuginfod = true;
        else if (strcmp(option, "debug-path") != 0)
                return false;
        else if (n->options.debug_path_count == NAMES_DEBUG_PATHS)
                *status = message_usage(command, "--debug-path can be given at most %d times",
                                        NAMES_DEBUG_PATHS);
        else
                n->debug_paths[n->options.debug_path_count++] = value;
        return true;
}

/* Modules with most of their functions unnamed, "libx.so (build id 3f2a...), ...".  Where all
 * answers are those of an earlier command, that one has said so. */
static uint32_t list_nameless(const struct symbol_tally *tally, const struct profile *p,
                              struct str *out)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *m = &p->modules[i];

                if ((tally[i].asked - tally[i].named) * 2 <= tally[i].asked ||
                    tally[i].cached == tally[i].asked || (m->flags & LEDGER_MODULE_ANONYMOUS))
                        continue;
                if (++count > NAMES_HINT_MODULES)
                        continue;
                str_format(out, "%s%s", count > 1 ? ", " : "", label_base(m->path));
                if (m->build_id_bytes >= 4)
                        str_format(out, " (build id %02x%02x%02x%02x...)", m->build_id[0],
                                   m->build_id[1], m->build_id[2], m->build_id[3]);
        }
        if (count > NAMES_HINT_MODULES)
                str_format(out, " and %u more", count - NAMES_HINT_MODULES);
        return count;
}

void names_hint(struct symbols *s, const struct profile *p)
{
        struct symbol_tally *tally = symbols_tally(s);
        uint64_t asked = 0, named = 0;
        struct str modules = { 0 };

        for (uint32_t i = 0; i < p->module_count; i++) {
                asked += tally[i].asked;
                named += tally[i].named;
        }
        if ((asked - named) * NAMES_HINT_SHARE >= asked && list_nameless(tally, p, &modules))
                message("%llu of %llu functions have no name, in %s. Unstripped or debug files can "
                        "be named with --debug-path DIR, now or later; see 'seep help symbols'",
                        (unsigned long long)(asked - named), (unsigned long long)asked,
                        str_get(&modules));
        str_free(&modules);
        free(tally);
}
