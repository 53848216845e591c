/* SPDX-License-Identifier: MIT */
/*
 * test_start.c -- which frames are start code: by their place, with and without names.
 */
#include "names/start.h"

#include <stdlib.h>

#include "base/c_library.h"
#include "forge.h"
#include "tap.h"

enum { PROGRAM, LIBC, CPP, LIBRARY };

static struct profile p;
static uint32_t last;

static void begin(void)
{
        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_module(&p, "/lib/libc.so.6");
        forge_module(&p, "/lib/libstdc++.so.6");
        forge_module(&p, "/opt/lib/libown.so");
        last = 0;
}

/* The next frame inwards; NAME NULL: it has none. */
static uint32_t frame(uint16_t module, const char *name)
{
        static uint64_t pc;

        pc += 0x10;
        if (name) {
                forge_name(&p, pc, 0, name, "/src/a", 1);
                p.symbols[p.symbol_count - 1].module = module;
        }
        return last = forge_node(&p, last, pc, module);
}

static int by_place(const void *a, const void *b)
{
        const struct profile_symbol *x = a, *y = b;

        if (x->module != y->module)
                return x->module < y->module ? -1 : 1;
        return (x->address > y->address) - (x->address < y->address);
}

/* How many frames of the stack that ends with the last one are shown; at least the innermost. */
static uint32_t shown(void)
{
        struct symbols *s = forge_symbols(&p);
        uint32_t count = 1;

        qsort(p.symbols, p.symbol_count, sizeof *p.symbols, by_place);
        for (uint32_t at = p.nodes[last].parent; at > 1 && !symbols_is_start(s, at);
             at = p.nodes[at].parent)
                count++;
        symbols_free(s);
        profile_free(&p);
        return count;
}

TEST(main_is_the_outermost)
{
        begin();
        frame(PROGRAM, "_start");
        frame(LIBC, "__libc_start_main");
        frame(LIBC, NULL);
        frame(PROGRAM, "main");
        frame(LIBC, NULL); /* qsort */
        frame(PROGRAM, "compare");
        is_equal(shown(), 3);
}

TEST(a_program_without_names_has_a_start_too)
{
        begin();
        frame(PROGRAM, NULL);
        frame(LIBC, NULL);
        frame(PROGRAM, NULL);
        frame(PROGRAM, NULL);
        is_equal(shown(), 2);
}

TEST(a_function_that_nobody_called_is_no_start_code_when_it_has_a_name)
{
        begin();
        frame(PROGRAM, "begun_by_clone");
        frame(LIBC, NULL);
        frame(PROGRAM, "compare");
        is_equal(shown(), 3);
}

TEST(a_thread_begins_with_its_function_whoever_started_it)
{
        begin();
        frame(LIBC, NULL);
        frame(LIBC, NULL);
        frame(CPP, NULL);
        frame(PROGRAM, "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), "
                       "int> > >::_M_run()");
        frame(PROGRAM, "void std::__invoke_impl<void, void (*)(int), int>(std::__invoke_other, "
                       "void (*&&)(int), int&&)");
        frame(PROGRAM, "work(int)");
        frame(PROGRAM, "std::vector<int>::push_back(int&&)");
        is_equal(shown(), 2);
}

TEST(the_end_of_a_static_program_is_start_code)
{
        begin();
        frame(PROGRAM, "_start");
        frame(PROGRAM, "__libc_start_main");
        frame(PROGRAM, "exit");
        frame(PROGRAM, "__run_exit_handlers");
        frame(PROGRAM, "at_the_end");
        frame(PROGRAM, "save");
        is_equal(shown(), 2);
}

TEST(an_exit_that_the_program_calls_is_none)
{
        begin();
        frame(PROGRAM, "_start");
        frame(PROGRAM, "__libc_start_main");
        frame(PROGRAM, "main");
        frame(PROGRAM, "exit");
        frame(PROGRAM, "__run_exit_handlers");
        frame(PROGRAM, "at_the_end");
        is_equal(shown(), 4);
}

TEST(the_exit_of_a_library_is_start_code)
{
        begin();
        frame(LIBC, NULL); /* exit */
        frame(LIBC, NULL); /* the loader */
        frame(LIBRARY, NULL);
        frame(LIBC, "__cxa_finalize");
        frame(LIBRARY, "cache::~cache()");
        frame(LIBRARY, "cache::flush()");
        is_equal(shown(), 2);
}

TEST(a_function_at_the_exit_of_a_library_is_none)
{
        begin();
        frame(LIBC, NULL);
        frame(LIBRARY, "at_the_end");
        frame(LIBC, "strdup");
        is_equal(shown(), 2);
}

TEST(the_c_library_has_a_name_for_each_version_and_processor)
{
        static const char *const theirs[] = {
                "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libc-2.31.so",
                "/lib/x86_64-linux-gnu/ld-2.31.so", "/lib64/ld-linux-x86-64.so.2",
                "/lib/s390x-linux-gnu/ld64.so.1", "/lib/powerpc-linux-gnu/ld.so.1",
                "/lib/libpthread-2.31.so", "/lib/libpthread.so.0", "/lib/ld-musl-x86_64.so.1",
                "/lib/libc.musl-x86_64.so.1", "libc.so",
        };
        static const char *const others[] = {
                "/usr/lib/libc-client.so.2007e.0", "/usr/lib/libc++.so.1", "/opt/ld-2.31.so/prog",
                "/usr/lib/libcrypt.so.1", "/usr/bin/ld", "[vdso]", "",
        };

        for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
                is_true(c_library_has(theirs[i]));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                is_true(!c_library_has(others[i]));
}

TEST(the_runtime_of_rust_is_start_code)
{
        begin();
        frame(PROGRAM, "_start");
        frame(LIBC, "__libc_start_main");
        frame(PROGRAM, "main");
        frame(PROGRAM, "std::rt::lang_start");
        frame(PROGRAM, "std::rt::lang_start_internal");
        frame(PROGRAM, "<&dyn core::ops::function::Fn<(), Output = i32> as "
                       "core::ops::function::FnOnce<()>>::call_once");
        frame(PROGRAM, "std::sys::backtrace::__rust_begin_short_backtrace");
        frame(PROGRAM, "app::main");
        frame(PROGRAM, "app::load");
        is_equal(shown(), 2);
}

TEST(main_that_calls_the_cpp_library_stays)
{
        begin();
        frame(PROGRAM, "_start");
        frame(LIBC, "__libc_start_main");
        frame(PROGRAM, "main");
        frame(PROGRAM, "std::vector<int>::reserve(unsigned long)");
        is_equal(shown(), 2);
}

TEST(where_the_outer_end_is_missing_only_names_tell)
{
        begin();
        last = 1;
        frame(LIBC, NULL);
        frame(PROGRAM, "compare");
        is_equal(shown(), 2);
        begin();
        last = 1;
        frame(LIBC, "__libc_start_call_main");
        frame(PROGRAM, "main");
        is_equal(shown(), 1);
}

TAP_MAIN(main_is_the_outermost, a_program_without_names_has_a_start_too,
         a_function_that_nobody_called_is_no_start_code_when_it_has_a_name,
         a_thread_begins_with_its_function_whoever_started_it,
         the_end_of_a_static_program_is_start_code, an_exit_that_the_program_calls_is_none,
         the_exit_of_a_library_is_start_code,
         a_function_at_the_exit_of_a_library_is_none,
         the_c_library_has_a_name_for_each_version_and_processor, the_runtime_of_rust_is_start_code,
         main_that_calls_the_cpp_library_stays, where_the_outer_end_is_missing_only_names_tell)
