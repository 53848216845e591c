/* SPDX-License-Identifier: MIT */
/*
 * search.c -- finding the files of the recorded machine: on this one, below the directories named, on servers.
 *
 * Room:   outside.
 */
#include "names/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "names/places.h"

enum { SEARCH_OTHERS = 4 }; /* files of other builds that are told by name */

/* A mistyped directory would otherwise look like one that lacks the file. */
static void search_check(struct search *s, const char *dir)
{
        struct str text = { 0 };
        struct stat st;

        if (stat(dir, &st) != 0)
                str_format(&text, "no names from %s: %s", dir, strerror(errno));
        else if (!S_ISDIR(st.st_mode))
                str_format(&text, "no names from %s: it is no directory", dir);
        if (text.length)
                search_say(s, str_get(&text));
        str_free(&text);
}

void search_init(struct search *s, const struct symbol_options *options)
{
        *s = (struct search){ 0 };
        if (options)
                s->options = *options;
        s->shelves = heap_zero(s->options.debug_path_count, sizeof *s->shelves);
        s->fetch = fetch_new(&s->options);
        for (uint32_t i = 0; i < s->options.debug_path_count; i++)
                search_check(s, s->options.debug_paths[i]);
        if (s->options.sysroot)
                search_check(s, s->options.sysroot);
}

void search_free(struct search *s)
{
        for (uint32_t i = 0; i < s->options.debug_path_count; i++)
                shelf_free(&s->shelves[i]);
        for (uint32_t i = 0; i < s->told_count; i++)
                free(s->told[i]);
        free(s->shelves);
        free(s->told);
        fetch_free(s->fetch);
        *s = (struct search){ 0 };
}

void search_say(struct search *s, const char *text)
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

/* The file that .gnu_debuglink of the file found names, from the places where debuggers look for it. */
static bool search_linked(struct search *s, struct search_state *t, const char *link)
{
        struct str dir = { 0 }, path = { 0 };
        bool done;

        str_bytes(&dir, t->path, (size_t)(strrchr(t->path, '/') - t->path) + 1);
        str_format(&path, "%s%s", str_get(&dir), link);
        done = search_try(t, str_get(&path)) || places_below(PLACES_DEBUG_DIR, str_get(&path), "", search_try, t);
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
static bool search_link(struct search *s, struct search_state *t)
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

static bool search_shelves(struct search *s, struct search_state *t)
{
        for (uint32_t i = 0; i < s->options.debug_path_count; i++) {
                struct shelf *shelf = &s->shelves[i];

                if (!shelf->read) {
                        shelf_read(shelf, s->options.debug_paths[i]);
                        if (shelf->cut) {
                                struct str text = { 0 };

                                str_format(&text, "%s holds more than %d files: not all were searched by build id",
                                           s->options.debug_paths[i], SHELF_FILES);
                                search_say(s, str_get(&text));
                                str_free(&text);
                        }
                }
                if (shelf_walk(shelf, t->wanted, search_try, t))
                        return true;
        }
        return false;
}

static bool search_servers(struct search *s, struct search_state *t)
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
static void search_say_other(struct search *s, const char *path)
{
        struct str text = { 0 };

        if (s->others_told > SEARCH_OTHERS)
                return;
        if (s->others_told++ < SEARCH_OTHERS)
                str_format(&text, "%s has another build id than what was recorded: not used", path);
        else
                str_text(&text, "more files have another build id than what was recorded: not used");
        search_say(s, str_get(&text));
        str_free(&text);
}

/* What has no build id cannot be compared; a later date at the recorded place is the one sign of another build. */
static void search_say_younger(struct search *s, const struct search_state *t)
{
        struct str text = { 0 };
        struct stat st;

        if (!s->recorded_ns || !t->path || t->wanted->build_id_bytes || strcmp(t->path, t->wanted->path) != 0 || stat(t->path, &st) != 0 ||
            (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec <= s->recorded_ns)
                return;
        str_format(&text, "%s was changed after the recording, and what was recorded has no build id: its names may be wrong", t->path);
        search_say(s, str_get(&text));
        str_free(&text);
}

enum binary_fit search_find(struct search *s, const struct profile_module *wanted, char **path)
{
        struct search_state t = { .wanted = wanted };

        if (!places_walk(wanted, &s->options, search_try, &t) && !search_link(s, &t) && !search_shelves(s, &t) &&
            !search_servers(s, &t) && t.other)
                search_say_other(s, t.other);
        search_say_younger(s, &t);
        free(t.other);
        *path = t.path;
        return t.best;
}
