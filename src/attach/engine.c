/* SPDX-License-Identifier: MIT */
#include "attach/engine.h"

#include <fcntl.h>
#include <unistd.h>

#include "attach/functions.h"
#include "attach/patch.h"
#include "attach/recognize.h"

/* What the names in a program's file say about its allocator. */
struct names {
        bool own_malloc; /* it defines malloc for itself and its libraries */
        bool any;        /* it has functions with names */
};

static void read_names(const char *file, struct names *out)
{
        static const char *const malloc_ = "malloc";
        struct functions all;
        const struct function *f;
        struct err e;
        uint32_t count = 0;
        int fd = open(file, O_RDONLY | O_CLOEXEC);

        *out = (struct names){ 0 };
        if (fd < 0)
                return;
        if (functions_read(&all, fd, &e)) {
                f = functions_find(&all, "malloc", &count);
                for (uint32_t i = 0; i < count; i++)
                        out->own_malloc = out->own_malloc || f[i].exported;
                out->any = all.count > 0;
                functions_free(&all);
        }
        if (!out->any && recognize_functions(&all, fd, &malloc_, 1)) {
                out->any = true;
                functions_free(&all);
        }
        close(fd);
}

/* Without a loader the functions can be found by the names in the file only. */
static bool check_static(const char *path, const struct names *n, struct err *e)
{
        struct err why = { 0 };

        if (!patch_is_possible(&why))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is statically linked, so that preloading has no effect; and %s",
                               path, why.text);
        return n->any ||
               err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "%s is statically linked and stripped: its allocation functions cannot be found "
                       "without their names, or " RECOGNIZE_NEEDS ". Record it as it was before strip",
                       path);
}

bool engine_choose(struct engine_choice *c, const char *path, const struct program_user *user,
                   struct err *e)
{
        struct program_image image;
        struct names names = { 0 };
        struct err unused = { 0 };

        c->why = NULL;
        if (!program_look(path, &image, e))
                return false;
        if (c->engine != ENGINE_PRELOAD && image.facts.is_elf && !image.facts.foreign)
                read_names(image.file, &names);
        if (c->engine == ENGINE_AUTO && program_is_static(&image.facts))
                c->why = "it is statically linked";
        else if (c->engine == ENGINE_AUTO && names.own_malloc && patch_is_possible(&unused))
                c->why = "it defines malloc itself";
        if (c->engine == ENGINE_AUTO)
                c->engine = c->why ? ENGINE_INJECT : ENGINE_PRELOAD;
        if (c->engine == ENGINE_PRELOAD)
                return program_check(path, user, e);
        if (!program_check_written(path, user, e))
                return false;
        return program_is_static(&image.facts) ? check_static(image.file, &names, e)
                                               : patch_is_possible(e);
}
