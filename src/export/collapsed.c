/* SPDX-License-Identifier: MIT */
/* collapsed.c -- collapsed stacks: "main;f;g 512", a line for each stack, as
 * flamegraph.pl reads them. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/export.h"
#include "export/stack_costs.h"

/* Frames end at ';', the stack at the last space of the line.  By frame; to be freed. */
static struct str *collapsed_names(const struct stack_costs *s)
{
        struct str *names = heap_zero(s->frame_count, sizeof *names);

        for (uint32_t i = 0; i < s->frame_count; i++)
                stack_costs_plain_name(s, i, ";", ':', &names[i]);
        return names;
}

static void collapsed_stack(const struct str *names, const uint32_t *frames, uint32_t count,
                            struct str *out)
{
        for (uint32_t i = 0; i < count; i++) {
                str_bytes(out, names[frames[i]].data, names[frames[i]].length);
                str_char(out, i + 1 < count ? ';' : ' ');
        }
}

static void collapsed_write(const struct stack_costs *s, enum cost_kind cost,
                            const struct export_input *in, struct str *out)
{
        struct str *names = collapsed_names(s);
        struct stack_costs_buffer buffer = { 0 };
        uint32_t negative = 0, count;

        for (uint32_t i = 0; i < s->sample_count; i++) {
                int64_t value = (int64_t)s->samples[i].costs.of[cost];
                const uint32_t *frames;

                negative += value < 0;
                if (value <= 0)
                        continue;
                frames = stack_costs_outermost_first(s, s->samples[i].node, &buffer, &count);
                collapsed_stack(names, frames, count, out);
                json_number(out, (uint64_t)value);
                str_char(out, '\n');
                str_drain(out);
        }
        export_remark_negative(in, negative);
        for (uint32_t i = 0; i < s->frame_count; i++)
                str_free(&names[i]);
        free(names);
        free(buffer.at);
}

bool export_collapsed(const struct export_input *in, struct str *out, struct err *e)
{
        struct stack_costs s;
        enum cost_kind cost;
        bool good;

        stack_costs_make(&s, in, CALLTREE_BY_NAME);
        good = export_cost(in, &s.source, &cost, e);
        if (good)
                collapsed_write(&s, cost, in, out);
        stack_costs_free(&s);
        return good;
}
