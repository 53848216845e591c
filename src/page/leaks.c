/* SPDX-License-Identifier: MIT */
/*
 * leaks.c -- what is lost and what is still held: rows, suppressions, paths from roots, owners; and
 * invalid frees.
 *
 * Keeps:  judged by report/: here it is only arranged.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/order.h"
#include "base/table.h"
#include "page/page_parts.h"
#include "profile/reserve.h"
#include "query/errors.h"
#include "query/why.h"
#include "report/views.h"
#include "words/label.h"
#include "words/text.h"

enum {
        LEAKS_OWNERS = 1000, /* rows; the others are summed */
        LEAKS_HOLDINGS = 2000, /* rows, the largest */
        LEAKS_RULES = 2000,
        LEAKS_LOST_PATHS = 20 /* paths among lost blocks: each takes a look at the whole graph */
};

/* ---- found out once ---- */

static char *take(struct str *text)
{
        char *copy = heap_text(str_get(text));

        str_clear(text);
        return copy;
}

/* ".next (+0x8)", "a part of it": how the block before, or the variable, leads to this one. */
static char *name_step(const struct why *w, const struct why_step *step)
{
        struct str text = { 0 };
        char *copy;

        if (step->left_out) {
                str_text(&text, "... ");
                text_count(&text, (int64_t)step->left_out, "more step");
                str_text(&text, step->alike ? " of the same kind ... " : " ... ");
        }
        if (step->flags & PROFILE_POINTER_ARENA)
                str_text(&text, "a part of");
        else if (!step->start) {
                str_text(&text, str_get(&step->member));
                if (step->from_block || (step->at && w->root_name.variable.name))
                        str_format(&text, "%s+0x%" PRIx64, step->member.length ? " " : "",
                                   step->at);
                if (step->flags & PROFILE_POINTER_INTERIOR)
                        str_text(&text, " (inside)");
        }
        copy = take(&text);
        str_free(&text);
        return copy;
}

static void name_path(struct page_path *path, const struct why *w)
{
        struct str text = { 0 };

        why_class(w, 0, &text);
        if (text.length && text.data[text.length - 1] == '\n')
                text.data[--text.length] = 0;
        if (w->root_name.root) {
                if (text.length) /* some of the sentences end with a colon */
                        str_text(&text, text.data[text.length - 1] == ':' ? " " : ": ");
                root_name_write(w->p, w->s, &w->root_name, &text);
        }
        path->root = take(&text);
        path->steps = heap_zero(w->step_count, sizeof *path->steps);
        path->types = heap_zero(w->step_count, sizeof *path->types);
        path->blocks = heap_zero(w->step_count, sizeof *path->blocks);
        for (uint32_t i = 0; i < w->step_count; i++) {
                path->steps[i] = name_step(w, &w->steps[i]);
                path->types[i] = w->steps[i].type.length ? heap_text(str_get(&w->steps[i].type))
                                                         : NULL;
                path->blocks[i] = w->steps[i].block;
        }
        path->count = w->step_count;
        str_free(&text);
}

static void find_path(struct page *g, uint32_t row, uint64_t retained_bytes)
{
        struct page_path path = { .row = row, .retained_bytes = retained_bytes };
        struct why w;

        why_path(&w, g->p, g->s, g->owners.graph, g->leaks.rows[row].block);
        name_path(&path, &w);
        why_path_free(&w);
        g->paths = heap_grow(g->paths, g->path_count + 1, sizeof *g->paths);
        g->paths[g->path_count++] = path;
}

/* The steps of all paths are blocks anywhere in the heap. */
static void expect_steps(struct page *g)
{
        uint32_t *numbers = NULL, count = 0;

        for (uint32_t i = 0; i < g->path_count; i++)
                for (uint32_t k = 0; k < g->paths[i].count; k++) {
                        numbers = heap_next(numbers, count, sizeof *numbers);
                        numbers[count++] = g->paths[i].blocks[k];
                }
        dense_expect(graph_dense(g->owners.graph), numbers, count);
        free(numbers);
}

/* Of each class the largest. */
static void find_paths(struct page *g)
{
        uint32_t told[PROFILE_LEAK_COUNT] = { 0 }, count = 0;
        uint32_t *rows = heap_zero(g->leaks.count, sizeof *rows),
                 *blocks = heap_zero(g->leaks.count, sizeof *blocks);

        for (uint32_t i = 0; i < g->leaks.count; i++) {
                uint32_t leak = g->leaks.rows[i].leak,
                         most = leak >= PROFILE_LEAK_INDIRECT ? LEAKS_LOST_PATHS : PAGE_PATHS;

                if (told[leak]++ >= most)
                        continue;
                rows[count] = i;
                blocks[count++] = g->leaks.rows[i].block;
        }
        owners_make(&g->owners, g->p, g->s, &(struct graph_wish){ blocks, count, true, false });
        for (uint32_t i = 0; i < count; i++)
                find_path(g, rows[i], g->owners.retained.asked[i].bytes);
        expect_steps(g);
        free(rows);
        free(blocks);
}

static void find_rules(struct page *g)
{
        const struct leaks_options options = { .show = 1u << PROFILE_LEAK_DEFINITE |
                                                       1u << PROFILE_LEAK_INDIRECT |
                                                       1u << PROFILE_LEAK_POSSIBLE,
                                               .limit = LEAKS_RULES };

        g->lsan = heap_zero(g->leaks.count, sizeof *g->lsan);
        g->valgrind = heap_zero(g->leaks.count, sizeof *g->valgrind);
        leaks_rule_texts(&g->leaks, g->s, &options, SUPPRESS_AS_LSAN, g->lsan);
        leaks_rule_texts(&g->leaks, g->s, &options, SUPPRESS_AS_VALGRIND, g->valgrind);
}

void page_find_leaks(struct page *g)
{
        struct suppressions rules = { 0 };
        struct str trouble = { 0 };
        struct err unused;

        summary_verdicts_make(&g->verdicts, g->p, g->s); /* it has lists of its own for a while */
        leaks_usual_rules(&rules, g->p, false, &trouble);
        leaks_make(&g->leaks, page_whole(g), g->s,
                   &(struct leaks_request){ .suppressions = &rules, .filter = g->r->filter,
                                            .reachable = true });
        g->growth = growth_judge(g->p, NULL);
        g->reserved = reserve_sites(g->p);
        find_rules(g);
        g->graph = why_possible(g->p, "", &unused);
        if (g->graph)
                find_paths(g);
        for (uint32_t i = 0; i < g->leaks.count; i++) /* the rules go away */
                g->leaks.rows[i].rule = NULL;
        suppress_free(&rules);
        str_free(&trouble);
}

static void free_path(struct page_path *path)
{
        for (uint32_t i = 0; i < path->count; i++) {
                free(path->steps[i]);
                free(path->types[i]);
        }
        free(path->root);
        free(path->steps);
        free(path->types);
        free(path->blocks);
}

void page_free_leaks(struct page *g)
{
        for (uint32_t i = 0; i < g->path_count; i++)
                free_path(&g->paths[i]);
        for (uint32_t i = 0; g->lsan && i < g->leaks.count; i++) {
                free(g->lsan[i]);
                free(g->valgrind[i]);
        }
        free(g->paths);
        free(g->lsan);
        free(g->valgrind);
        free(g->growth);
        free(g->reserved);
        if (g->graph)
                owners_free(&g->owners);
        summary_verdicts_free(&g->verdicts);
        leaks_free(&g->leaks);
}

/* ---- rows ---- */

static void write_sum(struct page *g, const char *name, const struct leaks_sum *sum)
{
        str_format(g->out, ",\"%s\":{\"blocks\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", name,
                   sum->blocks, sum->bytes);
}

static void write_search(struct page *g)
{
        const struct leaks *l = &g->leaks;
        struct str why_not = { 0 }, when = { 0 };

        if (l->scan)
                leaks_when(l->scan, &when);
        else
                leaks_not_scanned(g->p, &why_not);
        str_format(g->out, "{\"scanned\":%s,\"why_not\":", l->scan ? "true" : "false");
        json_text(g->out, str_get(&why_not));
        str_text(g->out, ",\"when\":");
        json_text(g->out, str_get(&when));
        json_field(g->out, ",\"", "ms", l->scan ? l->scan->ms : 0);
        for (uint32_t i = PROFILE_LEAK_DEFINITE; i >= PROFILE_LEAK_REACHABLE; i--)
                write_sum(g, profile_leak_word(i), &l->sums[i]);
        write_sum(g, "suppressed", &l->suppressed);
        str_free(&why_not);
        str_free(&when);
}

static int64_t path_of(const struct page *g, uint32_t row, uint32_t *next)
{
        while (*next < g->path_count && g->paths[*next].row < row)
                ++*next;
        return *next < g->path_count && g->paths[*next].row == row ? (int64_t)*next : GRID_NONE;
}

static void add_row(struct page *g, struct grid *t, uint32_t i, int64_t path)
{
        const struct leaks_row *row = &g->leaks.rows[i];

        GRID_ROW(t, page_row(g, row->stack->site), row->leak, (int64_t)row->own.blocks,
                 (int64_t)row->own.bytes, (int64_t)row->hanging.blocks, (int64_t)row->hanging.bytes,
                 (int64_t)row->birth_ms, lexicon_address(&g->lexicon, row->address),
                 lexicon_of(&g->lexicon, leaks_class(g->s, row->vtable)), path,
                 lexicon_of(&g->lexicon, g->lsan[i]), lexicon_of(&g->lexicon, g->valgrind[i]));
}

void page_write_leaks(struct page *g)
{
        uint32_t told[PROFILE_LEAK_COUNT] = { 0 }, next = 0, cut = 0;
        struct grid t;

        grid_start(&t,
                   "site class blocks bytes hanging_blocks hanging_bytes birth_ms address type "
                   "path lsan valgrind");
        for (uint32_t i = 0; i < g->leaks.count; i++)
                if (told[g->leaks.rows[i].leak]++ < g->limits->leaks)
                        add_row(g, &t, i, path_of(g, i, &next));
                else
                        cut++;
        if (cut)
                page_cut(g,
                         "%u of %u rows of leaks and what is still reachable, the smallest of "
                         "their class, are left out.", cut, g->leaks.count);
        page_name(g, "leaks");
        write_search(g);
        page_table(g, "rows", &t);
        str_char(g->out, '}');
}

/* ---- paths ---- */

static void write_step(struct page *g, const struct page_path *path, uint32_t i)
{
        const struct profile_block found = dense_block(graph_dense(g->owners.graph),
                                                       path->blocks[i]),
                                   *block = &found;

        str_text(g->out, i ? ",{\"text\":" : "{\"text\":");
        json_text(g->out, path->steps[i]);
        str_format(g->out,
                   ",\"block\":\"0x%" PRIx64 "\",\"bytes\":%" PRIu64 ",\"type\":", block->address,
                   block->size);
        json_text(g->out, path->types[i]);
        str_format(g->out, ",\"site\":%" PRId64 "}", page_row(g, block->site));
}

void page_write_paths(struct page *g)
{
        page_name(g, "paths");
        str_char(g->out, '[');
        for (uint32_t i = 0; i < g->path_count; i++) {
                str_text(g->out, i ? ",{\"root\":" : "{\"root\":");
                json_text(g->out, g->paths[i].root);
                str_text(g->out, ",\"steps\":[");
                for (uint32_t k = 0; k < g->paths[i].count; k++)
                        write_step(g, &g->paths[i], k);
                str_format(g->out, "],\"retained_bytes\":%" PRIu64 "}", g->paths[i].retained_bytes);
        }
        str_char(g->out, ']');
}

/* ---- owners ---- */

static const char *owner_kind(const struct root_name *h)
{
        static const char *const words[PROFILE_ROOT_COUNT] = {
#define LEAKS_ROOT_WORD(name, number, word) [number] = word,
                PROFILE_ROOTS(LEAKS_ROOT_WORD)
#undef LEAKS_ROOT_WORD
        };

        if (h->root->kind == PROFILE_ROOT_TLS)
                return "thread-local";
        if (h->root->kind == PROFILE_ROOT_DATA && h->variable.name)
                return h->variable.is_static || h->variable.function ? "static" : "global";
        return words[h->root->kind];
}

/* "server.c:12, server" */
static int64_t where_of(struct page *g, const struct root_name *h)
{
        const char *module = h->root->module < g->p->module_count
                                     ? label_base(g->p->modules[h->root->module].path)
                                     : NULL;
        struct str text = { 0 };
        int64_t where = GRID_NONE;

        if (h->variable.file)
                str_format(&text, "%s:%" PRIu32, label_base(h->variable.file), h->variable.line);
        if (module)
                str_format(&text, "%s%s", text.length ? ", " : "", module);
        if (text.length)
                where = lexicon_of(&g->lexicon, text.data);
        str_free(&text);
        return where;
}

static void add_owner(struct page *g, struct grid *t, const struct owner *owner)
{
        const struct root_name *h = &owner->root_name;
        bool variable = h->variable.name && h->root->kind != PROFILE_ROOT_STACK;
        struct str name = { 0 };

        if (!variable)
                root_name_owner(g->p, g->s, h, &name);
        else if (h->variable.function)
                str_format(&name, "%s in %.*s()", h->variable.name,
                           (int)label_length(h->variable.function), h->variable.function);
        else
                str_text(&name, h->variable.name);
        GRID_ROW(t, lexicon_of(&g->lexicon, str_get(&name)), lexicon_of(&g->lexicon, owner_kind(h)),
                 variable ? where_of(g, h) : GRID_NONE, (int64_t)owner->kept.bytes,
                 (int64_t)owner->kept.blocks, (int64_t)owner->own.bytes, (int64_t)owner->own.blocks,
                 (int64_t)owner->pointers);
        str_free(&name);
}

static void add_sum(struct page *g, struct grid *t, const char *kind, const char *name,
                    struct graph_sum sum)
{
        if (sum.blocks)
                GRID_ROW(t, lexicon_of(&g->lexicon, name), lexicon_of(&g->lexicon, kind), GRID_NONE,
                         (int64_t)sum.bytes, (int64_t)sum.blocks, 0, 0, 0);
}

static void write_why_not(struct page *g)
{
        struct err e = { 0 };

        if (!g->graph)
                why_possible(g->p,
                             g->recording->file ? g->recording->file
                                                : "the look at the running process",
                             &e);
        page_name(g, "owners_why_not");
        json_text(g->out, e.text);
}

void page_write_owners(struct page *g)
{
        const struct owners *w = &g->owners;
        struct graph_sum others = { 0 };
        struct grid t;

        write_why_not(g);
        if (!g->graph) {
                page_name(g, "owners");
                str_text(g->out, "null");
                return;
        }
        grid_start(&t,
                   "name kind where retained_bytes retained_blocks own_bytes own_blocks pointers");
        for (uint32_t i = 0; i < w->keeping; i++)
                if (i < LEAKS_OWNERS) {
                        add_owner(g, &t, &w->list[i]);
                } else {
                        others.bytes += w->list[i].kept.bytes;
                        others.blocks += w->list[i].kept.blocks;
                }
        add_sum(g, &t, "others", "smaller owners", others);
        add_sum(g, &t, "shared", "shared by several owners", w->retained.shared);
        add_sum(g, &t, "ignored", "SEEP_IGNORE", w->retained.ignored);
        add_sum(g, &t, "lost", "lost: kept by nothing", w->retained.lost);
        page_table(g, "owners", &t);
}

/* ---- what owners keep, by call stack ---- */

struct holding {
        int64_t owner, site; /* rows of the page */
        struct graph_sum sum;
};

static int compare_holdings(const void *a, const void *b)
{
        const struct holding *x = a, *y = b;
        int order = owners_compare(&x->sum, &y->sum);

        return order ? order : ORDER(x->owner, y->owner) ?: ORDER(x->site, y->site);
}

/* By number of an owner (graph_retained.owner_of): its row of the page; rows are written in this
 * order by page_write_owners(). */
static int64_t *owner_rows(const struct owners *w)
{
        const struct graph_sum sums[GRAPH_BY_COUNT] = { [GRAPH_BY_IGNORE] = w->retained.ignored,
                                                        [GRAPH_BY_SEVERAL] = w->retained.shared,
                                                        [GRAPH_BY_NOBODY] = w->retained.lost };
        static const int order[GRAPH_BY_COUNT] = { GRAPH_BY_SEVERAL, GRAPH_BY_IGNORE,
                                                   GRAPH_BY_NOBODY };
        int64_t *rows = heap_zero((size_t)w->count + GRAPH_BY_COUNT, sizeof *rows);
        int64_t next = w->keeping < LEAKS_OWNERS ? w->keeping : LEAKS_OWNERS;

        for (uint32_t i = 0; i < w->count; i++)
                rows[i] = w->place[i] < next ? (int64_t)w->place[i] : next;
        next += w->keeping > LEAKS_OWNERS;
        for (int i = 0; i < GRAPH_BY_COUNT; i++) {
                rows[w->count + (uint32_t)order[i]] = next;
                next += sums[order[i]].blocks != 0;
        }
        return rows;
}

/* All pairs of owners and call stacks; returns how many. */
static uint32_t find_holdings(struct page *g, struct holding **list)
{
        const struct owners *w = &g->owners;
        int64_t *rows = owner_rows(w);
        struct dense *d = graph_dense(w->graph);
        struct table table = { 0 };
        uint32_t count;

        *list = NULL;
        for (uint32_t b = 0; b < g->p->block_count; b++) {
                int64_t owner = rows[w->retained.owner_of[b]],
                        site = page_row(g, dense_site(d, b));
                uint32_t n;

                count = table.count;
                n = TABLE_NUMBER(&table, table_hash((uint64_t)owner, (uint64_t)site), i,
                                 (*list)[i].owner == owner && (*list)[i].site == site);
                if (n == count) {
                        *list = heap_next(*list, count, sizeof **list);
                        (*list)[n] = (struct holding){ .owner = owner, .site = site };
                }
                (*list)[n].sum.blocks++;
                (*list)[n].sum.bytes += dense_size(d, b);
        }
        count = table.count;
        free(rows);
        table_free(&table);
        return count;
}

void page_write_holdings(struct page *g)
{
        struct holding *list = NULL;
        uint32_t count = g->graph ? find_holdings(g, &list) : 0;
        struct grid t;

        if (count)
                qsort(list, count, sizeof *list, compare_holdings);
        grid_start(&t, "owner site bytes blocks");
        for (uint32_t i = 0; i < count && i < LEAKS_HOLDINGS; i++)
                GRID_ROW(&t, list[i].owner, list[i].site, (int64_t)list[i].sum.bytes,
                         (int64_t)list[i].sum.blocks);
        page_table(g, "holdings", &t);
        free(list);
}

/* ---- invalid frees ---- */

void page_write_errors(struct page *g)
{
        struct str what = { 0 };
        struct grid t;

        grid_start(&t, "type address times first_ms size site release_node first_node thread what");
        for (uint32_t i = 0; i < g->p->error_count; i++) {
                const struct profile_error *error = &g->p->errors[i];

                if (g->leaks.forgiven[i])
                        continue;
                str_clear(&what);
                errors_what(g->p, error, &what);
                GRID_ROW(&t, lexicon_of(&g->lexicon, errors_word(error->type)),
                         lexicon_address(&g->lexicon, error->address), (int64_t)error->count,
                         (int64_t)error->first_ms, (int64_t)error->size,
                         page_row(g, errors_origin(g->p, error)),
                         calls_frame(&g->calls, error->node, 0),
                         error->free_node ? calls_frame(&g->calls, error->free_node, 0) : 0,
                         error->thread, lexicon_of(&g->lexicon, str_get(&what)));
        }
        page_table(g, "errors", &t);
        str_free(&what);
}
