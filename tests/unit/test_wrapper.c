/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "query/select.h"
#include "query/wrapper.h"
#include "report/flat.h"
#include "report/views.h"

/* A stack of one frame per name, outermost first; returns its innermost node. */
static uint32_t forge_stack(struct profile *p, const char *const *names, uint32_t count)
{
        static uint64_t pc = 0x1000;
        uint32_t node = 0;

        for (uint32_t i = 0; i < count; i++, pc += 16) {
                forge_name(p, pc, 0, names[i], "/src/a.cpp", i + 1);
                node = forge_node(p, node, pc, 0);
        }
        return node;
}

/* The function at which the stack main, user, NAME ends when wrappers are hidden; to be freed. */
static char *end_of(const char *name, const char *hide)
{
        const char *names[] = { "main", "user", name };
        const struct symbol_frame *frames;
        struct wrappers w = { 0 };
        struct wrapper_frame end;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;
        char *found;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        end.node = forge_stack(&p, names, 3);
        s = forge_symbols(&p);
        is_true(!hide || wrappers_add(&w, hide, &e));
        end = wrappers_trim(&w, &p, s, end.node);
        symbols_node(s, end.node, &frames);
        found = heap_text(frames[end.level].function);
        wrappers_free(&w);
        symbols_free(s);
        profile_free(&p);
        return found;
}

static void hidden(const char *name, const char *hide, bool expected)
{
        char *end = end_of(name, hide);

        if (!is_true((strcmp(end, "user") == 0) == expected))
                printf("# %s\n", name);
        free(end);
}

TEST(what_passes_an_allocation_on_is_a_wrapper)
{
        static const char *const names[] = {
                "xmalloc",
                "xcalloc",
                "xrealloc",
                "g_malloc",
                "g_malloc0_n",
                "g_try_realloc",
                "zmalloc_usable",
                "operator new(unsigned long)",
                "operator new[](unsigned long, std::align_val_t)",
                "std::allocator<std::pair<int const, Big> >::allocate(unsigned long)",
                "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
                "unsigned long)",
                "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
                "std::__new_allocator<int>::allocate(unsigned long, void const*)",
                "std::__allocated_ptr<std::allocator<int> > "
                "std::__allocate_guarded<std::allocator<int> >(std::allocator<int>&)",
                "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
                "std::vector<int>::_M_realloc_insert<int const&>(int const&)",
                "std::string::_M_create(unsigned long&, unsigned long)",
                "__rust_alloc",
                "__rdl_alloc",
                "__rg_realloc",
                "alloc::alloc::alloc",
                "alloc::vec::Vec<T>::with_capacity",
                "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
                "<T as alloc::slice::hack::ConvertVec>::to_vec",
        };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                hidden(names[i], NULL, true);
}

TEST(what_makes_something_is_none)
{
        static const char *const names[] = {
                "strdup",
                "xstrdup",
                "g_strdup",
                "malloc_table",
                "my_alloc",
                "newt",
                "allocator::grow()",
                "parse<std::allocator<int> >(int)",
                "std::vector<int>::push_back(int const&)",
                "std::map<int, int>::operator[](int const&)",
                "operator<<(std::ostream&, X)",
                "core::fmt::format",
                "<prog::Table as prog::Grow>::alloc",
                "reserve(std::vector<int>&) const",
        };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                hidden(names[i], NULL, false);
}

TEST(the_list_can_be_made_longer)
{
        hidden("pool_get", NULL, false);
        hidden("pool_get", "^pool_", true);
        hidden("my_pool_get", "^pool_", false);
}

/* main calls user three times: through two lines of xmalloc, and once itself; another stack is
 * wrappers only. */
static void forge_wrapped(struct profile *p)
{
        uint32_t in_main, user;

        forge_start(p);
        forge_module(p, "/bin/prog");
        forge_name(p, 0x100, 0, "main", "/src/m.c", 1);
        forge_name(p, 0x200, 0, "user", "/src/u.c", 2);
        forge_name(p, 0x300, 0, "xmalloc", "/src/x.c", 3);
        forge_name(p, 0x310, 0, "xmalloc", "/src/x.c", 4);
        forge_name(p, 0x400, 0, "operator new(unsigned long)", "/src/n.c", 5);
        forge_name(p, 0x400, 1, "std::allocator<int>::allocate(unsigned long)", "/src/n.c", 6);
        forge_name(p, 0x400, 2, "fill", "/src/f.c", 7);
        in_main = forge_node(p, 0, 0x100, 0);
        user = forge_node(p, in_main, 0x200, 0);
        forge_site(p, forge_node(p, user, 0x300, 0), LEDGER_KIND_MALLOC, 100, 1);
        forge_site(p, forge_node(p, user, 0x310, 0), LEDGER_KIND_MALLOC, 200, 2);
        forge_site(p, user, LEDGER_KIND_MALLOC, 300, 3);
        forge_site(p, forge_node(p, in_main, 0x400, 0), LEDGER_KIND_NEW, 400, 4);
        forge_site(p, forge_node(p, 0, 0x300, 0), LEDGER_KIND_MALLOC, 50, 5);
}

static char *shown(const struct profile *p, struct wrappers *w, int inverted, bool flat)
{
        struct select_request request = { .cost = SELECT_LIVE, .wrappers = w };
        struct symbols *s = forge_symbols(p);
        struct selection sel;
        struct str out = { 0 };
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        if (flat)
                flat_write(&sel, s, &(struct flat_options){ .key = SORT_LIVE_BYTES }, &out);
        else
                tree_write(&sel, s, &(struct tree_options){ .inverted = inverted }, &out);
        is_equal(sel.heap.total_bytes, 1050);
        select_free(&sel);
        symbols_free(s);
        forge_without_sites(out.data);
        return out.data;
}

TEST(stacks_that_differ_in_wrappers_only_are_one)
{
        struct wrappers w = { 0 };
        struct profile p;
        char *text;

        forge_wrapped(&p);
        text = shown(&p, &w, 0, true);
        has_text(text, "   1. 600 B        not freed, by malloc (3 stacks)\n");
        has_text(text, "        user [/src/u.c:2]\n        main [/src/m.c:1]\n\n");
        has_text(text, "        fill [/src/f.c:7]\n        main [/src/m.c:1]\n\n");
        is_true(!strstr(text, "operator new") && !strstr(text, "allocate(unsigned"));
        free(text);
        text = shown(&p, NULL, 0, true);
        has_text(text, "        xmalloc [/src/x.c:3]\n        user");
        has_text(text, "operator new(unsigned long) [/src/n.c:5] (inlined)\n");
        free(text);
        wrappers_free(&w);
        profile_free(&p);
}

TEST(a_stack_of_wrappers_only_is_shown_whole)
{
        struct wrappers w = { 0 };
        struct profile p;
        char *text;

        forge_wrapped(&p);
        text = shown(&p, &w, 0, true);
        has_text(text, "   3. 50 B ");
        has_text(text, "        xmalloc [/src/x.c:3]\n\n");
        free(text);
        wrappers_free(&w);
        profile_free(&p);
}

TEST(trees_end_before_the_wrappers_and_add_up)
{
        struct wrappers w = { 0 };
        struct profile p;
        char *text;

        forge_wrapped(&p);
        text = shown(&p, &w, 0, false);
        has_text(text, "  -> 95.24% (1,000B, 10x): main [/src/m.c:1]\n"
                       "  | -> 57.14% (600B, 6x): user [/src/u.c:2]\n"
                       "  | -> 38.10% (400B, 4x): fill [/src/f.c:7]\n"
                       "  |\n"
                       "  -> 4.76% (50B, 5x): xmalloc [/src/x.c:3]\n");
        free(text);
        text = shown(&p, &w, 1, false);
        has_text(text, "  -> 57.14% (600B, 6x): user [/src/u.c:2]\n"
                       "  | -> 57.14% (600B, 6x): main [/src/m.c:1]\n");
        has_text(text, "  -> 38.10% (400B, 4x): fill [/src/f.c:7]\n"
                       "  | -> 38.10% (400B, 4x): main [/src/m.c:1]\n");
        free(text);
        wrappers_free(&w);
        profile_free(&p);
}

TAP_MAIN(what_passes_an_allocation_on_is_a_wrapper, what_makes_something_is_none,
         the_list_can_be_made_longer, stacks_that_differ_in_wrappers_only_are_one,
         a_stack_of_wrappers_only_is_shown_whole, trees_end_before_the_wrappers_and_add_up)
