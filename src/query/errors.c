/* SPDX-License-Identifier: MIT */
#include "query/errors.h"

#include <inttypes.h>

#include "ledger/ledger.h"
#include "profile/dense.h"

static const char *release_name(uint32_t family)
{
        static const char *const names[] = { [LEDGER_FAMILY_NONE] = "a release",
                                             [LEDGER_FAMILY_C] = "free or realloc",
                                             [LEDGER_FAMILY_NEW] = "delete",
                                             [LEDGER_FAMILY_NEW_ARRAY] = "delete[]",
                                             [LEDGER_FAMILY_MAP] = "munmap" };

        return names[family < sizeof names / sizeof names[0] ? family : 0];
}

bool errors_is_known(const struct profile *p, const struct profile_error *error)
{
        return error->alloc_site && error->alloc_site < p->site_count;
}

/* The agent has told it, unless the recording is older than that: then the blocks of its end are
 * asked. */
struct errors_block errors_around(const struct profile *p, const struct profile_error *error)
{
        struct profile_block block;
        uint32_t number;

        if (error->type != LEDGER_ERROR_UNKNOWN_FREE)
                return (struct errors_block){ 0 };
        if (errors_is_known(p, error))
                return (struct errors_block){ error->address - error->given, error->size,
                                              error->alloc_site };
        if (!dense_around(p, error->address, &number, &block) ||
            block.birth_ms > error->first_ms || block.address == error->address)
                return (struct errors_block){ 0 };
        return (struct errors_block){ block.address, block.size, block.site };
}

uint32_t errors_origin(const struct profile *p, const struct profile_error *error)
{
        uint32_t site = errors_is_known(p, error) ? error->alloc_site
                                                  : errors_around(p, error).site;

        return site < p->site_count ? site : 0;
}

/* "memory of new, 124 bytes, released by delete as 4 bytes" */
static void errors_mismatch(const struct profile *p, const struct profile_error *error,
                            struct str *out)
{
        str_format(out, "memory of %s",
                   errors_is_known(p, error)
                           ? profile_kind_name(p, p->sites[error->alloc_site].kind)
                           : "?");
        if (error->wrong == LEDGER_WRONG_SIZE)
                str_format(out, ", %" PRIu64 " byte%s,", error->size, error->size == 1 ? "" : "s");
        if (error->wrong == LEDGER_WRONG_ALIGNMENT && error->alignment)
                str_format(out, ", aligned to %" PRIu64 ",", error->alignment);
        else if (error->wrong == LEDGER_WRONG_ALIGNMENT)
                str_text(out, ", without an alignment,");
        str_format(out, " freed by %s", release_name(error->release));
        if (error->wrong == LEDGER_WRONG_SIZE)
                str_format(out, " of %" PRIu64 " byte%s", error->given,
                           error->given == 1 ? "" : "s");
        if (error->wrong == LEDGER_WRONG_ALIGNMENT && error->given)
                str_format(out, " with alignment %" PRIu64, error->given);
        else if (error->wrong == LEDGER_WRONG_ALIGNMENT)
                str_text(out, " without an alignment");
}

void errors_what(const struct profile *p, const struct profile_error *error, struct str *out)
{
        switch (error->type) {
        case LEDGER_ERROR_DOUBLE_FREE:
                str_text(out, "double free");
                break;
        case LEDGER_ERROR_MISMATCHED:
                errors_mismatch(p, error, out);
                break;
        default:
                str_text(out, "invalid free of memory that was not allocated");
        }
}

const char *errors_word(uint32_t type)
{
        static const char *const words[] = { [LEDGER_ERROR_DOUBLE_FREE] = "double-free",
                                             [LEDGER_ERROR_MISMATCHED] = "mismatched",
                                             [LEDGER_ERROR_UNKNOWN_FREE] = "unknown-free" };

        return type < sizeof words / sizeof words[0] ? words[type] : NULL;
}
