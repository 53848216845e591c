/* SPDX-License-Identifier: MIT */
/*
 * cmd_events.c -- `seep events`: the events of a recording in order.
 *
 * Keeps:  a log is read once, from its beginning, however long it is; memory is
 *         that of the blocks alive.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/heap.h"
#include "base/order.h"
#include "base/quantity.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/option.h"
#include "cli/progress.h"
#include "profile/events_log.h"
#include "profile/file.h"
#include "profile/model.h"
#include "profile/replay.h"
#include "query/moment.h"
#include "query/fold.h"
#include "report/transactions.h"
#include "words/label.h"
#include "words/text.h"

/* ---- what a log adds up to, beside what was counted while recording (`seep events --totals`)
 * ---- */

struct events_totals {
        const struct profile *profile;
        const struct replay *replay; /* of the whole log */
        const struct events_log *log; /* read to its end */
};

/* The totals that both sides have: label, member, how far apart they may be.  A whole log gives the
 * recording its peak (collect/events_writer.c); older recordings by several threads have one that
 * is known to some bytes only. */
#define TOTALS_ROWS(X)                                                         \
        X("allocations", allocations, 0)                                       \
        X("frees", frees, 0)                                                   \
        X("bytes allocated", bytes_allocated, 0)                               \
        X("live blocks", live_blocks, 0)                                       \
        X("live bytes", live_bytes, 0)                                         \
        X("peak bytes", peak_bytes, ledger->peak_error_bytes)                  \
        X("unknown frees", unknown_frees, 0)                                   \
        X("double frees", double_frees, 0)                                     \
        X("mismatched frees", mismatched, 0)                                   \
        X("mmap calls", mmap_calls, 0)                                         \
        X("mmap bytes", mmap_bytes, 0)                                         \
        X("mmap live bytes", mmap_live_bytes, 0)

struct row {
        const char *label;
        uint64_t log, ledger, allowed;
};

/* Why there is nothing to compare with; NULL: there is. */
static const char *not_comparable(const struct events_totals *t)
{
        if (!t->profile->site_count)
                return "the file has no totals of its own";
        if (events_log_first(t->log))
                return "the process was forked, and what its parent did before is not in its log";
        if (events_log_headless(t->log))
                return "its first events are no longer in the log (--max-files)";
        if (events_log_why(t->log))
                return "the log ends before the recording";
        return t->profile->meta.complete ? NULL : "the recording is not complete";
}

static bool put_row(const struct row *r, bool compared, struct str *out)
{
        uint64_t apart = r->log > r->ledger ? r->log - r->ledger : r->ledger - r->log;
        bool same = apart <= r->allowed;
        size_t start = out->length;

        str_format(out, "  %s", r->label);
        text_pad(out, start, 24);
        text_cell(out, 20, r->log, text_number);
        if (compared) {
                text_cell(out, 20, r->ledger, text_number);
                if (!same)
                        str_text(out, "  differs");
                else if (apart) {
                        str_text(out, "  no difference: it is accurate to within ");
                        text_number(out, (int64_t)r->allowed);
                        str_text(out, " B");
                }
        }
        str_char(out, '\n');
        return same;
}

/* Sites at which the two counted differently. */
static uint64_t sites_apart(const struct events_totals *t)
{
        uint64_t apart = 0;

        for (uint32_t i = 1; i < t->profile->site_count; i++) {
                const struct profile_site *s = &t->profile->sites[i];
                const struct ledger_counter *r = replay_site(t->replay, i);

                if (PROFILE_KIND_IS_COUNTED(s->kind))
                        apart += r->allocs != s->allocs || r->alloc_bytes != s->alloc_bytes ||
                                 r->frees != s->frees;
        }
        return apart;
}

/* Live blocks of the ledger that the log has not, or with other contents; the numbers of
 * both are compared besides. */
static uint64_t blocks_apart(const struct events_totals *t)
{
        uint64_t apart = 0;

        for (uint64_t i = 0; i < t->profile->block_count; i++) {
                const struct profile_block *b = &t->profile->blocks[i];
                uint32_t kind = b->site < t->profile->site_count ? t->profile->sites[b->site].kind
                                                                 : LEDGER_KIND_NONE;
                const struct replay_block *r = replay_find(t->replay, b->address, kind);

                apart += !r || r->size != b->size || r->site != b->site;
        }
        return apart;
}

/* Append the table; returns the exit status: 1 when the two differ, 0 when they
 * agree or cannot be compared. */
static int events_totals_write(const struct events_totals *t, struct str *out)
{
        const struct replay_totals log = replay_totals(t->replay);
        const struct profile_totals *ledger = &t->profile->totals;
        const char *why = not_comparable(t);
        const struct row rows[] = {
#define TOTALS_ROW(label, member, allowed) { label, log.member, ledger->member, allowed },
                TOTALS_ROWS(TOTALS_ROW)
#undef TOTALS_ROW
                { "sites that differ", why ? 0 : sites_apart(t), 0, 0 },
                { "blocks that differ", why ? 0 : blocks_apart(t), 0, 0 },
        };
        struct events_log_size size = events_log_size(t->log);
        bool same = true;

        str_format(out, "  %-22s", "events");
        text_cell(out, 20, log.events, text_number);
        str_format(out, "%s\n", why ? "" : "            recorded");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                same &= put_row(&rows[i], !why, out);
        str_format(out, "  %-22s", "bytes of log");
        text_cell(out, 20, size.bytes, text_number);
        str_format(out, "  %.2f for each event\n",
                   log.events ? (double)size.bytes / (double)log.events : 0);
        if (why)
                str_format(out, "  Not compared with what was counted while recording: %s.\n", why);
        return why || same ? 0 : ERR_EXIT_FINDINGS;
}

/* ---- `seep events`: the transactions of a recording, one after another ---- */

#define EVENTS_OPTIONS(X)                                                                        \
        X(EVENTS_HEAD_FORMAT, NULL, 0, NULL, "format:")                                            \
        X(EVENTS_CSV, "csv", 0, NULL, "CSV")                                                     \
        X(EVENTS_MEMTRAQ, "memtraq", 0, NULL,                                                    \
          "memtraq's text log, with addresses (for names: export --to maps)")                    \
        X(EVENTS_MMLEAK, "mmleak", 0, NULL,                                                      \
          "mmleak's dump: PTR CALLER SIZE, or PTR CALLER for a free")                            \
        X(EVENTS_TOTALS, "totals", 0, NULL,                                                      \
          "compare the sums of the events with what was counted while recording; exit status 1 " \
          "if they differ")                                                                      \
        X(EVENTS_STACKS, "stacks", 0, NULL, "full stacks instead of the innermost functions")    \
        X(EVENTS_LONG, "long", 'L', NULL,                                                        \
          "show the program or library of every frame, and full names")                          \
        X(EVENTS_ALL_FRAMES, "all-frames", 0, NULL,                                              \
          "also show library and start code, xmalloc, other wrappers")                           \
        X(EVENTS_HEAD_WHICH, NULL, 0, NULL, "which events:")                                     \
        X(EVENTS_OPEN, "open", 0, NULL,                                                          \
          "only allocations never freed (with --to: not freed by then)")                         \
        X(EVENTS_FROM, "from", 0, "WHEN",                                                        \
          "start at a tag, a snapshot's number or a time like 1.5s")                             \
        X(EVENTS_TO, "to", 0, "WHEN", "end there")                                               \
        X(EVENTS_LIMIT, "limit", 'n', "N", "at most N events")                                   \
        NAMES_OPTIONS(X, EVENTS)                                                                 \
        X(EVENTS_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                          \
        X(EVENTS_OUTPUT, "output", 'o', "OUT", "write to OUT instead of stdout")                 \
        X(EVENTS_FORCE, "force", 'f', NULL, "replace an existing OUT")                           \
        X(EVENTS_NO_PAGER, "no-pager", 0, NULL, "do not use a pager")                            \
        X(EVENTS_QUIET, "quiet", 'q', NULL, "no note about how the log ended")                   \
        LAST_OPTIONS(X, EVENTS)

enum { EVENTS_OPTIONS(OPTION_ENUM) EVENTS_COUNT };
const struct option_entry events_options[] = { EVENTS_OPTIONS(OPTION_ENTRY) OPTION_END };

/* A moment, as seen from inside the log. */
struct bound {
        const char *word; /* NULL: not given */
        struct moment at;
        uint64_t mark; /* number of the mark whose event it is; UINT64_MAX: it has none, the time
                        * counts */
};

struct events {
        char *file;
        int format; /* 0: text */
        bool stacks, all_frames, open, quiet;
        uint64_t limit; /* 0 none */
        struct bound from, to;
        struct names names;
        struct deliver deliver;

        struct profile profile;
        struct events_log *log;
        struct replay *replay;
        struct transactions out;
        struct wrappers wrappers;
        struct deliver_stream stream;
        uint64_t written;
        uint64_t first; /* event from FROM on; 0 none yet */
        bool ended; /* the log; not what was asked for, nor the patience of who reads the output */
};

static int say_help(void)
{
        return command_help(
                COMMAND_events,
                "Print every allocation and free of a recording made with --events, in the order\n"
                "in which they happened. FILE defaults to the newest *.seep here; it may also be\n"
                "the .FILE.events of a recording that did not end, or a process that is being\n"
                "recorded (PID): its events of the last 5 seconds may be missing.\n",
                "\nexamples:\n"
                "  seep record --events ./app && seep events\n"
                "  seep events --from startup --to end --open   allocated since, still there\n"
                "  seep events --csv -o events.csv app.42.seep\n"
                "\nExit status: 0 success, 1 --totals found a difference, 2 usage error or no "
                "event\n"
                "log, 3 the process is not recorded, 4 the file cannot be read.\n");
}

/* ---- which events ---- */

static bool find_bound(const struct profile *p, struct bound *b, struct err *e)
{
        b->mark = UINT64_MAX;
        if (!b->word)
                return true;
        if (!moment_find(p, b->word, &b->at, e))
                return false;
        if (b->at.type == MOMENT_MARK && p->marks[b->at.mark].era)
                b->mark = p->marks[b->at.mark].era - 1;
        else if (b->at.type == MOMENT_PEAK)
                b->at.ms = p->totals.peak_ms;
        return true;
}

/* Marks have an order of their own: several may be of the same millisecond. */
static bool bounds_in_order(const struct events *v, struct err *e)
{
        const struct bound *from = &v->from, *to = &v->to;
        bool marks = from->mark != UINT64_MAX && to->mark != UINT64_MAX;

        if (!from->word || !to->word || (marks ? from->mark <= to->mark : from->at.ms <= to->at.ms))
                return true;
        return err_set(e, ERR_EXIT_USAGE, "--from %s --to %s: the end lies before the start",
                       from->word, to->word);
}

static bool is_mark(const struct bound *b, const struct ledger_event *e)
{
        return b->mark != UINT64_MAX && e->type == LEDGER_EVENT_MARK && e->address == b->mark;
}

/* Whether E is the first event at or after B. */
static bool reaches(const struct events *v, const struct bound *b, const struct ledger_event *e)
{
        if (!b->word)
                return true;
        if (events_log_headless(v->log) && e->ms > b->at.ms)
                return true; /* the event of the mark itself may be gone */
        return b->mark != UINT64_MAX ? is_mark(b, e) : e->ms >= b->at.ms;
}

/* Whether E is behind the end; the event of a mark itself is not. */
static bool passes(const struct events *v, const struct ledger_event *e)
{
        return v->to.word && (v->to.mark == UINT64_MAX || events_log_headless(v->log)) &&
               e->ms > v->to.at.ms;
}

/* ---- writing them ---- */

static bool write_event(struct events *v, uint64_t number, const struct ledger_event *e)
{
        size_t before = v->stream.text.length;

        transactions_put(&v->out, v->replay, number, e, &v->stream.text);
        v->written += v->stream.text.length > before; /* not every format has a line for it */
        return deliver_more(&v->stream) && (!v->limit || v->written < v->limit);
}

/* On a terminal that shows nothing else meanwhile. */
static bool is_silent(const struct events *v)
{
        return v->open || v->format == EVENTS_TOTALS || v->deliver.output || !isatty(STDOUT_FILENO);
}

static void read_all(struct events *v)
{
        struct progress_line line;
        struct ledger_event e;
        uint64_t number = events_log_dropped(v->log);
        bool more = true;

        progress_start(&line, "reading events", v->quiet || !is_silent(v));
        while (more && !(v->ended = !events_log_next(v->log, &e))) {
                number++;
                if (!v->first && reaches(v, &v->from, &e))
                        v->first = number;
                if (passes(v, &e))
                        break;
                if (e.type == LEDGER_EVENT_MODULE && v->format != EVENTS_TOTALS)
                        transactions_load(&v->out, &e);
                if (v->first && !v->open && v->format != EVENTS_TOTALS)
                        more = write_event(v, number, &e);
                replay_event(v->replay, &e);
                if (is_mark(&v->to, &e))
                        break;
                if (line.terminal && number % EVENTS_BATCH == 0)
                        line.progress.tell(&line.progress, events_log_done(v->log),
                                           events_log_size(v->log).bytes);
        }
        progress_end(&line);
}

/* ---- those never freed ---- */

ORDER_BY(by_number, struct replay_block, number)

static void write_open(struct events *v)
{
        uint64_t count, used = 0;
        const struct replay_block *all = replay_blocks(v->replay, &count);
        struct replay_block *open = heap_zero(count, sizeof *open);
        bool more = true;

        for (uint64_t i = 0; i < count; i++)
                if (all[i].used && v->first && all[i].number >= v->first)
                        open[used++] = all[i];
        qsort(open, used, sizeof *open, by_number);
        for (uint64_t i = 0; i < used && more; i++) {
                struct ledger_event e = { .type = LEDGER_EVENT_ALLOC, .kind = open[i].kind,
                                          .thread = open[i].thread, .site = open[i].site,
                                          .ms = open[i].ms, .address = open[i].address,
                                          .size = open[i].size };

                more = write_event(v, open[i].number, &e);
        }
        free(open);
}

/* ---- the command ---- */

static void prepare(struct events *v)
{
        static const enum transactions_format formats[EVENTS_COUNT] = {
                [EVENTS_CSV] = TRANSACTIONS_CSV,
                [EVENTS_MEMTRAQ] = TRANSACTIONS_MEMTRAQ,
                [EVENTS_MMLEAK] = TRANSACTIONS_MMLEAK,
        };
        bool hide = !v->all_frames && v->format != EVENTS_MEMTRAQ;

        v->names.options.all_frames = v->all_frames;
        v->replay = replay_new();
        replay_begin_after(v->replay, events_log_dropped(v->log));
        v->out = (struct transactions){ .profile = &v->profile,
                                        .symbols = symbols_new(&v->profile, &v->names.options),
                                        .wrappers = hide ? &v->wrappers : NULL,
                                        .format = formats[v->format],
                                        .whole = v->stacks || v->format == EVENTS_MEMTRAQ };
        if (hide && v->out.format == TRANSACTIONS_TEXT)
                v->out.fold = fold_new(&v->profile, v->out.symbols, &v->wrappers);
}

static void tell_end(const struct events *v)
{
        const char *why = events_log_why(v->log);

        if (why && !v->quiet)
                message("the log ends here: %s", why);
}

static void tell_begin(const struct events *v)
{
        uint64_t dropped = events_log_dropped(v->log);

        if (v->quiet || !events_log_headless(v->log))
                return;
        if (dropped)
                message("the first %" PRIu64 " event%s no longer there: only the last parts of the "
                        "log were kept (--max-files)", dropped, dropped == 1 ? " is" : "s are");
        else
                message("the first events are no longer there: only the last parts of the log were "
                        "kept (--max-files)");
}

static bool print(struct events *v, struct err *e)
{
        v->deliver.raw = v->format == EVENTS_CSV; /* it escapes in its own way */
        if (!deliver_begin(&v->stream, &v->deliver, e))
                return false;
        tell_begin(v);
        transactions_head(&v->out, &v->stream.text);
        read_all(v);
        if (v->open)
                write_open(v);
        transactions_end(&v->out, &v->stream.text);
        if (!deliver_end(&v->stream, e))
                return false;
        if (v->ended)
                tell_end(v);
        return true;
}

static int compare(struct events *v, struct err *e)
{
        struct events_totals totals = { &v->profile, v->replay, v->log };
        struct str text = { 0 };
        int status;

        read_all(v);
        status = events_totals_write(&totals, &text);
        if (!deliver_text(&v->deliver, &text, e))
                status = message_error(e);
        str_free(&text);
        return status;
}

/* A recording that did not end has a log beside it, or is nothing but a log. */
static bool open_file(struct events *v, struct err *e)
{
        const char *beside;

        v->log = events_log_open(v->file, e);
        if (!v->log)
                return false;
        beside = events_log_beside(v->log);
        if (beside && !v->quiet)
                message("%s is incomplete: seep was killed, or is still recording; its events are "
                        "in %s", v->file, beside);
        if (file_read(&v->profile, v->file, e)) {
                for (uint32_t i = 0; v->profile.truncated && i < v->profile.meta.warning_count; i++)
                        message("warning: %s", v->profile.meta.warnings[i]);
        } else {
                message("%s holds events only: numbers are shown in place of names",
                        beside ? beside : v->file);
                *e = (struct err){ 0 };
        }
        return true;
}

/* The observer says what the numbers in the log mean; the log itself is a file. */
static bool open_process(struct events *v, const struct load_source *source, struct err *e)
{
        if (!load_read(source, &v->profile, e))
                return false;
        if (!(v->profile.meta.flags & WIRE_F_EVENTS))
                return err_set(e, ERR_EXIT_USAGE,
                               "process %u is recorded without an event log: 'seep record --events "
                               "%s' makes one", source->pid, v->profile.meta.program);
        v->log = events_log_open_in(source->path, source->folder, e);
        return v->log != NULL;
}

static bool load(struct events *v, struct err *e)
{
        struct load_source source;
        bool good = load_open(&source, v->file, LOAD_EVENTS | (v->quiet ? LOAD_QUIET : 0), e) &&
                    (source.pid ? open_process(v, &source, e) : open_file(v, e));

        load_close(&source);
        return good && find_bound(&v->profile, &v->from, e) && find_bound(&v->profile, &v->to, e) &&
               bounds_in_order(v, e);
}

static int run(struct events *v)
{
        struct err e = { 0 };
        int status = 0;

        if ((!v->file && !newest_recording(&v->file, &e)) || !deliver_prepare(&v->deliver, &e))
                return message_error(&e);
        if (load(v, &e)) {
                prepare(v);
                if (v->format == EVENTS_TOTALS)
                        status = compare(v, &e);
                else if (!print(v, &e))
                        status = message_error(&e);
                transactions_free(&v->out);
                wrappers_free(&v->wrappers);
                symbols_free(v->out.symbols);
                replay_free(v->replay);
        } else {
                status = message_error(&e);
        }
        deliver_drop(&v->deliver);
        events_log_close(v->log);
        profile_free(&v->profile);
        return status;
}

static int take(struct events *v, int which, const char *value)
{
        switch (which) {
        case EVENTS_CSV:
        case EVENTS_MEMTRAQ:
        case EVENTS_MMLEAK:
        case EVENTS_TOTALS:
                if (v->format && v->format != which)
                        return message_usage("events",
                                             "--%s and --%s are two formats: give one of them",
                                             events_options[v->format].name,
                                             events_options[which].name);
                v->format = which;
                return 0;
        case EVENTS_FROM:
                v->from.word = value;
                return 0;
        case EVENTS_TO:
                v->to.word = value;
                return 0;
        case EVENTS_LIMIT:
                if (!quantity_number(value, &v->limit))
                        return message_usage("events", "--limit '%s': a number is expected", value);
                return 0;
        case EVENTS_OUTPUT:
                v->deliver.output = value;
                return 0;
        }
        v->stacks |= which == EVENTS_STACKS;
        v->all_frames |= which == EVENTS_ALL_FRAMES;
        if (which == EVENTS_LONG)
                label_with_objects();
        v->open |= which == EVENTS_OPEN;
        v->quiet |= which == EVENTS_QUIET;
        v->deliver.force |= which == EVENTS_FORCE;
        v->deliver.plain |= which == EVENTS_NO_PAGER;
        return 0;
}

int cmd_events(int argc, char **argv)
{
        struct option_parser parser;
        struct events v = { 0 };
        int which, status = 0;

        names_init(&v.names);
        option_start(&parser, "events", events_options, argc, argv);
        while (!status && (which = option_next(&parser)) >= 0) {
                if (which == EVENTS_HELP)
                        return say_help();
                if (!names_take(&v.names, "events", events_options[which].name, parser.value,
                                &status))
                        status = take(&v, which, parser.value);
        }
        if (status || which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (argc - parser.first_operand > 1)
                return message_usage("events", "one recording at a time");
        if (v.format == EVENTS_TOTALS && (v.open || v.from.word || v.to.word || v.limit))
                return message_usage("events", "--totals is about the whole log");
        if (argc > parser.first_operand)
                v.file = heap_text(argv[parser.first_operand]);
        status = run(&v);
        free(v.file);
        return status;
}
