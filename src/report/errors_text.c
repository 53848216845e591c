/* SPDX-License-Identifier: MIT */
/* errors_text.c -- invalid frees, with both stacks. */
#include <inttypes.h>

#include "ledger/ledger.h"
#include "query/errors.h"
#include "report/stack.h"
#include "report/views.h"
#include "words/text.h"

static void errors_inside(const struct profile *p, const struct profile_error *error,
                          struct str *out)
{
        struct errors_block block = errors_around(p, error);

        if (!block.site)
                return;
        str_text(out, "  it is ");
        text_count(out, (int64_t)(error->address - block.address), "byte");
        str_format(out, " into the block at 0x%" PRIx64 " of ", block.address);
        text_count(out, (int64_t)block.size, "byte");
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
        if (errors_is_known(p, error) && error->type != LEDGER_ERROR_UNKNOWN_FREE) {
                str_text(out, ", ");
                text_number(out, (int64_t)error->size);
                str_text(out, " B");
        }
        str_char(out, '\n');
}

static void errors_entry(const struct selection *sel, struct symbols *s,
                         const struct profile_error *error, struct str *out)
{
        const struct profile *p = sel->profile;
        /* Stacks of errors are never cut. */
        struct selection whole = { .profile = p, .columns = sel->columns, .fold = sel->fold };
        uint32_t origin = errors_origin(p, error);

        errors_head(p, error, out);
        errors_inside(p, error, out);
        str_text(out, "  freed by\n");
        stack_write_site(&whole, s, error->node, "    ", out);
        if (error->free_node) {
                str_text(out, "  first freed by\n");
                stack_write_site(&whole, s, error->free_node, "    ", out);
        }
        if (origin) {
                str_text(out, "  allocated by\n");
                stack_write_site(&whole, s, p->sites[origin].node, "    ", out);
        }
        str_char(out, '\n');
}

void errors_write(const struct selection *sel, struct symbols *s,
                  const struct errors_options *options, struct str *out)
{
        const struct profile *p = sel->profile;
        uint32_t shown = 0, more = 0;

        if (!p->error_count)
                str_text(out,
                         p->totals.sample_bytes
                                 ? "invalid frees are not known: it was recorded with --sample\n"
                         : p->totals.thin_ms[0] ? "no invalid frees before --limit-ledger was "
                                                  "near; later ones are not known\n"
                                                : "no invalid frees\n");
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
