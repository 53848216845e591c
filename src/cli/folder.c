/* SPDX-License-Identifier: MIT */
#include "cli/folder.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/signals.h"
#include "cli/message.h"
#include "cli/roster.h"
#include "profile/file.h"
#include "profile/packed.h"
#include "session/children.h"
#include "words/label.h"
#include "words/text.h"

#define FOLDER_SUFFIX ".seep" CHILDREN_SUFFIX

static bool folder_ends_with(const char *name, const char *suffix)
{
        size_t length = strlen(name), tail = strlen(suffix);

        return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* Names of ours have no line breaks and the like (session/output.h): others might pass for lines of
 * ours where they are told. */
bool folder_has_recording(const char *entry)
{
        for (const char *c = entry; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        return false;
        return entry[0] != '.' && folder_ends_with(entry, ".seep");
}

bool folder_is_named(const char *name)
{
        return folder_ends_with(name, FOLDER_SUFFIX);
}

bool folder_is(const char *operand)
{
        struct stat st;

        return operand && stat(operand, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- reading ---- */

static void add(struct folder *f, const char *path)
{
        struct profile p = { 0 };
        struct err e = { 0 };

        if (!file_take(&p, path, PACKED_LEAST, &e)) {
                message("%s", e.text);
                f->unreadable++;
                return;
        }
        f->all = heap_grow(f->all, f->count + 1, sizeof *f->all);
        f->all[f->count] = (struct folder_process){
                heap_text(path), heap_text(p.meta.program), p.meta.pid, p.meta.ppid,
                p.meta.start_realtime_ns / 1000000, p.meta.duration_ms, p.totals.peak_bytes,
                p.totals.live_bytes, p.totals.allocations, p.error_count,
                profile_scanned(&p) ? (int64_t)roster_lost(&p).bytes : -1, p.truncated,
                p.meta.end == PROFILE_END_SIGNAL ? p.meta.exit_signal : 0
        };
        plain_name(f->all[f->count++].program);
        profile_free(&p);
}

static int by_peak(const void *a, const void *b)
{
        const struct folder_process *x = a, *y = b;

        return ORDER(y->peak_bytes, x->peak_bytes) ?: strcmp(x->path, y->path);
}

static int by_lost(const void *a, const void *b)
{
        const struct folder_process *x = a, *y = b;

        return ORDER(y->lost_bytes, x->lost_bytes) ?: by_peak(a, b);
}

void folder_by_lost(struct folder *f)
{
        qsort(f->all, f->count, sizeof *f->all, by_lost);
        f->order = "most lost first";
}

/* NAME.seep of NAME.seep.d; the caller's to free(). */
static char *main_of(const char *path)
{
        char *main = heap_text(path);
        size_t length = strlen(main);
        struct stat st;

        while (length > 1 && main[length - 1] == '/')
                main[--length] = 0;
        if (folder_is_named(main)) {
                main[length - strlen(CHILDREN_SUFFIX)] = 0;
                if (stat(main, &st) == 0 && S_ISREG(st.st_mode) && st.st_size)
                        return main;
        }
        free(main);
        return NULL;
}

bool folder_open(struct folder *f, const char *path, struct err *e)
{
        DIR *directory = opendir(path);
        char *main = main_of(path);
        struct str name = { 0 };

        *f = (struct folder){ .order = "largest peak first" };
        if (!directory) {
                free(main);
                return err_sys(e, ERR_EXIT_USAGE, "cannot read the folder %s", path);
        }
        if (main)
                add(f, main);
        for (struct dirent *entry; (entry = readdir(directory));) {
                struct stat st;

                str_clear(&name);
                str_format(&name, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
                           entry->d_name);
                if (folder_has_recording(entry->d_name) && stat(name.data, &st) == 0 &&
                    S_ISREG(st.st_mode) && st.st_size)
                        add(f, name.data);
        }
        closedir(directory);
        str_free(&name);
        free(main);
        qsort(f->all, f->count, sizeof *f->all, by_peak);
        return f->count ||
               err_set(e, ERR_EXIT_USAGE, "%s is a directory without a recording (*.seep) in it",
                       path);
}

void folder_close(struct folder *f)
{
        for (uint32_t i = 0; i < f->count; i++) {
                free(f->all[i].path);
                free(f->all[i].program);
        }
        free(f->all);
        *f = (struct folder){ 0 };
}

/* ---- words ---- */

static void table_row(const struct folder_process *p, struct str *out)
{
        str_text(out, "  ");
        text_cell(out, 10, p->peak_bytes, text_size);
        str_text(out, "  ");
        text_cell(out, 10, p->live_bytes, text_size);
        str_text(out, "  ");
        text_cell(out, 11, p->allocations, text_number);
        str_text(out, "  ");
        if (p->lost_bytes < 0)
                str_text(out, "         ?");
        else
                text_cell(out, 10, (uint64_t)p->lost_bytes, text_size);
        if (p->pid)
                str_format(out, "  %7" PRIu32 "  ", p->pid);
        else
                str_text(out, "           ");
}

/* What should be looked at. */
static void table_notes(const struct folder_process *p, struct str *out)
{
        char name[SIGNALS_NAME_BYTES];

        str_text(out, p->errors ? "  INVALID FREES" : p->truncated ? "  cut short" : "");
        if (!p->signal)
                return;
        signals_name(p->signal, name);
        str_format(out, "  ended by %s", name);
}

void folder_table(const struct folder *f, const char *path, struct str *out)
{
        struct folder_process sum = { 0 };

        str_format(out, "%s: %" PRIu32 " process%s, %s\n", path, f->count,
                   f->count == 1 ? "" : "es", f->order);
        str_text(out, "        peak         end  allocations        lost      pid  program\n");
        for (uint32_t i = 0; i < f->count; i++) {
                const struct folder_process *p = &f->all[i];

                table_row(p, out);
                str_text(out, p->program);
                table_notes(p, out);
                str_format(out, "  (%s)\n", label_base(p->path));
                sum.peak_bytes += p->peak_bytes;
                sum.live_bytes += p->live_bytes;
                sum.allocations += p->allocations;
                sum.lost_bytes += p->lost_bytes > 0 ? p->lost_bytes : 0;
        }
        if (f->count < 2)
                return;
        table_row(&sum, out);
        str_text(out, "in all (peaks need not be at the same time)\n");
}

void folder_head(const struct folder *f, uint32_t i, struct str *out)
{
        const struct folder_process *p = &f->all[i];

        str_format(out, "\n== %s (pid %" PRIu32 "), peak ", p->program, p->pid);
        text_size(out, (int64_t)p->peak_bytes);
        str_format(out, " (%s) ==\n", label_base(p->path));
}
