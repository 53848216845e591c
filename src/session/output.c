/* SPDX-License-Identifier: MIT */
#include "session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "profile/events_log.h"
#include "profile/file.h"

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

        if (!*name || *name == '.')
                str_char(to, '_');
        for (const char *c = name + (*name == '.'); *c && c - name < 100; c++)
                str_char(to, *c == '/' || (unsigned char)*c < ' ' || *c == 127 ? '_' : *c);
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

static struct output_claim *find_claim(const struct output *o, const char *path)
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

static bool open_claim(const struct output *o, const struct output_claim *c, struct place *out)
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

        if (open_claim(o, c, &p)) {
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
        struct output_claim *c = find_claim(o, path);

        if (c)
                c->made = true;
}

static void withdraw(const struct output *o, const struct output_claim *c)
{
        struct place p;

        if (c->made && open_claim(o, c, &p))
                place_withdraw(&p);
        if (c->made)
                place_close(&p);
}

/* PATH with the number FIRST (0: without one), or the next free name beside it;
 * from then on it is taken. */
static char *reserve(struct output *o, char *path, uint32_t first)
{
        char *name = first ? numbered(o, path, first) : heap_text(path);
        struct output_claim c = { 0 };

        for (uint32_t i = first ? first + 1 : 2;; i++) {
                if (!find_claim(o, name)) {
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

static char *moved(const char *directory, const char *path)
{
        struct str out = { 0 };

        str_format(&out, "%s/%s", directory, base_name(path));
        return out.data;
}

/* The name that a recording should have, taken or not. */
static char *wanted_name(const struct output *o, const char *program, uint32_t pid, uint32_t number,
                         bool is_main)
{
        struct str text = { 0 };
        char *path;

        expand(o->pattern, program, pid, number, &text);
        path = !is_main && !has_place(o->pattern, "pn") ? numbered(o, text.data, pid)
                                                        : with_middle(o, text.data, "");
        str_free(&text);
        if (o->directory) {
                char *there = moved(o->directory, path);

                free(path);
                path = there;
        }
        return path;
}

char *output_name(struct output *o, const char *program, uint32_t pid, uint32_t number,
                  bool is_main)
{
        return reserve(o, wanted_name(o, program, pid, number, is_main), 0);
}

static void release(struct output *o, const char *path)
{
        struct output_claim *c = find_claim(o, path);

        if (!c)
                return;
        free_claim(c);
        *c = o->used[--o->used_count];
}

/* The file of one claim gets the name of the other. */
static bool move(struct output *o, const char *from, const char *to)
{
        const struct output_claim *a = find_claim(o, from), *b = find_claim(o, to);

        if (a && b && a->folder >= 0 && b->folder >= 0 &&
            renameat(a->folder, a->name, b->folder, b->name) == 0)
                return true;
        if (b)
                withdraw(o, b);
        return errno == ENOENT; /* it had to be written elsewhere */
}

char *output_make_room(struct output *o, const char *program, uint32_t pid, uint32_t number,
                       const char *earlier)
{
        char *wanted = wanted_name(o, program, pid, number, true), *there = NULL;

        if (strcmp(wanted, earlier) == 0) {
                there = reserve(o, heap_text(wanted), 1);
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

bool output_prepare_reports(struct output *o, struct err *why)
{
        *o = (struct output){ .pattern = "", .named = PLACE_NONE };
        if (!can_write(o, ".") && !choose_directory(o, ".", "reports go", why))
                return false;
        look_at_folder(o, output_folder(o, ""));
        return true;
}

char *output_directory(const struct output *o, const char *path)
{
        return o->directory ? heap_text(o->directory) : directory_of(path);
}

int output_folder(struct output *o, const char *path)
{
        const struct output_claim *c = find_claim(o, path);
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
        *o = (struct output){ 0 };
}

/* ---- writing ---- */

/* A log gets the first free number: where so many are free, no more are there. */
#define OUTPUT_LOG_GAP 4u

/* The recording C was replaced: what is left of logs of earlier ones, whose observers
 * were killed, goes with it. */
static void remove_logs(const struct output_claim *c)
{
        uint32_t free_names = 0;

        for (uint32_t try = 1; try <= EVENTS_LOG_TRIES && free_names < OUTPUT_LOG_GAP; try++) {
                char *name = events_log_name(c->path, try);
                int fd = openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                struct place p = PLACE_NONE;

                if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                    place_at(&p, c->folder, name, PLACE_OURS)) {
                        p.owner = c->owner;
                        if (place_check(&p))
                                unlinkat(c->folder, name, 0);
                }
                place_close(&p);
                free_names = fd < 0 ? free_names + 1 : 0;
                if (fd >= 0)
                        close(fd);
                free(name);
        }
}

/* TAKEN: somebody has put something else there since the name was given. */
static bool write_to(struct output *o, const struct profile *p, const char *path, bool *taken,
                     struct err *e)
{
        struct output_claim *c = find_claim(o, path);
        struct place to;
        bool good;

        if (c && open_claim(o, c, &to))
                good = file_write_at(p, &to, e);
        else
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot create %s", path);
        *taken = c && !good && !place_check(&to) && errno == EEXIST;
        if (good)
                c->made = true;
        if (good && o->force)
                remove_logs(c);
        if (c)
                place_close(&to);
        return good;
}

/* In DIRECTORY (NULL: the same one, under another name). */
static bool write_elsewhere(struct output *o, const struct profile *p, char **path,
                            const char *directory)
{
        char *there = reserve(o, directory ? moved(directory, *path) : heap_text(*path), 0);
        struct err later;
        bool taken, good = write_to(o, p, there, &taken, &later);

        if (!good)
                withdraw(o, find_claim(o, there));
        if (good) {
                free(*path);
                *path = heap_text(there);
        }
        free(there);
        return good;
}

bool output_write(struct output *o, const struct profile *p, char **path, bool elsewhere,
                  struct err *why)
{
        const struct output_claim *c = find_claim(o, *path);
        bool taken, good = write_to(o, p, *path, &taken, why);

        if (good || !elsewhere)
                return good;
        if (c)
                withdraw(o, c);
        good = taken && write_elsewhere(o, p, path, NULL);
        for (int i = 0; !good && i < OUTPUT_FALLBACKS; i++) {
                const char *directory = output_fallback(i);

                good = directory && *directory && write_elsewhere(o, p, path, directory);
        }
        return good;
}

static bool copy_bytes(int from, int to)
{
        static char bytes[1 << 16];
        ssize_t got;

        for (off_t at = 0; (got = pread(from, bytes, sizeof bytes, at)) != 0; at += got)
                if (got < 0 || !io_write(to, bytes, (size_t)got))
                        return false;
        return true;
}

bool output_copy(struct output *o, int from, const char *path, struct err *e)
{
        struct output_claim *c = find_claim(o, path);
        struct place to = PLACE_NONE;
        bool good = c && open_claim(o, c, &to) && place_begin(&to) >= 0 &&
                    copy_bytes(from, to.fd) && place_end(&to);

        if (good)
                c->made = true;
        else
                place_refuse(path, ERR_EXIT_FINDINGS, e);
        place_close(&to);
        return good;
}
