# SPDX-License-Identifier: MIT
"""From the first allocation to the last, in places where a guest is easily surprised."""
from collections import Counter

import pytest

from harness import PLAIN, check_clean, check_sites, check_total


def test_constructors_destructors_and_exit_handlers_are_seen(compiler, recorder):
    program = compiler.build("lifecycle.cpp")
    seen = recorder.record(program)
    assert seen.status == 0
    assert len(seen.truth.sites) == 8
    check_sites(seen.truth, seen.profile, peak=False)
    check_total(seen.truth, seen.profile.own(program), peak=False)
    check_clean(seen.profile)


def test_allocations_in_signal_handlers_are_exact(compiler, recorder):
    program = compiler.build("signals.c")
    seen = recorder.record(program)
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    check_total(seen.truth, seen.profile.totals, peak=False, temporary=False)
    assert (
        0
        <= seen.truth.total["peak"] - seen.profile.totals["peak_bytes"]
        <= seen.profile.totals["peak_error_bytes"]
    )
    check_clean(seen.profile)


def test_mappings_made_by_a_timer_anywhere_are_exact(compiler, recorder):
    seen = recorder.record(compiler.build("signals.c"))
    made = [s for s in seen.profile.json["sites"]
            if s["kind"] == "mmap" and "handler_mapping" in seen.profile.names(s["stack"])]
    assert sum(s["live_bytes"] for s in made) == seen.truth.facts["mapped"]
    assert sum(s["allocations"] for s in made) >= 300


@pytest.mark.parametrize("flags", [PLAIN, ("-O2", "-g")], ids=["plain", "optimised"])
def test_leaving_an_allocation_by_jump_or_exception_loses_nothing(compiler, recorder, flags):
    program = compiler.build("escapes.cpp", flags=flags)
    bare, seen = recorder.bare(program), recorder.record(program)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status) == (b"far\n" * 20, 0)
    check_sites(seen.truth, seen.profile, peak=False)
    check_clean(seen.profile)


def test_after_an_escape_stacks_are_whole(compiler, recorder):
    seen = recorder.record(compiler.build("escapes.cpp"))
    for site in seen.profile.heap_sites():
        names = seen.profile.names(site["stack"])
        if names[0] in ("after_jump", "after_throw"):
            assert names[1] in ("jump_round", "throw_round", "rethrow")
            assert "main" in names


def test_ten_thousand_threads_come_and_go(compiler, recorder):
    program = compiler.build("many_threads.c")
    seen = recorder.record(program, "10000", timeout=120)
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False)
    assert seen.profile.own(program)["live_blocks"] == 100
    check_clean(seen.profile)


def test_threads_are_listed_with_what_they_allocated(compiler, recorder):
    seen = recorder.record(compiler.build("many_threads.c"), "80")
    threads = seen.profile.json["threads"]
    assert len({t["tid"] for t in threads}) >= 81
    assert sum(t["allocations"] for t in threads) == seen.profile.totals["allocations"]
    assert sum(t["bytes_allocated"] for t in threads) == seen.profile.totals["bytes_allocated"]


def test_libraries_at_the_same_address_keep_their_own_names(compiler, recorder, plugs):
    program = compiler.build("dl_swap.c")
    seen = recorder.record(program, *plugs, "50")
    assert seen.status == 0
    assert (
        seen.truth.facts["same"] == 50
    ), "the loader put the libraries at different addresses: nothing is proved"
    check_sites(seen.truth, seen.profile, peak=False)
    profile = seen.profile
    modules = Counter()
    for site in profile.heap_sites():
        names = profile.names(site["stack"])
        if names[0] in ("inner_a", "inner_b"):
            letter = names[0][-1]
            assert names[:4] == [f"inner_{letter}", f"outer_{letter}", "use", "main"]
            assert profile.frame(site["stack"][0])["module"].endswith(f"libplug_{letter}.so")
            modules[letter] += site["allocations"]
    assert modules == {"a": 250, "b": 250}
    check_clean(profile)


@pytest.mark.parametrize("flags", [PLAIN, ("-O2", "-g")], ids=["plain", "optimised"])
def test_coroutines_on_stacks_that_vanish_are_exact(compiler, recorder, flags):
    program = compiler.build("coroutines.c", flags=flags)
    seen = recorder.record(program)
    assert seen.status == 0
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.totals)
    check_clean(seen.profile)


def test_stacks_of_coroutines_end_at_their_body(compiler, recorder):
    seen = recorder.record(compiler.build("coroutines.c"))
    inside = [seen.profile.names(s["stack"]) for s in seen.profile.heap_sites()
              if seen.profile.innermost(s) == "co_allocate"]
    assert inside
    for names in inside:
        assert set(names[:names.index("co_body")]) == {"co_allocate"}
        assert "main" not in names and "main_side" not in names


def test_no_descriptor_is_left_and_closing_all_does_not_end_the_recording(compiler, recorder):
    program = compiler.build("descriptors.c")
    bare, seen = recorder.bare(program), recorder.record(program)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    work = seen.profile.by_function()["work"]
    assert (work["live_blocks"], work["live_bytes"]) == (
        seen.truth.facts["blocks"],
        seen.truth.facts["bytes"],
    )
    check_clean(seen.profile)


LIMITS = {
    "address space": "-v 400000",
    "file size": "-f 16",
    "no descriptor": "-n 5",
    "no core": "-c 0",
    "data": "-d 300000",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_program_under_limits_is_unharmed(compiler, recorder, limit):
    program = compiler.build("entry_points.c")
    argv = ["/bin/sh", "-c", f'ulimit {LIMITS[limit]}; exec "$0"', program]
    bare, seen = recorder.bare(*argv), recorder.record(*argv)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert seen.status == 0


def test_a_program_without_standard_descriptors_is_recorded(compiler, recorder):
    program = compiler.build("realloc_forms.c")
    seen = recorder.record("/bin/sh", "-c", 'exec "$0" <&- >/dev/null 2>&-', program)
    assert seen.status == 0
    found = [p for p in seen.profiles() if p.json["program"].endswith("realloc_forms")]
    check_total(seen.truth, found[0].totals)


@pytest.mark.parametrize("flags", [PLAIN, ("-O2", "-g")], ids=["plain", "optimised"])
def test_under_stress_every_block_is_accounted_for(compiler, recorder, plugs, flags):
    """Jumps, exceptions, signals, coroutines, libraries that go: what `touch` allocated is all
    freed at the end."""
    program = compiler.build("stress.cpp", flags=flags)
    seen = recorder.record(program, 60000, 4, *plugs)
    assert (seen.stdout, seen.status) == (b"done\n", 0)
    touch = seen.profile.by_function()["touch"]
    assert touch["allocations"] == touch["frees"] >= 4 * 60000
    assert (touch["live_blocks"], touch["live_bytes"]) == (0, 0)
    check_clean(seen.profile)
