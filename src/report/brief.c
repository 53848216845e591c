/* SPDX-License-Identifier: MIT */
#include "report/brief.h"

#include <inttypes.h>
#include <string.h>

#include "query/walk.h"
#include "words/label.h"
#include "words/shorten.h"

enum { BRIEF_NAME = 16 }; /* columns of a shortened name at least */

/* Columns that are left of the line that begins at START. */
static size_t brief_left(const struct brief *b, size_t start, size_t reserved)
{
        size_t used = b->out->length - start + reserved, all = b->columns ? b->columns : BRIEF_COLUMNS;

        return used < all ? all - used : 0;
}

/* Append " <- NAME PLACE" as far as it fits. */
static void brief_caller(struct brief *b, struct str *name, const struct str *place, size_t start)
{
        const size_t arrow = strlen(" <- "), left = brief_left(b, start, b->reserved);

        if (arrow + name->length + place->length <= left)
                str_format(b->out, " <- %s%s", str_get(name), str_get(place));
        else if (left >= arrow && (arrow + name->length <= left || left >= arrow + BRIEF_NAME) &&
                 shorten_name(name, left - arrow))
                str_format(b->out, " <- %s", str_get(name));
}

/* Append to the line that begins at START "function file:line", or " <- " with that of a CALLER.  BARE: no place. */
static void brief_frame(struct brief *b, uint32_t node, const struct symbol_frame *frame, size_t start, bool caller,
                          bool bare)
{
        struct str name = { 0 }, place = { 0 };
        size_t left = brief_left(b, start, 0);

        label_short(b->profile, node, frame, &name);
        if (frame->file && frame->line && !bare)
                str_format(&place, " %s:%" PRIu32, label_base(frame->file), frame->line);
        label_object(b->profile, node, false, &place);
        if (caller) {
                brief_caller(b, &name, &place, start);
        } else {
                if (frame->function)
                        shorten_name(&name, left > place.length + BRIEF_NAME ? left - place.length : BRIEF_NAME);
                str_format(b->out, "%s%s", str_get(&name), str_get(&place));
        }
        str_free(&name);
        str_free(&place);
}

/* Whether the C library's function at W was called by others than start code.  false, too: it is none. */
static bool brief_has_user(const struct brief *b, struct walk w)
{
        bool libc = label_in_libc(b->profile, w.node);

        while (libc && walk_next(&w))
                if (!label_in_libc(b->profile, w.node))
                        return true;
        return false;
}

static bool brief_passes(const struct brief *b, const struct symbol_frame *frame)
{
        enum { BRIEF_PASSED = 1, BRIEF_SHOWN };
        uint32_t *known = b->known && frame->function ? verdicts_of(b->known, frame->function) : NULL;

        if (!known)
                return wrapper_or_library(frame);
        if (!*known)
                *known = wrapper_or_library(frame) ? BRIEF_PASSED : BRIEF_SHOWN;
        return *known == BRIEF_PASSED;
}

uint32_t brief_places(const struct brief *b, uint32_t node, struct brief_place places[BRIEF_PLACES])
{
        struct wrapper_frame last = { 0 };
        struct walk w = walk_own(b->profile, b->symbols, node);
        uint32_t shown = 0;

        while (shown < BRIEF_PLACES && walk_next(&w)) {
                last = (struct wrapper_frame){ w.node, w.level };
                if (brief_passes(b, w.frame) || (shown && places[0].bare && label_in_libc(b->profile, w.node)))
                        continue;
                places[shown] = (struct brief_place){ w.node, w.level, !shown && brief_has_user(b, w) };
                shown++;
                if (w.frame->function && strcmp(w.frame->function, "main") == 0)
                        break;
        }
        if (!shown && last.node) /* nothing but the library: its outermost function */
                places[shown++] = (struct brief_place){ last.node, last.level, false };
        return shown;
}

void brief_stack(struct brief *b, uint32_t node, size_t start)
{
        struct brief_place places[BRIEF_PLACES];
        uint32_t count = brief_places(b, node, places);
        const struct symbol_frame *frames;

        for (uint32_t i = 0; i < count; i++) {
                symbols_node(b->symbols, places[i].node, &frames);
                brief_frame(b, places[i].node, &frames[places[i].level], start, i > 0, places[i].bare);
                if (places[i].bare) /* the place of its caller is the only one: more than what else wants room */
                        b->reserved = 0;
        }
        if (!count) {
                while (node > 1)
                        node = b->profile->nodes[node].parent;
                label_function(b->profile, node, &(struct symbol_frame){ 0 }, b->out);
        }
}
