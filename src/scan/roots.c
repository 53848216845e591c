/* SPDX-License-Identifier: MIT */
#include "scan/roots.h"

#include <stdlib.h>
#include <string.h>

#include "attach/mappings.h"
#include "base/heap.h"
#include "base/order.h"
#include "base/page.h"
#include "collect/collect.h"
#include "profile/machine.h"
#include "scan/arena.h"
#include "scan/segments.h"
#include "scan/tcb.h"
#include "scan/tls.h"

#define ROOTS_RED_ZONE 128u                 /* below the stack pointer, and in use */
#define ROOTS_LARGE (128u << 10)            /* glibc maps blocks from this size on by themselves */
#define ROOTS_TCBS 8u                       /* at the end of a stack; one is usual */
#define ROOTS_LOADER (16u << 10)            /* the loader's first maps are not larger */
#define ROOTS_NARROW_END (1ull << 32)       /* above it an emulator has its own memory */
#define ROOTS_EMULATOR_THREADS 2u           /* the program's only one, and one of qemu's own */
_Static_assert(FREEZE_VECTORS == MACHINE_VECTOR_WORDS, "machine_register() knows them");

struct work {
        const struct roots_input *in;
        struct mappings maps;
        struct segments segments;
        struct roots *out;
        struct tls tls;
        uint32_t used_room;
        struct ledger_range *own; /* the agent's memory */
        uint32_t own_count;
};

static uint64_t width_of(const struct work *w)
{
        return search_width(w->in->freeze->narrow);
}

static uint64_t page_of(uint64_t address)
{
        return address & ~(page_bytes() - 1);
}

static void note_used(struct work *w, uint64_t start, uint64_t end, bool tls)
{
        struct roots *r = w->out;

        if (r->used_count == w->used_room) {
                w->used_room = w->used_room ? w->used_room * 2 : 16;
                r->used = heap_grow(r->used, w->used_room, sizeof *r->used);
        }
        r->used[r->used_count++] = (struct roots_used){ start, end, tls };
}

/* What is writable, or was: RELRO, memory of no file.  The rest has no pointers to blocks. */
static void put_mapped(struct work *w, struct profile_root root)
{
        for (uint32_t i = mappings_from(&w->maps, root.start);
             i < w->maps.count && w->maps.at[i].start < root.end; i++) {
                const struct mapping *l = &w->maps.at[i];
                struct profile_root part = root;

                if (!l->readable || (!l->writable && root.kind != PROFILE_ROOT_DATA &&
                                     (!l->anonymous || l->shared)))
                        continue;
                part.start = root.start > l->start ? root.start : l->start;
                part.end = root.end < l->end ? root.end : l->end;
                segments_put(&w->segments, part);
        }
}

/* ---- what the kernel shows ---- */

static bool starts_with(const char *text, const char *front)
{
        return strncmp(text, front, strlen(front)) == 0;
}

/* The heap of an emulator has the registers of the program's threads; those of a single one that
 * waits for us are nothing but ours. */
static bool is_memory(const struct work *w, const struct mapping *l)
{
        if (starts_with(l->path, "[heap]"))
                return w->in->emulated && (!w->in->stack_sp ||
                                           w->in->freeze->thread_count > ROOTS_EMULATOR_THREADS);
        if (!l->readable || !l->writable || starts_with(l->path, "[v") ||
            (w->in->freeze->narrow && l->start >= ROOTS_NARROW_END))
                return false;
        if (starts_with(l->path, "/dev/"))
                return starts_with(l->path, "/dev/zero") || starts_with(l->path, "/dev/shm/");
        return !starts_with(l->path, "/memfd:seep-ledger");
}

static bool has_thread(const struct work *w, uint64_t start, uint64_t end)
{
        const struct freeze *f = w->in->freeze;

        for (uint32_t i = 0; i < f->thread_count; i++)
                if ((f->threads[i].sp >= start && f->threads[i].sp < end) ||
                    (f->threads[i].tp >= start && f->threads[i].tp < end))
                        return true;
        return false;
}

/* The allocator's memory around one of its blocks.  Large blocks are maps of their own; around a
 * small one all is the allocator's, up to where an arena begins. */
static void erase_around(struct work *w, const struct mapping *l,
                         const struct search_block *e)
{
        uint64_t start = page_of(e->address - 2 * width_of(w)),
                 end = page_of(e->address + e->size + page_bytes() - 1);

        if (e->size < ROOTS_LARGE) {
                uint64_t bytes = arena_bytes(w->in->freeze), arena = e->address & ~(bytes - 1);

                start = arena > l->start ? arena : l->start;
                end = arena + bytes < l->end ? arena + bytes : l->end;
        }
        segments_erase(&w->segments, start, end);
}

/* Returns whether there is a block in it at all. */
static bool erase_allocator(struct work *w, const struct mapping *l)
{
        const struct scan_entries *e = w->in->entries;
        uint64_t i = scan_entries_find(e, l->start), until = 0, bytes = arena_bytes(w->in->freeze);
        bool found = false;

        for (; i < e->count && e->at[i].address < l->end; i++) {
                if (e->at[i].flags & SCAN_ENTRY_POOL)
                        continue;
                found = true;
                if (e->at[i].address >= until)
                        erase_around(w, l, &e->at[i]);
                if (e->at[i].size < ROOTS_LARGE)
                        until = (e->at[i].address & ~(bytes - 1)) + bytes;
        }
        return found;
}

static bool is_own(const struct work *w, uint64_t address)
{
        for (uint32_t i = 0; i < w->own_count; i++)
                if (address >= w->own[i].start && address < w->own[i].end)
                        return true;
        return false;
}

/* As a stack that libc keeps for a thread to come: a guard page is below it, and no thread is in
 * it.  Tables of the agent that are not open yet look like guards, and are none. */
static bool is_like_old_stack(const struct work *w, uint32_t line)
{
        const struct mapping *l = &w->maps.at[line], *below = line ? l - 1 : NULL;

        return below && below->end == l->start && !below->readable && below->anonymous &&
               !is_own(w, l->start - 1) && !has_thread(w, l->start, l->end);
}

static bool ever_had_blocks(const struct work *w, const struct mapping *l)
{
        uint32_t count = w->in->view->head.shadow_chunk_count;
        struct ledger_chunk *chunks = view_table(w->in->view, LEDGER_CHUNKS, &count,
                                                 sizeof *chunks);
        bool found = false;

        for (uint32_t i = 0; i < count && !found; i++)
                found = chunks[i].ready && chunks[i].base < l->end &&
                        chunks[i].base + LEDGER_SHADOW_SPAN > l->start;
        free(chunks);
        return found;
}

/* [START, END) is the stack of a thread that has ended or is about to begin, or (SURE is false) is
 * if the C library keeps something of a thread at its end: its result, until somebody joins it. */
static void put_old_stack(struct work *w, uint64_t start, uint64_t end, bool sure)
{
        struct search_range found[ROOTS_TCBS];
        uint32_t count = tcb_find(w->in->freeze, start, end, found, ROOTS_TCBS);

        if (sure || count)
                segments_erase(&w->segments, start, end);
        for (uint32_t i = 0; i < count; i++)
                segments_put(&w->segments,
                             (struct profile_root){ .start = found[i].start, .end = found[i].end,
                                                    .kind = PROFILE_ROOT_THREAD,
                                                    .module = PROFILE_NO_MODULE });
}

/* Allocators other than libc's keep their books in maps of their own, which look like
 * any other.  What the loader mapped at the start, with thread-local storage, lies
 * beside the thread pointer. */
static void keep_loaders(struct work *w, const struct mapping *l)
{
        const struct freeze *f = w->in->freeze;

        segments_erase(&w->segments, l->start, l->end);
        for (uint32_t i = 0; i < f->thread_count; i++) {
                uint64_t tp = f->threads[i].tp;

                if (tp >= l->start && tp < l->end)
                        segments_put(&w->segments,
                                     (struct profile_root){ .start = tp - l->start > ROOTS_LOADER
                                                                             ? tp - ROOTS_LOADER
                                                                             : l->start,
                                                            .end = l->end - tp > ROOTS_LOADER
                                                                           ? tp + ROOTS_LOADER
                                                                           : l->end,
                                                            .kind = PROFILE_ROOT_OTHER,
                                                            .module = PROFILE_NO_MODULE });
        }
}

static void put_unknown(struct work *w, uint32_t line)
{
        const struct mapping *l = &w->maps.at[line];

        segments_put(&w->segments,
                     (struct profile_root){ .start = l->start, .end = l->end,
                                            .kind = PROFILE_ROOT_OTHER,
                                            .module = PROFILE_NO_MODULE });
        if (!l->anonymous || l->shared)
                return;
        if (erase_allocator(w, l)) {
                if (w->out->allocator != PROFILE_NO_MODULE)
                        keep_loaders(w, l);
                return;
        }
        if (!w->in->emulated && is_like_old_stack(w, line)) {
                put_old_stack(w, l->start, l->end, !tcb_is_known(w->in->freeze));
        } else if (l->start % arena_bytes(w->in->freeze) == 0 && ever_had_blocks(w, l)) {
                segments_erase(&w->segments, l->start, l->end);
        } else if (w->out->allocator != PROFILE_NO_MODULE && l->end - l->start > ROOTS_LOADER) {
                keep_loaders(w, l);
        }
}

/* ---- what the program mapped ---- */

static bool is_allocators(const struct work *w, const struct profile_region *r)
{
        const struct scan_entries *e = w->in->entries;

        for (uint64_t i = scan_entries_find(e, r->start); i < e->count && e->at[i].address < r->end;
             i++)
                if (!(e->at[i].flags & SCAN_ENTRY_POOL))
                        return true;
        return false;
}

/* What an allocator other than libc's mapped for its books: its innermost frame is in it. */
static bool is_bookkeeping(const struct work *w, const struct profile_region *r)
{
        const struct profile *p = w->in->p;
        uint32_t node = r->site < p->site_count ? p->sites[r->site].node : 0;

        return w->out->allocator != PROFILE_NO_MODULE && node < p->node_count &&
               p->nodes[node].module == w->out->allocator;
}

static void put_regions(struct work *w)
{
        const struct profile *p = w->in->p;

        for (uint32_t i = 0; i < p->region_count; i++) {
                const struct profile_region *r = &p->regions[i];

                if (r->stack) { /* as far as a thread uses it: put_stacks() */
                        if (!w->in->emulated && !has_thread(w, r->start, r->end))
                                put_old_stack(w, r->start, r->end, false);
                        continue;
                }
                if (is_allocators(w, r) || is_bookkeeping(w, r))
                        segments_erase(&w->segments, r->start, r->end);
                else
                        put_mapped(w,
                                   (struct profile_root){ .start = r->start, .end = r->end,
                                                          .kind = PROFILE_ROOT_MAPPING,
                                                          .module = PROFILE_NO_MODULE,
                                                          .region = i + 1 });
        }
}

/* Pointers to chunks are pointers into the ends of blocks, which use the first word of the next
 * chunk. */
static void erase_main_arena(struct work *w, const struct tls_module *m)
{
        for (uint32_t i = 0; i < m->data_count; i++) {
                struct search_range found;

                if (arena_in_data(w->in->freeze, &m->data[i], &found))
                        segments_erase(&w->segments, found.start, found.end);
        }
}

static bool has_libc_malloc(const struct work *w, uint32_t module)
{
        const struct profile_module *m = &w->in->p->modules[module];
        uint64_t at = w->in->view->head.allocator;

        return at >= m->start && at < m->end;
}

/* Where the agent was written into the process, its way to malloc is in no file. */
static bool may_have_libc_malloc(const struct work *w, uint32_t module)
{
        for (uint32_t i = 0; i < w->in->p->module_count; i++)
                if (w->in->p->modules[i].path[0] == '/' && has_libc_malloc(w, i))
                        return i == module;
        return true;
}

/* The module that malloc is in, unless that is the C library with all else that it keeps. */
static uint32_t find_allocator(const struct work *w)
{
        const struct profile *p = w->in->p;

        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *name = strrchr(p->modules[i].path, '/');

                if (!p->modules[i].gone_ms && has_libc_malloc(w, i))
                        return name && (starts_with(name, "/libc.") ||
                                        starts_with(name, "/libc-") ||
                                        starts_with(name, "/ld-musl") ||
                                        strcmp(p->modules[i].path, p->meta.exe) == 0)
                                       ? PROFILE_NO_MODULE
                                       : i;
        }
        return PROFILE_NO_MODULE;
}

/* No block is older than this memory is read-only, so none is held there; but constants of the
 * loader (cache sizes) may be like addresses of a heap that lies low.  A static program is its own
 * loader, and allocates before. */
static void erase_protected(struct work *w, const struct search_range *relro)
{
        uint64_t start = page_of(relro->start), end = page_of(relro->end);
        const struct mapping *l = w->tls.loaded && start < end ? mappings_find(&w->maps, start)
                                                               : NULL;

        if (l && !l->writable && l->end >= end)
                segments_erase(&w->segments, start, end);
}

static void put_modules(struct work *w)
{
        const struct profile *p = w->in->p;
        uint32_t own = w->in->view->head.own_module;

        for (uint32_t i = 0; i < p->module_count; i++) {
                struct tls_module m;

                if (p->modules[i].gone_ms || !tls_module(&w->tls, i, &m))
                        continue;
                for (uint32_t k = 0; k < m.data_count; k++)
                        if (i + 1 == own || (i == w->out->allocator && !w->in->heap_count))
                                segments_erase(&w->segments, page_of(m.data[k].start),
                                               page_of(m.data[k].end + page_bytes() - 1));
                        else
                                put_mapped(w,
                                           (struct profile_root){ .start = m.data[k].start,
                                                                  .end = m.data[k].end,
                                                                  .kind = PROFILE_ROOT_DATA,
                                                                  .module = i });
                erase_protected(w, &m.relro);
                if (may_have_libc_malloc(w, i))
                        erase_main_arena(w, &m);
        }
}

/* ---- threads ---- */

static const struct profile_region *region_at(const struct profile *p, uint64_t address)
{
        uint32_t i = collect_regions_up_to(p, address);

        return i && address < p->regions[i - 1].end ? &p->regions[i - 1] : NULL;
}

/* Where the stack of T in mapping L ends, when nobody told: the C library puts the descriptor of a
 * thread at its end, and the kernel joins it with what is mapped behind it. */
static uint64_t stack_end(const struct work *w, const struct freeze_thread *t,
                          const struct mapping *l)
{
        uint64_t end = page_of(tcb_of(w->in->freeze, t->tp).end + page_bytes() - 1);

        if (freeze_kind(w->in->freeze)->tls_above)
                return l->end;
        return l->anonymous && t->tp > t->sp && t->tp < l->end && end < l->end ? end : l->end;
}

/* The part of a stack above the stack pointer.  One that lies in the heap is left to the block that
 * it is in (add_registers), one in a variable to that. */
static void put_stack(struct work *w, const struct freeze_thread *t)
{
        uint64_t sp = t->sp;
        const struct mapping *l = mappings_find(&w->maps, sp);
        const struct profile_region *r = region_at(w->in->p, sp);
        uint64_t low, high;

        if (!l || starts_with(l->path, "[heap]") ||
            segments_kind(&w->segments, sp) == PROFILE_ROOT_DATA)
                return;
        low = r ? r->start : l->start;
        high = r ? r->end : stack_end(w, t, l);
        segments_erase(&w->segments, low, high);
        segments_put(&w->segments,
                     (struct profile_root){ .start = sp - low > ROOTS_RED_ZONE ? sp - ROOTS_RED_ZONE
                                                                               : low,
                                            .end = high,
                                            .kind = PROFILE_ROOT_STACK,
                                            .tid = t->tid,
                                            .module = PROFILE_NO_MODULE });
}

/* A thread on another stack (a signal's, a coroutine's): how far its first one is used is not
 * known. */
static void put_first_stack(struct work *w, const struct freeze_thread *t, const struct mapping *l)
{
        if (l && (t->sp < l->start || t->sp >= l->end))
                segments_put(&w->segments,
                             (struct profile_root){ .start = l->start, .end = l->end,
                                                    .kind = PROFILE_ROOT_STACK, .tid = t->tid,
                                                    .module = PROFILE_NO_MODULE });
}

static const struct mapping *main_stack(const struct work *w)
{
        for (uint32_t i = 0; i < w->maps.count; i++)
                if (starts_with(w->maps.at[i].path, "[stack]"))
                        return &w->maps.at[i];
        return NULL;
}

static bool is_thread_stack(const struct work *w, const struct mapping *l)
{
        return l && l->anonymous && l > w->maps.at && l[-1].end == l->start && !l[-1].readable;
}

/* Of an emulated program only the thread that waits for us is known: other stacks count whole, as
 * any memory does. */
static void put_stacks(struct work *w)
{
        const struct freeze *f = w->in->freeze;

        if (w->in->emulated) {
                if (w->in->stack_sp)
                        put_stack(w, &(struct freeze_thread){ .tid = (uint32_t)f->pid,
                                                              .sp = w->in->stack_sp });
                return;
        }
        for (uint32_t i = 0; i < f->thread_count; i++) {
                const struct freeze_thread *t = &f->threads[i];
                const struct mapping *l = t->tid == (uint32_t)f->pid
                                                  ? main_stack(w)
                                                  : mappings_find(&w->maps, t->tp);

                if (t->tid == (uint32_t)f->pid || is_thread_stack(w, l))
                        put_first_stack(w, t, l);
        }
        for (uint32_t i = 0; i < f->thread_count; i++)
                if (f->threads[i].sp)
                        put_stack(w, &f->threads[i]);
}

static void put_thread_local(struct work *w, const struct freeze_thread *t)
{
        const struct mapping *l = mappings_find(&w->maps, t->tp);
        struct search_range tcb = tcb_of(w->in->freeze, t->tp);
        struct tls_block *blocks;
        uint32_t count;

        if (!l)
                return;
        put_mapped(w, (struct profile_root){ .start = tcb.start > l->start ? tcb.start : l->start,
                                             .end = tcb.end < l->end ? tcb.end : l->end,
                                             .kind = PROFILE_ROOT_THREAD, .tid = t->tid,
                                             .module = PROFILE_NO_MODULE });
        count = tls_blocks(&w->tls, t->tp, &blocks);
        for (uint32_t i = 0; i < count; i++) {
                if (blocks[i].module + 1 == w->in->view->head.own_module ||
                    blocks[i].module == w->out->allocator) {
                        segments_erase(&w->segments, blocks[i].start, blocks[i].end);
                        continue;
                }
                put_mapped(w,
                           (struct profile_root){ .start = blocks[i].start, .end = blocks[i].end,
                                                  .kind = PROFILE_ROOT_TLS, .tid = t->tid,
                                                  .module = blocks[i].module,
                                                  .base = blocks[i].start });
                note_used(w, blocks[i].start, blocks[i].end, true);
        }
        free(blocks);
}

/* ---- what is told, and what is ours ---- */

static void put_told(struct work *w)
{
        uint32_t count = w->in->view->head.root_count;
        struct ledger_range *told = view_table(w->in->view, LEDGER_ROOTS, &count, sizeof *told);

        for (uint32_t i = 0; i < count; i++) {
                if (told[i].end <= told[i].start)
                        continue;
                segments_put(&w->segments,
                             (struct profile_root){ .start = told[i].start, .end = told[i].end,
                                                    .kind = PROFILE_ROOT_API,
                                                    .module = PROFILE_NO_MODULE });
                note_used(w, told[i].start, told[i].end, false);
        }
        free(told);
}

static void erase_own(struct work *w)
{
        for (uint32_t i = 0; i < w->own_count; i++)
                segments_erase(&w->segments, w->own[i].start, w->own[i].end);
}

static void erase_heaps(struct work *w)
{
        for (uint32_t i = 0; i < w->in->heap_count; i++)
                segments_erase(&w->segments, w->in->heaps[i].start, w->in->heaps[i].end);
}

static void put_moving(struct work *w)
{
        for (uint32_t i = 0; i < w->in->moving_count; i++)
                put_mapped(w,
                           (struct profile_root){ .start = w->in->moving[i].start,
                                                  .end = w->in->moving[i].end,
                                                  .kind = PROFILE_ROOT_PENDING,
                                                  .module = PROFILE_NO_MODULE });
}

/* ---- the result ---- */

static int by_kind(const void *a, const void *b)
{
        const struct profile_root *x = a, *y = b;

        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        if (x->tid != y->tid && x->kind == PROFILE_ROOT_REGISTER)
                return x->tid < y->tid ? -1 : 1;
        return (x->start > y->start) - (x->start < y->start);
}

/* Registers, and the stack pointer once more: a block that it points into,
 * anywhere, is a stack in use. */
static void add_registers(struct work *w)
{
        const struct freeze *f = w->in->freeze;
        struct roots *r = w->out;
        uint64_t words = freeze_kind(f)->registers + FREEZE_VECTORS;

        for (uint32_t i = 0; i < f->thread_count && !w->in->emulated; i++) {
                const struct freeze_thread *t = &f->threads[i];

                if (!t->stopped)
                        continue;
                r->at[r->count++] = (struct profile_root){ .end = 8 * words,
                                                           .kind = PROFILE_ROOT_REGISTER,
                                                           .tid = t->tid,
                                                           .module = PROFILE_NO_MODULE };
                r->at[r->count++] = (struct profile_root){ .start = 8 * words,
                                                           .end = 8 * (words + 1),
                                                           .kind = PROFILE_ROOT_REGISTER,
                                                           .tid = t->tid,
                                                           .module = PROFILE_NO_MODULE };
        }
}

static const struct freeze_thread *thread_of(const struct freeze *f, uint32_t tid)
{
        for (uint32_t i = 0; i < f->thread_count; i++)
                if (f->threads[i].tid == tid)
                        return &f->threads[i];
        return NULL;
}

static uint32_t emulators(const struct work *w, const struct profile_root *p)
{
        const struct mapping *l = w->in->emulated ? mappings_find(&w->maps, p->start) : NULL;

        return l && starts_with(l->path, "[heap]") ? SEARCH_ROOT_HOST : 0;
}

/* WORDS: where the registers of one root go. */
static struct search_root to_search(const struct work *w, const struct profile_root *p,
                                    uint64_t *words)
{
        struct search_root s = { .start = p->start, .end = p->end };
        const struct freeze_thread *t = p->kind == PROFILE_ROOT_REGISTER
                                                ? thread_of(w->in->freeze, p->tid)
                                                : NULL;

        s.flags = p->kind == PROFILE_ROOT_THREAD ? SEARCH_ROOT_WHOLE : emulators(w, p);
        if (!t)
                return s;
        s.words = words;
        if (p->start == 0) {
                uint32_t count = freeze_kind(w->in->freeze)->registers;

                memcpy(words, t->registers, count * sizeof *words);
                memcpy(words + count, t->vectors, sizeof t->vectors);
        } else {
                words[0] = t->sp;
                s.flags = SEARCH_ROOT_WHOLE;
        }
        return s;
}

ORDER_BY(by_start, struct search_range, start)

ORDER_BY(by_use, struct roots_used, start)

static void hand_over(struct work *w)
{
        struct roots *r = w->out;
        uint64_t *words;

        r->at = heap_zero(w->segments.count + 2 * w->in->freeze->thread_count, sizeof *r->at);
        for (uint32_t i = 0; i < w->segments.count; i++)
                r->at[i] = *segments_get(&w->segments, i);
        r->count = w->segments.count;
        add_registers(w);
        qsort(r->at, r->count, sizeof *r->at, by_kind);
        r->search = heap_zero(r->count, sizeof *r->search);
        words = r->words = heap_zero((uint64_t)w->in->freeze->thread_count *
                                             (FREEZE_REGISTERS_MOST + FREEZE_VECTORS + 1),
                                     sizeof *words);
        for (uint32_t i = 0; i < r->count; i++) {
                r->search[i] = to_search(w, &r->at[i], words);
                words += r->search[i].words ? (r->at[i].end - r->at[i].start) / 8 : 0;
        }
        if (r->used_count)
                qsort(r->used, r->used_count, sizeof *r->used, by_use);
}

static void find_code(struct work *w)
{
        const struct profile *p = w->in->p;
        struct roots *r = w->out;

        r->code = heap_zero(p->module_count, sizeof *r->code);
        for (uint32_t i = 0; i < p->module_count; i++)
                if (!p->modules[i].gone_ms && p->modules[i].end > p->modules[i].start)
                        r->code[r->code_count++] = (struct search_range){ p->modules[i].start,
                                                                          p->modules[i].end };
        if (r->code_count)
                qsort(r->code, r->code_count, sizeof *r->code, by_start);
        for (uint32_t i = 1; i < r->code_count; i++) /* disjoint, whatever the ledger says */
                if (r->code[i].start < r->code[i - 1].end)
                        r->code[i].start = r->code[i - 1].end < r->code[i].end ? r->code[i - 1].end
                                                                               : r->code[i].end;
}

void roots_find(struct roots *r, const struct roots_input *in)
{
        struct work w = { .in = in, .out = r, .own_count = in->view->head.own_count };

        *r = (struct roots){ 0 };
        w.own = view_table(in->view, LEDGER_OWN, &w.own_count, sizeof *w.own);
        mappings_parse(&w.maps, in->freeze->maps);
        tls_open(&w.tls, in->freeze, in->p);
        r->allocator = find_allocator(&w);
        for (uint32_t i = 0; i < w.maps.count; i++)
                if (is_memory(&w, &w.maps.at[i]))
                        put_unknown(&w, i);
        put_regions(&w);
        put_modules(&w);
        erase_heaps(&w);
        put_stacks(&w);
        for (uint32_t i = 0; i < in->freeze->thread_count && !in->emulated; i++)
                if (in->freeze->threads[i].tp)
                        put_thread_local(&w, &in->freeze->threads[i]);
        put_told(&w);
        put_moving(&w);
        erase_own(&w);
        find_code(&w);
        hand_over(&w);
        tls_close(&w.tls);
        segments_free(&w.segments);
        mappings_free(&w.maps);
        free(w.own);
}

void roots_free(struct roots *r)
{
        free(r->at);
        free(r->search);
        free(r->code);
        free(r->used);
        free(r->words);
        *r = (struct roots){ 0 };
}
