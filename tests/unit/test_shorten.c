/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "words/shorten.h"

static const char *shortened(const char *name, size_t columns)
{
        static struct str out;

        str_clear(&out);
        str_text(&out, name);
        shorten_name(&out, columns);
        return str_get(&out);
}

TEST(a_name_gives_up_only_what_it_must)
{
        static const char name[] = "std::vector<int>& app::cache<int, a<b> "
                                   ">::entry<int>(std::string const&, int) const";

        is_text(shortened(name, sizeof name - 1), name);
        is_text(shortened(name, sizeof name - 2),
                "std::vector<int>& app::cache<int, a<b> >::entry<int>(...) const");
        is_text(shortened(name, 62), "std::vector<...>& app::cache<...>::entry<...>(...) const");
        is_text(shortened(name, 50), "app::cache<...>::entry<...>(...) const");
        is_text(shortened(name, 37), "app::cache<>::entry<>() const");
        is_text(shortened(name, 29), "app::cache<>::entry<>() const");
        is_text(shortened(name, 28), "...::entry<>() const");
        is_text(shortened(name, 16), "entry<>() const");
        is_text(shortened(name, 14), "entry<>() c...");
}

TEST(class_and_function_are_kept_the_longest)
{
        is_text(shortened("one::two::three::box::open(int)", 20), "...::box::open()");
        is_text(shortened("one::two::three::box::open(int)", 24), "...::three::box::open()");
}

TEST(operators_are_names_and_no_brackets)
{
        is_text(shortened("std::map<int, int>::operator[](std::string const&)", 28),
                "std::map<>::operator[]()");
        is_text(shortened("std::function<int (int, std::string)>::operator()(int) const", 44),
                "std::function<...>::operator()(...) const");
        is_text(shortened("bool ns::operator< <a<int>, b<int> >(a<int> const&)", 32),
                "bool ns::operator< <...>(...)");
        is_text(shortened("ns::stream& ns::operator<< <char>(ns::stream&, char)", 26),
                "ns::operator<< <...>(...)");
        is_text(shortened("a<int>::operator->(long long long) const", 24),
                "a<>::operator->() const");
        is_text(shortened("space::box<int>::operator unsigned long(void) const", 35),
                "...::operator unsigned long() const");
}

TEST(names_inside_functions_and_nameless_namespaces_stay_readable)
{
        is_text(shortened("(anonymous namespace)::load(std::string const&)", 40),
                "(anonymous namespace)::load(...)");
        is_text(shortened("app::run(int)::{lambda(int, long)#1}::operator()(int, long) const", 56),
                "app::run(...)::{lambda(...)#1}::operator()(...) const");
}

TEST(of_a_lambda_the_function_that_it_is_in_is_kept)
{
        static const char name[] =
                "app::run(int)::{lambda(int, long)#1}::operator()(int, long) const";

        is_text(shortened(name, 25), "app::run(...)::{lambda#1}");
        is_text(shortened(name, 24), "app::run()::{lambda#1}");
        is_text(shortened(name, 21), "run()::{lambda#1}");
        is_text(shortened("main::{lambda}::operator()", 25), "main::{lambda}");
        is_text(shortened("f()::{lambda(int)#2}::operator()(int) const::{lambda()#1}::operator()() "
                          "const",
                          32),
                "f()::{lambda#2}::{lambda#1}");
        is_text(shortened("app::main::{{closure}}::{{closure}}", 34), "app::main::{{closure}}");
        is_text(shortened("app::main::{{closure}}::{{closure}}::{{closure}}", 22),
                "app::main::{{closure}}");
        is_text(shortened("app::main::{{closure}}::{{closure}}", 21), "main::{{closure}}");
        is_text(shortened("app::{lambda", 10), "app::{l...");
}

TEST(of_an_implementation_in_rust_the_type_is_kept_and_not_the_trait)
{
        static const char name[] = "<app::Session as core::clone::Clone>::clone";

        is_text(shortened(name, sizeof name - 1), name);
        is_text(shortened(name, sizeof name - 2), "app::Session::clone");
        is_text(shortened(name, 19), "app::Session::clone");
        is_text(shortened(name, 18), "...::clone");
        is_text(shortened("<alloc::vec::Vec<T> as core::clone::Clone>::clone", 30),
                "alloc::vec::Vec<T>::clone");
        is_text(shortened("<&str as alloc::string::ToString>::to_string", 30), "<&str>::to_string");
        is_text(shortened("<app::Session>::clone_into_another_one", 30),
                "<...>::clone_into_another_one");
}

TEST(what_is_not_a_name_is_cut)
{
        is_text(shortened("leak_a_great_deal (script.py)", 29), "leak_a_great_deal (script.py)");
        is_text(shortened("leak_a_great_deal (script.py)", 24), "leak_a_great_deal (sc...");
        is_text(shortened("a<b(c", 4), "a...");
        is_text(shortened("", 4), "");
        is_text(shortened("a_function_of_c_with_a_long_name", 16), "a_function_of...");
}

TAP_MAIN(a_name_gives_up_only_what_it_must, class_and_function_are_kept_the_longest,
         operators_are_names_and_no_brackets,
         names_inside_functions_and_nameless_namespaces_stay_readable,
         of_a_lambda_the_function_that_it_is_in_is_kept,
         of_an_implementation_in_rust_the_type_is_kept_and_not_the_trait, what_is_not_a_name_is_cut)
