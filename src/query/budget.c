/* SPDX-License-Identifier: MIT */
#include "query/budget.h"

#include <stdlib.h>

#include "base/heap.h"
#include "names/symbol.h"
#include "query/filter.h"
#include "query/growth.h"
#include "words/text.h"

static const struct {
        const char *option, *noun, *rest;
} budget_table[BUDGET_COUNT] = {
#define BUDGET_ROW(id, option, noun, rest) [BUDGET_##id] = { option, noun, rest },
        BUDGETS(BUDGET_ROW)
#undef BUDGET_ROW
};

const char *budget_option(enum budget budget)
{
        return budget_table[budget].option;
}

bool budget_is_size(enum budget budget)
{
        return !budget_table[budget].noun;
}

enum { SECONDS_PER_HOUR = 3600 };

/* ---- words ---- */

/* "12.3 MiB", "3 blocks" */
static void say_value(enum budget budget, uint64_t value, struct str *out)
{
        if (budget == BUDGET_GROWTH)
                growth_rate((double)value / SECONDS_PER_HOUR, out);
        else if (budget_is_size(budget))
                text_size(out, (int64_t)value);
        else
                text_count(out, (int64_t)value, budget_table[budget].noun);
}

void budget_name(const struct budget_verdict *v, struct str *out)
{
        str_format(out, "--%s ", budget_option(v->budget));
        if (v->budget == BUDGET_NO_ALLOC)
                str_format(out, "'%s'", v->typed);
        else if (v->typed)
                str_text(out, v->typed);
        else
                text_plain_number(out, v->most);
}

/* "; most by parse [a.c:10] (8.0 MiB)" */
static void say_worst(const struct budget_verdict *v, struct str *out)
{
        bool all = v->worst_part == v->measured;

        if (!v->worst)
                return;
        str_format(out, "; %s %s", all ? "by" : "most by", v->worst);
        if (all)
                return;
        str_text(out, " (");
        say_value(v->budget, v->worst_part, out);
        if (v->budget == BUDGET_LEAKS)
                str_text(out, ", "), text_size(out, (int64_t)v->worst_bytes);
        str_char(out, ')');
}

void budget_say(const struct budget_verdict *v, struct str *out)
{
        if (v->reason) {
                str_text(out, v->reason);
                return;
        }
        say_value(v->budget, v->measured, out);
        str_text(out, budget_table[v->budget].rest);
        if (v->budget == BUDGET_LEAKS && v->measured) {
                str_text(out, " (");
                text_size(out, (int64_t)v->measured_bytes);
                str_char(out, ')');
        }
        say_worst(v, out);
}

uint32_t budgets_broken(const struct findings *f)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < f->verdict_count; i++)
                count += !f->verdicts[i].kept;
        return count;
}

/* ---- the worst site ---- */

static uint64_t cost_of(enum budget budget, const struct select_row *row)
{
        switch (budget) {
        case BUDGET_PEAK:
                return row->peak_bytes;
        case BUDGET_LIVE:
                return row->live_bytes;
        default:
                return row->allocs;
        }
}

/* NULL: there is none. */
static const struct select_row *worst_row(enum budget budget, const struct selection *sel)
{
        const struct select_row *worst = NULL;

        for (uint32_t i = 0; i < sel->heap.count; i++)
                if (cost_of(budget, &sel->heap.rows[i]) > (worst ? cost_of(budget, worst) : 0))
                        worst = &sel->heap.rows[i];
        return worst;
}

static void set_worst(struct findings *f, struct budget_verdict *v,
                      const struct finding_stack *stack, uint64_t part)
{
        const struct finding_frame *place = finding_place(stack);
        struct str text = { 0 };

        if (place)
                finding_frame_say(place, &text);
        else
                str_text(&text, "an unknown stack");
        v->worst = findings_keep(f, &text);
        v->worst_part = part;
}

/* ---- judging ---- */

struct judge {
        struct findings *f;
        const struct findings_request *request;
        struct findings_recording *recording;
        const struct budget_tally *tally;
        const char *unfit; /* why nothing can be said about this recording; NULL: it is whole */
};

static struct budget_verdict *add_verdict(struct judge *j, struct budget_verdict v)
{
        struct findings *f = j->f;

        v.process = f->process_count - 1;
        if (v.kept && j->unfit) {
                v.kept = false;
                v.reason = j->unfit;
        }
        f->verdicts = heap_grow(f->verdicts, f->verdict_count + 1, sizeof *f->verdicts);
        f->verdicts[f->verdict_count] = v;
        return &f->verdicts[f->verdict_count++];
}

/* A broken budget without findings that explain it becomes one itself.  STACK is moved. */
static void add_budget_finding(struct judge *j, const struct budget_verdict *v,
                               struct finding_stack stack)
{
        struct finding *made = findings_new(j->f, FINDING_BUDGET, FINDING_BREAKS);
        struct str text = { 0 };

        budget_name(v, &text);
        str_text(&text, ": ");
        budget_say(v, &text);
        made->text = findings_keep(j->f, &text);
        made->bytes = budget_is_size(v->budget) ? v->measured : 0;
        made->count = v->measured;
        made->stack = stack;
}

static void judge_total(struct judge *j, enum budget budget, uint64_t measured)
{
        const struct budget_limit *limit = &j->request->budgets->limits[budget];
        const struct select_row *worst = budget == BUDGET_RSS ? NULL
                                                              : worst_row(budget, j->tally->sel);
        struct budget_verdict v = { .budget = budget, .most = limit->most, .measured = measured,
                                    .typed = limit->typed, .kept = measured <= limit->most };
        struct finding_stack stack = { 0 };
        struct budget_verdict *made;

        if (!limit->set)
                return;
        if (worst)
                stack = findings_stack(j->f, j->request, j->recording,
                                       j->recording->profile->sites[worst->site].node);
        if (worst)
                set_worst(j->f, &v, &stack, cost_of(budget, worst));
        made = add_verdict(j, v);
        if (!made->kept)
                add_budget_finding(j, made, stack);
        else
                free(stack.frames);
}

/* What keeps growing, in bytes per hour; the site that grows fastest is named. */
static void judge_growth(struct judge *j)
{
        const struct budget_limit *limit = &j->request->budgets->limits[BUDGET_GROWTH];
        struct budget_verdict v = { .budget = BUDGET_GROWTH, .most = limit->most,
                                    .typed = limit->typed };
        const struct profile *p = j->recording->profile;
        struct finding_stack stack = { 0 };
        struct budget_verdict *made;
        struct growth *growth;
        uint32_t worst = 0;
        double sum = 0;
        bool known = false;

        if (!limit->set)
                return;
        growth = growth_judge(p, NULL);
        for (uint32_t i = 1; i < p->site_count; i++) {
                known |= growth[i].class != GROWTH_UNKNOWN;
                sum += growth[i].bytes_per_s;
                worst = growth[i].bytes_per_s > (worst ? growth[worst].bytes_per_s : 0) ? i : worst;
        }
        v.measured = (uint64_t)(sum * SECONDS_PER_HOUR);
        v.reason = known ? NULL : "growth is not known: the run was too short to tell";
        v.kept = known && v.measured <= v.most;
        if (worst) {
                stack = findings_stack(j->f, j->request, j->recording, p->sites[worst].node);
                set_worst(j->f, &v, &stack,
                          (uint64_t)(growth[worst].bytes_per_s * SECONDS_PER_HOUR));
        }
        free(growth);
        made = add_verdict(j, v);
        if (!made->kept)
                add_budget_finding(j, made, stack);
        else
                free(stack.frames);
}

static bool counts(const struct finding *finding, enum budget budget)
{
        if (finding->state == FINDING_KNOWN)
                return false;
        if (budget == BUDGET_BAD_FREES)
                return finding_is_release(finding->kind);
        return finding->kind == FINDING_DEFINITE || finding->kind == FINDING_INDIRECT;
}

/* What hangs on a lost block is lost by who lost that one; some of it may be known,
 * and is then not in the sum. */
static uint64_t lost_bytes(const struct judge *j, const struct finding *finding)
{
        uint64_t all = finding->bytes + finding->hanging_bytes;

        return all < j->tally->bytes ? all : j->tally->bytes;
}

static uint64_t lost_blocks(const struct judge *j, const struct finding *finding)
{
        uint64_t all = finding->count + finding->hanging_count;

        return all < j->tally->blocks ? all : j->tally->blocks;
}

/* Of leaks, what is definitely lost comes before what hangs on it. */
static bool is_worse(const struct judge *j, enum budget budget, const struct finding *a,
                     const struct finding *b)
{
        if (budget == BUDGET_BAD_FREES)
                return a->count > b->count;
        if (a->kind != b->kind)
                return a->kind == FINDING_DEFINITE;
        return lost_bytes(j, a) > lost_bytes(j, b);
}

static uint64_t part_of(const struct judge *j, enum budget budget, const struct finding *finding)
{
        if (budget == BUDGET_BAD_FREES)
                return finding->count;
        return budget == BUDGET_LEAKED ? lost_bytes(j, finding) : lost_blocks(j, finding);
}

/* Those of this process that a broken BUDGET is about break it; the worst of them is named. */
static const struct finding *break_findings(struct judge *j, enum budget budget)
{
        const struct finding *worst = NULL;

        for (uint32_t i = j->tally->first; i < j->f->count; i++) {
                struct finding *finding = &j->f->all[i];

                if (!counts(finding, budget))
                        continue;
                finding->state = FINDING_BREAKS;
                if (!worst || is_worse(j, budget, finding, worst))
                        worst = finding;
        }
        return worst;
}

static void judge_findings(struct judge *j, enum budget budget, uint64_t measured)
{
        const struct budget_limit *limit = &j->request->budgets->limits[budget];
        struct budget_verdict v = { .budget = budget, .most = limit->most, .measured = measured,
                                    .measured_bytes = j->tally->bytes, .typed = limit->typed,
                                    .kept = measured <= limit->most };
        const struct finding *worst;
        struct budget_verdict *made;

        if (!limit->set)
                return;
        if (budget != BUDGET_BAD_FREES)
                v.reason = j->f->processes[j->f->process_count - 1].unknown;
        else if (v.kept && profile_is_sampled(j->recording->profile))
                v.reason = "invalid frees are not known: only a sample of blocks was recorded "
                           "(--sample, or --limit-ledger was near)";
        v.kept = v.kept && !v.reason;
        worst = v.kept || v.reason ? NULL : break_findings(j, budget);
        if (worst) {
                set_worst(j->f, &v, &worst->stack, part_of(j, budget, worst));
                v.worst_bytes = lost_bytes(j, worst);
        }
        made = add_verdict(j, v);
        if (!made->kept && !worst)
                add_budget_finding(j, made, (struct finding_stack){ 0 });
}

/* Calls of one site below a function that matches EXPRESSION, a text of the pool. */
static void add_forbidden(struct judge *j, const char *expression, const struct profile_site *site)
{
        struct finding *made = findings_new(j->f, FINDING_FORBIDDEN, FINDING_BREAKS);

        made->text = expression;
        made->count = site->allocs;
        made->bytes = site->alloc_bytes;
        made->stack = findings_stack(j->f, j->request, j->recording, site->node);
        made->fingerprint = findings_fingerprint(&made->stack);
}

/* A forbidden function may be among the frames that are missing. */
static bool is_cut(const struct profile *p, uint32_t node)
{
        uint32_t frames = 0;

        for (; node > 1; node = p->nodes[node].parent)
                frames++;
        return node == 1 || (p->meta.depth && frames >= p->meta.depth);
}

/* The site with most calls below a function that matches; 0 none. */
static uint32_t find_forbidden(struct judge *j, struct filter *filter, struct budget_verdict *v)
{
        const struct profile *p = j->recording->profile;
        uint32_t worst = 0;

        for (uint32_t i = 1; i < p->site_count; i++) {
                const struct profile_site *site = &p->sites[i];

                if (!site->allocs || LEDGER_KIND_IS_RESOURCE(site->kind))
                        continue;
                if (site->node <= 1 ||
                    !filter_stack(filter, p, j->recording->symbols, site->node)) {
                        v->unseen += is_cut(p, site->node) ? site->allocs : 0;
                        continue;
                }
                v->measured += site->allocs;
                v->measured_bytes += site->alloc_bytes;
                worst = !worst || site->allocs > p->sites[worst].allocs ? i : worst;
                add_forbidden(j, v->typed, site);
        }
        return worst;
}

static bool fits(void *context, const char *name)
{
        return filter_matches(context, name);
}

/* Whether the program and its own libraries have no such function at all.  Where no
 * names are, nothing is known. */
static bool is_idle(struct judge *j, struct expressions *wanted)
{
        const struct profile *p = j->recording->profile;
        struct functions_wish wish = { .context = wanted, .fits = fits };
        bool found = false;

        for (uint32_t i = 0; i < p->module_count && !found; i++)
                if (p->modules[i].path && !location_is_system(p->modules[i].path))
                        found = functions_have(j->recording->symbols, i, &wish);
        return !found && wish.seen;
}

static void judge_expression(struct judge *j, const char *expression)
{
        const struct profile *p = j->recording->profile;
        struct budget_verdict v = { .budget = BUDGET_NO_ALLOC,
                                    .typed = string_pool_text(&j->f->texts, expression) };
        struct filter filter = { 0 };
        struct err e = { 0 };
        uint32_t worst = 0; /* site */
        struct budget_verdict *made;

        if (profile_has_no_stacks(p))
                v.reason = "it was recorded without stacks (--depth 0)";
        else if (filter_add(&filter, FILTER_INCLUDE, expression, &e))
                worst = find_forbidden(j, &filter, &v);
        else
                v.reason = string_pool_text(&j->f->texts, e.text);
        if (worst) {
                struct finding_stack stack = findings_stack(j->f, j->request, j->recording,
                                                            p->sites[worst].node);

                set_worst(j->f, &v, &stack, p->sites[worst].allocs);
                free(stack.frames);
        }
        if (v.unseen && !v.measured && p->meta.depth)
                v.reason = "it was recorded with stacks too short to tell (--depth)";
        else if (!v.measured && !v.reason && profile_is_sampled(p))
                v.reason = "only a sample of blocks was recorded (--sample, or --limit-ledger was "
                           "near), so most allocations are not known";
        v.kept = !v.measured && !v.reason;
        v.idle = v.kept && is_idle(j, &filter.of[FILTER_INCLUDE]);
        made = add_verdict(j, v);
        if (!made->kept && !worst)
                add_budget_finding(j, made, (struct finding_stack){ 0 });
        filter_free(&filter);
}

/* Numbers of a recording that is not whole are too small. */
static const char *find_unfit(struct findings *f, const struct findings_recording *recording)
{
        const struct profile *p = recording->profile;
        bool whole = p->meta.complete ||
                     (recording->running && !p->meta.stop_reason && !p->totals.lost_events);
        struct str why = { 0 };

        if (profile_stayed_off(p))
                str_text(&why,
                         "nothing was recorded: --start-off, and SEEP_ENABLE() was not called");
        else if (p->truncated)
                str_text(&why, "the recording is cut short");
        else if (!whole)
                str_format(&why, "the recording is not complete%s%s",
                           p->meta.warning_count ? ": " : "",
                           p->meta.warning_count ? p->meta.warnings[0] : "");
        return why.length ? findings_keep(f, &why) : NULL;
}

void budget_judge(struct findings *f, const struct findings_request *r,
                  struct findings_recording *recording, const struct budget_tally *tally)
{
        const struct profile_totals *totals = &recording->profile->totals;
        struct judge j = { f, r, recording, tally,
                           r->allow_unseen ? NULL : find_unfit(f, recording) };

        judge_total(&j, BUDGET_PEAK, totals->peak_bytes);
        judge_total(&j, BUDGET_LIVE, totals->live_bytes);
        judge_total(&j, BUDGET_ALLOCS, totals->allocations);
        judge_findings(&j, BUDGET_LEAKED, tally->bytes);
        judge_findings(&j, BUDGET_LEAKS, tally->blocks);
        judge_findings(&j, BUDGET_BAD_FREES, tally->releases);
        judge_total(&j, BUDGET_RSS, totals->rss_peak_bytes);
        judge_growth(&j);
        for (uint32_t i = 0; i < r->budgets->expression_count; i++)
                judge_expression(&j, r->budgets->expressions[i]);
}
