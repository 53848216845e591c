/* SPDX-License-Identifier: MIT */
/*
 * leaks.c -- what is lost, summed by stack and class.
 *
 * Cost:   one pass over the blocks, and one more where some hang on others; names are asked for
 *         only where something is lost.
 */
#include "query/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "base/signals.h"
#include "profile/packed.h"
#include "query/errors.h"
#include "types/variable.h"
#include "words/text.h"

enum { NO_ROW = 0 }; /* places are 1 + index */

/* What is known while rows are made. */
struct sorting {
        struct leaks *l;
        const struct profile *p;
        const struct leaks_request *r;
        struct symbols *names;
        const struct select_row **stacks; /* by site that leads a row; NULL: not chosen */
        uint32_t *lost_site; /* by block: the site of a definitely lost one, UINT32_MAX where it has
                              * none; else 0 */
};

bool leaks_key_named(const char *word, enum leaks_key *key)
{
        static const char *const words[] = {
#define LEAKS_KEY_WORD(id, word) word,
                LEAKS_KEYS(LEAKS_KEY_WORD)
#undef LEAKS_KEY_WORD
        };

        for (int i = 0; i < LEAKS_KEY_COUNT; i++)
                if (strcmp(word, words[i]) == 0) {
                        *key = (enum leaks_key)i;
                        return true;
                }
        return false;
}

/* ---- which blocks count ---- */

/* The blocks of class LEAK from SITE; NULL: none were met. */
static struct leaks_group *find_group(const struct leaks *l, uint32_t site, uint32_t leak)
{
        uint32_t at = l->first_group[site];

        while (at && l->groups[at - 1].leak != leak)
                at = l->groups[at - 1].next;
        return at ? &l->groups[at - 1] : NULL;
}

/* Valid until the next one is made. */
static struct leaks_group *group_at(struct leaks *l, uint32_t site, uint32_t leak)
{
        struct leaks_group *group = find_group(l, site, leak);

        if (group)
                return group;
        if ((l->group_count & (l->group_count + 1)) == 0)
                l->groups = heap_grow(l->groups, 2 * ((size_t)l->group_count + 1),
                                      sizeof *l->groups);
        group = &l->groups[l->group_count++];
        *group = (struct leaks_group){ .leak = leak, .next = l->first_group[site] };
        l->first_group[site] = l->group_count;
        return group;
}

static bool is_lost(uint32_t leak)
{
        return leak > PROFILE_LEAK_REACHABLE;
}

static bool is_asked_for(const struct sorting *o, const struct packed_walk *w)
{
        const struct profile_block *block = w->block;
        const struct profile_verdict *verdict = w->verdict;

        if (block->site >= o->p->site_count || !o->stacks[o->l->sel->leaders[block->site]] ||
            verdict->leak >= PROFILE_LEAK_COUNT)
                return false;
        if (o->l->only_new && is_lost(verdict->leak) && !(verdict->flags & PROFILE_VERDICT_NEW))
                return false;
        return !o->r->filter || block->thread >= o->p->thread_count ||
               filter_thread(o->r->filter, &o->p->threads[block->thread]);
}

/* The rule that covers blocks of LEAK from SITE.  Reachable ones are asked about where a rule of
 * the user may be about them. */
static struct suppress_rule *rule_of(struct sorting *o, uint32_t site, uint32_t leak)
{
        struct leaks_group *group;

        if (!o->r->suppressions || (!is_lost(leak) && !o->r->reachable) ||
            leak == PROFILE_LEAK_UNKNOWN)
                return NULL;
        group = group_at(o->l, site, leak);
        if (!group->judged) {
                group->judged = true;
                group->rule = suppress_leak(o->r->suppressions, o->p, o->names, site, leak);
        }
        return group->rule;
}

/* The block that the one of VERDICT hangs on; block_count: on none that is known. */
static uint64_t head_of(const struct sorting *o, const struct profile_verdict *verdict)
{
        uint64_t none = o->p->block_count;

        if (verdict->leak != PROFILE_LEAK_INDIRECT || !verdict->head || verdict->head > none)
                return none;
        return o->lost_site[verdict->head - 1] ? verdict->head - 1 : none;
}

static struct suppress_rule *rule_of_block(struct sorting *o, const struct packed_walk *w)
{
        const struct profile *p = o->p;
        uint64_t head = head_of(o, w->verdict);
        struct suppress_rule *rule = NULL;

        if (head < p->block_count && o->lost_site[head] < p->site_count)
                rule = rule_of(o, o->lost_site[head], PROFILE_LEAK_DEFINITE);
        return rule ? rule : rule_of(o, w->block->site, w->verdict->leak);
}

/* ---- rows ---- */

#define LEAKS_MIXED UINT64_MAX

static void row_add(struct leaks_row *row, const struct packed_walk *w)
{
        const struct profile_block *block = w->block;
        uint64_t vtable = w->verdict->vtable;

        if (!row->own.blocks || block->birth_ms < row->birth_ms) {
                row->birth_ms = block->birth_ms;
                row->block = (uint32_t)w->index;
                row->site = block->site;
                row->address = block->address;
        }
        if (!row->own.blocks)
                row->vtable = vtable;
        else if (row->vtable != vtable)
                row->vtable = LEAKS_MIXED;
        row->own.blocks++;
        row->own.bytes += block->size;
}

/* The row at *PLACE of ROWS, made for W's block when there is none yet. */
static struct leaks_row *row_at(struct sorting *o, struct leaks_row **rows, uint32_t *count,
                                uint32_t *place, const struct packed_walk *w)
{
        if (*place == NO_ROW) {
                if ((*count & (*count + 1)) == 0)
                        *rows = heap_grow(*rows, 2 * ((size_t)*count + 1), sizeof **rows);
                (*rows)[(*count)++] = (struct leaks_row){
                        .stack = o->stacks[o->l->sel->leaders[w->block->site]],
                        .leak = w->verdict->leak, .variants = 1 };
                *place = *count;
        }
        return &(*rows)[*place - 1];
}

static void hide(struct sorting *o, const struct packed_walk *w, struct suppress_rule *rule)
{
        struct leaks *l = o->l;
        uint32_t leak = w->verdict->leak;
        struct leaks_row *row = row_at(o, &l->hidden, &l->hidden_count,
                                       &group_at(l, w->block->site, leak)->hidden, w);

        row_add(row, w);
        row->rule = row->rule ? row->rule : rule;
        rule->blocks++;
        rule->bytes += w->block->size;
        l->silent[w->index] = 1;
        if (is_lost(leak)) {
                l->suppressed.blocks++;
                l->suppressed.bytes += w->block->size;
        }
}

static void count_block(struct sorting *o, const struct packed_walk *w)
{
        struct leaks *l = o->l;
        const struct profile_block *block = w->block;
        uint32_t leak = w->verdict->leak;
        struct leaks_group *group = group_at(l, l->sel->leaders[block->site], leak);

        l->sums[leak].blocks++;
        l->sums[leak].bytes += block->size;
        if (is_lost(leak) && profile_is_older(o->p, block->site)) {
                l->older.blocks++;
                l->older.bytes += block->size;
        }
        group->sum.blocks++;
        group->sum.bytes += block->size;
        if (leak == PROFILE_LEAK_REACHABLE && (w->verdict->flags & PROFILE_VERDICT_IDIOM)) {
                l->idiom.blocks++;
                l->idiom.bytes += block->size;
        }
        if (!o->r->sums_only && !l->silent[w->index] &&
            (is_lost(leak) || (leak == PROFILE_LEAK_REACHABLE && o->r->reachable)))
                row_add(row_at(o, &l->rows, &l->count, &group->row, w), w);
}

static void count_if_asked(struct sorting *o, const struct packed_walk *w)
{
        struct suppress_rule *rule;

        if (!is_asked_for(o, w)) {
                o->l->silent[w->index] = 1;
                return;
        }
        rule = rule_of_block(o, w);
        if (rule)
                hide(o, w, rule);
        if (!rule || !is_lost(w->verdict->leak))
                count_block(o, w);
}

/* All but those that hang on others.  Returns whether there are such. */
static bool count_blocks(struct sorting *o)
{
        struct packed_walk w;
        bool hanging = false;

        packed_open(&w, o->p);
        while (packed_next(&w)) {
                if (w.verdict->leak == PROFILE_LEAK_INDIRECT) {
                        hanging = true;
                        continue;
                }
                if (w.verdict->leak == PROFILE_LEAK_DEFINITE)
                        o->lost_site[w.index] = w.block->site ? w.block->site : UINT32_MAX;
                count_if_asked(o, &w);
        }
        packed_close(&w);
        return hanging;
}

/* To the row of the block that W's hangs on, if that is reported. */
static void add_hanging(struct sorting *o, const struct packed_walk *w)
{
        uint64_t head = head_of(o, w->verdict);
        struct leaks_row *row;

        if (o->l->silent[w->index] || head == o->p->block_count || o->l->silent[head])
                return;
        row = &o->l->rows[find_group(o->l, o->l->sel->leaders[o->lost_site[head]],
                                     PROFILE_LEAK_DEFINITE)
                                  ->row -
                          1];
        row->hanging.blocks++;
        row->hanging.bytes += w->block->size;
}

/* Those that hang on others, all of which are known by now. */
static void count_hanging(struct sorting *o)
{
        struct packed_walk w;

        packed_open(&w, o->p);
        while (packed_next(&w))
                if (w.verdict->leak == PROFILE_LEAK_INDIRECT) {
                        count_if_asked(o, &w);
                        if (!o->r->sums_only)
                                add_hanging(o, &w);
                }
        packed_close(&w);
}

/* ---- order ---- */

static uint64_t key_of(const struct leaks_row *row, enum leaks_key key)
{
        switch (key) {
        case LEAKS_BY_LEAKED_BLOCKS:
                return row->own.blocks + row->hanging.blocks;
        case LEAKS_BY_AVERAGE:
                return row->own.bytes / row->own.blocks;
        case LEAKS_BY_AGE:
                return UINT64_MAX - row->birth_ms;
        case LEAKS_BY_LIVE_BYTES:
                return row->stack->live_bytes;
        case LEAKS_BY_LIVE_BLOCKS:
                return row->stack->live_blocks;
        case LEAKS_BY_ALLOC_BYTES:
                return row->stack->alloc_bytes;
        case LEAKS_BY_ALLOCS:
                return row->stack->allocs;
        default:
                return row->own.bytes + row->hanging.bytes;
        }
}

/* What orders a row, small enough to be moved about. */
struct rank {
        uint64_t key, bytes;
        uint32_t leak, site;
        uint32_t row;
};

static int compare_ranks(const void *a, const void *b)
{
        const struct rank *x = a, *y = b;

        return ORDER(y->leak, x->leak) ?: ORDER(y->key, x->key) ?: ORDER(y->bytes, x->bytes) ?:
               ORDER(x->site, y->site);
}

struct leaks_row *leaks_order(struct leaks_row *rows, uint32_t count, enum leaks_key key)
{
        struct rank *ranks = heap_zero(count, sizeof *ranks);
        struct leaks_row *ordered = heap_grow(NULL, count, sizeof *ordered);

        for (uint32_t i = 0; i < count; i++)
                ranks[i] = (struct rank){ key_of(&rows[i], key),
                                          key_of(&rows[i], LEAKS_BY_LEAKED_BYTES), rows[i].leak,
                                          rows[i].stack->site, i };
        qsort(ranks, count, sizeof *ranks, compare_ranks);
        for (uint32_t i = 0; i < count; i++)
                ordered[i] = rows[ranks[i].row];
        free(ranks);
        free(rows);
        return ordered;
}

/* What is lost and grows no more has only stopped: nothing bounds it. */
struct growth leaks_growth(const struct growth *g)
{
        return g->class == GROWTH_BOUNDED ? (struct growth){ .class = GROWTH_UNKNOWN } : *g;
}

static struct leaks_row *finish_rows(struct leaks_row *rows, uint32_t count, enum leaks_key key,
                                     const struct growth *growth)
{
        for (uint32_t i = 0; i < count; i++) {
                rows[i].growth = leaks_growth(&growth[rows[i].stack->site]);
                if (rows[i].vtable == LEAKS_MIXED)
                        rows[i].vtable = 0;
        }
        return count ? leaks_order(rows, count, key) : rows;
}

/* ---- invalid frees ---- */

static bool error_asked_for(const struct sorting *o, const struct profile_error *error)
{
        struct filter *f = o->r->filter;
        bool shown = !f || filter_stack(f, o->p, o->names, error->node);
        uint32_t origin = shown ? 0 : errors_origin(o->p, error);

        if (origin)
                shown = filter_stack(f, o->p, o->names, o->p->sites[origin].node);
        return shown && (!f || error->thread >= o->p->thread_count ||
                         filter_thread(f, &o->p->threads[error->thread]));
}

static void judge_errors(struct sorting *o)
{
        struct leaks *l = o->l;

        l->forgiven = heap_zero(o->p->error_count, 1);
        for (uint32_t i = 0; i < o->p->error_count; i++) {
                const struct profile_error *error = &o->p->errors[i];

                l->forgiven[i] = !error_asked_for(o, error) ||
                                 (o->r->suppressions &&
                                  suppress_release(o->r->suppressions, o->p, o->names, error));
                l->errors += l->forgiven[i] ? 0 : error->count;
        }
}

/* ---- all of it ---- */

static void sort_blocks(struct sorting *o)
{
        const struct selection *sel = o->l->sel;
        struct growth *growth = o->r->sums_only ? heap_zero(o->p->site_count, sizeof *growth)
                                                : growth_judge(o->p, sel->leaders);

        o->stacks = heap_zero(o->p->site_count, sizeof *o->stacks);
        for (uint32_t i = 0; i < sel->heap.count; i++)
                o->stacks[sel->heap.rows[i].site] = &sel->heap.rows[i];
        for (uint32_t i = 0; i < sel->older.count; i++)
                o->stacks[sel->older.rows[i].site] = &sel->older.rows[i];
        o->l->first_group = heap_zero(o->p->site_count, sizeof *o->l->first_group);
        o->l->silent = heap_zero(o->p->block_count, 1);
        o->lost_site = heap_zero(o->p->block_count, sizeof *o->lost_site);
        if (count_blocks(o))
                count_hanging(o);
        o->l->rows = finish_rows(o->l->rows, o->l->count, o->r->key, growth);
        o->l->hidden = finish_rows(o->l->hidden, o->l->hidden_count, o->r->key, growth);
        free(o->stacks);
        free(o->lost_site);
        free(growth);
}

void leaks_make(struct leaks *l, const struct selection *sel, struct symbols *s,
                const struct leaks_request *r)
{
        struct sorting o = { .l = l, .p = sel->profile, .r = r, .names = s };

        *l = (struct leaks){ .sel = sel, .scan = profile_scanned(sel->profile), .key = r->key };
        l->only_new = r->only_new && l->scan && l->scan->flags & PROFILE_SCAN_INCREMENT;
        if (l->scan)
                sort_blocks(&o);
        judge_errors(&o);
}

void leaks_free(struct leaks *l)
{
        free(l->rows);
        free(l->hidden);
        free(l->first_group);
        free(l->groups);
        free(l->silent);
        free(l->forgiven);
        *l = (struct leaks){ 0 };
}

uint64_t leaks_age(const struct profile *p, uint64_t birth_ms)
{
        uint64_t end = p->scan_count ? p->scans[0].ms : p->meta.duration_ms;

        return end > birth_ms ? end - birth_ms : 0;
}

const char *leaks_class(struct symbols *s, uint64_t vtable)
{
        return vtable ? variable_class(s, vtable, NULL) : NULL;
}

void leaks_usual_rules(struct suppressions *s, const struct profile *p, bool not_built_in,
                       struct str *trouble)
{
        struct err e = { 0 };

        if (p->scan_count &&
            !suppress_read_text(s, SUPPRESS_PROGRAM, "__lsan_default_suppressions()",
                                p->scans[0].suppressions, &e))
                str_text(trouble, e.text);
        if (!not_built_in)
                suppress_add_built_in(s);
}

static void make_usual(struct leaks *l, const struct selection *sel, struct symbols *s,
                       bool sums_only)
{
        struct suppressions rules = { 0 };
        struct str trouble = { 0 };

        leaks_usual_rules(&rules, sel->profile, false, &trouble);
        leaks_make(l, sel, s,
                   &(struct leaks_request){ .suppressions = &rules, .sums_only = sums_only });
        for (uint32_t i = 0; i < l->hidden_count; i++)
                l->hidden[i].rule = NULL; /* they go away here */
        suppress_free(&rules);
        str_free(&trouble);
}

void leaks_make_usual(struct leaks *l, const struct selection *sel, struct symbols *s)
{
        make_usual(l, sel, s, false);
}

void leaks_make_sums(struct leaks *l, const struct selection *sel, struct symbols *s)
{
        make_usual(l, sel, s, true);
}

bool leaks_found(const struct leaks *l)
{
        return l->sums[PROFILE_LEAK_DEFINITE].blocks || l->errors;
}

bool leaks_of_site(const struct leaks *l, uint32_t site, struct leaks_sum sums[PROFILE_LEAK_COUNT])
{
        memset(sums, 0, PROFILE_LEAK_COUNT * sizeof *sums);
        for (uint32_t at = l->first_group ? l->first_group[site] : 0; at;
             at = l->groups[at - 1].next)
                sums[l->groups[at - 1].leak] = l->groups[at - 1].sum;
        return l->first_group;
}

void leaks_not_scanned(const struct profile *p, struct str *out)
{
        char signal[SIGNALS_NAME_BYTES];

        if (p->scan_count && *p->scans[0].trouble) {
                text_name(out, p->scans[0].trouble);
        } else if (p->truncated) {
                str_text(out, "the part of the file about leaks is missing");
        } else if (p->totals.sample_bytes) {
                str_text(out,
                         "it was recorded with --sample, and pointers in and to unrecorded blocks "
                         "would be missed");
        } else if (p->meta.engine && strcmp(p->meta.engine, "journal") == 0) {
                str_text(out,
                         "it was made from a journal, which does not have the memory of the "
                         "program");
        } else if (profile_without_search(p)) {
                str_text(out, "it was recorded with --no-leak-scan, or by an old version of seep");
        } else if (p->meta.end == PROFILE_END_SIGNAL) {
                signals_name(p->meta.exit_signal, signal);
                str_format(out, "%s ended the program, and its memory was gone immediately",
                           signal);
        } else if (p->meta.end == PROFILE_END_UNKNOWN) {
                str_format(out,
                           "the program was still running; 'seep leaks %u' searches it while it is "
                           "recorded", p->meta.pid);
        } else if (p->meta.end == PROFILE_END_GONE) {
                str_text(out, "the program ended in a way that left no time for it");
        } else {
                str_text(out, "the program ended in a way that seep cannot see");
        }
}

void leaks_when(const struct profile_scan *scan, struct str *out)
{
        static const char *const words[] = {
                [PROFILE_SCAN_EXIT] = "at exit",
                [PROFILE_SCAN_EXEC] = "before it became another program",
                [PROFILE_SCAN_ASKED] = "on request", [PROFILE_SCAN_API] = "by SEEP_LEAK_CHECK()",
                [PROFILE_SCAN_SIGNAL] = "before a signal ended it",
                [PROFILE_SCAN_CORE] = "in its core file" };

        str_text(out, scan->when < sizeof words / sizeof *words ? words[scan->when]
                                                                : "at an unknown moment");
        if (scan->when == PROFILE_SCAN_CORE)
                return;
        str_text(out, scan->when == PROFILE_SCAN_EXIT || scan->when == PROFILE_SCAN_SIGNAL
                              ? ", after "
                              : ", at ");
        text_time(out, scan->ms);
}
