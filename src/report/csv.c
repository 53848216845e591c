/* SPDX-License-Identifier: MIT */
/*
 * csv.c -- tables for programs: RFC 4180, with a line of names first.
 *
 * Room:   outside.
 */
#include "report/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/stack.h"

void csv_text(struct str *out, const char *text)
{
        bool quoted = text && strpbrk(text, ",\"\r\n");

        if (quoted)
                str_char(out, '"');
        for (; text && *text; text++) {
                if (*text == '"')
                        str_char(out, '"');
                str_char(out, *text);
        }
        str_text(out, quoted ? "\"," : ",");
}

void csv_number(struct str *out, uint64_t value)
{
        str_format(out, "%" PRIu64 ",", value);
}

void csv_signed(struct str *out, int64_t value)
{
        str_format(out, "%" PRId64 ",", value);
}

void csv_stack(const struct selection *sel, struct symbols *s, struct wrapper_frame from, struct str *out)
{
        struct str lines = { 0 };
        char *end;

        stack_write(sel, s, from, "", &lines);
        for (end = lines.data; end && *end; end++)
                if (*end == '\n')
                        *end = end[1] ? ';' : 0;
        csv_text(out, lines.data);
        str_free(&lines);
}

/* The comma of the last field gives way. */
void csv_end(struct str *out)
{
        out->length--;
        str_text(out, "\r\n");
}

void csv_names(struct str *out, const char *names)
{
        str_text(out, names);
        str_text(out, "\r\n");
}

/* A number, or nothing where it is not known. */
static void csv_known(struct str *out, bool known, uint64_t value)
{
        if (known)
                csv_signed(out, (int64_t)value);
        else
                csv_text(out, NULL);
}

static void csv_row(const struct selection *sel, struct symbols *s, const struct select_row *row, struct str *out)
{
        bool of_time = sel->moment == SELECT_OF_TIME || sel->moment == SELECT_OF_RANGE;
        bool of_all = !of_time && sel->moment != SELECT_OF_THREADS;

        csv_number(out, row->site);
        csv_text(out, profile_kind_name(sel->profile, row->kind));
        csv_signed(out, (int64_t)row->live_bytes);
        csv_signed(out, (int64_t)row->live_blocks);
        csv_known(out, of_all, row->peak_bytes);
        csv_known(out, of_all, row->peak_blocks);
        csv_signed(out, (int64_t)row->alloc_bytes);
        csv_signed(out, (int64_t)row->allocs);
        csv_signed(out, (int64_t)row->frees);
        csv_known(out, !of_time, row->temporary);
        csv_known(out, of_all, row->lifetime_ms);
        csv_stack(sel, s, (struct wrapper_frame){ row->node, row->level }, out);
        csv_end(out);
}

static void csv_part(const struct selection *sel, const struct select_part *part, struct symbols *s,
                     const struct flat_options *options, struct str *out)
{
        uint32_t count;
        const struct select_row **rows = flat_order(sel, part, options, &count);

        for (uint32_t i = 0; i < count && (!options->limit || i < options->limit); i++)
                csv_row(sel, s, rows[i], out);
        free(rows);
}

void csv_write(const struct selection *sel, struct symbols *s, const struct flat_options *options, struct str *out)
{
        csv_names(out, "site,kind,live_bytes,live_blocks,peak_bytes,peak_blocks,alloc_bytes,allocs,frees,temporary,"
                       "lifetime_ms,stack");
        csv_part(sel, &sel->heap, s, options, out);
        csv_part(sel, &sel->mapped, s, options, out);
}
