# SPDX-License-Identifier: MIT
"""test_omit.py -- record --omit: what some programs and libraries allocate is left out, and the
rest is exact."""
import json
import subprocess

import pytest

from checker import Checker
from harness import DEADLINE, SEEP, check_sites, clean_environment, plain_name
from event_logs import check_replay
from test_invalid import GUARDED, leaks

NAME = "libleft_out"


@pytest.fixture(scope="session")
def omit(compiler):
    return compiler.build("omit.cpp")


@pytest.fixture(scope="session")
def library(compiler):
    return compiler.library("omit_library.c", name=f"{NAME}.so")


def left_out(profile):
    return {
        k: profile.totals.get(k)
        for k in ("omitted", "omitted_bytes", "omitted_maps", "omitted_map_bytes")
    }


def of_library(truth):
    facts = truth.facts
    return {
        "omitted": facts["library_allocs"],
        "omitted_bytes": facts["library_bytes"],
        "omitted_maps": facts["library_maps"],
        "omitted_map_bytes": facts["library_map_bytes"],
    }


def check_no_faults(profile):
    assert profile.errors == [] and profile.totals["lost_events"] == 0
    assert profile.json["unseen"] == []


def modules(profile):
    """Those that allocated directly."""
    return {
        str(profile.frame(s["stack"][0])["module"]) for s in profile.json["sites"] if s["stack"]
    }


@pytest.mark.parametrize(
    "options",
    [(), GUARDED, ("--events",), ("--events", *GUARDED), ("--track-fds", "--free-stacks")],
    ids=["plain", "guarded", "events", "guarded-events", "others"],
)
def test_what_a_library_allocates_is_left_out_and_the_rest_is_exact(
    recorder, omit, library, options
):
    seen = recorder.record(omit, library, "numbers", options=["--omit", NAME, *options])
    assert seen.status == 0
    profile = seen.profile
    check_sites(seen.truth, profile, temporary=False)
    assert left_out(profile) == of_library(seen.truth)
    assert str(library) not in modules(profile)
    facts = seen.truth.facts
    assert {k: profile.totals[k] for k in ("mmap_calls", "mmap_bytes", "mmap_live_bytes")} == {
        "mmap_calls": facts["maps"],
        "mmap_bytes": facts["map_bytes"],
        "mmap_live_bytes": facts["live_map_bytes"],
    }
    check_no_faults(profile)
    if "--events" in options:
        check_replay(seen)


def test_what_is_left_out_is_what_is_missing(recorder, omit, library):
    whole = recorder.record(omit, library, "numbers").profile.totals
    rest = recorder.record(omit, library, "numbers", options=["--omit", NAME]).profile.totals
    assert (
        rest["allocations"] + rest["omitted"],
        rest["bytes_allocated"] + rest["omitted_bytes"],
    ) == (whole["allocations"], whole["bytes_allocated"])
    assert (
        rest["mmap_calls"] + rest["omitted_maps"],
        rest["mmap_bytes"] + rest["omitted_map_bytes"],
    ) == (whole["mmap_calls"], whole["mmap_bytes"])


def test_the_program_itself_can_be_left_out(recorder, omit, library):
    seen = recorder.record(omit, library, "numbers", options=["--omit", "/omit$"])
    facts, profile = seen.truth.facts, seen.profile
    own = profile.own(library)
    assert (own["allocations"], own["bytes_allocated"]) == (
        facts["library_allocs"],
        facts["library_bytes"],
    )
    assert left_out(profile) == {
        "omitted": seen.truth.total["allocs"],
        "omitted_bytes": seen.truth.total["bytes"],
        "omitted_maps": facts["maps"],
        "omitted_map_bytes": facts["map_bytes"],
    }
    assert str(omit) not in modules(profile)
    check_no_faults(profile)


def test_several_expressions(recorder, omit, library):
    """All that allocates: nothing is left."""
    seen = recorder.record(
        omit,
        library,
        "numbers",
        options=["--omit", NAME, "--omit", "^.*/omit$", "--omit", "lib[cs]|ld-linux"],
    )
    totals = seen.profile.totals
    assert (
        totals["allocations"], totals["bytes_allocated"], totals["live_blocks"],
        totals["peak_bytes"],
    ) == (0, 0, 0, 0)
    assert totals["omitted"] >= seen.truth.total["allocs"] + seen.truth.facts["library_allocs"]
    check_no_faults(seen.profile)


def test_new_is_the_callers_not_that_of_its_library(recorder, omit, library):
    seen = recorder.record(omit, library, "numbers", options=["--omit", r"libstdc\+\+"])
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    assert seen.profile.own(library)["allocations"] == seen.truth.facts["library_allocs"]


def test_threads(recorder, omit, library):
    seen = recorder.record(omit, library, "threads", options=["--omit", NAME])
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    assert left_out(seen.profile)["omitted"] == seen.truth.facts["library_allocs"]
    assert left_out(seen.profile)["omitted_bytes"] == seen.truth.facts["library_bytes"]
    check_no_faults(seen.profile)


def test_forked_children(recorder, omit, library):
    seen = recorder.record(omit, library, "forks", options=["--omit", NAME, "--follow=all"])
    child, = [p for p in seen.profiles() if p.path.name != "out.seep"]
    check_sites(seen.truth, child, peak=False, temporary=False)
    assert left_out(child)["omitted"] == seen.truth.facts["library_allocs"]
    assert child.errors == [] and seen.profile.errors == []


def test_programs_that_are_started(recorder, omit, library):
    seen = recorder.record(
        "/bin/sh", "-c", '"$0" "$1" numbers; exit 0', omit, library,
        options=["--omit", f"x:y|{NAME}"],
    )
    child, = [p for p in seen.profiles() if p.path.name != "out.seep"]
    check_sites(seen.truth, child, temporary=False)
    assert left_out(child) == of_library(seen.truth)


def test_libraries_that_take_turns_at_one_address(compiler, recorder):
    plugs = [
        compiler.library(
            "plug.c", flags=("-O0", "-fno-builtin", "-g", f"-DPLUG={x}"), name=f"libplug_{x}.so"
        )
        for x in "ab"
    ]
    seen = recorder.record(
        compiler.build("dl_swap.c"), *plugs, "50", options=["--omit", "libplug_a"]
    )
    assert (
        seen.truth.facts["same"] == 50
    ), "the loader put the libraries at different addresses: nothing is proved"
    a = seen.truth.sites.pop("inner_a")
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    assert (left_out(seen.profile)["omitted"], left_out(seen.profile)["omitted_bytes"]) == (
        a["allocs"],
        a["bytes"],
    )
    assert not any("libplug_a" in m for m in modules(seen.profile))


@pytest.mark.parametrize("options", [(), GUARDED], ids=["plain", "guarded"])
def test_leaks_of_the_rest_are_found_and_blocks_left_out_hold_others(
    recorder, omit, library, options
):
    seen = recorder.record(omit, library, "leaks", options=["--omit", NAME, *options])
    assert leaks(seen.profile) == {"definite": 1, "indirect": 1, "possible": 1}
    done = subprocess.run(
        [SEEP, "leaks", "--json", seen.profile.path],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    told = json.loads(done.stdout)
    assert {
        (s["class"], plain_name(told["frames"][s["stack"][0]]["function"])) for s in told["sites"]
    } == {("definite", "lost"), ("indirect", "lost_with_it"), ("possible", "doubtful")}


def test_without_omit_the_library_leaks_too(recorder, omit, library):
    """So that the test above proves something."""
    assert leaks(recorder.record(omit, library, "leaks").profile)["definite"] == 3


@pytest.mark.parametrize("options", [(), ("--no-leak-scan",)], ids=["searched", "not-searched"])
def test_memory_of_blocks_left_out_is_not_free(recorder, omit, library, options):
    seen = recorder.record(omit, library, "much", options=["--omit", NAME, *options])
    assert b"malloc_trim" not in seen.stderr
    if not options:  # then the process was looked at while it waited at its end
        kept = seen.profile.json["resident"]["allocator"]
        # recorded blocks count as resident before them
        found = sum(k.get("unrecorded_bytes", 0) for k in kept)
        assert 10000 * 2016 - seen.profile.totals["live_bytes"] <= found <= 10000 * 2016


def test_a_limit_does_not_hold_for_what_is_left_out(recorder, omit, library):
    limit = ["--limit-heap", "1M", "--limit-action", "enomem"]
    seen = recorder.record(omit, library, "limited", options=limit)
    assert seen.stdout == b"library none\nprogram none\nnew none\n"
    seen = recorder.record(omit, library, "limited", options=["--omit", NAME, *limit])
    assert seen.stdout == b"library memory\nprogram none\nnew none\n"
    seen = recorder.record(omit, library, "limited", options=["--omit", "/omit$", *limit])
    assert seen.stdout == b"library none\nprogram memory\nnew memory\n"


def test_a_check_takes_it_and_does_not_fail_for_it(omit, library, tmp_path):
    check = Checker(tmp_path, omit)
    assert check("--max-leaked", "5600", "--", omit, library, "leaks").status == 1
    assert check("--max-leaked", "5600", "--omit", NAME, "--", omit, library, "leaks").status == 0
    assert check("--omit", NAME, "--", omit, library, "leaks").status == 1


def test_how_much_was_left_out_is_told(recorder, omit, library):
    seen = recorder.record(omit, library, "numbers", options=["--omit", NAME])
    facts = seen.truth.facts
    words = (f"left out, as asked (--omit '{NAME}'): {facts['library_allocs']} allocations of "
             f"{facts['library_bytes']} bytes, "
             f"{facts['library_maps']} mappings of {facts['library_map_bytes']} bytes")
    assert seen.profile.json["warnings"] == [words]
    assert words in " ".join(seen.stderr.decode().split())
    info = subprocess.run(
        [SEEP, "info", seen.profile.path],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert (
        words in " ".join(info.stdout.decode().split())
        and b"without the allocations of some modules" in info.stdout
    )


def test_an_expression_that_matches_nothing_is_told(recorder, omit, library):
    seen = recorder.record(omit, library, "leaks", options=["--omit", "libnowhere"])
    assert (seen.profile.json["warnings"] == [
        "nothing was left out: no program or library whose path matches --omit 'libnowhere' "
        "allocated anything"])
    assert "omitted" not in seen.profile.totals


@pytest.mark.parametrize(
    "expression, words",
    [
        ("lib(a|b)", b"--omit: groups are not supported here"),
        ("a{2}", b"--omit: {n} is not supported here"),
        ("*", b"--omit: there is nothing to repeat, at character 1"),
        ("", b"--omit: an empty alternative"),
        ("x[ab", b"--omit: a [ that is not closed, at character 2\n"),
        ("[[:alpha:]]", b"--omit: classes like [:alpha:] are not supported"),
        ("a" * 1001, b"--omit: too long"),
    ],
)
@pytest.mark.parametrize("command", ["record", "check"])
def test_what_is_no_expression_is_refused(recorder, command, expression, words):
    done = recorder.bare(SEEP, command, "--omit", expression, "--", "/bin/true")
    assert done.status == 2 and words in done.stderr


def test_what_does_not_go_together_is_refused(recorder):
    done = recorder.bare(SEEP, "record", "--omit", "x", "--sample", "--", "/bin/true")
    assert (
        done.status == 2
        and b"--omit needs every block, but --sample records only a sample" in done.stderr
    )
    done = recorder.bare(
        SEEP, "record", "--omit", "x" * 600, "--omit", "y" * 600, "--", "/bin/true"
    )
    assert done.status == 2 and b"all expressions together are limited to 1000 bytes" in done.stderr
