/* SPDX-License-Identifier: MIT */
/*
 * json.c -- the machine-readable report, version 1.
 *
 * Room:   outside.
 * Cost:   130,000 stacks of 42 frames, 100 MB: 0.5 s of CPU time.
 */
#include "report/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "ledger/ledger.h"

/* Frames are listed once per address, in the order in which stacks meet them. */
struct json_frames {
        uint32_t *place; /* by node of the profile: 1 + index of its innermost frame, 0 not yet met */
        uint8_t *length; /* by node: how many frames it has */
        uint32_t *nodes; /* those that brought new frames */
        uint32_t node_count;
        uint32_t next;   /* index of the next frame */
        uint32_t *table; /* nodes by address; 0 free */
        size_t room;
};

struct json {
        const struct selection *sel;
        const struct profile *profile;
        struct symbols *symbols;
        struct str *out;
        struct json_frames frames;
        size_t *printed; /* by node of the selection: where in OUT its stack was printed first; NULL: not remembered */
};

static void json_number(struct str *out, uint64_t value)
{
        char digits[24];
        size_t at = sizeof digits;

        do
                digits[--at] = (char)('0' + value % 10);
        while (value /= 10);
        str_bytes(out, digits + at, sizeof digits - at);
}

/* NAME with what stands before it: "{\"", ", \"". */
static void json_field(struct str *out, const char *before, const char *name, uint64_t value)
{
        str_text(out, before);
        str_text(out, name);
        str_text(out, "\": ");
        json_number(out, value);
}

static void json_signed_field(struct str *out, const char *name, uint64_t value)
{
        bool negative = (int64_t)value < 0;

        str_text(out, ", \"");
        str_text(out, name);
        str_text(out, negative ? "\": -" : "\": ");
        json_number(out, negative ? -value : value);
}

static uint32_t *frames_slot(const struct json *j, const struct profile_node *n)
{
        const struct json_frames *f = &j->frames;
        uint64_t hash = (n->pc + n->exact) * 0x9e3779b97f4a7c15ull ^ n->module * 0xc2b2ae3d27d4eb4full;
        size_t i = (hash ^ hash >> 32) & (f->room - 1);

        for (; f->table[i]; i = (i + 1) & (f->room - 1)) {
                const struct profile_node *other = &j->profile->nodes[f->table[i]];

                if (other->pc == n->pc && other->module == n->module && other->exact == n->exact)
                        break;
        }
        return &f->table[i];
}

static void frames_widen(struct json *j)
{
        struct json_frames *f = &j->frames;

        f->room = f->room ? f->room * 2 : 1024;
        free(f->table);
        f->table = heap_zero(f->room, sizeof *f->table);
        f->nodes = heap_grow(f->nodes, f->room / 2, sizeof *f->nodes);
        for (uint32_t i = 0; i < f->node_count; i++)
                *frames_slot(j, &j->profile->nodes[f->nodes[i]]) = f->nodes[i];
}

static uint32_t frames_place(struct json *j, uint32_t node)
{
        struct json_frames *f = &j->frames;
        const struct symbol_frame *unused;
        uint32_t *slot;

        if (f->place[node]) /* the usual case: most frames are met by many stacks */
                return f->place[node] - 1;
        if (f->node_count == f->room / 2)
                frames_widen(j);
        slot = frames_slot(j, &j->profile->nodes[node]);
        if (!*slot) {
                *slot = node;
                f->nodes[f->node_count++] = node;
                f->place[node] = f->next + 1;
                f->length[node] = (uint8_t)symbols_node(j->symbols, node, &unused); /* at most DEBUG_FRAMES */
                f->next += f->length[node];
        } else {
                f->place[node] = f->place[*slot];
                f->length[node] = f->length[*slot];
        }
        return f->place[node] - 1;
}

/* Append what stands in OUT from byte START to the end of that list. */
static void json_again(struct str *out, size_t start)
{
        size_t left = (size_t)((char *)memchr(out->data + start, ']', out->length - start) - (out->data + start));
        char part[4096]; /* appending may move OUT's own bytes */

        while (left) {
                size_t count = left < sizeof part ? left : sizeof part;

                memcpy(part, out->data + start, count);
                str_bytes(out, part, count);
                start += count;
                left -= count;
        }
}

/* Whether the outer end of the stack is missing. */
static bool is_cut(const struct selection *sel, uint32_t node)
{
        uint32_t innermost = node;

        while (node > 1)
                node = select_parent(sel, node);
        return node == 1 && innermost > 1;
}

/* Stacks share their outer ends: from the first node that was printed before, the text is copied. */
static void json_stack(struct json *j, uint32_t node)
{
        bool first = true;

        str_char(j->out, '[');
        for (; node > 1; node = select_parent(j->sel, node)) {
                uint32_t origin = select_origin(j->sel, node), place;

                if (!first)
                        str_text(j->out, ", ");
                first = false;
                if (j->printed && j->printed[node]) {
                        json_again(j->out, j->printed[node]);
                        break;
                }
                if (j->printed)
                        j->printed[node] = j->out->length;
                place = frames_place(j, origin);
                for (uint32_t i = 0; i < j->frames.length[origin]; i++) {
                        if (i)
                                str_text(j->out, ", ");
                        json_number(j->out, place + i);
                }
        }
        str_char(j->out, ']');
}

static void json_texts(struct str *out, char *const *texts, uint32_t count)
{
        str_char(out, '[');
        for (uint32_t i = 0; i < count; i++) {
                if (i)
                        str_text(out, ", ");
                json_text(out, texts[i]);
        }
        str_char(out, ']');
}

static void json_head(struct json *j)
{
        const struct profile_meta *m = &j->profile->meta;
        struct str *out = j->out;

        str_text(out, "{\"seep\": 1,\n \"program\": ");
        json_text(out, m->program);
        str_text(out, ",\n \"args\": ");
        json_texts(out, m->args, m->arg_count);
        json_field(out, ",\n \"", "pid", m->pid);
        json_field(out, ", \"", "duration_ms", m->duration_ms);
        str_format(out, ", \"complete\": %s,\n \"warnings\": ", m->complete ? "true" : "false");
        json_texts(out, m->warnings, m->warning_count);
        str_text(out, ",\n \"exit\": {\"code\": ");
        if (m->end == PROFILE_END_EXIT)
                json_number(out, m->exit_code);
        else
                str_text(out, "null");
        str_text(out, ", \"signal\": ");
        if (m->end == PROFILE_END_SIGNAL)
                json_number(out, m->exit_signal);
        else
                str_text(out, "null");
        str_text(out, "},\n");
}

static void json_totals(struct json *j)
{
        const struct profile_totals *t = &j->profile->totals;
        struct str *out = j->out;

        json_field(out, " \"totals\": {\"", "allocations", t->allocations);
        json_field(out, ", \"", "frees", t->frees);
        json_field(out, ", \"", "bytes_allocated", t->bytes_allocated);
        json_field(out, ", \"", "live_blocks", t->live_blocks);
        json_field(out, ", \"", "live_bytes", t->live_bytes);
        json_field(out, ",\n  \"", "peak_bytes", t->peak_bytes);
        json_field(out, ", \"", "peak_blocks", t->peak_blocks);
        json_field(out, ", \"", "peak_ms", t->peak_ms);
        json_field(out, ", \"", "peak_error_bytes", t->peak_error_bytes);
        json_field(out, ", \"", "temporary", t->temporary);
        json_field(out, ",\n  \"", "unknown_frees", t->unknown_frees);
        json_field(out, ", \"", "double_frees", t->double_frees);
        json_field(out, ", \"", "mismatched", t->mismatched);
        json_field(out, ", \"", "mmap_live_bytes", t->mmap_live_bytes);
        json_field(out, ", \"", "mmap_calls", t->mmap_calls);
        json_field(out, ", \"", "mmap_bytes", t->mmap_bytes);
        json_field(out, ", \"", "rss_peak_bytes", t->rss_peak_bytes);
        if (t->verify_captures) {
                json_field(out, ",\n  \"", "verify_captures", t->verify_captures);
                json_field(out, ", \"", "verify_differences", t->verify_differences);
                json_field(out, ", \"", "verify_backtraces", t->verify_backtraces);
                json_field(out, ", \"", "verify_backtrace_differences", t->verify_backtrace_differences);
        }
        json_field(out, ",\n  \"", "truncated_stacks", t->truncated_stacks);
        json_field(out, ", \"", "lost_events", t->lost_events);
        str_text(out, "},\n");
}

static const char json_no_leaks[] =
        "\"definite\": {\"blocks\": 0, \"bytes\": 0}, \"indirect\": {\"blocks\": 0, \"bytes\": 0}, "
        "\"possible\": {\"blocks\": 0, \"bytes\": 0}, \"reachable\": {\"blocks\": 0, \"bytes\": 0}}";

static void json_site(struct json *j, const struct select_row *row)
{
        struct str *out = j->out;

        json_field(out, "{\"", "id", row->site);
        json_signed_field(out, "allocations", row->allocs);
        json_signed_field(out, "frees", row->frees);
        json_signed_field(out, "bytes_allocated", row->alloc_bytes);
        json_signed_field(out, "live_blocks", row->live_blocks);
        json_signed_field(out, "live_bytes", row->live_bytes);
        json_signed_field(out, "peak_blocks", row->peak_blocks);
        json_signed_field(out, "peak_bytes", row->peak_bytes);
        json_signed_field(out, "temporary", row->temporary);
        json_field(out, ", \"", "lifetime_ms", row->lifetime_ms);
        str_text(out, ", \"leaked_blocks\": 0, \"leaked_bytes\": 0, \"leak\": {");
        str_bytes(out, json_no_leaks, sizeof json_no_leaks - 1);
        str_text(out, ", \"kind\": ");
        json_text(out, profile_kind_name(j->profile, row->kind));
        str_text(out, ", \"stack\": ");
        json_stack(j, row->node);
        if (is_cut(j->sel, row->node))
                str_text(out, ", \"truncated\": true");
        str_char(out, '}');
}

static int row_compare(const void *a, const void *b)
{
        const struct select_row *const *x = a, *const *y = b;

        return (*x)->site < (*y)->site ? -1 : (*x)->site > (*y)->site;
}

static void json_sites(struct json *j)
{
        const struct select_part *heap = &j->sel->heap, *mapped = &j->sel->mapped;
        const struct select_row **rows = heap_zero((size_t)heap->count + mapped->count, sizeof *rows);
        uint32_t count = 0;

        for (uint32_t i = 0; i < heap->count; i++)
                rows[count++] = &heap->rows[i];
        for (uint32_t i = 0; i < mapped->count; i++)
                rows[count++] = &mapped->rows[i];
        qsort(rows, count, sizeof *rows, row_compare);
        str_text(j->out, " \"sites\": [");
        for (uint32_t i = 0; i < count; i++) {
                str_text(j->out, i ? ",\n  " : "\n  ");
                json_site(j, rows[i]);
        }
        str_text(j->out, "],\n");
        free(rows);
}

/* Frames that only errors mention must be listed too: called before json_frame_list. */
static void json_error(struct json *j, const struct profile_error *error)
{
        static const char *const types[] = { [LEDGER_ERROR_DOUBLE_FREE] = "double-free",
                                             [LEDGER_ERROR_MISMATCHED] = "mismatched",
                                             [LEDGER_ERROR_UNKNOWN_FREE] = "unknown-free" };
        const struct profile *p = j->profile;
        struct selection whole = { .profile = p };
        struct json part = *j;

        part.sel = &whole; /* stacks of errors are never cut */
        part.printed = NULL;
        str_text(j->out, "{\"type\": ");
        json_text(j->out, error->type < sizeof types / sizeof types[0] ? types[error->type] : NULL);
        str_format(j->out, ", \"address\": \"0x%" PRIx64 "\"", error->address);
        json_field(j->out, ", \"", "count", error->count);
        json_field(j->out, ", \"", "size", error->size);
        str_text(j->out, ", \"alloc_stack\": ");
        if (error->alloc_site && error->alloc_site < p->site_count)
                json_stack(&part, p->sites[error->alloc_site].node);
        else
                str_text(j->out, "null");
        str_text(j->out, ", \"stack\": ");
        json_stack(&part, error->node);
        str_char(j->out, '}');
        j->frames = part.frames;
}

static void json_errors(struct json *j)
{
        str_text(j->out, " \"errors\": [");
        for (uint32_t i = 0; i < j->profile->error_count; i++) {
                str_text(j->out, i ? ",\n  " : "\n  ");
                json_error(j, &j->profile->errors[i]);
        }
        str_text(j->out, "],\n");
}

static void json_frame(struct json *j, uint32_t node, const struct symbol_frame *frame)
{
        const struct profile_node *n = &j->profile->nodes[node];

        str_text(j->out, "{\"function\": ");
        json_text(j->out, frame->function);
        str_text(j->out, ", \"file\": ");
        json_text(j->out, frame->file);
        str_text(j->out, ", \"line\": ");
        if (frame->line)
                json_number(j->out, frame->line);
        else
                str_text(j->out, "null");
        str_text(j->out, ", \"module\": ");
        json_text(j->out, n->module < j->profile->module_count ? j->profile->modules[n->module].path : NULL);
        str_format(j->out, ", \"address\": \"0x%" PRIx64 "\", \"inlined\": %s}", n->pc,
                   frame->inlined ? "true" : "false");
}

static void json_frame_list(struct json *j)
{
        bool first = true;

        str_text(j->out, " \"frames\": [");
        for (uint32_t i = 0; i < j->frames.node_count; i++) {
                const struct symbol_frame *frames;
                uint32_t count = symbols_node(j->symbols, j->frames.nodes[i], &frames);

                for (uint32_t k = 0; k < count; k++) {
                        str_text(j->out, first ? "\n  " : ",\n  ");
                        first = false;
                        json_frame(j, j->frames.nodes[i], &frames[k]);
                }
        }
        str_text(j->out, "],\n");
}

static void json_thread(struct str *out, const struct profile_thread *thread)
{
        str_text(out, "{\"tid\": ");
        if (thread->tid)
                json_number(out, thread->tid);
        else
                str_text(out, "null");
        str_text(out, ", \"name\": ");
        json_text(out, thread->name);
        json_field(out, ", \"", "allocations", thread->allocations);
        json_field(out, ", \"", "bytes_allocated", thread->bytes_allocated);
        json_field(out, ", \"", "live_blocks", thread->live_blocks);
        json_field(out, ", \"", "live_bytes", thread->live_bytes);
        json_field(out, ", \"", "start_ms", thread->start_ms);
        if (thread->end_ms)
                json_field(out, ", \"", "end_ms", thread->end_ms);
        else
                str_text(out, ", \"end_ms\": null");
        str_char(out, '}');
}

/* threads[0] stands for what no thread is known of; it is told only when it did something. */
static void json_threads(struct json *j)
{
        const struct profile *p = j->profile;
        bool first = true;

        str_text(j->out, " \"threads\": [");
        for (uint32_t i = 0; i < p->thread_count; i++) {
                if (i == 0 && !p->threads[0].allocations && !p->threads[0].live_blocks)
                        continue;
                str_text(j->out, first ? "\n  " : ",\n  ");
                first = false;
                json_thread(j->out, &p->threads[i]);
        }
        str_text(j->out, "],\n");
}

void json_write(const struct selection *sel, struct symbols *s, struct str *out)
{
        struct json j = { .sel = sel, .profile = sel->profile, .symbols = s, .out = out };

        j.frames.place = heap_zero(sel->profile->node_count, sizeof *j.frames.place);
        j.printed = heap_zero(sel->node_count, sizeof *j.printed);
        j.frames.length = heap_zero(sel->profile->node_count, sizeof *j.frames.length);
        frames_widen(&j);
        json_head(&j);
        json_totals(&j);
        str_format(out, " \"leaks\": {\"scanned\": false, %s,\n", json_no_leaks);
        json_sites(&j);
        json_errors(&j);
        json_frame_list(&j);
        json_threads(&j);
        str_text(out, " \"snapshots\": []}\n");
        free(j.printed);
        free(j.frames.place);
        free(j.frames.length);
        free(j.frames.nodes);
        free(j.frames.table);
}
