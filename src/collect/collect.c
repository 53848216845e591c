/* SPDX-License-Identifier: MIT */
#include "collect/collect.h"

#include <elf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "collect/blocks.h"
#include "collect/counters.h"
#include "collect/marks.h"
#include "collect/module_file.h"
#include "collect/sites.h"
#include "collect/stacks.h"
#include "collect/warnings.h"
#include "ledger/arch/arch.h"
#include "wire/hello.h"

#define COLLECT_REGION_TRIES 10

void collect_warn(struct profile *p, const char *format, ...)
{
        struct profile_meta *m = &p->meta;
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof text, format, ap);
        va_end(ap);
        m->warnings = heap_grow(m->warnings, m->warning_count + 1, sizeof *m->warnings);
        m->warnings[m->warning_count++] = heap_text(text);
}

/* ---- modules ---- */

static char *text_at(const char *strings, uint32_t bytes, uint32_t at)
{
        return heap_text(at < bytes ? strings + at : "");
}

static bool same_module(const struct profile_module *a, const struct profile_module *b)
{
        return strcmp(a->path, b->path) == 0 && a->build_id_bytes == b->build_id_bytes &&
               memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

/* The entry of PLACE's module, whose code went; NULL: none. */
static struct profile_module *module_of_place(struct profile *p, const struct profile_module *place)
{
        for (uint32_t i = 0; i < p->module_count; i++) {
                struct profile_module *m = &p->modules[i];

                if (m->gone_ms && !(m->flags & LEDGER_MODULE_PLACE) && same_module(m, place))
                        return m;
        }
        return NULL;
}

/* Module M is where PLACE says. */
static void move_module(struct profile_module *m, const struct profile_module *place)
{
        m->start = place->start;
        m->end = place->end;
        m->bias = place->bias;
        m->gone_ms = 0;
        m->code_start = place->code_start;
        m->code_end = place->code_end;
        m->code_offset = place->code_offset;
        m->device = place->device;
        m->inode = place->inode;
}

/* Modules that came back, and that the agent did not meet in a stack since, are at the
 * end of the table once more. */
static void drop_places(struct profile *p)
{
        while (p->module_count && p->modules[p->module_count - 1].flags & LEDGER_MODULE_PLACE) {
                struct profile_module *place = &p->modules[p->module_count - 1], *m = NULL;

                if (!place->gone_ms)
                        m = module_of_place(p, place);
                if (m)
                        move_module(m, place);
                else if (!place->gone_ms)
                        break;
                free(place->path);
                p->module_count--;
        }
        for (uint32_t i = 0; i < p->module_count; i++)
                p->modules[i].flags &= LEDGER_MODULE_TOLD;
}

static void read_modules(const struct view *v, struct profile *p)
{
        uint32_t bytes = view_count(v, LEDGER_STRINGS, v->head.string_bytes, 1);
        char *strings = heap_zero((size_t)bytes + 1, 1);
        struct ledger_module *raw;

        view_read(v, LEDGER_STRINGS, 0, strings, bytes);
        p->module_count = v->head.module_count < LEDGER_MODULES_MAX ? v->head.module_count
                                                                    : LEDGER_MODULES_MAX;
        raw = view_table(v, LEDGER_MODULES, &p->module_count, sizeof *raw);
        p->modules = heap_zero(p->module_count, sizeof *p->modules);
        for (uint32_t i = 0; i < p->module_count; i++) {
                struct profile_module *m = &p->modules[i];

                m->start = raw[i].start;
                m->end = raw[i].end;
                m->bias = raw[i].bias;
                m->path = text_at(strings, bytes, raw[i].path);
                m->load_ms = raw[i].load_ms;
                m->gone_ms = raw[i].gone_ms;
                m->flags = raw[i].flags;
                m->build_id_bytes = raw[i].build_id_bytes <= sizeof m->build_id
                                            ? raw[i].build_id_bytes
                                            : 0;
                memcpy(m->build_id, raw[i].build_id, m->build_id_bytes);
                m->code_start = raw[i].code_start;
                m->code_end = raw[i].code_end < m->code_start ? m->code_start : raw[i].code_end;
                m->code_offset = raw[i].code_offset;
                m->device = raw[i].dev;
                m->inode = raw[i].ino;
                module_file_complete(m, (struct module_file){ v->head.pid, raw[i].ino });
        }
        drop_places(p);
        free(raw);
        free(strings);
}

/* ---- threads ---- */

static char *thread_name(const struct collect_input *in, uint32_t index,
                         const struct ledger_thread *t)
{
        char name[sizeof t->name + 1] = "";

        if (index == 0)
                return heap_text("unknown");
        if (index == LEDGER_THREAD_OTHERS)
                return heap_text("other threads");
        if (index < in->name_count && in->names[index].text[0] &&
            memcmp(in->names[index].before, t->name, sizeof t->name) == 0)
                memcpy(name, in->names[index].text, sizeof in->names[index].text);
        else
                memcpy(name, t->name, sizeof t->name);
        return heap_text(name);
}

/* What the slot counted between this thread's taking it and the next one's. */
static void thread_sums(const struct view *v, uint32_t index, const struct ledger_thread *t,
                        struct profile_thread *to)
{
        uint64_t allocs = t->last_allocs, bytes = t->last_alloc_bytes;
        struct counters_slot slot = { 0 };

        if (t->slot < counters_slots(v))
                counters_slot(v, t->slot, &slot);
        if (slot.thread == index) {
                allocs = slot.allocs;
                bytes = slot.alloc_bytes;
        }
        to->allocations = allocs > t->base_allocs ? allocs - t->base_allocs : 0;
        to->bytes_allocated = bytes > t->base_alloc_bytes ? bytes - t->base_alloc_bytes : 0;
}

/* Threads without an entry of their own: what those counted that are gone, and what
 * those have that are there. */
static void others_sums(const struct view *v, const struct ledger_thread *t,
                        struct profile_thread *to)
{
        uint32_t slots = counters_slots(v);

        to->allocations = t->last_allocs;
        to->bytes_allocated = t->last_alloc_bytes;
        for (uint32_t i = 0; i < slots; i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                if (slot.thread != LEDGER_THREAD_OTHERS)
                        continue;
                to->allocations += slot.allocs > slot.base_allocs ? slot.allocs - slot.base_allocs
                                                                  : 0;
                to->bytes_allocated += slot.alloc_bytes > slot.base_alloc_bytes
                                               ? slot.alloc_bytes - slot.base_alloc_bytes
                                               : 0;
        }
}

static void read_threads(const struct collect_input *in, struct profile *p)
{
        uint32_t count = in->view->head.thread_count;
        struct ledger_thread *raw;

        if (count > LEDGER_THREADS_MAX)
                count = LEDGER_THREADS_MAX;
        raw = view_table(in->view, LEDGER_THREADS, &count, sizeof *raw);
        p->thread_count = count ? count : 1;
        p->threads = heap_zero(p->thread_count, sizeof *p->threads);
        p->threads[0].name = heap_text("unknown");
        for (uint32_t i = 1; i < count; i++) {
                struct profile_thread *t = &p->threads[i];

                t->tid = raw[i].tid;
                t->name = thread_name(in, i, &raw[i]);
                t->start_ms = raw[i].start_ms;
                t->end_ms = raw[i].end_ms;
                if (i == LEDGER_THREAD_OTHERS)
                        others_sums(in->view, &raw[i], t);
                else
                        thread_sums(in->view, i, &raw[i], t);
        }
        free(raw);
}

/* ---- regions ---- */

static uint32_t region_seq(const struct view *v)
{
        uint32_t seq = 0;

        view_read(v, LEDGER_HEAD, offsetof(struct ledger_head, region_seq), &seq, sizeof seq);
        return seq;
}

static struct ledger_region *table_of_regions(const struct view *v, uint32_t *count)
{
        view_read(v, LEDGER_HEAD, offsetof(struct ledger_head, region_count), count, sizeof *count);
        return view_table(v, LEDGER_REGIONS, count, sizeof(struct ledger_region));
}

/* What R was before it is now: the same region, of which parts may have been cut off. */
static bool is_same_region(const struct ledger_region *was, const struct ledger_region *r)
{
        return was->ticket == r->ticket && was->site == r->site && was->start <= r->start &&
               r->end <= was->end;
}

/* Regions that are there in both of two readings were all there between them. */
static void keep_same(const struct ledger_region *was, uint32_t was_count,
                      struct ledger_region *now, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (i >= was_count || !is_same_region(&was[i], &now[i]))
                        now[i].end = 0;
}

/* The table as it was at one moment.  A process that died inside a change leaves the sequence odd
 * for ever, and one that maps all the time never leaves enough between two of them. */
static struct ledger_region *stable_regions(const struct view *v, uint32_t *count)
{
        struct ledger_region *was = NULL, *now;
        uint32_t was_count = 0, before;

        for (int try = 1;; try++) {
                before = region_seq(v);
                now = table_of_regions(v, count);
                if (before % 2 == 0 && region_seq(v) == before)
                        break;
                if (try == COLLECT_REGION_TRIES) {
                        keep_same(was, was_count, now, *count);
                        break;
                }
                free(was);
                was = now;
                was_count = *count;
        }
        free(was);
        return now;
}

static int compare_regions(const void *a, const void *b)
{
        const struct profile_region *x = a, *y = b;

        return ORDER(x->start, y->start) ?: ORDER(x->end, y->end);
}

static void read_regions(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                         struct profile *p)
{
        uint32_t count;
        struct ledger_region *raw = stable_regions(v, &count);

        p->regions = heap_zero(count, sizeof *p->regions);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t site = raw[i].site < site_count ? site_map[raw[i].site] : 0;

                if (raw[i].start >= raw[i].end || site == 0)
                        continue;
                p->regions[p->region_count++] = (struct profile_region){
                        .start = raw[i].start,
                        .end = raw[i].end,
                        .site = site,
                        .thread = raw[i].thread < p->thread_count ? raw[i].thread : 0,
                        .birth_ms = raw[i].birth_ms,
                        .stack = (raw[i].flags & LEDGER_REGION_STACK) != 0,
                };
        }
        free(raw);
        qsort(p->regions, p->region_count, sizeof *p->regions, compare_regions);
}

uint32_t collect_regions_up_to(const struct profile *p, uint64_t address)
{
        return (uint32_t)FIND_FIRST(p->region_count, i, p->regions[i].start <= address);
}

/* ---- stacks of threads ---- */

static bool has_stacks(const struct profile *p)
{
        for (uint32_t i = 0; i < p->region_count; i++)
                if (p->regions[i].stack)
                        return true;
        return false;
}

static bool is_mapped(const struct mappings *maps, const struct profile_region *r)
{
        const struct mapping *low = mappings_find(maps, r->start),
                             *high = mappings_find(maps, r->end - 1);

        return low && high && low->writable && high->writable;
}

static void count_gone(struct profile_site *s, uint64_t bytes)
{
        s->live_blocks -= s->live_blocks != 0;
        s->live_bytes -= s->live_bytes < bytes ? s->live_bytes : bytes;
        s->frees += s->frees < s->allocs;
}

/* The C library unmaps stacks unseen, and the agent finds out when the next thread is made or
 * joined.  Who looks in between sees what the kernel has. */
static void drop_gone_stacks(uint32_t pid, struct profile *p)
{
        struct str text = { 0 };
        struct mappings maps;
        uint32_t left = 0;

        if (!has_stacks(p) || !procfs_text((pid_t)pid, (pid_t)pid, "maps", &text)) {
                str_free(&text);
                return;
        }
        mappings_parse(&maps, str_get(&text));
        for (uint32_t i = 0; i < p->region_count; i++) {
                struct profile_region r = p->regions[i];

                if (!maps.count || !r.stack || is_mapped(&maps, &r))
                        p->regions[left++] = r;
                else
                        count_gone(&p->sites[r.site], r.end - r.start);
        }
        p->region_count = left;
        mappings_free(&maps);
        str_free(&text);
}

/* ---- errors ---- */

static void read_errors(const struct view *v, struct stacks *stacks, const uint32_t *site_map,
                        uint32_t site_count, struct profile *p)
{
        uint32_t count = v->head.error_count;
        struct ledger_error *raw = view_table(v, LEDGER_ERRORS, &count, sizeof *raw);

        p->errors = heap_zero(count, sizeof *p->errors);
        for (uint32_t i = 0; i < count; i++) {
                struct profile_error *to = &p->errors[p->error_count];

                if (raw[i].type == LEDGER_ERROR_NONE || raw[i].type > LEDGER_ERROR_UNKNOWN_FREE)
                        continue;
                *to = (struct profile_error){
                        .type = raw[i].type,
                        .node = stacks_node(stacks, raw[i].node),
                        .alloc_site = raw[i].alloc_site < site_count ? site_map[raw[i].alloc_site]
                                                                     : 0,
                        .release = raw[i].release <= LEDGER_FAMILY_POOL ? raw[i].release
                                                                        : LEDGER_FAMILY_NONE,
                        .thread = raw[i].thread < p->thread_count ? raw[i].thread : 0,
                        .address = raw[i].address,
                        .size = raw[i].size,
                        .count = raw[i].count,
                        .first_ms = raw[i].first_ms,
                        .free_node = raw[i].first_free ? stacks_node(stacks, raw[i].first_free) : 0,
                        .wrong = raw[i].wrong < LEDGER_WRONG_COUNT ? raw[i].wrong
                                                                   : LEDGER_WRONG_FAMILY,
                        .alignment = raw[i].alignment && raw[i].alignment < 64
                                             ? 1ull << raw[i].alignment
                                             : 0,
                        .given = raw[i].given,
                };
                if (to->type == LEDGER_ERROR_DOUBLE_FREE)
                        p->totals.double_frees += to->count;
                else if (to->type == LEDGER_ERROR_MISMATCHED)
                        p->totals.mismatched += to->count;
                else
                        p->totals.unknown_frees += to->count;
                p->error_count++;
        }
        free(raw);
}

/* ---- totals ---- */

static void add_site_to_totals(struct profile_totals *t, const struct profile_site *s)
{
        if (LEDGER_KIND_IS_RESOURCE(s->kind))
                return;
        if (LEDGER_KIND_IS_MAPPED(s->kind)) {
                t->mmap_calls += s->allocs;
                t->mmap_bytes += s->alloc_bytes;
                return;
        }
        t->allocations += s->allocs;
        t->frees += s->frees;
        t->bytes_allocated += s->alloc_bytes;
        t->live_blocks += s->live_blocks;
        t->live_bytes += s->live_bytes;
        t->peak_blocks += s->peak_blocks;
        t->peak_bytes += s->peak_bytes;
        t->temporary += s->temporary;
}

/* The heap grew to the end.  With several threads the last growth may not have been compared yet:
 * the sites' saved numbers are of an earlier moment then. */
static void peak_is_now(struct profile *p, const struct ledger_head *h)
{
        p->totals.peak_bytes = p->totals.live_bytes;
        p->totals.peak_blocks = p->totals.live_blocks;
        p->totals.peak_ms = h->tick_ms;
        for (uint32_t i = 1; i < p->site_count; i++) {
                p->sites[i].peak_bytes = p->sites[i].live_bytes;
                p->sites[i].peak_blocks = p->sites[i].live_blocks;
        }
}

/* The peak is the sum of what sites had then, so that there is one figure.  Several threads: that
 * is what they had counted when the agent saw its maximum, and the most that it can have missed is
 * above that maximum, not above the sum. */
static void read_peak(struct profile *p, const struct ledger_head *h)
{
        struct profile_totals *t = &p->totals;
        uint64_t most = h->peak_bytes + h->peak_error_bytes;

        t->peak_ms = h->peak_tick_ms;
        if (t->live_bytes > t->peak_bytes)
                peak_is_now(p, h);
        t->peak_error_bytes = h->peak_error_bytes;
        if (most > t->peak_bytes && most - t->peak_bytes > t->peak_error_bytes)
                t->peak_error_bytes = most - t->peak_bytes;
}

static void read_thinning(const struct ledger_head *h, struct profile_totals *t)
{
        uint32_t count = h->thin_count < LEDGER_THINS ? h->thin_count : LEDGER_THINS;

        t->ledger_limit = h->ledger_limit;
        t->thin_events = h->thin_events;
        t->ledger_full = h->thin_full != 0;
        t->thin_bytes = count ? h->thin[0].mean : 0;
        for (uint32_t i = 0; i < count; i++)
                t->thin_ms[i] = h->thin[i].from_ms;
}

static void read_totals(const struct view *v, struct profile *p)
{
        const struct ledger_head *h = &v->head;
        struct profile_totals *t = &p->totals;

        for (uint32_t i = 1; i < p->site_count; i++)
                add_site_to_totals(t, &p->sites[i]);
        for (uint32_t i = 0; i < p->region_count; i++)
                t->mmap_live_bytes += p->regions[i].end - p->regions[i].start;
        read_peak(p, h);
        counters_histograms(v, t);
        t->missed_frees = h->missed_frees;
        t->unseen_blocks = h->unseen_blocks;
        t->shut_out = h->shut_out;
        t->one_way = h->one_way;
        t->namespaces = h->namespaces;
        t->older = h->older;
        t->attached = h->attached;
        t->held_back = h->held_back;
        t->quarantine_blocks = h->quarantine_blocks;
        t->quarantine_bytes = h->quarantine_bytes;
        t->quarantine_ms = h->quarantine_from_ms;
        t->truncated_stacks = h->truncated_captures;
        t->verify_captures = h->verify_captures;
        t->verify_differences = h->verify_differences;
        t->verify_backtraces = h->verify_backtraces;
        t->verify_backtrace_differences = h->verify_backtrace_differences;
        t->lost_events = h->lost_events;
        t->untracked_blocks = h->untracked_blocks;
        t->forks_not_followed = h->forks_not_followed;
        t->own_malloc = h->own_malloc;
        t->modules_not_kept = h->modules_not_kept;
        t->threads_not_kept = h->threads_not_kept;
        t->regions_not_kept = h->regions_not_kept;
        t->handles_not_kept = h->handles_not_kept;
        t->errors_not_kept = h->faults_not_kept;
        t->roots_not_kept = h->roots_not_kept;
        t->marks_not_kept = h->marks_not_kept;
        t->deaths_not_kept = h->deaths_not_kept;
        t->strings_not_kept = h->strings_not_kept;
        t->forked = h->parent_start_monotonic_ns != 0;
        read_thinning(h, t);
}

/* ---- the whole ---- */

static void read_args(const struct ledger_head *h, struct profile_meta *m)
{
        const char *at = h->command, *end = h->command + h->command_bytes;

        while (at < end) {
                size_t length = strnlen(at, (size_t)(end - at));

                m->args = heap_grow(m->args, m->arg_count + 1, sizeof *m->args);
                m->args[m->arg_count] = heap_zero(length + 1, 1);
                memcpy(m->args[m->arg_count++], at, length);
                at += length + 1;
        }
}

static void read_meta(const struct collect_input *in, struct profile *p)
{
        const struct ledger_head *h = &in->view->head;
        struct profile_meta *m = &p->meta;

        m->exe = heap_text(h->exe);
        m->pid = h->pid;
        m->ppid = h->ppid;
        m->start_realtime_ns = h->start_realtime_ns;
        m->flags = h->flags;
        m->word_bytes = h->word_bytes;
        m->machine = h->machine;
        m->byte_order = LEDGER_BIG_ENDIAN != in->view->turned ? ELFDATA2MSB : ELFDATA2LSB;
        m->page_bytes = h->page_bytes;
        m->depth = in->depth;
        m->stop_reason = h->stop_reason;
        m->complete = in->ended && h->stop_reason == LEDGER_STOP_NOT && h->lost_events == 0;
        read_args(h, m);
}

/* All nodes only when each release has a stack: else most of them would be inner parts of
 * stacks. */
static void give_ids(const struct collect_input *in, struct stacks *stacks,
                     const uint32_t *site_map, uint32_t site_count)
{
        struct events_ids *ids = in->ids;

        ids->sites = heap_zero(site_count, sizeof *ids->sites);
        memcpy(ids->sites, site_map, site_count * sizeof *ids->sites);
        ids->site_count = site_count;
        ids->nodes = stacks_map(stacks, in->view->head.flags & WIRE_F_FREE_STACKS,
                                &ids->node_count);
}

/* What there is one by one.  Returns how many blocks made no sense. */
static uint64_t read_things(const struct collect_input *in, const uint32_t *site_map,
                            uint32_t site_count, struct profile *p)
{
        uint64_t senseless = in->no_blocks
                                     ? 0
                                     : blocks_read(in->view, site_map, site_count, in->ended, p);

        read_regions(in->view, site_map, site_count, p);
        if (in->pid && !in->ended)
                drop_gone_stacks(in->pid, p);
        resources_handles(in->view, site_map, site_count, p);
        marks_deaths(in->view, site_map, site_count, p);
        return senseless;
}

void collect(const struct collect_input *in, struct profile *p)
{
        struct stacks stacks;
        uint32_t *site_map, site_count;
        uint64_t senseless, marks_lost = in->slices ? in->slices->marks_lost : 0;

        *p = (struct profile){ .totals.sample_bytes = in->view->head.sample_bytes };
        read_meta(in, p);
        read_modules(in->view, p);
        read_threads(in, p);
        resources_types(in->view, p);
        stacks_open(&stacks, in->view, p, in->depth);
        site_map = sites_read(in->view, &stacks, p, &site_count);
        read_errors(in->view, &stacks, site_map, site_count, p);
        if (in->ids)
                give_ids(in, &stacks, site_map, site_count);
        stacks_close(&stacks, p);
        senseless = in->brief ? 0 : read_things(in, site_map, site_count, p);
        if (in->slices)
                slices_store(in->slices, site_map, site_count, p);
        free(site_map);
        read_totals(in->view, p);
        warnings_ledger(in->view, senseless, p);
        warnings_marks(marks_lost, p);
        if (in->ended && !in->no_blocks && !profile_is_sampled(p))
                warnings_books(in->view, p);
}

/* ---- the command line as it was typed ---- */

#define INTERPRETER_WORDS 8u /* interpreters may be scripts: four of them, each with an option */

/* PROGRAM as typed, or as PATH led to it. */
static bool is_program_word(const char *word, const char *program)
{
        const char *slash = strrchr(word, '/');

        return strcmp(word, program) == 0 ||
               (slash && !strchr(program, '/') && strcmp(slash + 1, program) == 0);
}

/* For a script the kernel puts the interpreter and its option in front of the command line: show it
 * as it was typed.  Programs that were not typed are named after their file. */
void typed_arguments(struct profile_meta *m)
{
        uint32_t at = 1;

        if (m->arg_count == 0 || strcmp(m->program, m->exe) == 0 ||
            strcmp(m->program, m->args[0]) == 0)
                return;
        while (at < m->arg_count && at <= INTERPRETER_WORDS &&
               !is_program_word(m->args[at], m->program))
                at++;
        if (at >= m->arg_count || at > INTERPRETER_WORDS)
                return;
        for (uint32_t i = 0; i < at; i++)
                free(m->args[i]);
        m->arg_count -= at;
        memmove(m->args, m->args + at, m->arg_count * sizeof *m->args);
}
