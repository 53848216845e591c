/* SPDX-License-Identifier: MIT */
/* findings_text.c -- broken budgets as text, one line each, and what broke them. */
#include "base/order.h"
#include "query/findings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "query/budget.h"
#include "report/views.h"
#include "words/text.h"

enum { FINDINGS_GONE_LISTED = 20 };

static void write_broken(const struct findings *f, const struct findings_text_options *o,
                         struct str *out)
{
        for (uint32_t i = 0; i < f->verdict_count; i++) {
                const struct budget_verdict *v = &f->verdicts[i];
                const struct findings_process *process = &f->processes[v->process];

                if (v->kept)
                        continue;
                text_name(out, process->program);
                str_format(out, " (pid %" PRIu32 ") breaks ", process->pid);
                text_color(out, o->color, TEXT_RED);
                budget_name(v, out);
                text_plain(out, o->color);
                str_text(out, ": ");
                budget_say(v, out);
                str_char(out, '\n');
        }
}

static void write_unseen(const struct findings *f, const struct findings_text_options *o,
                         struct str *out)
{
        for (uint32_t i = 0; i < f->count; i++) {
                const struct finding *finding = &f->all[i];
                const struct findings_process *process = &f->processes[finding->process];
                bool breaks = finding->state == FINDING_BREAKS;

                if (finding->kind != FINDING_UNSEEN || (o->quiet && !breaks))
                        continue;
                text_name(out, process->program);
                str_format(out, " (pid %" PRIu32, process->pid);
                if (finding->processes > 1)
                        str_format(out, " and %" PRIu32 " more", finding->processes - 1);
                str_text(out, "): ");
                text_color(out, breaks && o->color, TEXT_RED);
                str_text(out, finding_words(FINDING_UNSEEN)->title);
                text_plain(out, breaks && o->color);
                str_format(out, ": %s\n", finding->text);
        }
}

static void write_stack(const struct finding_stack *stack, const struct findings_text_options *o,
                        struct str *out)
{
        if (!stack->count)
                str_text(out, "     [no stack recorded]\n");
        for (uint32_t i = 0; i < stack->count; i++) {
                size_t start = out->length;

                if (stack->frames[i].folded)
                        continue;
                str_text(out, "     ");
                finding_frame_say(&stack->frames[i], out);
                str_text(out, stack->frames[i].inlined ? " (inlined)" : "");
                if (o->columns)
                        text_cut(out, start, o->columns);
                str_char(out, '\n');
        }
}

static void write_finding(const struct findings *f, const struct finding *finding,
                          const struct findings_text_options *o, struct str *out)
{
        finding_say(finding, out);
        if (finding->processes > 1)
                str_format(out, ", in %" PRIu32 " processes", finding->processes);
        else if (f->process_count > 1)
                str_format(out, ", in pid %" PRIu32, f->processes[finding->process].pid);
        str_char(out, '\n');
        write_stack(&finding->stack, o, out);
        if (finding->others)
                str_text(out, "     other lines of these functions lead here, too\n");
        if (finding->first.count) {
                str_text(out, "   first freed by\n");
                write_stack(&finding->first, o, out);
        }
        if (finding->origin.count) {
                str_text(out, "   allocated by\n");
                write_stack(&finding->origin, o, out);
        }
}

/* Budgets on totals have said all in their line, and so has what was not seen. */
static void write_findings(const struct findings *f, const struct findings_text_options *o,
                           struct str *out)
{
        uint32_t broken = findings_broken(f), told = 0, more = 0;

        for (uint32_t i = 0; i < broken; i++) {
                if (finding_is_general(f->all[i].kind))
                        continue;
                if (o->limit && told == o->limit) {
                        more++;
                        continue;
                }
                str_format(out, "\n%2" PRIu32 ". ", ++told);
                write_finding(f, &f->all[i], o, out);
        }
        if (more)
                str_format(out, "\n%" PRIu32 " more (-n %" PRIu32 ")\n", more, told + more);
        if (told)
                str_char(out, '\n');
}

/* Places, as the baseline counts them: definitely and indirectly lost is one. */
static uint32_t count_known(const struct findings *f)
{
        uint64_t *prints = heap_zero(f->count, sizeof *prints);
        uint32_t count = 0, places = 0;

        for (uint32_t i = 0; i < f->count; i++)
                if (f->all[i].state == FINDING_KNOWN)
                        prints[count++] = f->all[i].fingerprint;
        qsort(prints, count, sizeof *prints, order_u64);
        for (uint32_t i = 0; i < count; i++)
                places += i == 0 || prints[i] != prints[i - 1];
        free(prints);
        return places;
}

/* Whether a place is known by its module alone: a new one cannot be told from it. */
static bool is_nameless(const struct finding_stack *stack)
{
        for (uint32_t i = 0; i < stack->count; i++)
                if (stack->frames[i].signature)
                        return false;
        return true;
}

static void warn_of_nameless(const struct findings *f, struct str *out)
{
        for (uint32_t i = 0; i < f->count; i++)
                if (f->all[i].state == FINDING_KNOWN && is_nameless(&f->all[i].stack)) {
                        str_text(out,
                                 "some of that code has no names and is known by its module alone: "
                                 "new leaks there do not count either\n");
                        return;
                }
}

/* "20 B in 2 blocks, 3 invalid frees" */
static void say_uncounted(uint64_t bytes, uint64_t blocks, uint64_t releases, struct str *out)
{
        if (blocks) {
                text_size(out, (int64_t)bytes);
                str_text(out, " in ");
                text_count(out, (int64_t)blocks, "block");
        }
        str_text(out, blocks && releases ? ", " : "");
        if (releases)
                text_count(out, (int64_t)releases, "invalid free");
        str_char(out, '\n');
}

static void write_baseline(const struct findings *f, struct str *out)
{
        uint64_t blocks = 0, bytes = 0, releases = 0;
        uint32_t known = count_known(f);

        for (uint32_t i = 0; i < f->count; i++) {
                if (f->all[i].state != FINDING_KNOWN)
                        continue;
                blocks += finding_is_leak(f->all[i].kind) ? f->all[i].count : 0;
                bytes += finding_is_leak(f->all[i].kind) ? f->all[i].bytes : 0;
                releases += finding_is_release(f->all[i].kind) ? f->all[i].count : 0;
        }
        if (known) {
                str_text(out, "known from the baseline: ");
                text_count(out, known, "place");
                str_text(out, ", ");
                say_uncounted(bytes, blocks, releases, out);
                warn_of_nameless(f, out);
        }
        for (uint32_t i = 0; i < f->gone_count && i < FINDINGS_GONE_LISTED; i++)
                str_format(out, "in the baseline, but no longer found: %s\n", f->gone[i]);
        if (f->gone_count > FINDINGS_GONE_LISTED)
                str_format(out, "and %" PRIu32 " more that are no longer found\n",
                           f->gone_count - FINDINGS_GONE_LISTED);
}

static void write_rules(const struct findings *f, struct str *out)
{
        uint64_t blocks = 0, bytes = 0, releases = 0; /* places of those */

        for (uint32_t i = 0; i < f->rule_count; i++) {
                blocks += f->rules[i].blocks;
                bytes += f->rules[i].bytes;
                releases += f->rules[i].blocks ? 0 : f->rules[i].times;
        }
        if (blocks || releases) {
                str_text(out, "suppressed: ");
                say_uncounted(bytes, blocks, releases, out);
        }
        for (uint32_t i = 0; i < f->rule_count; i++)
                if (!f->rules[i].times && f->rules[i].file)
                        str_format(out, "unused suppression: %s:%" PRIu32 ": %s\n",
                                   f->rules[i].file, f->rules[i].line, f->rules[i].name);
}

/* Whether V is the first of its budget, and none of the processes has such a function. */
static bool is_idle_everywhere(const struct findings *f, const struct budget_verdict *v)
{
        for (const struct budget_verdict *other = f->verdicts;
             other < f->verdicts + f->verdict_count; other++)
                if (other->typed == v->typed && (!other->idle || other < v)) /* texts of one pool */
                        return false;
        return true;
}

/* What is odd about a kept budget: allocations that it could not see, functions that are not
 * there. */
static void write_oddities(const struct findings *f, struct str *out)
{
        for (uint32_t i = 0; i < f->verdict_count; i++) {
                const struct budget_verdict *v = &f->verdicts[i];

                if (v->idle && is_idle_everywhere(f, v)) {
                        budget_name(v, out);
                        str_text(out,
                                 " matches no function of the program or its libraries: is the "
                                 "name right?\n");
                }
                if (!v->unseen)
                        continue;
                budget_name(v, out);
                str_text(out, " cannot see ");
                text_count(out, (int64_t)v->unseen, "allocation");
                str_format(out, " of pid %" PRIu32 ": the outer part of their stacks is missing\n",
                           f->processes[v->process].pid);
        }
}

static bool has_budget(const struct findings *f, enum budget budget)
{
        uint32_t i = 0;

        while (i < f->verdict_count && f->verdicts[i].budget != budget)
                i++;
        return i < f->verdict_count;
}

/* Who names one budget may expect the usual ones, too. */
static void write_unjudged(const struct findings *f, struct str *out)
{
        bool leaks = !has_budget(f, BUDGET_LEAKS) && !has_budget(f, BUDGET_LEAKED),
             frees = !has_budget(f, BUDGET_BAD_FREES);

        if (leaks || frees)
                str_format(out, "not checked: %s%s%s (%s%s%s)\n", leaks ? "leaks" : "",
                           leaks && frees ? " and " : "", frees ? "invalid frees" : "",
                           leaks ? "--max-leaks 0" : "", leaks && frees ? " " : "",
                           frees ? "--max-bad-frees 0" : "");
}

static void write_sum(const struct findings *f, const struct findings_text_options *o,
                      struct str *out)
{
        uint32_t broken = budgets_broken(f);

        text_color(out, o->color, TEXT_BOLD);
        if (broken)
                str_format(out, "%" PRIu32 " of ", broken);
        else if (f->verdict_count > 1)
                str_text(out, "all ");
        text_count(out, f->verdict_count, "budget");
        str_text(out, broken ? " broken" : " kept");
        text_plain(out, o->color);
        if (f->process_count > 1)
                str_format(out, " (%" PRIu32 " processes)", f->process_count);
        if (findings_unseen(f))
                str_format(out, "%s not everything was seen (--allow-unseen accepts that)",
                           broken ? ", and" : ", but");
        str_char(out, '\n');
}

void findings_text(const struct findings *f, const struct findings_text_options *o, struct str *out)
{
        write_broken(f, o, out);
        write_unseen(f, o, out);
        if (o->quiet)
                return;
        write_findings(f, o, out);
        write_baseline(f, out);
        write_rules(f, out);
        write_oddities(f, out);
        write_unjudged(f, out);
        write_sum(f, o, out);
}
