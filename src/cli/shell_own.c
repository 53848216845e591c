/* SPDX-License-Identifier: MIT */
/* shell_own.c -- commands that only `seep shell` has: most are those of mtrace-ng. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/place.h"
#include "base/plain.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/shell.h"
#include "names/symbol.h"
#include "profile/packed.h"
#include "query/leaks.h"
#include "query/select.h"
#include "session/ask.h"
#include "session/options.h"

enum { OWN_NESTED_MAX = 16 };

/* Show OUT, which has names of strangers in it.  0, or the status. */
static int deliver(struct str *out)
{
        bool good;

        plain_output(out, 0, false);
        good = pager_show(out, false);
        if (!good)
                message("cannot write the result: %s", strerror(errno));
        str_free(out);
        return good ? 0 : ERR_EXIT_FINDINGS;
}

/* TEXT may be a stranger's. */
static void say_word(const char *key, const char *text)
{
        char *line = heap_text(text);

        plain_name(line);
        printf("%s: %s\n", key, line);
        free(line);
}

static int say(struct err *e, const char *format, const char *word)
{
        err_set(e, ERR_EXIT_USAGE, format, word);
        return message_error(e);
}

/* ---- help ---- */

static void add_use(const struct shell_verb *v, struct str *out)
{
        str_format(out, "  %s%s%s\n        %s\n", v->name, *v->operands ? " " : "", v->operands,
                   v->purpose);
}

static int help_all(void)
{
        struct str out = { 0 };

        str_text(&out, "Commands, which may be shortened while that is unique:\n");
        for (const struct shell_verb *v = shell_verbs; v->name; v++)
                add_use(v, &out);
        str_text(&out,
                 "Without PID: the process or recording that was named first, or chosen with 'set "
                 "process'.\n"
                 "A result goes to '>FILE' (a new one; '>!FILE' replaces it, '>>FILE' adds to it) "
                 "or to '|COMMAND'.\n"
                 "';' separates commands, quotes group words, '#' begins a comment.\n");
        return deliver(&out);
}

int shell_help(struct shell *s, const struct shell_line *line)
{
        const struct shell_verb *v;
        struct str out = { 0 };
        struct err e = { 0 };
        char help[] = "--help";
        int status;

        (void)s;
        if (line->count == 1)
                return help_all();
        v = shell_verb_find(line->words[1], &e);
        if (!v)
                return message_error(&e);
        add_use(v, &out);
        if (v->keys)
                str_format(&out, "        words: %s\n", v->keys);
        if (command_find(v->name) && strcmp(v->name, "help") != 0) {
                char *words[] = { line->words[1], help, NULL };

                str_text(&out, "\nAs a command of seep, whose options it has:\n\n");
                fputs(str_get(&out), stdout);
                fflush(stdout);
                str_free(&out);
                return command_find(v->name)->run(2, words);
        }
        status = deliver(&out);
        return status;
}

/* ---- which processes there are ---- */

static char mark_of(const struct shell_target *t)
{
        struct wire_status status;

        if (!t->pid || t->ended)
                return 'x';
        if (ask_glance(t->pid, &status) != ASK_ANSWERED)
                return '?';
        return status.off ? '-' : '+';
}

int shell_proclist(struct shell *s, const struct shell_line *line)
{
        struct str out = { 0 };
        struct err e = { 0 };

        if (line->count > 1)
                return say(&e, "proclist: '%s' is one word too many", line->words[1]);
        shell_target_others(s);
        str_text(&out, "available processes:\n");
        for (uint32_t i = 0; i < s->count; i++) {
                const struct shell_target *t = s->targets[i];

                str_format(&out, "%c%s %c", i == s->chosen ? '*' : ' ', t->name, mark_of(t));
                if (t->program)
                        str_format(&out, " %s", t->program);
                if (t->recording)
                        str_format(&out, " (%s)", t->recording);
                str_char(&out, '\n');
        }
        return deliver(&out);
}

/* ---- a process, or what is left of it ---- */

struct meant {
        struct shell_target *target;
        int key; /* its place; -1 none */
};

/* Words behind the command in either order: a PID, and one of KEYS (NULL: none).  0, or the
 * status. */
static int take_words(struct shell *s, const struct shell_line *line, const char *keys,
                      struct meant *out)
{
        struct shell_target *t = NULL;
        struct err e = { 0 };

        out->key = -1;
        for (int i = 1; i < line->count && !e.exit_code; i++) {
                const char *word = line->words[i];

                if (shell_is_pid(word) && !t)
                        t = shell_target_named(s, word, &e);
                else if (keys && out->key < 0)
                        out->key = shell_choose(keys, word, &e);
                else
                        err_set(&e, ERR_EXIT_USAGE, "'%.64s' is one word too many", word);
        }
        if (!t && !e.exit_code)
                t = shell_target_chosen(s, &e);
        out->target = t;
        if (!e.exit_code)
                return 0;
        err_context(&e, "%s", line->words[0]);
        return message_error(&e);
}

/* What is known of T now; SEARCH: and what it has lost. */
static bool read_target(const struct shell_target *t, bool search, struct profile *p, struct err *e)
{
        struct str operand = { 0 };
        uint32_t pid = t->pid;
        bool good;

        shell_target_operand(t, &operand);
        if (search && t->pid && strcmp(str_get(&operand), t->name) == 0)
                good = load_search(p, &pid, 0, e);
        else
                good = load_recording(p, str_get(&operand), LOAD_COUNTS, e);
        str_free(&operand);
        return good;
}

/* Sums over blocks that are lost, without those that rules cover. */
struct lost {
        uint64_t blocks, bytes, fresh; /* fresh: not lost at the search before */
        uint64_t scanned;
};

enum { SCAN_ALL, SCAN_LEAK, SCAN_NEW }; /* as in SHELL_SCAN_MODES */

/* Whether MODE looks at the block of W. */
static bool is_meant(const struct packed_walk *w, int mode, const struct shell_memory *m)
{
        bool lost = w->verdict->leak >= PROFILE_LEAK_INDIRECT;

        if (mode == SCAN_LEAK)
                return lost && !(w->verdict->flags & PROFILE_VERDICT_NEW);
        return mode == SCAN_ALL || !m->searched || w->block->birth_ms >= m->searched_ms;
}

static void add_lost(const struct profile *p, const uint8_t *silent, int mode,
                     const struct shell_memory *m, struct lost *out)
{
        bool again = p->scans[0].flags & PROFILE_SCAN_INCREMENT;
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                if (!w.verdict || !is_meant(&w, mode, m) || (mode == SCAN_LEAK && !again))
                        continue;
                out->scanned++;
                if (w.verdict->leak < PROFILE_LEAK_INDIRECT || silent[w.index])
                        continue;
                out->blocks++;
                out->bytes += w.block->size;
                out->fresh += !again || (w.verdict->flags & PROFILE_VERDICT_NEW);
        }
        packed_close(&w);
}

/* false: P was not searched. */
static bool count_lost(const struct profile *p, int mode, const struct shell_memory *m,
                       struct lost *out)
{
        struct symbol_options options = { .no_debuginfod = true, .raw = true };
        struct symbols *symbols;
        struct selection sel;
        struct err e = { 0 };
        struct leaks l;

        if (!profile_scanned(p))
                return false;
        symbols = symbols_new(p, &options);
        if (select_make(&sel, p, symbols, &(struct select_request){ .cost = SELECT_LIVE }, &e)) {
                leaks_make_sums(&l, &sel, symbols);
                add_lost(p, l.silent, mode, m, out);
                leaks_free(&l);
        }
        select_free(&sel);
        symbols_free(symbols);
        return true;
}

static const char *kind_of(const struct shell_target *t)
{
        return t->pid ? "process" : "recording";
}

static void say_scan(const struct shell_target *t, const struct lost *all, const struct lost *some)
{
        printf("%s %s scanning %" PRIu64 " allocations\n"
               "%s %s\n"
               " leaks reported: %" PRIu64 "\n"
               " new leaks found: %" PRIu64 "\n"
               " leaked bytes: %" PRIu64 "\n"
               "leaks total: %" PRIu64 "\n",
               kind_of(t), t->name, some->scanned, kind_of(t), t->name, some->blocks, some->fresh,
               some->bytes, all->blocks);
}

int shell_scan(struct shell *s, const struct shell_line *line)
{
        struct lost all = { 0 }, some = { 0 };
        struct profile p = { 0 };
        struct shell_target *t;
        struct err e = { 0 };
        struct str why = { 0 };
        struct meant meant;
        int status = take_words(s, line, SHELL_SCAN_MODES, &meant), mode;

        if (status)
                return status;
        t = meant.target;
        mode = meant.key < 0 ? SCAN_ALL : meant.key;
        if (!read_target(t, true, &p, &e))
                return message_error(&e);
        if (!count_lost(&p, SCAN_ALL, t->memory, &all)) {
                leaks_not_scanned(&p, &why);
                message("scan: not searched for leaks: %s", str_get(&why));
                str_free(&why);
                profile_free(&p);
                return ERR_EXIT_CANNOT_TRACE;
        }
        count_lost(&p, mode, t->memory, &some);
        *t->memory = (struct shell_memory){ p.scans[0].ms, all.blocks, all.bytes, true };
        say_scan(t, &all, &some);
        profile_free(&p);
        return 0;
}

/* ---- status ---- */

struct totals {
        uint64_t bytes, blocks, allocations;
        uint64_t leaks, lost_bytes;
        bool searched;
        const char *state;
};

static void say_status(const struct shell_target *t, const struct totals *n)
{
        printf("%s %s%s%s\n bytes used: %" PRIu64 "\n number of open allocations: %" PRIu64
               "\n total number of allocations: %" PRIu64 "\n average allocation: %" PRIu64 "\n",
               kind_of(t), t->name, t->program ? " " : "", t->program ? t->program : "", n->bytes,
               n->blocks, n->allocations, n->blocks ? n->bytes / n->blocks : 0);
        if (n->searched)
                printf(" number of leaks: %" PRIu64 "\n number of leaked bytes: %" PRIu64 "\n",
                       n->leaks, n->lost_bytes);
        else
                puts(" number of leaks: not searched for ('scan' does)");
        printf(" status: %s\n", n->state);
}

static int status_of_recording(struct shell_target *t)
{
        const char *state = t->ended ? "exited" : t->pid ? "detached" : "recording";
        struct profile p = { 0 };
        struct lost lost = { 0 };
        struct err e = { 0 };
        bool searched;

        if (!read_target(t, false, &p, &e))
                return message_error(&e);
        searched = count_lost(&p, SCAN_ALL, t->memory, &lost);
        say_status(t, &(struct totals){ p.totals.live_bytes, p.totals.live_blocks,
                                        p.totals.allocations, lost.blocks, lost.bytes, searched,
                                        state });
        profile_free(&p);
        return 0;
}

int shell_status(struct shell *s, const struct shell_line *line)
{
        struct wire_status now;
        struct shell_target *t;
        struct err e = { 0 };
        struct meant meant;
        int status = take_words(s, line, NULL, &meant);

        if (status)
                return status;
        t = meant.target;
        if (t->pid && !t->ended && ask_status(t->pid, &now, &e)) {
                say_status(t, &(struct totals){ now.live_bytes, now.live_blocks, now.allocations,
                                                t->memory->leaks, t->memory->bytes,
                                                t->memory->searched,
                                                now.off ? "stopped" : "running" });
                return 0;
        }
        if (!t->pid || t->ended || t->recording)
                return status_of_recording(t);
        return message_error(&e);
}

/* ---- save ---- */

/* A recording of T as it is now, or what is left of it; -1: E. */
static int open_recording(const struct shell_target *t, struct err *e)
{
        struct ask_image i = { .pid = t->pid, .search = true, .fd = -1 };
        struct str operand = { 0 };
        struct err why = { 0 };
        bool live;

        shell_target_operand(t, &operand);
        live = t->pid && strcmp(str_get(&operand), t->name) == 0;
        if (live && !ask_for_image(&i, &why)) {
                i.search = false;
                i.flags = WIRE_LOOK_BLOCKS;
                ask_for_image(&i, e);
        } else if (!live) {
                i.fd = open(str_get(&operand), O_RDONLY | O_CLOEXEC);
                if (i.fd < 0)
                        err_sys(e, ERR_EXIT_BAD_FILE, "cannot read %s", str_get(&operand));
        }
        str_free(&operand);
        return i.fd;
}

static bool copy_to(int from, const char *path, struct err *e)
{
        struct place p = PLACE_NONE;
        struct str all = { 0 };
        bool good = lseek(from, 0, SEEK_SET) == 0 && io_read(from, &all);
        int to;

        good = good && place_open(&p, path, PLACE_NEW) && (to = place_begin(&p)) >= 0 &&
               io_write(to, all.data, all.length) && place_end(&p);
        if (!good)
                place_refuse(path, ERR_EXIT_USAGE, e);
        place_close(&p);
        str_free(&all);
        return good;
}

/* save FILE [PID] */
int shell_save(struct shell *s, const struct shell_line *line)
{
        struct shell_target *t;
        struct err e = { 0 };
        bool good;
        int from;

        if (line->count < 2 || line->count > 3 || (line->count == 3 &&
                                                   !shell_is_pid(line->words[2])))
                return say(&e, "save: %s", "save FILE [PID] is expected");
        t = line->count == 3 ? shell_target_named(s, line->words[2], &e)
                             : shell_target_chosen(s, &e);
        from = t ? open_recording(t, &e) : -1;
        good = from >= 0 && copy_to(from, line->words[1], &e);
        if (good && t->far && t->gone)
                good = shell_far_stored(s, t, &e);
        if (from >= 0)
                close(from);
        return good ? 0 : message_error(&e);
}

/* ---- settings ---- */

static const char *yes(bool is_so)
{
        return is_so ? "yes" : "no";
}

static void say_depth(uint32_t depth)
{
        if (depth)
                printf("stack depth: %" PRIu32 "\n", depth);
        else
                puts("stack depth: all");
}

static int show_info(struct shell *s)
{
        struct err e = { 0 };
        struct shell_target *t = shell_target_chosen(s, &e);
        struct profile p = { 0 };
        struct wire_status now;

        if (!t)
                return message_error(&e);
        say_word("process", t->name);
        if (t->pid && !t->ended && ask_status(t->pid, &now, &e)) {
                if (now.follow)
                        printf("follow fork: %s\nfollow exec: %s\n",
                               yes(now.follow == 1 + SESSION_FOLLOW_ALL),
                               yes(now.follow != 1 + SESSION_FOLLOW_NONE));
                printf("do trace: %s\n", yes(!now.off));
                say_depth(now.depth);
                say_word("engine", now.engine);
        } else if (read_target(t, false, &p, &e)) {
                puts("do trace: no");
                say_depth(p.meta.depth);
                say_word("engine", p.meta.engine);
                profile_free(&p);
        } else {
                return message_error(&e);
        }
        say_word("recording", !t->pid ? t->name : t->recording ? t->recording : "none");
        say_word("searchpath", s->searchpath);
        return 0;
}

int shell_show(struct shell *s, const struct shell_line *line)
{
        struct err e = { 0 };
        int key;

        if (line->count != 2)
                return say(&e, "show: one of %s is expected", SHELL_SHOW_KEYS);
        key = shell_choose(SHELL_SHOW_KEYS, line->words[1], &e);
        if (key < 0) {
                err_context(&e, "show");
                return message_error(&e);
        }
        if (key == 0)
                return show_info(s);
        say_word("searchpath", s->searchpath);
        return 0;
}

/* Each part must be a folder; "" takes the path away. */
static int set_searchpath(struct shell *s, const char *path)
{
        struct err e = { 0 };

        for (const char *at = path; *at;) {
                size_t length = strcspn(at, ":");
                struct str folder = { 0 };
                struct stat st;

                str_bytes(&folder, at, length);
                if (length && (stat(str_get(&folder), &st) != 0 || !S_ISDIR(st.st_mode)))
                        say(&e, "set searchpath: %s is not a folder", str_get(&folder));
                str_free(&folder);
                if (e.exit_code)
                        return e.exit_code;
                at += length + (at[length] == ':');
        }
        free(s->searchpath);
        s->searchpath = heap_text(path);
        return 0;
}

static int set_process(struct shell *s, const char *word)
{
        struct err e = { 0 };
        const struct shell_target *t = shell_target_named(s, word, &e);

        if (!t)
                return message_error(&e);
        for (uint32_t i = 0; i < s->count; i++)
                if (s->targets[i] == t)
                        s->chosen = i;
        return 0;
}

int shell_set(struct shell *s, const struct shell_line *line)
{
        enum { DEPTH, PROCESS };
        struct shell_words words = { 0 };
        struct err e = { 0 };
        int key;

        if (line->count < 2)
                return say(&e, "set: one of %s is expected", SHELL_SET_KEYS);
        key = shell_choose(SHELL_SET_KEYS, line->words[1], &e);
        if (key < 0) {
                err_context(&e, "set");
                return message_error(&e);
        }
        if (key == DEPTH)
                return shell_plan_depth(s, line, &words, &e) ? shell_run_words(s, line, &words)
                                                             : message_error(&e);
        if (line->count != 3)
                return say(&e, "set %s: one value is expected",
                           key == PROCESS ? "process" : "searchpath");
        return key == PROCESS ? set_process(s, line->words[2])
                              : set_searchpath(s, line->words[2]);
}

/* ---- the shell itself ---- */

int shell_quit(struct shell *s, const struct shell_line *line)
{
        struct err e = { 0 };

        if (line->count > 1)
                return say(&e, "quit: '%s' is one word too many", line->words[1]);
        s->left = true;
        return 0;
}

int shell_source(struct shell *s, const struct shell_line *line)
{
        struct err e = { 0 };
        int fd, status;

        if (line->count != 2)
                return say(&e, "source: %s", "one file is expected");
        if (s->nested == OWN_NESTED_MAX)
                return say(&e, "source: %s: files that read each other, too deep", line->words[1]);
        fd = open(line->words[1], O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
                err_sys(&e, ERR_EXIT_USAGE, "source: cannot read %s", line->words[1]);
                return message_error(&e);
        }
        s->nested++;
        status = shell_do_file(s, fd);
        s->nested--;
        return status;
}
