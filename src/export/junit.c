/* SPDX-License-Identifier: MIT */
/* junit.c -- findings as JUnit XML, the report of tests that every CI server reads. */
#include "base/order.h"
#include "export/ci.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/xml.h"
#include "query/budget.h"
#include "words/label.h"

struct tally {
        uint32_t tests, failures, skipped;
};

/* Hints are no tests; budgets are, in the suites of their processes. */
static bool is_case(const struct finding *finding)
{
        return finding->state != FINDING_HINT && finding->kind != FINDING_BUDGET;
}

/* The program that was run must end well, and none that it started may crash. */
static bool has_failed(const struct findings_process *p)
{
        return p->crashed || (p->is_main && p->ended);
}

/* Whether findings, each a case of its own, tell why V is not kept: one leak is one failure. */
static bool is_explained(const struct budget_verdict *v)
{
        return !v->kept && v->worst && !v->reason &&
               (v->budget == BUDGET_LEAKED || v->budget == BUDGET_LEAKS ||
                v->budget == BUDGET_BAD_FREES || v->budget == BUDGET_NO_ALLOC);
}

/* What hangs on a leak is no failure beside it. */
static bool is_failure(const struct findings *f, const struct finding *finding)
{
        if (finding->state != FINDING_BREAKS || finding->kind != FINDING_INDIRECT)
                return finding->state == FINDING_BREAKS;
        for (uint32_t i = 0; i < f->count; i++)
                if (f->all[i].kind == FINDING_DEFINITE && f->all[i].state == FINDING_BREAKS &&
                    f->all[i].process == finding->process)
                        return false;
        return true;
}

static struct tally count_findings(const struct findings *f)
{
        struct tally t = { 0 };

        for (uint32_t i = 0; i < f->count; i++) {
                if (!is_case(&f->all[i]))
                        continue;
                t.tests++;
                t.failures += is_failure(f, &f->all[i]);
                t.skipped += f->all[i].state == FINDING_KNOWN;
        }
        return t;
}

static struct tally count_budgets(const struct findings *f, uint32_t process)
{
        struct tally t = { 0 };

        for (uint32_t i = 0; i < f->verdict_count; i++)
                if (f->verdicts[i].process == process) {
                        t.tests++;
                        t.failures += !f->verdicts[i].kept && !is_explained(&f->verdicts[i]);
                        t.skipped += is_explained(&f->verdicts[i]);
                }
        t.tests++; /* its end */
        t.failures += has_failed(&f->processes[process]);
        return t;
}

static void put_tally(struct str *out, const struct tally *t)
{
        xml_number(out, "tests", t->tests);
        xml_number(out, "failures", t->failures);
        xml_number(out, "errors", 0);
        xml_number(out, "skipped", t->skipped);
}

static void put_seconds(struct str *out, uint64_t ms)
{
        str_format(out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", ms / 1000, ms % 1000);
}

static void put_case(struct str *out, const char *class, const char *name)
{
        str_text(out, "  <testcase");
        xml_attribute(out, "classname", class);
        xml_attribute(out, "name", name);
}

static void put_failure(struct str *out, const char *type, const char *text)
{
        str_text(out, "   <failure");
        xml_attribute(out, "message", text);
        xml_attribute(out, "type", type);
        str_char(out, '>');
}

/* ---- budgets ---- */

static void write_budget(const struct budget_verdict *v, const char *suite, uint64_t ms,
                         struct str *out)
{
        struct str name = { 0 }, text = { 0 };

        budget_name(v, &name);
        budget_say(v, &text);
        put_case(out, suite, str_get(&name));
        put_seconds(out, ms);
        str_text(out, ">\n");
        if (is_explained(v))
                str_text(out, "   <skipped message=\"each finding is a case of its own\"/>\n");
        if (v->kept || is_explained(v)) {
                xml_element(out, "   ", "system-out", str_get(&text));
        } else {
                put_failure(out, "broken-budget", str_get(&text));
                xml_text(out, str_get(&text));
                str_text(out, "</failure>\n");
        }
        str_text(out, "  </testcase>\n");
        str_free(&name);
        str_free(&text);
}

static void write_end(const struct findings_process *p, const char *suite, struct str *out)
{
        const char *ended = p->ended ? p->ended : "exit 0";

        put_case(out, suite, "ends well");
        put_seconds(out, p->duration_ms);
        str_text(out, ">\n");
        if (has_failed(p)) {
                put_failure(out, p->crashed ? "crash" : "exit-status", ended);
                xml_text(out, ended);
                str_text(out, "</failure>\n");
        } else {
                xml_element(out, "   ", "system-out", ended);
        }
        str_text(out, "  </testcase>\n");
}

/* "app", and "app #2" for another process of that name. */
static void name_suite(const struct findings *f, uint32_t process, struct str *out)
{
        const char *name = label_base(f->processes[process].program);
        uint32_t number = 1;

        for (uint32_t i = 0; i < process; i++)
                number += strcmp(label_base(f->processes[i].program), name) == 0;
        str_text(out, name);
        if (number > 1)
                str_format(out, " #%" PRIu32, number);
}

static void write_process(const struct findings *f, uint32_t process, struct str *out)
{
        struct tally t = count_budgets(f, process);
        struct str name = { 0 };

        name_suite(f, process, &name);
        str_text(out, " <testsuite");
        xml_attribute(out, "name", str_get(&name));
        put_tally(out, &t);
        put_seconds(out, f->processes[process].duration_ms);
        str_text(out, ">\n");
        write_end(&f->processes[process], str_get(&name), out);
        for (uint32_t i = 0; i < f->verdict_count; i++)
                if (f->verdicts[i].process == process)
                        write_budget(&f->verdicts[i], str_get(&name),
                                     f->processes[process].duration_ms, out);
        str_text(out, " </testsuite>\n");
        str_free(&name);
}

/* ---- findings ---- */

static void put_stack(struct str *out, const char *title, const struct finding_stack *stack)
{
        struct str text = { 0 };

        str_format(&text, "%s\n", title);
        for (uint32_t i = 0; i < stack->count; i++) {
                str_text(&text, "  ");
                finding_frame_say(&stack->frames[i], &text);
                str_char(&text, '\n');
        }
        xml_text(out, str_get(&text));
        str_free(&text);
}

static void put_stacks(struct str *out, const struct finding *finding)
{
        if (finding->kind == FINDING_UNSEEN) {
                xml_text(out, finding->text);
                return;
        }
        put_stack(out, finding_is_release(finding->kind) ? "freed by" : "allocated by",
                  &finding->stack);
        if (finding->first.count)
                put_stack(out, "first freed by", &finding->first);
        if (finding->origin.count)
                put_stack(out, "allocated by", &finding->origin);
}

/* A finding among those of its kind and place. */
struct junit_twin {
        uint64_t fingerprint;
        uint32_t kind, index;
};

static int compare_twins(const void *a, const void *b)
{
        const struct junit_twin *x = a, *y = b;

        return ORDER(x->fingerprint, y->fingerprint) ?: ORDER(x->kind, y->kind) ?:
               ORDER(x->index, y->index);
}

/* By finding: how many there are of its kind and place up to it.  To be freed. */
static uint32_t *number_cases(const struct findings *f)
{
        uint32_t *numbers = heap_zero(f->count, sizeof *numbers), count = 0;
        struct junit_twin *twins = heap_zero(f->count, sizeof *twins);

        for (uint32_t i = 0; i < f->count; i++)
                if (is_case(&f->all[i]))
                        twins[count++] = (struct junit_twin){ f->all[i].fingerprint, f->all[i].kind,
                                                              i };
        qsort(twins, count, sizeof *twins, compare_twins);
        for (uint32_t i = 0; i < count; i++) {
                bool same = i && twins[i - 1].fingerprint == twins[i].fingerprint &&
                            twins[i - 1].kind == twins[i].kind;

                numbers[twins[i].index] = same ? numbers[twins[i - 1].index] + 1 : 1;
        }
        free(twins);
        return numbers;
}

/* The names, and " #2" for another place with the same ones. */
static void name_case(const struct finding *finding, uint32_t number, struct str *out)
{
        if (finding->kind == FINDING_UNSEEN) {
                str_text(out, finding->text);
                return;
        }
        findings_names(&finding->stack, out);
        if (!finding->stack.count)
                str_text(out, "[no stack recorded]");
        if (number > 1)
                str_format(out, " #%" PRIu32, number);
}

static void write_finding(const struct findings *f, const struct finding *finding, uint32_t number,
                          struct str *out)
{
        const char *word = finding_words(finding->kind)->word;
        struct str name = { 0 }, text = { 0 };

        name_case(finding, number, &name);
        finding_say(finding, &text);
        put_case(out, word, str_get(&name));
        str_text(out, ">\n");
        if (is_failure(f, finding)) {
                put_failure(out, word, str_get(&text));
                put_stacks(out, finding);
                str_text(out, "</failure>\n");
        } else {
                if (finding->state == FINDING_KNOWN)
                        str_text(out, "   <skipped message=\"known from the baseline\"/>\n");
                xml_element(out, "   ", "system-out", str_get(&text));
        }
        str_text(out, "  </testcase>\n");
        str_free(&name);
        str_free(&text);
}

void junit_write(const struct findings *f, struct str *out)
{
        struct tally sites = count_findings(f), sum = sites;
        uint32_t *numbers = number_cases(f);

        for (uint32_t i = 0; i < f->process_count; i++) {
                struct tally t = count_budgets(f, i);

                sum.tests += t.tests;
                sum.failures += t.failures;
                sum.skipped += t.skipped;
        }
        str_text(out, JUNIT_HEAD);
        put_tally(out, &sum);
        str_text(out, ">\n");
        for (uint32_t i = 0; i < f->process_count; i++)
                write_process(f, i, out);
        str_text(out, " <testsuite name=\"findings\"");
        put_tally(out, &sites);
        str_text(out, ">\n");
        for (uint32_t i = 0; i < f->count; i++) {
                if (is_case(&f->all[i]))
                        write_finding(f, &f->all[i], numbers[i], out);
                str_drain(out);
        }
        free(numbers);
        str_text(out, " </testsuite>\n</testsuites>\n");
}
