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
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/output.h"
#include "profile/store.h"

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

static bool may_write(const struct check *c, const char *path, const char *head, struct err *e)
{
        struct stat st;

        if (!path)
                return true;
        if (stat(path, &st) == 0) {
                if (!S_ISREG(st.st_mode) || c->force || is_ours(path, head))
                        return true;
                return err_set(e, ERR_EXIT_USAGE, "%s exists already and is not from an earlier check: -f replaces it", path);
        }
        return errno == ENOENT || err_sys(e, ERR_EXIT_USAGE, "cannot write %s", path);
}

static bool write_file(const char *path, struct str *text, struct err *e)
{
        bool good = store_file(path, str_get(text), text->length, e);

        if (good)
                output_give_to_user(path);
        str_free(text);
        return good;
}

bool check_may_write(const struct check *c, struct err *e)
{
        return may_write(c, c->write_baseline, BASELINE_HEAD, e);
}

/* Not from a process that nobody searched: its leaks would be new ones next time. */
static bool write_baseline(const struct check *c, struct err *e)
{
        struct baseline found = { 0 };
        struct str text = { 0 };

        if (!c->write_baseline)
                return true;
        for (uint32_t i = 0; i < c->findings.process_count; i++)
                if (c->findings.processes[i].unknown)
                        return err_set(e, c->error_status, "no baseline was written: %s (pid %u) was not searched for leaks",
                                       c->findings.processes[i].program, c->findings.processes[i].pid);
        baseline_take(&found, &c->findings);
        baseline_write(&found, &text);
        baseline_free(&found);
        return write_file(c->write_baseline, &text, e);
}

bool check_write_files(const struct check *c, struct err *e)
{
        return write_baseline(c, e);
}
