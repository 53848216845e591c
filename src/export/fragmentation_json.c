/* SPDX-License-Identifier: MIT */
/* fragmentation_json.c -- the heap as a map, as JSON.  Fields may be added, never renamed. */
#include "query/fragmentation.h"

#include <inttypes.h>

#include "base/json.h"
#include "export/report_json.h"
#include "query/block_origin.h"

static void json_sum(const struct fragmentation_sum *s, struct str *out)
{
        json_field(out, "\"", "bytes", s->bytes);
        json_field(out, ", \"", "rss_bytes", s->rss_bytes);
        json_field(out, ", \"", "blocks", s->blocks);
        json_field(out, ", \"", "live_bytes", s->live_bytes);
        json_field(out, ", \"", "overhead_bytes", s->taken_bytes - s->live_bytes);
        json_field(out, ", \"", "own_bytes", s->own_bytes);
        json_field(out, ", \"", "holes", s->holes);
        json_field(out, ", \"", "hole_bytes", s->hole_bytes);
        json_field(out, ", \"", "whole_page_bytes", s->whole_bytes);
        json_field(out, ", \"", "top_bytes", s->top_bytes);
}

static void json_address(const char *before, const char *name, uint64_t address, struct str *out)
{
        str_format(out, "%s\"%s\": \"0x%" PRIx64 "\"", before, name, address);
}

static void json_heaps(const struct fragmentation *f, struct str *out)
{
        str_text(out, ",\n \"heaps\": [");
        for (uint32_t i = 0; i < f->heap_count; i++) {
                str_text(out, i ? ",\n  {" : "\n  {");
                json_address("", "start", f->heaps[i].mapping->start, out);
                json_address(", ", "end", f->heaps[i].mapping->end, out);
                json_text_field(out, ", \"", "arena",
                                f->heaps[i].keeper == PROFILE_KEEPER_HEAP ? "main" : "threads");
                str_text(out, ", ");
                json_sum(&f->heaps[i].sum, out);
                str_char(out, '}');
        }
        str_char(out, ']');
}

static void json_holes(const struct fragmentation *f, uint64_t limit, struct str *out)
{
        str_text(out, ",\n \"holes\": [");
        for (uint64_t i = 0; i < f->hole_count && (!limit || i < limit); i++) {
                const struct fragmentation_hole *h = &f->holes[i];
                const struct profile_block *b = &h->block;

                str_text(out, i ? ",\n  {" : "\n  {");
                json_address("", "address", h->start, out);
                json_field(out, ", \"", "bytes", h->end - h->start);
                json_field(out, ", \"", "blocks_above", h->above);
                json_field(out, ", \"", "bytes_above", h->above_bytes);
                json_address(", \"block\": {", "address", b->address, out);
                json_field(out, ", \"", "bytes", b->size);
                json_field(out, ", \"", "site", b->site);
                str_text(out, "}}");
        }
        str_char(out, ']');
}

static void json_sites(const struct fragmentation *f, struct symbols *s, uint64_t limit,
                       struct str *out)
{
        str_text(out, ",\n \"sites\": [");
        for (uint32_t i = 0; i < f->site_count && (!limit || i < limit); i++) {
                const struct fragmentation_site *site = &f->sites[i];
                struct block_origin origin = block_origin_of(f->p, s, site->site);

                json_field(out, i ? ",\n  {\"" : "\n  {\"", "id", site->site);
                json_text_field(out, ", \"", "function", origin.frame->function);
                json_place(out, origin.frame->file, origin.frame->line);
                json_field(out, ", \"", "blocks", site->blocks);
                json_field(out, ", \"", "live_bytes", site->live_bytes);
                json_field(out, ", \"", "overhead_bytes", site->taken_bytes - site->live_bytes);
                json_field(out, ", \"", "pinned_bytes", site->pinned_bytes);
                str_char(out, '}');
        }
        str_char(out, ']');
}

static void json_sizes(const struct fragmentation *f, struct str *out)
{
        const char *before = "\n  {\"";

        str_text(out, ",\n \"sizes\": [");
        for (uint32_t i = 0; i < FRAGMENTATION_CLASSES; i++) {
                const struct fragmentation_class *class = &f->classes[i];

                if (!class->blocks && !class->holes)
                        continue;
                json_field(out, before, "up_to", 32ull << i);
                json_field(out, ", \"", "blocks", class->blocks);
                json_field(out, ", \"", "live_bytes", class->live_bytes);
                json_field(out, ", \"", "overhead_bytes", class->taken_bytes - class->live_bytes);
                json_field(out, ", \"", "holes", class->holes);
                json_field(out, ", \"", "hole_bytes", class->hole_bytes);
                str_char(out, '}');
                before = ",\n  {\"";
        }
        str_char(out, ']');
}

void fragmentation_json(const struct fragmentation *f, struct symbols *s, uint64_t limit,
                        struct str *out)
{
        json_text_field(out, "{\"seep\": 1, \"", "program", f->p->meta.program);
        json_field(out, ", \"", "pid", f->p->meta.pid);
        str_format(out, ", \"exact\": %s", f->exact ? "true" : "false");
        str_text(out, ",\n \"total\": {");
        json_sum(&f->all, out);
        str_char(out, '}');
        json_field(out, ",\n \"", "mapped_bytes", f->mapped_bytes);
        json_field(out, ", \"", "unrecorded_bytes", f->unrecorded_bytes);
        json_heaps(f, out);
        json_holes(f, limit, out);
        json_sites(f, s, limit, out);
        json_sizes(f, out);
        str_text(out, "}\n");
}
