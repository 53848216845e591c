/* SPDX-License-Identifier: MIT */
/* record_options.c -- the options of `seep record`, parsed one by one. */
#include "cli/record.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/quantity.h"
#include "base/signals.h"
#include "cli/command.h"
#include "cli/message.h"
#include "ledger/weight.h"
#include "session/lingering.h"
#include "wire/hello.h"

#define RECORD_EVERY_MIN_MS 10u /* the observer's own clock is no finer */
#define RECORD_PUSH_MIN_MS 1000u
#define RECORD_QUARANTINE_USUAL_BYTES (16u << 20)
#define RECORD_QUARANTINE_MOST (64ull << 30)
#define RECORD_FILL_USUAL "0xa5" /* eight of them are no address */
#define RECORD_SAMPLE_USUAL "512K"
#define RECORD_SAMPLE_USUAL_BYTES (512u << 10)
#define RECORD_LEDGER_LEAST (8u << 20)

const struct option_entry record_options[] = { RECORD_OPTIONS(OPTION_ENTRY) OPTION_END };

int record_option(const struct option_entry *other)
{
        for (int i = 0; record_options[i].help; i++)
                if (record_options[i].name && other->name &&
                    strcmp(record_options[i].name, other->name) == 0)
                        return i;
        return OPTION_WRONG;
}

void record_start(struct record *r)
{
        *r = (struct record){ .session = { .follow = SESSION_FOLLOW_EXEC,
                                           .flags = WIRE_F_LEAK_SCAN } };
}

void record_guard(struct record *r)
{
        r->session.flags |= WIRE_F_KEEP_GOING;
        r->session.quarantine_bytes = RECORD_QUARANTINE_USUAL_BYTES;
        r->session.fill = 256 + 0xa5;
}

void record_free(struct record *r)
{
        if (r->suppressions)
                suppress_free(r->suppressions);
        free(r->suppressions);
        r->suppressions = NULL;
        free(r->processes);
        r->processes = NULL;
        free(r->push_labels);
        r->push_labels = NULL;
        custom_free(&r->custom);
}

static int take_depth(struct session_options *o, const char *value)
{
        uint64_t depth;

        if (!quantity_number(value, &depth) || depth > UINT32_MAX)
                return message_usage("record", "--depth needs a number, not '%s'", value);
        o->depth = (uint32_t)depth;
        o->flags = depth ? o->flags & ~WIRE_F_NO_STACKS : o->flags | WIRE_F_NO_STACKS;
        return 0;
}

static int take_size(int which, const char *value, uint64_t *out)
{
        if (quantity_size(value, out) && *out > 0)
                return 0;
        return message_usage("record", "--%s needs a size like 500M, not '%s'",
                             record_options[which].name, value);
}

static int take_time(int which, const char *value, uint64_t *out)
{
        if (quantity_time(value, out) && *out > 0)
                return 0;
        return message_usage("record", "--%s needs a time like 10s, not '%s'",
                             record_options[which].name, value);
}

static int take_every(int which, const char *value, uint32_t least_ms, uint64_t *out)
{
        int status = take_time(which, value, out);

        if (!status && *out < least_ms)
                return message_usage("record", "--%s %s: at most once every %u ms",
                                     record_options[which].name, value, least_ms);
        return status;
}

static int take_signal(struct session_options *o, const char *value)
{
        struct err e = { 0 };

        return signals_parse(value, &o->signal, &e)
                       ? 0
                       : message_usage("record", "--signal: %s", e.text);
}

static int take_suppressions(struct record *r, const char *value)
{
        struct err e = { 0 };

        if (!r->suppressions)
                r->suppressions = heap_zero(1, sizeof *r->suppressions);
        return suppress_read_file(r->suppressions, value, &e) ? 0 : message_error(&e);
}

static int take_action(struct record *r, const char *value)
{
        static const uint32_t flags[] = { 0, WIRE_F_LIMIT_ENOMEM, WIRE_F_LIMIT_SNAPSHOT };
        int choice = option_choice(record_options[RECORD_LIMIT_ACTION].values, value);

        r->session.flags &= ~(WIRE_F_LIMIT_ENOMEM | WIRE_F_LIMIT_SNAPSHOT);
        r->session.flags |= flags[choice];
        r->action_given = true;
        return 0;
}

static int take_sample(struct record *r, const char *value)
{
        uint64_t bytes = 0;

        r->sample_given = true;
        if (strcmp(value, "0") != 0 && take_size(RECORD_SAMPLE, value, &bytes) != 0)
                return ERR_EXIT_USAGE;
        if (bytes > WEIGHT_MEAN_MAX)
                return message_usage("record", "--sample=%s: the maximum is 16G", value);
        r->session.sample_bytes = bytes;
        return 0;
}

static int take_ledger_limit(struct session_options *o, const char *value)
{
        if (take_size(RECORD_LIMIT_LEDGER, value, &o->ledger_bytes) != 0)
                return ERR_EXIT_USAGE;
        if (o->ledger_bytes && o->ledger_bytes < RECORD_LEDGER_LEAST)
                return message_usage("record", "--limit-ledger=%s: the minimum is 8M", value);
        return 0;
}

static int take_quarantine(struct record *r, const char *value)
{
        uint64_t bytes = 0;

        if (strcmp(value, "0") != 0 && take_size(RECORD_QUARANTINE, value, &bytes) != 0)
                return ERR_EXIT_USAGE;
        if (bytes > RECORD_QUARANTINE_MOST)
                return message_usage("record", "--quarantine %s: the maximum is 64G", value);
        r->session.quarantine_bytes = bytes;
        return 0;
}

static int take_fill(struct record *r, const char *value)
{
        char *end;
        unsigned long byte = strtoul(value, &end, 0);

        if (*end || end == value || byte > 255)
                return message_usage("record", "--fill needs a byte like 0xa5 or 0, not '%s'",
                                     value);
        r->session.fill = 256 + (uint32_t)byte;
        return 0;
}

/* For whom to wait when the program has ended. */
static int take_wait(struct record *r, const char *value)
{
        uint64_t *wait_ms = &r->session.wait_ms;

        r->wait_given = true;
        *wait_ms = strcmp(value, "all") == 0 ? LINGERING_ALL : 0;
        if (*wait_ms || strcmp(value, "program") == 0 ||
            (quantity_time(value, wait_ms) && *wait_ms > 0))
                return 0;
        return message_usage("record", "--wait needs program, all or a time like 10s, not '%s'",
                             value);
}

/* One more expression; together they are alternatives of one. */
static int take_omit(struct session_options *o, const char *value)
{
        size_t length = strlen(o->omit);
        uint32_t at = 0, columns = 0;
        const char *why = regex_fault(value, &at);

        if (!why && length + 1 + strlen(value) > REGEX_MAX)
                return message_usage("record",
                                     "--omit: all expressions together are limited to %u bytes",
                                     REGEX_MAX);
        for (uint32_t i = 0; i < at; i++)
                columns += ((unsigned char)value[i] & 0xc0) != 0x80;
        if (why)
                return message_usage("record", "--omit: %s, at character %u\n    %.*s\n    %*s^",
                                     why, columns + 1, (int)REGEX_MAX, value, (int)columns, "");
        snprintf(o->omit + length, sizeof o->omit - length, "%s%s", length ? "|" : "", value);
        o->flags |= WIRE_F_OMIT;
        return 0;
}

/* Options that do nothing but set a flag of the agent's. */
static uint32_t flag_of(int which)
{
        static const uint32_t flags[RECORD_COUNT] = {
                [RECORD_NO_MMAP] = WIRE_F_NO_MMAP,         [RECORD_NO_CXX] = WIRE_F_NO_CXX,
                [RECORD_START_OFF] = WIRE_F_START_OFF,     [RECORD_TRACK_FDS] = WIRE_F_TRACK_FDS,
                [RECORD_FREE_STACKS] = WIRE_F_FREE_STACKS, [RECORD_EVENTS] = WIRE_F_EVENTS,
                [RECORD_KEEP_GOING] = WIRE_F_KEEP_GOING,   [RECORD_DEEPBIND] = WIRE_F_DEEPBIND,
        };

        return flags[which];
}

static int take_label(struct record *r, const char *value)
{
        r->push_labels = heap_grow(r->push_labels, r->push_label_count + 1, sizeof *r->push_labels);
        r->push_labels[r->push_label_count++] = value;
        return 0;
}

static int take_engine(struct record *r, const char *value)
{
        r->engine = (enum engine)option_choice(record_options[RECORD_ENGINE].values, value);
        return 0;
}

static int take_hook(struct record *r, const char *value)
{
        struct err e = { 0 };

        return custom_parse(&r->custom, value, &e) ? 0
                                                   : message_usage("record", "--hook: %s", e.text);
}

/* With one part, each new one would leave nothing. */
static int take_parts(const char *value, uint32_t *out)
{
        uint64_t number;

        if (!quantity_number(value, &number) || number < 2 || number > UINT32_MAX)
                return message_usage("record",
                                     "--max-files '%s': a number of at least 2 is expected", value);
        *out = (uint32_t)number;
        return 0;
}

/* Options with a value. */
static int take_follow(struct session_options *o, const char *value)
{
        const char *words = record_options[RECORD_FOLLOW].values;

        o->follow = (enum session_follow)option_choice(words, value);
        return 0;
}

static void take_process(struct record *r, const char *value)
{
        r->processes = heap_grow(r->processes, r->process_count + 1, sizeof *r->processes);
        r->processes[r->process_count++] = value;
}

static int take_value(struct record *r, int which, const char *value)
{
        struct session_options *o = &r->session;

        switch (which) {
        case RECORD_OUTPUT: r->pattern = value; break;
        case RECORD_USER: r->user = value; break;
        case RECORD_PID: take_process(r, value); break;
        case RECORD_ENGINE:
                return take_engine(r, value);
        case RECORD_NO_HARDWARE: break; /* there are none */
        case RECORD_HOOK:
                return take_hook(r, value);
        case RECORD_DEPTH:
                return take_depth(o, value);
        case RECORD_FOLLOW:
                return take_follow(o, value);
        case RECORD_WAIT:
                return take_wait(r, value);
        case RECORD_DURATION:
                return take_time(which, value, &o->duration_ms);
        case RECORD_SIGNAL:
                return take_signal(o, value);
        case RECORD_EVERY:
                return take_every(which, value, RECORD_EVERY_MIN_MS, &o->snapshot_every_ms);
        case RECORD_AT_RSS:
                return take_size(which, value, &o->snapshot_rss_bytes);
        case RECORD_AT_HEAP:
                return take_size(which, value, &o->snapshot_heap_bytes);
        case RECORD_LIMIT_LEDGER:
                return take_ledger_limit(o, value);
        case RECORD_LIMIT_HEAP:
                o->limit_text = value;
                return take_size(which, value, &o->limit_bytes);
        case RECORD_LIMIT_ACTION:
                return take_action(r, value);
        case RECORD_SAMPLE:
                return take_sample(r, value);
        case RECORD_QUARANTINE:
                return take_quarantine(r, value);
        case RECORD_FILL:
                return take_fill(r, value);
        case RECORD_OMIT:
                return take_omit(o, value);
        case RECORD_PUSH:
                r->push = value;
                break;
        case RECORD_PUSH_EVERY:
                return take_every(which, value, RECORD_PUSH_MIN_MS, &r->push_every_ms);
        case RECORD_PUSH_LABEL:
                return take_label(r, value);
        case RECORD_SUPPRESSIONS:
                return take_suppressions(r, value);
        case RECORD_MAX_FILE:
                return take_size(which, value, &o->max_file_bytes);
        case RECORD_MAX_FILES:
                return take_parts(value, &o->max_files);
        }
        return 0;
}

int record_take(struct record *r, int which, const char *value)
{
        if (value || which == RECORD_SAMPLE || which == RECORD_FILL)
                return take_value(r, which,
                                  value                  ? value
                                  : which == RECORD_FILL ? RECORD_FILL_USUAL
                                                         : RECORD_SAMPLE_USUAL);
        r->session.flags |= flag_of(which);
        r->session.flags &= which == RECORD_NO_SCAN         ? ~WIRE_F_LEAK_SCAN
                            : which == RECORD_NO_KEEP_GOING ? ~WIRE_F_KEEP_GOING
                                                            : ~0u;
        r->session.fill = which == RECORD_NO_FILL ? 0 : r->session.fill;
        r->session.scan_flags |= which == RECORD_KEEP_GRAPH  ? WIRE_SCAN_GRAPH
                                 : which == RECORD_UNALIGNED ? WIRE_SCAN_UNALIGNED
                                                             : 0;
        r->walk_heap = r->walk_heap || which == RECORD_WALK_HEAP;
        r->force = r->force || which == RECORD_FORCE;
        r->no_summary = r->no_summary || which == RECORD_NO_SUMMARY;
        r->quiet = r->quiet || which == RECORD_QUIET;
        r->exit_code = r->exit_code || which == RECORD_EXIT_CODE;
        r->python = r->python || which == RECORD_PYTHON;
        r->keep_small = r->keep_small || which == RECORD_KEEP_SMALL;
        r->session.gpu = r->session.gpu || which == RECORD_TRACK_GPU;
        r->session.verbose += which == RECORD_VERBOSE;
        return 0;
}

/* What needs to know every block. */
static const char *what_samples_cannot(const struct session_options *o)
{
        if (o->flags & WIRE_F_EVENTS)
                return "--events";
        if (o->limit_bytes)
                return "--limit-heap";
        if (o->snapshot_heap_bytes)
                return "--snapshot-at-heap";
        if (o->flags & WIRE_F_KEEP_GOING)
                return "--keep-going";
        if (o->flags & WIRE_F_OMIT)
                return "--omit";
        return o->quarantine_bytes ? "--quarantine" : o->fill ? "--fill" : NULL;
}

static int settle_sampling(struct record *r)
{
        struct session_options *o = &r->session;
        const char *exact = what_samples_cannot(o);

        if (r->push && !r->sample_given)
                o->sample_bytes = RECORD_SAMPLE_USUAL_BYTES;
        if (o->ledger_bytes && exact)
                return message_usage("record",
                                     "%s needs every block, but near --limit-ledger only a sample "
                                     "is recorded", exact);
        if (!o->sample_bytes)
                return 0;
        if (exact)
                return message_usage("record", "%s needs every block, but %s records only a sample",
                                     exact,
                                     r->sample_given ? "--sample" : "--push (without --sample=0)");
        o->flags &= ~WIRE_F_LEAK_SCAN; /* pointers in and to unknown blocks would be missed */
        return 0;
}

/* What an agent does inside a program, and breakpoints cannot. */
static const char *needs_agent(const struct session_options *o)
{
        static const struct {
                uint32_t flag;
                int option;
        } flags[] = { { WIRE_F_EVENTS, RECORD_EVENTS },
                      { WIRE_F_START_OFF, RECORD_START_OFF },
                      { WIRE_F_TRACK_FDS, RECORD_TRACK_FDS },
                      { WIRE_F_FREE_STACKS, RECORD_FREE_STACKS },
                      { WIRE_F_KEEP_GOING, RECORD_KEEP_GOING } };
        const struct {
                uint64_t value;
                int option;
        } values[] = { { o->sample_bytes, RECORD_SAMPLE },
                       { o->limit_bytes, RECORD_LIMIT_HEAP },
                       { o->snapshot_heap_bytes, RECORD_AT_HEAP },
                       { o->quarantine_bytes, RECORD_QUARANTINE },
                       { o->fill, RECORD_FILL },
                       { o->ledger_bytes, RECORD_LIMIT_LEDGER },
                       { o->signal, RECORD_SIGNAL } };

        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
                if (o->flags & flags[i].flag)
                        return record_options[flags[i].option].name;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
                if (values[i].value)
                        return record_options[values[i].option].name;
        return NULL;
}

static int settle_engine(const struct record *r)
{
        const char *option = r->engine == ENGINE_BREAKPOINT ? needs_agent(&r->session) : NULL;

        if (r->session.gpu && r->engine == ENGINE_BREAKPOINT)
                return message_usage("record", "--track-gpu needs our library in the program, "
                                               "which --engine breakpoint leaves alone");
        if ((r->engine == ENGINE_PRELOAD || r->engine == ENGINE_BREAKPOINT) && r->custom.count)
                return message_usage("record", "--hook changes the code of the program, which this "
                                               "--engine does not do; use --engine inject");
        if (!option)
                return 0;
        return message_usage("record", "--%s needs our library in the program, which --engine "
                                       "breakpoint leaves alone; use --engine preload", option);
}

int record_settle(struct record *r)
{
        if (!r->push && (r->push_every_ms || r->push_label_count))
                return message_usage("record", "%s needs --push",
                                     r->push_every_ms ? "--every" : "--label");
        if (settle_sampling(r) != 0 || settle_engine(r) != 0)
                return ERR_EXIT_USAGE;
        if (r->walk_heap && !(r->session.flags & WIRE_F_LEAK_SCAN))
                return message_usage("record",
                                     "--walk-heap is for the search for leaks, which "
                                     "--no-leak-scan and --sample switch off");
        if (r->wait_given && r->session.wait_ms && r->session.follow == SESSION_FOLLOW_NONE)
                return message_usage(
                        "record", "--wait: --follow=none records no other processes to wait for");
        if (!r->wait_given)
                r->session.wait_ms = r->session.follow == SESSION_FOLLOW_ALL ? LINGERING_ALL : 0;
        if (r->action_given && !r->session.limit_bytes)
                return message_usage("record", "--limit-action needs --limit-heap");
        if (r->session.max_file_bytes && !(r->session.flags & WIRE_F_EVENTS))
                return message_usage("record",
                                     "--max-file limits the event log: it needs --events");
        if (r->session.max_files && !r->session.max_file_bytes)
                return message_usage("record", "--max-files needs --max-file, the size of a part");
        return 0;
}
