/* SPDX-License-Identifier: MIT */
/*
 * dhat.c -- the file of Valgrind's DHAT, version 2: dh_view.html and the Firefox Profiler read it.
 *
 * Keeps:  two program points with equal frames are an error to dh_view, so stacks are
 *         merged by their names first.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/course.h"
#include "export/valgrind.h"
#include "profile/packed.h"

#define US_PER_MS 1000u
#define SHORT_LIVED_US 1000u

struct amount {
        uint64_t bytes, blocks;
};

/* The numbers of a sample. */
struct point {
        struct amount total, most, peak, end; /* most: of this one, as far as moments show it; peak:
                                               * when the program had most */
        uint64_t lifetime_us;                 /* of all its blocks until the end, summed */
};

/* A file: of the run, or of what was before a moment. */
struct dhat {
        const struct stack_costs *stacks;
        struct course_span span;
        uint32_t largest; /* the slice that stands for the peak, which is not known;
                           * UINT32_MAX: it is, or there is none */
        uint64_t peak_ms, end_ms;
        struct point *points; /* by sample */
};

static void take_most(struct point *point, struct amount now)
{
        if ((int64_t)now.bytes > (int64_t)point->most.bytes)
                point->most = now;
}

/* A block that is there from one slice on lives until the end, unless it is gone in a later one. */
static void take_changes(struct dhat *d, const struct course *course, uint64_t ms)
{
        uint64_t us = d->end_ms > ms ? (d->end_ms - ms) * US_PER_MS : 0;

        for (uint32_t i = 0; i < course->changed_count; i++) {
                const struct profile_change *now = &course->sums[course->changed[i]];
                struct point *point = &d->points[course->changed[i]];

                point->lifetime_us += (now->live_blocks - point->end.blocks) * us;
                point->total = (struct amount){ now->alloc_bytes, now->allocs };
                point->end = (struct amount){ now->live_bytes, now->live_blocks };
                take_most(point, point->end);
        }
}

static void take_course(struct dhat *d, uint32_t *numbers)
{
        const struct profile *p = d->stacks->profile;
        struct course course;

        course_start(&course, p, numbers, d->stacks->sample_count);
        for (uint32_t i = 0; i < d->span.last; i++) {
                course_step(&course, i);
                take_changes(d, &course, p->slices[i].ms);
                for (uint32_t k = 0; i == d->largest && k < d->stacks->sample_count; k++)
                        d->points[k].peak = d->points[k].end;
        }
        course_free(&course);
}

/* The run as a whole is known better than its slices tell. */
static void take_run(struct dhat *d, const uint32_t *numbers)
{
        const struct profile *p = d->stacks->profile;
        struct packed_walk w;

        for (uint32_t i = 0; i < d->stacks->sample_count; i++) {
                const uint64_t *of = d->stacks->samples[i].costs.of;

                d->points[i].total = (struct amount){ of[COST_ALLOC_BYTES], of[COST_ALLOC_COUNT] };
                d->points[i].end = (struct amount){ of[COST_LIVE_BYTES], of[COST_LIVE_COUNT] };
                d->points[i].lifetime_us = d->stacks->samples[i].lifetime_ms * US_PER_MS;
                take_most(&d->points[i], d->points[i].end);
        }
        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *b = w.block;

                if (b->site < p->site_count && numbers[b->site] != COURSE_NONE &&
                    b->birth_ms < d->end_ms)
                        d->points[numbers[b->site]].lifetime_us += profile_block_times(p, b) *
                                                                   (d->end_ms - b->birth_ms) *
                                                                   US_PER_MS;
        }
        packed_close(&w);
}

static void take_peak(struct dhat *d)
{
        for (uint32_t i = 0; i < d->stacks->sample_count; i++) {
                const uint64_t *of = d->stacks->samples[i].costs.of;

                d->points[i].peak = (struct amount){ of[COST_PEAK_BYTES], of[COST_PEAK_COUNT] };
                take_most(&d->points[i], d->points[i].peak);
        }
}

static void make_points(struct dhat *d)
{
        const struct profile *p = d->stacks->profile;
        uint32_t *numbers = course_samples(d->stacks);

        d->largest = d->span.last && !d->span.has_peak ? span_largest(&d->span, p) : UINT32_MAX;
        d->peak_ms = d->span.has_peak ? profile_peak_ms(p)
                     : d->span.last   ? p->slices[d->largest].ms
                                      : 0;
        d->end_ms = d->span.whole  ? p->meta.duration_ms
                    : d->span.last ? p->slices[d->span.last - 1].ms
                                   : 0;
        d->points = heap_zero(d->stacks->sample_count, sizeof *d->points);
        take_course(d, numbers);
        if (d->span.has_peak)
                take_peak(d);
        if (d->span.whole)
                take_run(d, numbers);
        free(numbers);
}

/* Allocation point first, main last. */
static void put_frames(const struct stack_costs *s, uint32_t node, struct str *out)
{
        bool first = true;

        str_text(out, ", \"fs\": [");
        for (; node; node = s->nodes[node].parent) {
                str_text(out, first ? "" : ",");
                first = false;
                json_number(out, s->nodes[node].frame + 1u); /* frame 0 is the root */
        }
        str_text(out, "]}");
}

static void put_amount(const char *bytes, const char *blocks, struct amount amount, struct str *out)
{
        json_field(out, ", \"", bytes, amount.bytes);
        json_field(out, ", \"", blocks, amount.blocks);
}

static void put_point(const struct dhat *d, uint32_t sample, struct str *out)
{
        const struct point *point = &d->points[sample];

        json_field(out, "{\"", "tb", point->total.bytes);
        json_field(out, ", \"", "tbk", point->total.blocks);
        if (d->stacks->source.known[COST_PEAK_BYTES]) {
                json_field(out, ", \"", "tl", point->lifetime_us);
                put_amount("mb", "mbk", point->most, out);
                put_amount("gb", "gbk", point->peak, out);
                put_amount("eb", "ebk", point->end, out);
        }
        put_frames(d->stacks, d->stacks->samples[sample].node, out);
}

static void put_points(const struct dhat *d, struct str *out)
{
        bool first = true;

        str_text(out, " \"pps\": [");
        for (uint32_t i = 0; i < d->stacks->sample_count; i++) {
                if (!d->span.whole && !d->points[i].total.blocks && !d->points[i].end.blocks)
                        continue;
                str_text(out, first ? "\n  " : ",\n  ");
                first = false;
                put_point(d, i, out);
                str_drain(out);
        }
        str_text(out, "],\n");
}

static void put_frame(const struct stack_costs *s, uint32_t frame, struct str *out)
{
        struct str text = { 0 };

        valgrind_frame(s, frame, "", &text);
        json_text(out, str_get(&text));
        str_free(&text);
}

static void put_head(const struct dhat *d, struct str *out)
{
        const struct profile *p = d->stacks->profile;
        bool lifetimes = d->stacks->source.known[COST_PEAK_BYTES];
        struct str command = { 0 };

        valgrind_command(p, "", &command);
        str_format(out,
                   "{\"dhatFileVersion\": 2, \"mode\": \"heap\", \"verb\": \"Allocated\", "
                   "\"bklt\": %s, \"bkacc\": false,\n", lifetimes ? "true" : "false");
        json_text_field(out, " \"tu\": \"\\u00b5s\", \"Mtu\": \"s\", \"", "cmd", str_get(&command));
        json_field(out, ", \"", "pid", p->meta.pid);
        if (lifetimes) {
                json_field(out, ", \"", "tuth", SHORT_LIVED_US);
                json_field(out, ", \"", "tg", d->peak_ms * US_PER_MS);
        }
        json_field(out, ", \"", "te", d->end_ms * US_PER_MS);
        str_text(out, ",\n");
        str_free(&command);
}

static bool is_possible(const struct export_input *in, const struct course_span *span,
                        struct err *e)
{
        if (span->to_peak)
                return err_set(e, ERR_EXIT_USAGE,
                               "--to dhat always has the peak beside the end (t-gmax): leave out "
                               "--at peak");
        if (!span->whole && in->sel->moment != SELECT_OF_RUN)
                return err_set(e, ERR_EXIT_USAGE,
                               "--thread cannot be combined with --at TIME: time slices do not "
                               "tell threads apart");
        if (!span->has_peak && in->remarks)
                str_text(in->remarks,
                         "the peak of the run is not before that moment: t-gmax is the largest "
                         "that the timeline shows until then\n");
        return true;
}

bool export_dhat(const struct export_input *in, struct str *out, struct err *e)
{
        struct stack_costs s;
        struct dhat d = { .stacks = &s };

        if (!span_make(&d.span, in, e) || !is_possible(in, &d.span, e))
                return false;
        stack_costs_make(&s, in, CALLTREE_BY_LINE);
        make_points(&d);
        put_head(&d, out);
        put_points(&d, out);
        str_text(out, " \"ftbl\": [\"[root]\"");
        for (uint32_t i = 0; i < s.frame_count; i++) {
                str_text(out, ",\n  ");
                put_frame(&s, i, out);
        }
        str_text(out, "]}\n");
        free(d.points);
        stack_costs_free(&s);
        return true;
}
