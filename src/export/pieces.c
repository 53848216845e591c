/* SPDX-License-Identifier: MIT */
/*
 * pieces.c -- what came and went between the moments of a recording, in as few
 * pieces as add up to the same.
 */
#include "export/pieces.h"

#include <stdlib.h>

#include "base/heap.h"
#include "export/course.h"

static void add(struct pieces *p, const struct course_piece *piece)
{
        p->at = heap_next(p->at, p->count, sizeof *p->at);
        p->at[p->count++] = *piece;
}

static void come(struct pieces *p, uint32_t sample, uint32_t slice, uint64_t bytes)
{
        if (!bytes)
                return;
        add(p, &(struct course_piece){ sample, slice, PIECES_STAY, p->top[sample], bytes });
        p->top[sample] = p->count;
}

static void go(struct pieces *p, uint32_t sample, uint32_t slice, uint64_t bytes)
{
        while (bytes && p->top[sample]) {
                struct course_piece *top = &p->at[p->top[sample] - 1];

                if (top->bytes > bytes) {
                        struct course_piece part = { sample, top->came, slice, 0, bytes };

                        top->bytes -= bytes;
                        add(p, &part);
                        return;
                }
                top->went = slice;
                bytes -= top->bytes;
                p->top[sample] = top->before;
        }
}

/* From one moment to the next: BEFORE becomes NOW. */
static void pass(struct pieces *p, uint32_t sample, uint32_t slice, const uint64_t before[2],
                 const uint64_t now[2])
{
        uint64_t came = now[0] > before[0] ? now[0] - before[0] : 0;
        int64_t more = (int64_t)(now[1] - before[1]);

        if (more > 0 && (uint64_t)more > came) /* counted a little later than it was there */
                came = (uint64_t)more;
        come(p, sample, slice, came);
        go(p, sample, slice, came - (uint64_t)more);
}

void pieces_make(struct pieces *p, const struct stack_costs *s, const struct course_span *span)
{
        uint64_t(*last)[2] = heap_zero(s->sample_count, sizeof *last); /* allocated in all, live */
        uint32_t *numbers = course_samples(s);
        struct course course;

        *p = (struct pieces){ .top = heap_zero(s->sample_count, sizeof *p->top) };
        course_start(&course, s->profile, numbers, s->sample_count);
        for (uint32_t i = 0; i < span->last; i++) {
                course_step(&course, i);
                for (uint32_t k = 0; k < course.changed_count; k++) {
                        uint32_t sample = course.changed[k];
                        const uint64_t now[2] = { course.sums[sample].alloc_bytes,
                                                  course.sums[sample].live_bytes };

                        pass(p, sample, i, last[sample], now);
                        last[sample][0] = now[0];
                        last[sample][1] = now[1];
                }
        }
        for (uint32_t i = 0; i < s->sample_count && (span->to_end || span->to_peak); i++) {
                const uint64_t *of = s->samples[i].costs.of;
                const uint64_t now[2] = { span->to_end ? of[COST_ALLOC_BYTES] : last[i][0],
                                          of[span->to_end ? COST_LIVE_BYTES : COST_PEAK_BYTES] };

                pass(p, i, span->last, last[i], now);
        }
        course_free(&course);
        free(numbers);
        free(last);
}

void pieces_free(struct pieces *p)
{
        free(p->at);
        free(p->top);
}
