/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "cli/message.h"
#include "profile/events_log.h"
#include "profile/file.h"
#include "profile/packed.h"
#include "scan/scan.h"
#include "session/ask.h"
#include "session/family.h"
#include "wire/hello.h"

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
                message("%s is incomplete: seep was killed, or is still recording; 'seep events %s' prints all events, which are in %s", file, file, beside);
        free(beside);
}

/* There is no recording: perhaps it did not get that far. */
static void add_log(const char *file, struct err *e)
{
        char *beside = log_beside(file);
        size_t used = strlen(e->text);

        if (*beside)
                snprintf(e->text + used, sizeof e->text - used, "; its events so far are in %s: 'seep events %s' prints them", beside, file);
        free(beside);
}

bool load_recording(struct profile *p, const char *file, bool quiet, struct err *e)
{
        if (!file_take(p, file, PACKED_LEAST, e)) {
                add_log(file, e);
                if (*file && strspn(file, "0123456789") == strlen(file))
                        snprintf(e->text, sizeof e->text, "%s is not a recording. For a process that is being recorded, use 'seep top %s', "
                                 "'seep html --serve %s', 'seep leaks %s', 'seep why %s ADDRESS' or 'seep snapshot %s'", file, file, file, file, file, file);
                return false;
        }
        if (p->truncated && !quiet)
                message("%s is cut short: only the intact part is shown ('seep info %s' lists what is missing)", file, file);
        if (!quiet)
                load_tell_log(p, file);
        return true;
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
                        lost[lost_count++] = (struct scan_lost){ p->blocks[i].address, p->blocks[i].birth_ms };
}

bool load_search(struct profile *p, uint32_t *pid, uint32_t flags, struct err *e)
{
        struct scan_target t = { .flags = flags, .lost = lost, .lost_count = lost_count };

        if (!ask_program(pid, e))
                return false;
        if (family_has_agent((pid_t)*pid))
                return ask_scan(*pid, flags, p, e);
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
        struct scan_target t = { .core = c->core, .files = { c->exe, c->sysroot }, .flags = c->flags };
        uint32_t told;

        *p = (struct profile){ 0 };
        if (c->recording && !load_recording(p, c->recording, c->quiet, e))
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
        if (quiet || !profile_is_walked(p))
                return;
        message("%s was not recorded, so there are no call stacks: blocks are shown by size and content; "
                "'seep record %s ...' records them", p->meta.program, p->meta.program);
        for (uint32_t i = 0; i < p->meta.warning_count; i++)
                message("%s", p->meta.warnings[i]);
}

void load_graph(struct profile *p)
{
        if (p->scan_count && (p->scans[0].flags & PROFILE_SCAN_GRAPH))
                file_unpack(p);
}
