/* SPDX-License-Identifier: MIT */
/*
 * leaks_rules.c -- a suppression for each leak, in the syntax of LSan or Valgrind: used as a
 * suppression file, it hides just that leak.
 *
 * Keeps:  rules name functions, never lines or addresses, so that they outlive the next build.
 *         What hangs on a lost block needs no rule of its own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "query/leaks.h"
#include "base/lookup.h"
#include "query/walk.h"
#include "report/views.h"
#include "words/label.h"
#include "words/text.h"

/* As many frames as Valgrind keeps without being asked (--num-callers). */
enum { RULES_CALLERS = 12 };

struct rules_page {
        const struct leaks *l;
        const struct profile *p;
        struct symbols *symbols;
        const struct leaks_options *o;
        struct str *out;
};

/* How a program or a thread is started differs from tool to tool, and is left out. */
static struct walk rules_walk(const struct rules_page *page, const struct leaks_row *row)
{
        return walk_own(page->p, page->symbols, row->stack->node);
}

static bool rules_wanted(const struct rules_page *page, const struct leaks_row *row)
{
        bool with_heads = row->leak == PROFILE_LEAK_INDIRECT &&
                          page->o->show >> PROFILE_LEAK_DEFINITE & 1;

        return page->o->show >> row->leak & 1 && !with_heads;
}

/* "definitely lost by push": names of rules must not change from run to run. */
static void rules_name(struct rules_page *page, const struct leaks_row *row, struct str *out)
{
        const struct symbol_frame *frames, *frame = &(struct symbol_frame){ 0 };

        if (row->stack->node > 1) {
                symbols_node(page->symbols, row->stack->node, &frames);
                frame = frames;
        }
        str_format(out, "%s by ", profile_leak_text(row->leak));
        label_short(page->p, row->stack->node, frame, out);
}

/* ---- LSan ---- */

struct choice {
        struct lookup *met;  /* by name: in how many stacks it is */
        struct lookup *last; /* by name: the last row that counted it, from 1 on */
        const char *name, *module;
        uint32_t others;
        bool library; /* the name is one of the C library */
};

/* Whether FRAME, at NODE, is the innermost function that is in no other stack, the program's own
 * before those of libraries; failing that, C keeps the one that is in the fewest. */
static bool choose_name(const struct rules_page *page, uint32_t node,
                        const struct symbol_frame *frame, struct choice *c)
{
        uint32_t module = page->p->nodes[node].module, others;
        bool library = label_in_libc(page->p, node) || wrapper_or_library(frame);

        if (!c->module && module < page->p->module_count)
                c->module = page->p->modules[module].path;
        if (!symbol_name(frame))
                return false;
        others = *lookup_pointer(c->met, frame->function) - 1;
        if (!c->name || others < c->others || (others == c->others && c->library && !library)) {
                c->name = frame->function;
                c->others = others;
                c->library = library;
        }
        return c->others == 0 && !c->library;
}

/* NAME from start to end; but LSan spells out default arguments of the C++ library, so that it is
 * cut where such a type begins. */
static void lsan_pattern(const char *name, struct str *out)
{
        const char *type = strncmp(name, "std::", 5) == 0 ? strchr(name, '<')
                                                          : strstr(name, "std::");

        if (type)
                str_format(out, "leak:^%.*s*\n", (int)(type - name) + (*type == '<'), name);
        else
                str_format(out, "leak:^%s$\n", name);
}

static void lsan_choose(const struct rules_page *page, const struct leaks_row *row,
                        struct choice *c)
{
        struct walk w = rules_walk(page, row);

        c->name = c->module = NULL;
        while (walk_next(&w))
                if (choose_name(page, w.node, w.frame, c))
                        break;
}

static void lsan_rule(struct rules_page *page, const struct leaks_row *row, const struct choice *c)
{
        str_text(page->out, "# ");
        rules_name(page, row, page->out);
        if (c->name && c->others) {
                str_text(page->out, "; covers ");
                text_count(page->out, c->others, "other stack");
                str_text(page->out, ", too: valgrind's format can tell them apart");
        }
        if (c->name) {
                str_char(page->out, '\n');
                lsan_pattern(c->name, page->out);
        } else if (c->module) {
                str_format(page->out,
                           "; no function is known: covers all of the module\nleak:^%s$\n",
                           c->module);
        } else {
                str_text(page->out, "; neither function nor module is known\n");
        }
}

static void lsan_count(const struct rules_page *page, struct choice *c)
{
        for (uint32_t i = 0; i < page->l->count; i++) {
                struct walk w = rules_walk(page, &page->l->rows[i]);

                while (rules_wanted(page, &page->l->rows[i]) && walk_next(&w)) {
                        const char *name = symbol_name(w.frame);

                        if (!name || *lookup_pointer(c->last, name) == i + 1)
                                continue;
                        *lookup_pointer(c->last, name) = i + 1;
                        ++*lookup_pointer(c->met, name);
                }
        }
}

/* First those that cover one stack, then those that cover others, too, if these
 * have no rule of their own. */
static void lsan_rules(struct rules_page *page)
{
        struct lookup met = { 0 }, last = { 0 }, written = { 0 };
        struct choice c = { .met = &met, .last = &last };

        lsan_count(page, &c);
        for (uint32_t i = 0; i < 2 * page->l->count; i++) {
                const struct leaks_row *row = &page->l->rows[i % page->l->count];
                bool wide = i >= page->l->count;

                if (!rules_wanted(page, row))
                        continue;
                lsan_choose(page, row, &c);
                if (wide == (!c.name || c.others) &&
                    !(c.name && (*lookup_pointer(&written, c.name))++))
                        lsan_rule(page, row, &c);
        }
        lookup_free(&met);
        lookup_free(&last);
        lookup_free(&written);
}

static void lsan_texts(struct rules_page *page, uint32_t count, char **texts)
{
        struct lookup met = { 0 }, last = { 0 };
        struct choice c = { .met = &met, .last = &last };
        struct str text = { 0 };

        lsan_count(page, &c);
        page->out = &text;
        for (uint32_t i = 0; i < count; i++) {
                if (!rules_wanted(page, &page->l->rows[i]))
                        continue;
                lsan_choose(page, &page->l->rows[i], &c);
                str_clear(&text);
                lsan_rule(page, &page->l->rows[i], &c);
                texts[i] = heap_text(str_get(&text));
        }
        lookup_free(&met);
        lookup_free(&last);
        str_free(&text);
}

/* ---- Valgrind ---- */

/* Mangled, as Valgrind matches it; functions inlined there have no mangled name of their own. */
static void valgrind_line(const struct rules_page *page, uint32_t node,
                          const struct symbol_frame *frame, struct str *out)
{
        uint32_t module = page->p->nodes[node].module;
        const char *raw = frame->inlined ? NULL : symbols_raw_name(page->symbols, node);
        const char *plain = symbol_name(frame);

        if (!plain && module < page->p->module_count)
                str_format(out, "   obj:%s\n", page->p->modules[module].path);
        else if (!plain)
                str_text(out, "   obj:*\n");
        else if (raw)
                str_format(out, "   fun:%.*s\n", (int)strcspn(raw, "@"), raw);
        else
                str_format(out, "   fun:%.*s\n", (int)label_length(plain), plain);
}

static char *valgrind_lines(const struct rules_page *page, const struct leaks_row *row,
                            uint32_t most)
{
        struct walk w = rules_walk(page, row);
        struct str text = { 0 };

        str_format(&text, "   match-leak-kinds: %s\n   fun:%s\n", profile_leak_word(row->leak),
                   suppress_allocation(row->stack->kind, SUPPRESS_AS_VALGRIND));
        for (uint32_t i = 1; i < most && walk_next(&w); i++)
                valgrind_line(page, w.node, w.frame, &text);
        return text.data;
}

/* How often rules of LINES are there.  Of a million of them only 128 bits each are kept. */
static uint32_t *valgrind_met(struct lookup *met, const char *lines)
{
        uint64_t a = 0xcbf29ce484222325u, b = 0x9ae16a3b2f90404fu;

        for (const char *at = lines; *at; at++) {
                a = (a ^ (uint8_t)*at) * 0x100000001b3u;
                b = (b + (uint8_t)*at) * 0x9e3779b97f4a7c15u;
                b ^= b >> 32;
        }
        return lookup_pair(met, a, b);
}

static void valgrind_rule(struct rules_page *page, const struct leaks_row *row, const char *lines)
{
        str_text(page->out, "{\n   ");
        rules_name(page, row, page->out);
        str_format(page->out, "\n   Memcheck:Leak\n%s}\n", lines);
}

/* Stacks that are equal as far as Valgrind looks by itself are told apart further out. */
static void valgrind_rules(struct rules_page *page)
{
        struct lookup met = { 0 }, written = { 0 };

        for (uint32_t i = 0; i < page->l->count; i++) {
                char *lines;

                if (!rules_wanted(page, &page->l->rows[i]))
                        continue;
                lines = valgrind_lines(page, &page->l->rows[i], RULES_CALLERS);
                ++*valgrind_met(&met, lines);
                free(lines);
        }
        for (uint32_t i = 0; i < page->l->count; i++) {
                char *lines;

                if (!rules_wanted(page, &page->l->rows[i]))
                        continue;
                lines = valgrind_lines(page, &page->l->rows[i], RULES_CALLERS);
                if (*valgrind_met(&met, lines) > 1) {
                        free(lines);
                        lines = valgrind_lines(page, &page->l->rows[i], UINT32_MAX);
                }
                if (!(*valgrind_met(&written, lines))++)
                        valgrind_rule(page, &page->l->rows[i], lines);
                free(lines);
                str_drain(page->out);
        }
        lookup_free(&met);
        lookup_free(&written);
}

/* Each as far as Valgrind looks by itself: a rule that is taken alone may cover stacks that
 * differ further out only. */
static void valgrind_texts(struct rules_page *page, uint32_t count, char **texts)
{
        struct str text = { 0 };

        page->out = &text;
        for (uint32_t i = 0; i < count; i++) {
                char *lines;

                if (!rules_wanted(page, &page->l->rows[i]))
                        continue;
                lines = valgrind_lines(page, &page->l->rows[i], RULES_CALLERS);
                str_clear(&text);
                valgrind_rule(page, &page->l->rows[i], lines);
                texts[i] = heap_text(str_get(&text));
                free(lines);
        }
        str_free(&text);
}

void leaks_rule_texts(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                      enum suppress_format format, char **texts)
{
        struct rules_page page = { .l = l, .p = l->sel->profile, .symbols = s, .o = o };
        uint32_t count = o->limit && o->limit < l->count ? o->limit : l->count;

        if (format == SUPPRESS_AS_LSAN)
                lsan_texts(&page, count, texts);
        else
                valgrind_texts(&page, count, texts);
}

void leaks_rules(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                 enum suppress_format format, struct str *out)
{
        struct rules_page page = { .l = l, .p = l->sel->profile, .symbols = s, .o = o, .out = out };

        if (format == SUPPRESS_AS_LSAN)
                lsan_rules(&page);
        else
                valgrind_rules(&page);
}
