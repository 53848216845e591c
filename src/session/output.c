/* SPDX-License-Identifier: MIT */
#include "session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/plain.h"
#include "base/str.h"
#include "profile/events_log.h"
#include "session/children.h"
#include "session/output_parts.h"

#define OUTPUT_SUFFIX ".seep"
#define OUTPUT_PID_MOST (1u << 22) /* the kernel gives no larger ones */

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
        struct str part = { 0 };

        if (!*name || *name == '.')
                str_char(&part, '_');
        for (const char *c = name + (*name == '.'); *c && c - name < 100; c++)
                str_char(&part, *c == '/' || (unsigned char)*c < ' ' || *c == 127 ? '_' : *c);
        plain_name(part.data);
        str_text(to, str_get(&part));
        str_free(&part);
}

/* Bytes that a name may have. */
static size_t output_room(const struct output *o)
{
        return o->name_room ? o->name_room : NAME_MAX;
}

static bool has_place(const char *pattern, const char *letters)
{
        for (const char *c = pattern; *c; c++)
                if (*c == '%' && c[1] && strchr(letters, *++c))
                        return true;
        return false;
}

static void expand(const char *pattern, const char *program, uint32_t pid, uint32_t number,
                   struct str *out)
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

/* PATH with MIDDLE in front of its suffix; a name that would become too long loses the
 * end of what is before that. */
static char *with_middle(const struct output *o, const char *path, const char *middle)
{
        const char *name = base_name(path), *suffix = "";
        size_t length = strlen(name), most = output_room(o) - strlen(middle);
        struct str out = { 0 };

        if (length > strlen(OUTPUT_SUFFIX) &&
            strcmp(name + length - strlen(OUTPUT_SUFFIX), OUTPUT_SUFFIX) == 0)
                suffix = OUTPUT_SUFFIX;
        length -= strlen(suffix);
        most -= strlen(suffix);
        str_format(&out, "%.*s%.*s%s%s", (int)(name - path), path,
                   (int)(length < most ? length : most), name, middle, suffix);
        return out.data;
}

/* PATH with ".NUMBER" in front of its suffix. */
static char *numbered(const struct output *o, const char *path, uint32_t number)
{
        char middle[16];

        snprintf(middle, sizeof middle, ".%u", number);
        return with_middle(o, path, middle);
}

/* ---- claims ---- */

struct output_claim *output_find_claim(const struct output *o, const char *path)
{
        for (uint32_t i = 0; i < o->used_count; i++)
                if (strcmp(o->used[i].path, path) == 0)
                        return &o->used[i];
        return NULL;
}

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

/* DIRECTORY is looked up when it is needed first, and never again. */
static int hold_folder(struct output *o, const char *directory)
{
        int fd;

        for (uint32_t i = 0; i < o->folder_count; i++)
                if (strcmp(o->folders[i].path, directory) == 0)
                        return o->folders[i].fd;
        fd = place_folder(directory);
        if (fd < 0)
                return -1;
        o->folders = heap_grow(o->folders, o->folder_count + 1, sizeof *o->folders);
        o->folders[o->folder_count++] = (struct output_folder){ heap_text(directory), fd };
        return fd;
}

static struct output_claim make_claim(struct output *o, const char *path)
{
        bool named = o->has_named && strcmp(path, o->pattern) == 0;
        char *directory = directory_of(path);
        struct output_claim c = {
                .path = heap_text(path),
                .name = heap_text(named ? o->named.name : base_name(path)),
                .folder = named ? o->named.directory : hold_folder(o, directory),
                .owner = named ? o->named.owner : (uid_t)-1,
        };

        free(directory);
        return c;
}

static void free_claim(struct output_claim *c)
{
        free(c->path);
        free(c->name);
}

bool output_open_claim(const struct output *o, const struct output_claim *c, struct place *out)
{
        bool good = place_at(out, c->folder, c->name, c->made || o->force ? PLACE_OURS : PLACE_NEW);

        out->owner = c->owner;
        out->give = true;
        free(out->path);
        out->path = heap_text(c->path);
        return good;
}

/* The name is free, or with -f has a file that may be replaced.  What else is wrong with the place
 * shows when the recording is written; so does that somebody has taken the name meanwhile, unless
 * an empty file of ours holds it. */
static bool take(const struct output *o, struct output_claim *c)
{
        struct place p;
        bool good = true;

        if (output_open_claim(o, c, &p)) {
                good = place_check(&p) || (errno != EEXIST && errno != EISDIR);
                c->made = good && o->claim && place_claim(&p);
                good = good && (c->made || !o->claim || errno != EEXIST);
                c->owner = p.owner;
        }
        place_close(&p);
        return good;
}

void output_written(struct output *o, const char *path)
{
        struct output_claim *c = output_find_claim(o, path);

        if (c)
                c->made = true;
}

void output_withdraw(const struct output *o, const struct output_claim *c)
{
        struct place p;

        if (c->made && output_open_claim(o, c, &p))
                place_withdraw(&p);
        if (c->made)
                place_close(&p);
}

char *output_reserve(struct output *o, char *path, uint32_t first)
{
        char *name = first ? numbered(o, path, first) : heap_text(path);
        struct output_claim c = { 0 };

        for (uint32_t i = first ? first + 1 : 2;; i++) {
                if (!output_find_claim(o, name)) {
                        c = make_claim(o, name);
                        if (take(o, &c))
                                break;
                        free_claim(&c);
                }
                free(name);
                name = numbered(o, path, i);
        }
        o->used = heap_grow(o->used, o->used_count + 1, sizeof *o->used);
        o->used[o->used_count++] = c;
        free(path);
        return name;
}

char *output_moved(const char *directory, const char *path)
{
        struct str out = { 0 };

        str_format(&out, "%s/%s", directory, base_name(path));
        return out.data;
}

/* The folder of the others, held open; NULL: it cannot be had.  The caller's to free(). */
static char *children_folder(struct output *o)
{
        char *path, *directory;
        struct str name = { 0 };
        int fd, parent;

        if (!o->together || !o->main)
                return NULL;
        str_format(&name, "%s" CHILDREN_SUFFIX, o->main);
        path = name.data;
        if (o->has_children)
                return path;
        directory = directory_of(path);
        parent = hold_folder(o, directory);
        fd = parent >= 0 ? children_open(parent, base_name(path)) : -1;
        o->together = o->has_children = fd >= 0; /* else beside the main one, by number */
        free(directory);
        if (fd < 0) {
                free(path);
                return NULL;
        }
        o->folders = heap_grow(o->folders, o->folder_count + 1, sizeof *o->folders);
        o->folders[o->folder_count++] = (struct output_folder){ heap_text(path), fd };
        return path;
}

/* In that folder, or NULL. */
static char *name_in_folder(struct output *o, const char *program, uint32_t pid)
{
        char *folder = children_folder(o);
        struct str path = { 0 };

        if (!folder)
                return NULL;
        str_format(&path, "%s/", folder);
        output_add_program(&path, program);
        str_format(&path, ".%u" OUTPUT_SUFFIX, pid);
        free(folder);
        return path.data;
}

/* The name that a recording should have, taken or not. */
static char *wanted_name(struct output *o, const char *program, uint32_t pid, uint32_t number,
                         bool is_main)
{
        struct str text = { 0 };
        char *path = is_main ? NULL : name_in_folder(o, program, pid);

        if (path)
                return path;
        expand(o->pattern, program, pid, number, &text);
        path = !is_main && !has_place(o->pattern, "pn") ? numbered(o, text.data, pid)
                                                        : with_middle(o, text.data, "");
        str_free(&text);
        if (o->directory) {
                char *there = output_moved(o->directory, path);

                free(path);
                path = there;
        }
        return path;
}

char *output_name(struct output *o, const char *program, uint32_t pid, uint32_t number,
                  bool is_main)
{
        char *path = output_reserve(o, wanted_name(o, program, pid, number, is_main), 0);

        if (is_main && o->together && !o->main)
                o->main = heap_text(path);
        return path;
}

void output_set_main(struct output *o, const char *program, uint32_t pid)
{
        if (o->together && !o->main)
                o->main = wanted_name(o, program, pid, 1, true);
}

static void release(struct output *o, const char *path)
{
        struct output_claim *c = output_find_claim(o, path);

        if (!c)
                return;
        free_claim(c);
        *c = o->used[--o->used_count];
}

/* The file of one claim gets the name of the other. */
static bool move(struct output *o, const char *from, const char *to)
{
        struct output_claim *a = output_find_claim(o, from), *b = output_find_claim(o, to);

        if (a && b && a->folder >= 0 && b->folder >= 0 &&
            renameat(a->folder, a->name, b->folder, b->name) == 0) {
                b->made = true;
                return true;
        }
        if (b)
                output_withdraw(o, b);
        return errno == ENOENT; /* it had to be written elsewhere */
}

char *output_make_room(struct output *o, const char *program, uint32_t pid, uint32_t number,
                       const char *before, const char *earlier)
{
        char *wanted = wanted_name(o, program, pid, number, true), *there = NULL, *in_folder;

        if (strcmp(wanted, earlier) == 0) {
                in_folder = name_in_folder(o, before, pid);
                there = in_folder ? output_reserve(o, in_folder, 0)
                                  : output_reserve(o, heap_text(wanted), 1);
                if (move(o, wanted, there)) {
                        release(o, wanted);
                } else {
                        release(o, there);
                        free(there);
                        there = NULL;
                }
        }
        free(wanted);
        return there;
}

void output_remove(struct output *o, const char *path)
{
        const struct output_claim *c = output_find_claim(o, path);

        if (c && c->made && c->folder >= 0)
                unlinkat(c->folder, c->name, 0);
}

char *output_settle(struct output *o)
{
        char *folder = o->has_children ? children_folder(o) : NULL, *directory;
        int parent;

        if (!folder)
                return NULL;
        directory = directory_of(folder);
        parent = hold_folder(o, directory);
        free(directory);
        children_tidy(parent, base_name(folder));
        if (children_are_there(parent, base_name(folder)))
                return folder;
        free(folder);
        return NULL;
}

/* The kernel stamps files with the time of its last tick; the clock is finer, so that this
 * is later than all of them. */
void output_make_newest(const char *path)
{
        struct timespec times[2];

        clock_gettime(CLOCK_REALTIME, &times[0]);
        times[1] = times[0];
        if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0)
                return; /* someone took it away already */
}

/* ---- places ---- */

/* Whether a file can be made and filled there. */
static bool can_write(struct output *o, const char *directory)
{
        int folder = hold_folder(o, directory);

        return folder >= 0 && place_takes_files(folder);
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
static bool choose_directory(struct output *o, const char *wanted, const char *what,
                             struct err *why)
{
        const char *limit = errno == EFBIG ? "; the size of files is limited (ulimit -f)" : "";

        err_sys(why, ERR_EXIT_CANNOT_TRACE, "cannot write to %s",
                strcmp(wanted, ".") == 0 ? "the current directory" : wanted);
        for (int i = 0; i < OUTPUT_FALLBACKS; i++) {
                const char *directory = output_fallback(i);
                size_t used = strlen(why->text);

                if (!directory || !*directory || !can_write(o, directory))
                        continue;
                o->directory = heap_text(directory);
                snprintf(why->text + used, sizeof why->text - used, "; %s to %s", what, directory);
                return true;
        }
        snprintf(why->text + strlen(why->text), sizeof why->text - strlen(why->text), "%s", limit);
        return err_context(why, "nowhere to write the recording");
}

/* What the user cannot have meant; FIXED: the pattern is the name. */
static bool check_pattern(const char *pattern, bool fixed, struct err *why)
{
        struct stat st;
        bool there = fixed && stat(pattern, &st) == 0;

        if (!*base_name(pattern) || pattern[strlen(pattern) - 1] == '/')
                return err_set(why, ERR_EXIT_USAGE, "-o '%s' is not a file name", pattern);
        if (there && S_ISDIR(st.st_mode))
                return err_set(why, ERR_EXIT_USAGE,
                               "-o %s is a directory; name a file in it: -o %s/%s", pattern,
                               pattern, OUTPUT_DEFAULT);
        if (strcmp(pattern, "-") == 0 || (there && !S_ISREG(st.st_mode)))
                return err_set(why, ERR_EXIT_USAGE,
                               "-o %s: a recording cannot be written to a terminal, pipe or "
                               "device; name a file", pattern);
        return true;
}

/* A directory that is not there was mistyped; one that is full or forbidden is no reason not to
 * record. */
static bool check_directory(const char *directory, const char *pattern, struct err *why)
{
        struct stat st;
        bool there = stat(directory, &st) == 0;

        if (!there && errno == ENAMETOOLONG)
                return err_sys(why, ERR_EXIT_USAGE, "-o %.60s...", pattern);
        if (strchr(directory, '%') ||
            (there ? S_ISDIR(st.st_mode) : errno != ENOENT && errno != ENOTDIR))
                return true;
        return err_set(why, ERR_EXIT_USAGE, "-o %s: there is no directory %s", pattern, directory);
}

static void look_at_folder(struct output *o, int folder)
{
        long room = fpathconf(folder, _PC_NAME_MAX);

        o->name_room = room > 0 ? (size_t)room : NAME_MAX;
        o->exposed = place_is_exposed(folder);
}

/* A link in the place of the file is followed now, and never again. */
static bool look_up(struct output *o, struct err *why)
{
        struct stat st;

        if (!o->force && lstat(o->pattern, &st) == 0)
                return err_set(why, ERR_EXIT_USAGE, "%s exists; -f replaces it", o->pattern);
        o->has_named = place_open(&o->named, o->pattern, PLACE_NAMED);
        if (!o->has_named && errno == ELOOP)
                return place_refuse(o->pattern, ERR_EXIT_USAGE, why);
        return true;
}

bool output_check_length(struct output *o, const char *program, bool log, struct err *why)
{
        struct str path = { 0 };
        size_t length, beside;
        char *side;

        expand(o->pattern, program, OUTPUT_PID_MOST, 1, &path);
        side = events_log_name(path.data, 1);
        length = strlen(base_name(path.data));
        beside = strlen(side);
        free(side);
        str_free(&path);
        if ((log ? beside : length) <= output_room(o))
                return true;
        if (length > output_room(o))
                return err_set(why, ERR_EXIT_USAGE,
                               "-o %.40s...: the name has %zu bytes, and the directory takes at "
                               "most %zu; give a shorter one", base_name(o->pattern), length,
                               output_room(o));
        return err_set(why, ERR_EXIT_USAGE,
                       "-o %.40s...: the name has %zu bytes, and that of the event log beside it "
                       "%zu; the directory takes at most %zu: give a shorter one",
                       base_name(o->pattern), length, beside, output_room(o));
}

bool output_prepare(struct output *o, const char *pattern, bool force, struct err *why)
{
        bool fixed = !has_place(pattern, "pen"), good;
        char *directory;

        *o = (struct output){ .pattern = pattern, .force = force, .named = PLACE_NONE };
        if (!check_pattern(pattern, fixed, why) || (fixed && !look_up(o, why)))
                return false;
        directory = directory_of(pattern);
        good = check_directory(directory, pattern, why);
        if (good &&
            !(o->has_named ? place_takes_files(o->named.directory) : can_write(o, directory))) {
                o->has_named = false;
                good = choose_directory(o, directory, "the recording goes", why);
        }
        if (good)
                look_at_folder(o, output_folder(o, pattern));
        free(directory);
        return good;
}

bool output_gather(struct output *o, bool given, struct err *why)
{
        bool fixed = !has_place(o->pattern, "pen"), good = true;
        char *path, *directory;
        struct str name = { 0 };
        int parent;

        o->together = !given || !has_place(o->pattern, "pn");
        if (!o->together || !fixed)
                return true;
        path = wanted_name(o, "", 0, 1, true);
        directory = directory_of(path);
        parent = hold_folder(o, directory);
        str_format(&name, "%s" CHILDREN_SUFFIX, base_name(path));
        if (parent >= 0 && o->force)
                children_clear(parent, name.data);
        else if (parent >= 0 && children_are_there(parent, name.data))
                good = err_set(why, ERR_EXIT_USAGE,
                               "%s" CHILDREN_SUFFIX " has recordings of an earlier run; -f removes "
                               "them", path);
        str_free(&name);
        free(directory);
        free(path);
        return good;
}

bool output_prepare_reports(struct output *o, struct err *why)
{
        int folder;

        *o = (struct output){ .pattern = "", .named = PLACE_NONE };
        folder = hold_folder(o, ".");
        if ((folder < 0 || !place_lets_in(folder)) &&
            !choose_directory(o, ".", "reports go", why))
                return false;
        look_at_folder(o, output_folder(o, ""));
        return true;
}

const char *output_beside(const struct output *o, const char *path)
{
        return o->together && o->main ? o->main : path;
}

char *output_directory(const struct output *o, const char *path)
{
        return o->directory ? heap_text(o->directory) : directory_of(path);
}

int output_folder(struct output *o, const char *path)
{
        const struct output_claim *c = output_find_claim(o, path);
        char *directory;
        int folder;

        if (c)
                return c->folder;
        if (o->has_named && strcmp(path, o->pattern) == 0)
                return o->named.directory;
        directory = output_directory(o, path);
        folder = hold_folder(o, directory);
        free(directory);
        return folder;
}

void output_free(struct output *o)
{
        for (uint32_t i = 0; i < o->used_count; i++)
                free_claim(&o->used[i]);
        for (uint32_t i = 0; i < o->folder_count; i++) {
                close(o->folders[i].fd);
                free(o->folders[i].path);
        }
        if (o->pattern)
                place_close(&o->named);
        free(o->folders);
        free(o->used);
        free(o->directory);
        free(o->main);
        *o = (struct output){ 0 };
}
