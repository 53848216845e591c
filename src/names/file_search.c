/* SPDX-License-Identifier: MIT */
#include "names/file_search.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/find.h"
#include "base/heap.h"
#include "names/binary.h"
#include "names/places.h"

/* ---- the ELF files below a directory, by build id ---- */

static int debug_dir_compare(const void *a, const void *b)
{
        const struct debug_dir_entry *x = a, *y = b;
        int order = memcmp(x->id, y->id, sizeof x->id);

        if (order)
                return order;
        if (x->id_bytes != y->id_bytes)
                return x->id_bytes < y->id_bytes ? -1 : 1;
        return x->path && y->path ? strcmp(x->path, y->path) : 0;
}

static void debug_dir_add(struct debug_dir *s, const char *path)
{
        struct debug_dir_entry entry = { 0 };

        entry.id_bytes = binary_build_id(path, entry.id);
        if (!entry.id_bytes)
                return;
        entry.path = heap_text(path);
        s->entries = heap_grow(s->entries, s->count + 1, sizeof *s->entries);
        s->entries[s->count++] = entry;
}

static void debug_dir_read(struct debug_dir *s, const char *dir)
{
        char *root = heap_text(dir), *roots[] = { root, NULL };
        FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
        uint32_t seen = 0;
        FTSENT *entry;

        s->read = true;
        while (walk && !s->cut && (entry = fts_read(walk))) {
                if (entry->fts_info != FTS_F)
                        continue;
                s->cut = ++seen > DEBUG_DIR_FILES;
                if (!s->cut)
                        debug_dir_add(s, entry->fts_path);
        }
        if (walk)
                fts_close(walk);
        if (s->count)
                qsort(s->entries, s->count, sizeof *s->entries, debug_dir_compare);
        free(root);
}

/* Look at every file below DIR, without following links. */
static void debug_dir_free(struct debug_dir *s)
{
        for (size_t i = 0; i < s->count; i++)
                free(s->entries[i].path);
        free(s->entries);
        *s = (struct debug_dir){ 0 };
}

/* Visit each file with the build id of WANTED. */
static bool debug_dir_walk(const struct debug_dir *s, const struct profile_module *wanted,
                           places_visit *visit, void *context)
{
        struct debug_dir_entry key = { .id_bytes = wanted->build_id_bytes };
        size_t low;

        if (wanted->build_id_bytes == 0 || wanted->build_id_bytes > sizeof key.id)
                return false;
        memcpy(key.id, wanted->build_id, wanted->build_id_bytes);
        low = FIND_FIRST(s->count, i, memcmp(s->entries[i].id, key.id, sizeof key.id) < 0);
        for (; low < s->count && memcmp(s->entries[low].id, key.id, sizeof key.id) == 0; low++)
                if (s->entries[low].id_bytes == key.id_bytes &&
                    visit(context, s->entries[low].path))
                        return true;
        return false;
}

/* ---- finding the files of the recorded machine: on this one, below the
 * directories named, on servers ---- */

enum { SEARCH_OTHERS = 4 }; /* files of other builds that are told by name */

/* Say TEXT to the listener, unless it was said before. */
static void search_say(struct file_search *s, const char *text)
{
        if (!s->options.listener || !s->options.listener->say)
                return;
        for (uint32_t i = 0; i < s->told_count; i++)
                if (strcmp(s->told[i], text) == 0)
                        return;
        s->told = heap_grow(s->told, s->told_count + 1u, sizeof *s->told);
        s->told[s->told_count++] = heap_text(text);
        s->options.listener->say(text);
}

/* A mistyped directory would otherwise look like one that lacks the file. */
static void search_check(struct file_search *s, const char *dir)
{
        struct str text = { 0 };
        struct stat st;

        if (stat(dir, &st) != 0)
                str_format(&text, "no names from %s: %s", dir, strerror(errno));
        else if (!S_ISDIR(st.st_mode))
                str_format(&text, "no names from %s: it is not a directory", dir);
        if (text.length)
                search_say(s, str_get(&text));
        str_free(&text);
}

void file_search_init(struct file_search *s, const struct symbol_options *options)
{
        *s = (struct file_search){ 0 };
        if (options)
                s->options = *options;
        s->debug_dirs = heap_zero(s->options.debug_path_count, sizeof *s->debug_dirs);
        s->fetch = fetch_new(&s->options);
        for (uint32_t i = 0; i < s->options.debug_path_count; i++)
                search_check(s, s->options.debug_paths[i]);
        if (s->options.sysroot)
                search_check(s, s->options.sysroot);
}

void file_search_free(struct file_search *s)
{
        for (uint32_t i = 0; i < s->options.debug_path_count; i++)
                debug_dir_free(&s->debug_dirs[i]);
        for (uint32_t i = 0; i < s->told_count; i++)
                free(s->told[i]);
        free(s->debug_dirs);
        free(s->told);
        fetch_free(s->fetch);
        *s = (struct file_search){ 0 };
}

struct search_state {
        const struct profile_module *wanted;
        enum binary_fit best;
        char *path;  /* of the best one; NULL none */
        char *other; /* a file of that name, met before the best one, that is another one */
};

static bool search_try(void *context, const char *path)
{
        struct search_state *t = context;
        enum binary_fit fit = binary_examine(path, t->wanted);

        if (fit == BINARY_OTHER && !t->other && !t->path)
                t->other = heap_text(path);
        if (fit >= BINARY_NAMES && fit > t->best) {
                free(t->path);
                t->path = heap_text(path);
                t->best = fit;
        }
        return fit == BINARY_LINES;
}

/* The file that .gnu_debuglink of the file found names, from the places where debuggers look for
 * it. */
static bool search_linked(struct file_search *s, struct search_state *t, const char *link)
{
        struct str dir = { 0 }, path = { 0 };
        bool done;

        str_bytes(&dir, t->path, (size_t)(strrchr(t->path, '/') - t->path) + 1);
        str_format(&path, "%s%s", str_get(&dir), link);
        done = search_try(t, str_get(&path)) ||
               places_below(PLACES_DEBUG_DIR, str_get(&path), "", search_try, t);
        for (uint32_t i = 0; !done && i < s->options.debug_path_count; i++)
                done = places_below(s->options.debug_paths[i], str_get(&path), "", search_try, t);
        str_clear(&path);
        str_format(&path, "%s.debug/%s", str_get(&dir), link);
        done = done || search_try(t, str_get(&path));
        str_free(&dir);
        str_free(&path);
        return done;
}

/* Without a build id the link's checksum would have to be compared: libdwfl does that. */
static bool search_link(struct file_search *s, struct search_state *t)
{
        char *link;
        bool done;

        if (!t->path || !strchr(t->path, '/') || !t->wanted->build_id_bytes)
                return false;
        link = binary_link(t->path);
        done = link && search_linked(s, t, link);
        free(link);
        return done;
}

static bool search_shelves(struct file_search *s, struct search_state *t)
{
        for (uint32_t i = 0; i < s->options.debug_path_count; i++) {
                struct debug_dir *debug_dir = &s->debug_dirs[i];

                if (!debug_dir->read) {
                        debug_dir_read(debug_dir, s->options.debug_paths[i]);
                        if (debug_dir->cut) {
                                struct str text = { 0 };

                                str_format(&text,
                                           "%s holds more than %d files: not all were searched by "
                                           "build id", s->options.debug_paths[i], DEBUG_DIR_FILES);
                                search_say(s, str_get(&text));
                                str_free(&text);
                        }
                }
                if (debug_dir_walk(debug_dir, t->wanted, search_try, t))
                        return true;
        }
        return false;
}

static bool search_servers(struct file_search *s, struct search_state *t)
{
        char *path;
        bool done = false;

        if (fetch_file(s->fetch, t->wanted, FETCH_DEBUGINFO, &path))
                done = search_try(t, path);
        free(path);
        if (done || t->path)
                return done;
        if (fetch_file(s->fetch, t->wanted, FETCH_EXECUTABLE, &path))
                done = search_try(t, path);
        free(path);
        return done;
}

/* On another machine every library may be another one: some are told. */
static void search_say_other(struct file_search *s, const char *path)
{
        struct str text = { 0 };

        if (s->others_told > SEARCH_OTHERS)
                return;
        if (s->others_told++ < SEARCH_OTHERS)
                str_format(&text, "%s has a different build id than the recorded file: not used",
                           path);
        else
                str_text(&text,
                         "more files have a different build id than the recorded ones: not used");
        search_say(s, str_get(&text));
        str_free(&text);
}

/* What has no build id cannot be compared; a later date at the recorded place is the
 * one sign of another build. */
static void search_say_younger(struct file_search *s, const struct search_state *t)
{
        struct str text = { 0 };
        struct stat st;

        if (!s->recorded_ns || !t->path || t->wanted->build_id_bytes ||
            strcmp(t->path, t->wanted->path) != 0 || stat(t->path, &st) != 0 ||
            (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec <=
                    s->recorded_ns)
                return;
        str_format(&text,
                   "%s was changed after the recording, and the recorded file has no build id: "
                   "names may be wrong", t->path);
        search_say(s, str_get(&text));
        str_free(&text);
}

enum binary_fit file_search_find(struct file_search *s, const struct profile_module *wanted,
                                 char **path)
{
        struct search_state t = { .wanted = wanted };

        if (!places_walk(wanted, &s->options, search_try, &t) && !search_link(s, &t) &&
            !search_shelves(s, &t) && !search_servers(s, &t) && t.other)
                search_say_other(s, t.other);
        search_say_younger(s, &t);
        free(t.other);
        *path = t.path;
        return t.best;
}
