/* SPDX-License-Identifier: MIT */
/*
 * output.c -- where recordings go: names, and what happens when the place is not usable.
 *
 * Room:   outside.
 */
#include "observe/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/str.h"
#include "profile/file.h"

#define OUTPUT_SUFFIX ".seep"

/* ---- names ---- */

static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

/* It may come from a stranger: nothing in it may lead to another directory or upset a terminal. */
void output_add_program(struct str *to, const char *program)
{
        const char *name = base_name(program);

        if (!*name || *name == '.')
                str_char(to, '_');
        for (const char *c = name + (*name == '.'); *c && c - name < 100; c++)
                str_char(to, *c == '/' || (unsigned char)*c < ' ' || *c == 127 ? '_' : *c);
}

static bool has_place(const char *pattern, const char *letters)
{
        for (const char *c = pattern; *c; c++)
                if (*c == '%' && c[1] && strchr(letters, *++c))
                        return true;
        return false;
}

static void expand(const char *pattern, const char *program, uint32_t pid, uint32_t number, struct str *out)
{
        for (const char *c = pattern; *c; c++) {
                if (*c != '%') {
                        str_char(out, *c);
                        continue;
                }
                c++;
                if (*c == 'p')
                        str_format(out, "%u", pid);
                else if (*c == 'n')
                        str_format(out, "%u", number);
                else if (*c == 'e')
                        output_add_program(out, program);
                else
                        str_char(out, '%');
        }
}

/* PATH with ".NUMBER" in front of its suffix. */
static char *numbered(const char *path, uint32_t number)
{
        size_t length = strlen(path), suffix = strlen(OUTPUT_SUFFIX);
        bool has = length > suffix && strcmp(path + length - suffix, OUTPUT_SUFFIX) == 0;
        struct str out = { 0 };

        str_format(&out, "%.*s.%u%s", (int)(has ? length - suffix : length), path, number, has ? OUTPUT_SUFFIX : "");
        return out.data;
}

static bool is_taken(const struct output *o, const char *path)
{
        struct stat st;

        for (uint32_t i = 0; i < o->used_count; i++)
                if (strcmp(o->used[i], path) == 0)
                        return true;
        return !o->force && lstat(path, &st) == 0;
}

/* An empty file of that name is ours.  What else is wrong with the place shows when the recording is written. */
static bool can_claim(const struct output *o, const char *path)
{
        int fd = o->claim ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;

        if (fd >= 0)
                close(fd);
        return !o->claim || fd >= 0 || errno != EEXIST;
}

/* PATH, or the next free name beside it; from then on it is taken. */
static char *reserve(struct output *o, char *path)
{
        char *name = heap_text(path);

        for (uint32_t i = 2; is_taken(o, name) || !can_claim(o, name); i++) {
                free(name);
                name = numbered(path, i);
        }
        o->used = heap_grow(o->used, o->used_count + 1, sizeof *o->used);
        o->used[o->used_count++] = heap_text(name);
        free(path);
        return name;
}

static char *moved(const char *directory, const char *path)
{
        struct str out = { 0 };

        str_format(&out, "%s/%s", directory, base_name(path));
        return out.data;
}

/* The name that a recording should have, taken or not. */
static char *wanted_name(const struct output *o, const char *program, uint32_t pid, uint32_t number, bool is_main)
{
        struct str text = { 0 };
        char *path;

        expand(o->pattern, program, pid, number, &text);
        path = text.data;
        if (!is_main && !has_place(o->pattern, "pn")) {
                path = numbered(text.data, pid);
                str_free(&text);
        }
        if (o->directory) {
                char *there = moved(o->directory, path);

                free(path);
                path = there;
        }
        return path;
}

char *output_name(struct output *o, const char *program, uint32_t pid, uint32_t number, bool is_main)
{
        return reserve(o, wanted_name(o, program, pid, number, is_main));
}

static void release(struct output *o, const char *path)
{
        for (uint32_t i = o->used_count; i-- > 0;)
                if (strcmp(o->used[i], path) == 0) {
                        free(o->used[i]);
                        o->used[i] = o->used[--o->used_count];
                }
}

char *output_make_room(struct output *o, const char *program, uint32_t pid, uint32_t number, const char *earlier)
{
        char *wanted = wanted_name(o, program, pid, number, true), *there = NULL;

        if (strcmp(wanted, earlier) == 0) {
                there = numbered(wanted, 1);
                for (uint32_t i = 2; is_taken(o, there); i++) {
                        free(there);
                        there = numbered(wanted, i);
                }
                there = reserve(o, there);
                if (rename(wanted, there) == 0 || errno == ENOENT) { /* ENOENT: it had to be written elsewhere */
                        release(o, wanted);
                } else {
                        free(there);
                        there = NULL;
                }
        }
        free(wanted);
        return there;
}

/* The kernel stamps files with the time of its last tick; the clock is finer, so that this is later than all of them. */
void output_make_newest(const char *path)
{
        struct timespec times[2];

        clock_gettime(CLOCK_REALTIME, &times[0]);
        times[1] = times[0];
        if (utimensat(AT_FDCWD, path, times, 0) < 0)
                return; /* someone took it away already */
}

/* ---- places ---- */

static char *directory_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        char *directory;

        if (!slash)
                return heap_text(".");
        directory = heap_text(path);
        directory[slash == path ? 1 : slash - path] = 0;
        return directory;
}

/* Whether a file can be made and filled there; the only answer that counts is to do it. */
static bool can_write(const char *directory)
{
        char block[4096] = { 0 }, name[4200];
        void (*before)(int);
        bool good;
        int fd, saved;

        if (snprintf(name, sizeof name, "%s/.seep-XXXXXX", directory) >= (int)sizeof name) {
                errno = ENAMETOOLONG;
                return false;
        }
        fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
                return false;
        before = signal(SIGXFSZ, SIG_IGN); /* ulimit -f: an error to look at, not our end */
        good = write(fd, block, sizeof block) == (ssize_t)sizeof block;
        saved = errno;
        signal(SIGXFSZ, before);
        unlink(name);
        close(fd);
        errno = saved;
        return good;
}

const char *output_fallback(int i)
{
        switch (i) {
        case 0:
                return getenv("TMPDIR");
        case 1:
                return "/tmp";
        default:
                return getenv("HOME");
        }
}

/* WHAT, in the message: "reports go". */
static bool choose_directory(struct output *o, const char *wanted, const char *what, struct err *why)
{
        err_sys(why, ERR_EXIT_CANNOT_TRACE, "cannot write to %s", strcmp(wanted, ".") == 0 ? "the current directory" : wanted);
        for (int i = 0; i < OUTPUT_FALLBACKS; i++) {
                const char *directory = output_fallback(i);
                size_t used = strlen(why->text);

                if (!directory || !*directory || !can_write(directory))
                        continue;
                o->directory = heap_text(directory);
                snprintf(why->text + used, sizeof why->text - used, "; %s to %s", what, directory);
                return true;
        }
        return err_context(why, "no place for what is recorded");
}

/* What the user cannot have meant; FIXED: the pattern is the name. */
static bool check_pattern(const char *pattern, bool fixed, struct err *why)
{
        struct stat st;
        bool there = fixed && stat(pattern, &st) == 0;

        if (!*base_name(pattern) || pattern[strlen(pattern) - 1] == '/')
                return err_set(why, ERR_EXIT_USAGE, "-o '%s' is no file name", pattern);
        if (there && S_ISDIR(st.st_mode))
                return err_set(why, ERR_EXIT_USAGE, "-o %s is a directory; a file in it: -o %s/%s", pattern, pattern,
                               OUTPUT_DEFAULT);
        if (strcmp(pattern, "-") == 0 || (there && !S_ISREG(st.st_mode)))
                return err_set(why, ERR_EXIT_USAGE,
                               "-o %s: a recording cannot be written to a terminal, pipe or device; name a file", pattern);
        return true;
}

/* A directory that is not there was mistyped; one that is full or forbidden is no reason not to record. */
static bool check_directory(const char *directory, const char *pattern, struct err *why)
{
        struct stat st;
        bool there = stat(directory, &st) == 0;

        if (strchr(directory, '%') || (there ? S_ISDIR(st.st_mode) : errno != ENOENT && errno != ENOTDIR))
                return true;
        return err_set(why, ERR_EXIT_USAGE, "-o %s: there is no directory %s", pattern, directory);
}

bool output_prepare(struct output *o, const char *pattern, bool force, struct err *why)
{
        char *directory;
        bool good;

        *o = (struct output){ .pattern = pattern, .force = force };
        if (!check_pattern(pattern, !has_place(pattern, "pen"), why))
                return false;
        if (!has_place(pattern, "pen") && is_taken(o, pattern))
                return err_set(why, ERR_EXIT_USAGE, "%s exists; -f replaces it", pattern);
        directory = directory_of(pattern);
        good = check_directory(directory, pattern, why);
        if (good && !can_write(directory))
                good = choose_directory(o, directory, "the recording goes", why);
        free(directory);
        return good;
}

bool output_prepare_reports(struct output *o, struct err *why)
{
        *o = (struct output){ .pattern = "" };
        return can_write(".") || choose_directory(o, ".", "reports go", why);
}

char *output_directory(const struct output *o, const char *path)
{
        return o->directory ? heap_text(o->directory) : directory_of(path);
}

void output_free(struct output *o)
{
        for (uint32_t i = 0; i < o->used_count; i++)
                free(o->used[i]);
        free(o->used);
        free(o->directory);
        *o = (struct output){ 0 };
}

/* ---- writing ---- */

void output_give_to_user(const char *path)
{
        const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

        if (geteuid() != 0 || !uid || !gid)
                return;
        if (lchown(path, (uid_t)strtoul(uid, NULL, 10), (gid_t)strtoul(gid, NULL, 10)) < 0)
                return; /* a file system without owners: readable all the same */
}

static bool write_to(const struct profile *p, const char *path, struct err *e)
{
        if (!file_write(p, path, e))
                return false;
        output_give_to_user(path);
        return true;
}

bool output_write(struct output *o, const struct profile *p, char **path, bool elsewhere, struct err *why)
{
        struct err later;

        if (write_to(p, *path, why))
                return true;
        for (int i = 0; elsewhere && i < OUTPUT_FALLBACKS; i++) {
                const char *directory = output_fallback(i);
                char *there;

                if (!directory || !*directory)
                        continue;
                there = reserve(o, moved(directory, *path));
                if (write_to(p, there, &later)) {
                        free(*path);
                        *path = there;
                        return true;
                }
                free(there);
        }
        return false;
}
