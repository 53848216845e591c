/* SPDX-License-Identifier: MIT */
#include "attach/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attach/elf.h"
#include "base/heap.h"
#include "base/str.h"

/* Scripts whose interpreters are scripts: as far as the kernel goes. */
#define PROGRAM_SCRIPTS_MAX 4

/* ---- finding ---- */

/* false: errno tells what execve() would say. */
static bool is_startable(const char *file)
{
        struct stat st;

        if (stat(file, &st) < 0)
                return false;
        if (!S_ISREG(st.st_mode)) {
                errno = EACCES;
                return false;
        }
        return access(file, X_OK) == 0;
}

static char *find_direct(const char *name, struct err *e)
{
        struct stat st;

        if (is_startable(name))
                return heap_text(name);
        if (errno == ENOENT || errno == ENOTDIR) {
                err_set(e, ERR_EXIT_NOT_FOUND, "%s: no such program", name);
        } else if (stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {
                err_set(e, ERR_EXIT_NOT_EXECUTABLE, "%s is a directory", name);
        } else if (errno == EACCES && stat(name, &st) == 0) {
                err_set(e, ERR_EXIT_NOT_EXECUTABLE, "%s is not executable; chmod +x %s", name,
                        name);
        } else {
                err_sys(e, ERR_EXIT_NOT_EXECUTABLE, "cannot execute %s", name);
        }
        return NULL;
}

char *program_find(const char *name, struct err *e)
{
        const char *path = getenv("PATH"), *at;
        bool forbidden = false;

        if (!*name) {
                err_set(e, ERR_EXIT_NOT_FOUND, "the program's name is empty");
                return NULL;
        }
        if (strchr(name, '/'))
                return find_direct(name, e);
        for (at = path ? path : "/bin:/usr/bin"; at;
             at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
                int length = (int)strcspn(at, ":");
                struct str file = { 0 };
                char *found;

                str_format(&file, "%.*s%s%s", length, at, length ? "/" : "./", name);
                if (is_startable(str_get(&file))) {
                        found = heap_text(str_get(&file));
                        str_free(&file);
                        return found;
                }
                forbidden = forbidden || errno == EACCES;
                str_free(&file);
        }
        if (forbidden)
                err_set(e, ERR_EXIT_NOT_EXECUTABLE, "%s: found in PATH, but not executable", name);
        else
                err_set(e, ERR_EXIT_NOT_FOUND, "%s: not found in PATH", name);
        return NULL;
}

/* ---- obstacles ---- */

/* Bits and capabilities that make the kernel set AT_SECURE, in which case the
 * loader drops LD_PRELOAD. */
static bool raises_rights(const char *path, const struct program_user *user)
{
        struct statvfs fs;
        struct stat st;
        bool set_uid, set_gid, set_caps;

        if (stat(path, &st) < 0)
                return false;
        if ((statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)) ||
            prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
                return false;
        set_uid = (st.st_mode & S_ISUID) && st.st_uid != user->uid;
        set_gid = (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
                  st.st_gid != user->gid;
        set_caps = user->uid != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
        return set_uid || set_gid || set_caps;
}

bool program_check_start(const char *path, const struct elf_facts *f,
                         const struct program_user *user, struct err *e)
{
        const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

        if (f->interp[0] && access(f->interp, F_OK) < 0)
                return err_set(e, ERR_EXIT_NOT_FOUND, "%s needs the loader %s, which is not there",
                               path, f->interp);
        if (raises_rights(path, user))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s runs with elevated privileges, so the loader ignores our "
                               "library. Record a copy without them: cp %s /tmp/ && seep record "
                               "/tmp/%s", path, path, base);
        return true;
}

static bool check_elf(const char *path, const struct elf_facts *f, const struct program_user *user,
                      struct err *e)
{
        if (f->foreign)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is %s, this agent is %s: it cannot be loaded there. "
                               "Record it with a seep built for that machine",
                               path, elf_kind_name(f), elf_own_kind_name());
        if (!program_check_start(path, f, user, e))
                return false;
        if (f->sanitizer)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s is built with %s, which replaces malloc itself. "
                               "Build without -fsanitize, or use the sanitizer's own report "
                               "(ASAN_OPTIONS=detect_leaks=1)",
                               path, f->sanitizer);
        return true;
}

/* The interpreter of the script in FD; false when it is none. */
static bool read_interpreter(int fd, char *out, size_t room)
{
        char line[256];
        ssize_t got = pread(fd, line, sizeof line - 1, 0);
        char *word;

        if (got < 3 || line[0] != '#' || line[1] != '!')
                return false;
        line[got] = 0;
        line[strcspn(line, "\n")] = 0;
        word = line + 2 + strspn(line + 2, " \t");
        word[strcspn(word, " \t")] = 0;
        if (!*word || strlen(word) >= room)
                return false;
        strcpy(out, word);
        return true;
}

bool program_look(const char *path, struct program_image *out, struct err *e)
{
        if (strlen(path) >= sizeof out->file)
                return err_set(e, ERR_EXIT_NOT_EXECUTABLE, "%.60s...: name too long", path);
        strcpy(out->file, path);
        for (int i = 0; i <= PROGRAM_SCRIPTS_MAX; i++) {
                int fd = open(out->file, O_RDONLY | O_CLOEXEC);
                bool script;

                out->facts = (struct elf_facts){ 0 };
                if (fd < 0 && errno == ENOENT && i > 0)
                        return err_set(e, ERR_EXIT_NOT_FOUND, "%s: its interpreter %s is not there",
                                       path, out->file);
                if (fd < 0)
                        return true; /* executable but not readable: nothing can be told */
                elf_look(fd, &out->facts);
                script = !out->facts.is_elf && read_interpreter(fd, out->file, sizeof out->file);
                close(fd);
                if (!script)
                        return true;
        }
        return err_set(e, ERR_EXIT_NOT_EXECUTABLE, "%s: too many nested interpreters", path);
}

static bool has_loader(const struct program_image *image, struct err *e)
{
        return !program_is_static(&image->facts) ||
               err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "%s is statically linked: preloading has no effect on static programs. "
                       "Record it without --engine=preload",
                       image->file);
}

static bool check(const char *path, const struct program_user *user, bool preload, struct err *e)
{
        struct program_image image;

        if (!program_look(path, &image, e))
                return false;
        if (!image.facts.is_elf)
                /* A script without #!, for the shell; or a format the kernel was taught. */
                return true;
        if ((!preload || has_loader(&image, e)) && check_elf(image.file, &image.facts, user, e))
                return true;
        if (strcmp(image.file, path) != 0)
                err_context(e, "%s", path);
        return false;
}

bool program_check(const char *path, const struct program_user *user, struct err *e)
{
        return check(path, user, true, e);
}

bool program_check_written(const char *path, const struct program_user *user, struct err *e)
{
        return check(path, user, false, e);
}

const char *program_obstacle(const char *path, const struct program_user *user)
{
        struct elf_facts facts;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool looked = fd >= 0 && elf_look(fd, &facts) && facts.is_elf;

        if (fd >= 0)
                close(fd);
        if (!looked)
                return NULL;
        if (facts.foreign)
                return "is built for another kind of machine than our library";
        if (program_is_static(&facts))
                return "is statically linked, so that preloading has no effect";
        if (raises_rights(path, user))
                return "runs with elevated privileges, so that the loader ignores our library";
        return facts.sanitizer ? "is built with a sanitizer, which replaces malloc itself" : NULL;
}
