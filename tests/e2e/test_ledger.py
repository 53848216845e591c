# SPDX-License-Identifier: MIT
"""The numbers: counts, peak and its composition, temporaries, invalid frees, mappings."""
import json
import re
import subprocess

import pytest

from harness import DEADLINE, SEEP, check_clean, check_sites, check_total, clean_environment


@pytest.mark.parametrize("seed", range(1, 9))
def test_peak_and_its_composition_agree_with_an_independent_model(compiler, recorder, seed):
    program = compiler.build("random_trace.c", flags=("-O1", "-fno-builtin", "-g", "-fno-inline"))
    seen = recorder.record(program, seed, 1, 60000)
    assert seen.status == 0
    assert len(seen.truth.sites) == 13
    check_sites(seen.truth, seen.profile)
    check_total(seen.truth, seen.profile.totals)
    assert seen.profile.totals["peak_blocks"] == seen.truth.total["peak_blocks"]
    assert seen.profile.totals["peak_error_bytes"] == 0
    check_clean(seen.profile)


@pytest.mark.parametrize("threads", [2, 8, 64])
def test_threads_that_free_each_others_blocks_are_counted_exactly(compiler, recorder, threads):
    program = compiler.build("random_trace.c", flags=("-O1", "-fno-builtin", "-g", "-fno-inline"))
    seen = recorder.record(program, threads, threads, 200000)
    assert seen.status == 0
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    check_total(seen.truth, seen.profile.own(program), peak=False, temporary=False)
    check_clean(seen.profile)
    totals, truth = seen.profile.totals, seen.truth.total
    foreign = totals["bytes_allocated"] - truth["bytes"]  # the libc's own, for its threads
    assert truth["peak"] <= totals["peak_bytes"] + totals["peak_error_bytes"]
    assert totals["peak_bytes"] <= truth["peak_high"] + foreign
    check_one_peak(seen)


def check_one_peak(seen):
    """The figure of the totals is what sites add up to, in every form."""
    def ask(*words):
        return subprocess.run(
            [SEEP, *words],
            cwd=seen.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE,
        ).stdout

    totals = seen.profile.totals
    for field in ("peak_bytes", "peak_blocks"):
        assert sum(site[field] for site in seen.profile.heap_sites()) == totals[field]
        assert ask(
            "sql", "--csv", "out.seep", f"SELECT sum({field}) FROM site WHERE heap"
        ).split() == [f"sum({field})", str(totals[field])]
    assert (
        sum(
            int(line.rsplit(" ", 1)[1])
            for line in ask(
                "export", "--to", "collapsed", "--cost", "peak-bytes", "out.seep"
            ).splitlines()
        )
        == totals["peak_bytes"]
    )
    assert f"peak: {totals['peak_bytes']:,}B" in ask("report", "out.seep")
    at_peak = json.loads(ask("report", "--json", "--at", "peak", "out.seep"))
    assert (
        sum(site["live_bytes"] for site in at_peak["sites"] if site["kind"] != "mmap")
        == totals["peak_bytes"]
    )
    found = re.search(
        r"^mem_heap_B=(\d+)\n(?:.*\n){2}heap_tree=peak$",
        ask("export", "--to", "massif", "-o", "-", "out.seep"),
        re.M,
    )
    assert int(found.group(1)) == totals["peak_bytes"]


@pytest.mark.parametrize("options", [(), ("--events",)], ids=["plain", "events"])
@pytest.mark.parametrize("threads,held", [(2, 1000000), (8, 400000), (16, 200000), (64, 40000)])
def test_the_peak_of_busy_threads_is_known_to_a_thousandth(
    compiler, recorder, threads, held, options
):
    seen = recorder.record(
        compiler.build("tide.c", flags=("-O1", "-fno-builtin", "-g", "-fno-inline")),
        threads,
        held,
        9,
        options=options,
    )
    assert seen.status == 0
    totals, fact = seen.profile.totals, seen.truth.facts
    peak, error = totals["peak_bytes"], totals["peak_error_bytes"]
    # by the program besides, and by the libc for its threads
    more = fact["noise"] + totals["bytes_allocated"] - fact["bytes"]
    assert fact["height"] <= peak + error
    assert peak <= fact["height"] + more
    assert error == 0 if options else 0 < error <= peak / 1000
    check_one_peak(seen)
    shares = seen.profile.by_function()
    for name in ("even", "odd"):
        assert abs(shares[f"{name}_holder"]["peak_bytes"] - fact[name]) <= error + more
    if options:
        told = subprocess.run(
            [SEEP, "events", "--totals", seen.folder / "out.seep"],
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert told.returncode == 0 and "differ" not in re.sub(
            "(sites|blocks) that differ +0 +0", "", told.stdout
        )


def test_a_temporary_is_the_last_allocation_freed_next(compiler, recorder):
    program = compiler.build("temporaries.c")
    seen = recorder.record(program)
    assert seen.truth.total["temporary"] == 300
    check_sites(seen.truth, seen.profile, peak=False)
    check_clean(seen.profile)


def errors_by(profile, kind):
    """(function that allocated, function that released) to count."""
    found = {}
    for error in profile.errors:
        if error["type"] == kind:
            alloc = profile.names(error["alloc_stack"] or [])[:1] or ["?"]
            key = (alloc[0], profile.names(error["stack"])[0])
            found[key] = found.get(key, 0) + error["count"]
    return found


def test_mismatched_releases_are_reported_with_both_stacks(compiler, recorder):
    seen = recorder.record(compiler.build("releases.cpp"), "mismatched")
    assert seen.status == 0
    wanted = {(alloc, release): count for alloc, release, count in seen.truth.mismatches}
    assert errors_by(seen.profile, "mismatched") == wanted
    assert seen.profile.totals["mismatched"] == sum(wanted.values())
    assert (seen.profile.totals["unknown_frees"], seen.profile.totals["double_frees"]) == (0, 0)


def test_stacks_of_a_mismatch_reach_main(compiler, recorder):
    seen = recorder.record(compiler.build("releases.cpp"), "mismatched")
    for error in seen.profile.errors:
        assert seen.profile.names(error["stack"])[1:3] == ["mismatched", "main"]
        assert seen.profile.names(error["alloc_stack"])[1:3] == ["mismatched", "main"]


def test_matching_releases_are_silent(compiler, recorder):
    seen = recorder.record(compiler.build("releases.cpp"), "matching")
    assert seen.status == 0
    check_clean(seen.profile)


def test_a_double_free_is_caught_before_the_libc_ends_the_program(compiler, recorder):
    program = compiler.build("releases.cpp")
    bare, seen = recorder.bare(program, "twice"), recorder.record(program, "twice", options=["-q"])
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert seen.stderr == bare.stderr
    assert errors_by(seen.profile, "double-free") == {("by_malloc", "to_free"): 1}
    assert seen.profile.totals["double_frees"] == 1


@pytest.mark.parametrize("case", ["unknown", "inside"])
def test_a_free_of_no_block_is_reported_with_its_stack(compiler, recorder, case):
    program = compiler.build("releases.cpp")
    bare, seen = recorder.bare(program, case), recorder.record(program, case, options=["-q"])
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert [seen.profile.names(e["stack"])[:3] for e in seen.profile.errors] == [
        ["to_free", case, "main"]
    ]
    assert [e["type"] for e in seen.profile.errors] == ["unknown-free"]
    assert seen.profile.totals["unknown_frees"] == 1


def test_a_free_inside_a_block_tells_which_one(compiler, recorder):
    seen = recorder.record(compiler.build("releases.cpp"), "inside", options=["-q"])
    error, = seen.profile.errors
    assert seen.profile.names(error["alloc_stack"])[:3] == ["by_malloc", "inside", "main"]
    for command in (("report", "--errors"), ("leaks",)):
        text = subprocess.run(
            [SEEP, *command, seen.profile.path],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        ).stdout
        assert f"  it is 16 bytes into the block at {int(error['address'], 16) - 16:#x} of " in text


MAPPINGS = [
    "second_page", "head", "tail", "across", "fixed_over", "remapped", "shrunk", "remapped_fixed",
    "remapped_middle", "failures", "never_mapped", "file_backed", "many",
]


def mapped_by(profile, program):
    return [s for s in profile.json["sites"] if s["kind"] in ("mmap", "mremap") and s["stack"]
            and profile.frame(s["stack"][0])["module"] == str(program.resolve())]


@pytest.mark.parametrize("case", MAPPINGS)
def test_mappings_are_exact_to_the_page(compiler, recorder, case):
    program = compiler.build("mappings.c")
    bare, seen = recorder.bare(program, case), recorder.record(program, case)
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    assert (
        sum(s["live_bytes"] for s in mapped_by(seen.profile, program)) == seen.truth.facts["mapped"]
    )
    assert seen.profile.totals["mmap_live_bytes"] == seen.truth.facts["mapped"]
    assert seen.profile.totals["live_bytes"] == 0
    check_clean(seen.profile)


def test_unmapping_the_middle_invents_no_allocation(compiler, recorder):
    program = compiler.build("mappings.c")
    seen = recorder.record(program, "second_page")
    sites = mapped_by(seen.profile, program)
    assert sum(s["live_bytes"] for s in sites) == 16384
    assert sum(s["allocations"] for s in sites) == 1


def test_mappings_can_be_left_out(compiler, recorder):
    seen = recorder.record(compiler.build("mappings.c"), "many", options=["--no-mmap"])
    assert seen.profile.totals["mmap_live_bytes"] == 0
    assert not [s for s in seen.profile.json["sites"] if s["kind"] in ("mmap", "mremap")]


def test_random_paths_of_depth_eight_lose_half(compiler, recorder):
    seen = recorder.record(compiler.build("depth8.c"), 65536)
    totals = seen.profile.totals
    assert totals["allocations"] == seen.truth.facts["allocs"] == 65536
    assert totals["live_bytes"] == seen.truth.facts["live_bytes"] == 131072
    assert totals["peak_bytes"] == 131072 + 4
    check_clean(seen.profile)


def test_random_paths_of_depth_eight_are_told_apart(compiler, recorder):
    seen = recorder.record(compiler.build("depth8.c"), 65536)
    stacks = {tuple(seen.profile.names(s["stack"])) for s in seen.profile.heap_sites()}
    assert len(stacks) == 2 ** 8
    assert all(len(s) >= 18 and s[0] == "leaf" and s[17] == "main" for s in stacks)


def test_without_cxx_new_is_seen_as_the_malloc_it_calls(compiler, recorder):
    seen = recorder.record(compiler.build("operators.cpp"), options=["--no-cxx"])
    assert {s["kind"] for s in seen.profile.heap_sites()} & {"new", "new[]"} == set()
    assert seen.profile.below("new_plain")["live_bytes"] == 100


def test_without_depth_there_are_totals_but_no_stacks(compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"), options=["-d", "0"])
    check_total(seen.truth, seen.profile.totals)
    assert {tuple(s["stack"]) for s in seen.profile.heap_sites()} == {()}


def test_nothing_grows_with_the_number_of_events(compiler, recorder):
    program = compiler.build("events.c")
    short, long = recorder.record(program, 40000), recorder.record(program, 4000000)
    assert (
        long.profile.totals["allocations"]
        == long.profile.totals["frees"]
        == long.truth.facts["allocs"]
        == 4000000
    )
    assert long.profile.totals["temporary"] == 4000000
    size = {run: run.files()[0].stat().st_size for run in (short, long)}
    assert size[long] < 20000
    assert (
        abs(long.profile.totals["rss_peak_bytes"] - short.profile.totals["rss_peak_bytes"])
        < 2 << 20
    )
