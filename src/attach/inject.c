/* SPDX-License-Identifier: MIT */
#include "attach/inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/inject_parts.h"
#include "attach/procfs.h"
#include "attach/refusal.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/page.h"

#define THREAD_BYTES 2048u    /* of a thread's descriptor in which its number is looked for */
#define MALLOC_BYTES (64u << 10) /* more than the code of glibc's malloc has */
#define LEAVE_TIMES 40u       /* that threads are given to come out of the agent */
#define LEAVE_NAP_US 500u
#define LEAVE_NAP_MOST_US 100000u
#define ENTER_TIMES 50u       /* the same, of an agent that a killed seep left */
#define ENTER_NAP_US 10000u

/* ---- opening and closing ---- */

static bool inject_open(struct inject *j, pid_t pid, pid_t tid, const char *image, struct err *e)
{
        char path[96];

        *j = (struct inject){ .pid = pid, .memory = MEMORY_CLOSED };
        j->room = heap_zero(1, WIRE_INJECT_ROOM);
        if (!patch_is_possible(e) || !image_load(&j->image, image, e))
                return false;
        snprintf(path, sizeof path, "/proc/%d/task/%d/mem", (int)pid, (int)tid);
        j->memory = (struct memory){ tid, open(path, O_RDWR | O_CLOEXEC), -1 };
        return j->memory.mem >= 0 || refusal_explain(pid, tid, errno, e);
}

static void inject_close(struct inject *j)
{
        memory_close(&j->memory);
        mappings_free(&j->maps);
        str_free(&j->maps_text);
        image_free(&j->image);
        free(j->entries.names);
        entries_free(&j->entries);
        custom_functions_free(&j->custom);
        free(j->room);
}

/* A thread that has not ended. */
static pid_t living_thread(pid_t pid)
{
        char path[64], state = procfs_state(pid, pid);
        struct dirent *entry;
        pid_t found = pid;
        DIR *list;

        if (state != 'Z' && state != 'X')
                return pid;
        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        list = opendir(path);
        while (list && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

                state = tid > 0 ? procfs_state(pid, tid) : 'X';
                if (state != 'Z' && state != 'X')
                        found = tid;
        }
        if (list)
                closedir(list);
        return found;
}

static bool is_stopped_whole(const struct hold *h, struct err *e)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_ASKED)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "process %d does not stand still: %s; try again",
                                       (int)h->pid, REMOTE_PARTIAL);
        return true;
}

/* ---- the image in the process ---- */

/* The words and the room of the image at BASE. */
static bool read_words(struct inject *j, uint64_t base)
{
        j->words_at = base + image_symbol(&j->image, WIRE_INJECT);
        return inject_read(j, j->words_at, &j->words, sizeof j->words) &&
               inject_read(j, j->words.room, j->room, WIRE_INJECT_ROOM);
}

static bool is_ours(struct inject *j, const struct mapping *m)
{
        uint8_t *page = heap_zero(1, page_bytes());
        bool same = m->anonymous && m->executable && inject_read(j, m->start, page, page_bytes()) &&
                    memcmp(page, j->image.bytes, page_bytes()) == 0 && read_words(j, m->start) &&
                    j->room->magic == INJECT_MAGIC && j->room->layout == sizeof(struct patch) &&
                    j->room->count <= INJECT_PATCHES && j->room->area_count <= INJECT_AREAS &&
                    !j->room->given_up;

        free(page);
        return same;
}

/* Of an earlier time; then its words and room are in J. */
static bool find_image(struct inject *j)
{
        for (uint32_t i = 0; inject_maps(j) && i < j->maps.count; i++)
                if (is_ours(j, &j->maps.at[i])) {
                        j->image.base = j->maps.at[i].start;
                        return true;
                }
        memset(j->room, 0, WIRE_INJECT_ROOM);
        return false;
}

static bool write_room(struct inject *j)
{
        return inject_write(j, j->words.room, j->room,
                            sizeof *j->room + j->room->count * sizeof *j->room->patches);
}

/* ---- functions of the agent, run by a thread of the process ---- */

static bool is_done(void *context)
{
        const struct inject *j = context;
        uint32_t done = 0;

        return inject_read(j, j->words_at + offsetof(struct wire_inject, done), &done,
                           sizeof done) &&
               done;
}

static bool run_function(struct inject *j, uint64_t function)
{
        uint32_t zero = 0;

        return inject_write(j, j->words_at + offsetof(struct wire_inject, done), &zero,
                            sizeof zero) &&
               remote_jump(&j->remote, function, j->words.stack + WIRE_INJECT_STACK) &&
               remote_wait(&j->remote, is_done, j);
}

/* ... and the thread is where it was. */
static const char *begin(struct inject *j)
{
        return remote_begin(&j->remote, j->hold, &j->maps);
}

static bool trouble(struct err *e, pid_t pid, const char *why)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "cannot attach to process %d: %s", (int)pid, why);
}

/* ---- entering ---- */

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
                number = (uint32_t)procfs_status(j->pid, t->tid, "NSpid", 10, (uint64_t)t->tid);
                if (!inject_read(j, arch_thread_pointer_in(&t->registers), words, sizeof words))
                        continue;
                for (uint32_t k = 0; k < sizeof may; k++)
                        may[k] = may[k] && words[k] == number;
                looked++;
        }
        for (uint32_t k = 1; looked && k < sizeof may; k++)
                if (may[k])
                        return k * 4ull;
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

/* What the agent is told, in our copy of the image. */
static bool tell(struct inject *j, struct err *e)
{
        struct wire_inject *w = image_at(&j->image, j->words_at, sizeof *w);

        w->tid_at = find_tid(j);
        w->glibc = is_glibc(j);
        w->fresh = j->request->fresh;
        find_allocator(j, w);
        for (uint32_t i = 0; i < j->custom.count; i++)
                if (!j->custom.at[i].rule) /* another allocator's blocks are among them */
                        w->glibc = 0;
        if (strlen(j->request->session) >= sizeof w->session ||
            strlen(j->request->library) >= sizeof w->library)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the path of seep's own library is too long");
        strcpy(w->session, j->request->session);
        strcpy(w->library, j->request->library);
        j->words = *w;
        return true;
}

static bool protect_code(struct inject *j)
{
        struct arch_call call = { SYS_mprotect,
                                  { j->image.base, j->image.data, PROT_READ | PROT_EXEC } };

        return remote_call(&j->remote, &call) == 0;
}

static bool new_image(struct inject *j, struct err *e)
{
        const struct entries_name *m = entries_get(&j->entries, "malloc");
        struct inject_wish w = { m && m->address ? m->address : j->custom.at[0].address,
                                 j->image.span, PROT_READ | PROT_WRITE };
        uint64_t base = inject_map(j, w, e);

        if (!base || !image_place(&j->image, base, e))
                return false;
        j->words_at = base + image_symbol(&j->image, WIRE_INJECT);
        memset(j->room, 0, WIRE_INJECT_ROOM);
        if (inject_write(j, base, j->image.bytes, j->image.data) && protect_code(j))
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "the agent cannot be written into process %d",
                       (int)j->pid);
}

/* What the agent had written is void. */
static bool old_image(struct inject *j, struct err *e)
{
        uint64_t from = (j->image.zero + page_bytes() - 1) & ~(page_bytes() - 1);
        struct arch_call call = { SYS_madvise,
                                  { j->image.base + from, j->image.span - from, MADV_DONTNEED } };

        if (!image_place(&j->image, j->image.base, e))
                return false;
        if (remote_call(&j->remote, &call) != 0)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the agent in process %d cannot be woken",
                               (int)j->pid);
        for (uint32_t i = 0; i < j->room->area_count; i++)
                j->room->areas[i].used = 0;
        j->room->count = 0;
        return true;
}

/* What can be written, up to where everything is zero anyway. */
static bool write_data(struct inject *j)
{
        uint64_t end = (j->image.zero + page_bytes() - 1) & ~(page_bytes() - 1);

        return inject_write(j, j->image.base + j->image.data, j->image.bytes + j->image.data,
                            end - j->image.data);
}

/* The agent has begun: get its ledger. */
static bool take_ledger(struct inject *j, struct err *e)
{
        struct arch_call call = { SYS_close, { 0 } };
        char path[96];

        if (!inject_read(j, j->words_at, &j->words, sizeof j->words) || j->words.ledger < 0)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d cannot be recorded: its agent cannot begin (no memory, "
                               "no free descriptor, or filters of system calls)",
                               (int)j->pid);
        snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)j->pid, (int)j->memory.tid,
                 (int)j->words.ledger);
        j->out->ledger = open(path, O_RDWR | O_CLOEXEC);
        if (j->out->ledger < 0)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot open the ledger of process %d",
                        (int)j->pid);
        call.arguments[0] = (uint64_t)j->words.ledger;
        remote_call(&j->remote, &call);
        return j->out->ledger >= 0;
}

/* From a process that stands still, with a thread that is at our disposal. */
static bool put_agent(struct inject *j, bool there, struct err *e)
{
        const char *why;

        if (!(there ? old_image(j, e) : new_image(j, e)) || !tell(j, e) || !inject_plan(j, e))
                return false;
        j->room->magic = INJECT_MAGIC;
        j->room->layout = sizeof(struct patch);
        j->room->alive = 1;
        if (!write_data(j) || !write_room(j))
                return err_sys(e, ERR_EXIT_CANNOT_TRACE,
                               "the agent cannot be written into process %d", (int)j->pid);
        if (!run_function(j, j->words.enter))
                return trouble(e, j->pid, REMOTE_LOST);
        remote_end(
                &j->remote); /* it runs; a thread that makes calls again must be ready for that */
        why = begin(j);
        return why ? trouble(e, j->pid, why) : take_ledger(j, e);
}

/* The agent of an earlier time gives back what it had.  false: a thread is inside of it. */
static bool clear(struct inject *j)
{
        if (j->room->count)
                j->out->orphan = true;
        inject_take_out(j);
        if (!inject_is_at_rest(j))
                return write_room(j) && false;
        if (j->room->alive && run_function(j, j->words.leave)) {
                remote_end(&j->remote);
                if (begin(j))
                        return false;
        }
        j->room->alive = 0;
        return write_room(j);
}

static bool enter(struct inject *j, struct err *e)
{
        bool there = find_image(j), good;
        const char *why = begin(j);

        if (why)
                return trouble(e, j->pid, why);
        if (there && !clear(j)) {
                j->inside = j->tries > 0;
                if (j->inside) {
                        remote_end(&j->remote);
                        return false;
                }
                j->room->given_up = 1;
                write_room(j);
                there = false;
        }
        j->out->again = there;
        good = put_agent(j, there, e);
        remote_end(&j->remote);
        if (good && !inject_put(j, e)) {
                close(j->out->ledger);
                good = false;
        }
        j->out->patched = j->room->count;
        j->out->threads = j->hold->count;
        return good;
}

static bool prepare(struct inject *j, struct err *e)
{
        const struct entries_name *m;

        if (inject_maps(j))
                custom_find(&j->custom, j->request->custom, j->pid, &j->maps);
        if (j->request->touches)
                custom_leave_known(&j->custom);
        if (!inject_find(j, e) && !j->custom.count)
                return false;
        m = entries_get(&j->entries, "malloc");
        if ((m && m->address) || j->custom.count)
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %d cannot be recorded: neither its program nor its libraries have "
                       "a malloc",
                       (int)j->pid);
}

bool inject_enter_held(struct hold *h, const struct inject_request *q, struct inject_result *out,
                       struct err *e)
{
        struct inject j;
        bool good;

        *out = (struct inject_result){ .ledger = -1 };
        good = inject_open(&j, h->pid, hold_witness(h), q->image, e);
        j.hold = h;
        j.request = q;
        j.out = out;
        good = good && prepare(&j, e) && is_stopped_whole(h, e) && enter(&j, e);
        inject_close(&j);
        return good;
}

bool inject_enter(pid_t pid, const struct inject_request *q, struct inject_result *out,
                  struct err *e)
{
        struct priority priority = { 0 };
        struct hold h = { 0 };
        struct inject j;
        bool good;

        *out = (struct inject_result){ .ledger = -1 };
        good = inject_open(&j, pid, living_thread(pid), q->image, e);
        j.hold = &h;
        j.request = q;
        j.out = out;
        good = good && prepare(&j, e);
        j.inside = good;
        for (j.tries = ENTER_TIMES; j.inside; j.tries--) {
                j.inside = false;
                priority_raise(&priority, gettid());
                good = hold_all(&h, pid, e) && is_stopped_whole(&h, e) && enter(&j, e);
                hold_release(&h);
                out->pause_ns = clock_now_ns() - h.since_ns;
                priority_restore(&priority);
                if (j.inside)
                        usleep(ENTER_NAP_US);
        }
        inject_close(&j);
        return good;
}

/* ---- leaving ---- */

/* false: a thread is still inside. */
static bool leave(struct inject *j)
{
        const char *why;
        bool rest;

        if (!find_image(j))
                return true;
        if (j->room->count)
                j->out->patched = j->room->count;
        j->out->again = true;
        inject_take_out(j);
        rest = inject_is_at_rest(j);
        why = rest && j->room->alive ? begin(j) : REMOTE_LOST;
        if (!why) {
                if (run_function(j, j->words.leave))
                        j->room->alive = 0;
                remote_end(&j->remote);
        }
        write_room(j);
        return rest;
}

bool inject_leave(pid_t pid, const char *image, struct inject_result *out, struct err *e)
{
        struct priority priority = { 0 };
        bool good, over = false;
        useconds_t nap = LEAVE_NAP_US;
        struct inject j;

        *out = (struct inject_result){ .ledger = -1 };
        good = inject_open(&j, pid, living_thread(pid), image, e);
        j.out = out;
        for (uint32_t i = 0; good && !over && i < LEAVE_TIMES; i++) {
                struct hold h = { 0 };

                if (i)
                        usleep(nap);
                nap = i && nap * 2 < LEAVE_NAP_MOST_US ? nap * 2 : nap;
                j.hold = &h;
                priority_raise(&priority, gettid());
                good = hold_all(&h, pid, e) && is_stopped_whole(&h, e);
                over = good && leave(&j);
                hold_release(&h);
                out->pause_ns = clock_now_ns() - h.since_ns > out->pause_ns
                                        ? clock_now_ns() - h.since_ns
                                        : out->pause_ns;
                priority_restore(&priority);
        }
        inject_close(&j);
        return good;
}
