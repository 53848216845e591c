/* SPDX-License-Identifier: MIT */
/*
 * massif.c -- massif.out of Valgrind's Massif: ms_print and massif-visualizer read it.
 *
 * Keeps:  as Massif: some hundred snapshots, each tenth and those of marks with its tree, exactly
 *         one peak, trees of at most 30 levels, what is below 1 % of a snapshot summed up.  '#'
 *         begins a comment anywhere in a line, so no name has one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "export/course.h"
#include "export/valgrind.h"

enum {
        MASSIF_SNAPSHOTS = 100, /* at most, besides marks, the peak and the end */
        MASSIF_DETAILED = 10,   /* one in so many has a tree, and those of marks */
        MASSIF_DEPTH = 30,
        MASSIF_THRESHOLD = 100  /* a hundredth */
};

/* What a slice becomes. */
enum massif_snapshot { MASSIF_NONE, MASSIF_ANY, MASSIF_TREE, MASSIF_PEAK };

/* A stack while a tree is written: where its way from the allocation outwards has come. */
struct bearer {
        uint32_t node; /* 0: its outer end */
        uint64_t bytes;
};

/* Bearers with one frame. */
struct branch {
        struct bearer *first;
        uint32_t count;
        uint64_t bytes;
};

struct massif {
        const struct stack_costs *stacks;
        struct course_span span;
        struct str *out;
        uint32_t written; /* snapshots */
        uint64_t total;   /* of the snapshot being written */
};

/* ---- a tree ---- */

static uint32_t frame_at(const struct stack_costs *s, const struct bearer *b)
{
        return b->node ? s->nodes[b->node].frame + 1 : 0;
}

static int compare_branches(const void *a, const void *b)
{
        const struct branch *x = a, *y = b;

        return x->bytes > y->bytes   ? -1
               : x->bytes < y->bytes ? 1
               : x->first < y->first ? -1
                                     : x->first > y->first;
}

/* Those with one frame side by side. */
static void order_frames(const struct stack_costs *s, struct bearer *bearers, uint32_t count)
{
        struct bearer *before = heap_grow(NULL, count, sizeof *before);
        uint64_t *frames = heap_grow(NULL, count, sizeof *frames);
        uint32_t *order = arrange_start(count);

        memcpy(before, bearers, count * sizeof *before);
        for (uint32_t i = 0; i < count; i++)
                frames[i] = frame_at(s, &before[i]);
        arrange_by(order, count, frames);
        for (uint32_t i = 0; i < count; i++)
                bearers[i] = before[order[i]];
        free(before);
        free(frames);
        free(order);
}

/* Those that have come to an end are in no branch.  To be freed. */
static struct branch *make_branches(const struct massif *m, struct bearer *bearers, uint32_t count,
                                    uint32_t *branch_count)
{
        struct branch *branches = NULL;
        uint32_t made = 0;

        order_frames(m->stacks, bearers, count);
        for (uint32_t i = 0; i < count; i++) {
                if (!bearers[i].node)
                        continue;
                if (!made || frame_at(m->stacks, branches[made - 1].first) !=
                                     frame_at(m->stacks, &bearers[i])) {
                        branches = heap_next(branches, made, sizeof *branches);
                        branches[made++] = (struct branch){ .first = &bearers[i] };
                }
                branches[made - 1].count++;
                branches[made - 1].bytes += bearers[i].bytes;
        }
        if (made)
                qsort(branches, made, sizeof *branches, compare_branches);
        *branch_count = made;
        return branches;
}

static bool is_small(const struct massif *m, const struct branch *b)
{
        return b->bytes < m->total / MASSIF_THRESHOLD;
}

static void indent(struct massif *m, uint32_t depth)
{
        while (depth--)
                str_char(m->out, ' ');
}

static void put_children(struct massif *m, struct branch *branches, uint32_t count, uint32_t depth);

/* Its callers, and what comes after "nN: BYTES". */
static void put_branch(struct massif *m, struct branch *b, uint32_t depth)
{
        uint32_t frame = m->stacks->nodes[b->first->node].frame, count = 0, shown = 0;
        struct branch *callers = NULL;

        for (uint32_t i = 0; i < b->count; i++)
                b->first[i].node = m->stacks->nodes[b->first[i].node].parent;
        if (depth < MASSIF_DEPTH)
                callers = make_branches(m, b->first, b->count, &count);
        while (shown < count && !is_small(m, &callers[shown]))
                shown++;
        indent(m, depth);
        str_format(m->out, "n%u: %" PRIu64 " ", shown + (shown < count), b->bytes);
        valgrind_frame(m->stacks, frame, "#", m->out);
        str_char(m->out, '\n');
        put_children(m, callers, count, depth + 1);
        free(callers);
}

/* The largest come first, so that the small ones are at the end. */
static void put_children(struct massif *m, struct branch *branches, uint32_t count, uint32_t depth)
{
        uint64_t rest = 0;
        uint32_t i;

        for (i = 0; i < count && !is_small(m, &branches[i]); i++)
                put_branch(m, &branches[i], depth);
        if (i == count)
                return;
        for (uint32_t k = i; k < count; k++)
                rest += branches[k].bytes;
        indent(m, depth);
        str_format(m->out, "n0: %" PRIu64 " in %u place%s, %sbelow massif's threshold (1.00%%)\n",
                   rest, count - i, count - i == 1 ? "" : "s", count - i == 1 ? "" : "all ");
}

static void put_tree(struct massif *m, const uint64_t *bytes)
{
        struct bearer *bearers = heap_zero(m->stacks->sample_count, sizeof *bearers);
        uint32_t count = 0, branch_count, shown = 0;
        struct branch *branches;

        for (uint32_t i = 0; i < m->stacks->sample_count; i++)
                if ((int64_t)bytes[i] > 0)
                        bearers[count++] = (struct bearer){ m->stacks->samples[i].node, bytes[i] };
        branches = make_branches(m, bearers, count, &branch_count);
        while (shown < branch_count && !is_small(m, &branches[shown]))
                shown++;
        str_format(m->out,
                   "n%u: %" PRIu64 " (heap allocation functions) malloc/new/new[], --alloc-fns, "
                   "etc.\n", shown + (shown < branch_count), m->total);
        put_children(m, branches, branch_count, 1);
        free(branches);
        free(bearers);
}

/* ---- snapshots ---- */

/* BYTES are by sample of the stacks. */
static void put_snapshot(struct massif *m, uint64_t ms, const uint64_t *bytes, const char *tree)
{
        m->total = 0;
        for (uint32_t i = 0; i < m->stacks->sample_count; i++)
                m->total += (int64_t)bytes[i] > 0 ? bytes[i] : 0;
        str_format(m->out,
                   "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
                   "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n", m->written++, ms,
                   m->total, tree);
        if (*tree != 'e')
                put_tree(m, bytes);
}

static uint64_t *cost_by_sample(const struct stack_costs *s, enum cost_kind cost)
{
        uint64_t *bytes = heap_zero(s->sample_count, sizeof *bytes);

        for (uint32_t i = 0; i < s->sample_count; i++)
                bytes[i] = s->samples[i].costs.of[cost];
        return bytes;
}

static void put_peak(struct massif *m)
{
        uint64_t *bytes = cost_by_sample(m->stacks, COST_PEAK_BYTES);

        put_snapshot(m, profile_peak_ms(m->stacks->profile), bytes, "peak");
        free(bytes);
}

/* Where milliseconds do not tell whether the peak is in the part that was asked for. */
static bool ends_largest(const struct profile *p, const struct course_span *span)
{
        return span->to_end && !span->has_peak &&
               (!span->last || p->totals.live_bytes > p->slices[span_largest(span, p)].live_bytes);
}

/* Of slices that tell of sites: those of marks, and where the part that was asked for begins and
 * ends; of the others at most a hundred. */
static uint8_t *choose_slices(const struct profile *p, const struct course_span *span)
{
        uint8_t *chosen = heap_zero(p->slice_count, sizeof *chosen);
        uint32_t count = 0, nth = 0, step;

        for (uint32_t i = span->first; i < span->last; i++)
                count += !(p->slices[i].flags & PROFILE_SLICE_TOTALS);
        step = count / MASSIF_SNAPSHOTS + 1;
        for (uint32_t i = span->first; i < span->last; i++)
                if (!(p->slices[i].flags & PROFILE_SLICE_TOTALS) && nth++ % step == 0)
                        chosen[i] = MASSIF_ANY;
        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].slice >= span->first && p->marks[i].slice < span->last)
                        chosen[p->marks[i].slice] = MASSIF_TREE;
        if (span->first)
                chosen[profile_detail(p, span->first - 1)] = MASSIF_TREE;
        if (span->last && !span->to_end && !span->to_peak)
                chosen[profile_detail(p, span->last - 1)] = MASSIF_TREE;
        if (span->last && !span->has_peak && !ends_largest(p, span))
                chosen[span_largest(span, p)] = MASSIF_PEAK;
        return chosen;
}

static const char *tree_of(const struct massif *m, enum massif_snapshot chosen)
{
        if (chosen == MASSIF_PEAK)
                return "peak";
        return chosen == MASSIF_TREE || m->written % MASSIF_DETAILED == 0 ? "detailed" : "empty";
}

static void put_slices(struct massif *m)
{
        const struct profile *p = m->stacks->profile;
        uint32_t *numbers = course_samples(m->stacks);
        uint64_t *bytes = heap_zero(m->stacks->sample_count, sizeof *bytes);
        uint8_t *chosen = choose_slices(p, &m->span);
        struct course course;

        course_start(&course, p, numbers, m->stacks->sample_count);
        if (!m->span.first)
                put_snapshot(m, 0, bytes,
                             !m->span.has_peak && !m->span.last && !m->span.to_end ? "peak"
                                                                                   : "empty");
        for (uint32_t i = 0; i < m->span.last; i++) {
                if (i == m->span.peak && m->span.has_peak)
                        put_peak(m);
                course_step(&course, i);
                for (uint32_t k = 0; k < course.changed_count; k++)
                        bytes[course.changed[k]] = course.sums[course.changed[k]].live_bytes;
                if (chosen[i])
                        put_snapshot(m, p->slices[i].ms, bytes, tree_of(m, chosen[i]));
        }
        if (m->span.peak == m->span.last && m->span.has_peak)
                put_peak(m);
        course_free(&course);
        free(chosen);
        free(bytes);
        free(numbers);
}

static void put_end(struct massif *m)
{
        uint64_t *bytes = cost_by_sample(m->stacks, COST_LIVE_BYTES);

        put_snapshot(m, m->span.to_ms, bytes,
                     ends_largest(m->stacks->profile, &m->span) ? "peak" : "detailed");
        free(bytes);
}

bool export_massif(const struct export_input *in, struct str *out, struct err *e)
{
        struct stack_costs s;
        struct massif m = { .stacks = &s, .out = out };

        if (in->sel->moment != SELECT_OF_RUN)
                return err_set(e, ERR_EXIT_USAGE,
                               "--to massif: what single threads held over time is not known, so "
                               "--thread cannot be followed");
        if (!span_make(&m.span, in, e))
                return false;
        stack_costs_make(&s, in, CALLTREE_BY_LINE);
        str_text(out, "desc: seep " SEEP_VERSION "\ncmd: ");
        valgrind_command(in->profile, "#", out);
        str_text(out, "\ntime_unit: ms\n");
        put_slices(&m);
        if (m.span.to_end)
                put_end(&m);
        stack_costs_free(&s);
        return true;
}
