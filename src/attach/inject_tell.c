/* SPDX-License-Identifier: MIT */
/* inject_tell.c -- what the agent in another process is told before it starts. */
#include <stdlib.h>
#include <string.h>

#include "attach/inject_parts.h"
#include "attach/procfs.h"
#include "attach/sandbox.h"
#include "attach/spawn.h"
#include "base/heap.h"

#define THREAD_BYTES 4096u    /* of a thread's descriptor in which its number is looked for ... */
#define THREAD_LEAST 256u     /* ... or less, where not so much is mapped */
#define MALLOC_BYTES (64u << 10) /* more than the code of glibc's malloc has */

/* What lies beside the pointer of a thread, on the side where the C library keeps what it knows of
 * it: words of BYTES, the last next to the pointer where that is below.  What cannot be read is
 * 0. */
static bool read_thread(const struct inject *j, uint64_t pointer, uint32_t *words)
{
        for (size_t bytes = THREAD_BYTES; bytes >= THREAD_LEAST; bytes /= 2) {
                size_t skip = ARCH_THREAD_BELOW ? THREAD_BYTES - bytes : 0;

                memset(words, 0, THREAD_BYTES);
                if (inject_read(j, ARCH_THREAD_BELOW ? pointer - bytes : pointer,
                                (uint8_t *)words + skip, bytes))
                        return true;
        }
        return false;
}

/* Where the C library keeps the number of each thread: the same for all of them.  0: not found. */
static uint64_t find_tid(const struct inject *j)
{
        uint8_t may[THREAD_BYTES / 4];
        uint32_t words[THREAD_BYTES / 4], looked = 0;

        memset(may, 1, sizeof may);
        for (uint32_t i = 0; i < j->hold->count && looked < 16; i++) {
                const struct hold_thread *t = &j->hold->threads[i];
                uint32_t number;

                if (t->state != HOLD_STOPPED || t->foreign)
                        continue;
                number = j->same_ids ? (uint32_t)t->tid
                                     : (uint32_t)procfs_status(j->pid, t->tid, "NSpid", 10,
                                                               (uint64_t)t->tid);
                if (!read_thread(j, arch_thread_pointer_in(&t->registers), words))
                        continue;
                for (uint32_t k = 0; k < sizeof may; k++)
                        may[k] = may[k] && words[k] == number;
                looked++;
        }
        for (uint32_t k = ARCH_THREAD_BELOW ? 0 : 1; looked && k < sizeof may; k++)
                if (may[k])
                        return k * 4ull - (ARCH_THREAD_BELOW ? THREAD_BYTES : 0);
        return 0;
}

/* A static program need not have the function that tells glibc's version. */
static bool is_glibc(const struct inject *j)
{
        const struct entries_name *m = entries_get(&j->entries, "malloc");
        const struct entries_name *v = entries_get(&j->entries, "gnu_get_libc_version");
        uint64_t from = m ? m->address - MALLOC_BYTES : 0;

        if (!m || !m->address)
                return false;
        return j->entries.dynamic ? v && v->address && m->object == v->object
                                  : j->entries.beside - from < 2 * MALLOC_BYTES;
}

/* Where the code of glibc's malloc is: one object file, whole. */
static void find_allocator(const struct inject *j, struct wire_inject *w)
{
        static const char *const names[] = { "malloc", "free", "calloc", "realloc", "memalign",
                                             "malloc_usable_size", "valloc", "pvalloc" };

        w->inner = w->inner_end = 0;
        for (size_t i = 0; w->glibc && i < sizeof names / sizeof *names; i++) {
                const struct entries_name *n = entries_get(&j->entries, names[i]);

                if (!n || !n->address)
                        continue;
                w->inner = !w->inner || n->address < w->inner ? n->address : w->inner;
                if (n->address + n->size > w->inner_end)
                        w->inner_end = n->address + n->size;
        }
}

/* Filters of system calls, of the thread that has most of them: a filter of one is taken for one of
 * all.  Its system calls are judged by them. */
static bool tell_filters(struct inject *j, struct wire_inject *w, struct err *e)
{
        struct sandbox_filters f = { .code = heap_zero(WIRE_FILTERS_ROOM, sizeof *f.code) };
        pid_t deepest = 0;
        uint64_t most = 0;
        bool known, good;

        for (uint32_t i = 0; i < j->hold->count; i++) {
                const struct hold_thread *t = &j->hold->threads[i];
                uint64_t depth = t->state == HOLD_STOPPED && sandbox_may_filter(t->tid)
                                         ? procfs_status(j->pid, t->tid, "Seccomp_filters", 10, 0)
                                         : 0;

                deepest = depth > most ? t->tid : deepest;
                most = depth > most ? depth : most;
        }
        w->filter_count = 0;
        known = deepest && sandbox_read(deepest, &f);
        good = !known || inject_write(j, w->filter_code.whole, f.code,
                                      WIRE_FILTERS_ROOM * sizeof *f.code);
        if (known) {
                w->filter_depth = f.depth;
                w->filter_count = f.count;
                memcpy(w->filter_sizes, f.sizes, sizeof f.sizes);
        }
        free(f.code);
        return good || inject_cannot_write(j, e);
}

/* What it gives to programs that this one becomes or starts: the agent of its own word size. */
static bool tell_paths(const struct inject *j, struct wire_inject *w, struct err *e)
{
        char *other = j->other ? spawn_find_foreign(j->other->name, e) : NULL;
        const char *library = j->other ? other : j->request->library;
        bool good = library && strlen(j->request->session) < sizeof w->session &&
                    strlen(library) < sizeof w->library;

        if (good) {
                strcpy(w->session, j->request->session);
                strcpy(w->library, library);
        } else if (library) {
                err_set(e, ERR_EXIT_CANNOT_TRACE, "the path of seep's own library is too long");
        }
        free(other);
        return good;
}

/* What the agent is told, in our copy of the image. */
bool inject_tell(struct inject *j, struct err *e)
{
        struct wire_inject *w = image_at(&j->image, j->words_at, sizeof *w);

        w->tid_at = find_tid(j);
        w->glibc = is_glibc(j);
        w->fresh = j->request->fresh;
        find_allocator(j, w);
        for (uint32_t i = 0; i < j->custom.count; i++)
                if (!j->custom.at[i].rule) /* another allocator's blocks are among them */
                        w->glibc = 0;
        if (!tell_paths(j, w, e) || !tell_filters(j, w, e))
                return false;
        j->words = *w;
        return true;
}
