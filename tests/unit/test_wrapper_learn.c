/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "query/wrapper_learn.h"
#include "query/wrapper.h"
#include "words/label.h"

enum { MOST = 4 };

/* Who calls ALLOCATOR (under each of CALLERS), and how much each of them wants. */
struct scene {
        const char *allocator, *callers[MOST];
        uint64_t sizes[MOST];
};

/* Adds main, caller, INNER where there is one, allocator; addresses from *PC on. */
static void add_scene(struct profile *p, const struct scene *s, const char *inner, uint64_t *pc)
{
        for (uint32_t i = 0; i < MOST && s->callers[i]; i++) {
                const char *names[] = { "main", s->callers[i], s->allocator, inner };
                uint32_t node = 0;

                for (uint32_t k = 0; k < 4 && names[k]; k++, *pc += 16) {
                        forge_name(p, *pc, 0, names[k], "/src/a.cpp", k + 1);
                        node = forge_node(p, node, *pc, 0);
                }
                forge_site(p, node, LEDGER_KIND_MALLOC, s->sizes[i] * 2, 2);
        }
}

/* Whether the frame of NODE is passed over. */
static bool passes(struct symbols *s, uint32_t node)
{
        const struct symbol_frame *frames;

        symbols_node(s, node, &frames);
        return wrapper_or_library(&frames[0]);
}

/* Whether the allocator of the scene is learned. */
static bool learned(const struct scene *scene, const char *inner)
{
        struct profile p;
        struct symbols *s;
        uint64_t pc = 0x1000;
        bool found;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        add_scene(&p, scene, inner, &pc);
        s = forge_symbols(&p);
        is_true(!passes(s, 4)); /* by its name alone */
        wrapper_learn(&p, s);
        found = passes(s, 4);
        is_true(!passes(s, 2) && !passes(s, 3));
        symbols_free(s);
        profile_free(&p);
        return found;
}

TEST(what_several_functions_ask_for_several_sizes_passes_them_on)
{
        is_true(learned(&(struct scene){ "pool_alloc", { "read", "sort", "keep" }, { 10, 20, 30 } },
                        NULL));
        is_true(learned(&(struct scene){ "void* Pool<int>::allocate<long>(unsigned long)",
                                         { "read", "sort", "keep" }, { 10, 20, 30 } }, NULL));
        is_true(learned(&(struct scene){ "pool_alloc", { "read", "sort", "keep" }, { 10, 20, 30 } },
                        "xmalloc"));
}

TEST(what_passes_on_to_another_is_learned_behind_it)
{
        const struct scene raw = { "raw_alloc", { "boot", "log", "poll" }, { 40, 50, 60 } },
                           pool = { "pool_alloc", { "read", "sort", "keep" }, { 10, 20, 30 } };
        struct profile p;
        struct symbols *s;
        uint64_t pc = 0x1000;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        add_scene(&p, &raw, NULL, &pc);
        add_scene(&p, &pool, "raw_alloc", &pc);
        s = forge_symbols(&p);
        wrapper_learn(&p, s);
        is_true(passes(s, p.node_count - 1) && passes(s, p.node_count - 2));
        is_true(!passes(s, p.node_count - 3));
        symbols_free(s);
        profile_free(&p);
}

TEST(what_makes_one_thing_or_is_called_by_few_is_a_place)
{
        is_true(!learned(&(struct scene){ "allocate_session", { "read", "sort", "keep", "send" },
                                          { 24, 24, 24, 24 } }, NULL));
        is_true(!learned(&(struct scene){ "pool_alloc", { "read", "sort" }, { 10, 20 } }, NULL));
        is_true(!learned(&(struct scene){ "pool_alloc", { "read", "read", "read" },
                                          { 10, 20, 30 } }, NULL));
        is_true(!learned(&(struct scene){ "copy_of", { "read", "sort", "keep" }, { 10, 20, 30 } },
                         NULL));
        is_true(!learned(&(struct scene){ "alloc_table::copy(Allocator&)",
                                          { "read", "sort", "keep" }, { 10, 20, 30 } }, NULL));
}

/* 600 call stacks that are larger: the names of the small ones are not asked for. */
TEST(only_the_largest_call_stacks_are_looked_at)
{
        const struct scene small = { "pool_alloc", { "read", "sort", "keep" }, { 10, 20, 30 } },
                           large = { "page_alloc", { "read", "sort", "keep" },
                                     { 100000, 200000, 300000 } };
        struct profile p;
        struct symbols *s;
        uint64_t pc = 0x1000;
        uint32_t of_small, of_large;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        add_scene(&p, &small, NULL, &pc);
        of_small = p.node_count - 1;
        for (uint32_t i = 0; i < 600; i++, pc += 16) {
                forge_name(&p, pc, 0, "load", "/src/a.cpp", i + 1);
                forge_site(&p, forge_node(&p, 0, pc, 0), LEDGER_KIND_MALLOC, 1000 + i, 1);
        }
        add_scene(&p, &large, NULL, &pc);
        of_large = p.node_count - 1;
        s = forge_symbols(&p);
        wrapper_learn(&p, s);
        is_true(passes(s, of_large));
        is_true(!passes(s, of_small));
        symbols_free(s);
        profile_free(&p);
}

TEST(what_one_of_two_recordings_teaches_holds_for_both)
{
        const struct scene many = { "pool_alloc", { "read", "sort", "keep" }, { 10, 20, 30 } },
                           few = { "pool_alloc", { "read", "sort" }, { 10, 20 } };
        struct symbols *s[2];
        struct profile p[2];

        for (uint32_t i = 0; i < 2; i++) {
                uint64_t pc = 0x1000;

                forge_start(&p[i]);
                forge_module(&p[i], "/bin/prog");
                add_scene(&p[i], i ? &many : &few, NULL, &pc);
                s[i] = forge_symbols(&p[i]);
        }
        wrapper_learn_both(&p[0], s[0], &p[1], s[1]);
        for (uint32_t i = 0; i < 2; i++) {
                is_true(passes(s[i], 4) && !passes(s[i], 3));
                symbols_free(s[i]);
                profile_free(&p[i]);
        }
}

/* What people are shown of NAME. */
static char *called(const char *name)
{
        struct symbol_frame frame = { .function = name };
        struct profile p;
        struct str text = { 0 };

        forge_start(&p);
        label_called(&p, 0, &frame, &text);
        profile_free(&p);
        return text.data;
}

TEST(the_type_of_a_result_is_no_part_of_a_name)
{
        static const char *const names[][2] = {
                { "void va_gc::reserve<cp_token, va_gc>(vec<cp_token, va_gc>*&, bool)",
                  "va_gc::reserve<cp_token, va_gc>" },
                { "std::vector<int, A<int> > make<int>(int) const", "make<int>" },
                { "load(char const*)", "load" },
                { "Table<int, long>::grow(int)", "Table<int, long>::grow" },
                { "std::ostream& operator<< <char>(std::ostream&, char)",
                  "std::ostream& operator<< <char>" },
                { "leak (p.py)", "leak (p.py)" },
                { "LazyCompile:~read /app/a.js:3", "LazyCompile:~read /app/a.js:3" },
                { "<a::B as c::D<E>>::f", "<a::B as c::D<E>>::f" },
        };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                char *text = called(names[i][0]);

                is_text(text, names[i][1]);
                free(text);
        }
}

TAP_MAIN(what_several_functions_ask_for_several_sizes_passes_them_on,
         what_passes_on_to_another_is_learned_behind_it,
         what_makes_one_thing_or_is_called_by_few_is_a_place,
         only_the_largest_call_stacks_are_looked_at,
         what_one_of_two_recordings_teaches_holds_for_both,
         the_type_of_a_result_is_no_part_of_a_name)
