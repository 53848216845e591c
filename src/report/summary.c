/* SPDX-License-Identifier: MIT */
/*
 * summary.c -- the one screen that says what happened.
 *
 * Keeps:  at most 24 lines of 80 columns; every number says of what; the commands under "next" work
 *         as printed.  Names are asked for only where they are shown.
 */
#include "report/summary_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_library.h"
#include "base/heap.h"
#include "base/signals.h"
#include "ledger/ledger.h"
#include "names/perfmap.h"
#include "query/errors.h"
#include "query/wrapper_learn.h"
#include "report/views.h"
#include "words/label.h"
#include "words/text.h"

enum {
        SUMMARY_INDENT = 28, /* where explanations of numbers begin */
        SUMMARY_PROGRAM = 42, /* columns of the command line */
        SUMMARY_COMMAND = 50, /* columns of the commands under "next" at least */
        SUMMARY_PURPOSE = 18, /* columns of what they are for, at most */
        SUMMARY_WARNINGS = 3,
        SUMMARY_MODULES = 3
};

static void summary_label(struct summary *m, const char *label, size_t *start)
{
        *start = m->out->length;
        str_format(m->out, "  %-12s", label);
}

/* The number stands right-aligned behind the label. */
void summary_size(struct summary *m, const char *label, uint64_t bytes)
{
        struct str number = { 0 };
        size_t start;

        summary_label(m, label, &start);
        text_size(&number, (int64_t)bytes);
        str_format(m->out, "%12s", str_get(&number));
        str_free(&number);
}

static size_t summary_line_length(const struct profile_meta *meta, const char *program)
{
        size_t length = strlen(program);

        for (uint32_t i = 1; i < meta->arg_count; i++)
                length += 1 + (meta->args[i] ? strlen(meta->args[i]) : 0);
        return length;
}

/* The folder of the program gives way first: of an interpreter, the script and its arguments are
 * what counts; then the arguments, at their end. */
static void summary_command_line(struct summary *m)
{
        const struct profile_meta *meta = &m->p->meta;
        const char *program = meta->program ? meta->program : "?";
        size_t start = m->out->length,
               room = SUMMARY_PROGRAM - (meta->arg_count > 1 ? strlen(" ...") : 0);

        if (summary_line_length(meta, program) > SUMMARY_PROGRAM)
                program = label_base(program);
        if (strlen(program) > room)
                str_format(m->out, "...%s", program + strlen(program) - (room - 3));
        else
                str_text(m->out, program);
        for (uint32_t i = 1; i < meta->arg_count; i++)
                str_format(m->out, " %s", meta->args[i] ? meta->args[i] : "");
        for (size_t i = start; i < m->out->length; i++)
                if ((unsigned char)m->out->data[i] < ' ')
                        m->out->data[i] = ' ';
        /* What a process writes over its arguments to say what it does ends in empty ones. */
        while (m->out->length > start && m->out->data[m->out->length - 1] == ' ')
                m->out->data[--m->out->length] = 0;
        text_cut(m->out, start, SUMMARY_PROGRAM);
}

static void summary_program(struct summary *m)
{
        const struct profile_meta *meta = &m->p->meta;
        char signal[SIGNALS_NAME_BYTES];

        signals_name(meta->exit_signal, signal);
        str_text(m->out, "  ");
        summary_command_line(m);
        str_format(m->out, " (pid %" PRIu32 "), ", meta->pid);
        text_time(m->out, meta->duration_ms);
        if (meta->end == PROFILE_END_EXIT)
                str_format(m->out, ", exit %" PRIu32, meta->exit_code);
        else if (meta->end == PROFILE_END_SIGNAL)
                str_format(m->out, ", killed by %s", signal);
        else if (meta->end == PROFILE_END_EXEC)
                str_text(m->out, ", became another program");
        str_text(m->out, "\n\n");
}

#define WHAT_IS_MORE ", see 'seep help peak'"

/* The place that has most of WHOLE, on a line of its own.  WORD: what WHOLE is called. */
void summary_most(struct summary *m, const struct summary_top *top, uint64_t whole,
                  const char *word)
{
        size_t start = m->out->length;

        if (!top->site)
                return;
        str_format(m->out, "%*s", SUMMARY_INDENT, "");
        text_share(m->out, (double)top->left.bytes, (double)whole);
        str_format(m->out, " of %s: ", word);
        summary_stack(m, m->p->sites[top->site].node, start, 0, 0);
        text_cut(m->out, start, SUMMARY_COLUMNS);
        str_char(m->out, '\n');
}

void summary_peak(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;
        size_t start = m->out->length;

        summary_size(m, "peak heap", t->peak_bytes);
        str_text(m->out, "  at ");
        text_time(m->out, profile_peak_ms(m->p));
        if (t->peak_error_bytes) {
                str_text(m->out, "; up to ");
                text_size(m->out, (int64_t)t->peak_error_bytes);
                str_text(m->out, " more");
                if (text_columns(m->out, start) + strlen(WHAT_IS_MORE) <= SUMMARY_COLUMNS)
                        str_text(m->out, WHAT_IS_MORE);
        }
        str_char(m->out, '\n');
        summary_most(m, &m->peak, t->peak_bytes, "it");
}

void summary_calls(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;
        struct str number = { 0 };
        size_t start;

        summary_label(m, "allocations", &start);
        text_number(&number, (int64_t)t->allocations);
        str_format(m->out, "%12s  ", str_get(&number));
        if (m->p->meta.duration_ms) {
                text_number(m->out, (int64_t)((double)t->allocations * 1000 /
                                              (double)m->p->meta.duration_ms));
                str_text(m->out, "/s, ");
        }
        text_size(m->out, (int64_t)t->bytes_allocated);
        str_text(m->out, " in all, ");
        text_share(m->out, (double)t->temporary, (double)t->allocations);
        str_text(m->out, " temporary\n");
        if (t->older) {
                str_clear(&number);
                text_number(&number, (int64_t)t->older);
                summary_label(m, "older", &start);
                str_format(m->out,
                           "%12s  releases of blocks from before the recording, or its reset\n",
                           str_get(&number));
        }
        str_free(&number);
}

/* Within its reach, a second free is seen for what it is. */
static void summary_quarantine(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;

        if (!t->quarantine_blocks)
                return;
        summary_size(m, "quarantine", t->quarantine_bytes);
        str_text(m->out, "  ");
        text_count(m->out, (int64_t)t->quarantine_blocks, "freed block");
        str_text(m->out, " in quarantine, all freed since ");
        if (t->quarantine_ms)
                text_time(m->out, t->quarantine_ms);
        else
                str_text(m->out, "the start");
        str_char(m->out, '\n');
}

static void summary_gpu(struct summary *m)
{
        struct resources_memory gpu;

        if (!resources_memory(m->p, &gpu))
                return;
        summary_size(m, "gpu memory", gpu.live_bytes);
        str_text(m->out, "  in ");
        text_count(m->out, (int64_t)gpu.live_blocks, "piece");
        str_text(m->out, " at the end, ");
        text_count(m->out, (int64_t)gpu.allocs, "call");
        if (gpu.most_bytes > gpu.live_bytes) {
                str_text(m->out, "; ");
                text_size(m->out, (int64_t)gpu.most_bytes);
                str_text(m->out, " at ");
                text_time(m->out, gpu.most_ms);
        }
        str_char(m->out, '\n');
}

static void summary_numbers(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;

        summary_peak(m);
        summary_size(m, "end heap", t->live_bytes);
        str_text(m->out, "  in ");
        text_count(m->out, (int64_t)t->live_blocks, "block");
        str_char(m->out, '\n');
        summary_calls(m);
        summary_mapped(m);
        summary_rss(m);
        summary_free(m, m->p->meta.warning_count > 1 ? 1 : 3);
        summary_quarantine(m);
        summary_gpu(m);
}

static void summary_error(struct str *out, uint64_t count, const char *one, const char *many)
{
        if (!count)
                return;
        if (out->length)
                str_text(out, ", ");
        text_number(out, (int64_t)count);
        str_format(out, " %s", count == 1 ? one : many);
}

static void summary_list_errors(const struct profile_totals *t, const char *mismatched,
                                struct str *out)
{
        summary_error(out, t->double_frees, "double free", "double frees");
        summary_error(out, t->mismatched, "mismatched free", mismatched);
        summary_error(out, t->unknown_frees, "unknown free", "unknown frees");
}

void summary_errors(struct summary *m)
{
        struct str text = { 0 };

        summary_list_errors(&m->p->totals, "mismatched frees", &text);
        if (strlen("  ERRORS: ") + text.length > SUMMARY_COLUMNS) {
                str_clear(&text);
                summary_list_errors(&m->p->totals, "mismatched", &text);
        }
        if (text.length) {
                text_color(m->out, m->options->color, TEXT_RED);
                str_format(m->out, "  ERRORS: %s", str_get(&text));
                text_plain(m->out, m->options->color);
                str_char(m->out, '\n');
        }
        str_free(&text);
}

/* Most often it is a double free that ends a program. */
static const struct profile_error *summary_worst_error(const struct profile *p)
{
        for (uint32_t i = 0; i < p->error_count; i++)
                if (p->errors[i].type == LEDGER_ERROR_DOUBLE_FREE)
                        return &p->errors[i];
        return &p->errors[0];
}

/* Invalid frees end programs, and what follows from them is told of below. */
static void summary_errors_first(struct summary *m)
{
        const struct profile *p = m->p;
        const struct profile_error *worst;
        size_t start;

        str_char(m->out, '\n');
        summary_errors(m);
        if (!p->error_count || p->meta.warning_count > 1) /* which need the lines */
                return;
        worst = summary_worst_error(p);
        start = m->out->length;
        str_text(m->out, "    1.  ");
        errors_what(p, worst, m->out);
        str_text(m->out, ": ");
        summary_stack(m, worst->node, start, 0, 0);
        str_char(m->out, '\n');
}

static void summary_resources(struct summary *m)
{
        struct str text = { 0 };

        if (resources_held(m->p, &text))
                str_format(m->out, "  RESOURCES NOT RELEASED: %s\n", str_get(&text));
        str_free(&text);
}

/* Runtime libraries come without debug information everywhere; naming them would only hide the
 * others. */
static bool summary_is_runtime(const char *path)
{
        static const char *const names[] = { "libstdc++", "libgcc_s", "libm.so", "libm-2." };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (strncmp(label_base(path), names[i], strlen(names[i])) == 0)
                        return true;
        return path[0] != '/' || c_library_has(path);
}

static void summary_mark_modules(struct summary *m, uint32_t site, uint8_t *met)
{
        for (uint32_t node = m->p->sites[site].node; node > 1; node = m->p->nodes[node].parent)
                if (m->p->nodes[node].module < m->p->module_count)
                        met[m->p->nodes[node].module] = 1;
}

/* Modules in the stacks shown above only: the others are never opened. */
void summary_modules(struct summary *m)
{
        const struct profile *p = m->p;
        uint8_t *met = heap_zero(p->module_count, 1);
        struct str names = { 0 };
        uint32_t count = 0;

        for (uint32_t i = 0; i < m->top_count; i++)
                summary_mark_modules(m, m->top[i].site, met);
        if (m->peak.site)
                summary_mark_modules(m, m->peak.site, met);
        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *path = p->modules[i].path;

                if (!met[i] || !path || summary_is_runtime(path) ||
                    symbols_has_lines(m->symbols, i))
                        continue;
                if (++count <= SUMMARY_MODULES)
                        str_format(&names, "%s%s", count > 1 ? ", " : "", label_base(path));
        }
        if (count) {
                size_t start = m->out->length;

                str_format(m->out, "  no debug information, so no lines: %s", str_get(&names));
                if (count > SUMMARY_MODULES)
                        str_format(m->out, " and %u more", count - SUMMARY_MODULES);
                text_cut(m->out, start, SUMMARY_COLUMNS);
                str_text(m->out, "\n  (compile with -g; see 'seep help symbols')\n");
        }
        free(met);
        str_free(&names);
}

/* The version of Python that the file at PATH is of: 312 is 3.12; 0 not told. */
static unsigned summary_python(const char *path)
{
        unsigned major, minor;

        return sscanf(strstr(label_base(path), "python"), "python%u.%u", &major, &minor) == 2
                       ? major * 100 + minor
                       : 0;
}

void summary_scripts(struct summary *m)
{
        enum interpreter which = INTERPRETER_NONE;
        const char *path = NULL;
        unsigned version;

        for (uint32_t i = 0; i < m->p->module_count && !which; i++) {
                path = m->p->modules[i].path;
                which = interpreter_of(path);
        }
        if (!which || interpreter_is_named(m->p, which))
                return;
        if (which == INTERPRETER_NODE) {
                str_text(m->out, "  JavaScript functions have no names: node --perf-basic-prof\n"
                                 "  --interpreted-frames-native-stack\n");
        } else if (which == INTERPRETER_JAVA) {
                str_text(m->out,
                         "  Java methods have no names: java -XX:+UnlockDiagnosticVMOptions\n"
                         "  -XX:+DumpPerfMapAtExit (17 or later)\n");
        } else {
                version = summary_python(path);
                if (version && version < 312)
                        str_format(m->out, "  Python %u.%u cannot name its functions: 3.12 and "
                                   "later can (seep --python)\n", version / 100, version % 100);
                else
                        str_text(m->out, "  Python functions have no names: seep --python\n");
        }
}

void summary_fold(struct summary *m, const char *first, const char *text, uint32_t lines)
{
        const size_t indent = strlen(first), room = SUMMARY_COLUMNS - indent;

        for (uint32_t line = 1; *text; line++) {
                size_t length = strlen(text), start = m->out->length;
                const char *space = length > room ? memrchr(text, ' ', room + 1) : NULL;

                if (line < lines && space)
                        length = (size_t)(space - text);
                str_format(m->out, "%*s", (int)indent, line == 1 ? first : "");
                str_bytes(m->out, text, length);
                text_cut(m->out, start, SUMMARY_COLUMNS);
                str_char(m->out, '\n');
                text += length + (text[length] == ' ');
        }
}

void summary_stack(struct summary *m, uint32_t node, size_t start, size_t reserved, size_t kept)
{
        struct stack_line line = { .profile = m->p, .symbols = m->symbols, .out = m->out,
                                   .reserved = reserved, .kept = kept };

        stack_line_stack(&line, node, start);
}

static void summary_warnings(struct summary *m)
{
        const struct profile_meta *meta = &m->p->meta;

        for (uint32_t i = 0; i < meta->warning_count && i < SUMMARY_WARNINGS; i++) {
                text_color(m->out, m->options->color, TEXT_YELLOW);
                summary_fold(m, "  warning: ", meta->warnings[i] ? meta->warnings[i] : "?",
                             SUMMARY_WARNINGS / meta->warning_count);
                text_plain(m->out, m->options->color);
        }
}

/* FILE as a shell takes it. */
static void summary_quote(struct str *out, const char *file)
{
        static const char plain[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:@%/";

        if (file[0] == '-')
                str_text(out, "./");
        if (file[0] && strspn(file, plain) == strlen(file)) {
                str_text(out, file);
                return;
        }
        str_char(out, '\'');
        for (; *file; file++)
                if (*file == '\'')
                        str_text(out, "'\\''");
                else
                        str_char(out, *file);
        str_char(out, '\'');
}

/* What to look at next: a command with its options, and what for (at most
 * SUMMARY_PURPOSE letters). */
struct summary_step {
        const char *words, *purpose;
        bool wanted;
};

/* The purposes stand in one column.  A long path would push one out of it: it is then left
 * out, the command is not. */
static void summary_step(struct summary *m, const struct summary_step *step, bool first,
                         const struct str *file, size_t column)
{
        size_t start = m->out->length;

        str_format(m->out, "  %-6sseep %s %s", first ? "next:" : "", step->words, str_get(file));
        if (text_columns(m->out, start) <= column) {
                text_pad(m->out, start, column);
                str_format(m->out, "  %s", step->purpose);
        }
        str_char(m->out, '\n');
}

enum { SUMMARY_STEPS = 8, SUMMARY_TEMPORARY = 10 /* one in so many is worth a look */ };

/* Fills STEPS; returns how many of them are wanted. */
static uint32_t summary_steps(const struct summary *m, struct summary_step steps[SUMMARY_STEPS])
{
        const struct leaks_sum *sums = m->leaks.sums;
        const struct profile_totals *t = &m->p->totals;
        const struct summary_step all[SUMMARY_STEPS] = {
                { "report --errors", "invalid frees", m->p->error_count != 0 },
                { "leaks", "leaks with stacks",
                  sums[PROFILE_LEAK_DEFINITE].blocks || sums[PROFILE_LEAK_POSSIBLE].blocks },
                { "html --open", "in the browser", true },
                { "report", "what made the peak", true },
                { "report --cost live", "what was not freed", t->live_blocks != 0 },
                { "report --growth", "what grows", summary_grows(m) },
                { "report --cost temporary", "short-lived blocks",
                  t->temporary > t->allocations / SUMMARY_TEMPORARY },
                { "report --resources", "what is still held", m->resources },
        };
        uint32_t count = 0;

        memcpy(steps, all, sizeof all);
        for (uint32_t i = 0; i < SUMMARY_STEPS; i++)
                count += all[i].wanted;
        return count;
}

static void summary_next(struct summary *m)
{
        struct summary_step steps[SUMMARY_STEPS];
        const size_t most = SUMMARY_COLUMNS - 2 - SUMMARY_PURPOSE;
        size_t column = SUMMARY_COMMAND;
        struct str file = { 0 };
        bool first = true;

        if (!m->options->file)
                return;
        summary_steps(m, steps);
        summary_quote(&file, m->options->file);
        for (size_t i = 0; i < SUMMARY_STEPS; i++) {
                size_t width = strlen("  next: seep ") + strlen(steps[i].words) + 1 +
                               text_columns(&file, 0);

                if (steps[i].wanted && width > column && width <= most)
                        column = width;
        }
        str_char(m->out, '\n');
        for (size_t i = 0; i < SUMMARY_STEPS; i++) {
                if (!steps[i].wanted)
                        continue;
                summary_step(m, &steps[i], first, &file, column);
                first = false;
        }
        str_free(&file);
}

/* Lines behind what was left at the end. */
static uint32_t summary_below(const struct summary *m)
{
        struct summary_step steps[SUMMARY_STEPS];

        return m->resources + (m->options->file ? 1 + summary_steps(m, steps) : 0);
}

/* Never silence: why there are no numbers. */
void summary_nothing(struct summary *m)
{
        static const char *const stops[] = {
#define SUMMARY_STOP(name, number, text) [number] = text,
                LEDGER_STOPS(SUMMARY_STOP)
#undef SUMMARY_STOP
        };
        const struct profile_meta *meta = &m->p->meta;

        str_text(m->out, "  nothing was recorded");
        if (profile_stayed_off(m->p) && !meta->stop_reason) {
                str_char(m->out, '\n'); /* a warning says why */
                return;
        }
        str_text(m->out, ": ");
        if (meta->stop_reason && meta->stop_reason < sizeof stops / sizeof stops[0])
                str_format(m->out, "%s\n", stops[meta->stop_reason]);
        else if (meta->end == PROFILE_END_EXEC)
                str_text(m->out,
                         "the program was replaced by another one (exec) before it allocated\n");
        else if (m->p->totals.attached)
                str_text(m->out, "the process made no allocation meanwhile.\n");
        else
                str_text(m->out,
                         "the program made no allocation that seep can see.\n"
                         "  It may use an allocator built into it, or leave the work to a child\n"
                         "  (record with --follow=all).\n");
}

/* The rules that hold are the user's, the program's and ours. */
void summary_search(struct summary *m)
{
        const struct select_request request = { .cost = SELECT_LIVE, .each_site = true };
        struct suppressions none = {
                0 }, *rules = m->options->suppressions ? m->options->suppressions : &none;
        struct str trouble = { 0 };
        uint32_t given = rules->count;
        struct err unused;

        wrapper_learn(m->p, m->symbols);
        /* Asks for nothing that could be missing. */
        select_make(&m->sel, m->p, m->symbols, &request, &unused);
        leaks_usual_rules(rules, m->p, false, &trouble);
        leaks_make(&m->leaks, &m->sel, m->symbols,
                   &(struct leaks_request){ .suppressions = rules });
        suppress_truncate(rules, given);
        if (rules == &none)
                suppress_free(rules);
        str_free(&trouble);
}

void summary_write(const struct profile *p, struct symbols *s,
                   const struct summary_options *options, struct str *out)
{
        struct summary m = { .p = p, .symbols = s, .options = options, .out = out,
                             .start = out->length };

        summary_program(&m);
        if (!p->totals.allocations && !p->totals.mmap_calls) {
                summary_nothing(&m);
                summary_warnings(&m);
                summary_resources(&m);
                return;
        }
        m.growth = growth_judge(p, NULL);
        m.resources = p->handle_count != 0;
        summary_search(&m);
        summary_find_top(&m);
        summary_numbers(&m);
        summary_modules(&m);
        summary_scripts(&m);
        summary_warnings(&m);
        summary_errors_first(&m);
        summary_end(&m, summary_below(&m));
        summary_resources(&m);
        summary_next(&m);
        leaks_free(&m.leaks);
        select_free(&m.sel);
        free(m.growth);
}
