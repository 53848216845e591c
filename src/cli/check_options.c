/* SPDX-License-Identifier: MIT */
/* check_options.c -- the options of `seep check`, parsed one by one. */
#include "cli/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/message.h"

const struct option_entry check_options[] = { CHECK_OPTIONS(OPTION_ENTRY) OPTION_END };

_Static_assert(CHECK_NO_ALLOC_IN == (int)BUDGET_NO_ALLOC, "the first options are the budgets");

static int take_expression(struct budgets *b, const char *value)
{
        struct expressions tried = { 0 };
        struct err e = { 0 };

        if (!expressions_add(&tried, value, &e))
                return err_context(&e, "--no-alloc-in"), message_error(&e);
        expressions_free(&tried);
        b->limits[BUDGET_NO_ALLOC].set = true;
        b->expressions = heap_grow(b->expressions, b->expression_count + 1, sizeof *b->expressions);
        b->expressions[b->expression_count++] = value;
        return 0;
}

/* "100K/s", "1M/h": bytes per hour. */
static bool take_rate(const char *value, uint64_t *out)
{
        static const struct {
                const char *unit;
                uint64_t per_hour;
        } units[] = { { "/s", 3600 }, { "/min", 60 }, { "/m", 60 }, { "/h", 1 } };
        const char *slash = strchr(value, '/');
        char *size = slash ? heap_text(value) : NULL;
        uint64_t per_hour = 0;
        bool good;

        for (size_t i = 0; slash && i < sizeof units / sizeof *units; i++)
                if (strcmp(slash, units[i].unit) == 0)
                        per_hour = units[i].per_hour;
        if (size)
                size[slash - value] = 0;
        good = per_hour && quantity_size(size, out) && *out <= UINT64_MAX / per_hour;
        *out = good ? *out * per_hour : 0;
        free(size);
        return good;
}

static int take_budget(struct budgets *b, enum budget budget, const char *value)
{
        struct budget_limit *limit = &b->limits[budget];
        bool size = budget_is_size(budget);

        if (budget == BUDGET_NO_ALLOC)
                return take_expression(b, value);
        if (budget == BUDGET_GROWTH && !take_rate(value, &limit->most))
                return message_usage("check",
                                     "--max-growth needs a rate like 100K/s or 1M/h, not '%s'",
                                     value);
        if (budget != BUDGET_GROWTH &&
            !(size ? quantity_size : quantity_number)(value, &limit->most))
                return message_usage("check",
                                     size ? "--%s needs a size like 200M, not '%s'"
                                          : "--%s needs a number, not '%s'",
                                     budget_option(budget), value);
        limit->set = true;
        limit->typed = value;
        return 0;
}

static int take_number(int which, const char *value, uint64_t most, uint64_t *out)
{
        if (quantity_number(value, out) && *out <= most)
                return 0;
        return message_usage("check", "--%s needs a number up to %llu, not '%s'",
                             check_options[which].name, (unsigned long long)most, value);
}

static int take_process(struct check *c, const char *value)
{
        struct err e = { 0 };

        return expressions_add(&c->processes, value, &e)
                       ? 0
                       : (err_context(&e, "--process"), message_error(&e));
}

/* Options that `seep record` has too mean the same here. */
static int take_record(struct check *c, const char *name, const char *value)
{
        int which = 0;

        while (!record_options[which].name || strcmp(record_options[which].name, name) != 0)
                which++;
        return record_take(&c->record, which, value);
}

static int take_status(struct check *c, const char *value)
{
        uint64_t number = 0;
        int status = take_number(CHECK_ERROR_EXITCODE, value, 255, &number);

        c->error_status = (int)number;
        c->error_status_set = true;
        return status;
}

static int take_limit(struct check *c, const char *value)
{
        uint64_t number = 0;
        int status = take_number(CHECK_LIMIT, value, UINT32_MAX, &number);

        c->limit = (uint32_t)number;
        return status;
}

static int take_tolerance(struct check *c, const char *value)
{
        uint64_t number = 0;
        char *typed = heap_text(value), *sign = strchr(typed, '%');
        int status;

        if (sign && !sign[1])
                *sign = 0;
        status = take_number(CHECK_TOLERANCE, typed, 1000000, &number);
        c->baseline.tolerance = (uint32_t)number;
        free(typed);
        return status;
}

static const char **file_of(struct check *c, int which)
{
        static const int options[CHECK_FILE_COUNT] = {
#define CHECK_FILE_OPTION(id, option) [CHECK_FILE_##id] = option,
                CHECK_FILES(CHECK_FILE_OPTION)
#undef CHECK_FILE_OPTION
        };

        for (int i = 0; i < CHECK_FILE_COUNT; i++)
                if (options[i] == which)
                        return &c->files[i];
        return NULL;
}

/* Options that only put their value somewhere. */
static const char **place_of(struct check *c, int which)
{
        switch (which) {
        case CHECK_BASELINE:
                return &c->baseline_file;
        case CHECK_WRITE_BASELINE:
                return &c->write_baseline;
        case CHECK_SOURCE_ROOT:
                return &c->source_root;
        case CHECK_KEEP:
                return &c->keep;
        default:
                return file_of(c, which);
        }
}

int check_take(void *to, int which, const char *value)
{
        struct check *c = to;
        const char *name = check_options[which].name;
        const char **place = place_of(c, which);
        int status = 0;

        if (which <= CHECK_NO_ALLOC_IN)
                return take_budget(&c->budgets, (enum budget)which, value);
        if (place) {
                *place = value;
                return 0;
        }
        if (names_take(&c->names, "check", name, value, &status))
                return status;
        switch (which) {
        case CHECK_SUPPRESSIONS:
                c->suppressions = heap_grow(c->suppressions, c->suppression_count + 1,
                                            sizeof *c->suppressions);
                c->suppressions[c->suppression_count++] = value;
                return 0;
        case CHECK_PROCESS:
                return take_process(c, value);
        case CHECK_ERROR_EXITCODE:
                return take_status(c, value);
        case CHECK_ANNOTATE:
                c->annotate = option_choice(check_options[which].values, value);
                return 0;
        case CHECK_JSON:
                c->json = true;
                return 0;
        case CHECK_LIMIT:
                return take_limit(c, value);
        case CHECK_TOLERANCE:
                return take_tolerance(c, value);
        case CHECK_COLOR:
                c->color = (enum pager_color)option_choice(PAGER_COLORS, value);
                return 0;
        }
        if (which == CHECK_ALLOW_UNSEEN) {
                c->allow_unseen = true;
                return 0;
        }
        c->quarantine_set = c->quarantine_set || which == CHECK_QUARANTINE;
        c->force = c->force || which == CHECK_FORCE;
        c->quiet = c->quiet || which == CHECK_QUIET;
        return take_record(c, name, value);
}

/* Without a budget: nothing lost, nothing released wrongly. */
static void take_defaults(struct check *c)
{
        struct budget_limit *limits = c->budgets.limits;
        bool any = false;

        for (int i = 0; i < BUDGET_COUNT; i++)
                any = any || limits[i].set;
        if (!any)
                limits[BUDGET_BAD_FREES].set = true;
        if (!any || ((c->baseline_file || c->write_baseline) && !limits[BUDGET_LEAKED].set))
                limits[BUDGET_LEAKS].set = true;
        if (limits[BUDGET_RSS].set && !c->quarantine_set)
                c->record.session.quarantine_bytes = 0; /* it would count as the program's */
}

int check_settle(struct check *c)
{
        if (c->program_argv && c->recording_count)
                return message_usage("check",
                                     "either recordings or a program, not both: '%s' is before "
                                     "'--'", c->recordings[0]);
        if (!c->program_argv && c->record.pattern)
                return message_usage("check",
                                     "-o is for the recordings of a program that is run: seep "
                                     "check -o FILE -- PROGRAM");
        if (c->keep && (!c->program_argv || c->record.pattern))
                return message_usage("check", c->program_argv
                                                      ? "--keep DIR and -o FILE both say where "
                                                        "recordings go: give one of them"
                                                      : "--keep is for a program that is run: seep "
                                                        "check --keep DIR -- PROGRAM");
        if (c->program_argv && !c->program_argv[0])
                return message_usage("check", "which program? seep check -- PROGRAM [ARG...]");
        if (!c->error_status_set)
                c->error_status = ERR_EXIT_FINDINGS;
        take_defaults(c);
        names_settle(&c->names, c->quiet);
        return record_settle(&c->record);
}

void check_free(struct check *c)
{
        free(c->budgets.expressions);
        free(c->suppressions);
        expressions_free(&c->processes);
        baseline_free(&c->baseline);
        location_free(&c->root);
        findings_free(&c->findings);
        check_drop_files(c);
}
