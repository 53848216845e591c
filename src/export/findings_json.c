/* SPDX-License-Identifier: MIT */
/*
 * findings_json.c -- `seep check --json`: budgets and findings.  Fields may be added, never
 * renamed.
 */
#include "query/findings.h"

#include <inttypes.h>

#include "base/json.h"
#include "export/report_json.h"
#include "query/budget.h"

static const char *state_word(enum finding_state state)
{
        static const char *const words[] = { [FINDING_BREAKS] = "breaks", [FINDING_HINT] = "hint",
                                             [FINDING_ALLOWED] = "allowed",
                                             [FINDING_KNOWN] = "known" };

        return words[state];
}

static void field_text(struct str *out, const char *name, const char *text)
{
        str_format(out, ", \"%s\": ", name);
        json_text(out, text);
}

static void write_process(const struct findings *f, uint32_t index, struct str *out)
{
        const struct findings_process *p = &f->processes[index];

        json_text_field(out, "{\"", "program", p->program);
        json_field(out, ", \"", "pid", p->pid);
        field_text(out, "recording", p->recording);
        json_field(out, ", \"", "duration_ms", p->duration_ms);
        json_field(out, ", \"", "peak_bytes", p->peak_bytes);
        json_field(out, ", \"", "live_bytes", p->live_bytes);
        json_field(out, ", \"", "allocations", p->allocations);
        field_text(out, "ended", p->ended);
        field_text(out, "not_scanned", p->unknown);
        str_char(out, '}');
}

static void write_verdict(const struct findings *f, uint32_t index, struct str *out)
{
        const struct budget_verdict *v = &f->verdicts[index];

        str_format(out, "{\"budget\": \"%s\", \"kept\": %s", budget_option(v->budget),
                   v->kept ? "true" : "false");
        json_field(out, ", \"", "process", v->process);
        json_field(out, ", \"", "pid", f->processes[v->process].pid);
        if (v->budget == BUDGET_NO_ALLOC) {
                field_text(out, "expression", v->typed);
                json_field(out, ", \"", "unseen", v->unseen);
                str_format(out, ", \"idle\": %s", v->idle ? "true" : "false");
        }
        json_field(out, ", \"", "limit", v->most);
        if (v->reason)
                str_text(out, ", \"measured\": null");
        else
                json_field(out, ", \"", "measured", v->measured);
        field_text(out, "reason", v->reason);
        field_text(out, "worst", v->worst);
        json_field(out, ", \"", "worst_part", v->worst_part);
        str_char(out, '}');
}

static void write_stack(const struct finding_stack *stack, struct str *out)
{
        str_char(out, '[');
        for (uint32_t i = 0; i < stack->count; i++) {
                const struct finding_frame *frame = &stack->frames[i];

                str_text(out, i ? ",\n    {\"function\": " : "\n    {\"function\": ");
                json_text(out, frame->signature);
                json_place(out, frame->path ? frame->path : frame->file, frame->line);
                field_text(out, "module", frame->module);
                str_format(out, ", \"address\": \"0x%" PRIx64 "\", \"inlined\": %s}",
                           frame->address, frame->inlined ? "true" : "false");
        }
        str_char(out, ']');
}

static void write_finding(const struct findings *f, uint32_t index, struct str *out)
{
        const struct finding *finding = &f->all[index];
        struct str text = { 0 };

        finding_say(finding, &text);
        str_format(out, "{\"kind\": \"%s\", \"state\": \"%s\"", finding_words(finding->kind)->word,
                   state_word(finding->state));
        field_text(out, "text", str_get(&text));
        str_format(out, ", \"fingerprint\": \"%016" PRIx64 "\"", finding->fingerprint);
        json_field(out, ", \"", "process", finding->process);
        json_field(out, ", \"", "processes", finding->processes);
        json_field(out, ", \"", "count", finding->count);
        json_field(out, ", \"", "bytes", finding->bytes);
        json_field(out, ", \"", "hanging_blocks", finding->hanging_count);
        json_field(out, ", \"", "hanging_bytes", finding->hanging_bytes);
        if (finding->stack.place < finding->stack.count)
                json_field(out, ", \"", "place", finding->stack.place);
        else
                str_text(out, ", \"place\": null");
        str_text(out, ", \"stack\": ");
        write_stack(&finding->stack, out);
        str_text(out, ", \"alloc_stack\": ");
        if (finding->origin.count)
                write_stack(&finding->origin, out);
        else
                str_text(out, "null");
        if (finding->first.count) {
                str_text(out, ", \"first_free_stack\": ");
                write_stack(&finding->first, out);
        }
        str_char(out, '}');
        str_free(&text);
}

static void write_rule(const struct findings *f, uint32_t index, struct str *out)
{
        const struct findings_rule *rule = &f->rules[index];

        json_text_field(out, "{\"", "name", rule->name);
        field_text(out, "file", rule->file);
        json_field(out, ", \"", "line", rule->line);
        json_field(out, ", \"", "times", rule->times);
        json_field(out, ", \"", "blocks", rule->blocks);
        json_field(out, ", \"", "bytes", rule->bytes);
        str_char(out, '}');
}

static void write_gone(const struct findings *f, uint32_t index, struct str *out)
{
        json_text(out, f->gone[index]);
}

struct list {
        const char *name;
        uint32_t count;
        void (*write)(const struct findings *f, uint32_t index, struct str *out);
};

static void write_list(const struct findings *f, const struct list *list, struct str *out)
{
        str_format(out, ",\n \"%s\": [", list->name);
        for (uint32_t i = 0; i < list->count; i++) {
                str_text(out, i ? ",\n  " : "\n  ");
                list->write(f, i, out);
        }
        str_char(out, ']');
}

/* The reasons, whether or not they were accepted: each once, however many processes it is about. */
static void write_unseen(const struct findings *f, struct str *out)
{
        bool first = true;

        str_text(out, ", \"unseen\": [");
        for (uint32_t i = 0; i < f->count; i++) {
                if (f->all[i].kind != FINDING_UNSEEN)
                        continue;
                str_text(out, first ? "" : ", ");
                json_text(out, f->all[i].text);
                first = false;
        }
        str_char(out, ']');
}

void findings_json(const struct findings *f, struct str *out)
{
        const struct list lists[] = { { "processes", f->process_count, write_process },
                                      { "budgets", f->verdict_count, write_verdict },
                                      { "findings", f->count, write_finding },
                                      { "suppressions", f->rule_count, write_rule },
                                      { "gone", f->gone_count, write_gone } };

        str_format(out, "{\"seep\": 1, \"ok\": %s", findings_failed(f) ? "false" : "true");
        write_unseen(f, out);
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
                write_list(f, &lists[i], out);
        str_text(out, "}\n");
}
