/* SPDX-License-Identifier: MIT */
#include "names/places.h"

#include <string.h>

/* ".build-id/xx/yyyy" of WANTED; "" without a build id. */
static void places_build_id(const struct profile_module *wanted, struct str *out)
{
        if (wanted->build_id_bytes < 2 || wanted->build_id_bytes > sizeof wanted->build_id)
                return;
        str_format(out, ".build-id/%02x/", wanted->build_id[0]);
        for (uint32_t i = 1; i < wanted->build_id_bytes; i++)
                str_format(out, "%02x", wanted->build_id[i]);
}

static bool places_try(places_visit *visit, void *context, const char *dir, const char *path,
                       const char *suffix)
{
        struct str whole = { 0 };
        bool done;

        str_format(&whole, "%s%s%s%s", dir, *dir && path[0] != '/' ? "/" : "", path, suffix);
        done = visit(context, str_get(&whole));
        str_free(&whole);
        return done;
}

bool places_below(const char *dir, const char *path, const char *suffix, places_visit *visit,
                  void *context)
{
        for (; path && *path; path = strchr(path + 1, '/'))
                if (path[strspn(path, "/")] && places_try(visit, context, dir, path, suffix))
                        return true;
        return false;
}

static bool places_by_id(const struct profile_module *wanted, const char *dir, places_visit *visit,
                         void *context)
{
        struct str id = { 0 };
        bool done = false;

        places_build_id(wanted, &id);
        if (id.length)
                done = places_try(visit, context, dir, str_get(&id), ".debug") ||
                       places_try(visit, context, dir, str_get(&id), "");
        str_free(&id);
        return done;
}

/* Where / and /usr are one, a file has two paths; a tree that was copied may have either. */
static bool places_merged(const char *root, const char *path, places_visit *visit, void *context)
{
        static const char *const merged[] = { "/lib", "/bin", "/sbin" };
        struct str other = { 0 };
        bool done = false;

        if (strncmp(path, "/usr/", 5) == 0)
                str_text(&other, path + 4);
        else
                str_format(&other, "/usr%s", path);
        for (size_t i = 0; i < sizeof merged / sizeof merged[0] && !done; i++)
                if (strncmp(path + (strncmp(path, "/usr/", 5) ? 0 : 4), merged[i],
                            strlen(merged[i])) == 0)
                        done = places_try(visit, context, root, str_get(&other), "") ||
                               places_try(visit, context, root, str_get(&other), ".debug");
        str_free(&other);
        return done;
}

/* A machine's own layout, below ROOT ("" for this one). */
static bool places_machine(const struct profile_module *wanted, const char *root,
                           places_visit *visit, void *context)
{
        struct str debug = { 0 };
        bool done;

        str_format(&debug, "%s" PLACES_DEBUG_DIR, root);
        done = places_try(visit, context, root, wanted->path, "") ||
               (*root && (places_try(visit, context, root, wanted->path, ".debug") ||
                          places_merged(root, wanted->path, visit, context))) ||
               places_by_id(wanted, str_get(&debug), visit, context) ||
               places_try(visit, context, str_get(&debug), wanted->path, ".debug") ||
               places_try(visit, context, str_get(&debug), wanted->path, "") ||
               places_merged(str_get(&debug), wanted->path, visit, context);
        str_free(&debug);
        return done;
}

bool places_walk(const struct profile_module *wanted, const struct symbol_options *options,
                 places_visit *visit, void *context)
{
        for (uint32_t i = 0; i < options->debug_path_count; i++) {
                const char *dir = options->debug_paths[i];

                if (places_below(dir, wanted->path, "", visit, context) ||
                    places_below(dir, wanted->path, ".debug", visit, context) ||
                    places_by_id(wanted, dir, visit, context))
                        return true;
        }
        if (options->sysroot && places_machine(wanted, options->sysroot, visit, context))
                return true;
        /* With a sysroot, a file of this machine is trusted only by its build id. */
        if (options->sysroot && !wanted->build_id_bytes)
                return false;
        return places_machine(wanted, "", visit, context);
}
