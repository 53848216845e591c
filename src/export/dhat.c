/* SPDX-License-Identifier: MIT */
/*
 * dhat.c -- the file of Valgrind's DHAT, version 2: dh_view.html and the Firefox Profiler read it.
 *
 * Room:   outside.
 * Keeps:  two program points with equal frames are an error to dh_view, so stacks are merged by their names first.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/course.h"
#include "export/valgrind.h"

#define US_PER_MS 1000u
#define SHORT_LIVED_US 1000u

/* By sample, what its costs do not tell. */
struct point {
        uint64_t most_blocks, most_bytes; /* as far as moments show it */
        uint64_t live_us;                 /* how long its live blocks have been there */
};

static void take_most(struct point *point, uint64_t bytes, uint64_t blocks)
{
        if ((int64_t)bytes > (int64_t)point->most_bytes) {
                point->most_bytes = bytes;
                point->most_blocks = blocks;
        }
}

static struct point *make_points(const struct stacks *s)
{
        const struct profile *p = s->profile;
        struct point *points = heap_zero(s->sample_count, sizeof *points);
        uint32_t *numbers = course_samples(s);
        struct course course;

        for (uint32_t i = 0; i < s->sample_count; i++) {
                const uint64_t *of = s->samples[i].costs.of;

                take_most(&points[i], of[COST_PEAK_BYTES], of[COST_PEAK_COUNT]);
                take_most(&points[i], of[COST_LIVE_BYTES], of[COST_LIVE_COUNT]);
        }
        course_start(&course, p, numbers, s->sample_count);
        for (uint32_t i = 0; i < p->slice_count; i++) {
                course_step(&course, i);
                for (uint32_t k = 0; k < course.changed_count; k++)
                        take_most(&points[course.changed[k]], course.sums[course.changed[k]].live_bytes, course.sums[course.changed[k]].live_blocks);
        }
        course_free(&course);
        for (uint64_t i = 0; i < p->block_count; i++) {
                const struct profile_block *b = &p->blocks[i];

                if (b->site < p->site_count && numbers[b->site] != COURSE_NONE && b->birth_ms < p->meta.duration_ms)
                        points[numbers[b->site]].live_us += (p->meta.duration_ms - b->birth_ms) * US_PER_MS;
        }
        free(numbers);
        return points;
}

/* Allocation point first, main last. */
static void put_frames(const struct stacks *s, uint32_t node, struct str *out)
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

static void put_point(const struct stacks *s, const struct stacks_sample *sample, const struct point *point, struct str *out)
{
        const uint64_t *of = sample->costs.of;

        json_field(out, "{\"", "tb", of[COST_ALLOC_BYTES]);
        json_field(out, ", \"", "tbk", of[COST_ALLOC_COUNT]);
        if (s->source.known[COST_PEAK_BYTES]) {
                json_field(out, ", \"", "tl", sample->lifetime_ms * US_PER_MS + point->live_us);
                json_field(out, ", \"", "mb", point->most_bytes);
                json_field(out, ", \"", "mbk", point->most_blocks);
                json_field(out, ", \"", "gb", of[COST_PEAK_BYTES]);
                json_field(out, ", \"", "gbk", of[COST_PEAK_COUNT]);
                json_field(out, ", \"", "eb", of[COST_LIVE_BYTES]);
                json_field(out, ", \"", "ebk", of[COST_LIVE_COUNT]);
        }
        put_frames(s, sample->node, out);
}

static void put_points(const struct stacks *s, struct str *out)
{
        struct point *points = make_points(s);

        str_text(out, " \"pps\": [");
        for (uint32_t i = 0; i < s->sample_count; i++) {
                str_text(out, i ? ",\n  " : "\n  ");
                put_point(s, &s->samples[i], &points[i], out);
        }
        str_text(out, "],\n");
        free(points);
}

static void put_frame(const struct stacks *s, uint32_t frame, struct str *out)
{
        struct str text = { 0 };

        valgrind_frame(s, frame, "", &text);
        json_text(out, str_get(&text));
        str_free(&text);
}

static void put_head(const struct profile *p, bool lifetimes, struct str *out)
{
        struct str command = { 0 };

        valgrind_command(p, "", &command);
        str_format(out, "{\"dhatFileVersion\": 2, \"mode\": \"heap\", \"verb\": \"Allocated\", \"bklt\": %s, \"bkacc\": false,\n",
                   lifetimes ? "true" : "false");
        str_text(out, " \"tu\": \"\\u00b5s\", \"Mtu\": \"s\", \"cmd\": ");
        json_text(out, str_get(&command));
        json_field(out, ", \"", "pid", p->meta.pid);
        if (lifetimes) {
                json_field(out, ", \"", "tuth", SHORT_LIVED_US);
                json_field(out, ", \"", "tg", p->totals.peak_ms * US_PER_MS);
        }
        json_field(out, ", \"", "te", p->meta.duration_ms * US_PER_MS);
        str_text(out, ",\n");
        str_free(&command);
}

bool export_dhat(const struct export_input *in, struct str *out, struct err *e)
{
        struct stacks s;

        (void)e;
        stacks_make(&s, in, STACKS_BY_LINE);
        put_head(in->profile, s.source.known[COST_PEAK_BYTES], out);
        put_points(&s, out);
        str_text(out, " \"ftbl\": [\"[root]\"");
        for (uint32_t i = 0; i < s.frame_count; i++) {
                str_text(out, ",\n  ");
                put_frame(&s, i, out);
        }
        str_text(out, "]}\n");
        stacks_free(&s);
        return true;
}
