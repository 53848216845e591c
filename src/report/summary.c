/* SPDX-License-Identifier: MIT */
/*
 * summary.c -- the one screen that says what happened.
 *
 * Room:   outside.  At the end of cli/cmd_record.c, and `seep report --summary`.
 * Keeps:  at most 24 lines of 80 columns; every number says of what; the commands under "next" work as printed.
 *         Names are asked for only where they are shown.
 */
#include "report/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/signals.h"
#include "ledger/ledger.h"
#include "report/growth.h"
#include "report/label.h"
#include "report/resources.h"
#include "report/shorten.h"
#include "report/text.h"
#include "report/wrapper.h"

enum {
        SUMMARY_LINES = 24,
        SUMMARY_COLUMNS = 80,
        SUMMARY_INDENT = 28, /* where explanations of numbers begin */
        SUMMARY_PROGRAM = 42, /* columns of the command line */
        SUMMARY_NAME = 16,    /* columns of a shortened name at least */
        SUMMARY_COMMAND = 50, /* columns of the commands under "next" at least */
        SUMMARY_TOP = 5,
        SUMMARY_WARNINGS = 3,
        SUMMARY_MODULES = 3
};

struct summary {
        const struct profile *p;
        struct symbols *symbols;
        const char *file;
        int color;
        struct str *out;
        size_t start;              /* where the summary begins in it */
        uint32_t top[SUMMARY_TOP]; /* heap sites with the most bytes not freed */
        uint32_t top_count;
        uint32_t peak_site; /* with the largest part of the peak; 0 none */
        struct growth *growth; /* by site */
        size_t reserved; /* columns at the end of the line that callers must leave free */
        bool resources;        /* some were not released */
};

static bool summary_is_heap(const struct profile_site *site)
{
        return LEDGER_KIND_IS_HEAP(site->kind);
}

/* Insert SITE into the short sorted list, if it belongs there. */
static void summary_rank(struct summary *m, uint32_t site)
{
        const struct profile_site *sites = m->p->sites;
        uint32_t at = m->top_count;

        while (at && sites[m->top[at - 1]].live_bytes < sites[site].live_bytes)
                at--;
        if (at == SUMMARY_TOP)
                return;
        if (m->top_count < SUMMARY_TOP)
                m->top_count++;
        for (uint32_t i = m->top_count - 1; i > at; i--)
                m->top[i] = m->top[i - 1];
        m->top[at] = site;
}

static void summary_find_top(struct summary *m)
{
        const struct profile *p = m->p;

        for (uint32_t i = 1; i < p->site_count; i++) {
                if (!summary_is_heap(&p->sites[i]))
                        continue;
                if (p->sites[i].live_blocks)
                        summary_rank(m, i);
                if (p->sites[i].peak_bytes > (m->peak_site ? p->sites[m->peak_site].peak_bytes : 0))
                        m->peak_site = i;
        }
}

/* Columns that are left of the line that begins at START. */
static size_t summary_left(const struct summary *m, size_t start, size_t reserved)
{
        size_t used = m->out->length - start + reserved;

        return used < SUMMARY_COLUMNS ? SUMMARY_COLUMNS - used : 0;
}

/* Append " <- NAME PLACE" as far as it fits. */
static void summary_caller(struct summary *m, struct str *name, const struct str *place, size_t start)
{
        const size_t arrow = strlen(" <- "), left = summary_left(m, start, m->reserved);

        if (arrow + name->length + place->length <= left)
                str_format(m->out, " <- %s%s", str_get(name), str_get(place));
        else if (left >= arrow && (arrow + name->length <= left || left >= arrow + SUMMARY_NAME) &&
                 shorten_name(name, left - arrow))
                str_format(m->out, " <- %s", str_get(name));
}

/* Append to the line that begins at START "function file:line", or " <- " with that of a CALLER.  BARE: no place. */
static void summary_frame(struct summary *m, uint32_t node, const struct symbol_frame *frame, size_t start, bool caller,
                          bool bare)
{
        struct str name = { 0 }, place = { 0 };
        size_t left = summary_left(m, start, 0);

        label_short(m->p, node, frame, &name);
        if (frame->file && frame->line && !bare)
                str_format(&place, " %s:%" PRIu32, label_base(frame->file), frame->line);
        if (caller) {
                summary_caller(m, &name, &place, start);
        } else {
                if (frame->function)
                        shorten_name(&name, left > place.length + SUMMARY_NAME ? left - place.length : SUMMARY_NAME);
                str_format(m->out, "%s%s", str_get(&name), str_get(&place));
        }
        str_free(&name);
        str_free(&place);
}

/* Who called the C library's function at NODE; 0: it is none, or nobody but start code did. */
static uint32_t summary_user(struct summary *m, uint32_t node)
{
        const struct symbol_frame *frames;

        if (!label_in_libc(m->p, node))
                return 0;
        for (; node > 1 && label_in_libc(m->p, node); node = m->p->nodes[node].parent) {
                uint32_t count = symbols_node(m->symbols, node, &frames);

                if (label_is_start(&frames[count - 1]))
                        return 0;
        }
        return node > 1 ? node : 0;
}

/* Append to the line that begins at START of the output "function file:line", and "<- " with the caller's where that
 * fits.  Library machinery is passed over where something else follows; of the C library, its caller counts. */
static void summary_frames(struct summary *m, uint32_t node, size_t start)
{
        const struct symbol_frame *frames;
        uint32_t shown = 0, next;

        for (; node > 1 && shown < 2; node = next) {
                uint32_t count = symbols_node(m->symbols, node, &frames), user = shown ? 0 : summary_user(m, node);
                bool outermost = m->p->nodes[node].parent <= 1;

                next = m->p->nodes[node].parent;
                if (shown && label_is_start(&frames[count - 1]))
                        break;
                for (uint32_t i = 0; i < count && shown < 2 && !(shown && user); i++) {
                        if (wrapper_or_library(&frames[i]) && !(outermost && !shown && i + 1 == count))
                                continue;
                        summary_frame(m, node, &frames[i], start, shown, user);
                        shown++;
                        if (frames[i].function && strcmp(frames[i].function, "main") == 0)
                                return;
                }
                if (shown && user) { /* its place is the only one: more than what else wants room */
                        next = user;
                        m->reserved = 0;
                }
        }
        if (!shown)
                label_function(m->p, node, &(struct symbol_frame){ 0 }, m->out);
}

static void summary_label(struct summary *m, const char *label, size_t *start)
{
        *start = m->out->length;
        str_format(m->out, "  %-12s", label);
}

/* The number stands right-aligned behind the label. */
static void summary_size(struct summary *m, const char *label, uint64_t bytes)
{
        struct str number = { 0 };
        size_t start;

        summary_label(m, label, &start);
        text_size(&number, (int64_t)bytes);
        str_format(m->out, "%12s", str_get(&number));
        str_free(&number);
}

/* Arguments give way first, at their end; then the path of the program, at its front: the name is what counts. */
static void summary_command_line(struct summary *m)
{
        const struct profile_meta *meta = &m->p->meta;
        const char *program = meta->program ? meta->program : "?";
        size_t start = m->out->length, room = SUMMARY_PROGRAM - (meta->arg_count > 1 ? strlen(" ...") : 0);

        if (strlen(program) > room)
                str_format(m->out, "...%s", program + strlen(program) - (room - 3));
        else
                str_text(m->out, program);
        for (uint32_t i = 1; i < meta->arg_count; i++)
                str_format(m->out, " %s", meta->args[i] ? meta->args[i] : "");
        for (size_t i = start; i < m->out->length; i++)
                if ((unsigned char)m->out->data[i] < ' ')
                        m->out->data[i] = ' ';
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

static void summary_peak(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;
        size_t start;

        summary_size(m, "peak heap", t->peak_bytes);
        str_text(m->out, "  at ");
        text_time(m->out, t->peak_ms);
        if (t->peak_error_bytes) {
                str_text(m->out, "; up to ");
                text_size(m->out, (int64_t)t->peak_error_bytes);
                str_text(m->out, " more, see 'seep help peak'");
        }
        str_char(m->out, '\n');
        if (!m->peak_site)
                return;
        start = m->out->length;
        str_format(m->out, "%*s", SUMMARY_INDENT, "");
        text_share(m->out, (double)m->p->sites[m->peak_site].peak_bytes, (double)t->peak_bytes);
        str_text(m->out, " of it: ");
        summary_frames(m, m->p->sites[m->peak_site].node, start);
        text_cut(m->out, start, SUMMARY_COLUMNS);
        str_char(m->out, '\n');
}

static void summary_calls(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;
        struct str number = { 0 };
        size_t start;

        summary_label(m, "allocations", &start);
        text_number(&number, (int64_t)t->allocations);
        str_format(m->out, "%12s  ", str_get(&number));
        if (m->p->meta.duration_ms) {
                text_number(m->out, (int64_t)((double)t->allocations * 1000 / (double)m->p->meta.duration_ms));
                str_text(m->out, "/s, ");
        }
        text_size(m->out, (int64_t)t->bytes_allocated);
        str_text(m->out, " in all, ");
        text_share(m->out, (double)t->temporary, (double)t->allocations);
        str_text(m->out, " temporary\n");
        str_free(&number);
}

/* What mmap may have had in the peak of RSS: at the heap's peak or at the end, other moments are not known. */
static uint64_t summary_mapped(const struct profile *p)
{
        uint64_t bytes = 0;

        for (uint32_t i = 1; i < p->site_count; i++)
                if (LEDGER_KIND_IS_MAPPED(p->sites[i].kind))
                        bytes += p->sites[i].peak_bytes;
        return bytes > p->totals.mmap_live_bytes ? bytes : p->totals.mmap_live_bytes;
}

static void summary_rss_above(struct summary *m, uint64_t above)
{
        uint64_t mapped = summary_mapped(m->p);

        text_size(m->out, (int64_t)above);
        if (mapped < above / 16 || !mapped) {
                str_text(m->out, " more than the heap: see 'seep help rss'\n");
                return;
        }
        str_text(m->out, " above the heap, ");
        if (mapped > above)
                str_text(m->out, "some"); /* the rest was not resident */
        else
                text_size(m->out, (int64_t)mapped);
        str_text(m->out, " of it by mmap\n");
}

static void summary_rss(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;

        if (t->mmap_live_bytes) {
                summary_size(m, "mapped", t->mmap_live_bytes);
                str_text(m->out, "  by mmap at the end (");
                text_count(m->out, (int64_t)t->mmap_calls, "call");
                str_text(m->out, ")\n");
        }
        if (!t->rss_peak_bytes)
                return;
        summary_size(m, "peak RSS", t->rss_peak_bytes);
        str_text(m->out, "  ");
        if (t->rss_peak_bytes >= t->peak_bytes) {
                summary_rss_above(m, t->rss_peak_bytes - t->peak_bytes);
                return;
        }
        text_size(m->out, (int64_t)(t->peak_bytes - t->rss_peak_bytes));
        str_text(m->out, " less than the heap: see 'seep help rss'\n");
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
        summary_rss(m);
}

/* " (60 B/s)", " (bounded)", " (once)", or nothing. */
static void summary_growth(const struct growth *growth, struct str *text)
{
        struct str word = { 0 };

        growth_write(growth, &word);
        if (word.length)
                str_format(text, " (%s)", str_get(&word) + (growth->class == GROWTH_GROWS ? strlen("grows ") : 0));
        str_free(&word);
}

static void summary_site(struct summary *m, uint32_t number)
{
        const struct profile_site *site = &m->p->sites[m->top[number]];
        const struct growth *growth = &m->growth[m->top[number]];
        struct str size = { 0 }, count = { 0 }, course = { 0 };
        size_t start = m->out->length;

        text_size(&size, (int64_t)site->live_bytes);
        text_number(&count, (int64_t)site->live_blocks);
        str_format(m->out, "    %u. %10s %7s %-6s  ", number + 1, str_get(&size), str_get(&count),
                   site->live_blocks == 1 ? "block" : "blocks");
        if (growth->class == GROWTH_GROWS)
                str_text(m->out, "grows: ");
        summary_growth(growth, &course);
        m->reserved = growth->class == GROWTH_GROWS ? course.length : 0;
        summary_frames(m, site->node, start);
        m->reserved = 0;
        text_cut(m->out, start, SUMMARY_COLUMNS);
        if (m->out->length - start + course.length <= SUMMARY_COLUMNS)
                str_text(m->out, str_get(&course));
        str_char(m->out, '\n');
        str_free(&size);
        str_free(&count);
        str_free(&course);
}

/* Whether one of the stacks that are named grows. */
static bool summary_grows(const struct summary *m)
{
        for (uint32_t i = 0; i < m->top_count; i++)
                if (m->growth[m->top[i]].class == GROWTH_GROWS)
                        return true;
        return false;
}

/* Lines left for sites when everything else has its place. */
static uint32_t summary_room(const struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;
        uint32_t used = 2; /* an empty line and the heading */

        for (size_t i = m->start; i < m->out->length; i++)
                used += m->out->data[i] == '\n';
        used += t->double_frees || t->mismatched || t->unknown_frees;
        used += m->resources;
        if (m->file)
                used += 3 + (t->temporary != 0) + (m->p->error_count != 0) + summary_grows(m) + m->resources;
        return used < SUMMARY_LINES ? SUMMARY_LINES - used : 1;
}

static void summary_not_freed(struct summary *m)
{
        uint32_t room = summary_room(m);
        const struct profile_totals *t = &m->p->totals;

        if (!t->live_blocks) {
                str_text(m->out, "\n  everything on the heap was freed\n");
                return;
        }
        str_char(m->out, '\n');
        text_color(m->out, m->color, TEXT_BOLD);
        str_text(m->out, "  NOT FREED: ");
        text_size(m->out, (int64_t)t->live_bytes);
        str_text(m->out, " in ");
        text_count(m->out, (int64_t)t->live_blocks, "block");
        text_plain(m->out, m->color);
        str_text(m->out, m->p->meta.end == PROFILE_END_UNKNOWN ? " so far\n" : " at the end\n");
        for (uint32_t i = 0; i < m->top_count && i < room; i++)
                summary_site(m, i);
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

static void summary_list_errors(const struct profile_totals *t, const char *mismatched, struct str *out)
{
        summary_error(out, t->double_frees, "double free", "double frees");
        summary_error(out, t->mismatched, "mismatched release", mismatched);
        summary_error(out, t->unknown_frees, "unknown free", "unknown frees");
}

static void summary_errors(struct summary *m)
{
        struct str text = { 0 };

        summary_list_errors(&m->p->totals, "mismatched releases", &text);
        if (strlen("  ERRORS: ") + text.length > SUMMARY_COLUMNS) {
                str_clear(&text);
                summary_list_errors(&m->p->totals, "mismatched", &text);
        }
        if (text.length) {
                text_color(m->out, m->color, TEXT_RED);
                str_format(m->out, "  ERRORS: %s", str_get(&text));
                text_plain(m->out, m->color);
                str_char(m->out, '\n');
        }
        str_free(&text);
}

static void summary_resources(struct summary *m)
{
        struct str text = { 0 };

        if (resources_held(m->p, &text))
                str_format(m->out, "  RESOURCES NOT RELEASED: %s\n", str_get(&text));
        str_free(&text);
}

/* Runtime libraries come without debug information everywhere; naming them would only hide the others. */
static bool summary_is_runtime(const char *path)
{
        static const char *const names[] = { "libc.so",   "libc-",    "ld-linux", "ld-musl",
                                             "libstdc++", "libgcc_s", "libm.so",  "libpthread" };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (strncmp(label_base(path), names[i], strlen(names[i])) == 0)
                        return true;
        return path[0] != '/';
}

static void summary_mark_modules(struct summary *m, uint32_t site, uint8_t *met)
{
        for (uint32_t node = m->p->sites[site].node; node > 1; node = m->p->nodes[node].parent)
                if (m->p->nodes[node].module < m->p->module_count)
                        met[m->p->nodes[node].module] = 1;
}

/* Modules in the stacks shown above only: the others are never opened. */
static void summary_modules(struct summary *m)
{
        const struct profile *p = m->p;
        uint8_t *met = heap_zero(p->module_count, 1);
        struct str names = { 0 };
        uint32_t count = 0;

        for (uint32_t i = 0; i < m->top_count; i++)
                summary_mark_modules(m, m->top[i], met);
        if (m->peak_site)
                summary_mark_modules(m, m->peak_site, met);
        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *path = p->modules[i].path;

                if (!met[i] || !path || summary_is_runtime(path) || symbols_has_lines(m->symbols, i))
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

/* TEXT on as many as LINES lines, broken at spaces; the last one is cut. */
static void summary_fold(struct summary *m, const char *text, uint32_t lines)
{
        static const char first[] = "  warning: ", next[] = "           ";
        const size_t room = SUMMARY_COLUMNS - strlen(first);

        for (uint32_t line = 1; *text; line++) {
                size_t length = strlen(text), start = m->out->length;
                const char *space = length > room ? memrchr(text, ' ', room + 1) : NULL;

                if (line < lines && space)
                        length = (size_t)(space - text);
                str_text(m->out, line == 1 ? first : next);
                str_bytes(m->out, text, length);
                text_cut(m->out, start, SUMMARY_COLUMNS);
                str_char(m->out, '\n');
                text += length + (text[length] == ' ');
        }
}

static void summary_warnings(struct summary *m)
{
        const struct profile_meta *meta = &m->p->meta;
        uint64_t children = m->p->totals.forks_not_followed;

        if (children) {
                str_text(m->out, "  ");
                text_number(m->out, (int64_t)children);
                str_format(m->out, " forked %s allocated memory and %s not recorded (--follow=all)\n",
                           children == 1 ? "child" : "children", children == 1 ? "was" : "were");
        }
        for (uint32_t i = 0; i < meta->warning_count && i < SUMMARY_WARNINGS; i++) {
                text_color(m->out, m->color, TEXT_YELLOW);
                summary_fold(m, meta->warnings[i] ? meta->warnings[i] : "?", SUMMARY_WARNINGS / meta->warning_count);
                text_plain(m->out, m->color);
        }
}

/* FILE as a shell takes it. */
static void summary_quote(struct str *out, const char *file)
{
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:@%/";

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

/* What to look at next: options of the command, and what for. */
struct summary_step {
        const char *options, *purpose;
        bool wanted;
};

/* The purposes stand in one column.  A long path would push one out of it: it is then left out, the command is not. */
static void summary_step(struct summary *m, const struct summary_step *step, const struct str *file, size_t column)
{
        size_t start = m->out->length;

        str_format(m->out, "  %-6sseep report %s%s", step->options[0] ? "" : "next:", step->options, str_get(file));
        if (text_columns(m->out, start) <= column) {
                text_pad(m->out, start, column);
                str_format(m->out, "  %s", step->purpose);
        }
        str_char(m->out, '\n');
}

static void summary_next(struct summary *m)
{
        const struct summary_step steps[] = {
                { "", "what made the peak", true },
                { "--cost live ", "what was not freed", m->p->totals.live_blocks != 0 },
                { "--growth ", "what grows", summary_grows(m) },
                { "--cost temporary ", "short-lived blocks", m->p->totals.temporary != 0 },
                { "--errors ", "bad releases", m->p->error_count != 0 },
                { "--resources ", "what is still held", m->resources },
        };
        const size_t count = sizeof steps / sizeof steps[0], most = SUMMARY_COLUMNS - 2 - strlen("what was not freed");
        size_t column = SUMMARY_COMMAND;
        struct str file = { 0 };

        if (!m->file)
                return;
        summary_quote(&file, m->file);
        for (size_t i = 0; i < count; i++) {
                size_t width = strlen("  next: seep report ") + strlen(steps[i].options) + text_columns(&file, 0);

                if (steps[i].wanted && width > column && width <= most)
                        column = width;
        }
        str_char(m->out, '\n');
        for (size_t i = 0; i < count; i++)
                if (steps[i].wanted)
                        summary_step(m, &steps[i], &file, column);
        str_free(&file);
}

/* Never silence: why there are no numbers. */
static void summary_nothing(struct summary *m)
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
                str_text(m->out, "the program became another one before it allocated\n");
        else
                str_text(m->out, "the program made no allocation that seep can see.\n"
                                 "  It may use an allocator built into it, or leave the work to a child\n"
                                 "  (record with --follow=all).\n");
}

void summary_write(const struct profile *p, struct symbols *s, const char *file, int color, struct str *out)
{
        struct summary m = { .p = p, .symbols = s, .file = file, .color = color, .out = out, .start = out->length };

        summary_program(&m);
        if (!p->totals.allocations && !p->totals.mmap_calls) {
                summary_nothing(&m);
                summary_warnings(&m);
                summary_resources(&m);
                return;
        }
        m.growth = growth_judge(p, NULL);
        m.resources = p->handle_count != 0;
        summary_find_top(&m);
        summary_numbers(&m);
        summary_modules(&m);
        summary_warnings(&m);
        summary_not_freed(&m);
        summary_errors(&m);
        summary_resources(&m);
        summary_next(&m);
        free(m.growth);
}
