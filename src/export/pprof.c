/* SPDX-License-Identifier: MIT */
/*
 * pprof.c -- all costs of all stacks as pprof's profile.proto: one protobuf
 * message, packed by gzip.
 *
 * Keeps:  string 0 is "".  Ids are indices + 1.  Stacks are innermost first, and so are
 *         functions inlined at an address.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arrange.h"
#include "base/gzip.h"
#include "base/heap.h"
#include "base/order.h"
#include "export/cost.h"
#include "export/export.h"
#include "export/stack_costs.h"
#include "export/strings.h"
#include "profile/packed.h"
#include "query/select.h"
#include "words/label.h"

/* ---- the costs of each stack by the thread that made them, as far as a recording tells ----
 *
 * Keeps:  the portions of a row add up to the row.
 */

struct portion {
        uint32_t row;    /* of the heap of the selection */
        uint32_t thread; /* of the profile; 0: nobody knows */
        struct costs costs;
};

struct portions {
        struct portion *at; /* sorted by row, then thread */
        uint32_t count;
};

enum { NOBODY = 0 }; /* threads[0] of a profile */

struct pprof;

struct portioning {
        const struct profile *profile;
        const struct cost_source *source;
        const struct select_part *heap;
        uint32_t *rows; /* by site: 1 + row; 0 not selected */
        uint8_t *doubtful; /* by row: blocks of a thread of which no share tells; those of short
                            * threads may be under another's name */
        struct portions found;
        uint32_t *first; /* by row: where its portions begin in what was found */
        void (*take)(struct pprof *to, const struct portion *portion);
        struct pprof *to;
};

static int compare(const void *a, const void *b)
{
        const struct portion *x = a, *y = b;

        return ORDER(x->row, y->row) ?: ORDER(x->thread, y->thread);
}

static void find_rows(struct portioning *g)
{
        const struct selection *sel = g->source->sel;

        g->rows = heap_zero(g->profile->site_count, sizeof *g->rows);
        for (uint32_t i = 0; i < g->heap->count; i++)
                g->rows[g->heap->rows[i].site] = i + 1;
        for (uint32_t i = 0; i < g->profile->site_count; i++)
                g->rows[i] = g->rows[sel->leaders[i]];
}

#define NO_KEY UINT64_MAX

/* What puts shares into the order of rows, then threads. */
static uint64_t *make_keys(const struct portioning *g)
{
        const struct profile *p = g->profile;
        uint64_t *keys = heap_grow(NULL, p->share_count, sizeof *keys);

        for (uint32_t i = 0; i < p->share_count; i++) {
                const struct profile_share *s = &p->shares[i];
                bool chosen = s->site < p->site_count && s->thread < p->thread_count &&
                              g->rows[s->site];

                keys[i] = chosen ? (uint64_t)(g->rows[s->site] - 1) << 32 | s->thread : NO_KEY;
        }
        return keys;
}

/* What threads did at sites, those of one thread and row summed. */
static void take_shares(struct portioning *g)
{
        const struct profile *p = g->profile;
        uint64_t *keys = make_keys(g), last = NO_KEY;
        uint32_t *order = arrange_start(p->share_count), count = 0;
        struct portion *at;

        arrange_by(order, p->share_count, keys);
        at = heap_grow(NULL, p->share_count, sizeof *at);
        for (uint32_t i = 0; i < p->share_count && keys[order[i]] != NO_KEY; i++) {
                const struct profile_share *s = &p->shares[order[i]];

                if (keys[order[i]] != last) {
                        last = keys[order[i]];
                        at[count++] = (struct portion){ .row = (uint32_t)(last >> 32),
                                                        .thread = s->thread };
                        g->first[(last >> 32) + 1] = count;
                }
                at[count - 1].costs.of[COST_ALLOC_COUNT] += s->allocs;
                at[count - 1].costs.of[COST_ALLOC_BYTES] += s->alloc_bytes;
                at[count - 1].costs.of[COST_TEMP_COUNT] += s->temporary;
        }
        for (uint32_t i = 0; i < g->heap->count; i++) /* rows without a share */
                if (g->first[i + 1] < g->first[i])
                        g->first[i + 1] = g->first[i];
        g->found = (struct portions){ at, count };
        free(order);
        free(keys);
}

static bool is_lost(const struct cost_source *source, const struct packed_walk *w)
{
        uint32_t leak = w->verdict ? w->verdict->leak : PROFILE_LEAK_UNKNOWN;

        return source->leaks.silent && !source->leaks.silent[w->index] &&
               (leak == PROFILE_LEAK_DEFINITE || leak == PROFILE_LEAK_INDIRECT);
}

/* What is live, and what is lost, by who allocated it. */
static void take_blocks(struct portioning *g)
{
        const struct profile *p = g->profile;
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *block = w.block;
                uint32_t row = block->site < p->site_count ? g->rows[block->site] : 0;
                struct portion key = { .row = row - 1, .thread = block->thread }, *found;
                uint64_t lost = row && is_lost(g->source, &w),
                         times = profile_block_times(p, block);

                found = row ? bsearch(&key, g->found.at + g->first[row - 1],
                                      g->first[row] - g->first[row - 1], sizeof key, compare)
                            : NULL;
                if (row && !found)
                        g->doubtful[row - 1] = 1;
                if (!found)
                        continue;
                found->costs.of[COST_LIVE_COUNT] += times;
                found->costs.of[COST_LIVE_BYTES] += times * block->size;
                found->costs.of[COST_LEAKED_COUNT] += lost;
                found->costs.of[COST_LEAKED_BYTES] += lost * block->size;
        }
        packed_close(&w);
}

static void add(const struct portioning *g, const struct portion *portion)
{
        if (cost_any(&portion->costs))
                g->take(g->to, portion);
}

/* The parts of each thread, and the rest. */
static void add_parts(const struct portioning *g, const struct costs *all,
                      const struct portion *parts, uint32_t count)
{
        struct portion rest = { parts->row, NOBODY, *all };

        for (uint32_t i = 0; i < count; i++) {
                for (int k = 0; k < COST_COUNT; k++)
                        rest.costs.of[k] -= parts[i].costs.of[k];
                add(g, &parts[i]);
        }
        add(g, &rest);
}

/* Whether the numbers of the row are those that the shares are of. */
static bool is_divisible(const struct portioning *g, const struct costs *all,
                         const struct portion *parts, uint32_t count)
{
        uint64_t allocs = 0, bytes = 0;

        for (uint32_t i = 0; i < count; i++) {
                allocs += parts[i].costs.of[COST_ALLOC_COUNT];
                bytes += parts[i].costs.of[COST_ALLOC_BYTES];
        }
        return g->source->sel->moment == SELECT_OF_RUN && allocs == all->of[COST_ALLOC_COUNT] &&
               bytes == all->of[COST_ALLOC_BYTES];
}

/* A row is one portion, of its only thread or of nobody, unless it can be divided. */
static void divide(const struct portioning *g)
{
        for (uint32_t row = 0; row < g->heap->count; row++) {
                struct costs all = cost_of_row(g->source, &g->heap->rows[row]);
                const struct portion *parts = g->found.at + g->first[row];
                uint32_t count = g->first[row + 1] - g->first[row];
                bool sure = count && !g->doubtful[row];

                if (sure && count > 1 && is_divisible(g, &all, parts, count))
                        add_parts(g, &all, parts, count);
                else
                        add(g,
                            &(struct portion){ row, sure && count == 1 ? parts->thread : NOBODY,
                                               all });
        }
}

/* Peaks are not known by thread: where several allocated at one stack they are in a portion of
 * nobody. */
static void portions_make(struct portioning *g)
{
        find_rows(g);
        g->doubtful = heap_zero(g->heap->count, 1);
        g->first = heap_zero((size_t)g->heap->count + 1, sizeof *g->first);
        take_shares(g);
        take_blocks(g);
        divide(g);
        free(g->found.at);
        free(g->first);
        free(g->rows);
        free(g->doubtful);
}

/* ---- all costs of all stacks as pprof's profile.proto: one protobuf message, packed by gzip
 * ---- */

enum { PPROF_LEVEL = 3 }; /* of gzip: 2 % larger than the usual 6, in a third of the time */

/* Numbers of the fields, by message. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION,
       PROFILE_STRING, PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_PERIOD_TYPE,
       PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER, LABEL_UNIT };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID,
       MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINES };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct pprof {
        const struct export_input *in;
        struct stack_costs stacks; /* by place: frame i, with what it is inlined into, is location
                                    * i + 1 */
        struct strings texts;
        struct function_table functions; /* the number is the id */
        uint32_t *mappings;              /* by module: the id; 0 not met */
        uint32_t mapping_count;
        struct str message, part, inner, text; /* the whole, and what is being made for it */
        struct label {
                const char *text; /* that nobody changes */
                uint32_t number;
        } labels[16]; /* those of the samples, which have few different ones */
};

/* ---- the wire ---- */

static void put_number(struct str *out, unsigned field, uint64_t value)
{
        if (!value)
                return; /* what is left out is zero */
        str_end(out,
                str_varint_at(str_varint_at(str_room(out, 2 * STR_VARINT_MAX), field << 3), value));
}

static void put_bytes(struct str *out, unsigned field, const char *bytes, size_t count)
{
        str_end(out, str_varint_at(str_varint_at(str_room(out, 2 * STR_VARINT_MAX), field << 3 | 2),
                                   count));
        str_bytes(out, bytes, count);
}

/* A message that is done goes into the one around it. */
static void put_message(struct str *out, unsigned field, struct str *message)
{
        put_bytes(out, field, str_get(message), message->length);
        str_clear(message);
}

/* ---- texts ---- */

static uint32_t text_of(struct pprof *w, const char *text)
{
        str_clear(&w->text);
        stack_costs_plain_text(text ? text : "", "", 0, &w->text);
        return strings_number(&w->texts, str_get(&w->text));
}

static void put_type(struct pprof *w, unsigned field, const char *type, const char *unit)
{
        put_number(&w->part, TYPE_TYPE, text_of(w, type));
        put_number(&w->part, TYPE_UNIT, text_of(w, unit));
        put_message(&w->message, field, &w->part);
}

static void put_comment(struct pprof *w, const char *text)
{
        put_number(&w->message, PROFILE_COMMENT, text_of(w, text));
}

/* ---- code ---- */

static void build_id(const struct profile_module *module, struct str *out)
{
        for (uint32_t i = 0; i < module->build_id_bytes && i < sizeof module->build_id; i++)
                str_format(out, "%02x", module->build_id[i]);
}

/* All names that are known are in the profile: nobody shall look for others. */
static uint32_t mapping_of(struct pprof *w, uint32_t index)
{
        const struct profile *p = w->in->profile;
        const struct profile_module *module = &p->modules[index];
        struct str id = { 0 };

        if (index >= p->module_count)
                return 0;
        if (w->mappings[index])
                return w->mappings[index];
        w->mappings[index] = ++w->mapping_count;
        build_id(module, &id);
        put_number(&w->inner, MAPPING_ID, w->mapping_count);
        put_number(&w->inner, MAPPING_START, module->start);
        put_number(&w->inner, MAPPING_LIMIT, module->end);
        put_number(&w->inner, MAPPING_FILE, text_of(w, module->path));
        put_number(&w->inner, MAPPING_BUILD_ID, text_of(w, str_get(&id)));
        for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINES; has++)
                put_number(&w->inner, has, 1);
        put_message(&w->message, PROFILE_MAPPING, &w->inner);
        str_free(&id);
        return w->mappings[index];
}

/* The first mapping stands for the program. */
static void put_program(struct pprof *w)
{
        const struct profile *p = w->in->profile;

        for (uint32_t i = 0; i < p->module_count; i++)
                if (p->modules[i].path && p->meta.exe &&
                    strcmp(p->modules[i].path, p->meta.exe) == 0) {
                        mapping_of(w, i);
                        return;
                }
        if (p->module_count)
                mapping_of(w, 0);
}

static uint64_t function_of(struct pprof *w, uint32_t node, const struct symbol_frame *frame)
{
        const struct symbol_frame whole = { .function = frame->function, .file = frame->file };
        uint32_t before = w->functions.count,
                 id = function_number(&w->functions, w->in->profile, node, &whole);
        struct str name = { 0 };
        uint32_t text;

        if (id <= before)
                return id;
        label_function(w->in->profile, node, frame, &name);
        text = text_of(w, str_get(&name));
        put_number(&w->inner, FUNCTION_ID, id);
        put_number(&w->inner, FUNCTION_NAME, text);
        put_number(&w->inner, FUNCTION_SYSTEM_NAME, text);
        put_number(&w->inner, FUNCTION_FILE, text_of(w, frame->file));
        put_message(&w->message, PROFILE_FUNCTION, &w->inner);
        str_free(&name);
        return id;
}

/* A function with those that it is inlined into: all that is at an address, but for hidden
 * wrappers. */
static void put_location(struct pprof *w, uint32_t frame)
{
        const struct calltree_frame *f = &w->stacks.frames[frame];
        const struct profile_node *n = &w->in->profile->nodes[f->node];
        const struct symbol_frame *names = f->names;

        put_number(&w->part, LOCATION_ID, frame + 1);
        put_number(&w->part, LOCATION_MAPPING, f->node > 1 ? mapping_of(w, n->module) : 0);
        put_number(&w->part, LOCATION_ADDRESS, f->node > 1 ? n->pc - !n->exact : 0);
        for (uint32_t left = f->rest; left; left--, names++) {
                uint64_t function = function_of(w, f->node, names);

                put_number(&w->inner, LINE_FUNCTION, function);
                put_number(&w->inner, LINE_LINE, names->line);
                put_message(&w->part, LOCATION_LINE, &w->inner);
        }
        put_message(&w->message, PROFILE_LOCATION, &w->part);
}

/* Of the frames that a sample has as its addresses; the others are inlined into one of them. */
static void put_locations(struct pprof *w)
{
        const struct stack_costs *s = &w->stacks;
        uint8_t *used = heap_zero(s->node_count, 1), *placed = heap_zero(s->frame_count, 1);

        for (uint32_t i = 0; i < s->sel->heap.count; i++)
                used[s->ends[i]] = 1;
        for (uint32_t i = s->node_count; i-- > 1;)
                if (used[i])
                        used[calltree_caller(&s->tree, i)] = placed[s->nodes[i].frame] = 1;
        for (uint32_t i = 0; i < s->frame_count; i++)
                if (placed[i])
                        put_location(w, i);
        free(used);
        free(placed);
}

/* ---- samples ---- */

static int count_values(const struct pprof *w)
{
        return w->in->usual ? COST_LIVE_BYTES + 1 : COST_COUNT;
}

/* Of a text that stays where it is. */
static uint32_t label_of(struct pprof *w, const char *text)
{
        struct label *known = &w->labels[((uintptr_t)text >> 3 ^ (uintptr_t)text >> 7) %
                                         (sizeof w->labels / sizeof *w->labels)];

        if (known->text != text)
                *known = (struct label){ text, text_of(w, text) };
        return known->number;
}

static void put_text_label(struct pprof *w, const char *key, uint32_t text)
{
        put_number(&w->inner, LABEL_KEY, label_of(w, key));
        put_number(&w->inner, LABEL_TEXT, text);
        put_message(&w->part, SAMPLE_LABEL, &w->inner);
}

static void put_thread(struct pprof *w, const struct profile_thread *thread)
{
        char number[16];

        snprintf(number, sizeof number, "%" PRIu32, thread->tid);
        put_text_label(w, "thread",
                       thread->name && *thread->name ? label_of(w, thread->name)
                                                     : text_of(w, number));
}

/* As Go does it: the size of the blocks, on the average. */
static void put_size(struct pprof *w, const struct costs *costs)
{
        int64_t blocks = (int64_t)costs->of[COST_ALLOC_COUNT],
                bytes = (int64_t)costs->of[COST_ALLOC_BYTES];

        if (blocks <= 0 || bytes < blocks)
                return;
        put_number(&w->inner, LABEL_KEY, label_of(w, "bytes"));
        put_number(&w->inner, LABEL_NUMBER, (uint64_t)(bytes / blocks));
        put_number(&w->inner, LABEL_UNIT, label_of(w, "bytes"));
        put_message(&w->part, SAMPLE_LABEL, &w->inner);
}

/* Room is made for several frames at a time. */
static void put_stack(struct pprof *w, uint32_t at)
{
        enum { FRAMES = 32 };

        while (at) {
                char *to = str_room(&w->inner, FRAMES * STR_VARINT_MAX);

                for (int left = FRAMES; at && left;
                     left--, at = calltree_caller(&w->stacks.tree, at))
                        to = str_varint_at(to, (uint64_t)w->stacks.nodes[at].frame + 1);
                str_end(&w->inner, to);
        }
}

static void put_sample(struct pprof *w, const struct portion *portion)
{
        const struct profile *p = w->in->profile;
        const struct select_row *row = &w->in->sel->heap.rows[portion->row];
        char *to;

        put_stack(w, w->stacks.ends[portion->row]);
        put_message(&w->part, SAMPLE_LOCATIONS, &w->inner);
        to = str_room(&w->inner, COST_COUNT * STR_VARINT_MAX);
        for (int i = 0; i < count_values(w); i++)
                to = str_varint_at(to, portion->costs.of[i]);
        str_end(&w->inner, to);
        put_message(&w->part, SAMPLE_VALUES, &w->inner);
        if (portion->thread)
                put_thread(w, &p->threads[portion->thread]);
        put_size(w, &portion->costs);
        put_text_label(w, "kind", label_of(w, profile_kind_name(p, row->kind)));
        put_message(&w->message, PROFILE_SAMPLE, &w->part);
}

static void put_samples(struct pprof *w)
{
        const struct cost_source *source = &w->stacks.source;
        struct portioning g = { .profile = source->sel->profile, .source = source,
                                .heap = &source->sel->heap, .take = put_sample, .to = w };

        portions_make(&g);
}

/* ---- the whole ---- */

static void put_types(struct pprof *w)
{
        enum cost_kind first = w->in->cost_set ? w->in->cost : COST_LIVE_BYTES;
        uint64_t sampled = w->in->profile->totals.sample_bytes;

        for (int i = 0; i < count_values(w); i++)
                put_type(w, PROFILE_SAMPLE_TYPE, cost_names[i].pprof, cost_names[i].unit);
        put_number(&w->message, PROFILE_DEFAULT_TYPE, text_of(w, cost_names[first].pprof));
        put_type(w, PROFILE_PERIOD_TYPE, "space", "bytes");
        put_number(&w->message, PROFILE_PERIOD, sampled ? sampled : 1);
}

/* Equal types make profiles comparable (-diff_base), so all are there; what the zeros mean is
 * told. */
static void put_unknown(struct pprof *w)
{
        struct str text = { 0 };

        for (int i = 0; i < count_values(w); i++)
                if (!w->stacks.source.known[i])
                        str_format(&text, "%s%s",
                                   text.length ? ", " : "unknown, not zero: ", cost_names[i].pprof);
        if (text.length)
                put_comment(w, str_get(&text));
        str_free(&text);
}

static void put_comments(struct pprof *w)
{
        const struct profile_meta *m = &w->in->profile->meta;
        const struct selection *sel = w->in->sel;
        struct str text = { 0 };

        put_comment(w, "seep " SEEP_VERSION);
        for (uint32_t i = 0; i < m->arg_count; i++)
                str_format(&text, "%s%s", i ? " " : "command: ", m->args[i]);
        put_comment(w, str_get(&text));
        str_clear(&text);
        if (sel->when[0])
                str_format(&text, "%s: %s", sel->moment == SELECT_OF_RANGE ? "range" : "moment",
                           sel->when);
        else if (sel->moment == SELECT_OF_PEAK)
                str_text(&text, "moment: peak");
        if (text.length)
                put_comment(w, str_get(&text));
        put_unknown(w);
        str_free(&text);
}

static void pprof_write(struct pprof *w)
{
        const struct profile_meta *m = &w->in->profile->meta;

        strings_number(&w->texts, "");
        put_types(w);
        put_program(w);
        put_locations(w);
        put_samples(w);
        put_number(&w->message, PROFILE_TIME_NANOS, m->start_realtime_ns);
        put_number(&w->message, PROFILE_DURATION_NANOS, m->duration_ms * 1000000);
        put_comments(w);
        for (uint32_t i = 0; i < w->texts.count; i++)
                put_bytes(&w->message, PROFILE_STRING, w->texts.at[i], strlen(w->texts.at[i]));
}

bool export_pprof(const struct export_input *in, struct str *out, struct err *e)
{
        struct pprof w = { .in = in };
        enum cost_kind cost;
        bool good;

        w.mappings = heap_zero(in->profile->module_count, sizeof *w.mappings);
        stack_costs_make(&w.stacks, in, CALLTREE_BY_PLACE);
        good = export_cost(in, &w.stacks.source, &cost, e);
        if (good) {
                pprof_write(&w);
                gzip_pack(str_get(&w.message), w.message.length, PPROF_LEVEL, out);
        }
        stack_costs_free(&w.stacks);
        strings_free(&w.texts);
        function_free(&w.functions);
        free(w.mappings);
        str_free(&w.message);
        str_free(&w.part);
        str_free(&w.inner);
        str_free(&w.text);
        return good;
}
