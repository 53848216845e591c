/* SPDX-License-Identifier: MIT */
/* why_text.c -- what keeps a block alive, as text. */
#include "query/why.h"

#include <inttypes.h>
#include <string.h>

#include "query/block_origin.h"
#include "report/views.h"
#include "words/shorten.h"
#include "words/text.h"

enum {
        WHY_COLUMNS = 80,
        WHY_TYPE = 20,        /* column where the type of a step's block begins */
        WHY_WAY = 24,         /* a member that ends beyond is on a line of its own,
                               * unless all is to be whole */
        WHY_ADDRESS = 64,     /* column where its address begins */
        WHY_MAKER = 24,       /* columns of who made it at least ... */
        WHY_MAKER_SHORT = 16, /* ... and when the line must fit */
        WHY_TYPE_LEAST = 12,  /* columns of a type at least, and at most */
        WHY_NAME = 28,
        WHY_INSIDE = 9        /* " (inside)" */
};

/* Go to COLUMN of the line that begins at byte START, past a gap. */
static void go_to(struct str *out, size_t start, size_t column)
{
        if (text_columns(out, start) + 2 > column)
                str_text(out, "  ");
        text_pad(out, start, column);
}

/* Append TEXT in at most COLUMNS columns: of a longer one, the middle is left out. */
static void add_ends(const struct str *text, size_t columns, struct str *out)
{
        const char *all = str_get(text);
        size_t kept = columns > strlen("...") ? columns - strlen("...") : 0, front = kept / 2,
               back = kept - front;

        if (text->length <= columns) {
                str_text(out, all);
                return;
        }
        while (front && (all[front] & 0xc0) == 0x80) /* inside a character */
                front--;
        while (back && (all[text->length - back] & 0xc0) == 0x80)
                back--;
        str_bytes(out, all, front);
        str_text(out, "...");
        str_text(out, all + text->length - back);
}

/* Columns for the type of a block of SIZE bytes on the line that begins at byte START. */
static size_t type_room(const struct str *out, size_t start, uint64_t size)
{
        struct str number = { 0 };
        size_t used = text_columns(out, start) + strlen(", ") + strlen(" B, ") + WHY_MAKER_SHORT,
               room;

        text_number(&number, (int64_t)size);
        used += number.length;
        str_free(&number);
        room = used + WHY_TYPE_LEAST < WHY_ADDRESS - 2 ? WHY_ADDRESS - 2 - used : WHY_TYPE_LEAST;
        return room < WHY_NAME ? room : WHY_NAME;
}

/* COLUMNS: 0 no limit. */
static void add_type(const struct why_step *step, size_t columns, struct str *out)
{
        struct str type = { 0 };

        if (!step->type.length)
                return;
        str_text(&type, str_get(&step->type));
        if (columns)
                shorten_name(&type, columns);
        str_format(out, "%s, ", str_get(&type));
        str_free(&type);
}

/* Append "48 B, node_new [list.c:20]" and the address to the line that begins at byte START. */
static void add_block(const struct why *w, uint32_t block, size_t start, bool whole,
                      struct str *out)
{
        const struct profile_block found = why_block(w, block), *b = &found;
        size_t used, least = whole ? WHY_MAKER : WHY_MAKER_SHORT;

        text_number(out, (int64_t)b->size);
        str_text(out, " B, ");
        used = text_columns(out, start);
        block_origin_write(w->p, block_origin_of(w->p, w->s, b->site),
                           used + least + 2 < WHY_ADDRESS ? WHY_ADDRESS - 2 - used : least, out);
        go_to(out, start, WHY_ADDRESS);
        str_format(out, "0x%" PRIx64 "\n", b->address);
}

/* ---- the path ---- */

static void write_left_out(const struct why_step *step, bool whole, struct str *out)
{
        size_t start = out->length, used;

        str_text(out, "     ... ");
        text_number(out, (int64_t)step->left_out);
        str_format(out, " more step%s", step->left_out == 1 ? "" : "s");
        if (step->alike)
                str_text(out, " of the same kind (");
        used = text_columns(out, start);
        if (step->alike && step->member.length)
                add_ends(&step->member, whole ? step->member.length : WHY_COLUMNS - 1 - used, out);
        else if (step->alike)
                str_format(out, "+0x%" PRIx64, step->at);
        str_text(out, step->alike ? ")\n" : "\n");
}

/* Where in the root the first pointer is; registers, and places that have no better name, are
 * told by the root's own line. */
static bool offset_tells(const struct root_name *h)
{
        uint32_t kind = h->root->kind;

        return h->variable.name || (kind != PROFILE_ROOT_REGISTER && kind != PROFILE_ROOT_STACK &&
                                    kind != PROFILE_ROOT_DATA);
}

static void write_step(const struct why *w, const struct why_step *step,
                       const struct why_options *o, struct str *out)
{
        size_t start;

        if (step->left_out)
                write_left_out(step, o->whole_names, out);
        start = out->length;
        str_text(out, "  ");
        if (!step->start) {
                str_text(out, "-> ");
                if (step->flags & PROFILE_POINTER_ARENA)
                        str_text(out, "a part of ");
                else if (step->from_block || (step->at && offset_tells(&w->root_name)))
                        str_format(out, "+0x%" PRIx64 " ", step->at);
                text_color(out, o->color, TEXT_CYAN);
                add_ends(&step->member,
                         o->whole_names ? step->member.length
                                        : WHY_COLUMNS - WHY_INSIDE - text_columns(out, start),
                         out);
                text_plain(out, o->color);
                if (step->flags & PROFILE_POINTER_INTERIOR)
                        str_text(out, " (inside)");
                if (!o->whole_names && text_columns(out, start) + 2 > WHY_WAY) {
                        str_char(out, '\n');
                        start = out->length;
                }
                go_to(out, start, WHY_TYPE);
        }
        add_type(step,
                 o->whole_names ? 0 : type_room(out, start, why_block(w, step->block).size), out);
        add_block(w, step->block, start, o->whole_names, out);
}

/* ---- sentences ---- */

static void write_block(const struct why *w, struct str *out)
{
        const struct profile_block found = why_block(w, w->block), *b = &found;

        if (w->offset)
                str_format(out,
                           "0x%" PRIx64 " is 0x%" PRIx64 " bytes into 0x%" PRIx64 ", a block of ",
                           b->address + w->offset, w->offset, b->address);
        else
                str_format(out, "0x%" PRIx64 ": ", b->address);
        text_count(out, (int64_t)b->size, "byte");
        if (!profile_is_seen(w->p, b->site)) {
                str_format(out, "%s, site #%" PRIu32 "\n",
                           profile_is_older(w->p, b->site) ? ", " PROFILE_KIND_OLDER_TEXT : "",
                           b->site);
                return;
        }
        str_text(out, ", allocated at ");
        text_time(out, b->birth_ms);
        str_text(out, " by\n  ");
        block_origin_calls(w->p, w->s, b->site, WHY_COLUMNS - 14, out);
        str_format(out, " (site #%" PRIu32 ")\n", b->site);
}

static void write_site(const struct why *w, struct str *out)
{
        if (w->place && w->place_sites > 1) {
                text_count(out, (int64_t)w->place_sites, "site");
                str_format(out, " with live blocks come from %s; this one has most:\n", w->place);
        }
        str_format(out, "site #%" PRIu32 ": ", w->site);
        text_count(out, (int64_t)w->site_blocks, "live block");
        if (w->site_seen < w->site_blocks) {
                str_text(out, ", of which ");
                text_number(out, (int64_t)w->site_seen);
                str_text(out, " were examined");
        }
        if (w->site_owner > w->site_alike) {
                str_text(out, ";\n");
                text_number(out, (int64_t)w->site_owner);
                str_text(out, " have the same owner, of them ");
        } else {
                str_text(out, "; ");
        }
        if (w->site_alike == w->site_blocks)
                str_text(out, w->site_blocks == 1 ? "this one" : "all of them");
        else
                text_number(out, (int64_t)w->site_alike);
        str_format(out, " %s %s like this:\n", w->site_alike == 1 ? "is" : "are",
                   w->held ? "held" : "lost");
}

void why_class(const struct why *w, int color, struct str *out)
{
        if (w->leak == PROFILE_LEAK_POSSIBLE)
                str_text(out, "possibly lost: only pointers into the middle of blocks hold it\n");
        else if (w->held && !w->length)
                str_text(out,
                         "still reachable, but through memory that is not recorded: the path is "
                         "not known\n");
        else if (w->held && w->root_name.root && !w->root_name.variable.name &&
                 graph_rank(w->root_name.root->kind) == GRAPH_PASSING)
                str_text(out,
                         "no variable holds it; its address is still in use, or left over from "
                         "earlier, in:\n");
        else if (w->held && !w->root_name.root)
                str_text(out, "held, because the program said so with SEEP_IGNORE:\n");
        if (w->held)
                return;
        text_color(out, color, TEXT_RED);
        str_format(out, "nothing holds it: %s",
                   w->leak == PROFILE_LEAK_UNKNOWN ? "lost" : profile_leak_text(w->leak));
        text_plain(out, color);
        if (w->head != WHY_NO_BLOCK) {
                str_text(out, ", with a block that is definitely lost:\n");
                return;
        }
        if (w->lost_pointers) {
                str_text(out, " (");
                text_count(out, (int64_t)w->lost_pointers, "pointer");
                str_text(out, " in lost blocks only)");
        }
        str_char(out, '\n');
}

static void write_sum(const char *what, struct graph_sum sum, struct str *out)
{
        str_text(out, what);
        text_size(out, (int64_t)sum.bytes);
        str_text(out, " in ");
        text_count(out, (int64_t)sum.blocks, "block");
}

static void write_groups(const struct why *w, const struct why_options *o, struct str *out)
{
        uint64_t shown = o->limit && o->limit < w->group_count ? o->limit : w->group_count;

        text_count(out, (int64_t)w->root_pointers, "root pointer");
        str_text(out, w->root_pointers == 1 ? " leads to it" : " lead to it");
        if (!w->groups) {
                str_text(out, w->root_pointers > 1 ? " (--all lists them)\n" : "\n");
                return;
        }
        str_format(out, "\n\n%11s%11s  in\n", "pointers", "steps");
        for (uint64_t i = 0; i < shown; i++) {
                text_cell(out, 11, w->groups[i].pointers, text_number);
                text_cell(out, 11, w->groups[i].steps, text_number);
                str_text(out, "  ");
                root_name_owner(w->p, w->s, &w->groups[i].root_name, out);
                str_char(out, '\n');
        }
        if (shown < w->group_count)
                str_format(out, "%" PRIu64 " more (-n %" PRIu32 ")\n", w->group_count - shown,
                           o->limit);
}

void why_text(const struct why *w, const struct why_options *o, struct str *out)
{
        if (w->site)
                write_site(w, out);
        write_block(w, out);
        str_char(out, '\n');
        why_class(w, o->color, out);
        if (w->root_name.root) {
                text_color(out, o->color, TEXT_BOLD);
                root_name_write(w->p, w->s, &w->root_name, out);
                text_plain(out, o->color);
                str_char(out, '\n');
        }
        for (uint32_t i = 0; i < w->step_count; i++)
                write_step(w, &w->steps[i], o, out);
        if (w->step_count || !w->held)
                str_char(out, '\n');
        write_sum(w->held ? "would free " : "lost with it: ", w->retained, out);
        str_text(out, w->held ? " if it went away\n" : ", itself included\n");
        if (w->site && w->site_blocks > 1 && w->held) {
                write_sum("all of the site: would free ", w->site_retained, out);
                str_text(out, " if they went away\n");
        }
        if (w->held && w->root_pointers)
                write_groups(w, o, out);
}
