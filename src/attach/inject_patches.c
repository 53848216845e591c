/* SPDX-License-Identifier: MIT */
/*
 * inject_patches.c -- which functions of another process are patched to call the agent, and the
 * patching itself.
 */
#include <stdlib.h>
#include <string.h>

#include "attach/inject_parts.h"
#include "base/heap.h"

#define CODE_BYTES 64u
#define FRAMES 16u /* of signals, on one stack */

/* ---- which ---- */

/* Functions that lead to the agent.  What the C library calls inside of itself is seen as well, so
 * one of a kind is enough: all ways to start a program go through these three, all ends through
 * _exit.  Those that wait are left alone: a thread that is cancelled in one is unwound through all
 * of its frames, and nobody could unwind through ours. */
static const char *const always[] = {
        "malloc",
        "free",
        "calloc",
        "realloc",
        "reallocarray",
        "posix_memalign",
        "aligned_alloc",
        "memalign",
        "valloc",
        "pvalloc",
        "cfree",
        "free_sized",
        "free_aligned_sized",
        "dlclose",
        "fork",
        "_exit",
        "_Exit",
        "execve",
        "fexecve",
        "execveat",
        "pthread_setname_np",
};

static const char *const mapping[] = { "mmap", "mmap64", "munmap", "mremap" };

static const char *const descriptors[] = {
        "open",          "open64",         "openat",       "openat64",     "__open_2",
        "__open64_2",    "__openat_2",     "__openat64_2", "creat",        "creat64",
        "mkstemp",       "mkstemp64",      "mkostemp",     "mkostemp64",   "mkstemps",
        "mkostemps",     "shm_open",       "memfd_create", "posix_openpt", "socket",
        "accept",        "accept4",        "dup",          "epoll_create", "epoll_create1",
        "eventfd",       "timerfd_create", "signalfd",     "inotify_init", "inotify_init1",
        "fanotify_init", "pidfd_open",     "dup2",         "dup3",         "pipe",
        "pipe2",         "socketpair",     "fcntl",        "fcntl64",      "fopen",
        "fopen64",       "tmpfile",        "tmpfile64",    "popen",        "opendir",
        "fclose",        "pclose",         "closedir",     "freopen",      "freopen64",
        "close",         "close_range",    "closefrom",    "__fcntl_time64",
};

#define IS_IN(list, name) is_in(list, sizeof(list) / sizeof *(list), name)

static bool is_in(const char *const *list, size_t count, const char *name)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(list[i], name) == 0)
                        return true;
        return false;
}

static bool is_operator(const char *name)
{
        return strncmp(name, "_Zn", 3) == 0 || strncmp(name, "_Zd", 3) == 0;
}

/* Functions of CUDA, its driver and HIP: agent/hooks_gpu.def; and the one by which the loader tells
 * that there may be more of them. */
static bool is_gpu(const char *name)
{
        return strcmp(name, "_dl_debug_state") == 0 || strncmp(name, "cuda", 4) == 0 ||
               strncmp(name, "cuMem", 5) == 0 || strncmp(name, "hip", 3) == 0;
}

/* Operators of the program's own, or linked into it, may do anything.  Those of an allocator that
 * is linked in need not call malloc. */
static bool is_library_operator(const struct inject *j, const struct entries_name *n)
{
        return j->entries.dynamic &&
               (n->object ? j->entries.plain[n->object] : j->custom.allocator);
}

static bool is_wanted(const struct inject *j, const struct entries_name *n)
{
        uint32_t flags = j->request->flags;

        if (!n->address)
                return false;
        if (is_operator(n->name))
                return !(flags & WIRE_F_NO_CXX) && is_library_operator(j, n);
        if (is_gpu(n->name))
                return j->request->gpu;
        if (IS_IN(mapping, n->name))
                return !(flags & WIRE_F_NO_MMAP);
        return IS_IN(always, n->name) ||
               ((flags & WIRE_F_TRACK_FDS) && IS_IN(descriptors, n->name));
}

bool inject_find(struct inject *j, struct err *e)
{
        const struct wire_inject *w = (const void *)(j->image.bytes +
                                                     image_symbol(&j->image, WIRE_INJECT));
        const struct wire_inject_name *names = image_at(&j->image, w->names.whole,
                                                        w->name_count * sizeof *names);

        if (!names)
                return err_set(
                        e, ERR_EXIT_CANNOT_TRACE,
                        "the part of seep for running processes is damaged; install seep again");
        j->entries.names = heap_zero(w->name_count, sizeof *j->entries.names);
        j->entries.count = (uint32_t)w->name_count;
        for (uint32_t i = 0; i < w->name_count; i++) {
                j->entries.names[i].name = image_at(&j->image, names[i].symbol.whole, 1);
                if (!j->entries.names[i].name)
                        j->entries.names[i].name = "";
        }
        j->entries.narrow = j->narrow;
        return entries_find(&j->entries, j->pid, &j->memory, e);
}

/* ---- planning ---- */

/* The patch at ENTRY: functions may have several names; NULL. */
static const struct patch *patch_at(const struct inject_room *r, uint64_t entry)
{
        for (uint32_t i = 0; i < r->count; i++)
                if (r->patches[i].entry == entry)
                        return &r->patches[i];
        return NULL;
}

/* A thread may have been interrupted in the one that was there before: it is written over while
 * all stand still. */
static bool write_trampoline(struct inject *j, const struct patch *p)
{
        uint8_t there[PATCH_TRAMPOLINE];

        if (!inject_read(j, p->trampoline, there, sizeof there))
                return false;
        if (memcmp(there, p->code, p->used) == 0)
                return true;
        if (there[0] == 0 && memcmp(there, there + 1, sizeof there - 1) == 0)
                return inject_write(j, p->trampoline, p->code, p->used);
        j->rewrites = true;
        return true;
}

/* HOOK: 0 none. */
static bool plan_one(struct inject *j, const struct entries_name *n, uint64_t hook, struct err *e)
{
        uint8_t bytes[CODE_BYTES];
        struct patch_code code = { bytes, memory_read(&j->memory, n->address, bytes, sizeof bytes),
                                   n->size, n->room, j->narrow };
        struct patch *p = &j->room->patches[j->room->count];

        if (!hook || j->room->count >= INJECT_PATCHES)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "there is no place for it");
        *p = (struct patch){ .entry = n->address, .hook = hook };
        p->trampoline = inject_trampoline(j, n->address, e);
        if (!p->trampoline || !patch_plan(p, &code, e))
                return false;
        if (!write_trampoline(j, p))
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "its trampoline cannot be written");
        j->room->count++;
        return true;
}

static void refuse(struct inject *j, const char *name, const struct err *e)
{
        str_format(&j->out->refused, "%s: %s\n", name, e->text);
}

/* malloc and free are what it is all about. */
static bool is_vital(const char *name)
{
        return strcmp(name, "malloc") == 0 || strcmp(name, "free") == 0;
}

static uint64_t hook_of(const struct inject *j, const char *name)
{
        uint64_t at = image_symbol(&j->image, name);

        return at ? j->image.base + at : 0;
}

/* Whether a function that releases is recorded: of RULE, 0 of allocators that are known. */
static bool is_released(const struct inject *j, uint32_t rule)
{
        for (uint32_t i = 0; i < j->custom.count; i++)
                if ((j->custom.at[i].rules & custom_bit(rule)) && j->custom.at[i].seen &&
                    j->custom.at[i].act.does == WIRE_SLOT_FREE)
                        return true;
        return false;
}

/* Which release belongs to F is not known where several were asked for: all are needed. */
static bool is_one_way(const struct inject *j, const struct custom_function *f)
{
        const struct custom *c = j->request->custom;

        for (uint32_t r = 0; f->rule && r < c->count; r++)
                if (c->rules[r].act.does == WIRE_SLOT_FREE && !is_released(j, r + 1))
                        return true;
        return !f->rule && !is_released(j, 0);
}

/* What is allocated there is never seen to go: nothing is judged by that. */
static void mark_one_way(struct inject *j, struct wire_inject_slot *slots)
{
        struct wire_inject *w = image_at(&j->image, j->words_at, sizeof *w);

        for (uint32_t i = 0; i < j->custom.count; i++) {
                const struct custom_function *f = &j->custom.at[i];

                if (!f->slot || f->act.does == WIRE_SLOT_FREE || !is_one_way(j, f))
                        continue;
                slots[f->slot - 1].one_way = 1;
                w->one_way++;
        }
}

/* The functions of custom.h: each gets a slot. */
static void plan_custom(struct inject *j)
{
        struct wire_inject_slot *slots = image_at(&j->image, j->words.slots.whole,
                                                  WIRE_INJECT_SLOTS * sizeof *slots);
        const union wire_address *hooks = image_at(&j->image, j->words.slot_hooks.whole,
                                          WIRE_INJECT_SLOTS * sizeof *hooks);
        uint32_t used = 0;

        for (uint32_t i = 0; slots && hooks && i < j->custom.count; i++) {
                struct custom_function *f = &j->custom.at[i];
                struct entries_name n = { f->name, f->address, f->size, f->room, 0, false };
                struct err why = { 0 };

                if (patch_at(j->room, f->address)) {
                        f->seen = true;
                        if (f->rule)
                                refuse(j, f->name, &(struct err){ .text = "it is recorded as the "
                                                                          "function of the C "
                                                                          "library that it is" });
                        continue;
                }
                if (f->go)
                        err_set(&why, ERR_EXIT_CANNOT_TRACE, CUSTOM_GO);
                if (f->go ||
                    !plan_one(j, &n, used < WIRE_INJECT_SLOTS ? hooks[used].whole : 0, &why)) {
                        refuse(j, f->name, &why);
                        continue;
                }
                f->seen = true;
                f->slot = used + 1;
                slots[used++] = (struct wire_inject_slot){
                        .real = j->room->patches[j->room->count - 1].trampoline,
                        .does = f->act.does, .size = f->act.size, .count = f->act.count,
                        .block = f->act.block, .kind = f->act.kind, .pool = f->act.pool
                };
        }
        if (slots)
                mark_one_way(j, slots);
}

/* What was asked for and is nowhere. */
static void refuse_missing(struct inject *j)
{
        const struct custom *c = j->request->custom;

        for (uint32_t r = 0; c && r < c->count; r++) {
                struct err why = { 0 };
                bool found = false;

                for (uint32_t i = 0; i < j->custom.count && !found; i++)
                        found = j->custom.at[i].rules & custom_bit(r + 1);
                err_set(&why, ERR_EXIT_CANNOT_TRACE,
                        c->rules[r].address ? "there is no code at this address"
                                            : "neither the program nor a library has a function of "
                                              "that name (stripped? then MODULE+0xADDRESS)");
                if (!found)
                        refuse(j, c->rules[r].text, &why);
        }
}

/* In the order of the agent's list: of names for one function the first counts. */
bool inject_plan(struct inject *j, struct err *e)
{
        const struct wire_inject_name *names = image_at(&j->image, j->words.names.whole,
                                                        j->words.name_count * sizeof *names);

        for (uint32_t i = 0; names && i < j->words.name_count; i++) {
                const char *name = image_at(&j->image, names[i].symbol.whole, 1);
                const struct entries_name *n = entries_get(&j->entries, name);
                uint64_t word = names[i].word.whole;
                const struct patch *there;
                struct err why = { 0 };

                if (!n || !image_put(&j->image, word, n->address))
                        continue;
                there = patch_at(j->room, n->address);
                if (!there && is_wanted(j, n) && plan_one(j, n, hook_of(j, n->name), &why))
                        there = &j->room->patches[j->room->count - 1];
                if (there)
                        image_put(&j->image, word, there->trampoline);
                if (!why.text[0])
                        continue;
                refuse(j, n->name, &why);
                if (is_vital(n->name))
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "process %d cannot be recorded: %s: %s", (int)j->pid,
                                       n->name, why.text);
        }
        plan_custom(j);
        refuse_missing(j);
        return true;
}

bool inject_plan_later(struct inject *j, struct err *e)
{
        const struct wire_inject_name *names = image_at(&j->image, j->words.names.whole,
                                                        j->words.name_count * sizeof *names);

        j->first = j->room->count;
        for (uint32_t i = 0; names && i < j->words.name_count; i++) {
                const char *name = image_at(&j->image, names[i].symbol.whole, 1);
                const struct entries_name *n = entries_get(&j->entries, name);
                struct err why = { 0 };

                if (!n || !n->address || !is_gpu(n->name) || patch_at(j->room, n->address))
                        continue;
                if (!plan_one(j, n, hook_of(j, n->name), &why))
                        refuse(j, n->name, &why);
                else if (!inject_write_word(j, names[i].word.whole,
                                            j->room->patches[j->room->count - 1].trampoline))
                        return err_set(e, ERR_EXIT_CANNOT_TRACE, "its memory cannot be written");
        }
        return true;
}

/* ---- in place ---- */

static bool moved(const struct patch *p, uint64_t pc, bool in, uint64_t *to)
{
        return in ? patch_enter(p, pc, to) : patch_leave(p, pc, to);
}

/* A thread that stands where a patch has changed something goes on where the same is done; and so
 * when it comes back there from a signal handler. */
static void move_thread(const struct inject *j, struct hold_thread *t, bool in)
{
        struct inject_frame frames[FRAMES];
        uint32_t count = inject_frames(j, t, frames, FRAMES);
        uint64_t to;

        for (uint32_t i = j->first; i < j->room->count; i++) {
                const struct patch *p = &j->room->patches[i];

                if (moved(p, arch_pc(&t->registers), in, &to)) {
                        arch_set_pc(&t->registers, to);
                        arch_write(t->tid, &t->registers);
                }
                for (uint32_t k = 0; k < count; k++)
                        if (moved(p, frames[k].pc, in, &to))
                                inject_write_word(j, frames[k].at, to);
        }
}

static void move_threads(const struct inject *j, bool in)
{
        for (uint32_t i = 0; i < j->hold->count; i++)
                if (j->hold->threads[i].state == HOLD_STOPPED)
                        move_thread(j, &j->hold->threads[i], in);
}

/* A library may have been unloaded since the plan was made. */
static bool is_as_planned(const struct inject *j, const struct patch *p)
{
        uint8_t now[PATCH_MOST];

        return p->length <= sizeof now && inject_read(j, p->entry, now, p->length) &&
               memcmp(now, p->before, p->length) == 0;
}

bool inject_put(struct inject *j, struct err *e)
{
        bool good = true;
        uint32_t i;

        for (i = j->first; good && i < j->room->count; i++) {
                const struct patch *p = &j->room->patches[i];

                good = is_as_planned(j, p) &&
                       (!j->rewrites || inject_write(j, p->trampoline, p->code, p->used)) &&
                       inject_write(j, p->entry, p->after, p->length);
        }
        if (good) {
                move_threads(j, true);
                return true;
        }
        for (i--; i-- > j->first;)
                inject_write(j, j->room->patches[i].entry, j->room->patches[i].before,
                             j->room->patches[i].length);
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "the code of process %d cannot be changed, or has just changed; try again",
                       (int)j->pid);
}

/* What is not as we left it is another's by now: a library may have been unloaded. */
void inject_take_out(struct inject *j)
{
        uint8_t now[PATCH_MOST];

        for (uint32_t i = 0; i < j->room->count; i++) {
                const struct patch *p = &j->room->patches[i];

                if (p->length <= sizeof now && inject_read(j, p->entry, now, p->length) &&
                    memcmp(now, p->after, p->length) == 0)
                        inject_write(j, p->entry, p->before, p->length);
        }
        move_threads(j, false);
        j->room->count = 0;
}

/* ---- at rest ---- */

static bool is_in_area(const struct inject *j, uint64_t pc)
{
        if (pc - j->image.base < j->image.span)
                return true;
        for (uint32_t i = 0; i < j->room->area_count; i++)
                if (pc - j->room->areas[i].start < INJECT_AREA_BYTES)
                        return true;
        return false;
}

/* The first two words of a thread's state tell. */
static bool is_busy(const struct inject *j, uint64_t pointer)
{
        struct wire_inject_cell c;
        uint64_t inside[2] = { 0 };

        for (uint32_t i = 0; i < WIRE_INJECT_WINDOW; i++) {
                uint64_t place = (wire_inject_place(pointer) + i) % WIRE_INJECT_CELLS;

                if (!inject_read(j, j->words.cells.whole + place * sizeof c, &c, sizeof c) ||
                    !c.pointer)
                        return false;
                if (c.pointer == pointer)
                        return c.state && inject_read(j, c.state, inside, sizeof inside) &&
                               (inside[0] || inside[1]);
        }
        return false;
}

bool inject_is_inside(const struct inject *j, const struct hold_thread *t)
{
        struct inject_frame frames[FRAMES];
        uint32_t count;

        if (t->state != HOLD_STOPPED || t->foreign)
                return false;
        if (is_in_area(j, arch_pc(&t->registers)) ||
            is_busy(j, arch_thread_pointer_in(&t->registers)))
                return true;
        count = inject_frames(j, t, frames, FRAMES);
        while (count && !is_in_area(j, frames[count - 1].pc))
                count--;
        return count > 0;
}
