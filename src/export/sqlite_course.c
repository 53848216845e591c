/* SPDX-License-Identifier: MIT */
/* sqlite_course.c -- rows about the recording as a whole, and over time. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/course.h"
#include "export/sqlite_parts.h"
#include "query/residence.h"

static void put_meta(struct sqlite_parts *m, const char *key, uint64_t value)
{
        rows_text(&m->rows, key);
        rows_number(&m->rows, value);
        rows_next(&m->rows);
}

static void put_meta_text(struct sqlite_parts *m, const char *key, const char *value)
{
        rows_text(&m->rows, key);
        rows_text(&m->rows, value);
        rows_next(&m->rows);
}

static void put_meta_list(struct sqlite_parts *m, const char *key, char *const *texts,
                          uint32_t count)
{
        struct str list = { 0 };

        str_char(&list, '[');
        for (uint32_t i = 0; i < count; i++) {
                str_text(&list, i ? ", " : "");
                json_text(&list, texts[i]);
        }
        str_char(&list, ']');
        put_meta_text(m, key, str_get(&list));
        str_free(&list);
}

static void put_words(struct sqlite_parts *m)
{
        const struct profile_meta *meta = &m->p->meta;
        const struct profile_scan *scan = profile_scanned(m->p);

        put_meta_text(m, "program", meta->program);
        put_meta_text(m, "exe", meta->exe);
        put_meta_list(m, "args", meta->args, meta->arg_count);
        put_meta_list(m, "warnings", meta->warnings, meta->warning_count);
        put_meta_text(m, "cwd", meta->cwd);
        put_meta_text(m, "host", meta->host);
        put_meta_text(m, "engine", meta->engine);
        put_meta_text(m, "version", meta->version);
        put_meta_text(m, "leak_search", scan ? profile_scan_word(scan->when) : NULL);
}

static void put_numbers(struct sqlite_parts *m)
{
        const struct profile_meta *meta = &m->p->meta;
        const struct profile_totals *t = &m->p->totals;
        const struct {
                const char *key;
                uint64_t value;
        } numbers[] = {
                { "pid", meta->pid },
                { "ppid", meta->ppid },
                { "start_ms", meta->start_realtime_ns / 1000000 },
                { "duration_ms", meta->duration_ms },
                { "complete", meta->complete && !m->p->truncated },
                { "allocations", t->allocations },
                { "frees", t->frees },
                { "bytes_allocated", t->bytes_allocated },
                { "live_blocks", t->live_blocks },
                { "live_bytes", t->live_bytes },
                { "peak_bytes", t->peak_bytes },
                { "peak_blocks", t->peak_blocks },
                { "peak_ms", profile_peak_ms(m->p) },
                { "peak_error_bytes", t->peak_error_bytes },
                { "temporary", t->temporary },
                { "unknown_frees", t->unknown_frees },
                { "double_frees", t->double_frees },
                { "mismatched", t->mismatched },
                { "mmap_calls", t->mmap_calls },
                { "mmap_bytes", t->mmap_bytes },
                { "mmap_live_bytes", t->mmap_live_bytes },
                { "rss_peak_bytes", t->rss_peak_bytes },
                { "truncated_stacks", t->truncated_stacks },
                { "lost_events", t->lost_events },
                { "sample_bytes", t->sample_bytes },
                { "mappings_ms", t->mappings_ms },
        };

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                put_meta(m, numbers[i].key, numbers[i].value);
        if (meta->end == PROFILE_END_EXIT)
                put_meta(m, "exit_code", meta->exit_code);
        if (meta->end == PROFILE_END_SIGNAL)
                put_meta(m, "exit_signal", meta->exit_signal);
}

void sqlite_put_meta(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "meta"))
                return;
        put_words(m);
        put_numbers(m);
        rows_end(&m->rows);
}

static void put_modules(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "module"))
                return;
        for (uint32_t i = 0; i < m->p->module_count; i++) {
                const struct profile_module *module = &m->p->modules[i];
                char id[2 * sizeof module->build_id + 1] = "";

                for (uint32_t k = 0; k < module->build_id_bytes && k < sizeof module->build_id; k++)
                        for (int half = 0; half < 2; half++)
                                id[2 * k + half] =
                                        "0123456789abcdef"[module->build_id[k] >> (half ? 0 : 4) &
                                                           15];
                rows_number(&m->rows, i);
                rows_text(&m->rows, module->path);
                rows_text(&m->rows, *id ? id : NULL);
                rows_number(&m->rows, module->start);
                rows_number(&m->rows, module->end);
                rows_number(&m->rows, module->load_ms);
                rows_some(&m->rows, module->gone_ms);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

/* What the allocator does with it; NULL: it is not the allocator's. */
static void put_kept(struct sqlite_parts *m, const struct residence_part *part)
{
        const uint64_t numbers[] = { part->blocks, part->live_bytes, part->overhead_bytes,
                                     part->free_bytes };

        rows_text(&m->rows, part->keeper ? profile_keeper_word(part->keeper) : NULL);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                rows_known(&m->rows, numbers[i], part->keeper != PROFILE_KEEPER_NONE);
        rows_known(&m->rows, part->whole_bytes,
                   part->keeper != PROFILE_KEEPER_NONE && !part->guessed);
}

static void put_mappings(struct sqlite_parts *m)
{
        const struct profile_region *region;
        struct residence_part part;
        struct residence walk;

        if (!rows_begin(&m->rows, "mapping"))
                return;
        residence_start(&walk, m->p);
        for (uint32_t i = 0; residence_next(&walk, &part, &region); i++) {
                const struct profile_mapping *mapping = &m->p->mappings[i];
                char permissions[] = "---";

                if (mapping->flags & PROFILE_MAPPING_READ)
                        permissions[0] = 'r';
                if (mapping->flags & PROFILE_MAPPING_WRITE)
                        permissions[1] = 'w';
                if (mapping->flags & PROFILE_MAPPING_EXECUTE)
                        permissions[2] = 'x';
                rows_number(&m->rows, i + 1);
                rows_number(&m->rows, mapping->start);
                rows_number(&m->rows, mapping->end);
                rows_number(&m->rows, mapping->rss_bytes);
                rows_number(&m->rows, mapping->anonymous_bytes);
                rows_text(&m->rows, permissions);
                rows_text(&m->rows, mapping->name);
                put_kept(m, &part);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
        residence_end(&walk);
}

static void put_threads(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "thread"))
                return;
        for (uint32_t i = 0; i < m->p->thread_count; i++) {
                const struct profile_thread *t = &m->p->threads[i];

                rows_number(&m->rows, i);
                rows_some(&m->rows, t->tid);
                rows_text(&m->rows, t->name);
                rows_number(&m->rows, t->start_ms);
                rows_some(&m->rows, t->end_ms);
                rows_number(&m->rows, t->allocations);
                rows_number(&m->rows, t->bytes_allocated);
                rows_number(&m->rows, t->live_blocks);
                rows_number(&m->rows, t->live_bytes);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

static void put_timeline(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "timeline"))
                return;
        for (uint32_t i = 0; i < m->p->slice_count; i++) {
                const struct profile_slice *s = &m->p->slices[i];

                rows_number(&m->rows, i);
                rows_number(&m->rows, s->ms);
                rows_number(&m->rows, s->live_bytes);
                rows_number(&m->rows, s->live_blocks);
                rows_number(&m->rows, s->allocs);
                rows_number(&m->rows, s->alloc_bytes);
                rows_number(&m->rows, s->frees);
                rows_some(&m->rows, s->rss_bytes);
                rows_number(&m->rows, !(s->flags & PROFILE_SLICE_TOTALS));
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

static void put_change(struct sqlite_parts *m, uint32_t slice, uint32_t site,
                       const struct profile_change *c)
{
        rows_number(&m->rows, slice);
        rows_number(&m->rows, site);
        rows_number(&m->rows, c->live_bytes);
        rows_number(&m->rows, c->live_blocks);
        rows_number(&m->rows, c->allocs);
        rows_number(&m->rows, c->alloc_bytes);
        rows_next(&m->rows);
}

static void put_changes(struct sqlite_parts *m)
{
        const struct profile *p = m->p;
        struct course course;
        uint32_t *number;

        if (!rows_begin(&m->rows, "change"))
                return;
        number = heap_zero(p->site_count, sizeof *number);
        for (uint32_t i = 0; i < p->site_count; i++)
                number[i] = m->chosen[i] ? m->sel->leaders[i] : COURSE_NONE;
        course_start(&course, p, number, p->site_count);
        for (uint32_t i = 0; i < p->slice_count; i++) {
                course_step(&course, i);
                for (uint32_t k = 0; k < course.changed_count; k++)
                        put_change(m, i, course.changed[k], &course.sums[course.changed[k]]);
        }
        rows_end(&m->rows);
        course_free(&course);
        free(number);
}

static void put_marks(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "mark"))
                return;
        for (uint32_t i = 0; i < m->p->mark_count; i++) {
                const struct profile_mark *mark = &m->p->marks[i];

                rows_number(&m->rows, i + 1);
                rows_text(&m->rows, profile_mark_word(mark->type));
                rows_some(&m->rows, mark->seq);
                rows_text(&m->rows, mark->label);
                rows_number(&m->rows, mark->ms);
                rows_number(&m->rows, mark->slice);
                rows_some(&m->rows, mark->thread);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

/* Class 0 is 0, class k is 2^(k-1) .. 2^k - 1. */
static void put_classes(struct sqlite_parts *m, const char *of, const uint64_t *counts,
                        uint32_t classes)
{
        for (uint32_t i = 0; i < classes; i++) {
                if (!counts[i])
                        continue;
                rows_text(&m->rows, of);
                rows_number(&m->rows, i ? 1ull << (i - 1) : 0);
                rows_number(&m->rows, (1ull << i) - 1);
                rows_number(&m->rows, counts[i]);
                rows_next(&m->rows);
        }
}

void sqlite_put_course(struct sqlite_parts *m)
{
        put_modules(m);
        put_mappings(m);
        put_threads(m);
        put_timeline(m);
        put_changes(m);
        put_marks(m);
        if (!rows_begin(&m->rows, "histogram"))
                return;
        put_classes(m, "size", m->p->totals.sizes, LEDGER_SIZE_CLASSES);
        put_classes(m, "lifetime_ms", m->p->totals.lifetimes, LEDGER_LIFETIME_CLASSES);
        rows_end(&m->rows);
}
