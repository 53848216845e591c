/* SPDX-License-Identifier: MIT */
/*
 * stack.c -- a whole call stack, one line per frame.
 *
 * Room:   outside.
 */
#include "report/stack.h"

#include "report/label.h"

void stack_write(const struct selection *sel, struct symbols *s, struct wrapper_frame from, const char *indent,
                 struct str *out)
{
        const struct symbol_frame *frames;
        uint32_t node = from.node, innermost = node;

        if (node <= 1) {
                str_text(out, indent);
                label_function(sel->profile, node, &(struct symbol_frame){ 0 }, out);
                str_char(out, '\n');
        }
        for (; node > 1; node = select_parent(sel, node)) {
                uint32_t origin = select_origin(sel, node), count = symbols_node(s, origin, &frames);

                if (node != innermost && label_is_start(&frames[count - 1]))
                        break;
                for (uint32_t i = node == innermost ? from.level : 0; i < count; i++) {
                        str_text(out, indent);
                        label_frame(sel->profile, origin, &frames[i], out);
                        str_text(out, frames[i].inlined ? " (inlined)\n" : "\n");
                }
        }
        if (node == 1 && innermost > 1) { /* the root of stacks that were cut off */
                str_text(out, indent);
                str_text(out, "(cut off here: code without unwind tables)\n");
        }
}

void stack_write_site(const struct selection *sel, struct symbols *s, uint32_t node, const char *indent,
                      struct str *out)
{
        stack_write(sel, s, wrappers_trim(sel->wrappers, sel->profile, s, node), indent, out);
}
