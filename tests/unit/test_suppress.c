/* SPDX-License-Identifier: MIT */
#include "query/suppress.h"

#include "base/str.h"
#include "forge_leaks.h"
#include "tap.h"

/* Whether a rule of TEXT covers blocks of CLASS from SITE of the usual recording. */
static bool covers(const char *text, uint32_t site, uint32_t leak)
{
        struct suppressions rules = { 0 };
        struct profile p;
        struct symbols *s;
        struct err e = { 0 };
        bool found;

        forge_usual(&p);
        s = forge_symbols(&p);
        is_true(suppress_read_text(&rules, SUPPRESS_FILE, "x.supp", text, &e));
        is_text(e.text, "");
        found = suppress_leak(&rules, &p, s, site, leak) != NULL;
        suppress_free(&rules);
        symbols_free(s);
        profile_free(&p);
        return found;
}

static bool definite(const char *text, uint32_t site)
{
        return covers(text, site, PROFILE_LEAK_DEFINITE);
}

TEST(an_lsan_pattern_is_looked_for_in_functions_files_and_modules)
{
        is_true(definite("leak:pars\n", FORGE_SITE_PARSE));
        is_true(definite("leak:main\n", FORGE_SITE_PARSE));
        is_true(definite("leak:/src/a.c\n", FORGE_SITE_PARSE));
        is_true(definite("leak:bin/prog\n", FORGE_SITE_TINY));
        is_true(definite("leak:inner\n", FORGE_SITE_INNER));
        is_true(definite("leak:work\n", FORGE_SITE_INNER));
        is_true(!definite("leak:pars\n", FORGE_SITE_LOAD));
        is_true(!definite("leak:Main\n", FORGE_SITE_LOAD));
}

TEST(an_lsan_pattern_may_be_anchored_and_have_stars)
{
        is_true(!definite("leak:^arse\n", FORGE_SITE_PARSE));
        is_true(definite("leak:^pars\n", FORGE_SITE_PARSE));
        is_true(!definite("leak:^pars$\n", FORGE_SITE_PARSE));
        is_true(definite("leak:^parse$\n", FORGE_SITE_PARSE));
        is_true(definite("leak:p*s*\n", FORGE_SITE_PARSE));
        is_true(!definite("leak:p?rse\n", FORGE_SITE_PARSE));
        is_true(definite("  # a comment\n\n\t leak:parse \t\r\n", FORGE_SITE_PARSE));
}

/* std::string is what our names have, all of its arguments are what LSan prints. */
TEST(an_lsan_pattern_may_spell_out_what_we_shorten)
{
        struct suppressions rules = { 0 };
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "take(std::string const&, std::vector<int>)", "/src/t.cc", 3);
        forge_site(&p, forge_node(&p, 0, 0x100, 0), LEDGER_KIND_MALLOC, 10, 1);
        s = forge_symbols(&p);
        is_true(suppress_read_text(
                &rules, SUPPRESS_FILE, "x",
                "leak:^take(std::__cxx11::basic_string<char, std::char_traits<char>, "
                "std::allocator<char> > const&, std::vector<int, std::allocator<int> "
                ">)$\nleak:^take(std::string const&, *\n",
                &e));
        is_true(suppress_leak(&rules, &p, s, 1, PROFILE_LEAK_DEFINITE) == &rules.rules[0]);
        rules.rules[0].leaks = 0;
        is_true(suppress_leak(&rules, &p, s, 1, PROFILE_LEAK_DEFINITE) == &rules.rules[1]);
        suppress_free(&rules);
        symbols_free(s);
        profile_free(&p);
}

TEST(a_byte_order_mark_is_no_part_of_a_rule)
{
        is_true(definite("\xef\xbb\xbfleak:parse\n", FORGE_SITE_PARSE));
}

TEST(other_sanitizers_rules_mean_nothing)
{
        is_true(!definite("race:parse\ninterceptor_via_fun:parse\n", FORGE_SITE_PARSE));
}

#define RULE(...) "{\n  a name\n  Memcheck:Leak\n" __VA_ARGS__ "}\n"

TEST(a_valgrind_rule_matches_from_the_allocation_function_outwards)
{
        is_true(definite(RULE("  fun:malloc\n  fun:parse\n  fun:load\n  fun:main\n"),
                         FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:malloc\n  fun:parse\n"), FORGE_SITE_PARSE));
        is_true(!definite(RULE("  fun:parse\n  fun:load\n"), FORGE_SITE_PARSE));
        is_true(!definite(RULE("  fun:calloc\n  fun:parse\n"), FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:calloc\n  fun:parse\n"), FORGE_SITE_PARSE_20));
        is_true(!definite(RULE("  fun:malloc\n  fun:main\n"), FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:_Znwm\n  fun:inner\n  fun:work\n"), FORGE_SITE_INNER));
        is_true(!definite(RULE("  fun:malloc\n  fun:parse\n  fun:load\n  fun:main\n  fun:more\n"),
                          FORGE_SITE_PARSE));
}

TEST(dots_stand_for_any_number_of_frames)
{
        is_true(definite(RULE("  ...\n  fun:main\n"), FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:malloc\n  ...\n  fun:main\n"), FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:malloc\n  ...\n  fun:parse\n  ...\n"), FORGE_SITE_PARSE));
        is_true(!definite(RULE("  ...\n  fun:main\n  fun:load\n"), FORGE_SITE_PARSE));
        is_true(!definite(RULE("  ...\n  fun:load\n  fun:load\n"), FORGE_SITE_PARSE));
}

TEST(valgrind_patterns_are_whole_and_have_two_wildcards)
{
        is_true(definite(RULE("  fun:m?lloc\n  fun:p*e\n"), FORGE_SITE_PARSE));
        is_true(!definite(RULE("  fun:mallo\n"), FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:*\n  obj:*/prog\n"), FORGE_SITE_TINY));
        is_true(!definite(RULE("  fun:*\n  obj:prog\n"), FORGE_SITE_TINY));
        is_true(definite(RULE("  fun:*\n  src:a.c:10\n"), FORGE_SITE_PARSE));
        is_true(!definite(RULE("  fun:*\n  src:a.c:11\n"), FORGE_SITE_PARSE));
        is_true(definite(RULE("  fun:*\n  src:a.?\n"), FORGE_SITE_PARSE));
}

TEST(leak_kinds_decide)
{
        const char *text = RULE("  match-leak-kinds: possible,indirect\n  fun:malloc\n");

        is_true(!covers(text, FORGE_SITE_PARSE, PROFILE_LEAK_DEFINITE));
        is_true(covers(text, FORGE_SITE_PARSE, PROFILE_LEAK_INDIRECT));
        is_true(covers(text, FORGE_SITE_PARSE, PROFILE_LEAK_POSSIBLE));
        is_true(covers(RULE("  match-leak-kinds:all\n  fun:malloc\n"), FORGE_SITE_PARSE,
                       PROFILE_LEAK_REACHABLE));
        is_true(!covers(RULE("  match-leak-kinds:none\n  fun:malloc\n"), FORGE_SITE_PARSE,
                        PROFILE_LEAK_DEFINITE));
}

TEST(rules_about_other_things_are_passed_over)
{
        const char *text = "{\n cond\n Memcheck:Cond\n fun:malloc\n ...\n}\n"
                           "{\n param\n Memcheck:Param\n write(buf)\n fun:malloc\n}\n"
                           "{\n race\n Helgrind:Race\n fun:malloc\n}\n"
                           "{\n release\n Memcheck:Free\n fun:malloc\n}\n";

        is_true(!definite(text, FORGE_SITE_PARSE));
        is_true(definite("{\n both\n DRD,Memcheck:Leak\n fun:malloc\n}\n", FORGE_SITE_PARSE));
}

TEST(mangled_and_readable_names_match)
{
        struct suppressions rules = { 0 };
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;
        uint32_t node;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "ns::Thing::make(int)", "/src/t.cc", 3);
        node = forge_node(&p, 0, 0x100, 0);
        forge_site(&p, node, LEDGER_KIND_NEW_ARRAY, 10, 1);
        s = forge_symbols(&p);
        is_true(suppress_read_text(&rules, SUPPRESS_FILE, "x",
                                   RULE("fun:_Znam\nfun:_ZN2ns5Thing4makeEi\n"), &e));
        is_true(suppress_leak(&rules, &p, s, 1, PROFILE_LEAK_DEFINITE) == &rules.rules[0]);
        suppress_free(&rules);
        is_true(suppress_read_text(&rules, SUPPRESS_FILE, "x",
                                   RULE("fun:operator new*\nfun:ns::Thing::make\n"), &e));
        is_true(suppress_leak(&rules, &p, s, 1, PROFILE_LEAK_DEFINITE) == &rules.rules[0]);
        is_equal(rules.rules[0].times, 1);
        suppress_free(&rules);
        is_true(suppress_read_text(&rules, SUPPRESS_FILE, "x",
                                   RULE("fun:_Znam\nfun:_ZN2ns5Thing4makeEl\n"), &e));
        is_true(!suppress_leak(&rules, &p, s, 1, PROFILE_LEAK_DEFINITE));
        suppress_free(&rules);
        symbols_free(s);
        profile_free(&p);
}

TEST(wrong_releases_have_rules_of_their_own)
{
        struct suppressions rules = { 0 };
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;
        struct profile_error error = { .type = LEDGER_ERROR_MISMATCHED,
                                       .release = LEDGER_FAMILY_NEW };

        forge_usual(&p);
        s = forge_symbols(&p);
        error.node = p.sites[FORGE_SITE_TINY].node;
        is_true(suppress_read_text(&rules, SUPPRESS_FILE, "x",
                                   RULE("...\n") "{\n a\n Memcheck:Free\n fun:free\n}\n{\n b\n "
                                                 "Memcheck:Free\n fun:_ZdlPv*\n fun:tiny\n}\n",
                                   &e));
        is_equal(rules.count, 3);
        is_true(suppress_release(&rules, &p, s, &error) == &rules.rules[2]);
        error.release = LEDGER_FAMILY_C;
        is_true(suppress_release(&rules, &p, s, &error) == &rules.rules[1]);
        suppress_free(&rules);
        symbols_free(s);
        profile_free(&p);
}

static void refused(const char *text, const char *where, const char *expected)
{
        struct suppressions rules = { 0 };
        struct err e = { 0 };

        is_true(!suppress_read_text(&rules, SUPPRESS_FILE, "my.supp", text, &e));
        has_text(e.text, where);
        has_text(e.text, expected);
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        for (uint32_t i = 0; i < rules.count; i++)
                is_true(rules.rules[i].line_count != 0);
        suppress_free(&rules);
}

TEST(what_is_wrong_is_told_with_its_line)
{
        refused("leak:a\n\nleek:b\n", "my.supp:3:", "leak:PATTERN");
        refused("leak:\n", "my.supp:1:", "expected after leak:");
        refused("hello\n", "my.supp:1: 'hello'", "leak:PATTERN");
        refused("{\n name\n Memcheck:Leak\n  fun:a\n", "my.supp:4:", "} is expected");
        refused("{\n name\n Memcheck:Leak\n  fan:a\n}\n", "my.supp:4: 'fan:a'", "fun:NAME");
        refused("{\n name\n Memcheck:Leak\n match-leak-kinds: definit\n fun:a\n}\n",
                "my.supp:4: 'definit'", "reachable, all or none");
        refused("{\n name\n Leak\n fun:a\n}\n", "my.supp:3:", "Memcheck:Leak");
        refused("{\n name\n Memcheck:Leak\n}\n", "my.supp:4:", "at least one line");
        refused("{\n}\n", "my.supp:2:", "the name");
        refused("{\n", "my.supp:1: the file ends here", "the name");
        refused("{\n name\n Memcheck:Cond\n fun:a\n", "my.supp:4:", "} is expected");
}

TEST(patterns_that_try_everything_come_to_an_end)
{
        struct str text = { 0 };

        str_text(&text, "leak:");
        for (int i = 0; i < 2000; i++)
                str_text(&text, "*a");
        str_text(&text, "\n{\n n\n Memcheck:Leak\n");
        for (int i = 0; i < 2000; i++)
                str_text(&text, "...\nfun:*\n");
        str_text(&text, "}\n");
        is_true(!definite(str_get(&text), FORGE_SITE_PARSE));
        str_free(&text);
}

/* A block allocated by KIND, called from FUNCTIONS (innermost first, in MODULES). */
static bool built_in(uint32_t kind, uint32_t leak, const char *const *modules,
                     const char *const *functions)
{
        struct suppressions rules = { 0 };
        struct profile p;
        struct symbols *s;
        uint32_t count = 0, node = 0;
        bool found;

        while (modules[count])
                count++;
        forge_start(&p);
        for (uint32_t i = 0; i < count; i++) {
                forge_module(&p, modules[i]);
                if (functions[i])
                        forge_name(&p, 0x100, 0, functions[i], NULL, 0);
        }
        for (uint32_t i = count; i-- > 0;)
                node = forge_node(&p, node, 0x100, (uint16_t)i);
        forge_site(&p, node, kind, 1, 1);
        s = forge_symbols(&p);
        suppress_add_built_in(&rules);
        found = suppress_leak(&rules, &p, s, 1, leak) != NULL;
        suppress_free(&rules);
        symbols_free(s);
        profile_free(&p);
        return found;
}

#define NAMES(...) (const char *const[]){ __VA_ARGS__, NULL }

TEST(runtimes_may_keep_their_own_and_nothing_else)
{
        const uint32_t D = PROFILE_LEAK_DEFINITE, P = PROFILE_LEAK_POSSIBLE;

        is_true(built_in(LEDGER_KIND_CALLOC, P,
                         NAMES("/lib64/ld-linux-x86-64.so.2", "/lib/libc.so.6", "/bin/a"),
                         NAMES("_dl_allocate_tls", "pthread_create", "main")));
        is_true(built_in(LEDGER_KIND_MALLOC, D,
                         NAMES("/usr/lib/libstdc++.so.6", "/lib64/ld-linux-x86-64.so.2"),
                         NAMES(NULL, NULL)));
        is_true(built_in(LEDGER_KIND_MALLOC, D,
                         NAMES("/usr/lib/libstdc++.so.6", "/lib/ld-2.31.so"), NAMES(NULL, NULL)));
        is_true(built_in(LEDGER_KIND_CALLOC, D, NAMES("/lib/ld64.so.1", "/bin/a"),
                         NAMES(NULL, NULL)));
        is_true(built_in(LEDGER_KIND_CALLOC, D, NAMES("/lib/ld.so.1", "/bin/a"),
                         NAMES(NULL, NULL)));
        is_true(!built_in(LEDGER_KIND_NEW, D,
                          NAMES("/usr/lib/libstdc++.so.6", "/usr/lib/libx.so",
                                "/lib64/ld-linux-x86-64.so.2"),
                          NAMES("std::string::_M_create", "init", NULL)));
        is_true(!built_in(LEDGER_KIND_MALLOC, D, NAMES("/lib/libc.so.6", "/bin/a"),
                          NAMES("strdup", "main")));
        is_true(!built_in(LEDGER_KIND_MALLOC, D, NAMES("/lib/libc.so.6", "/bin/a"),
                          NAMES("getdelim", "main")));
        is_true(!built_in(LEDGER_KIND_MALLOC, D, NAMES("/lib/ld-musl-x86_64.so.1", "/bin/a"),
                          NAMES("strdup", "main")));
        is_true(!built_in(LEDGER_KIND_MALLOC, D, NAMES("/lib/libstdc++.so.6", "/bin/a"),
                          NAMES("__cxa_allocate_exception", "f")));
        is_true(built_in(LEDGER_KIND_MALLOC, P, NAMES("/lib/libstdc++.so.6", "/bin/a"),
                         NAMES("__cxa_allocate_exception", "f")));
}

TAP_MAIN(an_lsan_pattern_may_spell_out_what_we_shorten, a_byte_order_mark_is_no_part_of_a_rule,
         an_lsan_pattern_is_looked_for_in_functions_files_and_modules,
         an_lsan_pattern_may_be_anchored_and_have_stars, other_sanitizers_rules_mean_nothing,
         a_valgrind_rule_matches_from_the_allocation_function_outwards,
         dots_stand_for_any_number_of_frames, valgrind_patterns_are_whole_and_have_two_wildcards,
         leak_kinds_decide, rules_about_other_things_are_passed_over,
         mangled_and_readable_names_match, wrong_releases_have_rules_of_their_own,
         what_is_wrong_is_told_with_its_line, patterns_that_try_everything_come_to_an_end,
         runtimes_may_keep_their_own_and_nothing_else)
