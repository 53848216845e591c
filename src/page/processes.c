/* SPDX-License-Identifier: MIT */
/*
 * processes.c -- recordings of other processes of the same run: parents, children, siblings, in the
 * same folder and at the same time.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "page/page_parts.h"
#include "profile/file.h"
#include "profile/packed.h"
#include "words/label.h"

enum {
        PROCESSES_MOST = 64,             /* files that are looked into */
        PROCESSES_BYTES_MAX = 32 << 20 /* of each */
};

static int64_t lost_of(const struct leaks *l)
{
        return l->scan ? (int64_t)(l->sums[PROFILE_LEAK_DEFINITE].bytes +
                                   l->sums[PROFILE_LEAK_INDIRECT].bytes)
                       : GRID_NONE;
}

static int64_t lost_bytes(const struct profile *p)
{
        const struct symbol_options options = { .no_debuginfod = true, .raw = true };
        const struct select_request request = { .cost = SELECT_LIVE, .each_site = true };
        struct symbols *s = symbols_new(p, &options);
        struct selection sel;
        struct leaks leaks;
        struct err unused;
        int64_t bytes;

        select_make(&sel, p, s, &request, &unused); /* asks for nothing that could be missing */
        leaks_make_usual(&leaks, &sel, s);
        bytes = lost_of(&leaks);
        leaks_free(&leaks);
        select_free(&sel);
        symbols_free(s);
        return bytes;
}

static void add_process(struct page_processes *all, const struct profile *p, const char *file,
                        int64_t lost)
{
        const struct profile_meta *m = &p->meta;
        uint64_t start_ms = m->start_realtime_ns / 1000000;

        all->list = heap_grow(all->list, all->count + 1, sizeof *all->list);
        all->list[all->count++] = (struct page_process){
                heap_text(m->program), heap_text(file), m->pid, m->ppid, start_ms,
                start_ms + m->duration_ms, p->totals.peak_bytes, p->totals.live_bytes,
                p->totals.allocations, lost, all->count == 1
        };
}

/* OF_RUN: it is where only processes of the same run are; else time and relation tell. */
static void add_file(struct page_processes *all, const char *path, const struct stat *own,
                     bool of_run)
{
        struct err unused = { 0 };
        struct profile p;
        struct stat st;
        bool same_time;

        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > PROCESSES_BYTES_MAX)
                return;
        if (st.st_dev == own->st_dev && st.st_ino == own->st_ino)
                return;
        if ((!of_run && (uint64_t)st.st_mtime * 1000 + 1000 < all->list[0].start_ms) ||
            all->count > PROCESSES_MOST || !file_glance(&p, path, &unused))
                return;
        same_time = of_run || (p.meta.start_realtime_ns / 1000000 <= all->list[0].end_ms &&
                               p.meta.start_realtime_ns / 1000000 + p.meta.duration_ms >=
                                       all->list[0].start_ms);
        profile_free(&p);
        if (!same_time || !file_take(&p, path, PACKED_LEAST, &unused))
                return;
        add_process(all, &p, label_base(path), lost_bytes(&p));
        all->list[all->count - 1].related |= of_run;
        profile_free(&p);
}

/* Of the same family as one that is: its child, its parent, another child of its parent, or what it
 * was before it became another program. */
static bool is_relative(const struct page_process *a, const struct page_process *b)
{
        return a->ppid == b->pid || b->ppid == a->pid || (a->pid == b->pid && a->pid) ||
               (a->ppid == b->ppid && a->ppid > 1);
}

static void drop_strangers(struct page_processes *all)
{
        uint32_t used = 0;
        bool more = true;

        while (more) {
                more = false;
                for (uint32_t i = 0; i < all->count; i++)
                        for (uint32_t k = 0; k < all->count && all->list[i].related; k++)
                                if (!all->list[k].related &&
                                    is_relative(&all->list[i], &all->list[k]))
                                        more = all->list[k].related = true;
        }
        for (uint32_t i = 0; i < all->count; i++)
                if (all->list[i].related) {
                        all->list[used++] = all->list[i];
                } else {
                        free(all->list[i].program);
                        free(all->list[i].file);
                }
        all->count = used;
}

static int compare_processes(const void *a, const void *b)
{
        const struct page_process *x = a, *y = b;

        return x->start_ms != y->start_ms ? (x->start_ms < y->start_ms ? -1 : 1)
                                          : strcmp(x->file, y->file);
}

static bool ends_with(const char *name, const char *suffix)
{
        size_t length = strlen(name), tail = strlen(suffix);

        return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* FOLDER ends in a slash, or is "": the working directory. */
static void look_into(struct page_processes *all, const char *folder, const struct stat *own,
                      bool of_run)
{
        DIR *dir = opendir(*folder ? folder : ".");
        struct str path = { 0 };

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                if (!ends_with(entry->d_name, ".seep"))
                        continue;
                str_clear(&path);
                str_format(&path, "%s%s", folder, entry->d_name);
                add_file(all, str_get(&path), own, of_run);
        }
        if (dir)
                closedir(dir);
        str_free(&path);
}

/* FILE is NAME.seep, and others are in NAME.seep.d/, or it is one of those; of earlier runs, and
 * where the user wanted it so, all lie in one folder. */
static void look_around(struct page_processes *all, const char *file)
{
        struct str folder = { 0 };
        struct stat own;

        if (stat(file, &own) != 0)
                return;
        str_bytes(&folder, file, (size_t)(label_base(file) - file));
        if (ends_with(str_get(&folder), ".seep.d/")) {
                look_into(all, str_get(&folder), &own, true);
                folder.data[folder.length - strlen(".d/")] = 0;
                add_file(all, folder.data, &own, true);
        } else {
                look_into(all, str_get(&folder), &own, false);
        }
        str_clear(&folder);
        str_format(&folder, "%s.d/", file);
        look_into(all, str_get(&folder), &own, true);
        str_free(&folder);
}

void page_find_processes(struct page *g)
{
        const char *file = g->recording->file;

        add_process(&g->processes, g->p, file ? label_base(file) : NULL,
                    g->r->filter ? lost_bytes(g->p) : lost_of(&g->leaks));
        if (file)
                look_around(&g->processes, file);
        drop_strangers(&g->processes);
        qsort(g->processes.list + 1, g->processes.count - 1, sizeof *g->processes.list,
              compare_processes);
}

void page_free_processes(struct page *g)
{
        for (uint32_t i = 0; i < g->processes.count; i++) {
                free(g->processes.list[i].program);
                free(g->processes.list[i].file);
        }
        free(g->processes.list);
}

void page_write_processes(struct page *g)
{
        struct grid t;

        grid_start(&t, "pid ppid program file peak_bytes live_bytes allocations lost_bytes this");
        for (uint32_t i = 0; i < g->processes.count; i++) {
                const struct page_process *p = &g->processes.list[i];

                GRID_ROW(&t, p->pid, p->ppid, lexicon_of(&g->lexicon, p->program),
                         lexicon_of(&g->lexicon, p->file), (int64_t)p->peak_bytes,
                         (int64_t)p->live_bytes, (int64_t)p->allocations, p->lost_bytes, i == 0);
        }
        page_table(g, "processes", &t);
}
