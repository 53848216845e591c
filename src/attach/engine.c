/* SPDX-License-Identifier: MIT */
#include "attach/engine.h"

#include <fcntl.h>
#include <unistd.h>

#include "attach/custom.h"
#include "attach/elf.h"
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

/* A program with a loader defines malloc for itself and its libraries, or has an allocator whose
 * functions have names of their own.  With operator new of its own, which may well not call malloc,
 * half of its blocks would be seen when they go and not when they come: unless the allocator is one
 * that we know, that is for the user to ask for.  NULL: neither. */
static const char *own_allocator(const char *file)
{
        static const char *const names[] = { "malloc", "_Znwm" };
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        uint32_t found;
        bool known;

        if (fd < 0)
                return NULL;
        if (!patch_keeps_registers(false)) {
                close(fd);
                return NULL;
        }
        found = elf_exports(fd, names, 2);
        known = custom_has_allocator(fd);
        close(fd);
        if (found == 1 || (found == 3 && known))
                return "it defines malloc itself";
        return !found && known ? "it uses an allocator other than malloc" : NULL;
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
                                          "functions cannot be found without their names, or %s. "
                                          "Record it as it was before strip",
                                          path, recognize_needs());
}

bool engine_is_go(const char *file)
{
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        bool go = fd >= 0 && custom_is_go(fd);

        if (fd >= 0)
                close(fd);
        return go;
}

bool engine_choose(struct engine_choice *c, const char *path, const struct program_user *user,
                   struct err *e)
{
        struct program_image image;
        struct err unused = { 0 };
        const char *why;

        c->why = NULL;
        c->emulation = (struct emulation){ 0 };
        if (!program_look(path, &image, e))
                return false;
        if (image.facts.foreign && c->engine <= ENGINE_PRELOAD && !c->custom) {
                c->engine = ENGINE_PRELOAD;
                return emulator_find(&c->emulation, path, &image, user, e);
        }
        c->go = !program_is_static(&image.facts) && engine_is_go(image.file);
        if (c->engine == ENGINE_AUTO && program_is_static(&image.facts))
                c->why = "it is statically linked";
        else if (c->engine == ENGINE_AUTO && c->custom)
                c->why = "for --hook";
        else if (c->engine == ENGINE_AUTO && image.facts.is_elf && !image.facts.foreign &&
                 (why = own_allocator(image.file)) && patch_is_possible(&unused))
                c->why = why;
        if (c->engine == ENGINE_AUTO)
                c->engine = c->why ? ENGINE_INJECT : ENGINE_PRELOAD;
        if (c->engine == ENGINE_PRELOAD)
                return program_check(path, user, e);
        if (!program_check_written(path, user, e))
                return false;
        return program_is_static(&image.facts) && !c->custom ? check_static(image.file, e)
                                                             : patch_is_possible(e);
}
