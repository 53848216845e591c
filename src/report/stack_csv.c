/* SPDX-License-Identifier: MIT */
#include "report/stack_csv.h"

#include <string.h>

#include "base/plain.h"
#include "words/csv.h"
#include "words/label.h"

/* An apostrophe in front of what begins at byte START. */
static void csv_shield(struct str *out, size_t start)
{
        str_char(out, 0);
        memmove(out->data + start + 1, out->data + start, out->length - start - 1);
        out->data[start] = '\'';
}

/* Quotes are doubled as they come. */
static void csv_line(const struct stack_writer *w, uint32_t node, const struct symbol_frame *frame)
{
        size_t start = w->out->length;
        char *quote;

        label_frame(w->sel->profile, node, frame, w->out);
        plain_output(w->out, start, false);
        if (csv_computes(str_get(w->out) + start)) /* any frame may be the first of a cell */
                csv_shield(w->out, start);
        str_text(w->out, frame->inlined ? " (inlined);" : ";");
        quote = memchr(w->out->data + start, '"', w->out->length - start);
        if (quote) {
                struct str rest = { 0 };

                str_text(&rest, quote);
                w->out->length = (size_t)(quote - w->out->data);
                for (const char *c = str_get(&rest); *c; c++)
                        str_text(w->out, *c == '"' ? "\"\"" : (char[]){ *c, 0 });
                str_free(&rest);
        }
}

void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s, struct str *out)
{
        stack_start(w, sel, s, "", out);
        w->line = csv_line;
        w->cut_off = "(cut off here: code without unwind tables);";
}

void csv_stack(struct stack_writer *w, struct wrapper_frame from)
{
        str_char(w->out, '"');
        stack_add(w, from);
        w->out->data[w->out->length - 1] = '"'; /* where the last separator was */
        str_char(w->out, ',');
}

void csv_moment(struct str *out, const struct selection *sel)
{
        struct str word = { 0 };

        if (sel->moment == SELECT_OF_RANGE) {
                moment_word(sel->profile, &sel->from, &word);
                str_text(&word, "..");
                moment_word(sel->profile, &sel->to, &word);
        } else {
                moment_word(sel->profile, &sel->at, &word);
        }
        csv_text(out, str_get(&word));
        str_free(&word);
}
