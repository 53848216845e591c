# SPDX-License-Identifier: MIT
"""Stacks of threads are mappings of whoever made the thread, though the C library maps them by
itself."""
import subprocess

import pytest

import format_reader
import pages
from harness import DEADLINE, SEEP, clean_environment

CASES = [
    "alive", "joined", "one_after_another", "many", "detached", "detached_short", "mapped_over",
    "allocated_over", "own_stack", "refused",
]


def stacks_of(seen):
    return sorted(
        (r["start"], r["end"])
        for r in format_reader.read(seen.folder / "out.seep").arrays["regions"]
        if r["stack"]
    )


def size_of(ranges):
    return sum(end - start for start, end in ranges)


@pytest.fixture
def program(compiler):
    return compiler.build("thread_stacks.c")


@pytest.mark.parametrize("case", CASES)
def test_stacks_are_those_that_the_c_library_tells_of(program, recorder, case):
    bare, seen = recorder.bare(program, case), recorder.record(program, case, options=["--events"])
    assert (seen.stdout, seen.status) == (bare.stdout, bare.status)
    truth, totals = seen.truth, seen.profile.totals
    assert stacks_of(seen) == sorted(truth.mapped)
    assert totals["mmap_live_bytes"] == size_of(truth.mapped) + truth.facts["own"]
    replayed = subprocess.run(
        [SEEP, "events", "--totals", seen.folder / "out.seep"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=clean_environment(),
    )
    assert replayed.returncode == 0 and "differs" not in replayed.stdout, replayed.stdout


@pytest.mark.parametrize("case", ["alive", "one_after_another", "many"])
def test_a_stack_belongs_to_the_caller_of_pthread_create(program, recorder, case):
    seen = recorder.record(program, case)
    mapped = [s for s in seen.profile.json["sites"] if s["kind"] == "mmap"]
    innermost = {seen.profile.names(s["stack"])[0] for s in mapped}
    assert innermost == ({"make", "alive"} if case == "alive" else {"make"})
    assert sum(s["allocations"] for s in mapped) == seen.truth.facts["made"]
    assert sum(s["live_bytes"] for s in mapped) == size_of(seen.truth.mapped)
    assert sum(s["live_blocks"] for s in mapped) == len(seen.truth.mapped)


def test_what_pthread_create_allocates_is_still_the_programs(program, recorder):
    seen = recorder.record(program, "alive")
    inside = [seen.profile.names(s["stack"]) for s in seen.profile.heap_sites()]
    assert any(
        "make" in names and any("allocate_tls" in name for name in names) for names in inside
    ), inside


def test_stacks_are_left_out_with_other_mappings(program, recorder):
    seen = recorder.record(program, "alive", options=["--no-mmap"])
    assert seen.profile.totals["mmap_live_bytes"] == 0 and not stacks_of(seen)


def test_an_ended_threads_stack_holds_no_block(program, recorder):
    seen = recorder.record(program, "joined")
    roots = format_reader.read(seen.folder / "out.seep").arrays["roots"]
    assert stacks_of(seen)
    for start, end in stacks_of(seen):
        assert not [r for r in roots if r["kind"] == 5 and r["start"] < end and r["end"] > start]


def test_stacks_come_last_in_the_report_by_a_name_of_their_own(program, recorder):
    """They are address space, of which little is used: no tree and no place of what is mapped
    begins with them."""
    seen = recorder.record(program, "alive")
    file = seen.folder / "out.seep"

    def report(*words):
        return subprocess.run(
            [SEEP, "report", *words, file],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
            check=True,
        ).stdout

    heap, stacks = report("--cost", "live", "--threshold=0").split("\n\n")
    assert heap.startswith("not freed: ")
    assert stacks.startswith(f"address space of threads' stacks, of which each uses a little: "
                             f"{size_of(seen.truth.mapped):,}B\n")
    assert "make" in stacks
    flat = report("--flat", "--memory", "mmap", "--cost", "live")
    assert flat.count(", by mmap (stacks of threads), site #") == len(
        [s for s in seen.profile.json["sites"] if s["kind"] == "mmap"]
    )
    totals = pages.data_of(pages.answer("-o", "-", file).stdout)["recordings"][0]["totals"]
    assert totals["stack_bytes"] == totals["mmap_live_bytes"] == size_of(seen.truth.mapped)
    summary = report("--summary")
    assert " of it: make" not in summary and " of the rest: make" not in summary
