/* SPDX-License-Identifier: MIT */
/*
 * github.c -- findings on GitHub: annotations at the source lines, and a summary on the page of the
 * job.
 */
#include "export/ci.h"

#include <inttypes.h>
#include <string.h>

#include "query/budget.h"
#include "words/label.h"

enum {
        GITHUB_ANNOTATIONS = 10, /* that are shown of one step */
        GITHUB_FRAMES = 50,      /* of one stack, the innermost */
        GITHUB_ROWS = 500,       /* of the table of budgets */
        GITHUB_SUMMARY_BYTES = 512 * 1024 /* above, no more stacks: 1 MiB in all
                                           * steps is shown, or nothing */
};

/* ---- annotations ---- */

/* Characters that end a line, and in a property those that end it. */
static void put_escaped(struct str *out, const char *text, const char *special)
{
        for (; *text; text++)
                if (strchr(special, *text))
                        str_format(out, "%%%02X", (unsigned char)*text);
                else
                        str_char(out, *text);
}

static void put_property(struct str *out, const char *text)
{
        put_escaped(out, text, "%\r\n:,");
}

static void put_stack(const char *title, const struct finding_stack *stack, struct str *out)
{
        if (stack->count)
                str_format(out, "\n%s", title);
        for (uint32_t i = 0; i < stack->count && i < GITHUB_FRAMES; i++) {
                str_text(out, "\n  ");
                finding_frame_say(&stack->frames[i], out);
        }
        if (stack->count > GITHUB_FRAMES)
                str_format(out, "\n  and %" PRIu32 " more", stack->count - GITHUB_FRAMES);
}

static void write_annotation(const struct finding *finding, struct str *out)
{
        const struct finding_stack *stack = &finding->stack;
        struct str text = { 0 };

        str_text(out, "::error ");
        if (stack->place < stack->count) {
                str_text(out, "file=");
                put_property(out, stack->frames[stack->place].path);
                if (stack->frames[stack->place].line)
                        str_format(out, ",line=%" PRIu32, stack->frames[stack->place].line);
                str_char(out, ',');
        }
        str_text(out, "title=");
        put_property(out, finding_words(finding->kind)->title);
        str_text(out, "::");
        finding_say(finding, &text);
        if (!finding_is_general(finding->kind))
                put_stack(finding_is_release(finding->kind) ? "freed by" : "allocated by", stack,
                          &text);
        put_stack("first freed by", &finding->first, &text);
        put_stack("allocated by", &finding->origin, &text);
        put_escaped(out, str_get(&text), "%\r\n");
        str_char(out, '\n');
        str_free(&text);
}

void github_annotations(const struct findings *f, struct str *out)
{
        uint32_t broken = findings_broken(f);

        for (uint32_t i = 0; i < broken && i < GITHUB_ANNOTATIONS; i++)
                write_annotation(&f->all[i], out);
}

/* ---- the page of the job ---- */

/* Text that means nothing to Markdown, nor to the cell of a table. */
static void put_plain(struct str *out, const char *text)
{
        for (; *text; text++)
                if (strchr("\\`*_[]<>|~&", *text))
                        str_format(out, "&#%d;", *text);
                else
                        str_char(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_code(struct str *out, const struct finding_stack *stack)
{
        for (uint32_t i = 0; i < stack->count && i < GITHUB_FRAMES; i++) {
                struct str line = { 0 };

                finding_frame_say(&stack->frames[i], &line);
                put_plain(out, str_get(&line));
                str_char(out, '\n');
                str_free(&line);
        }
        if (stack->count > GITHUB_FRAMES)
                str_format(out, "and %" PRIu32 " more\n", stack->count - GITHUB_FRAMES);
}

static void write_budget(const struct findings *f, const struct budget_verdict *v, struct str *out)
{
        struct str name = { 0 }, text = { 0 };

        budget_name(v, &name);
        budget_say(v, &text);
        str_text(out, "| ");
        put_plain(out, label_base(f->processes[v->process].program));
        str_format(out, " (%" PRIu32 ") | ", f->processes[v->process].pid);
        put_plain(out, str_get(&name));
        str_text(out, v->kept ? " | kept | " : " | **broken** | ");
        put_plain(out, str_get(&text));
        str_text(out, " |\n");
        str_free(&name);
        str_free(&text);
}

/* Where they are many, the broken ones. */
static void write_budgets(const struct findings *f, struct str *out)
{
        bool many = f->verdict_count > GITHUB_ROWS;
        uint32_t told = 0;

        str_text(out, "| process | budget | | measured |\n|---|---|---|---|\n");
        for (uint32_t i = 0;
             i < f->verdict_count && told < GITHUB_ROWS && out->length < GITHUB_SUMMARY_BYTES; i++)
                if (!many || !f->verdicts[i].kept) {
                        write_budget(f, &f->verdicts[i], out);
                        told++;
                }
        if (told < f->verdict_count)
                str_format(out, "\nand %" PRIu32 " more budgets\n", f->verdict_count - told);
}

static void write_unseen(const struct findings *f, struct str *out)
{
        for (uint32_t i = 0; i < f->count; i++) {
                const struct finding *finding = &f->all[i];
                struct str text = { 0 };

                if (finding->kind != FINDING_UNSEEN)
                        continue;
                finding_say(finding, &text);
                str_text(out, "\n");
                put_plain(out, label_base(f->processes[finding->process].program));
                str_format(out, " (%" PRIu32 "): ", f->processes[finding->process].pid);
                put_plain(out, str_get(&text));
                str_text(out, "\n");
                str_free(&text);
        }
}

static void write_details(const struct finding *finding, struct str *out)
{
        struct str text = { 0 };

        finding_say(finding, &text);
        str_text(out, "\n<details><summary>");
        put_plain(out, str_get(&text));
        str_text(out, "</summary>\n\n<pre>\n");
        put_code(out, &finding->stack);
        if (finding->first.count) {
                str_text(out, "first freed by\n");
                put_code(out, &finding->first);
        }
        if (finding->origin.count) {
                str_text(out, "allocated by\n");
                put_code(out, &finding->origin);
        }
        str_text(out, "</pre>\n</details>\n");
        str_free(&text);
}

void github_summary(const struct findings *f, struct str *out)
{
        uint32_t broken = budgets_broken(f), count = findings_broken(f), more = 0;

        if (broken)
                str_format(out, "### seep check: %" PRIu32 " of %" PRIu32 " budgets broken\n\n",
                           broken, f->verdict_count);
        else
                str_format(out, "### seep check: all budgets kept%s\n\n",
                           findings_unseen(f) ? ", but not everything was seen" : "");
        write_budgets(f, out);
        write_unseen(f, out);
        for (uint32_t i = 0; i < count; i++) {
                if (finding_is_general(f->all[i].kind))
                        continue;
                if (out->length < GITHUB_SUMMARY_BYTES)
                        write_details(&f->all[i], out);
                else
                        more++;
        }
        if (more)
                str_format(out, "\nand %" PRIu32 " more findings\n", more);
        str_char(out, '\n');
}
