/* SPDX-License-Identifier: MIT */
/*
 * gprof2dot.c -- call chains with one cost each, as memtrail writes them for `gprof2dot -f json`.
 */
#include "base/json.h"
#include "export/export.h"
#include "export/stack_costs.h"
#include "words/label.h"

static void gprof2dot_functions(const struct stack_costs *s, struct str *out)
{
        struct str name = { 0 };

        str_text(out, " \"functions\": [");
        for (uint32_t i = 0; i < s->frame_count; i++) {
                const char *module = stack_costs_module(s, i);

                str_clear(&name);
                stack_costs_name(s, i, &name);
                str_text(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
                json_text(out, str_get(&name));
                if (module) {
                        json_text_field(out, ", \"", "module", label_base(module));
                }
                str_char(out, '}');
        }
        str_text(out, "],\n");
        str_free(&name);
}

/* Returns how many stacks have less than nothing; memtrail drops those too. */
static uint32_t gprof2dot_events(const struct stack_costs *s, enum cost_kind cost, struct str *out)
{
        uint32_t negative = 0;
        bool first = true;

        str_text(out, " \"events\": [");
        for (uint32_t i = 0; i < s->sample_count; i++) {
                int64_t value = (int64_t)s->samples[i].costs.of[cost];
                uint32_t node = s->samples[i].node;

                negative += value < 0;
                if (value <= 0)
                        continue;
                str_text(out, first ? "\n  {\"callchain\": [" : ",\n  {\"callchain\": [");
                first = false;
                for (; node; node = s->nodes[node].parent) {
                        json_number(out, s->nodes[node].frame);
                        str_text(out, s->nodes[node].parent ? ", " : "], \"cost\": [");
                }
                json_number(out, (uint64_t)value);
                str_text(out, "]}");
                str_drain(out);
        }
        str_text(out, "]}\n");
        return negative;
}

bool export_gprof2dot(const struct export_input *in, struct str *out, struct err *e)
{
        struct stack_costs s;
        enum cost_kind cost;
        bool good;

        stack_costs_make(&s, in, CALLTREE_BY_FUNCTION);
        good = export_cost(in, &s.source, &cost, e);
        if (good) {
                str_text(out, "{\"version\": 0,\n \"costs\": [{\"description\": ");
                json_text(out, cost_names[cost].title);
                json_text_field(out, ", \"", "unit", cost_names[cost].unit);
                str_text(out, "}],\n");
                gprof2dot_functions(&s, out);
                export_remark_negative(in, gprof2dot_events(&s, cost, out));
        }
        stack_costs_free(&s);
        return good;
}
