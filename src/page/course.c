/* SPDX-License-Identifier: MIT */
/*
 * course.c -- the course of the run: moments, changes between them at each call stack, marks, and
 * other events.
 *
 * Keeps:  where moments are left out, the changes until the next one that is kept are those of all
 *         of them together.  Moments with a mark are kept before others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "page/page_parts.h"
#include "words/label.h"

enum { COURSE_LEAST = 50 }; /* moments that are kept, however many changes they have */

/* ---- which moments ---- */

/* Every EVERY-th, the last, and those of marks; returns how many. */
static uint32_t choose_slices(const struct profile *p, uint32_t every, uint8_t *kept)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->slice_count; i++)
                kept[i] = (p->slice_count - 1 - i) % every == 0;
        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].slice < p->slice_count)
                        kept[p->marks[i].slice] = 1;
        for (uint32_t i = 0; i < p->slice_count; i++)
                count += kept[i];
        return count;
}

/* As above without regard to marks: programs can make very many. */
static uint32_t choose_fewer(const struct profile *p, uint32_t every, uint8_t *kept)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->slice_count; i++)
                count += kept[i] = (p->slice_count - 1 - i) % every == 0;
        return count;
}

static bool is_told(const struct page *g, const struct profile_change *c)
{
        return c->site < g->p->site_count && page_row(g, c->site) != GRID_NONE;
}

/* How many changes there are between the moments that are KEPT. */
static uint64_t count_changes(const struct page *g, const uint8_t *kept)
{
        const struct profile *p = g->p;
        uint32_t *stamp = heap_zero(g->row_count, sizeof *stamp), group = 1;
        uint64_t count = 0;

        for (uint32_t i = 0; i < p->slice_count; i++) {
                const struct profile_slice *s = &p->slices[i];

                for (uint32_t k = 0; k < s->change_count; k++) {
                        const struct profile_change *c = &p->changes[s->change_first + k];

                        if (!is_told(g, c) || stamp[g->row_of[c->site]] == group)
                                continue;
                        stamp[g->row_of[c->site]] = group;
                        count++;
                }
                group += kept[i];
        }
        free(stamp);
        return count;
}

static uint32_t thin(struct page *g, uint8_t *kept)
{
        uint32_t every = 1, count = choose_slices(g->p, 1, kept);

        while (count > COURSE_LEAST &&
               (count > g->limits->slices || count_changes(g, kept) > g->limits->changes)) {
                uint32_t marked = choose_slices(g->p, every *= 2, kept);

                count = marked < count ? marked : choose_fewer(g->p, every, kept);
        }
        return count;
}

/* ---- changes ---- */

/* The numbers of each row of the page while the changes of the profile are passed. */
struct page_course {
        struct page *g;
        struct profile_change *sites; /* by site: as last told */
        int64_t (*rows)[4];
        uint8_t *changed;
        uint32_t *list; /* rows that changed */
        uint32_t count;
        struct grid table;
};

static void take_change(struct page_course *c, const struct profile_change *now)
{
        struct profile_change *before = &c->sites[now->site];
        uint32_t row = (uint32_t)c->g->row_of[now->site];
        int64_t *cells = c->rows[row];

        grid_sum(&cells[0], now->live_bytes - before->live_bytes);
        grid_sum(&cells[1], now->live_blocks - before->live_blocks);
        grid_sum(&cells[2], now->allocs - before->allocs);
        grid_sum(&cells[3], now->alloc_bytes - before->alloc_bytes);
        *before = *now;
        if (!c->changed[row])
                c->list[c->count++] = row;
        c->changed[row] = 1;
}

static void write_changes(struct page_course *c, uint32_t slice)
{
        qsort(c->list, c->count, sizeof *c->list, order_u32);
        for (uint32_t i = 0; i < c->count; i++) {
                const int64_t *cells = c->rows[c->list[i]];

                GRID_ROW(&c->table, slice, c->list[i], cells[0], cells[1], cells[2], cells[3]);
                c->changed[c->list[i]] = 0;
        }
        c->count = 0;
}

/* By thread, or of one moment, the course of single stacks is not known. */
static bool has_changes(const struct page *g)
{
        return !g->r->at && !g->r->range && !filter_has(g->r->filter, FILTER_THREAD);
}

static void make_changes(struct page_course *c, const uint8_t *kept)
{
        const struct profile *p = c->g->p;
        uint32_t slice = 0;

        c->sites = heap_zero(p->site_count, sizeof *c->sites);
        c->rows = heap_zero(c->g->row_count, sizeof *c->rows);
        c->changed = heap_zero(c->g->row_count, 1);
        c->list = heap_zero(c->g->row_count, sizeof *c->list);
        for (uint32_t i = 0; i < p->slice_count; i++) {
                const struct profile_slice *s = &p->slices[i];

                for (uint32_t k = 0; k < s->change_count; k++)
                        if (is_told(c->g, &p->changes[s->change_first + k]))
                                take_change(c, &p->changes[s->change_first + k]);
                if (kept[i])
                        write_changes(c, slice++);
        }
        free(c->sites);
        free(c->rows);
        free(c->changed);
        free(c->list);
}

/* ---- moments, marks, events ---- */

static void write_slices(struct page *g, const uint8_t *kept)
{
        const struct profile *p = g->p;
        struct grid t;

        grid_start(&t, "ms live_bytes live_blocks allocs alloc_bytes frees rss_bytes");
        g->slice_of = heap_zero(p->slice_count, sizeof *g->slice_of);
        for (uint32_t i = 0; i < p->slice_count; i++) {
                const struct profile_slice *s = &p->slices[i];

                g->slice_of[i] = (uint32_t)t.count;
                if (kept[i])
                        GRID_ROW(&t, (int64_t)s->ms, (int64_t)s->live_bytes,
                                 (int64_t)s->live_blocks, (int64_t)s->allocs,
                                 (int64_t)s->alloc_bytes, (int64_t)s->frees, (int64_t)s->rss_bytes);
        }
        page_table(g, "slices", &t);
}

static void write_marks(struct page *g)
{
        struct grid t;

        grid_start(&t, "ms slice type seq label thread");
        for (uint32_t i = 0; i < g->p->mark_count; i++) {
                const struct profile_mark *m = &g->p->marks[i];

                GRID_ROW(&t, (int64_t)m->ms,
                         m->slice < g->p->slice_count ? (int64_t)g->slice_of[m->slice] : GRID_NONE,
                         lexicon_of(&g->lexicon, profile_mark_word(m->type)), m->seq,
                         lexicon_of(&g->lexicon, m->label), m->thread);
        }
        page_table(g, "marks", &t);
}

static void add_event(struct page *g, struct grid *t, uint64_t ms, const char *type,
                      const char *text)
{
        GRID_ROW(t, (int64_t)ms, lexicon_of(&g->lexicon, type), lexicon_of(&g->lexicon, text));
}

static void add_children(struct page *g, struct grid *t)
{
        const struct page_processes *all = &g->processes;
        char text[64];

        for (uint32_t i = 1; i < all->count; i++)
                if (all->list[i].ppid == g->p->meta.pid &&
                    all->list[i].start_ms >= all->list[0].start_ms) {
                        snprintf(text, sizeof text, "process %" PRIu32, all->list[i].pid);
                        add_event(g, t, all->list[i].start_ms - all->list[0].start_ms, "fork",
                                  text);
                }
}

static int compare_events(const void *a, const void *b)
{
        const int64_t *x = a, *y = b;

        return ORDER(x[0], y[0]);
}

/* What was there from the start is no event. */
static void write_events(struct page *g)
{
        const struct profile *p = g->p;
        struct grid t;

        grid_start(&t, "ms type text");
        for (uint32_t i = 0; i < p->module_count; i++) {
                if (p->modules[i].load_ms)
                        add_event(g, &t, p->modules[i].load_ms, "load",
                                  label_base(p->modules[i].path));
                if (p->modules[i].gone_ms)
                        add_event(g, &t, p->modules[i].gone_ms, "unload",
                                  label_base(p->modules[i].path));
        }
        for (uint32_t i = 1; i < p->thread_count; i++)
                if (p->threads[i].start_ms)
                        add_event(g, &t, p->threads[i].start_ms, "thread", p->threads[i].name);
        add_children(g, &t);
        if (t.count)
                qsort(t.cells, t.count, t.columns * sizeof *t.cells, compare_events);
        page_table(g, "events", &t);
}

void page_write_course(struct page *g)
{
        uint8_t *kept = heap_zero(g->p->slice_count, 1);
        struct page_course c = { .g = g };
        uint32_t count = thin(g, kept);

        grid_start(&c.table, "slice site live_bytes live_blocks allocs alloc_bytes");
        if (count < g->p->slice_count)
                page_cut(g, "The timeline has %u of %u moments.", count, g->p->slice_count);
        write_slices(g, kept);
        if (has_changes(g))
                make_changes(&c, kept);
        else if (g->p->change_count)
                page_cut(g, "The history of single call stacks is not known %s.",
                         g->r->at || g->r->range ? "of one moment" : "by thread");
        page_table(g, "changes", &c.table);
        write_marks(g);
        write_events(g);
        free(kept);
}
