/* SPDX-License-Identifier: MIT */
/*
 * check_files.c -- the files that `seep check` writes for other tools.
 *
 * Keeps:  each run of CI writes them anew, so what an earlier check wrote (told by how it begins)
 *         is replaced; any other file only with -f.  Refused before the program is run, not after.
 */
#include "cli/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/deliver.h"
#include "cli/message.h"
#include "export/ci.h"
#include "profile/store.h"

enum { CHECK_HEAD_BYTES = 256 };

static void write_sarif(const struct check *c, struct str *out)
{
        sarif_write(&c->findings, &c->root, out);
}

static void write_junit(const struct check *c, struct str *out)
{
        junit_write(&c->findings, out);
}

static void write_valgrind_xml(const struct check *c, struct str *out)
{
        valgrind_xml_write(&c->findings, out);
}

static const struct {
        const char *head; /* how such a file begins */
        void (*write)(const struct check *c, struct str *out);
} check_forms[CHECK_FILE_COUNT] = {
        [CHECK_FILE_SARIF] = { SARIF_HEAD, write_sarif },
        [CHECK_FILE_JUNIT] = { JUNIT_HEAD, write_junit },
        [CHECK_FILE_VALGRIND_XML] = { VALGRIND_XML_HEAD, write_valgrind_xml },
};

/* Whether the file at P is empty or begins with HEAD. */
static bool is_ours(const struct place *p, const char *head)
{
        char start[CHECK_HEAD_BYTES];
        int fd = openat(p->directory, p->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        ssize_t got = fd < 0 ? -1 : read(fd, start, sizeof start);

        if (fd >= 0)
                close(fd);
        return got == 0 || (got >= (ssize_t)strlen(head) && memcmp(start, head, strlen(head)) == 0);
}

/* Report WHICH, or (CHECK_FILE_COUNT) the baseline. */
static bool may_write(struct check *c, int which, struct err *e)
{
        const char *path = which < CHECK_FILE_COUNT ? c->files[which] : c->write_baseline;
        const char *head = which < CHECK_FILE_COUNT ? check_forms[which].head : BASELINE_MARK;
        struct place *p = &c->places[which];
        struct stat st;

        if (!path)
                return true;
        if (c->force && !deliver_may_replace(path, e))
                return false;
        if (!place_open(p, path, PLACE_NAMED))
                return errno == EISDIR || errno == ELOOP
                               ? place_refuse(path, ERR_EXIT_USAGE, e)
                               : err_sys(e, ERR_EXIT_USAGE, "cannot write '%s'", path);
        p->give = true;
        if (p->device >= 0)
                return true;
        if (fstatat(p->directory, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                if (!c->force && !is_ours(p, head))
                        return err_set(e, ERR_EXIT_USAGE,
                                       "%s exists already and is not from an earlier check: -f "
                                       "replaces it", path);
                return faccessat(p->directory, ".", W_OK | X_OK, 0) == 0 ||
                       err_sys(e, ERR_EXIT_USAGE, "cannot replace %s", path);
        }
        return faccessat(p->directory, ".", W_OK | X_OK, 0) == 0 ||
               err_sys(e, ERR_EXIT_USAGE, "cannot write '%s'", path);
}

/* Two reports in one file: the first would be lost. */
static bool are_different(const struct check *c, struct err *e)
{
        const char *paths[CHECK_FILE_COUNT + 1] = { [CHECK_FILE_COUNT] = c->write_baseline };

        memcpy(paths, c->files, sizeof c->files);
        for (int i = 0; i <= CHECK_FILE_COUNT; i++)
                for (int k = 0; k < i; k++)
                        if (paths[i] && paths[k] && strcmp(paths[i], paths[k]) == 0 &&
                            strncmp(paths[i], "/dev/", 5) != 0)
                                return err_set(e, ERR_EXIT_USAGE,
                                               "two reports go to one file, %s: give each its own",
                                               paths[i]);
        return true;
}

static bool write_file(struct place *to, struct str *text, struct err *e)
{
        bool good = store_at(to,
                             &(struct store_part){ .bytes = str_get(text), .count = text->length },
                             1, e);

        str_free(text);
        return good;
}

bool check_may_write(struct check *c, struct err *e)
{
        bool good = are_different(c, e);

        for (int i = 0; i <= CHECK_FILE_COUNT; i++)
                c->places[i] = PLACE_NONE;
        c->looked_up = true;
        for (int i = CHECK_FILE_COUNT; i >= 0 && good; i--)
                good = may_write(c, i, e);
        for (int i = 0; i <= CHECK_FILE_COUNT && good && !c->quiet; i++)
                deliver_warn(&c->places[i]);
        return good;
}

void check_drop_files(struct check *c)
{
        for (int i = 0; c->looked_up && i <= CHECK_FILE_COUNT; i++)
                place_close(&c->places[i]);
        c->looked_up = false;
}

/* One that cannot be written does not keep the others from it; E has the first failure. */
static bool write_reports(struct check *c, struct err *e)
{
        bool good = true;

        for (int i = 0; i < CHECK_FILE_COUNT; i++) {
                struct err later = { 0 };
                struct str text = { 0 };

                if (!c->files[i])
                        continue;
                check_forms[i].write(c, &text);
                good &= write_file(&c->places[i], &text, good ? e : &later);
        }
        return good;
}

/* Not from a process that nobody searched: its leaks would be new ones next time. */
static bool write_baseline(struct check *c, struct err *e)
{
        struct baseline found = { 0 };
        struct str text = { 0 };
        uint32_t places;
        bool good;

        if (!c->write_baseline)
                return true;
        for (uint32_t i = 0; i < c->findings.process_count; i++)
                if (c->findings.processes[i].unknown)
                        return err_set(e, c->error_status,
                                       "no baseline was written: %s (pid %u) was not searched for "
                                       "leaks", c->findings.processes[i].program,
                                       c->findings.processes[i].pid);
        baseline_take(&found, &c->findings);
        baseline_write(&found, &text);
        places = found.count;
        baseline_free(&found);
        good = write_file(&c->places[CHECK_FILE_COUNT], &text, e);
        if (good && !c->quiet)
                message("%u %s written to %s", places, places == 1 ? "place" : "places",
                        c->write_baseline);
        return good;
}

/* The page of the job has what other steps wrote, too.  Its path is one that the user wrote. */
static bool append_summary(const struct check *c, struct err *e)
{
        const char *path = getenv("GITHUB_STEP_SUMMARY");
        struct place place = PLACE_NONE;
        struct str text = { 0 };
        bool good;
        int fd;

        if (!path || !*path)
                return true;
        github_summary(&c->findings, &text);
        fd = place_open(&place, path, PLACE_NAMED) ? place_append(&place) : -1;
        good = fd >= 0 && io_write(fd, str_get(&text), text.length);
        if (fd < 0 && errno == ELOOP)
                place_refuse(path, ERR_EXIT_USAGE, e);
        else if (!good)
                err_sys(e, ERR_EXIT_USAGE, "cannot append to %s, which GITHUB_STEP_SUMMARY names",
                        path);
        if (fd >= 0)
                close(fd);
        place_close(&place);
        str_free(&text);
        return good;
}

static bool is_for_github(const struct check *c)
{
        const char *actions = getenv("GITHUB_ACTIONS");

        return c->annotate == CHECK_ANNOTATE_GITHUB ||
               (c->annotate == CHECK_ANNOTATE_AUTO && actions && strcmp(actions, "true") == 0);
}

/* With --json stdout is for that; workflow commands are found on stderr as well. */
static bool annotate(const struct check *c, struct err *e)
{
        struct str text = { 0 };

        if (!is_for_github(c))
                return true;
        github_annotations(&c->findings, &text);
        io_write(c->json ? STDERR_FILENO : STDOUT_FILENO, str_get(&text), text.length);
        str_free(&text);
        return append_summary(c, e);
}

bool check_write_files(struct check *c, struct err *e)
{
        struct err later = { 0 };
        bool good = annotate(c, e);

        good &= write_reports(c, good ? e : &later);
        return write_baseline(c, good ? e : &later) && good;
}
