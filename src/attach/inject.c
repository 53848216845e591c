/* SPDX-License-Identifier: MIT */
#include "attach/inject.h"

#include <dirent.h>
#include <elf.h>
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
#include "attach/spawn.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/page.h"

#define TRIES_NS 10000000000ull /* for a process that waits for a child of vfork() */
#define TRY_NAP_US 20000u
#define ASLEEP_NAP_US 500u
#define PATIENCE_LEAST_NS 10000000ull /* with a thread that does not stop; then twice as long */

/* ---- opening and closing ---- */

/* The part of seep for PID: IMAGE, or that for the other word size that the kernel runs. */
static bool open_image(struct inject *j, const char *image, struct err *e)
{
        char *other;
        bool good;

        j->other = emulator_of_process(j->pid);
        if (!j->other)
                return image_load(&j->image, image, false, e);
        j->narrow = j->other->class_ == ELFCLASS32;
        other = spawn_find_foreign_image(j->other->name, e);
        good = other && image_load(&j->image, other, j->narrow, e);
        free(other);
        return good;
}

bool inject_open(struct inject *j, pid_t pid, pid_t tid, const char *image, struct err *e)
{
        char path[96];

        *j = (struct inject){ .pid = pid, .memory = MEMORY_CLOSED };
        j->room = heap_zero(1, WIRE_INJECT_ROOM);
        if (!patch_is_possible(e) || !open_image(j, image, e))
                return false;
        snprintf(path, sizeof path, "/proc/%d/task/%d/mem", (int)pid, (int)tid);
        j->memory = (struct memory){ .tid = tid, .mem = open(path, O_RDWR | O_CLOEXEC),
                                     .pagemap = -1 };
        return j->memory.mem >= 0 || refusal_explain(pid, tid, errno, e);
}

void inject_close(struct inject *j)
{
        memory_close(&j->memory);
        mappings_free(&j->maps);
        str_free(&j->maps_text);
        image_free(&j->image);
        free(j->entries.names);
        entries_free(&j->entries);
        custom_functions_free(&j->custom);
        free(j->room);
        free(j->inside);
}

/* Whether the process has the numbers of threads that we see. */
static bool is_same_space(pid_t pid)
{
        char *theirs = process_link((uint32_t)procfs_living(pid), "ns/pid");
        char *ours = process_link((uint32_t)getpid(), "ns/pid");
        bool same = *theirs && strcmp(theirs, ours) == 0;

        free(theirs);
        free(ours);
        return same;
}

/* How well a thread in STATE makes system calls for us: one that waits does not miss the time. */
static int fitness(char state)
{
        const char *order = "XZDtRTIS", *found = strchr(order, state);

        return found ? (int)(found - order) : 0;
}

/* The best thread that has not ended. */
static pid_t best_thread(pid_t pid)
{
        char path[64];
        struct dirent *entry;
        pid_t found = pid;
        int best = fitness(procfs_state(pid, pid));
        DIR *list;

        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        list = opendir(path);
        while (list && best < fitness('S') && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
                int fit = tid > 0 ? fitness(procfs_state(pid, tid)) : 0;

                found = fit > best ? tid : found;
                best = fit > best ? fit : best;
        }
        if (list)
                closedir(list);
        return found;
}

/* false: E says why not all threads stand still. */
static bool inject_is_whole(const struct hold *h, struct err *e)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_ASKED)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "process %d does not stand still: %s; try again",
                                       (int)h->pid,
                                       h->vforks ? "it waits for a child of vfork() to start "
                                                   "another program"
                                                 : REMOTE_PARTIAL);
        return true;
}

bool inject_hold_one(struct inject *j, struct hold *h, struct err *e)
{
        uint64_t begin = clock_now_ns();

        do {
                pid_t tid = best_thread(j->pid);

                if (hold_one(h, j->pid, tid, e)) {
                        if (inject_is_whole(h, e))
                                return true;
                        hold_release_late(h);
                } else if (tid == j->pid || procfs_state(j->pid, tid) != 'X') {
                        return false; /* else it has just ended, and another will do */
                }
                usleep(TRY_NAP_US);
        } while (clock_now_ns() - begin < TRIES_NS);
        return false;
}

/* ---- the image in the process ---- */

/* The words and the room of the image at BASE. */
static bool read_words(struct inject *j, uint64_t base)
{
        j->words_at = base + image_symbol(&j->image, WIRE_INJECT);
        return inject_read(j, j->words_at, &j->words, sizeof j->words) &&
               inject_read(j, j->words.room.whole, j->room, WIRE_INJECT_ROOM);
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

bool inject_find_image(struct inject *j)
{
        bool known = inject_maps(j); /* once: the next look may find them in other places */

        for (uint32_t i = 0; known && i < j->maps.count; i++)
                if (is_ours(j, &j->maps.at[i])) {
                        j->image.base = j->maps.at[i].start;
                        return true;
                }
        memset(j->room, 0, WIRE_INJECT_ROOM);
        return false;
}

bool inject_write_room(struct inject *j)
{
        return inject_write(j, j->words.room.whole, j->room,
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

static bool is_over(void *context)
{
        const struct inject *j = context;
        uint32_t done = 0;

        return inject_read(j, j->words_at + offsetof(struct wire_inject, done), &done,
                           sizeof done) &&
               done == WIRE_INJECT_OVER;
}

bool inject_run(struct inject *j, uint64_t function)
{
        uint32_t zero = 0;

        return inject_write(j, j->words_at + offsetof(struct wire_inject, done), &zero,
                            sizeof zero) &&
               remote_jump(&j->remote, function, j->words.stack.whole + WIRE_INJECT_STACK) &&
               remote_wait(&j->remote, is_done, j);
}

static bool trouble(struct err *e, pid_t pid, const char *why)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "cannot attach to process %d: %s", (int)pid, why);
}

bool inject_cannot_write(const struct inject *j, struct err *e)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "the agent cannot be written into process %d",
                       (int)j->pid);
}

/* ---- the image, placed ---- */

static bool protect_code(struct inject *j)
{
        struct arch_call call = { SYS_mprotect,
                                  { j->image.base, j->image.data, PROT_READ | PROT_EXEC } };

        return remote_call(&j->remote, &call) == 0;
}

/* What can be written, up to where everything is zero anyway. */
static bool write_data(struct inject *j)
{
        uint64_t end = (j->image.zero + page_bytes() - 1) & ~(page_bytes() - 1);

        return inject_write(j, j->image.base + j->image.data, j->image.bytes + j->image.data,
                            end - j->image.data);
}

/* Our copy is as it will be at BASE. */
static bool place_image(struct inject *j, uint64_t base, struct err *e)
{
        const struct wire_inject *w;

        if (!base || !image_place(&j->image, base, e))
                return false;
        j->words_at = base + image_symbol(&j->image, WIRE_INJECT);
        w = image_at(&j->image, j->words_at, sizeof *w);
        j->words = *w;
        for (uint32_t i = 0; i < j->room->area_count; i++)
                j->room->areas[i].used = 0;
        j->room->magic = INJECT_MAGIC;
        j->room->layout = sizeof(struct patch);
        j->room->count = j->room->alive = 0;
        j->rewrites = false;
        return true;
}

static bool new_image(struct inject *j, struct err *e)
{
        const struct entries_name *m = entries_get(&j->entries, "malloc");
        struct inject_wish w = { m && m->address ? m->address : j->custom.at[0].address,
                                 j->image.span, PROT_READ | PROT_WRITE };

        memset(j->room, 0, WIRE_INJECT_ROOM);
        if (!place_image(j, inject_map(j, w, e), e))
                return false;
        return (inject_write(j, j->image.base, j->image.bytes, j->image.data) &&
                protect_code(j) && write_data(j) && inject_write_room(j)) ||
               inject_cannot_write(j, e);
}

/* What the agent had written is void. */
static bool wipe(struct inject *j, struct err *e)
{
        uint64_t from = (j->image.zero + page_bytes() - 1) & ~(page_bytes() - 1);
        struct arch_call call = { SYS_madvise,
                                  { j->image.base + from, j->image.span - from, MADV_DONTNEED } };

        if (remote_call(&j->remote, &call) == 0)
                return true;
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "the agent in process %d cannot be woken",
                       (int)j->pid);
}

/* The agent has begun: get its ledger. */
static bool take_ledger(struct inject *j, struct err *e)
{
        uint32_t taken = 1;
        char path[96];

        if (!inject_read(j, j->words_at, &j->words, sizeof j->words) || j->words.ledger < 0)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d cannot be recorded: %s", (int)j->pid,
                               procfs_status(j->pid, j->remote.tid, "Seccomp", 10, 0) &&
                                               !j->words.filter_count
                                       ? "it filters system calls (seccomp), and the kernel shows "
                                         "filters to root only, outside of any container's. Use "
                                         "sudo, on the host"
                                       : "its agent cannot begin (no memory, or no free "
                                         "descriptor)");
        snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)j->pid, (int)j->remote.tid,
                 (int)j->words.ledger);
        j->out->ledger = open(path, O_RDWR | O_CLOEXEC);
        if (j->out->ledger < 0)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot open the ledger of process %d",
                        (int)j->pid);
        return (inject_write(j, j->words_at + offsetof(struct wire_inject, taken), &taken,
                             sizeof taken) &&
                remote_wait(&j->remote, is_over, j) && j->out->ledger >= 0) ||
               (e->text[0] == 0 && trouble(e, j->pid, REMOTE_LOST));
}

/* ---- entering ---- */

/* Memory for it, and all plans: one thread stands still, or all. */
static bool place(struct inject *j, struct err *e)
{
        const char *why = remote_begin(&j->remote, j->hold, &j->maps);
        bool good;

        if (why)
                return trouble(e, j->pid, why);
        good = (j->there ? place_image(j, j->image.base, e) : new_image(j, e)) && inject_plan(j, e);
        remote_end(&j->remote);
        return good;
}

/* With a thread that is at our disposal. */
static bool start_agent(struct inject *j, struct err *e)
{
        if ((j->there && !wipe(j, e)) || !inject_tell(j, e))
                return false;
        j->room->alive = 1;
        if (!write_data(j) || !inject_write_room(j))
                return inject_cannot_write(j, e);
        return inject_run(j, j->words.enter.whole) ? take_ledger(j, e)
                                                   : trouble(e, j->pid, REMOTE_LOST);
}

/* All stand still. */
static bool start(struct inject *j, struct err *e)
{
        const char *why = remote_begin(&j->remote, j->hold, &j->maps);
        bool good;

        if (why)
                return trouble(e, j->pid, why);
        good = start_agent(j, e);
        remote_end(&j->remote);
        if (good && !inject_put(j, e)) {
                close(j->out->ledger);
                good = false;
        }
        j->out->again = j->there;
        j->out->patched = j->room->count;
        j->out->threads = j->hold->count;
        return good;
}

/* Whether malloc is the program's own, or other functions are, and its compiler knows what hooks do
 * not heed. */
static bool is_too_close(const struct inject *j, const struct entries_name *m)
{
        bool own = j->entries.dynamic && m && m->address && !m->object;

        return !patch_keeps_registers(j->narrow) &&
               (own || j->custom.count || (j->narrow && j->request->custom));
}

static bool prepare(struct inject *j, struct err *e)
{
        const struct entries_name *m;
        bool found;

        if (inject_maps(j) && !j->narrow)
                custom_find(&j->custom, j->request->custom, j->pid, &j->maps);
        if (j->request->touches)
                custom_leave_known(&j->custom);
        found = inject_find(j, e);
        m = entries_get(&j->entries, "malloc");
        if (found && is_too_close(j, m))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "process %d cannot be recorded: functions of its own allocate, and "
                               "on this processor those of libraries can be patched only",
                               (int)j->pid);
        if ((found && m && m->address) || j->custom.count)
                return true;
        /* It may have ended meanwhile: then that is why. */
        return refusal_possible(j->pid, e) && found &&
               err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %d cannot be recorded: neither its program nor its libraries have "
                       "a malloc",
                       (int)j->pid);
}

/* What an agent of an earlier time had is given back; where a thread never comes out of that one,
 * it gets another. */
static bool find_earlier(struct inject *j, struct err *e)
{
        if (!inject_maps(j))
                return trouble(e, j->pid, REMOTE_LOST);
        j->there = inject_find_image(j);
        if (!j->there || (!j->room->count && !j->room->alive))
                return true;
        if (!inject_retire(j, e))
                return false;
        if (j->inside_count) {
                j->room->given_up = 1;
                inject_write_room(j);
                j->there = false;
        }
        return inject_maps(j);
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
        good = good && prepare(&j, e) && inject_is_whole(h, e) && inject_maps(&j) &&
               place(&j, e) && start(&j, e);
        inject_close(&j);
        return good;
}

/* A thread that waits where nothing reaches it: stopping the others is for nothing now. */
static bool is_asleep(pid_t pid)
{
        char path[64];
        struct dirent *entry;
        bool found = false;
        DIR *list;

        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        list = opendir(path);
        while (list && !found && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

                found = tid > 0 && procfs_state(pid, tid) == 'D';
        }
        if (list)
                closedir(list);
        return found;
}

/* One try, within j->patience_ns. */
static bool try_all(struct inject *j, struct err *e)
{
        struct priority priority = { 0 };
        struct hold h = { 0 };
        uint64_t pause;
        bool good;

        j->hold = &h;
        priority_raise(&priority, gettid());
        good = hold_any_within(&h, j->pid, j->patience_ns, e);
        j->partial = good && !inject_is_whole(&h, e);
        good = good && !j->partial && j->what(j, e);
        j->out->threads = h.count;
        pause = clock_now_ns() - h.since_ns; /* all but those who are late are let go at once */
        if (j->partial)
                hold_release_late(&h);
        else
                hold_release(&h);
        j->out->pause_ns = pause > j->out->pause_ns ? pause : j->out->pause_ns;
        priority_restore(&priority);
        return good;
}

/* Each try by a tracer of its own: a thread that was asked and did not stop is let go by the end of
 * that, and as long as it is traced, signals that nobody wants end calls of others (SIGCHLD, when
 * its child of vfork() is done). */
bool inject_with_all(struct inject *j, bool (*what)(struct inject *, struct err *), struct err *e)
{
        uint64_t begin = clock_now_ns(), passed;
        bool good;

        j->what = what;
        j->patience_ns = PATIENCE_LEAST_NS;
        do {
                while (is_asleep(j->pid) && clock_now_ns() - begin < TRIES_NS / 2)
                        usleep(ASLEEP_NAP_US);
                j->partial = false;
                good = inject_apart(j, try_all, e);
                j->patience_ns = 2 * j->patience_ns < HOLD_PATIENCE_NS ? 2 * j->patience_ns
                                                                       : HOLD_PATIENCE_NS;
                passed = clock_now_ns() - begin;
                if (j->partial)
                        usleep(TRY_NAP_US);
        } while (j->partial && passed < TRIES_NS);
        return good;
}

static bool try_one(struct inject *j, struct err *e)
{
        struct priority priority = { 0 };
        struct hold h = { 0 };
        bool good;

        priority_raise(&priority, gettid());
        good = inject_hold_one(j, &h, e);
        j->hold = &h;
        good = good && j->what(j, e);
        hold_release(&h);
        priority_restore(&priority);
        return good;
}

bool inject_with_one(struct inject *j, bool (*what)(struct inject *, struct err *), struct err *e)
{
        j->what = what;
        return inject_apart(j, try_one, e);
}

static void enter(struct inject_job *job)
{
        struct inject j;
        bool good = inject_open(&j, job->pid, procfs_living(job->pid), job->image, job->e);

        j.request = job->request;
        j.out = job->out;
        j.same_ids = is_same_space(job->pid);
        job->good = good && prepare(&j, job->e) && find_earlier(&j, job->e) &&
                    inject_with_one(&j, place, job->e) && inject_with_all(&j, start, job->e);
        inject_close(&j);
}

bool inject_enter(pid_t pid, const struct inject_request *q, struct inject_result *out,
                  struct err *e)
{
        struct inject_job job = { .pid = pid, .request = q, .image = q->image, .out = out, .e = e,
                                  .run = enter };

        *out = (struct inject_result){ .ledger = -1 };
        return inject_do(&job);
}
