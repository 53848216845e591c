/* SPDX-License-Identifier: MIT */
/*
 * pprof.c -- all costs of all stacks as pprof's profile.proto: one protobuf message, packed by gzip.
 *
 * Room:   outside.
 * Keeps:  string 0 is "".  Ids are indices + 1.  Stacks are innermost first, and so are functions inlined at an address.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/heap.h"
#include "export/export.h"
#include "export/portions.h"
#include "export/stacks.h"
#include "export/strings.h"
#include "words/label.h"

enum { PPROF_LEVEL = 3 }; /* of gzip: 2 % larger than the usual 6, in a third of the time */

/* Numbers of the fields, by message. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING,
       PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER, LABEL_UNIT };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS,
       MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINES };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct pprof {
        const struct export_input *in;
        struct stacks stacks; /* by address: frame i is location i + 1 */
        struct strings texts;
        struct function_table functions; /* the number is the id */
        uint32_t *mappings;              /* by module: the id; 0 not met */
        uint32_t mapping_count;
        struct str message, part, inner, text; /* the whole, and what is being made for it */
};

/* ---- the wire ---- */

static void put_number(struct str *out, unsigned field, uint64_t value)
{
        if (!value)
                return; /* what is left out is zero */
        str_varint(out, field << 3);
        str_varint(out, value);
}

static void put_bytes(struct str *out, unsigned field, const char *bytes, size_t count)
{
        str_varint(out, field << 3 | 2);
        str_varint(out, count);
        str_bytes(out, bytes, count);
}

/* A message that is done goes into the one around it. */
static void put_message(struct str *out, unsigned field, struct str *message)
{
        put_bytes(out, field, str_get(message), message->length);
        str_clear(message);
}

/* ---- texts ---- */

static uint32_t text_of(struct pprof *w, const char *text)
{
        str_clear(&w->text);
        stacks_plain_text(text ? text : "", "", 0, &w->text);
        return strings_number(&w->texts, str_get(&w->text));
}

static void put_type(struct pprof *w, unsigned field, const char *type, const char *unit)
{
        put_number(&w->part, TYPE_TYPE, text_of(w, type));
        put_number(&w->part, TYPE_UNIT, text_of(w, unit));
        put_message(&w->message, field, &w->part);
}

static void put_comment(struct pprof *w, const char *text)
{
        put_number(&w->message, PROFILE_COMMENT, text_of(w, text));
}

/* ---- code ---- */

static void build_id(const struct profile_module *module, struct str *out)
{
        for (uint32_t i = 0; i < module->build_id_bytes && i < sizeof module->build_id; i++)
                str_format(out, "%02x", module->build_id[i]);
}

/* All names that are known are in the profile: nobody shall look for others. */
static uint32_t mapping_of(struct pprof *w, uint32_t index)
{
        const struct profile *p = w->in->profile;
        const struct profile_module *module = &p->modules[index];
        struct str id = { 0 };

        if (index >= p->module_count)
                return 0;
        if (w->mappings[index])
                return w->mappings[index];
        w->mappings[index] = ++w->mapping_count;
        build_id(module, &id);
        put_number(&w->inner, MAPPING_ID, w->mapping_count);
        put_number(&w->inner, MAPPING_START, module->start);
        put_number(&w->inner, MAPPING_LIMIT, module->end);
        put_number(&w->inner, MAPPING_FILE, text_of(w, module->path));
        put_number(&w->inner, MAPPING_BUILD_ID, text_of(w, str_get(&id)));
        for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINES; has++)
                put_number(&w->inner, has, 1);
        put_message(&w->message, PROFILE_MAPPING, &w->inner);
        str_free(&id);
        return w->mappings[index];
}

/* The first mapping stands for the program. */
static void put_program(struct pprof *w)
{
        const struct profile *p = w->in->profile;

        for (uint32_t i = 0; i < p->module_count; i++)
                if (p->modules[i].path && p->meta.exe && strcmp(p->modules[i].path, p->meta.exe) == 0) {
                        mapping_of(w, i);
                        return;
                }
        if (p->module_count)
                mapping_of(w, 0);
}

static uint64_t function_of(struct pprof *w, uint32_t node, const struct symbol_frame *frame)
{
        const struct symbol_frame whole = { .function = frame->function, .file = frame->file };
        uint32_t before = w->functions.count, id = function_number(&w->functions, w->in->profile, node, &whole);
        struct str name = { 0 };
        uint32_t text;

        if (id <= before)
                return id;
        label_function(w->in->profile, node, frame, &name);
        text = text_of(w, str_get(&name));
        put_number(&w->inner, FUNCTION_ID, id);
        put_number(&w->inner, FUNCTION_NAME, text);
        put_number(&w->inner, FUNCTION_SYSTEM_NAME, text);
        put_number(&w->inner, FUNCTION_FILE, text_of(w, frame->file));
        put_message(&w->message, PROFILE_FUNCTION, &w->inner);
        str_free(&name);
        return id;
}

static void put_location(struct pprof *w, uint32_t frame)
{
        const struct stacks_frame *f = &w->stacks.frames[frame];
        const struct profile_node *n = &w->in->profile->nodes[f->node];
        const struct symbol_frame *names = f->names;
        uint32_t count = f->node > 1 ? symbols_node(w->in->symbols, f->node, &names) : 1;

        put_number(&w->part, LOCATION_ID, frame + 1);
        put_number(&w->part, LOCATION_MAPPING, f->node > 1 ? mapping_of(w, n->module) : 0);
        put_number(&w->part, LOCATION_ADDRESS, f->node > 1 ? n->pc - !n->exact : 0);
        for (uint32_t i = 0; i < count; i++) {
                uint64_t function = function_of(w, f->node, &names[i]);

                put_number(&w->inner, LINE_FUNCTION, function);
                put_number(&w->inner, LINE_LINE, names[i].line);
                put_message(&w->part, LOCATION_LINE, &w->inner);
        }
        put_message(&w->message, PROFILE_LOCATION, &w->part);
}

/* ---- samples ---- */

static int count_values(const struct pprof *w)
{
        return w->in->usual ? COST_LIVE_BYTES + 1 : COST_COUNT;
}

static void put_text_label(struct pprof *w, const char *key, const char *text)
{
        put_number(&w->inner, LABEL_KEY, text_of(w, key));
        put_number(&w->inner, LABEL_TEXT, text_of(w, text));
        put_message(&w->part, SAMPLE_LABEL, &w->inner);
}

static void put_thread(struct pprof *w, const struct profile_thread *thread)
{
        char number[16];

        snprintf(number, sizeof number, "%" PRIu32, thread->tid);
        put_text_label(w, "thread", thread->name && *thread->name ? thread->name : number);
}

/* As Go does it: the size of the blocks, on the average. */
static void put_size(struct pprof *w, const struct costs *costs)
{
        int64_t blocks = (int64_t)costs->of[COST_ALLOC_COUNT], bytes = (int64_t)costs->of[COST_ALLOC_BYTES];

        if (blocks <= 0 || bytes < blocks)
                return;
        put_number(&w->inner, LABEL_KEY, text_of(w, "bytes"));
        put_number(&w->inner, LABEL_NUMBER, (uint64_t)(bytes / blocks));
        put_number(&w->inner, LABEL_UNIT, text_of(w, "bytes"));
        put_message(&w->part, SAMPLE_LABEL, &w->inner);
}

static void put_sample(struct pprof *w, const struct portion *portion)
{
        const struct profile *p = w->in->profile;
        const struct select_row *row = &w->in->sel->heap.rows[portion->row];

        for (uint32_t at = w->stacks.ends[portion->row]; at; at = w->stacks.nodes[at].parent)
                str_varint(&w->inner, (uint64_t)w->stacks.nodes[at].frame + 1);
        put_message(&w->part, SAMPLE_LOCATIONS, &w->inner);
        for (int i = 0; i < count_values(w); i++)
                str_varint(&w->inner, portion->costs.of[i]);
        put_message(&w->part, SAMPLE_VALUES, &w->inner);
        if (portion->thread)
                put_thread(w, &p->threads[portion->thread]);
        put_size(w, &portion->costs);
        put_text_label(w, "kind", profile_kind_name(p, row->kind));
        put_message(&w->message, PROFILE_SAMPLE, &w->part);
}

static void put_samples(struct pprof *w)
{
        struct portions portions;

        portions_make(&portions, &w->stacks.source);
        for (uint32_t i = 0; i < portions.count; i++)
                put_sample(w, &portions.at[i]);
        portions_free(&portions);
}

/* ---- the whole ---- */

static void put_types(struct pprof *w)
{
        enum cost_kind first = w->in->cost_set ? w->in->cost : COST_LIVE_BYTES;
        uint64_t sampled = w->in->profile->totals.sample_bytes;

        for (int i = 0; i < count_values(w); i++)
                put_type(w, PROFILE_SAMPLE_TYPE, cost_names[i].pprof, cost_names[i].unit);
        put_number(&w->message, PROFILE_DEFAULT_TYPE, text_of(w, cost_names[first].pprof));
        put_type(w, PROFILE_PERIOD_TYPE, "space", "bytes");
        put_number(&w->message, PROFILE_PERIOD, sampled ? sampled : 1);
}

/* Equal types make profiles comparable (-diff_base), so all are there; what the zeros mean is told. */
static void put_unknown(struct pprof *w)
{
        struct str text = { 0 };

        for (int i = 0; i < count_values(w); i++)
                if (!w->stacks.source.known[i])
                        str_format(&text, "%s%s", text.length ? ", " : "not known, not zero: ", cost_names[i].pprof);
        if (text.length)
                put_comment(w, str_get(&text));
        str_free(&text);
}

static void put_comments(struct pprof *w)
{
        const struct profile_meta *m = &w->in->profile->meta;
        const struct selection *sel = w->in->sel;
        struct str text = { 0 };

        put_comment(w, "seep " SEEP_VERSION);
        for (uint32_t i = 0; i < m->arg_count; i++)
                str_format(&text, "%s%s", i ? " " : "command: ", m->args[i]);
        put_comment(w, str_get(&text));
        str_clear(&text);
        if (sel->when[0])
                str_format(&text, "%s: %s", sel->moment == SELECT_OF_RANGE ? "range" : "moment", sel->when);
        else if (sel->moment == SELECT_OF_PEAK)
                str_text(&text, "moment: inuse_* is of the peak");
        if (text.length)
                put_comment(w, str_get(&text));
        put_unknown(w);
        str_free(&text);
}

static void pprof_write(struct pprof *w)
{
        const struct profile_meta *m = &w->in->profile->meta;

        strings_number(&w->texts, "");
        put_types(w);
        put_program(w);
        for (uint32_t i = 0; i < w->stacks.frame_count; i++)
                put_location(w, i);
        put_samples(w);
        put_number(&w->message, PROFILE_TIME_NANOS, m->start_realtime_ns);
        put_number(&w->message, PROFILE_DURATION_NANOS, m->duration_ms * 1000000);
        put_comments(w);
        for (uint32_t i = 0; i < w->texts.count; i++)
                put_bytes(&w->message, PROFILE_STRING, w->texts.at[i], strlen(w->texts.at[i]));
}

bool export_pprof(const struct export_input *in, struct str *out, struct err *e)
{
        struct pprof w = { .in = in };
        enum cost_kind cost;
        bool good;

        w.mappings = heap_zero(in->profile->module_count, sizeof *w.mappings);
        stacks_make(&w.stacks, in, STACKS_BY_ADDRESS);
        good = export_cost(in, &w.stacks.source, &cost, e);
        if (good) {
                pprof_write(&w);
                gzip_pack(str_get(&w.message), w.message.length, PPROF_LEVEL, out);
        }
        stacks_free(&w.stacks);
        strings_free(&w.texts);
        function_free(&w.functions);
        free(w.mappings);
        str_free(&w.message);
        str_free(&w.part);
        str_free(&w.inner);
        str_free(&w.text);
        return good;
}
