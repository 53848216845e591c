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

void load_graph(struct profile *p)
{
        if (p->scan_count && (p->scans[0].flags & PROFILE_SCAN_GRAPH))
                file_unpack(p);
}
