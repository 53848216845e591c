/* SPDX-License-Identifier: MIT */
#include "session/reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/place.h"
#include "session/output.h"

#define REPORTS_SUFFIX ".memlog"
#define REPORTS_NUMBERS_MAX 1000000u /* later than the first number that is tried */

static void make_name(const struct reports_place *place, uint32_t number, struct str *out)
{
        str_clear(out);
        output_add_program(out, place->program);
        str_format(out, "-%u-%u" REPORTS_SUFFIX, place->pid, number);
}

/* NAME gets the name in FOLDER.  A name that is taken, by whatever it is, stays so. */
static bool store_in(const struct reports_place *place, int folder, uint32_t seq,
                     const struct str *text, struct str *name)
{
        uint32_t number = seq;
        struct place to;
        bool good;

        make_name(place, number, name);
        good = place_at(&to, folder, name->data, PLACE_NEW) && place_begin(&to) >= 0 &&
               io_write(to.fd, str_get(text), text->length);
        to.give = true;
        if (good)
                while (!(good = place_end(&to)) && (errno == EEXIST || errno == EISDIR) &&
                       number++ - seq < REPORTS_NUMBERS_MAX) {
                        make_name(place, number, name);
                        place_rename(&to, name->data);
                }
        place_close(&to);
        return good;
}

static bool store_in_fallback(const struct reports_place *place, const char *directory,
                              uint32_t seq, const struct str *text, struct str *name)
{
        int folder = place_folder(directory);
        bool good = folder >= 0 && store_in(place, folder, seq, text, name);

        if (folder >= 0)
                close(folder);
        return good;
}

static char *full_name(const char *directory, const struct str *name)
{
        char *full = realpath(directory, NULL);
        struct str out = { 0 };

        str_format(&out, "%s%s%s", full ? full : directory,
                   full && strcmp(full, "/") == 0 ? "" : "/", name->data);
        free(full);
        return out.data;
}

bool reports_store(const struct reports_place *place, uint32_t seq, const struct str *text,
                   char **path, struct err *e)
{
        struct str name = { 0 };
        const char *directory = place->directory;
        bool good = store_in(place, place->folder, seq, text, &name);

        if (!good)
                err_sys(e, ERR_EXIT_FINDINGS, "cannot write a report to %s",
                        strcmp(place->directory, ".") == 0 ? "the current directory"
                                                           : place->directory);
        for (int i = 0; !good && i < OUTPUT_FALLBACKS; i++) {
                directory = output_fallback(i);
                good = directory && *directory &&
                       store_in_fallback(place, directory, seq, text, &name);
        }
        *path = good ? full_name(directory, &name) : NULL;
        str_free(&name);
        return good;
}

/* REPORTS_FROM_START: there is no such snapshot, or its mark had to be given up. */
static uint32_t slice_of(const struct profile *p, uint32_t seq)
{
        for (uint32_t i = 0; seq && i < p->mark_count; i++)
                if (p->marks[i].seq == seq)
                        return p->marks[i].slice;
        return REPORTS_FROM_START;
}

static void put_text(char *to, size_t room, const char *text)
{
        size_t length = strnlen(text, room - 1);

        memcpy(to, text, length);
        to[length] = 0;
}

void reports_write(const struct reports_author *author, const struct reports_place *place,
                   const struct profile *p, const struct reports_order *order,
                   struct reports_result *out)
{
        uint32_t to = slice_of(p, order->seq);
        struct str text = { 0 };
        struct err e = { 0 };
        char *path = NULL;

        *out = (struct reports_result){ .seq = order->seq };
        if (to == REPORTS_FROM_START || to >= p->slice_count) {
                put_text(out->why, sizeof out->why, "there were more snapshots than can be kept");
                return;
        }
        author->write(author->context, p, slice_of(p, order->from_seq), to, &text);
        out->written = reports_store(place, order->seq, &text, &path, &e);
        out->elsewhere = out->written && e.text[0];
        put_text(out->why, sizeof out->why, e.text);
        put_text(out->path, sizeof out->path, path ? path : "");
        free(path);
        str_free(&text);
}
