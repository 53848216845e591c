/* SPDX-License-Identifier: MIT */
/*
 * spark.c -- the course of the heap in one line.
 *
 * Room:   outside.
 * Keeps:  a column shows the most of its stretch of time, from zero to the most of all.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "top/screen_table.h"
#include "words/text.h"

#define SPARK_SPAN_MS 300000u /* of a running process */

enum { SPARK_LEVELS = 8 };

static const char *const spark_blocks[SPARK_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char spark_letters[SPARK_LEVELS + 1] = "_.:-=+*#";

struct spark {
        uint64_t from_ms, to_ms;
        uint64_t *most; /* by column */
        uint32_t width;
};

static void take(struct spark *k, const struct profile_slice *slice, uint64_t until_ms)
{
        double scale = (double)k->width / (double)(k->to_ms - k->from_ms);
        uint32_t first, last;

        if (until_ms < k->from_ms || slice->ms > k->to_ms)
                return;
        first = slice->ms > k->from_ms ? (uint32_t)((double)(slice->ms - k->from_ms) * scale) : 0;
        last = (uint32_t)((double)(until_ms - k->from_ms) * scale);
        for (uint32_t i = first; i <= last && i < k->width; i++)
                if (slice->live_bytes > k->most[i])
                        k->most[i] = slice->live_bytes;
}

/* A slice holds until the next one. */
static uint64_t measure(struct spark *k, const struct picture *c)
{
        uint64_t top = 0;

        for (uint32_t i = 0; i < c->slices; i++)
                take(k, &c->p->slices[i], i + 1 < c->slices ? c->p->slices[i + 1].ms : c->now->ms);
        take(k, &c->now->sum, c->now->ms);
        for (uint32_t i = 0; i < k->width; i++)
                top = k->most[i] > top ? k->most[i] : top;
        return top;
}

static void draw(const struct spark *k, uint64_t top, const struct screen_input *in, struct str *out)
{
        uint32_t reached = (uint32_t)((double)(in->picture->now->ms - k->from_ms) / (double)(k->to_ms - k->from_ms) * k->width);

        for (uint32_t i = 0; i < k->width; i++) {
                uint64_t level = top ? (uint64_t)((double)k->most[i] / (double)top * SPARK_LEVELS) : 0;

                level = level < SPARK_LEVELS ? level : SPARK_LEVELS - 1;
                if (i > reached)
                        str_char(out, ' ');
                else if (in->utf8)
                        str_text(out, spark_blocks[level]);
                else
                        str_char(out, spark_letters[level]);
        }
}

/* A running process is shown for a while, a recording as a whole: what is not reached yet stays empty. */
static struct spark span_of(const struct screen_input *in)
{
        uint64_t now = in->picture->now->ms ? in->picture->now->ms : 1, end = in->picture->p->meta.duration_ms;

        if (in->state->when == KEYS_LIVE)
                return (struct spark){ .from_ms = now > SPARK_SPAN_MS ? now - SPARK_SPAN_MS : 0, .to_ms = now };
        return (struct spark){ .to_ms = end > now ? end : now };
}

void spark_write(const struct screen_input *in, uint32_t width, struct str *out)
{
        struct spark k = span_of(in);

        k.width = width;
        k.most = heap_zero(width, sizeof *k.most);
        draw(&k, measure(&k, in->picture), in, out);
        free(k.most);
}

void spark_span(const struct screen_input *in, struct str *out)
{
        struct spark k = span_of(in);

        if (in->state->when == KEYS_LIVE) {
                str_text(out, k.from_ms ? " heap, last 5 min" : " heap, all ");
                if (!k.from_ms)
                        text_time(out, k.to_ms);
                return;
        }
        str_text(out, " heap, at ");
        text_time(out, in->picture->now->ms);
        str_text(out, " of ");
        text_time(out, k.to_ms);
}
