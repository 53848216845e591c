# SPDX-License-Identifier: MIT
"""Every entry point is counted exactly, and the program sees no difference."""
from harness import check_clean, check_sites, check_total


def recorded_equal_to_bare(recorder, program, *args, **how):
    bare = recorder.bare(program, *args)
    seen = recorder.record(program, *args, **how)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    return seen


def test_every_c_function_is_counted_for_its_caller(compiler, recorder):
    program = compiler.build("entry_points.c")
    seen = recorded_equal_to_bare(recorder, program)
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.own(program))
    check_clean(seen.profile)


def test_without_a_libc_allocation_the_totals_are_the_programs_own(compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"))
    check_total(seen.truth, seen.profile.totals)


def test_every_c_function_keeps_its_kind(compiler, recorder):
    seen = recorder.record(compiler.build("entry_points.c"))
    assert seen.truth.kinds
    assert {f: seen.profile.kinds_of(f) for f in seen.truth.kinds} == {
        f: {k} for f, k in seen.truth.kinds.items()
    }


def test_the_rare_releases_are_exported(compiler, recorder):
    seen = recorder.record(compiler.build("entry_points.c"))
    assert seen.truth.text.count("fact rare=111\n") == 1


def test_every_form_of_new_and_delete_is_counted(compiler, recorder):
    program = compiler.build(
        "operators.cpp", flags=("-O0", "-fno-builtin", "-g", "-fsized-deallocation")
    )
    seen = recorded_equal_to_bare(recorder, program)
    check_sites(seen.truth, seen.profile, peak=True)
    check_total(seen.truth, seen.profile.own(program))
    check_clean(seen.profile)


def test_every_form_of_new_keeps_its_kind(compiler, recorder):
    seen = recorder.record(compiler.build("operators.cpp"))
    assert len(seen.truth.kinds) == 12
    assert {f: seen.profile.kinds_of(f) for f in seen.truth.kinds} == {
        f: {k} for f, k in seen.truth.kinds.items()
    }


def test_new_and_delete_work_the_same_when_compiled_by_clang(compiler, recorder):
    program = compiler.build(
        "operators.cpp", cc="clang++", flags=("-O0", "-fno-builtin", "-g", "-fsized-deallocation")
    )
    seen = recorded_equal_to_bare(recorder, program)
    check_sites(seen.truth, seen.profile)
    check_clean(seen.profile)


def test_realloc_is_exact_in_every_form(compiler, recorder):
    program = compiler.build("realloc_forms.c")
    seen = recorded_equal_to_bare(recorder, program)
    check_sites(seen.truth, seen.profile)
    check_clean(seen.profile)


def test_realloc_is_exact_in_a_quarantine(compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"), options=["--quarantine=1M"])
    assert seen.status == 0
    check_sites(seen.truth, seen.profile)
    check_clean(seen.profile)


def test_a_failed_realloc_keeps_the_old_block(compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"))
    found = seen.profile.by_function()["failed"]
    assert (found["live_blocks"], found["live_bytes"], found["frees"]) == (1, 300, 0)


def test_results_and_errno_are_those_of_a_bare_run(compiler, recorder):
    program = compiler.build("results.cpp")
    seen = recorded_equal_to_bare(recorder, program)
    assert seen.stdout.count(b"\n") > 80
    check_clean(seen.profile)


def test_results_of_optimised_code_are_those_of_a_bare_run(compiler, recorder):
    recorded_equal_to_bare(recorder, compiler.build("results.cpp", flags=("-O2", "-g")))


def test_sample_of_every_function_loses_what_it_should(compiler, recorder):
    program = compiler.build("sample.cpp")
    seen = recorded_equal_to_bare(recorder, program)
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    assert (
        seen.profile.below("test_strings")["live_bytes"] == seen.truth.facts["caller test_strings"]
    )
    strings = seen.profile.below("test_string")
    assert (strings["allocations"], strings["bytes_allocated"], strings["live_blocks"]) == (
        1,
        1001,
        0,
    )
    check_clean(seen.profile)


def test_a_recorded_program_says_nothing_on_its_own_behalf(compiler, recorder):
    program = compiler.build("operators.cpp")
    bare, seen = recorder.bare(program), recorder.record(program, options=["-q"])
    assert seen.stderr == bare.stderr == b""


def test_system_calls_get_all_their_arguments(compiler, recorder):
    seen = recorder.record(compiler.build("six_arguments.c"))
    assert (seen.status, seen.stdout) == (0, b"same 100, others 100\n"), seen.stderr
