/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>

#include "names/demangle.h"

static void becomes(const char *name, const char *expected)
{
        char *readable = demangle_name(name);

        is_text(readable, expected);
        free(readable);
}

TEST(cplusplus_has_its_parameters)
{
        becomes("_ZN3foo3barEiPKc", "foo::bar(int, char const*)");
        becomes("_Znwm", "operator new(unsigned long)");
        becomes("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
                "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
                "<std::char_traits<char> "
                ">(std::basic_ostream<char, std::char_traits<char> >&, char const*)");
}

TEST(default_arguments_of_the_library_are_left_out)
{
        becomes("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int>::push_back(int const&)");
        becomes("_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "f(std::string)");
        becomes("_Z1fSs", "f(std::string)");
        becomes("_ZNSt15__new_allocatorINSt7__cxx1112basic_stringIcSt11char_"
                "traitsIcESaIcEEEE8allocateEmPKv",
                "std::__new_allocator<std::string>::allocate(unsigned long, void const*)");
        becomes("_Z1fSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EES7_",
                "f(std::vector<std::string>, std::vector<std::string>)");
        becomes("_Z1fiSaIcE", "f(int, std::allocator<char>)");
        becomes("_ZNSt16allocator_traitsISaIiEE8allocateERS0_m",
                "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
                "unsigned long)");
        becomes("_Z1gSt6vectorIiN3foo9AllocatorIiEEE", "g(std::vector<int, foo::Allocator<int> >)");
}

TEST(rust_legacy_names_lose_their_hash)
{
        becomes("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
}

TEST(rust_v0_names_are_read)
{
        becomes("_RNvCs1234_7mycrate3foo", "mycrate::foo");
        becomes("_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>");
}

TEST(what_is_not_mangled_stays)
{
        becomes("main", "main");
        becomes("_Z", "_Z");
        becomes("_start", "_start");
        becomes("_Disabled", "_Disabled");
        becomes("_Zygote_table", "_Zygote_table");
}

TEST(symbol_versions_go)
{
        becomes("memcpy@@GLIBC_2.14", "memcpy");
        becomes("_Znwm@GLIBCXX_3.4", "operator new(unsigned long)");
}

TEST(marks_of_the_abi_go)
{
        becomes("_ZN4Shop4pageB5cxx11Ev", "Shop::page()");
        becomes("_ZN5storeB5cxx11E", "store");
        becomes("_ZN1aB3one1bB3twoEv", "a::b()");
}

TAP_MAIN(cplusplus_has_its_parameters, default_arguments_of_the_library_are_left_out,
         rust_legacy_names_lose_their_hash, rust_v0_names_are_read, what_is_not_mangled_stays,
         symbol_versions_go, marks_of_the_abi_go)
