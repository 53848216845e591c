/* SPDX-License-Identifier: MIT */
#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/core.h"
#include "attach/freeze.h"
#include "attach/mappings.h"
#include "attach/refusal.h"
#include "base/clock.h"
#include "base/find.h"
#include "base/heap.h"
#include "base/parallel.h"
#include "collect/blocks.h"
#include "collect/collect.h"
#include "leak/run.h"
#include "leak/search.h"
#include "profile/packed.h"
#include "scan/bypass.h"
#include "scan/heap_walk.h"
#include "scan/older.h"
#include "scan/roots.h"
#include "scan/scan_list.h"
#include "scan/scan_origin.h"
#include "scan/scan_store.h"
#include "scan/stopped.h"
#include "scan/suppressions.h"
#include "scan/unrecorded.h"
#include "wire/hello.h"

struct scan {
        const struct scan_order *o;
        struct profile *p;
        struct freeze freeze;
        struct scan_entries before, now;
        bool copied;
        uint32_t moment_ms;
        uint64_t waiting_sp, waiting_context; /* of the thread that waits for this search
                                               * (ledger_head.scan_sp); 0 none */
        struct search_range *moving;
        uint32_t moving_count;
        struct scan_list list;
        struct scan_origin origin;
        struct roots roots;
        struct search_graph graph;
        struct bypass bypass;
        struct stopped *stopped;
        struct unrecorded *unrecorded; /* NULL: it has a ledger */
        struct older older; /* what that does not know; empty unless the recording is attached */
        uint64_t begin_ns;
};

/* ---- the moment ---- */

/* At its end the process leaves at once, and only the copy is there to be read: it must have
 * all. */
static bool copy(struct scan *s)
{
        struct err e;

        if (s->o->flags & WIRE_SCAN_HOLD || s->o->view->head.wipes || !freeze_copy(&s->freeze, &e))
                return false;
        if (!PROFILE_SCAN_IS_LAST(s->o->when) || freeze_is_whole(&s->freeze))
                return true;
        freeze_drop(&s->freeze);
        return false;
}

/* An emulator may have the memory of a 32-bit program elsewhere: where our own library is tells. */
static void find_base(struct scan *s)
{
        const struct view *v = s->o->view;
        uint32_t count = v->head.own_module;
        struct ledger_module *modules = view_table(v, LEDGER_MODULES, &count, sizeof *modules);

        if (count && count == v->head.own_module)
                freeze_emulated(&s->freeze, modules[count - 1].start, "/libseep.so");
        free(modules);
}

static void take_waiting(struct scan *s)
{
        const struct ledger_head *h = &s->o->view->head;

        if (h->scan_asked != h->scan_done) {
                s->waiting_sp = h->scan_sp;
                s->waiting_context = h->scan_context;
        }
        free(s->moving);
        s->moving_count = scan_moving(s->o->view, &s->moving);
}

/* While the process stands still.  A copy that cannot be made is no failure: it is held instead. */
static void take_moment(struct scan *s)
{
        const struct ledger_head *h = &s->o->view->head;
        struct err e;

        s->moment_ms = view_moment(s->o->view);
        view_refresh(s->o->view, &e);
        s->freeze.wait_offset = view_is_emulated(s->o->view) ? 0 : h->wait_offset;
        s->freeze.turned = s->o->view->turned;
        s->freeze.narrow = h->word_bytes == 4;
        if (s->freeze.narrow && view_is_emulated(s->o->view))
                find_base(s);
        take_waiting(s);
        s->copied = copy(s);
        if (s->copied)
                freeze_release(&s->freeze);
}

#define TRIES 5u /* a thread may be in the middle of malloc */

/* The process was there before its ledger: what that does not know may hold what it knows. */
static bool walk_heap(struct scan *s, bool *again, struct err *e)
{
        older_free(&s->older);
        if (!older_walk(&s->older, &s->freeze, e))
                return *again = false;
        if (!s->older.walk.trouble[0])
                return true;
        if (*again)
                freeze_close(&s->freeze);
        else
                err_set(e, ERR_EXIT_CANNOT_TRACE, "%s, so blocks that are older than the "
                        "recording are not all known", s->older.walk.trouble);
        return false;
}

/* Elsewhere: our ledger has come to that moment, and waits. */
static bool hold_far(struct scan *s, struct err *e)
{
        if (!s->o->far->hold(s->o->far->context, &s->freeze, e) || !view_refresh(s->o->view, e))
                return false;
        s->freeze.turned = s->o->view->turned;
        s->freeze.narrow = s->o->view->head.word_bytes == 4;
        s->moment_ms = s->o->view->head.tick_ms;
        take_waiting(s);
        return true;
}

static bool hold(struct scan *s, struct err *e)
{
        for (uint32_t tries = TRIES; tries; tries--) {
                bool again = tries > 1;

                if (s->o->first_tracer ? !freeze_kept(&s->freeze, s->o->pid, s->o->first_tracer, e)
                                       : !freeze_stop(&s->freeze, s->o->pid, e))
                        return false;
                take_moment(s);
                if (!s->o->view->head.attached || walk_heap(s, &again, e))
                        return true;
                if (!again)
                        return false;
        }
        return false;
}

/* All that our ledger knows of a process elsewhere is from before; the clock of a host that came
 * late may be behind that. */
static void settle_moment(struct scan *s)
{
        if (s->now.newest_ms >= s->moment_ms)
                s->moment_ms = s->now.newest_ms + 1;
}

/* What the ledger has now, as a profile and as a list: its shadow is read once for both, if the
 * profile's blocks are read here at all. */
static void read_ledger(struct scan *s)
{
        struct view *v = s->o->view;
        uint32_t since_ms = s->copied ? s->moment_ms : UINT32_MAX;
        struct blocks_listener listener = scan_entries_begin(&s->now, v, since_ms);

        v->listener = &listener;
        s->o->collect(s->o->context, s->p);
        v->listener = NULL;
        if (listener.heard) {
                scan_entries_end(&s->now);
        } else {
                scan_entries_free(&s->now);
                scan_entries_read(&s->now, v, since_ms);
        }
}

static bool stop(struct scan *s, struct err *e)
{
        struct err ignored;

        if (!s->o->far && !PROFILE_SCAN_IS_LAST(s->o->when) && view_refresh(s->o->view, &ignored))
                scan_entries_read(&s->before, s->o->view, UINT32_MAX);
        if (s->o->far ? !hold_far(s, e) : !hold(s, e))
                return false;
        s->o->stopped(s->o->context, s->copied);
        view_refresh(s->o->view, &ignored);
        read_ledger(s);
        if (s->o->far)
                settle_moment(s);
        if (!s->o->view->head.attached)
                return true;
        /* The ledger names where a call of the agent's begins, which leads to malloc. */
        s->o->view->head.allocator = s->older.walk.malloc_at;
        older_choose(&s->older, &s->now, &s->before);
        older_store(&s->older, &s->freeze, s->p);
        return true;
}

/* ---- what is searched ---- */

static void find_blocks(struct scan *s)
{
        struct mappings mappings = { 0 };
        struct scan_moment moment = { .now = &s->now,
                                      .before = s->copied && !s->unrecorded ? &s->before : NULL,
                                      .mappings = &mappings };

        mappings_parse(&mappings, s->freeze.maps);
        scan_blocks(&moment, &s->list);
        mappings_free(&mappings);
        scan_entries_free(&s->before);
}

static bool keeps_graph(const struct scan *s)
{
        return s->list.count < SCAN_GRAPH_BLOCKS || (s->o->flags & WIRE_SCAN_GRAPH);
}

#define OURS_BYTES 65536u /* of stack that we use at most */

/* The thread that waits for this search, by its stack: numbers differ between name spaces. */
static struct freeze_thread *find_waiting(struct scan *s)
{
        struct freeze_thread *found = NULL;

        for (uint32_t i = 0; s->waiting_sp && i < s->freeze.thread_count; i++) {
                struct freeze_thread *t = &s->freeze.threads[i];

                if (t->sp <= s->waiting_sp && s->waiting_sp - t->sp < OURS_BYTES &&
                    (!found || t->sp > found->sp))
                        found = t;
        }
        return found;
}

/* What we and the C library's exit have on its stack is nothing of the program's; old words of its
 * own may still lie in between. */
static void leave_waiting(struct scan *s)
{
        struct freeze_thread *t = find_waiting(s);

        if (!t || s->waiting_context || stopped_return(s->stopped, t))
                return;
        t->sp = s->waiting_sp; /* the registers are saved above it */
        memset(t->registers, 0, sizeof t->registers);
        memset(t->vectors, 0, sizeof t->vectors);
}

/* A signal is about to end it: what counts is what it did until then. */
static void leave_handler(struct scan *s)
{
        struct freeze_thread *t = s->waiting_context ? find_waiting(s) : NULL;

        if (t)
                freeze_interrupted(&s->freeze, t, s->waiting_context);
}

/* Whether it was mapped by code of the program's file and has blocks of malloc. */
static bool is_of_linked_malloc(const struct scan *s, const struct profile_region *r)
{
        const struct profile *p = s->p;
        uint32_t node = r->site < p->site_count ? p->sites[r->site].node : 0;
        uint32_t module = node < p->node_count ? p->nodes[node].module : PROFILE_NO_MODULE;

        if (r->stack || module >= p->module_count ||
            strcmp(p->modules[module].path, p->meta.exe) != 0)
                return false;
        for (uint64_t i = scan_entries_find(&s->now, r->start);
             i < s->now.count && s->now.at[i].address < r->end; i++)
                if (!(s->now.at[i].flags & SCAN_ENTRY_POOL))
                        return true;
        return false;
}

#define WALKED_MOST (1u << 22) /* a walk takes 16 bytes a block or more */

/* What an allocator mapped for its books is no root: old pointers in its caches hold nothing.  Of
 * one that is linked into the program only a walk through its heap tells what that is. */
static void find_linked_heap(struct scan *s)
{
        struct err ignored;
        uint32_t i = 0;

        if (s->unrecorded || s->older.walk.malloc_at || s->o->far ||
            view_is_emulated(s->o->view) || s->now.count > WALKED_MOST)
                return;
        while (i < s->p->region_count && !is_of_linked_malloc(s, &s->p->regions[i]))
                i++;
        if (i < s->p->region_count &&
            (!older_walk(&s->older, &s->freeze, &ignored) || s->older.walk.trouble[0]))
                older_free(&s->older);
}

static void find_roots(struct scan *s)
{
        const struct walk_blocks *walk = s->unrecorded ? &s->unrecorded->walk : &s->older.walk;
        struct roots_input in = {
                .freeze = &s->freeze,
                .emulated = view_is_emulated(s->o->view),
                .stack_sp = s->waiting_sp,
                .view = s->o->view,
                .p = s->p,
                .entries = &s->now,
                .moving = s->moving,
                .moving_count = s->moving_count,
                .heaps = walk->own,
                .heap_count = walk->own_count,
        };

        if (!in.emulated && !freeze_is_foreign(&s->freeze)) {
                leave_handler(s);
                s->stopped = stopped_open(&s->freeze, s->p, s->o->view);
                if (keeps_graph(s))
                        stopped_frames(s->stopped, s->p);
                leave_waiting(s);
                stopped_close(s->stopped);
        }
        roots_find(&s->roots, &in);
}

/* The list may be the very entries. */
static void leave_entries(struct scan *s)
{
        if (s->list.at == s->now.at) {
                s->now.at = NULL;
                scan_origin_take(&s->origin, &s->now, s->p, s->moment_ms);
        }
        scan_entries_free(&s->now);
}

static void use_blocks(struct scan *s)
{
        bool roots = scan_list_mark_used(&s->list, &s->roots);

        if (roots || s->list.count != s->p->block_count)
                scan_origin_number(&s->origin, s->list.count);
        if (roots)
                scan_list_leave_roots(&s->list, &s->origin);
        scan_list_bound_passages(&s->list, &s->roots);
}

/* ---- reading ---- */

/* Without idioms, where a block comes from makes no difference. */
static void find_origin(struct scan *s, struct search_input *in)
{
        struct scan_origin_input blocks = { .blocks = s->list.at, .count = s->list.count,
                                            .moment_ms = s->moment_ms, .memory = in->memory };

        scan_origin_find(&s->origin, &blocks, s->p);
        if (in->no_idioms)
                return;
        scan_origin_mark_arrays(&s->origin, &blocks, s->p);
        in->places = s->origin.places;
        in->wider = s->origin.wider;
        in->place_count = s->origin.place_count;
}

/* What is free for the allocator was taken for lost, and what it points to for held; what only the
 * allocator knows may hold what seemed lost.  Returns whether there is any of it. */
static bool find_bypass(struct scan *s)
{
        struct bypass_input in = { .freeze = &s->freeze, .view = s->o->view,
                                   .graph = &s->graph, .blocks = s->list.at,
                                   .places = s->origin.places,
                                   .place_count = s->origin.place_count,
                                   .count = s->list.count };
        struct search_range *roots;

        /* Over a wire the whole heap would come for that. */
        if (s->unrecorded || s->o->far || view_is_emulated(s->o->view))
                return false;
        roots = scan_list_root_memory(&s->roots, &in.root_count);
        in.roots = roots;
        bypass_look(&s->bypass, &in);
        free(roots);
        if (s->bypass.strange_count)
                scan_list_add_passages(&s->list, &s->origin, s->bypass.strange,
                                       s->bypass.strange_count);
        return s->bypass.gone || s->bypass.strange_count;
}

static bool has_instances(const struct profile *p)
{
        static const char library[] = "/libgobject-2.0.so";
        bool found = false;

        for (uint32_t i = 0; i < p->module_count && !found; i++) {
                const char *name = strrchr(p->modules[i].path, '/');

                found = name && strncmp(name, library, strlen(library)) == 0;
        }
        return found;
}

static void search(struct scan *s)
{
        struct search_input in = {
                .memory = heap_walk_memory(&s->freeze),
                .blocks = s->list.at,
                .block_count = s->list.count,
                .roots = s->roots.search,
                .root_count = s->roots.count,
                .code = s->roots.code,
                .code_count = s->roots.code_count,
                .unaligned = s->o->flags & WIRE_SCAN_UNALIGNED,
                .no_idioms = s->o->flags & WIRE_SCAN_NO_IDIOMS,
                .instances = has_instances(s->p),
                .threads = parallel_threads(),
        };

        find_origin(s, &in);
        search_run(&in, &s->graph);
        if (!find_bypass(s))
                return;
        search_graph_free(&s->graph);
        in.blocks = s->list.at;
        in.block_count = s->list.count;
        in.places = in.no_idioms ? NULL : s->origin.places;
        search_run(&in, &s->graph);
}

/* ---- the result ---- */

/* What each thread may have in hand just now: a block that realloc gives back, and one that it
 * gets. */
#define IN_HAND 2u

/* Strange blocks, if there are more than can be explained otherwise.  Where the program WENT_ON
 * after the copy, they may be blocks that it has released since. */
static uint64_t unseen_blocks(const struct scan *s, bool went_on)
{
        uint64_t count = s->bypass.strange_count;

        return count > s->freeze.thread_count * IN_HAND && !s->bypass.expected && !went_on ? count
                                                                                          : 0;
}

static void describe(struct scan *s, struct profile_scan *out)
{
        bool went_on = (s->copied || (s->freeze.far && s->freeze.far->copied)) &&
                       !PROFILE_SCAN_IS_LAST(s->o->when);

        *out = (struct profile_scan){
                .ms = s->moment_ms,
                .when = s->o->when,
                .flags = (s->o->flags & WIRE_SCAN_UNALIGNED ? PROFILE_SCAN_UNALIGNED : 0) |
                         (went_on ? PROFILE_SCAN_COPY : 0) |
                         (s->o->lost ? PROFILE_SCAN_INCREMENT : 0),
                .threads = s->freeze.thread_count,
                .roots = s->roots.count,
                .root_bytes = s->graph.root_bytes,
                .heap_bytes = s->graph.heap_bytes,
                .gone = s->bypass.gone,
                .unseen = unseen_blocks(s, went_on),
                .trouble = heap_text(""),
        };
}

static void store(struct scan *s)
{
        struct scan_result result = { .blocks = s->list.at, .graph = &s->graph, .roots = &s->roots,
                                      .freeze = &s->freeze, .lost = s->o->lost,
                                      .lost_count = s->o->lost_count,
                                      .block_of = s->origin.block_of,
                                      .places = s->origin.places };
        struct profile_scan *scan = heap_zero(1, sizeof *scan);
        uint64_t definite;

        describe(s, scan);
        s->p->scans = scan;
        s->p->scan_count = 1;
        definite = scan_store_verdicts(&result, s->p);
        scan->suppressions = definite ? suppressions_of_program(&s->freeze, s->p) : heap_text("");
        freeze_release(&s->freeze);
        scan->pause_us = s->freeze.pause_ns / 1000;
        scan->scan_us = (clock_now_ns() - s->begin_ns) / 1000;
        s->o->read(s->o->context, definite); /* what follows needs nothing of the program */
        if (keeps_graph(s)) {
                scan_store_graph(&result, s->p);
                stopped_end_frames(s->p);
                scan->flags |= PROFILE_SCAN_GRAPH;
        }
}

#define NEED_BASE (16u << 20)
#define NEED_PACKED 8u /* a block as it goes into the recording (profile/packed.h) */
#define NEED_GRAPH 43u /* a block in the lists of leak/search.h and
                        * scan/scan_origin.h, with one pointer to it */

uint64_t scan_need(const struct view *v)
{
        return NEED_BASE +
               blocks_count(v) * (NEED_PACKED + sizeof(struct search_block) + NEED_GRAPH);
}

void scan_trouble(struct profile *p, const char *why)
{
        p->scans = heap_zero(1, sizeof *p->scans);
        p->scans[0].trouble = heap_text(why);
        p->scans[0].suppressions = heap_text("");
        p->scan_count = 1;
}

/* false: the memory went away meanwhile. */
static bool find_all(struct scan *s, struct err *e)
{
        if (s->unrecorded || s->older.count)
                older_spare_in_hand(&s->now, &s->freeze, s->p, s->o->view->head.allocator);
        find_blocks(s);
        find_linked_heap(s);
        find_roots(s);
        leave_entries(s);
        use_blocks(s);
        search(s);
        if (!freeze_lasts(&s->freeze))
                return err_set(e, ERR_EXIT_CANNOT_TRACE, SCAN_KILLED);
        store(s);
        return true;
}

static void clean_up(struct scan *s)
{
        freeze_close(&s->freeze);
        search_graph_free(&s->graph);
        scan_origin_free(&s->origin);
        roots_free(&s->roots);
        scan_entries_free(&s->before);
        scan_entries_free(&s->now);
        older_free(&s->older);
        bypass_free(&s->bypass);
        free(s->list.at);
        free(s->list.known);
        free(s->moving);
}

bool scan_run(const struct scan_order *o, struct profile *p, struct err *e)
{
        struct scan s = { .o = o, .p = p, .begin_ns = clock_now_ns() };
        bool stopped = stop(&s, e), good = stopped && find_all(&s, e);

        if (!stopped)
                o->collect(o->context, p);
        if (!good)
                scan_trouble(p, e->text);
        clean_up(&s);
        return good;
}

/* ---- without a ledger ---- */

static void say_nothing(void *context, uint64_t definite)
{
        (void)context, (void)definite;
}

/* Stop the process of T, and copy it if that can be; or open its core file. */
static bool hold_unrecorded(struct scan *s, const struct scan_target *t, struct err *e)
{
        struct err ignored;

        if (t->core)
                return core_open(&s->freeze, t->core, &t->files, e);
        if (!freeze_stop(&s->freeze, t->pid, e))
                return false;
        s->copied = !(t->flags & WIRE_SCAN_HOLD) && freeze_copy(&s->freeze, &ignored);
        if (s->copied)
                freeze_release(&s->freeze);
        return true;
}

/* All that is known of it: P is filled, or is a recording that is brought to the moment of the
 * core. */
static bool take_unrecorded(struct scan *s, const struct scan_target *t, struct err *e)
{
        struct profile *p = s->p;

        if (!hold_unrecorded(s, t, e))
                return false;
        if (p->module_count && !unrecorded_is_of(p, &s->freeze, t->core, e))
                return false;
        if (!p->module_count) {
                unrecorded_about(p, &s->freeze);
                unrecorded_modules(p, &s->freeze);
        }
        s->moment_ms = p->meta.duration_ms < UINT32_MAX - 1 ? (uint32_t)p->meta.duration_ms + 1
                                                            : UINT32_MAX;
        return unrecorded_blocks(s->unrecorded, &s->freeze, p, e);
}

/* What is missing in the file may have held pointers. */
static void warn_of_core(struct profile *p, const struct core_about *a)
{
        if (a->cut_bytes)
                collect_warn(p,
                             "the core file is cut off: %llu bytes of memory are missing in it "
                             "(ulimit -c limits its size), and what they hold counts as lost",
                             (unsigned long long)a->cut_bytes);
        else if (a->missing_bytes)
                collect_warn(p,
                             "%llu bytes of writable memory are not in the core file (see "
                             "coredump_filter in core(5)), and what they hold counts as lost",
                             (unsigned long long)a->missing_bytes);
        if (a->other_file)
                collect_warn(p,
                             "%s is not the file that the program used (its build id differs), so "
                             "nothing was read from it; --exe or --sysroot name the right one",
                             a->other_file);
}

static bool search_unrecorded(struct scan *s, struct err *e)
{
        struct unrecorded *u = s->unrecorded;
        struct ledger_head *head = &s->o->view->head;

        head->allocator = u->walk.malloc_at;
        for (uint32_t i = 0; i < s->p->module_count; i++)
                if (strstr(s->p->modules[i].path, "/libseep.so"))
                        head->own_module = i + 1;
        s->now = u->entries;
        u->entries = (struct scan_entries){ 0 };
        if (!find_all(s, e))
                return false;
        packed_undo_pointers(s->p);
        if (s->freeze.core)
                warn_of_core(s->p, core_about(s->freeze.core));
        if (u->walk.trouble[0])
                collect_warn(s->p, "%s; what lies behind it was not searched", u->walk.trouble);
        return true;
}

bool scan_unrecorded(const struct scan_target *t, struct profile *p, struct err *e)
{
        struct view none = { .fd = -1 };
        struct scan_order o = { .pid = t->pid, .view = &none, .flags = t->flags, .lost = t->lost,
                                .lost_count = t->lost_count, .read = say_nothing,
                                .when = t->core ? PROFILE_SCAN_CORE : PROFILE_SCAN_ASKED };
        bool good = t->core || refusal_possible(t->pid, e), again = good;

        for (uint32_t tries = t->core ? 1 : TRIES; again; tries--) {
                struct unrecorded u = { 0 };
                struct scan s = { .o = &o, .p = p, .begin_ns = clock_now_ns(), .unrecorded = &u };

                good = take_unrecorded(&s, t, e);
                again = good && u.walk.trouble[0] && tries > 1;
                if (good && !again)
                        good = search_unrecorded(&s, e);
                clean_up(&s);
                unrecorded_free(&u);
                if (again || !good)
                        profile_free(p);
        }
        return good;
}
