/* SPDX-License-Identifier: MIT */
/* speedscope.c -- a profile for each cost, as speedscope.app reads it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/export.h"
#include "export/stack_costs.h"

#define SPEEDSCOPE_STACKS (128u << 20)

static void speedscope_frames(const struct stack_costs *s, struct str *out)
{
        struct str name = { 0 };

        str_text(out, ",\n \"shared\": {\"frames\": [");
        for (uint32_t i = 0; i < s->frame_count; i++) {
                const struct symbol_frame *names = s->frames[i].names;

                str_clear(&name);
                stack_costs_name(s, i, &name);
                str_text(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
                json_text(out, str_get(&name));
                if (names->file) {
                        json_text_field(out, ", \"", "file", names->file);
                }
                if (names->file && names->line)
                        json_field(out, ", \"", "line", names->line);
                str_char(out, '}');
        }
        str_text(out, "]}");
        str_free(&name);
}

/* What became less has no place in a flame graph. */
static bool speedscope_has(const struct stack_costs_sample *sample, enum cost_kind cost)
{
        return (int64_t)sample->costs.of[cost] > 0;
}

/* The number of a frame and a comma: written for each cost and each stack that passes through
 * it. */
struct speedscope_number {
        char text[15];
        uint8_t length;
};

static struct speedscope_number *speedscope_numbers(const struct stack_costs *s)
{
        struct speedscope_number *numbers = heap_zero(s->frame_count, sizeof *numbers);

        for (uint32_t i = 0; i < s->frame_count; i++)
                numbers[i].length = (uint8_t)snprintf(numbers[i].text, sizeof numbers[i].text,
                                                      "%" PRIu32 ",", i);
        return numbers;
}

static void speedscope_stack(const struct speedscope_number *numbers, const uint32_t *frames,
                             uint32_t count, struct str *out)
{
        char *to = str_room(out, count * sizeof *numbers);

        for (uint32_t k = 0; k < count; k++) {
                memcpy(to, numbers[frames[k]].text, sizeof numbers[0].text);
                to += numbers[frames[k]].length;
        }
        str_end(out, count ? to - 1 : to); /* without the last comma */
}

/* The stacks of samples as text, each made once for all costs; what does not fit is made each
 * time. */
struct speedscope {
        const struct stack_costs *s;
        struct speedscope_number *numbers; /* by frame */
        struct stack_costs_buffer buffer;
        struct str stacks;
        uint64_t *ends; /* by sample: of its text in STACKS, which begins where the one before
                         * ends */
        uint32_t count; /* samples with a text */
};

static void speedscope_write(struct speedscope *m, uint32_t sample, struct str *out)
{
        uint32_t count;
        const uint32_t *frames = stack_costs_outermost_first(m->s, m->s->samples[sample].node,
                                                             &m->buffer, &count);

        str_char(out, '[');
        speedscope_stack(m->numbers, frames, count, out);
        str_char(out, ']');
}

static void speedscope_open(struct speedscope *m, const struct stack_costs *s)
{
        *m = (struct speedscope){ .s = s, .numbers = speedscope_numbers(s),
                                  .ends = heap_zero(s->sample_count, sizeof *m->ends) };
        for (; m->count < s->sample_count && m->stacks.length < SPEEDSCOPE_STACKS; m->count++) {
                speedscope_write(m, m->count, &m->stacks);
                m->ends[m->count] = m->stacks.length;
        }
}

static void speedscope_close(struct speedscope *m)
{
        free(m->buffer.at);
        free(m->numbers);
        free(m->ends);
        str_free(&m->stacks);
}

static void speedscope_samples(struct speedscope *m, enum cost_kind cost, struct str *out)
{
        bool first = true;

        str_text(out, "  \"samples\": [");
        for (uint32_t i = 0; i < m->s->sample_count; i++) {
                uint64_t begin = i && i < m->count ? m->ends[i - 1] : 0;

                if (!speedscope_has(&m->s->samples[i], cost))
                        continue;
                str_text(out, first ? "" : ",\n   ");
                first = false;
                if (i < m->count)
                        str_bytes(out, m->stacks.data + begin, m->ends[i] - begin);
                else
                        speedscope_write(m, i, out);
                str_drain(out);
        }
        str_text(out, "],\n");
}

static void speedscope_weights(const struct stack_costs *s, enum cost_kind cost, struct str *out)
{
        bool first = true;

        str_text(out, "  \"weights\": [");
        for (uint32_t i = 0; i < s->sample_count; i++) {
                if (!speedscope_has(&s->samples[i], cost))
                        continue;
                if (!first)
                        str_char(out, ',');
                first = false;
                json_number(out, s->samples[i].costs.of[cost]);
        }
        str_text(out, "]}");
}

/* "live bytes, 2 s to 5 s" */
static void speedscope_title(const struct selection *sel, enum cost_kind cost, struct str *out)
{
        struct str title = { 0 };
        bool live = cost == COST_LIVE_BYTES || cost == COST_LIVE_COUNT;

        str_text(&title, cost_names[cost].title);
        if (sel->moment == SELECT_OF_PEAK && live)
                str_text(&title, " at the peak");
        if (sel->when[0])
                str_format(&title, ", %s", sel->when);
        json_text(out, str_get(&title));
        str_free(&title);
}

static uint32_t speedscope_profile(struct speedscope *m, enum cost_kind cost, struct str *out)
{
        const struct stack_costs *s = m->s;
        uint64_t total = 0;
        uint32_t negative = 0;

        for (uint32_t i = 0; i < s->sample_count; i++) {
                negative += (int64_t)s->samples[i].costs.of[cost] < 0;
                total += speedscope_has(&s->samples[i], cost) ? s->samples[i].costs.of[cost] : 0;
        }
        str_text(out, "{\"type\": \"sampled\", \"name\": ");
        speedscope_title(s->sel, cost, out);
        str_format(out, ", \"unit\": \"%s\"",
                   strcmp(cost_names[cost].unit, "bytes") == 0 ? "bytes" : "none");
        json_field(out, ", \"", "startValue", 0);
        json_field(out, ", \"", "endValue", total);
        str_text(out, ",\n");
        speedscope_samples(m, cost, out);
        speedscope_weights(s, cost, out);
        return negative;
}

/* The costs that are given, the chosen one shown first. */
static void speedscope_profiles(const struct export_input *in, const struct stack_costs *s,
                                enum cost_kind chosen, struct str *out)
{
        uint32_t count = 0, active = 0, negative = 0;
        struct speedscope m;

        speedscope_open(&m, s);
        str_text(out, ",\n \"profiles\": [");
        for (int i = 0; i < COST_COUNT; i++) {
                uint32_t lost;

                if (!export_gives(in, &s->source, (enum cost_kind)i))
                        continue;
                active = i == (int)chosen ? count : active;
                str_text(out, count++ ? ",\n " : "\n ");
                lost = speedscope_profile(&m, (enum cost_kind)i, out);
                negative = lost > negative ? lost : negative;
        }
        str_text(out, "]");
        json_field(out, ",\n \"", "activeProfileIndex", active);
        speedscope_close(&m);
        export_remark_negative(in, negative);
}

bool export_speedscope(const struct export_input *in, struct str *out, struct err *e)
{
        struct stack_costs s;
        enum cost_kind cost;
        bool good;

        stack_costs_make(&s, in, CALLTREE_BY_LINE);
        good = export_cost(in, &s.source, &cost, e);
        if (good) {
                str_text(out,
                         "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", "
                         "\"exporter\": \"seep@" SEEP_VERSION "\",\n \"name\": ");
                json_text(out, in->profile->meta.program);
                speedscope_frames(&s, out);
                speedscope_profiles(in, &s, cost, out);
                str_text(out, "}\n");
        }
        stack_costs_free(&s);
        return good;
}
