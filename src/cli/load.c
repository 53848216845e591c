/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/heap.h"
#include "cli/beside.h"
#include "cli/folder.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "journal/incoming.h"
#include "profile/events_log.h"
#include "profile/file.h"
#include "profile/kept.h"
#include "profile/packed.h"
#include "query/moment.h"
#include "scan/scan.h"
#include "session/ask.h"
#include "session/family.h"
#include "wire/hello.h"
#include "words/text.h"

/* The log beside FILE, which was cut short; "" there is none.  The caller's to free(). */
static char *log_beside(const char *file)
{
        struct err unused;
        struct events_log *log = events_log_open(file, &unused);
        char *beside = heap_text(log && events_log_beside(log) ? events_log_beside(log) : "");

        events_log_close(log);
        return beside;
}

void load_tell_log(const struct profile *p, const char *file)
{
        char *beside;

        if (p->meta.end != PROFILE_END_UNKNOWN || !(p->meta.flags & WIRE_F_EVENTS))
                return;
        beside = log_beside(file);
        if (*beside)
                message("%s is incomplete: seep was killed, or is still recording; 'seep events "
                        "%s' prints all events, which are in %s", file, file, beside);
        free(beside);
}

/* There is no recording: perhaps it did not get that far. */
static void add_log(const char *file, struct err *e)
{
        char *beside = log_beside(file);
        size_t used = strlen(e->text);

        if (*beside)
                snprintf(e->text + used, sizeof e->text - used,
                         "; its events so far are in %s: 'seep events %s' prints them", beside,
                         file);
        free(beside);
}

/* ---- a file, or a process that is being recorded ---- */

/* The folder of the recording that a look told of. */
static void note_folder(struct load_source *s)
{
        char *slash = strrchr(s->image.recording, '/');

        if (slash)
                *slash = 0;
        s->folder = slash ? s->image.recording : NULL;
}

/* A search where it was asked for and can be made; else what is there without one. */
static bool fetch(struct load_source *s, unsigned how, struct err *e)
{
        struct err why = { 0 };

        if (!beside_visit(s->pid, e))
                return false;
        s->image.pid = s->pid;
        s->image.search = how & (LOAD_SEARCHED | LOAD_GRAPH);
        s->image.flags = how & LOAD_GRAPH ? WIRE_SCAN_GRAPH : 0;
        if (s->image.search && ask_for_image(&s->image, &why))
                return true;
        if (s->image.search && !(how & LOAD_QUIET) &&
            (ask_is_routed() || family_has_agent((pid_t)s->pid)))
                message("%s", why.text);
        s->image.search = false;
        s->image.flags = how & LOAD_EVENTS  ? WIRE_LOOK_EVENTS
                         : how & LOAD_COUNTS ? 0
                                             : WIRE_LOOK_BLOCKS;
        if (!ask_for_image(&s->image, e))
                return false;
        note_folder(s);
        return true;
}

/* A journal is read into a recording in memory. */
static bool open_journal(struct load_source *s, struct err *e)
{
        struct profile p = { 0 };
        bool good;

        if (!incoming_read(&p, s->name, e))
                return false;
        s->image.fd = memfd_create("seep-recording", MFD_CLOEXEC);
        good = s->image.fd >= 0 ? file_put(&p, s->image.fd, e)
                                : err_sys(e, ERR_EXIT_CANNOT_TRACE, "no memory for a recording");
        snprintf(s->image.path, sizeof s->image.path, "/proc/self/fd/%d", s->image.fd);
        s->path = s->image.path;
        profile_free(&p);
        return good;
}

bool load_open(struct load_source *s, const char *operand, unsigned how, struct err *e)
{
        *s = (struct load_source){
                .name = operand, .path = operand, .quiet = how & LOAD_QUIET,
                .end = how & LOAD_END, .image = { .fd = -1 }
        };
        if (folder_is(operand))
                return err_set(e, ERR_EXIT_USAGE,
                               "%s is a folder; report, leaks, html, check and info show all "
                               "recordings in it, this command one of them: name a file", operand);
        if (!newest_is_process(operand, &s->pid))
                return !incoming_is_file(operand) || open_journal(s, e);
        if (!ask_program(&s->pid, e) || !fetch(s, how, e))
                return false;
        s->path = s->image.path;
        return true;
}

void load_close(struct load_source *s)
{
        ask_image_close(&s->image);
}

bool load_read(const struct load_source *s, struct profile *p, struct err *e)
{
        if (!(s->end ? file_take_end : file_take)(p, s->path, PACKED_LEAST, e)) {
                if (!s->pid)
                        add_log(s->path, e);
                return false;
        }
        if (p->truncated && !s->quiet)
                message("%s is cut short: only the intact part is shown ('seep info %s' lists what "
                        "is missing)", s->name, s->name);
        if (!s->pid && !s->quiet)
                load_tell_log(p, s->name);
        return true;
}

bool load_recording(struct profile *p, const char *operand, unsigned how, struct err *e)
{
        struct load_source s;
        bool good;

        *p = (struct profile){ 0 };
        good = load_open(&s, operand, how, e) && load_read(&s, p, e);
        load_close(&s);
        return good;
}

/* ---- searches that a recording kept ---- */

static void name_search(const struct kept_search *s, struct str *out)
{
        if (s->seq)
                str_format(out, "%u (snapshot, at ", s->seq);
        text_time(out, s->ms);
        str_text(out, s->seq ? ")" : "");
}

/* "283 ms, 1 (snapshot, at 1.2 s)" */
static void name_searches(const struct kept_list *l, struct str *out)
{
        for (uint32_t i = 0; i < l->count; i++) {
                str_text(out, i ? ", " : "");
                name_search(&l->at[i], out);
        }
}

static bool no_search(const struct kept_list *l, const char *when, struct err *e)
{
        struct str known = { 0 };
        bool good;

        name_searches(l, &known);
        good = err_set(e, ERR_EXIT_USAGE,
                       "--at %s: there was no search for leaks then; the recording has %s%s", when,
                       l->count ? "that of its end and those at " : "that of its end only",
                       str_get(&known));
        str_free(&known);
        return good;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
        return a > b ? a - b : b - a;
}

/* The search of L that M, a moment of P, means; L->count: none. */
static uint32_t find_search(const struct kept_list *l, const struct profile *p,
                            const struct moment *m)
{
        uint32_t found = l->count;

        for (uint32_t i = 0; i < l->count; i++)
                if (m->type == MOMENT_MARK && l->at[i].seq &&
                    l->at[i].seq == p->marks[m->mark].seq)
                        found = i;
                else if (m->type == MOMENT_TIME &&
                         (found == l->count || distance(l->at[i].ms, m->ms) <
                                                       distance(l->at[found].ms, m->ms)))
                        found = i;
        return found;
}

bool load_kept(struct profile *p, const char *file, const char *when, struct err *e)
{
        struct kept_list kept;
        struct moment m;
        uint32_t number;
        bool good;

        if (!load_recording(p, file, LOAD_QUIET, e) || !moment_find(p, when, &m, e))
                return false;
        if (m.type == MOMENT_END)
                return true;
        kept_find(&kept, file);
        number = find_search(&kept, p, &m);
        good = number < kept.count || no_search(&kept, when, e);
        kept_free(&kept);
        if (!good)
                return false;
        profile_free(p);
        return kept_read(p, file, number, e);
}

void load_tell_kept(const struct profile *p, const char *file)
{
        struct kept_list kept = { 0 };
        struct str known = { 0 };

        if (profile_scanned(p))
                return;
        kept_find(&kept, file);
        name_searches(&kept, &known);
        if (kept.count)
                message("it was searched for leaks as it ran: --at shows what was found at %s",
                        str_get(&known));
        str_free(&known);
        kept_free(&kept);
}

/* What the search before found in the process: a command looks at one only. */
static struct scan_lost *lost;
static uint64_t lost_count;

static void keep_lost(const struct profile *p)
{
        lost = heap_grow(lost, p->verdict_count + 1, sizeof *lost);
        lost_count = 0;
        for (uint64_t i = 0; i < p->verdict_count; i++)
                if (p->verdicts[i].leak >= PROFILE_LEAK_INDIRECT)
                        lost[lost_count++] = (struct scan_lost){ p->blocks[i].address,
                                                                 p->blocks[i].birth_ms };
}

bool load_is_recorded(uint32_t pid)
{
        struct wire_status status;

        return family_has_agent((pid_t)pid) || ask_glance(pid, &status) == ASK_ANSWERED;
}

/* The heap was walked although somebody records the process, who could not search it: why. */
static struct err refused;

bool load_search(struct profile *p, uint32_t *pid, uint32_t flags, struct err *e)
{
        struct scan_target t = { .flags = flags, .lost = lost, .lost_count = lost_count };

        if (!ask_program(pid, e) || !beside_visit(*pid, e))
                return false;
        if (ask_is_routed() || family_has_agent((pid_t)*pid))
                return ask_scan(*pid, flags, p, e);
        if (load_is_recorded(*pid) && ask_scan(*pid, flags, p, &refused))
                return true;
        t.pid = (pid_t)*pid;
        *p = (struct profile){ 0 };
        if (!scan_unrecorded(&t, p, e))
                return false;
        file_unpack(p);
        keep_lost(p);
        return true;
}

/* The file that is the program, for names: it has another place now. */
static void place_program(struct profile *p, const char *exe)
{
        char *path = realpath(exe, NULL);

        for (uint32_t i = 0; path && i < p->module_count; i++)
                if (strcmp(p->modules[i].path, p->meta.exe) == 0) {
                        free(p->modules[i].path);
                        p->modules[i].path = heap_text(path);
                }
        free(path);
}

bool load_core(struct profile *p, const struct load_core *c, struct err *e)
{
        struct scan_target t = { .core = c->core, .files = { c->exe, c->sysroot },
                                 .flags = c->flags };
        uint32_t told;

        *p = (struct profile){ 0 };
        if (c->recording && !load_recording(p, c->recording, c->quiet ? LOAD_QUIET : 0, e))
                return false;
        file_unpack(p);
        told = p->meta.warning_count;
        if (!scan_unrecorded(&t, p, e))
                return false;
        file_unpack(p);
        if (c->exe)
                place_program(p, c->exe);
        for (uint32_t i = told; c->recording && !c->quiet && i < p->meta.warning_count; i++)
                message("%s", p->meta.warnings[i]);
        load_tell_walk(p, c->quiet);
        return true;
}

void load_tell_walk(const struct profile *p, bool quiet)
{
        struct str says = { 0 };

        if (quiet || !profile_is_walked(p))
                return;
        if (*refused.text)
                str_format(&says,
                           "%s; so its heap is searched without its recording, and blocks are "
                           "shown by size and content, without call stacks",
                           refused.text);
        else
                str_format(&says,
                           "%s was not recorded, so there are no call stacks: blocks are shown by "
                           "size and content; 'seep record %s ...' records them",
                           p->meta.program, p->meta.program);
        if (!*refused.text && p->scan_count && p->scans[0].when != PROFILE_SCAN_CORE)
                str_format(&says, ", 'seep attach %u' those from now on", p->meta.pid);
        message("%s", str_get(&says));
        str_free(&says);
        for (uint32_t i = 0; i < p->meta.warning_count; i++)
                message("%s", p->meta.warnings[i]);
}
