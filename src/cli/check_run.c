/* SPDX-License-Identifier: MIT */
/*
 * check_run.c -- where `seep check` gets recordings from: files, or a program that it runs.
 *
 * Keeps:  without -o the recordings of a program are in a folder of their own below $TMPDIR or
 *         /tmp, of which nothing is left but the recordings of processes that broke a budget or
 *         were not seen as a whole.
 */
#include "cli/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/load.h"
#include "cli/folder.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "cli/run.h"
#include "profile/file.h"
#include "profile/packed.h"
#include "wire/hello.h"

/* ---- a folder for the recordings that `seep check` makes and nobody asked for ----
 *
 * Keeps:  the folder of a check that was killed is removed when the next one begins; that of one
 *         that ended keeps what broke a budget.
 */

struct check_place {
        char *directory;
        int mark;           /* a file in it, locked as long as we live */
        struct str pattern; /* for record -o */
};

#define PLACE_PREFIX "seep-check-"
#define PLACE_MARK ".running" /* gone when a check has ended, also where recordings are kept */

static const char *above(void)
{
        const char *tmp = getenv("TMPDIR");

        return tmp && *tmp && access(tmp, W_OK | X_OK) == 0 ? tmp : "/tmp";
}

/* ---- of those who were killed ---- */

static bool is_ours(int folder)
{
        struct stat st;

        return fstat(folder, &st) == 0 && st.st_uid == geteuid();
}

/* The kernel took the lock from whoever died. */
static bool is_dead(int folder)
{
        int mark = is_ours(folder) ? openat(folder, PLACE_MARK,
                                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                                   : -1;
        bool dead = mark >= 0 && flock(mark, LOCK_EX | LOCK_NB) == 0;

        if (mark >= 0)
                close(mark);
        return dead;
}

/* The mark goes last: should we be killed here, the next one goes on. */
static void remove_if_dead(int place, const char *name)
{
        int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *files = folder >= 0 ? fdopendir(folder) : NULL;
        struct dirent *d;

        if (files && is_dead(folder)) {
                while ((d = readdir(files)))
                        if (strcmp(d->d_name, PLACE_MARK) != 0)
                                /* Not "." and "..", which are directories. */
                                unlinkat(folder, d->d_name, 0);
                unlinkat(folder, PLACE_MARK, 0);
                unlinkat(place, name, AT_REMOVEDIR);
        }
        if (files)
                closedir(files);
        else if (folder >= 0)
                close(folder);
}

static void remove_dead(void)
{
        DIR *all = opendir(above());
        struct dirent *d;

        while (all && (d = readdir(all)))
                if (strncmp(d->d_name, PLACE_PREFIX, strlen(PLACE_PREFIX)) == 0)
                        remove_if_dead(dirfd(all), d->d_name);
        if (all)
                closedir(all);
}

/* ---- our own ---- */

/* Made under another name, so that nobody finds it without its lock. */
static int lock_mark(const char *directory)
{
        struct str half = { 0 }, mark = { 0 };
        int fd;

        str_format(&half, "%s/.half", directory);
        str_format(&mark, "%s/" PLACE_MARK, directory);
        fd = open(half.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(half.data, mark.data) != 0)) {
                unlink(half.data); /* it works without */
                close(fd);
                fd = -1;
        }
        str_free(&half);
        str_free(&mark);
        return fd;
}

/* Make one below $TMPDIR or /tmp.  false: E. */
static bool check_place_make(struct check_place *p, struct err *e)
{
        struct str path = { 0 };

        *p = (struct check_place){ .mark = -1 };
        remove_dead();
        str_format(&path, "%s/" PLACE_PREFIX "XXXXXX", above());
        if (!mkdtemp(path.data)) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE,
                        "cannot make a folder for the recordings (-o FILE chooses another place): "
                        "%s", path.data);
                str_free(&path);
                return false;
        }
        p->mark = lock_mark(path.data);
        for (const char *c = path.data; *c; c++)
                str_text(&p->pattern, *c == '%' ? "%%" : (char[]){ *c, 0 });
        str_text(&p->pattern, "/%e.%p.seep");
        p->directory = path.data;
        return true;
}

/* Remove the files for which KEEP says no, and the folder when it is empty then. */
static void check_place_clear(const struct check_place *p,
                              bool (*keep)(const void *context, const char *path),
                              const void *context)
{
        DIR *directory = opendir(p->directory);
        struct dirent *d;

        while (directory && (d = readdir(directory))) {
                struct str path = { 0 };

                str_format(&path, "%s/%s", p->directory, d->d_name);
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
                    !keep(context, path.data))
                        unlink(path.data);
                str_free(&path);
        }
        if (directory)
                closedir(directory);
        rmdir(p->directory); /* unless something is kept */
}

static void check_place_free(struct check_place *p)
{
        if (p->mark >= 0)
                close(p->mark);
        str_free(&p->pattern);
        free(p->directory);
        *p = (struct check_place){ .mark = -1 };
}

/* ---- where the recordings come from that `seep check` judges: files, or a program that it runs
 * ---- */

enum { CHECK_KEPT_LISTED = 5 };

/* ---- one recording ---- */

static bool judge(struct check *c, struct findings *f, const struct findings_request *r,
                  const struct profile *p, const char *path, struct err *e)
{
        struct wrappers usual = { 0 };
        struct findings_recording recording = { .profile = p,
                                                .symbols = symbols_new(p, &c->names.options),
                                                .path = path, .wrappers = &usual,
                                                .running = c->running };
        struct fold *fold = fold_new(p, recording.symbols, &usual);
        struct str trouble = { 0 };
        uint32_t broken = budgets_broken(f);
        bool good;

        recording.fold = fold;
        good = findings_add(f, r, &recording, &trouble, e);

        if (trouble.length && !c->quiet)
                message("%s", str_get(&trouble));
        if (good && !c->quiet && !c->hinted && budgets_broken(f) > broken) {
                names_hint(recording.symbols, p);
                c->hinted = true;
        }
        str_free(&trouble);
        fold_free(fold);
        wrappers_free(&usual);
        symbols_free(recording.symbols);
        return good;
}

/* Judge one recording; process filters apply.  A child that was forked and BECAME another program
 * is judged as that one: until then it has what its parent has, which is judged as the parent's. */
static bool judge_file(struct check *c, const char *path, bool became, struct err *e)
{
        struct findings_request request = { .budgets = &c->budgets,
                                            .baseline = c->baseline_file ? &c->baseline : NULL,
                                            .accept = c->write_baseline != NULL,
                                            .allow_unseen = c->allow_unseen,
                                            .suppressions = c->suppressions,
                                            .suppression_count = c->suppression_count,
                                            .root = &c->root };
        struct load_source source;
        struct profile p = { 0 };
        bool good = load_open(&source, path, LOAD_SEARCHED | LOAD_QUIET, e) &&
                    file_take(&p, source.path, PACKED_LEAST, e);

        c->running = source.pid != 0;
        if (good && !(became && p.totals.forked) &&
            (!c->processes.count || expressions_match(&c->processes, p.meta.program)))
                good = judge(c, &c->findings, &request, &p, path, e);
        load_close(&source);
        profile_free(&p);
        return good;
}

/* ---- the baseline ---- */

/* What a recording has, whatever the budgets are. */
static bool take_recording(struct check *c, const char *path, struct err *e)
{
        struct budgets all = { .limits = { [BUDGET_LEAKS] = { .set = true },
                                           [BUDGET_BAD_FREES] = { .set = true } } };
        struct findings_request request = { .budgets = &all, .suppressions = c->suppressions,
                                            .suppression_count = c->suppression_count,
                                            .root = &c->root };
        struct findings found = { 0 };
        struct profile p = { 0 };
        bool good = file_take(&p, path, PACKED_LEAST, e) && judge(c, &found, &request, &p, path, e);

        if (good && found.processes[0].unknown)
                good = err_set(e, ERR_EXIT_USAGE, "%s cannot be a baseline: %s", path,
                               found.processes[0].unknown);
        if (good)
                baseline_take(&c->baseline, &found);
        findings_free(&found);
        profile_free(&p);
        return good;
}

static bool read_baseline(struct check *c, struct err *e)
{
        struct str text = { 0 };
        bool good;

        if (!c->baseline_file)
                return true;
        if (!io_read_file(c->baseline_file, &text))
                return err_sys(e, ERR_EXIT_USAGE,
                               "cannot read the baseline %s ('--write-baseline %s' makes one)",
                               c->baseline_file, c->baseline_file);
        if (baseline_is(str_get(&text)))
                good = baseline_parse(&c->baseline, c->baseline_file, str_get(&text), e);
        else
                good = take_recording(c, c->baseline_file, e);
        if (!good && e->exit_code == ERR_EXIT_BAD_FILE && !baseline_is(str_get(&text)))
                err_context(e, "neither a baseline (its first line is '" BASELINE_MARK
                               "2') nor a recording");
        str_free(&text);
        return good;
}

static bool try_suppressions(const struct check *c, struct err *e)
{
        struct suppressions tried = { 0 };
        bool good = true;

        for (uint32_t i = 0; i < c->suppression_count && good; i++)
                good = suppress_read_file(&tried, c->suppressions[i], e);
        suppress_free(&tried);
        return good;
}

int check_prepare(struct check *c)
{
        struct err e = { 0 };

        if (location_find_root(&c->root, c->source_root, &e) && check_may_write(c, &e) &&
            try_suppressions(c, &e) && read_baseline(c, &e))
                return 0;
        return message_error(&e);
}

/* ---- recordings that are there ---- */

/* `seep check ./program` is easily typed. */
static void tell_program(const char *path, const struct err *e)
{
        struct stat st;

        if (e->exit_code == ERR_EXIT_BAD_FILE && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
                message("to run and check it: seep check -- %s", path);
}

/* Whether the process of recording AT has two: it was two programs. */
static bool was_two(const struct folder *f, uint32_t at)
{
        for (uint32_t i = 0; i < f->count; i++)
                if (i != at && f->all[i].pid == f->all[at].pid)
                        return true;
        return false;
}

static bool judge_folder(struct check *c, const char *path, struct err *e)
{
        struct folder f;
        bool good = folder_open(&f, path, e);

        if (good && f.unreadable)
                good = err_set(e, ERR_EXIT_BAD_FILE, "%s: %u recordings cannot be read", path,
                               f.unreadable);
        for (uint32_t i = 0; good && i < f.count; i++)
                good = judge_file(c, f.all[i].path, was_two(&f, i), e);
        folder_close(&f);
        return good;
}

static bool judge_files(struct check *c, int *status)
{
        struct err e = { 0 };
        char *newest = NULL;
        bool good = c->recording_count ||
                    (newest_recording(&newest, &e) && judge_file(c, newest, false, &e));

        if (!good)
                *status = message_error(&e);
        if (newest && good && !c->quiet)
                message("checked %s, the newest recording here", newest);
        free(newest);
        for (int i = 0; i < c->recording_count && good; i++) {
                good = folder_is(c->recordings[i]) ? judge_folder(c, c->recordings[i], &e)
                                                   : judge_file(c, c->recordings[i], false, &e);
                if (good)
                        continue;
                *status = message_error(&e);
                tell_program(c->recordings[i], &e);
        }
        return good;
}

/* ---- recordings that are made ---- */

/* Whether the process with this recording broke a budget, or was not seen as a whole. */
static bool is_broken(const struct findings *f, const char *path)
{
        for (uint32_t i = 0; i < f->process_count; i++)
                if (f->processes[i].crashed && strcmp(f->processes[i].recording, path) == 0)
                        return true;
        for (uint32_t i = 0; i < f->verdict_count; i++)
                if (!f->verdicts[i].kept &&
                    strcmp(f->processes[f->verdicts[i].process].recording, path) == 0)
                        return true;
        for (uint32_t i = 0; i < f->count; i++)
                if (f->all[i].kind == FINDING_UNSEEN && f->all[i].state == FINDING_BREAKS &&
                    strcmp(f->processes[f->all[i].process].recording, path) == 0)
                        return true;
        return false;
}

static bool is_kept(const void *context, const char *path)
{
        return is_broken(context, path);
}

/* Recordings are elsewhere when there was no room. */
static void clear_place(const struct check_place *place, const struct roster *roster,
                        const struct findings *f)
{
        for (uint32_t i = 0; i < roster->count; i++)
                if (!is_broken(f, roster->rows[i].path))
                        unlink(roster->rows[i].path);
        if (place->directory)
                check_place_clear(place, is_kept, f);
}

static void tell_kept(const struct check *c)
{
        const struct findings *f = &c->findings;
        uint32_t kept = 0;

        for (uint32_t i = 0; i < f->process_count; i++)
                if (is_broken(f, f->processes[i].recording) && ++kept <= CHECK_KEPT_LISTED)
                        message("recording kept: %s", f->processes[i].recording);
        if (kept > CHECK_KEPT_LISTED)
                message("and %u more beside it", kept - CHECK_KEPT_LISTED);
}

static void on_recorded(struct run *r, const struct session_end *end)
{
        (void)r;
        if (end->recordings == 0)
                message("nothing was recorded: %s", end->diagnosis);
}

/* Whether the process of row AT has another recording, as the program that it became. */
static bool is_continued(const struct roster *roster, uint32_t at)
{
        for (uint32_t i = at + 1; i < roster->count; i++)
                if (roster->rows[i].pid == roster->rows[at].pid)
                        return true;
        return false;
}

/* Whether its process has two recordings: it was two programs, however short the second was. */
static bool has_sibling(const struct roster *roster, uint32_t at)
{
        for (uint32_t i = 0; i < roster->count; i++)
                if (i != at && roster->rows[i].pid == roster->rows[at].pid)
                        return true;
        return false;
}

static void tell_replaced(const struct check *c, const struct roster *roster)
{
        for (uint32_t i = 0; i < roster->count && !c->quiet; i++)
                if (roster->rows[i].replaced && !is_continued(roster, i))
                        message("%s (pid %u) became a program that was not recorded (statically "
                                "linked, built with a sanitizer, or started without the "
                                "environment?): that one is not checked", roster->rows[i].program,
                                roster->rows[i].pid);
}

static void mark_main(struct findings *f, const char *path)
{
        struct findings_process *last = &f->processes[f->process_count - 1];

        last->is_main = strcmp(last->recording, path) == 0;
}

static bool judge_roster(struct check *c, const struct roster *roster, struct err *e)
{
        const struct roster_entry *main = &roster->main;

        if (!c->processes.count && (!main->filled || roster->rows[main->row].replaced))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the last program that %s ran was not recorded (statically "
                               "linked?), only earlier ones or others beside it; --process RE "
                               "checks those", c->program_argv[0]);
        for (uint32_t i = 0; i < roster->count; i++) {
                const struct roster_row *row = &roster->rows[i];

                if (row->missing)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "the recording of %s (pid %u) could not be written, so it "
                                       "cannot be checked", row->program, row->pid);
                if (!judge_file(c, row->path, row->replaced || has_sibling(roster, i), e))
                        return false;
                if (main->filled && i == main->row && c->findings.process_count)
                        mark_main(&c->findings, row->path);
        }
        tell_replaced(c, roster);
        return true;
}

/* Run the program and judge what was recorded.  false: E, or *STATUS after a message,
 * tells why there is no result. */
static bool run_and_judge(struct check *c, struct run *r, int *status, struct err *e)
{
        *status = run_program(r);
        c->killed_by = r->killed_by;
        if (!r->started)
                return false;
        if (!r->roster.count) { /* on_recorded() has told why */
                *status = ERR_EXIT_CANNOT_TRACE;
                return false;
        }
        return judge_roster(c, &r->roster, e);
}

/* --keep: the folder is the user's, so that nothing else in it is touched. */
static bool keep_place_make(struct check_place *p, const char *directory, struct err *e)
{
        if (mkdir(directory, 0777) != 0 && errno != EEXIST)
                return err_sys(e, ERR_EXIT_USAGE,
                               "cannot make the folder %s for the recordings (--keep)", directory);
        for (const char *c = directory; *c; c++)
                str_text(&p->pattern, *c == '%' ? "%%" : (char[]){ *c, 0 });
        str_text(&p->pattern, "/%e.%p.seep");
        return true;
}

/* With --json stdout has nothing but that: what the program writes there goes to stderr. */
static int turn_stdout(const struct check *c)
{
        int kept = -1;

        if (c->json) {
                kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
                if (kept >= 0)
                        dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        return kept;
}

static void turn_back(int kept)
{
        if (kept < 0)
                return;
        dup2(kept, STDOUT_FILENO);
        close(kept);
}

static bool judge_program(struct check *c, int *status)
{
        struct run r = { .wishes = &c->record, .program_argv = c->program_argv,
                         .recorded = on_recorded };
        bool own_place = !c->record.pattern, good;
        struct check_place place = { .mark = -1 };
        struct err e = { 0 };
        int out;

        if (own_place &&
            !(c->keep ? keep_place_make(&place, c->keep, &e) : check_place_make(&place, &e))) {
                *status = message_error(&e);
                return false;
        }
        if (own_place)
                c->record.pattern = str_get(&place.pattern);
        if (own_place && !budgets_want_leaks(&c->budgets))
                c->record.session.flags &= ~WIRE_F_LEAK_SCAN; /* nobody will ask */
        out = turn_stdout(c);
        good = run_and_judge(c, &r, status, &e);
        turn_back(out);
        if (e.text[0])
                *status = message_error(&e);
        if (own_place)
                clear_place(&place, &r.roster, &c->findings);
        if (own_place && good)
                tell_kept(c);
        roster_free(&r.roster);
        check_place_free(&place);
        return good;
}

static bool all_searched(const struct findings *f)
{
        for (uint32_t i = 0; i < f->process_count; i++)
                if (f->processes[i].unknown)
                        return false;
        return true;
}

bool check_run(struct check *c, int *status)
{
        bool good = c->program_argv ? judge_program(c, status) : judge_files(c, status);

        if (good && !c->findings.process_count) {
                message("no recorded process has a program that --process matches: nothing was "
                        "checked");
                *status = ERR_EXIT_CANNOT_TRACE;
                return false;
        }
        if (c->baseline_file && good && all_searched(&c->findings))
                baseline_tell_gone(&c->baseline, &c->findings);
        findings_settle(&c->findings);
        return good;
}
