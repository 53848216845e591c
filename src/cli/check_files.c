/* SPDX-License-Identifier: MIT */
/*
 * check_files.c -- the files that `seep check` writes for other tools.
 *
 * Room:   outside, cli/ only.
 * Keeps:  each run of CI writes them anew, so what an earlier check wrote (told by how it begins) is replaced; any other file
 *         only with -f.  Refused before the program is run, not after.
 */
#include "cli/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "cli/deliver.h"
#include "cli/message.h"
#include "observe/output.h"
#include "profile/store.h"
#include "report/github.h"
#include "report/junit.h"
#include "report/sarif.h"
#include "report/valgrind_xml.h"

enum { CHECK_HEAD_BYTES = 256 };

/* Whether PATH, which is a file, is empty or begins with HEAD. */
static bool is_ours(const char *path, const char *head)
{
        char start[CHECK_HEAD_BYTES];
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t got = fd < 0 ? -1 : read(fd, start, sizeof start);

        if (fd >= 0)
                close(fd);
        return got == 0 || (got >= (ssize_t)strlen(head) && memcmp(start, head, strlen(head)) == 0);
}

/* A file is replaced by a new one in its folder, also where PATH is a link to it. */
static bool is_in_writable_folder(const char *path)
{
        char *real = realpath(path, NULL), *folder = real ? real : heap_text(path), *slash = strrchr(folder, '/');
        bool good;

        if (slash)
                slash[slash == folder] = 0;
        good = access(slash ? folder : ".", W_OK | X_OK) == 0;
        free(folder);
        return good;
}

static bool may_write(const struct check *c, const char *path, const char *head, struct err *e)
{
        struct stat st;

        if (!path)
                return true;
        if (c->force && !deliver_may_replace(path, e))
                return false;
        if (stat(path, &st) == 0) {
                if (S_ISDIR(st.st_mode))
                        return err_set(e, ERR_EXIT_USAGE, "cannot write %s: it is a directory", path);
                if (S_ISREG(st.st_mode) && !c->force && !is_ours(path, head))
                        return err_set(e, ERR_EXIT_USAGE, "%s exists already and is not from an earlier check: -f replaces it", path);
                return !S_ISREG(st.st_mode) || is_in_writable_folder(path) || err_sys(e, ERR_EXIT_USAGE, "cannot replace %s", path);
        }
        return (errno == ENOENT && *path && is_in_writable_folder(path)) || err_sys(e, ERR_EXIT_USAGE, "cannot write '%s'", path);
}

/* Two reports in one file: the first would be lost. */
static bool are_different(const struct check *c, struct err *e)
{
        const char *paths[CHECK_FILE_COUNT + 1] = { [CHECK_FILE_COUNT] = c->write_baseline };

        memcpy(paths, c->files, sizeof c->files);
        for (int i = 0; i <= CHECK_FILE_COUNT; i++)
                for (int k = 0; k < i; k++)
                        if (paths[i] && paths[k] && strcmp(paths[i], paths[k]) == 0 && strncmp(paths[i], "/dev/", 5) != 0)
                                return err_set(e, ERR_EXIT_USAGE, "two reports in one file, %s: give each its own", paths[i]);
        return true;
}

static bool write_file(const char *path, struct str *text, struct err *e)
{
        bool good = store_file(path, str_get(text), text->length, e);

        if (good)
                output_give_to_user(path);
        str_free(text);
        return good;
}

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

bool check_may_write(const struct check *c, struct err *e)
{
        bool good = are_different(c, e) && may_write(c, c->write_baseline, BASELINE_MARK, e);

        for (int i = 0; i < CHECK_FILE_COUNT && good; i++)
                good = may_write(c, c->files[i], check_forms[i].head, e);
        return good;
}

/* One that cannot be written does not keep the others from it; E has the first failure. */
static bool write_reports(const struct check *c, struct err *e)
{
        bool good = true;

        for (int i = 0; i < CHECK_FILE_COUNT; i++) {
                struct err later = { 0 };
                struct str text = { 0 };

                if (!c->files[i])
                        continue;
                check_forms[i].write(c, &text);
                good &= write_file(c->files[i], &text, good ? e : &later);
        }
        return good;
}

/* Not from a process that nobody searched: its leaks would be new ones next time. */
static bool write_baseline(const struct check *c, struct err *e)
{
        struct baseline found = { 0 };
        struct str text = { 0 };
        uint32_t places;
        bool good;

        if (!c->write_baseline)
                return true;
        for (uint32_t i = 0; i < c->findings.process_count; i++)
                if (c->findings.processes[i].unknown)
                        return err_set(e, c->error_status, "no baseline was written: %s (pid %u) was not searched for leaks",
                                       c->findings.processes[i].program, c->findings.processes[i].pid);
        baseline_take(&found, &c->findings);
        baseline_write(&found, &text);
        places = found.count;
        baseline_free(&found);
        good = write_file(c->write_baseline, &text, e);
        if (good && !c->quiet)
                message("%u %s written to %s", places, places == 1 ? "place" : "places", c->write_baseline);
        return good;
}

/* The page of the job has what other steps wrote, too. */
static bool append_summary(const struct check *c, struct err *e)
{
        const char *path = getenv("GITHUB_STEP_SUMMARY");
        struct str text = { 0 };
        bool good = true;
        int fd;

        if (!path || !*path)
                return true;
        github_summary(&c->findings, &text);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        good = fd >= 0 && io_write(fd, str_get(&text), text.length);
        if (!good)
                err_sys(e, ERR_EXIT_USAGE, "cannot append to %s, which GITHUB_STEP_SUMMARY names", path);
        if (fd >= 0)
                close(fd);
        str_free(&text);
        return good;
}

static bool is_for_github(const struct check *c)
{
        const char *actions = getenv("GITHUB_ACTIONS");

        return c->annotate == CHECK_ANNOTATE_GITHUB || (c->annotate == CHECK_ANNOTATE_AUTO && actions && strcmp(actions, "true") == 0);
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

bool check_write_files(const struct check *c, struct err *e)
{
        struct err later = { 0 };
        bool good = annotate(c, e);

        good &= write_reports(c, good ? e : &later);
        return write_baseline(c, good ? e : &later) && good;
}
