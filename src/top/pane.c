/* SPDX-License-Identifier: MIT */
#include "top/pane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/leaks.h"
#include "query/walk.h"
#include "query/why.h"
#include "report/source.h"
#include "report/stack.h"
#include "report/views.h"
#include "top/keys.h"
#include "words/label.h"
#include "words/text.h"

enum { PANE_SOURCES = 6, PANE_AROUND = 3, PANE_KEY = 12 };

/* ---- numbers of a line ---- */

static void add_live(const struct pane_input *in, const struct row *row, struct str *out)
{
        text_size(out, (int64_t)row->live_bytes);
        str_text(out, " live in ");
        text_count(out, (int64_t)row->live_blocks, "block");
        if (row->live_blocks) {
                str_text(out, ", ");
                text_size(out, (int64_t)(row->live_bytes / row->live_blocks));
                str_text(out, " on average");
        }
        if (row->age_ms != HISTORY_UNKNOWN) {
                str_text(out, ", ");
                text_time(out, row->age_ms);
                str_text(out, " old");
        }
        str_char(out, '\n');
        if (in->picture->then) {
                str_text(out, "change since ");
                str_text(out, in->picture->since);
                str_text(out, strpbrk(in->picture->since, "0123456789") == in->picture->since
                                      ? " ago: "
                                      : ": ");
                str_text(out, row->change_bytes > 0 ? "+" : "");
                text_size(out, row->change_bytes);
                str_text(out, row->change_blocks > 0 ? " in +" : " in ");
                text_count(out, row->change_blocks, "block");
                str_char(out, '\n');
        }
}

/* Numbers of the run, which a picture of an earlier moment does not have. */
static void add_run(const struct pane_input *in, const struct row *row, struct str *out)
{
        const struct profile_site *site = &in->picture->p->sites[row->site];

        str_format(out, "site #%" PRIu32 ": ", row->site);
        text_count(out, (int64_t)row->allocs, "call");
        str_text(out, " in all");
        if (in->picture->whole && !row->name && site->allocs) {
                str_text(out, ", ");
                text_share(out, (double)site->temporary, (double)site->allocs);
                str_text(out, " of them temporary");
        }
        if (row->growth.class != GROWTH_UNKNOWN) {
                str_text(out, "; ");
                growth_write(&row->growth, out);
        }
        str_char(out, '\n');
}

/* ---- source ---- */

static void add_source_line(uint32_t number, bool here, const char *text, struct str *out)
{
        size_t length = strcspn(text, "\r\n");

        str_format(out, "  %c %6" PRIu32 "  ", here ? '>' : ' ', number);
        for (size_t i = 0, column = 0; i < length; i++, column++) {
                if (text[i] == '\t') {
                        str_format(out, "%*s", (int)(8 - column % 8), "");
                        column += 7 - column % 8;
                } else {
                        str_char(out, text[i]);
                }
        }
        str_char(out, '\n');
}

/* The lines around that of FRAME.  false: there is no text. */
static bool add_source(const struct pane_input *in, const struct symbol_frame *frame,
                       struct str *out)
{
        struct str text = { 0 };
        uint32_t number = 1;
        time_t changed;
        bool found;

        found = frame->file && frame->line && source_read(in->names, frame->file, &text, &changed);
        if (found)
                str_format(out, "\n%s:%" PRIu32 "\n", label_base(frame->file), frame->line);
        for (const char *at = str_get(&text); found && *at && number <= frame->line + PANE_AROUND;
             number++) {
                if (number + PANE_AROUND >= frame->line)
                        add_source_line(number, number == frame->line, at, out);
                at += strcspn(at, "\n");
                at += *at == '\n';
        }
        str_free(&text);
        return found;
}

static void add_sources(const struct pane_input *in, const struct selection *sel, uint32_t node,
                        struct str *out)
{
        struct symbols *s = in->picture->symbols;
        struct wrapper_frame from = select_trim(sel, s, node);
        struct walk w = walk_from(sel->profile, s, from);
        bool whole = !sel->fold || fold_is_outside(sel->fold, from);
        uint32_t shown = 0;

        while (shown < PANE_SOURCES && walk_next(&w))
                if (!sel->fold ||
                    fold_shows(sel->fold, (struct wrapper_frame){ w.node, w.level }, whole))
                        shown += add_source(in, w.frame, out);
        if (!shown)
                str_text(out,
                         "\nThe source text was not found; --debug-path DIR may name where it "
                         "is.\n");
}

void pane_stack(const struct pane_input *in, const struct row *row, struct str *out)
{
        const struct profile *p = in->picture->p;
        struct selection sel = { .profile = p, .wrappers = in->wrappers,
                                 .node_count = p->node_count, .columns = in->columns };

        add_live(in, row, out);
        if (!row->site) {
                str_text(out,
                         "\nThis line is not a single call stack: group by stack, function, file "
                         "or module (g) to see one.\n");
                return;
        }
        add_run(in, row, out);
        str_text(out, row->name ? "\nits largest call stack:\n" : "\n");
        if (in->wrappers)
                sel.fold = fold_new(p, in->picture->symbols, in->wrappers);
        stack_write_site(&sel, in->picture->symbols, p->sites[row->site].node, "  ", out);
        add_sources(in, &sel, p->sites[row->site].node, out);
        fold_free(sel.fold);
}

/* ---- leaks ---- */

bool pane_leaks(const struct pane_input *in, const struct profile *p, struct str *out,
                struct err *e)
{
        struct leaks_options options = { .show = 1u << PROFILE_LEAK_DEFINITE |
                                                 1u << PROFILE_LEAK_INDIRECT |
                                                 1u << PROFILE_LEAK_POSSIBLE };
        struct select_request request = { .cost = SELECT_LIVE, .wrappers = in->wrappers,
                                          .fold = true, .columns = in->columns };
        struct symbols *s = symbols_new(p, in->names);
        struct selection sel;
        struct leaks l;
        bool good = select_make(&sel, p, s, &request, e);

        if (good) {
                leaks_make_usual(&l, &sel, s);
                leaks_text(&l, s, &options, out);
                leaks_free(&l);
        }
        select_free(&sel);
        symbols_free(s);
        return good;
}

/* ---- why ---- */

/* The site of P that is SITE of the picture; 0: it has none. */
static uint32_t find_site(const struct picture *c, const struct profile *p, uint32_t site)
{
        uint32_t *numbers, found = 0;

        if (p == c->p)
                return site;
        numbers = picture_numbers(c->history, p);
        for (uint32_t i = 1; i < p->site_count && !found; i++)
                if (numbers[i] == c->numbers[site])
                        found = i;
        free(numbers);
        return found;
}

bool pane_why(const struct pane_input *in, const struct profile *p, const struct row *row,
              struct str *out, struct err *e)
{
        struct why_options options = { .limit = 10 };
        uint32_t site = row->site ? find_site(in->picture, p, row->site) : 0;
        struct symbols *s;
        struct why w;
        bool good;

        if (!row->site)
                return err_set(e, ERR_EXIT_USAGE,
                               "this line is not a single call stack: group by stack (g)");
        if (!site || !p->sites[site].live_blocks)
                return err_set(e, ERR_EXIT_USAGE, "nothing of this line is live any more");
        if (!why_possible(p, "the recording", e))
                return false;
        s = symbols_new(p, in->names);
        good = why_site(&w, p, s, site, e);
        if (good) {
                why_groups(&w);
                why_text(&w, &options, out);
        }
        why_free(&w);
        symbols_free(s);
        return good;
}

/* ---- help ---- */

void pane_help(unsigned when, struct str *out)
{
        for (const struct keys_help *k = keys_help; k->name; k++)
                if (k->when & when)
                        str_format(out, "  %-*s%s\n", PANE_KEY, k->name, k->text);
        str_text(out, "\n"
                      "LIVE      bytes allocated there and not freed; K, M, G are units of 1024\n"
                      "+-60s     how much more that is than 60 seconds ago, or than what d chose;\n"
                      "          lines that stay positive are what leaks look like\n"
                      "BLOCKS    how many blocks that is\n"
                      "CALLS/s   allocations per second, of the last moment\n"
                      "AVG AGE   how old the live blocks are on average\n"
                      "grows     what is live keeps rising: 'seep help growth' has the rule\n"
                      "\n"
                      "The second line shows the heap over time, and how much is allocated, freed\n"
                      "and added to the heap per second.\n");
}
