/* SPDX-License-Identifier: MIT */
/* why_json.c -- what keeps a block alive, as JSON. */
#include "query/why.h"

#include <inttypes.h>

#include "base/json.h"
#include "export/report_json.h"
#include "query/block_origin.h"

/* Append members of an object: what the block is. */
static void json_block(const struct why *w, uint32_t block, struct str *out)
{
        const struct profile_block b = why_block(w, block);
        struct block_origin block_origin = block_origin_of(w->p, w->s, b.site);

        str_format(out, "\"address\": \"0x%" PRIx64 "\"", b.address);
        json_field(out, ", \"", "size", b.size);
        json_field(out, ", \"", "site", b.site);
        json_text_field(out, ", \"", "function", symbol_name(block_origin.frame));
        json_place(out, block_origin.frame->file, block_origin.frame->line);
}

static void json_text_or_null(const struct str *text, struct str *out)
{
        json_text(out, text->length ? str_get(text) : NULL);
}

static void json_step(const struct why *w, const struct why_step *step, struct str *out)
{
        str_char(out, '{');
        json_block(w, step->block, out);
        str_text(out, ", \"type\": ");
        json_text_or_null(&step->type, out);
        if (step->flags & PROFILE_POINTER_ARENA) {
                str_text(out, ", \"arena\": true");
        } else if (!step->start) {
                json_field(out, ", \"", "offset", step->at);
                str_text(out, ", \"member\": ");
                json_text_or_null(&step->member, out);
                str_format(out, ", \"interior\": %s",
                           step->flags & PROFILE_POINTER_INTERIOR ? "true" : "false");
        }
        json_field(out, ", \"", "left_out", step->left_out);
        str_char(out, '}');
}

static void json_sum(const char *name, struct graph_sum sum, struct str *out)
{
        str_format(out, ",\n \"%s\": ", name);
        json_field(out, "{\"", "blocks", sum.blocks);
        json_field(out, ", \"", "bytes", sum.bytes);
        str_char(out, '}');
}

static void json_path(const struct why *w, struct str *out)
{
        str_text(out, ",\n \"root\": ");
        if (w->root_name.root) {
                str_char(out, '{');
                root_name_json(w->p, &w->root_name, out);
                str_char(out, '}');
        } else {
                str_text(out, "null");
        }
        json_field(out, ",\n \"", "steps", w->length);
        str_text(out, ", \"path\": [");
        for (uint32_t i = 0; i < w->step_count; i++) {
                str_text(out, i ? ",\n  " : "\n  ");
                json_step(w, &w->steps[i], out);
        }
        str_char(out, ']');
}

void why_json(const struct why *w, const struct why_options *o, struct str *out)
{
        json_text_field(out, "{\"seep\": 1, \"", "program", w->p->meta.program);
        json_field(out, ", \"", "pid", w->p->meta.pid);
        str_format(out, ", \"recorded\": %s,\n \"block\": {",
                   profile_is_walked(w->p) ? "false" : "true");
        json_block(w, w->block, out);
        json_field(out, ", \"", "offset", w->offset);
        if (!profile_is_seen(w->p, why_block(w, w->block).site))
                str_text(out, ", \"birth_ms\": null");
        else
                json_field(out, ", \"", "birth_ms", why_block(w, w->block).birth_ms);
        str_format(out, "},\n \"held\": %s, \"leak\": \"%s\"", w->held ? "true" : "false",
                   profile_leak_word(w->leak));
        if (w->head != WHY_NO_BLOCK)
                str_format(out, ", \"head\": \"0x%" PRIx64 "\"", why_block(w, w->head).address);
        json_path(w, out);
        json_sum("retained", w->retained, out);
        json_field(out, ",\n \"", "root_pointers", w->root_pointers);
        if (w->groups) {
                str_text(out, ",\n \"roots\": [");
                for (uint64_t i = 0; i < w->group_count && (!o->limit || i < o->limit); i++) {
                        str_text(out, i ? ",\n  {" : "\n  {");
                        root_name_json(w->p, &w->groups[i].root_name, out);
                        json_field(out, ", \"", "pointers", w->groups[i].pointers);
                        json_field(out, ", \"", "steps", w->groups[i].steps);
                        str_char(out, '}');
                }
                str_char(out, ']');
        }
        if (w->site) {
                json_field(out, ",\n \"site\": {\"", "id", w->site);
                json_field(out, ", \"", "live_blocks", w->site_blocks);
                json_field(out, ", \"", "looked_at", w->site_seen);
                json_field(out, ", \"", "same_owner", w->site_owner);
                json_field(out, ", \"", "alike", w->site_alike);
                str_char(out, '}');
                json_sum("site_retained", w->site_retained, out);
        }
        str_text(out, "}\n");
}
