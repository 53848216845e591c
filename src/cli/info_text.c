/* SPDX-License-Identifier: MIT */
/* info_text.c -- `seep info` as text. */
#include <string.h>
#include <time.h>

#include "base/plain.h"
#include "cli/info.h"
#include "ledger/ledger.h"
#include "profile/machine.h"
#include "words/text.h"

#define INFO_MARKS_SHOWN 30u

/* "  word        " */
static void put_word(struct str *out, const char *word)
{
        str_format(out, "  %-*s", INFO_COLUMN - 2, word);
}

static void put_line(struct str *out, const char *word, const char *text)
{
        if (!*text)
                return;
        put_word(out, word);
        str_format(out, "%s\n", text);
}

static void put_time(struct str *out, const struct profile_meta *m)
{
        time_t seconds = (time_t)(m->start_realtime_ns / 1000000000u);
        struct tm tm;
        char text[64];

        put_word(out, "started");
        if (localtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
                str_text(out, text);
        str_text(out, ", recorded for ");
        text_time(out, m->duration_ms);
        str_char(out, '\n');
}

static void put_end(struct str *out, const struct profile_meta *m)
{
        put_word(out, "end");
        switch (m->end) {
        case PROFILE_END_EXIT:
                str_format(out, "exit status %u\n", m->exit_code);
                break;
        case PROFILE_END_SIGNAL:
                str_format(out, "killed by signal %u (%s)\n", m->exit_signal,
                           m->exit_signal < 65 ? strsignal((int)m->exit_signal) : "unknown");
                break;
        case PROFILE_END_EXEC:
                str_text(out, "replaced itself with another program (exec)\n");
                break;
        case PROFILE_END_GONE:
                str_text(out, "ended, status unknown\n");
                break;
        default:
                str_text(out, "was still running\n");
        }
}

static const char *stop_text(uint32_t reason)
{
        static const char *const texts[] = {
#define STOP_TEXT(name, number, text) [number] = text,
                LEDGER_STOPS(STOP_TEXT)
#undef STOP_TEXT
        };

        return reason < sizeof texts / sizeof *texts ? texts[reason] : "reason unknown";
}

static void put_mode(struct str *out, const struct profile *p)
{
        const struct profile_meta *m = &p->meta;

        put_word(out, "recorded by");
        str_format(out, "seep %s", m->version);
        if (*m->engine)
                str_format(out, ", %s", m->engine);
        if (m->depth)
                str_format(out, ", stacks up to %u frames", m->depth);
        for (unsigned i = 0; i < INFO_FLAG_COUNT; i++)
                if (m->flags & info_flags[i].flag)
                        str_format(out, ", %s", info_flags[i].text);
        str_char(out, '\n');
        if (p->totals.ledger_bytes) {
                put_word(out, "ledger");
                text_size(out, (int64_t)p->totals.ledger_bytes);
                str_text(out, " of memory at most, which counts as the program's\n");
        }
        if (p->totals.older) {
                put_word(out, "older");
                text_number(out, (int64_t)p->totals.older);
                str_text(out, " releases of blocks from before the recording, or its reset\n");
        }
        if (m->stop_reason)
                put_line(out, "stopped", stop_text(m->stop_reason));
}

static void put_state(struct str *out, const struct info *info)
{
        const struct profile *p = &info->profile;

        str_format(out, "%s%s: ", info->running ? "process " : "", info->file);
        text_size(out, (int64_t)info->layout.bytes);
        str_format(out, ", format %u, %s\n", info->layout.format_version,
                   p->truncated         ? "DAMAGED"
                   : p->meta.complete   ? "whole"
                   : info->running      ? "being recorded"
                                        : "intact file of an incomplete recording");
        for (uint32_t i = 0; i < p->meta.warning_count; i++)
                put_line(out, "warning", p->meta.warnings[i]);
}

static void put_counts(struct str *out, const struct profile *p)
{
        const char *word = "holds";

#define PUT_COUNT(member, key, noun, less)                                              \
        if (info_count(p->member, less)) {                                              \
                size_t start;                                                           \
                put_word(out, word);                                                    \
                start = out->length;                                                    \
                text_number(out, (int64_t)info_count(p->member, less));                 \
                text_pad(out, start, 12);                                               \
                str_text(out, noun "\n");                                               \
                word = "";                                                              \
        }
        INFO_COUNTS(PUT_COUNT)
#undef PUT_COUNT
}

/* #2  2.34 s  snapshot  12.5 MiB live  "label" */
static void put_mark(struct str *out, const struct profile *p, const struct profile_mark *m)
{
        size_t start = out->length;

        str_text(out, "  ");
        if (m->seq)
                str_format(out, "#%u", m->seq);
        text_pad(out, start, 10);
        text_time(out, m->ms);
        text_pad(out, start, 22);
        str_text(out, profile_mark_word(m->type));
        text_pad(out, start, 33);
        text_size(out, (int64_t)p->slices[m->slice].live_bytes);
        str_text(out, " live");
        text_pad(out, start, 52);
        str_format(out, "%s\n", m->label);
}

static void put_marks(struct str *out, const struct profile *p)
{
        uint32_t shown = p->mark_count < INFO_MARKS_SHOWN ? p->mark_count : INFO_MARKS_SHOWN;

        str_text(out, "\n  marks (number of the snapshot, time, kind, heap then, label)\n");
        for (uint32_t i = 0; i < shown; i++)
                put_mark(out, p, &p->marks[i]);
        if (shown < p->mark_count)
                str_format(out, "  ... and %u more (all of them: --json)\n", p->mark_count - shown);
}

static void put_types(struct str *out, const struct profile *p)
{
        put_word(out, "resources");
        for (uint32_t i = 0; i < p->type_count; i++)
                str_format(out, "%s%s", i ? ", " : "", p->types[i]);
        str_char(out, '\n');
}

static void put_log(struct str *out, const struct file_layout *l)
{
        struct info_section sum;

        info_sum_log(l, &sum);
        if (!sum.pieces)
                return;
        put_word(out, "event log");
        text_size(out, (int64_t)sum.stored_bytes);
        str_format(out, " in %u batch%s\n", sum.pieces, sum.pieces == 1 ? "" : "es");
}

static void put_sections(struct str *out, const struct file_layout *l)
{
        struct info_section sum;

        str_text(out, "\n  section      pieces         stored       unpacked\n");
        for (uint32_t i = 0; i < l->count; i++) {
                if (!info_sum_sections(l, i, &sum))
                        continue;
                str_format(out, "  %-11s %7u %14llu %14llu", l->sections[i].name, sum.pieces,
                           (unsigned long long)sum.stored_bytes, (unsigned long long)sum.raw_bytes);
                if (sum.damaged)
                        str_format(out, "  %u DAMAGED", sum.damaged);
                str_char(out, '\n');
        }
}

static void put_names(struct str *out, const struct info_names *n)
{
        if (!n->asked)
                str_text(out, n->lines ? "in no stack, lines" : "in no stack");
        else if (!n->named)
                str_text(out, "no names");
        else
                str_format(out, "%s, %s", n->named == n->asked ? "names" : "some names",
                           n->lines ? "lines" : "no lines");
}

static void put_modules(struct str *out, const struct info *info)
{
        const struct profile *p = &info->profile;

        str_format(out, "\n  modules%s\n",
                   info->names ? " (build id, names found now, path)" : " (build id, path)");
        for (uint32_t i = 0; i < p->module_count; i++) {
                size_t start = out->length;

                str_text(out, "  ");
                if (p->modules[i].build_id_bytes)
                        info_build_id(&p->modules[i], out);
                else
                        str_text(out, "no build id");
                text_pad(out, start, 44);
                if (info->names) {
                        put_names(out, &info->names[i]);
                        text_pad(out, start, 66);
                }
                str_format(out, "%s\n", *p->modules[i].path ? p->modules[i].path : "(no file)");
        }
}

void info_text(const struct info *info, struct str *out)
{
        const struct profile_meta *m = &info->profile.meta;
        char name[MACHINE_NAME_MAX];

        put_state(out, info);
        put_word(out, "program");
        str_text(out, *m->program ? m->program : "not known");
        for (uint32_t i = 1; i < m->arg_count; i++)
                str_format(out, strpbrk(m->args[i], " \t\n") || !*m->args[i] ? " '%s'" : " %s",
                           m->args[i]);
        str_char(out, '\n');
        put_line(out, "executable", m->exe);
        put_line(out, "directory", m->cwd);
        put_word(out, "process");
        str_format(out, "%u, child of %u%s%s, %s\n", m->pid, m->ppid, *m->host ? ", on " : "",
                   m->host, machine_name(m->machine, name));
        put_time(out, m);
        put_end(out, m);
        put_mode(out, &info->profile);
        put_counts(out, &info->profile);
        if (info->profile.type_count)
                put_types(out, &info->profile);
        put_log(out, &info->layout);
        put_word(out, "leak search");
        info_scan_text(&info->profile, out);
        if (info->profile.mark_count)
                put_marks(out, &info->profile);
        put_sections(out, &info->layout);
        if (info->profile.module_count)
                put_modules(out, info);
        plain_output(out, 0, false);
}
