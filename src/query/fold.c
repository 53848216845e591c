/* SPDX-License-Identifier: MIT */
#include "query/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "names/perfmap.h"
#include "query/location.h"
#include "query/walk.h"
#include "words/label.h"

/* What a frame's caller leaves behind: what the nearest one outside that counts is. */
enum { CONTEXT_OUTSIDE = 1, CONTEXT_OWN, CONTEXT_LIBRARY };

/* ---- files of code ---- */

/* The length of what PATH shares with all that belongs to it: the folder above "bin"
 * of an installation, the folder around that of a program that was built; 0: that is
 * a folder of everybody's. */
static size_t prefix_of(const char *path)
{
        static const char *const common[] = { "/usr", "/usr/local", "/usr/lib", "/usr/lib64",
                                              "/usr/libexec", "/lib", "/home", "/root", "/tmp",
                                              "/var/tmp", "/opt", "/srv" };
        const char *name = strrchr(path, '/');
        size_t folder = name ? (size_t)(name - path) : 0, around = folder;

        while (around && path[around - 1] != '/')
                around--;
        around -= around > 0;
        for (size_t i = 0; i < sizeof common / sizeof *common; i++)
                if (strlen(common[i]) == around && strncmp(path, common[i], around) == 0)
                        around = 0;
        if (strncmp(path, "/home/", 6) == 0 && around && !memchr(path + 6, '/', around - 6))
                around = 0; /* somebody's home */
        return around ? around : folder;
}

static bool is_language(const char *base)
{
        static const char *const libraries[] = { "libstdc++.so", "libc++.so", "libc++abi.so",
                                                 "libgcc_s.so", "libstd-" };

        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
                if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
                        return true;
        return false;
}

static bool is_elsewhere(const char *path)
{
        static const char *const folders[] = { "/usr/", "/opt/", "/nix/store/", "/gnu/store/",
                                               "/snap/" };

        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
                if (strncmp(path, folders[i], strlen(folders[i])) == 0)
                        return true;
        return location_is_system(path);
}

/* An interpreter is to functions of scripts, where these have names, what C++'s library is to those
 * of C++. */
static bool is_named_interpreter(const struct profile *p, const char *path)
{
        enum interpreter which = interpreter_of(path);

        return which != INTERPRETER_NONE && interpreter_is_named(p, which);
}

/* Whether PATH is of a library of a script language, by the folders that these have everywhere. */
static bool is_package(const char *path)
{
        static const char *const folders[] = { "/site-packages/", "/dist-packages/",
                                               "/node_modules/", "/lib-dynload/", "/lib/python3." };

        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
                if (strstr(path, folders[i]))
                        return true;
        return strncmp(path, "<frozen ", 8) == 0 || strncmp(path, "node:", 5) == 0;
}

static enum fold_kind module_kind(const struct profile *p, uint32_t module)
{
        const char *path = module < p->module_count ? p->modules[module].path : NULL,
                   *exe = p->meta.exe;
        size_t prefix;

        if (!path || path[0] != '/') /* code that was made while the program ran */
                return FOLD_OWN;
        if (is_named_interpreter(p, path))
                return FOLD_LANGUAGE;
        if (exe && is_named_interpreter(p, exe) && is_package(path))
                return FOLD_LIBRARY;
        if (exe ? strcmp(path, exe) == 0 : !strstr(label_base(path), ".so"))
                return FOLD_OWN;
        if (is_language(label_base(path)))
                return FOLD_LANGUAGE;
        prefix = exe && exe[0] == '/' ? prefix_of(exe) : 0;
        if (prefix && strncmp(path, exe, prefix) == 0 && path[prefix] == '/')
                return FOLD_OWN;
        return is_elsewhere(path) ? FOLD_LIBRARY : FOLD_OWN;
}

/* ---- source files ---- */

/* Whose code a source FILE is, whatever it was compiled into; 0: the file does not tell. */
static enum fold_kind file_kind(const char *file)
{
        static const char *const language[] = { "/include/c++/", "/rustc/", "library/std/src/",
                                                "library/core/src/", "library/alloc/src/",
                                                "/libstdc++-v3/" };
        static const char *const packages[] = { "/.cargo/registry/", "/.cargo/git/" };
        const char *include = strstr(file, "/include/");

        if (include && strstr(include, "-linux-gnu") && strstr(include, "/c++/"))
                return FOLD_LANGUAGE;
        for (size_t i = 0; i < sizeof language / sizeof *language; i++)
                if (strstr(file, language[i]))
                        return FOLD_LANGUAGE;
        for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
                if (strstr(file, packages[i]))
                        return FOLD_LIBRARY;
        if (is_package(file))
                return FOLD_LIBRARY;
        return file[0] == '/' && location_is_system(file) ? FOLD_LIBRARY : 0;
}

/* "<mine::Tree as core::ops::Drop>::drop" has the name of the library, and is not of it. */
static bool is_implementation(const struct symbol_frame *frame)
{
        return frame->function[0] == '<' && frame->file && !file_kind(frame->file);
}

static enum fold_kind kind_of(enum fold_kind module, const struct symbol_frame *frame,
                              bool machinery)
{
        const char *file = frame->file ? frame->file : frame->script;
        enum fold_kind by_file = file ? file_kind(file) : 0;

        if (frame->function && machinery && !is_implementation(frame))
                return FOLD_LANGUAGE;
        return by_file && module == FOLD_OWN ? by_file : module;
}

/* Of a wrapper: xmalloc is one at the inner end of a stack only, operator new anywhere. */
static bool is_of_language(const char *function)
{
        return strstr(function, "::") || strncmp(function, "operator new", 12) == 0 ||
               strncmp(function, "__r", 3) == 0;
}

enum fold_kind fold_kind_of(const struct profile *p, uint32_t node,
                            const struct symbol_frame *frame)
{
        return kind_of(module_kind(p, p->nodes[node].module), frame, wrapper_or_library(frame));
}

/* ---- frames ---- */

struct fold *fold_new(const struct profile *p, struct symbols *s, struct wrappers *w)
{
        struct fold *f = heap_zero(1, sizeof *f);

        *f = (struct fold){ .profile = p, .symbols = s, .wrappers = w };
        f->modules = heap_zero(p->module_count, 1);
        f->contexts = heap_zero(p->node_count, 1);
        for (uint32_t i = 0; i < p->module_count; i++)
                f->modules[i] = (uint8_t)module_kind(p, i);
        return f;
}

void fold_free(struct fold *f)
{
        if (!f)
                return;
        free(f->modules);
        free(f->contexts);
        lookup_free(&f->places);
        free(f->kinds);
        free(f->path);
        free(f);
}

enum fold_kind fold_kind(struct fold *f, uint32_t node, const struct symbol_frame *frame)
{
        uint32_t module = f->profile->nodes[node].module;
        bool machinery = wrappers_library(f->wrappers, frame) ||
                         (wrappers_has(f->wrappers, frame) && !frame->is_wrapper &&
                          is_of_language(frame->function));

        return kind_of(module < f->profile->module_count ? f->modules[module] : FOLD_OWN, frame,
                       machinery);
}

/* How many frames are at NODE, and then their kinds, innermost first. */
static const uint8_t *kinds_of(struct fold *f, uint32_t node)
{
        uint32_t *known = &symbols_place(&f->places, f->profile, node)->value, count;
        const struct symbol_frame *frames;

        if (*known)
                return f->kinds + *known - 1;
        count = symbols_node(f->symbols, node, &frames);
        if (f->kind_count + 1 + count > f->kind_room) {
                f->kind_room = 2 * f->kind_room + count + 256;
                f->kinds = heap_grow(f->kinds, f->kind_room, 1);
        }
        *known = f->kind_count + 1;
        f->kinds[f->kind_count++] = (uint8_t)count; /* DEBUG_FRAMES at most */
        for (uint32_t i = 0; i < count; i++)
                f->kinds[f->kind_count++] = (uint8_t)fold_kind(f, node, &frames[i]);
        return f->kinds + *known - 1;
}

/* Whether a frame of KIND is shown that is called by what left *CONTEXT, which becomes what it
 * leaves itself. */
static bool is_shown(uint8_t kind, uint8_t *context)
{
        bool outside = *context == CONTEXT_OUTSIDE, shown = kind == FOLD_OWN;

        if (kind == FOLD_LIBRARY && *context == CONTEXT_OWN)
                shown = true;
        if (kind == FOLD_OWN)
                *context = CONTEXT_OWN;
        else if (kind == FOLD_LIBRARY && !outside)
                *context = CONTEXT_LIBRARY;
        return shown;
}

/* Through the frames at NODE down to that of AT; whether that one is shown. */
static bool pass(struct fold *f, struct wrapper_frame at, uint8_t *context)
{
        const uint8_t *kinds = kinds_of(f, at.node);
        bool shown = true;

        for (uint32_t i = kinds[0]; i-- > at.level;)
                shown = is_shown(kinds[1 + i], context);
        return shown;
}

/* What NODE leaves behind for what it calls. */
static uint8_t context_of(struct fold *f, uint32_t node)
{
        uint32_t depth = 0;
        uint8_t context;

        for (; node > 1 && !f->contexts[node]; node = f->profile->nodes[node].parent) {
                if (depth == f->path_room) {
                        f->path_room = depth ? depth * 2 : 256;
                        f->path = heap_grow(f->path, f->path_room, sizeof *f->path);
                }
                f->path[depth++] = node;
        }
        context = node > 1 ? f->contexts[node] : CONTEXT_OUTSIDE;
        while (depth--) {
                if (symbols_is_start(f->symbols, f->path[depth]))
                        context = CONTEXT_OUTSIDE;
                else
                        pass(f, (struct wrapper_frame){ f->path[depth], 0 }, &context);
                f->contexts[f->path[depth]] = context;
        }
        return context;
}

bool fold_is_outside(struct fold *f, struct wrapper_frame at)
{
        uint8_t context;

        if (!at.level)
                return context_of(f, at.node) == CONTEXT_OUTSIDE;
        context = context_of(f, f->profile->nodes[at.node].parent);
        pass(f, at, &context);
        return context == CONTEXT_OUTSIDE;
}

bool fold_shows(struct fold *f, struct wrapper_frame at, bool whole)
{
        const uint8_t *kinds = whole ? NULL : kinds_of(f, at.node);
        uint8_t context;

        if (whole || kinds[1 + at.level] != FOLD_LIBRARY)
                return whole || kinds[1 + at.level] == FOLD_OWN;
        context = context_of(f, f->profile->nodes[at.node].parent);
        return pass(f, at, &context);
}

struct wrapper_frame fold_trim(struct fold *f, uint32_t node)
{
        struct walk w = walk_own(f->profile, f->symbols, node);
        bool whole = fold_is_outside(f, (struct wrapper_frame){ node, 0 });

        while (walk_next(&w))
                if (!wrappers_has(f->wrappers, w.frame) &&
                    fold_shows(f, (struct wrapper_frame){ w.node, w.level }, whole))
                        return (struct wrapper_frame){ w.node, w.level };
        return wrappers_trim(f->wrappers, f->profile, f->symbols, node);
}
