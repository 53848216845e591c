/* SPDX-License-Identifier: MIT */
/*
 * stopped.c -- the frames of threads that stand still: which function has which part of the stack.
 *
 * Keeps:  only unwind tables are used, never debug information: names are found when somebody asks.
 */
#include "scan/stopped.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_library.h"
#include "base/heap.h"

#define STOPPED_THREADS_MAX 256u
#define STOPPED_FRAMES_MAX 1000u

struct unwind {
        const struct freeze *freeze;
        const struct profile *p;
        const struct freeze_thread *thread;
        uint32_t next;

        struct profile *out; /* stopped_frames: where frames go */
        uint32_t depth;

        uint32_t own;               /* 1 + the module that is our own library */
        struct freeze_thread *back; /* stopped_return: what is changed */
        bool found;
};

struct stopped {
        Dwfl *dwfl;
        char **paths; /* of modules */
        uint32_t path_count;
        struct unwind unwind;
};

/* ---- what libdwfl asks ---- */

static int find_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
        const char *path = *data;
        int fd;

        (void)m, (void)name, (void)base, (void)elf;
        fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0)
                *file_name = heap_text(path);
        return fd;
}

static int find_no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
                             const char *file, const char *link, GElf_Word crc, char **out)
{
        (void)m, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)out;
        return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread_argument)
{
        struct unwind *u = argument;

        (void)dwfl;
        if (u->next >= 1)
                return 0;
        u->next++;
        *thread_argument = argument;
        return (pid_t)u->thread->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *argument, void **thread_argument)
{
        (void)dwfl, (void)tid;
        *thread_argument = argument;
        return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *argument)
{
        const struct unwind *u = argument;

        (void)dwfl;
        return freeze_words(u->freeze, address, result, 1) == 1;
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
        const struct unwind *u = argument;
        const struct freeze_kind *kind = freeze_kind(u->freeze);
        Dwarf_Word values[FREEZE_REGISTERS_MOST], sp = u->thread->sp, pc = u->thread->pc;

        for (uint32_t i = 0; i < FREEZE_REGISTERS_MOST; i++)
                values[i] = u->thread->registers[i]; /* in DWARF's order */
        if (!dwfl_thread_state_registers(thread, 0, kind->registers, values))
                return false;
        if (kind->stack >= kind->registers &&
            !dwfl_thread_state_registers(thread, (int)kind->stack, 1, &sp))
                return false;
        if (kind->pc)
                return dwfl_thread_state_registers(thread, (int)kind->pc, 1, &pc);
        dwfl_thread_state_register_pc(thread, pc);
        return true;
}

static bool frame_stack(const struct unwind *u, Dwfl_Frame *frame, Dwarf_Word *sp)
{
        return dwfl_frame_reg(frame, freeze_kind(u->freeze)->stack, sp) == 0;
}

/* ---- frames ---- */

static uint32_t module_at(const struct profile *p, uint64_t pc)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (!p->modules[i].gone_ms && p->modules[i].start <= pc && pc < p->modules[i].end)
                        return i;
        return PROFILE_NO_MODULE;
}

/* The frame before ends where this one begins. */
static void end_last(struct unwind *u, uint64_t sp)
{
        struct profile_frame *last = u->depth ? &u->out->frames[u->out->frame_count - 1] : NULL;

        if (last && sp >= last->low)
                last->high = sp;
}

static int take_frame(Dwfl_Frame *frame, void *argument)
{
        struct unwind *u = argument;
        struct profile *p = u->out;
        Dwarf_Addr pc;
        Dwarf_Word sp;
        bool exact;

        if (u->depth >= STOPPED_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &exact) ||
            !frame_stack(u, frame, &sp))
                return DWARF_CB_ABORT;
        end_last(u, sp);
        p->frames = heap_next(p->frames, p->frame_count, sizeof *p->frames);
        p->frames[p->frame_count++] = (struct profile_frame){ .low = sp,
                                                              .high = sp,
                                                              .pc = pc,
                                                              .tid = u->thread->tid,
                                                              .module = module_at(p, pc),
                                                              .exact = exact };
        u->depth++;
        return DWARF_CB_OK;
}

void stopped_end_frames(struct profile *p)
{
        for (uint32_t k = 0; k < p->frame_count; k++) {
                struct profile_frame *f = &p->frames[k];
                bool outermost = k + 1 == p->frame_count || f[1].tid != f->tid;

                for (uint32_t i = 0; outermost && i < p->root_count; i++) {
                        const struct profile_root *r = &p->roots[i];

                        if (r->kind == PROFILE_ROOT_STACK && r->start <= f->low + ARCH_RED_ZONE &&
                            f->low < r->end)
                                f->high = r->end;
                }
        }
}

void stopped_frames(struct stopped *s, struct profile *p)
{
        const struct freeze *f = s->unwind.freeze;

        s->unwind.out = p;
        for (uint32_t i = 0; s->dwfl && i < f->thread_count && i < STOPPED_THREADS_MAX; i++) {
                s->unwind.thread = &f->threads[i];
                s->unwind.depth = 0;
                if (f->threads[i].stopped)
                        dwfl_getthread_frames(s->dwfl, (pid_t)f->threads[i].tid, take_frame,
                                              &s->unwind);
        }
}

/* ---- back to the program ---- */

/* Whether the code at PC is ours or the C library's. */
static bool is_between(const struct unwind *u, uint64_t pc)
{
        const struct profile *p = u->p;
        uint32_t module = module_at(p, pc);

        return module + 1 == u->own ||
               (module != PROFILE_NO_MODULE && c_library_has(p->modules[module].path));
}

/* What a function must leave as it was: their values are still those of the program. */
static void keep_registers(const struct unwind *u, Dwfl_Frame *frame, struct freeze_thread *t)
{
        const struct freeze_kind *kind = freeze_kind(u->freeze);

        memset(t->registers, 0, sizeof t->registers);
        memset(t->vectors, 0, sizeof t->vectors);
        for (uint32_t i = 0; i < kind->kept_count; i++) {
                Dwarf_Word value;

                if (dwfl_frame_reg(frame, kind->kept[i], &value) == 0)
                        t->registers[kind->kept[i]] = value;
        }
}

static int find_program(Dwfl_Frame *frame, void *argument)
{
        struct unwind *u = argument;
        Dwarf_Addr pc;
        Dwarf_Word sp;
        bool exact;

        if (u->depth++ >= STOPPED_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &exact) ||
            !frame_stack(u, frame, &sp))
                return DWARF_CB_ABORT;
        u->back->sp = sp;
        if (is_between(u, pc - !exact))
                return DWARF_CB_OK;
        keep_registers(u, frame, u->back);
        u->found = true;
        return DWARF_CB_ABORT;
}

bool stopped_return(struct stopped *s, struct freeze_thread *t)
{
        struct freeze_thread copy = *t;

        if (!s->dwfl || !t->stopped)
                return false;
        s->unwind.thread = &copy;
        s->unwind.back = t;
        s->unwind.depth = 0;
        s->unwind.found = false;
        dwfl_getthread_frames(s->dwfl, (pid_t)t->tid, find_program, &s->unwind);
        if (!s->unwind.found)
                *t = copy;
        return s->unwind.found;
}

/* ---- modules ---- */

static void report(struct stopped *s, const char *path, uint64_t start, uint64_t end)
{
        char **to = &s->paths[s->path_count];
        Dwfl_Module *added = path[0] == '/' ? dwfl_report_module(s->dwfl, path, start, end) : NULL;
        void **data;

        if (!added || !dwfl_module_info(added, &data, NULL, NULL, NULL, NULL, NULL, NULL))
                return;
        *to = heap_zero(strlen(s->unwind.freeze->root) + strlen(path) + 1, 1);
        strcat(strcpy(*to, s->unwind.freeze->root), path);
        *data = *to;
        s->path_count++;
}

static void report_modules(struct stopped *s)
{
        const struct profile *p = s->unwind.p;

        dwfl_report_begin(s->dwfl);
        for (uint32_t i = 0; i < p->module_count; i++)
                if (!p->modules[i].gone_ms)
                        report(s, p->modules[i].path, p->modules[i].start, p->modules[i].end);
        dwfl_report_end(s->dwfl, NULL, NULL);
}

struct stopped *stopped_open(const struct freeze *f, const struct profile *p, const struct view *v)
{
        static char *no_debug_path = NULL;
        static const Dwfl_Callbacks callbacks = { .find_elf = find_elf,
                                                  .find_debuginfo = find_no_debuginfo,
                                                  .debuginfo_path = &no_debug_path };
        static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_memory,
                                                       .set_initial_registers = set_registers };
        struct stopped *s = heap_zero(1, sizeof *s);

        s->unwind = (struct unwind){ .freeze = f, .p = p, .thread = f->threads,
                                     .own = v->head.own_module };
        s->paths = heap_zero(p->module_count, sizeof *s->paths);
        s->dwfl = f->thread_count ? dwfl_begin(&callbacks) : NULL;
        if (!s->dwfl)
                return s;
        report_modules(s);
        dwfl_attach_state(s->dwfl, NULL, f->pid, &threads, &s->unwind);
        return s;
}

void stopped_close(struct stopped *s)
{
        if (s->dwfl)
                dwfl_end(s->dwfl);
        for (uint32_t i = 0; i < s->path_count; i++)
                free(s->paths[i]);
        free(s->paths);
        free(s);
}
