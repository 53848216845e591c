/* SPDX-License-Identifier: MIT */
/*
 * stopped.c -- the frames of threads that stand still: which function has which part of the stack.
 *
 * Room:   outside.
 * Keeps:  only unwind tables are used, never debug information: names are found when somebody asks.
 */
#include "observe/stopped.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"

#define STOPPED_THREADS_MAX 256u
#define STOPPED_FRAMES_MAX 1000u
#define STOPPED_SP 7u /* DWARF's number of the stack pointer */
#define STOPPED_REGISTERS 17u

struct unwind {
        const struct freeze *freeze;
        struct profile *p;
        const struct freeze_thread *thread;
        uint32_t next, room, depth;
};

/* Where each DWARF register is in freeze_thread.registers. */
static const struct {
        const char *name;
} order[STOPPED_REGISTERS - 1] = { { "rax" }, { "rdx" }, { "rcx" }, { "rbx" }, { "rsi" }, { "rdi" }, { "rbp" }, { "rsp" },
                                   { "r8" },  { "r9" },  { "r10" }, { "r11" }, { "r12" }, { "r13" }, { "r14" }, { "r15" } };

static uint64_t register_of(const struct freeze_thread *t, const char *name)
{
        for (uint32_t i = 0; i < FREEZE_REGISTERS; i++)
                if (strcmp(freeze_register_name(i), name) == 0)
                        return t->registers[i];
        return 0;
}

/* ---- what libdwfl asks ---- */

static int find_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **file_name, Elf **elf)
{
        const char *path = *data;
        int fd;

        (void)m, (void)name, (void)base, (void)elf;
        fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0)
                *file_name = heap_text(path);
        return fd;
}

static int find_no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, const char *file, const char *link,
                             GElf_Word crc, char **out)
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
        return freeze_read(u->freeze, address, result, sizeof *result) == sizeof *result;
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
        const struct unwind *u = argument;
        Dwarf_Word values[STOPPED_REGISTERS];

        for (uint32_t i = 0; i < STOPPED_REGISTERS - 1; i++)
                values[i] = register_of(u->thread, order[i].name);
        values[STOPPED_REGISTERS - 1] = u->thread->pc;
        return dwfl_thread_state_registers(thread, 0, STOPPED_REGISTERS, values);
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
        struct profile_frame *last = u->depth ? &u->p->frames[u->p->frame_count - 1] : NULL;

        if (last && sp >= last->low)
                last->high = sp;
}

static int take_frame(Dwfl_Frame *frame, void *argument)
{
        struct unwind *u = argument;
        struct profile *p = u->p;
        Dwarf_Addr pc;
        Dwarf_Word sp;
        bool exact;

        if (u->depth >= STOPPED_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &exact) || dwfl_frame_reg(frame, STOPPED_SP, &sp) != 0)
                return DWARF_CB_ABORT;
        end_last(u, sp);
        if (p->frame_count == u->room) {
                u->room = u->room ? u->room * 2 : 64;
                p->frames = heap_grow(p->frames, u->room, sizeof *p->frames);
        }
        p->frames[p->frame_count++] = (struct profile_frame){
                .low = sp, .high = sp, .pc = pc, .tid = u->thread->tid, .module = module_at(p, pc), .exact = exact };
        u->depth++;
        return DWARF_CB_OK;
}

/* The outermost frame has the rest of the stack. */
static void end_outermost(struct unwind *u)
{
        struct profile_frame *last = u->depth ? &u->p->frames[u->p->frame_count - 1] : NULL;

        for (uint32_t i = 0; last && i < u->p->root_count; i++) {
                const struct profile_root *r = &u->p->roots[i];

                if (r->kind == PROFILE_ROOT_STACK && r->start <= last->low + 128 && last->low < r->end)
                        last->high = r->end;
        }
}

static Dwfl *open_dwfl(const struct profile *p, char **paths, pid_t pid)
{
        static char *no_debug_path = NULL;
        static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_no_debuginfo, .debuginfo_path = &no_debug_path };
        Dwfl *dwfl = dwfl_begin(&callbacks);

        if (!dwfl)
                return NULL;
        dwfl_report_begin(dwfl);
        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *m = &p->modules[i];
                Dwfl_Module *added;
                void **data;

                if (m->gone_ms || m->path[0] != '/')
                        continue;
                paths[i] = heap_zero(strlen(m->path) + 32, 1);
                snprintf(paths[i], strlen(m->path) + 32, "/proc/%d/root%s", (int)pid, m->path);
                added = dwfl_report_module(dwfl, m->path, m->start, m->end);
                if (added && dwfl_module_info(added, &data, NULL, NULL, NULL, NULL, NULL, NULL))
                        *data = paths[i];
        }
        dwfl_report_end(dwfl, NULL, NULL);
        return dwfl;
}

void stopped_frames(const struct freeze *f, struct profile *p)
{
        static const Dwfl_Thread_Callbacks callbacks = { .next_thread = next_thread, .get_thread = get_thread, .memory_read = read_memory,
                                                         .set_initial_registers = set_registers };
        char **paths = heap_zero(p->module_count, sizeof *paths);
        struct unwind u = { .freeze = f, .p = p };
        Dwfl *dwfl = open_dwfl(p, paths, f->pid);

        if (dwfl && f->thread_count) {
                u.thread = &f->threads[0];
                dwfl_attach_state(dwfl, NULL, f->pid, &callbacks, &u);
        }
        for (uint32_t i = 0; dwfl && i < f->thread_count && i < STOPPED_THREADS_MAX; i++) {
                u.thread = &f->threads[i];
                u.depth = 0;
                if (!f->threads[i].stopped)
                        continue;
                dwfl_getthread_frames(dwfl, (pid_t)f->threads[i].tid, take_frame, &u);
                end_outermost(&u);
        }
        if (dwfl)
                dwfl_end(dwfl);
        for (uint32_t i = 0; i < p->module_count; i++)
                free(paths[i]);
        free(paths);
}
