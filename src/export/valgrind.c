/* SPDX-License-Identifier: MIT */
#include "export/valgrind.h"

#include <inttypes.h>

#include "words/label.h"

void valgrind_frame(const struct stack_costs *s, uint32_t frame, const char *forbidden,
                    struct str *out)
{
        const struct symbol_frame *names = s->frames[frame].names;
        const char *module = stack_costs_module(s, frame);

        str_format(out, "0x%" PRIX64 ": ", s->profile->nodes[s->frames[frame].node].pc);
        stack_costs_plain_name(s, frame, forbidden, '_', out);
        if (!names->file && !module)
                return;
        str_text(out, names->file ? " (" : " (in ");
        stack_costs_plain_text(names->file ? label_base(names->file) : module, forbidden, '_', out);
        if (names->file)
                str_format(out, ":%u", names->line);
        str_char(out, ')');
}

void valgrind_command(const struct profile *p, const char *forbidden, struct str *out)
{
        if (!p->meta.arg_count)
                stack_costs_plain_text(p->meta.program ? p->meta.program : "", forbidden, '_', out);
        for (uint32_t i = 0; i < p->meta.arg_count; i++) {
                if (i)
                        str_char(out, ' ');
                stack_costs_plain_text(p->meta.args[i], forbidden, '_', out);
        }
}
