/* SPDX-License-Identifier: MIT */
/* test_stack_costs.c -- the stacks of a selection as a tree of frames with names. */
#include "base/heap.h"
#include "export/stack_costs.h"

#include "forge.h"
#include "tap.h"

/*
 * __libc_start_call_main main work helper     100     helper is inlined into work, at two lines
 *                        main work helper      20
 *                        main 0x5000            3     code without a name
 *                                               7     no stack at all
 */
static void forge_inlined(struct profile *p)
{
        uint32_t start, in_main;
        uint16_t m;

        forge_start(p);
        m = forge_module(p, "/bin/prog");
        forge_name(p, 0x100, 0, "__libc_start_call_main", NULL, 0);
        forge_name(p, 0x200, 0, "main", "/src/m.c", 5);
        forge_name(p, 0x300, 0, "helper", "/src/h.h", 1);
        forge_name(p, 0x300, 1, "work", "/src/w.c", 10);
        forge_name(p, 0x310, 0, "helper", "/src/h.h", 1);
        forge_name(p, 0x310, 1, "work", "/src/w.c", 20);
        start = forge_node(p, 0, 0x100, m);
        in_main = forge_node(p, start, 0x200, m);
        forge_site(p, forge_node(p, in_main, 0x300, m), LEDGER_KIND_MALLOC, 100, 1);
        forge_site(p, forge_node(p, in_main, 0x310, m), LEDGER_KIND_MALLOC, 20, 1);
        forge_site(p, forge_node(p, in_main, 0x5000, m), LEDGER_KIND_MALLOC, 3, 1);
        forge_site(p, 0, LEDGER_KIND_MALLOC, 7, 1);
        forge_site(p, in_main, LEDGER_KIND_MMAP, 4096, 1);
}

/* All stacks, outermost first: "main;work;helper 100". */
static const char *written(const struct profile *p, enum calltree_by by, struct str *out)
{
        struct symbols *symbols = forge_symbols(p);
        struct export_input in = { .profile = p, .symbols = symbols };
        struct stack_costs_buffer buffer = { 0 };
        struct selection sel;
        struct stack_costs s;
        struct err e = { 0 };

        is_true(select_make(&sel, p, symbols, &(struct select_request){ .cost = SELECT_LIVE }, &e));
        in.sel = &sel;
        stack_costs_make(&s, &in, by);
        str_clear(out);
        for (uint32_t i = 0; i < s.sample_count; i++) {
                uint32_t count;
                const uint32_t *frames = stack_costs_outermost_first(&s, s.samples[i].node, &buffer,
                                                                     &count);

                for (uint32_t k = 0; k < count; k++) {
                        stack_costs_name(&s, frames[k], out);
                        str_char(out, k + 1 < count ? ';' : ' ');
                }
                str_format(out, "%d\n", (int)s.samples[i].costs.of[COST_LIVE_BYTES]);
        }
        is_equal(stack_costs_totals(&s).of[COST_LIVE_BYTES], sel.heap.total_bytes);
        stack_costs_free(&s);
        select_free(&sel);
        symbols_free(symbols);
        free(buffer.at);
        return str_get(out);
}

TEST(inlined_functions_are_frames_and_start_code_is_left_out)
{
        struct profile p;
        struct str out = { 0 };

        forge_inlined(&p);
        is_text(written(&p, CALLTREE_BY_LINE, &out),
                "main;work;helper 100\nmain;work;helper 20\nmain;prog+0x5000 3\n[no stack "
                "recorded] 7\n");
        str_free(&out);
        profile_free(&p);
}

TEST(stacks_that_are_equal_by_name_are_one)
{
        struct profile p;
        struct str out = { 0 };
        const char *wanted = "main;work;helper 120\nmain;prog+0x5000 3\n[no stack recorded] 7\n";

        forge_inlined(&p);
        is_text(written(&p, CALLTREE_BY_NAME, &out), wanted);
        is_text(written(&p, CALLTREE_BY_FUNCTION, &out), wanted);
        str_free(&out);
        profile_free(&p);
}

TEST(functions_at_one_address_have_one_caller)
{
        struct profile p;
        struct str out = { 0 };
        struct selection whole = { .profile = &p };
        struct symbols *symbols;
        struct calltree t;
        uint32_t *ends, inner;

        forge_inlined(&p);
        symbols = forge_symbols(&p);
        ends = heap_zero(p.node_count, sizeof *ends);
        is_text(written(&p, CALLTREE_BY_PLACE, &out),
                "main;work;helper 100\nmain;work;helper 20\nmain;prog+0x5000 3\n[no stack "
                "recorded] 7\n");
        str_free(&out);
        calltree_start(&t, &p, symbols, CALLTREE_BY_PLACE);
        inner = calltree_add(&t, &whole, ends, (struct wrapper_frame){ p.sites[1].node, 0 });
        is_equal(t.frames[t.nodes.list[inner].frame].rest, 2);
        is_text(t.frames[t.nodes.list[calltree_caller(&t, inner)].frame].names->function, "main");
        is_equal(calltree_caller(&t, calltree_caller(&t, inner)), 0);
        is_equal(calltree_add(&t, &whole, ends, (struct wrapper_frame){ p.sites[1].node, 1 }),
                 t.nodes.list[inner].parent);
        calltree_free(&t);
        free(ends);
        symbols_free(symbols);
        profile_free(&p);
}

TEST(plain_text_is_one_line_of_utf8)
{
        struct str out = { 0 };

        stack_costs_plain_text("a;b\nc\t\x7f\xffz\xe2\x80\xa8\xc2\x85y\xc2\xa0\xe2\x82\xac", ";",
                               ':', &out);
        is_text(str_get(&out), "a:b c  \xef\xbf\xbdz  y\xc2\xa0\xe2\x82\xac");
        str_free(&out);
}

TAP_MAIN(inlined_functions_are_frames_and_start_code_is_left_out,
         stacks_that_are_equal_by_name_are_one, functions_at_one_address_have_one_caller,
         plain_text_is_one_line_of_utf8)
