/* SPDX-License-Identifier: MIT */
#include "attach/engine.h"

#include <fcntl.h>
#include <unistd.h>

#include "attach/functions.h"
#include "attach/patch.h"
#include "attach/recognize.h"

/* The functions of a program without a loader have names, or are known by their code. */
static bool has_names(const char *file)
{
        static const char *const malloc_ = "malloc";
        struct functions all;
        struct err e;
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        bool any = false;

        if (fd < 0)
                return false;
        if (functions_read(&all, fd, &e)) {
                any = all.count > 0;
                functions_free(&all);
        }
        if (!any && recognize_functions(&all, fd, &malloc_, 1)) {
                any = true;
                functions_free(&all);
        }
        close(fd);
        return any;
}

/* A program with a loader defines malloc for itself and its libraries.  With operator new of its
 * own, which may well not call malloc, half of its blocks would be seen when they go and not when
 * they come: that is for the user to ask for. */
static bool has_own_malloc(const char *file)
{
        static const char *const names[] = { "malloc", "_Znwm" };
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        uint32_t found;

        if (fd < 0)
                return false;
        found = functions_exported(fd, names, 2);
        close(fd);
        return found == 1;
}

/* Without a loader the functions can be found by the names in the file only. */
static bool check_static(const char *path, struct err *e)
{
        struct err why = { 0 };

        if (!patch_is_possible(&why))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is statically linked, so that preloading has no effect; and %s",
                               path, why.text);
        return has_names(path) || err_set(e, ERR_EXIT_CANNOT_TRACE,
                                          "%s is statically linked and stripped: its allocation "
                                          "functions cannot be found "
                                          "without their names, or " RECOGNIZE_NEEDS
                                          ". Record it as it was before strip",
                                          path);
}

bool engine_choose(struct engine_choice *c, const char *path, const struct program_user *user,
                   struct err *e)
{
        struct program_image image;
        struct err unused = { 0 };

        c->why = NULL;
        if (!program_look(path, &image, e))
                return false;
        if (c->engine == ENGINE_AUTO && program_is_static(&image.facts))
                c->why = "it is statically linked";
        else if (c->engine == ENGINE_AUTO && image.facts.is_elf && !image.facts.foreign &&
                 has_own_malloc(image.file) && patch_is_possible(&unused))
                c->why = "it defines malloc itself";
        if (c->engine == ENGINE_AUTO)
                c->engine = c->why ? ENGINE_INJECT : ENGINE_PRELOAD;
        if (c->engine == ENGINE_PRELOAD)
                return program_check(path, user, e);
        if (!program_check_written(path, user, e))
                return false;
        return program_is_static(&image.facts) ? check_static(image.file, e)
                                               : patch_is_possible(e);
}
