/* SPDX-License-Identifier: MIT */
/*
 * errors.c -- releases that went wrong, with both stacks.
 *
 * Room:   outside.
 */
#include "report/errors.h"

#include <inttypes.h>

#include "ledger/ledger.h"
#include "report/stack.h"
#include "report/text.h"

static const char *release_name(uint32_t family)
{
        static const char *const names[] = { [LEDGER_FAMILY_NONE] = "a release",
                                             [LEDGER_FAMILY_C] = "free or realloc",
                                             [LEDGER_FAMILY_NEW] = "delete",
                                             [LEDGER_FAMILY_NEW_ARRAY] = "delete[]",
                                             [LEDGER_FAMILY_MAP] = "munmap" };

        return names[family < sizeof names / sizeof names[0] ? family : 0];
}

static bool is_known(const struct profile *p, const struct profile_error *error)
{
        return error->alloc_site && error->alloc_site < p->site_count;
}

const struct profile_block *errors_around(const struct profile *p, const struct profile_error *error)
{
        const struct profile_block *block = error->type == LEDGER_ERROR_UNKNOWN_FREE ? profile_block_around(p, error->address) : NULL;

        return block && block->birth_ms <= error->first_ms && block->address != error->address ? block : NULL;
}

uint32_t errors_origin(const struct profile *p, const struct profile_error *error)
{
        const struct profile_block *block = is_known(p, error) ? NULL : errors_around(p, error);
        uint32_t site = block ? block->site : error->alloc_site;

        return site < p->site_count ? site : 0;
}

void errors_what(const struct profile *p, const struct profile_error *error, struct str *out)
{
        switch (error->type) {
        case LEDGER_ERROR_DOUBLE_FREE:
                str_text(out, "double free");
                break;
        case LEDGER_ERROR_MISMATCHED:
                str_format(out, "memory of %s released by %s",
                           is_known(p, error) ? profile_kind_name(p, p->sites[error->alloc_site].kind) : "?",
                           release_name(error->release));
                break;
        default:
                str_text(out, "release of memory that was not allocated");
        }
}

static void errors_inside(const struct profile *p, const struct profile_error *error, struct str *out)
{
        const struct profile_block *block = errors_around(p, error);

        if (!block)
                return;
        str_text(out, "  it is ");
        text_count(out, (int64_t)(error->address - block->address), "byte");
        str_format(out, " into the block at 0x%" PRIx64 " of ", block->address);
        text_count(out, (int64_t)block->size, "byte");
        str_char(out, '\n');
}

static void errors_head(const struct profile *p, const struct profile_error *error, struct str *out)
{
        errors_what(p, error, out);
        str_text(out, ", ");
        text_count(out, (int64_t)error->count, "time");
        str_text(out, error->count == 1 ? ", at " : ", first at ");
        text_time(out, error->first_ms);
        str_format(out, ": address 0x%" PRIx64, error->address);
        if (is_known(p, error)) {
                str_text(out, ", ");
                text_number(out, (int64_t)error->size);
                str_text(out, " B");
        }
        str_char(out, '\n');
}

const char *errors_word(uint32_t type)
{
        static const char *const words[] = { [LEDGER_ERROR_DOUBLE_FREE] = "double-free",
                                             [LEDGER_ERROR_MISMATCHED] = "mismatched",
                                             [LEDGER_ERROR_UNKNOWN_FREE] = "unknown-free" };

        return type < sizeof words / sizeof words[0] ? words[type] : NULL;
}

static void errors_entry(const struct selection *sel, struct symbols *s, const struct profile_error *error, struct str *out)
{
        const struct profile *p = sel->profile;
        struct selection whole = { .profile = p, .columns = sel->columns }; /* stacks of errors are never cut */
        uint32_t origin = errors_origin(p, error);

        errors_head(p, error, out);
        errors_inside(p, error, out);
        str_text(out, "  released by\n");
        stack_write_site(&whole, s, error->node, "    ", out);
        if (origin) {
                str_text(out, "  allocated by\n");
                stack_write_site(&whole, s, p->sites[origin].node, "    ", out);
        }
        str_char(out, '\n');
}

void errors_write(const struct selection *sel, struct symbols *s, const struct errors_options *options, struct str *out)
{
        const struct profile *p = sel->profile;
        uint32_t shown = 0, more = 0;

        if (!p->error_count)
                str_text(out, p->totals.sample_bytes ? "wrong releases are not known: it was recorded with --sample\n" : "no release went wrong\n");
        for (uint32_t i = 0; i < p->error_count; i++) {
                if (options->skip && options->skip[i])
                        continue;
                if (options->limit && shown == options->limit) {
                        more++;
                        continue;
                }
                errors_entry(sel, s, &p->errors[i], out);
                shown++;
        }
        if (more)
                str_format(out, "%u more (-n %u)\n", more, options->limit);
}
