/* SPDX-License-Identifier: MIT */
#include "report/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/packed.h"
#include "words/csv.h"
#include "words/label.h"
#include "words/shorten.h"
#include "words/text.h"

enum {
        GROUP_NAME = 37, /* columns before the names */
        GROUP_LEAST = 16 /* ... and of them */
};

static const char *const group_words[] = {
#define GROUP_KIND_WORD(id, word) word,
        GROUP_KINDS(GROUP_KIND_WORD)
#undef GROUP_KIND_WORD
};

struct group_row {
        char *name;
        uint64_t bytes, count;
        int64_t weight;
};

struct group_list {
        struct group_row *rows;
        uint32_t count;
};

bool group_kind_named(const char *word, enum group_kind *kind)
{
        for (int i = 0; i < GROUP_KIND_COUNT; i++)
                if (strcmp(word, group_words[i]) == 0) {
                        *kind = (enum group_kind)i;
                        return true;
                }
        return false;
}

const char *group_word(enum group_kind kind)
{
        return group_words[kind];
}

/* NAME is taken over. */
static void group_add(struct group_list *l, char *name, uint64_t bytes, uint64_t count)
{
        l->rows = heap_next(l->rows, l->count, sizeof *l->rows);
        l->rows[l->count++] = (struct group_row){ name, bytes, count, 0 };
}

static int by_name(const void *a, const void *b)
{
        const struct group_row *x = a, *y = b;

        return strcmp(x->name, y->name);
}

static int by_weight(const void *a, const void *b)
{
        const struct group_row *x = a, *y = b;

        return ORDER(y->weight, x->weight) ?: strcmp(x->name, y->name);
}

/* Rows of one name become one. */
static void group_merge(struct group_list *l, const struct selection *sel)
{
        uint32_t kept = 0;

        if (!l->count)
                return;
        qsort(l->rows, l->count, sizeof *l->rows, by_name);
        for (uint32_t i = 1; i < l->count; i++) {
                struct group_row *last = &l->rows[kept];

                if (strcmp(last->name, l->rows[i].name) != 0) {
                        l->rows[++kept] = l->rows[i];
                        continue;
                }
                last->bytes += l->rows[i].bytes;
                last->count += l->rows[i].count;
                free(l->rows[i].name);
        }
        l->count = kept + 1;
        for (uint32_t i = 0; i < l->count; i++)
                l->rows[i].weight = select_weight(sel, l->rows[i].bytes, l->rows[i].count);
        qsort(l->rows, l->count, sizeof *l->rows, by_weight);
}

char *group_name(const struct selection *sel, struct symbols *s, const struct select_row *row,
                 enum group_kind kind)
{
        const struct profile *p = sel->profile;
        uint32_t origin = select_origin(sel, row->node);
        const struct symbol_frame *frames;
        struct str name = { 0 };

        symbols_node(s, origin, &frames);
        frames += row->level;
        if (kind == GROUP_FUNCTION)
                label_function(p, origin, &frames[0], &name);
        else if (kind == GROUP_FILE && frames[0].file)
                str_text(&name, frames[0].file);
        else if (p->nodes[origin].module < p->module_count &&
                 p->modules[p->nodes[origin].module].path)
                str_text(&name, p->modules[p->nodes[origin].module].path);
        else
                str_text(&name, "(unknown)");
        return name.data;
}

static void group_by_frame(const struct selection *sel, struct symbols *s,
                           const struct select_part *part, enum group_kind kind,
                           struct group_list *l)
{
        for (uint32_t i = 0; i < part->count; i++)
                group_add(l, group_name(sel, s, &part->rows[i], kind), part->rows[i].bytes,
                          part->rows[i].count);
}

/* What each thread did at the chosen sites, in BYTES and COUNT by thread. */
static void group_sum_threads(const struct selection *sel, uint64_t *bytes, uint64_t *count)
{
        const struct profile *p = sel->profile;
        uint8_t *chosen = select_sites(sel, &sel->heap);
        struct packed_walk w;

        packed_open(&w, p);
        while (sel->cost == SELECT_LIVE && packed_next(&w)) {
                const struct profile_block *block = w.block;

                if (block->site >= p->site_count || !chosen[block->site] ||
                    block->thread >= p->thread_count)
                        continue;
                bytes[block->thread] += profile_block_times(p, block) * block->size;
                count[block->thread] += profile_block_times(p, block);
        }
        packed_close(&w);
        for (uint32_t i = 0; sel->cost != SELECT_LIVE && i < p->share_count; i++) {
                const struct profile_share *share = &p->shares[i];

                if (share->site >= p->site_count || !chosen[share->site] ||
                    share->thread >= p->thread_count)
                        continue;
                bytes[share->thread] += share->alloc_bytes;
                count[share->thread] += sel->cost == SELECT_TEMPORARY ? share->temporary
                                                                      : share->allocs;
        }
        free(chosen);
}

/* Threads of one name are one line: pools make them by the hundred. */
static void group_by_thread(const struct selection *sel, struct group_list *l)
{
        const struct profile *p = sel->profile;
        uint64_t *bytes = heap_zero(p->thread_count, sizeof *bytes),
                 *count = heap_zero(p->thread_count, sizeof *count);

        group_sum_threads(sel, bytes, count);
        for (uint32_t i = 0; i < p->thread_count; i++) {
                const char *name = i ? p->threads[i].name : NULL;

                if (count[i])
                        group_add(l, heap_text(name && name[0] ? name : "(thread unknown)"),
                                  bytes[i], count[i]);
        }
        free(bytes);
        free(count);
}

/* Powers of two: "17 to 32 B". */
static void group_by_size(const struct selection *sel, struct group_list *l)
{
        const struct profile *p = sel->profile;
        uint8_t *chosen = select_sites(sel, &sel->heap);
        uint64_t bytes[65] = { 0 }, count[65] = { 0 };
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                uint64_t size = w.block->size, times = profile_block_times(p, w.block);
                int power = size > 1 ? 64 - __builtin_clzll(size - 1) : 0;

                if (w.block->site >= p->site_count || !chosen[w.block->site])
                        continue;
                bytes[power] += times * size;
                count[power] += times;
        }
        packed_close(&w);
        for (int power = 0; power < 64; power++) {
                struct str name = { 0 };

                if (!count[power])
                        continue;
                str_text(&name, "up to ");
                text_size(&name, (int64_t)(1ull << power));
                group_add(l, name.data, bytes[power], count[power]);
        }
        free(chosen);
}

static void group_line(const struct selection *sel, const struct group_row *row, int64_t whole,
                       const struct group_options *options, struct str *out)
{
        struct str share = { 0 }, name = { 0 };
        size_t start = out->length;

        text_percent(&share, (double)row->weight / (double)whole);
        str_format(out, "%8s  ", str_get(&share));
        str_free(&share);
        if (sel->cost != SELECT_TEMPORARY) {
                text_number(out, (int64_t)row->bytes);
                str_text(out, "B, ");
        }
        text_number(out, (int64_t)row->count);
        str_char(out, 'x');
        text_pad(out, start, GROUP_NAME - 1);
        str_char(out, ' ');
        text_color(out, options->color, TEXT_CYAN);
        text_name(&name, row->name);
        if (sel->columns && options->kind == GROUP_FUNCTION)
                shorten_name(&name, sel->columns > GROUP_NAME + GROUP_LEAST
                                            ? sel->columns - GROUP_NAME
                                            : GROUP_LEAST);
        str_text(out, str_get(&name));
        str_free(&name);
        text_plain(out, options->color);
        str_char(out, '\n');
}

static void group_table(const struct selection *sel, struct group_list *l,
                        const struct group_options *options, const char *heading, struct str *out)
{
        struct group_row rest = { 0 };
        uint64_t whole = 0;
        uint32_t shown = 0;

        group_merge(l, sel);
        for (uint32_t i = 0; i < l->count; i++)
                whole += l->rows[i].weight > 0 ? (uint64_t)l->rows[i].weight : 0;
        str_format(out, "%s, by %s: ", heading, group_words[options->kind]);
        text_number(out, (int64_t)whole);
        str_text(out, select_counts(sel->cost) ? "x\n" : "B\n");
        while (shown < l->count && (!options->limit || shown < options->limit) &&
               l->rows[shown].weight > 0 &&
               100.0 * (double)l->rows[shown].weight >= options->threshold * (double)whole)
                group_line(sel, &l->rows[shown++], (int64_t)whole, options, out);
        for (uint32_t i = shown; i < l->count; i++) {
                rest.bytes += l->rows[i].bytes;
                rest.count += l->rows[i].count;
        }
        rest.weight = select_weight(sel, rest.bytes, rest.count);
        if (rest.weight > 0 && whole) {
                struct str name = { 0 };

                str_char(&name, '(');
                text_number(&name, l->count - shown);
                str_text(&name, " more)");
                rest.name = name.data;
                group_line(sel, &rest, (int64_t)whole, options, out);
                str_free(&name);
        }
}

static void group_csv(const struct selection *sel, struct group_list *l,
                      const struct group_options *options, const char *part, struct str *out)
{
        group_merge(l, sel);
        for (uint32_t i = 0; i < l->count && (!options->limit || i < options->limit); i++) {
                csv_text(out, l->rows[i].name);
                csv_text(out, part);
                csv_signed(out, (int64_t)l->rows[i].bytes);
                csv_signed(out, (int64_t)l->rows[i].count);
                csv_end(out);
        }
}

static void group_free(struct group_list *l)
{
        for (uint32_t i = 0; i < l->count; i++)
                free(l->rows[i].name);
        free(l->rows);
        *l = (struct group_list){ 0 };
}

void group_write(const struct selection *sel, struct symbols *s,
                 const struct group_options *options, struct str *out)
{
        struct group_list l = { 0 };
        bool by_frame = options->kind != GROUP_THREAD && options->kind != GROUP_SIZE;

        if (options->kind == GROUP_THREAD)
                group_by_thread(sel, &l);
        else if (options->kind == GROUP_SIZE)
                group_by_size(sel, &l);
        else
                group_by_frame(sel, s, &sel->heap, options->kind, &l);
        if (options->csv) {
                str_text(out, group_words[options->kind]);
                csv_names(out, ",memory,bytes,count");
                group_csv(sel, &l, options,
                          sel->memory ? select_memory_word(sel->memory) : "heap", out);
        } else {
                group_table(sel, &l, options, sel->heading, out);
        }
        group_free(&l);
        if (!by_frame || (int64_t)sel->mapped.total_bytes <= 0 || sel->cost == SELECT_TEMPORARY)
                return;
        group_by_frame(sel, s, &sel->mapped, options->kind, &l);
        if (options->csv) {
                group_csv(sel, &l, options, "mmap", out);
                group_free(&l);
                return;
        }
        str_char(out, '\n');
        group_table(sel, &l, options,
                    sel->cost == SELECT_PEAK ? "mapped by mmap at that time" : "mapped by mmap",
                    out);
        group_free(&l);
}
