/* SPDX-License-Identifier: MIT */
/*
 * leaks_text.c -- the leaks as text.
 *
 * Keeps:  80 columns but for names; what is still reachable is called no error.
 */
#include "query/leaks_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "profile/unseen.h"
#include "report/stack.h"
#include "report/views.h"
#include "words/label.h"
#include "words/shorten.h"
#include "words/text.h"

enum { LEAKS_COLUMNS = 80, LEAKS_LABEL = 16, LEAKS_HEX = 16 };

struct leaks_page {
        const struct leaks *l;
        const struct profile *p;
        struct symbols *symbols;
        const struct leaks_options *o;
        struct str *out;
        struct stack_writer stacks;
        uint32_t shown;
};

/* ---- head ---- */

static void page_scan(struct leaks_page *page)
{
        const struct profile_scan *scan = page->l->scan;
        struct str *out = page->out;

        str_format(out, "%s (pid %" PRIu32 ") was searched for leaks ",
                   page->p->meta.program ? page->p->meta.program : "?", page->p->meta.pid);
        leaks_when(scan, out);
        str_text(out, "\n  ");
        text_count(out, scan->threads, "thread");
        str_text(out, ", ");
        text_size(out, (int64_t)(scan->root_bytes + scan->heap_bytes));
        str_text(out, " of memory in ");
        text_time(out, scan->scan_us / 1000);
        if (scan->when != PROFILE_SCAN_CORE) {
                str_text(out, ", paused for ");
                text_time(out, scan->pause_us / 1000);
        }
        str_text(out, scan->flags & PROFILE_SCAN_COPY ? ", searched in a copy" : "");
        str_text(out, scan->flags & PROFILE_SCAN_UNALIGNED ? ",\n  pointers at any byte\n" : "\n");
}

/* "  definitely lost    12.0 KiB in 3 blocks" */
static void page_sum(struct leaks_page *page, const char *label, const struct leaks_sum *sum,
                     const char *remark)
{
        size_t start = page->out->length;

        str_format(page->out, "  %-*s", LEAKS_LABEL, label);
        text_cell(page->out, 11, sum->bytes, text_size);
        str_text(page->out, " in ");
        text_count(page->out, (int64_t)sum->blocks, "block");
        if (*remark) {
                text_pad(page->out, start, 46);
                str_format(page->out, "  %s", remark);
        }
        str_char(page->out, '\n');
}

static void count_rules(const struct suppressions *s, uint32_t *used, uint32_t *all)
{
        *used = *all = 0;
        for (uint32_t i = 0; s && i < s->count; i++) {
                *used += s->rules[i].times != 0;
                *all += s->rules[i].times || s->rules[i].source != SUPPRESS_BUILT_IN;
        }
}

static void page_suppressed(struct leaks_page *page)
{
        struct str remark = { 0 };
        uint32_t used, all;

        count_rules(page->o->suppressions, &used, &all);
        if (!page->l->suppressed.blocks)
                return;
        str_format(&remark, "by %" PRIu32 " of %" PRIu32 " rule%s%s", used, all,
                   all == 1 ? "" : "s", page->o->verbose ? "" : " (-v: which)");
        page_sum(page, "suppressed", &page->l->suppressed, str_get(&remark));
        str_free(&remark);
}

static const char *page_remark(const struct leaks_page *page, uint32_t leak)
{
        static const char *const remarks[] = {
                [PROFILE_LEAK_DEFINITE] = "",
                [PROFILE_LEAK_INDIRECT] = "reachable only through those",
                [PROFILE_LEAK_POSSIBLE] = "pointers into the middle only",
                [PROFILE_LEAK_REACHABLE] = "not an error" };
        bool shown = page->o->show >> leak & 1;

        return leak == PROFILE_LEAK_INDIRECT && !shown ? "through those (--show indirect)"
                                                       : remarks[leak];
}

static void page_sums(struct leaks_page *page)
{
        const struct leaks_sum *sums = page->l->sums;

        str_text(page->out, page->l->only_new
                                    ? "\nsince the previous search (still reachable: in total):\n"
                                    : "\n");
        for (uint32_t leak = PROFILE_LEAK_DEFINITE; leak >= PROFILE_LEAK_REACHABLE; leak--) {
                bool bad = leak == PROFILE_LEAK_DEFINITE && sums[leak].blocks;

                if (bad)
                        text_color(page->out, page->o->color, TEXT_RED);
                page_sum(page, profile_leak_text(leak), &sums[leak],
                         sums[leak].blocks ? page_remark(page, leak) : "");
                if (bad)
                        text_plain(page->out, page->o->color);
        }
        if (page->l->older.blocks)
                page_sum(page, "of the lost", &page->l->older, PROFILE_KIND_OLDER_TEXT);
        if (page->l->idiom.blocks)
                page_sum(page, " of it by idiom", &page->l->idiom, "behind a header, or the like");
        page_suppressed(page);
}

/* That nothing was found elsewhere means nothing. */
static void page_unseen(struct leaks_page *page)
{
        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++) {
                struct str text = { 0 };

                if (!unseen_say(page->p, reason, &text))
                        continue;
                text_color(page->out, page->o->color, TEXT_YELLOW);
                str_text(page->out, "not everything was seen:\n");
                text_plain(page->out, page->o->color);
                text_fold(page->out, "  ", str_get(&text), LEAKS_COLUMNS);
                str_free(&text);
        }
}

static void page_head(struct leaks_page *page)
{
        if (page->l->scan) {
                page_scan(page);
                page_sums(page);
        } else {
                str_format(page->out, "%s (pid %" PRIu32 ") was not searched for leaks:\n",
                           page->p->meta.program ? page->p->meta.program : "?", page->p->meta.pid);
                leaks_not_scanned(page->p, page->out);
                str_char(page->out, '\n');
        }
        if (page->l->errors) {
                str_format(page->out, "  %-*s", LEAKS_LABEL, "invalid frees");
                text_cell(page->out, 11, page->l->errors, text_number);
                str_char(page->out, '\n');
        }
        page_unseen(page);
        str_char(page->out, '\n');
}

/* ---- rows ---- */

static void page_amount(struct str *out, const struct leaks_sum *sum)
{
        text_size(out, (int64_t)sum->bytes);
        str_text(out, " in ");
        text_count(out, (int64_t)sum->blocks, "block");
}

/* Append what hangs on HEADS blocks to the line that begins at START, or on a line of its
 * own, indented by INDENT. */
static void page_hanging(struct str *out, size_t start, int indent, const struct leaks_sum *hanging,
                         uint64_t heads)
{
        struct str text = { 0 };

        if (!hanging->blocks)
                return;
        page_amount(&text, hanging);
        str_format(&text, " reachable only through %s", heads == 1 ? "it" : "them");
        if (text_columns(out, start) + strlen(", and ") + text.length <= LEAKS_COLUMNS)
                str_format(out, ", and %s", str_get(&text));
        else
                str_format(out, ",\n%*sand %s", indent, "", str_get(&text));
        str_free(&text);
}

/* Append the class to the line that begins at START; one that is too long for it is on a line of
 * its own, indented by INDENT. */
static void page_class(struct leaks_page *page, size_t start, size_t indent, uint64_t vtable)
{
        const char *class = leaks_class(page->symbols, vtable);
        size_t columns = page->l->sel->columns, room = columns > indent + strlen("class ")
                                                               ? columns - indent - strlen("class ")
                                                               : columns;
        struct str name = { 0 };

        if (!class)
                return;
        str_text(&name, class);
        if (columns &&
            text_columns(page->out, start) + strlen(", class ") + text_columns(&name, 0) >
                    columns) {
                shorten_name(&name, room);
                str_format(page->out, ",\n%*sclass %s", (int)indent, "", str_get(&name));
        } else {
                str_format(page->out, ", class %s", str_get(&name));
        }
        str_free(&name);
}

/* The other stacks of a place, and by whose calls they lead there. */
static void page_variants(struct leaks_page *page, const struct leaks_row *row)
{
        struct str *out = page->out;

        if (row->variants < 2)
                return;
        str_text(out, "      and ");
        text_number(out, row->variants - 1);
        str_text(out, " other stack");
        str_text(out, row->variants == 2 ? " leads here (seep leaks -v)\n"
                                         : "s lead here (seep leaks -v)\n");
        for (uint32_t i = 1; i < row->from_count; i++) {
                const struct leaks_from *from = &row->from[i];
                const struct symbol_frame *frames;

                if (!from->node)
                        continue;
                symbols_node(page->symbols, from->node, &frames);
                str_text(out, "        ");
                text_size(out, (int64_t)from->bytes);
                str_text(out, " by ");
                label_fit(page->p, from->node, &frames[from->level], 0, page->o->color, out);
                str_char(out, '\n');
        }
        if (row->from_more) {
                str_text(out, "        and ");
                text_count(out, row->from_more, "stack");
                str_text(out, " by others\n");
        }
}

static void page_row(struct leaks_page *page, const struct leaks_row *row)
{
        struct str *out = page->out;
        size_t start = out->length;

        str_format(out, "%4" PRIu32 ". ", ++page->shown);
        text_color(out, page->o->color, TEXT_BOLD);
        page_amount(out, &row->own);
        text_plain(out, page->o->color);
        str_format(out, " %s", profile_leak_text(row->leak));
        page_hanging(out, start, 6, &row->hanging, row->own.blocks);
        str_char(out, '\n');
        start = out->length;
        str_text(out, "      ");
        if (profile_is_seen(page->p, row->stack->site)) {
                str_format(out, "by %s, %s ", profile_kind_name(page->p, row->stack->kind),
                           row->own.blocks == 1 ? "age" : "oldest");
                text_time(out, leaks_age(page->p, row->birth_ms));
        } else if (profile_is_older(page->p, row->stack->site)) {
                str_text(out, PROFILE_KIND_OLDER_TEXT);
        }
        if (row->growth.class != GROWTH_UNKNOWN) {
                str_text(out, ", ");
                growth_write(&row->growth, out);
        }
        str_format(out, "%ssite #%" PRIu32, profile_is_walked(page->p) ? "" : ", ", row->site);
        page_class(page, start, 6, row->vtable);
        str_char(out, '\n');
        stack_add(&page->stacks, (struct wrapper_frame){ row->stack->node, row->stack->level });
        page_variants(page, row);
        str_char(out, '\n');
        str_drain(out);
}

static void page_more(struct leaks_page *page, uint64_t more, const char *noun)
{
        if (!more)
                return;
        text_number(page->out, (int64_t)more);
        str_format(page->out, " more %s%s: -n 0\n\n", noun, more == 1 ? "" : "s");
}

static void page_rows(struct leaks_page *page)
{
        uint32_t count;
        struct leaks_row *rows = leaks_places(page->l, page->symbols, page->o, &count);
        uint32_t shown = page->o->limit && page->o->limit < count ? page->o->limit : count;

        for (uint32_t i = 0; i < shown; i++)
                page_row(page, &rows[i]);
        page_more(page, count - shown, page->o->verbose ? "stack" : "place");
        free(rows);
}

/* ---- blocks ---- */

const struct profile_content *leaks_content(const struct profile *p, uint32_t block)
{
        uint32_t low = (uint32_t)FIND_FIRST(p->content_count, i, p->contents[i].block < block);

        return low < p->content_count && p->contents[low].block == block ? &p->contents[low] : NULL;
}

/* "    0010  48 65 6c 6c 6f 20 77 6f  72 6c 64 00 00 00 00 00  |Hello world.....|" */
static void page_bytes(struct leaks_page *page, const struct profile_content *content)
{
        struct str *out = page->out;

        for (uint32_t at = 0; at < content->bytes; at += LEAKS_HEX) {
                uint32_t count = content->bytes - at < LEAKS_HEX ? content->bytes - at : LEAKS_HEX;
                size_t start = out->length;

                str_format(out, "    %04" PRIx32 " ", at);
                for (uint32_t i = 0; i < count; i++)
                        str_format(out, "%s%02x",
                                   i % 8 ? " "
                                   : i   ? "  "
                                         : " ",
                                   content->data[at + i]);
                text_pad(out, start, 60);
                str_text(out, "|");
                for (uint32_t i = 0; i < count; i++)
                        str_char(out, content->data[at + i] >= ' ' && content->data[at + i] < 127
                                              ? (char)content->data[at + i]
                                              : '.');
                str_text(out, "|\n");
        }
}

static void page_block(struct leaks_page *page, const struct leaks_listed *listed)
{
        const struct profile *p = page->p;
        const struct profile_block *block = &listed->block;
        const struct profile_content *content = leaks_content(p, listed->index);
        struct str *out = page->out;
        size_t start = out->length;

        str_format(out, "0x%" PRIx64 "  ", block->address);
        text_color(out, page->o->color, TEXT_BOLD);
        text_number(out, (int64_t)block->size);
        str_text(out, " B");
        text_plain(out, page->o->color);
        str_format(out, " %s", profile_leak_text(listed->verdict.leak));
        page_hanging(out, start, 4, &listed->hanging, 1);
        str_char(out, '\n');
        start = out->length;
        if (!profile_is_seen(p, block->site)) {
                str_format(out, "    %ssite #%" PRIu32,
                           profile_is_older(p, block->site) ? PROFILE_KIND_OLDER_TEXT ", " : "",
                           block->site);
        } else {
                str_format(out, "    by %s, age ",
                           profile_kind_name(p, p->sites[block->site].kind));
                text_time(out, leaks_age(p, block->birth_ms));
        }
        if (block->thread < p->thread_count && p->threads[block->thread].tid) {
                str_text(out, ", thread ");
                text_name(out, p->threads[block->thread].name);
                str_format(out, " (%" PRIu32 ")", p->threads[block->thread].tid);
        }
        page_class(page, start, 4, listed->verdict.vtable);
        str_char(out, '\n');
        if (content)
                page_bytes(page, content);
        stack_add_site(&page->stacks, p->sites[block->site].node);
        str_char(out, '\n');
        str_drain(out);
}

static void page_blocks(struct leaks_page *page)
{
        struct leaks_list list;

        if (!page->l->scan)
                return;
        leaks_list_make(&list, page->l, page->o, page->o->limit);
        for (uint64_t i = 0; i < list.limit; i++) {
                struct leaks_listed block = leaks_list_at(&list, i);

                page_block(page, &block);
        }
        page_more(page, list.count - list.limit, "block");
        leaks_list_free(&list);
}

/* ---- rules ---- */

static void page_rule(struct leaks_page *page, const struct suppress_rule *rule)
{
        str_char(page->out, '\'');
        text_name(page->out, rule->name);
        str_char(page->out, '\'');
        if (rule->file)
                str_format(page->out, " (%s:%" PRIu32 ")", rule->file, rule->at);
        str_char(page->out, '\n');
}

static void page_rules(struct leaks_page *page)
{
        const struct suppressions *s = page->o->suppressions;

        for (uint32_t i = 0; page->o->verbose && s && i < s->count; i++) {
                struct leaks_sum sum = { s->rules[i].blocks, s->rules[i].bytes };

                if (!s->rules[i].times)
                        continue;
                str_text(page->out, "suppressed: ");
                if (s->rules[i].about == SUPPRESS_LEAK)
                        page_amount(page->out, &sum);
                else
                        text_count(page->out, (int64_t)s->rules[i].times, "invalid free");
                str_text(page->out, " by ");
                page_rule(page, &s->rules[i]);
        }
        for (uint32_t i = 0; s && i < s->count; i++)
                if (!s->rules[i].times && s->rules[i].source == SUPPRESS_FILE) {
                        str_format(page->out, "unused suppression: %s:%" PRIu32 ": ",
                                   s->rules[i].file, s->rules[i].at);
                        text_name(page->out, s->rules[i].name);
                        str_char(page->out, '\n');
                }
}

static void page_errors(struct leaks_page *page)
{
        struct errors_options options = { page->o->limit, page->l->forgiven };

        if (!page->l->errors)
                return;
        str_text(page->out, "invalid frees\n\n");
        errors_write(page->l->sel, page->symbols, &options, page->out);
}

void leaks_text(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                struct str *out)
{
        struct leaks_page page = { .l = l, .p = l->sel->profile, .symbols = s, .o = o, .out = out };

        stack_start(&page.stacks, l->sel, s, o->blocks ? "    " : "        ", out);
        page_head(&page);
        if (o->blocks)
                page_blocks(&page);
        else
                page_rows(&page);
        stack_end(&page.stacks);
        page_errors(&page);
        page_rules(&page);
}
