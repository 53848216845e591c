# SPDX-License-Identifier: MIT
"""Thousands of mappings, changed at random: what is left of them is known to the page; and
mappings with the heap as one sum."""
import subprocess

import pytest

import format_reader
import pages
from harness import DEADLINE, SEEP, check_clean, clean_environment

MAKERS = ("reserve", "place", "anywhere", "move_to")


def regions_of(path):
    """Of one recording: (start, end) of all that is no stack."""
    return sorted(
        (r["start"], r["end"]) for r in format_reader.read(path).arrays["regions"] if not r["stack"]
    )


def overlapping(regions):
    return [(a, b) for a, b in zip(regions, regions[1:]) if a[1] > b[0]]


def left_by(profile):
    """Bytes by the function that mapped them."""
    left = {}
    for site in profile.json["sites"]:
        if site["kind"] in ("mmap", "mremap"):
            left[profile.innermost(site)] = (
                left.get(profile.innermost(site), 0) + site["live_bytes"]
            )
    return left


def check_makers(seen):
    left = left_by(seen.profile)
    assert {name: left.get(name, 0) for name in MAKERS} == {
        name: seen.truth.facts[name] for name in MAKERS
    }


@pytest.fixture
def maze(compiler):
    return compiler.build("mapping_maze.c")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_left_of_random_mappings_is_exact(maze, recorder, seed):
    seen = recorder.record(maze, "alone", 20000, seed)
    assert seen.status == 0
    found = regions_of(seen.folder / "out.seep")
    assert len(found) > 3000 and found == sorted(seen.truth.mapped)
    check_makers(seen)
    check_clean(seen.profile)


def test_what_was_unmapped_piece_by_piece_was_unmapped_once(maze, recorder):
    seen = recorder.record(maze, "emptied", 5000, 4)
    assert seen.status == 0 and not seen.truth.mapped
    made = [
        s
        for s in seen.profile.json["sites"]
        if s["kind"] in ("mmap", "mremap") and seen.profile.innermost(s) in MAKERS
    ]
    assert len(made) >= 4 and all(
        s["allocations"] == s["frees"] and s["live_bytes"] == 0 for s in made
    )


def test_four_threads_at_once_are_exact(maze, recorder):
    seen = recorder.record(maze, "threads", 5000, 4)
    assert seen.status == 0
    assert regions_of(seen.folder / "out.seep") == sorted(seen.truth.mapped)
    check_makers(seen)
    check_clean(seen.profile)


def test_a_forked_child_goes_on_with_mappings_of_its_own(maze, recorder):
    seen = recorder.record(maze, "forked", 6000, 5, options=["--follow=all"])
    assert seen.status == 0
    assert regions_of(seen.folder / "out.seep") == sorted(seen.truth.mapped)
    child, = (f for f in seen.files() if f.name != "out.seep")
    found = regions_of(child)
    assert not overlapping(found)
    assert (len(found), sum(b - a for a, b in found)) == (
        seen.truth.facts["child_pieces"],
        seen.truth.facts["child_bytes"],
    )


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_a_child_forked_amid_the_changes_of_other_threads(maze, recorder, seed):
    seen = recorder.record(maze, "forked_amid", 2000, seed, options=["--follow=all"])
    assert seen.status == 0
    child, = (f for f in seen.files() if f.name != "out.seep")
    found = regions_of(child)
    assert not overlapping(found)
    area = range(seen.truth.facts["area"], seen.truth.facts["area_end"])
    assert len(seen.truth.mapped) > 500 and [r for r in found if r[0] in area] == sorted(
        seen.truth.mapped
    )


@pytest.mark.parametrize("seed", range(6, 12))
def test_killed_in_a_change_no_mapping_is_wrong(maze, recorder, seed):
    seen = recorder.record(maze, "killed", 3000, seed)
    assert seen.status == 137
    found = regions_of(seen.folder / "out.seep")
    assert not overlapping(found)
    assert len(seen.truth.mapped) > 1000 and set(seen.truth.mapped) <= set(found)


def test_heap_and_mappings_as_one_sum(recorder, compiler):
    """Two blocks and 32 mappings of 1 MiB, all by main."""
    file = recorder.record(compiler.build("beside.c")).folder / "out.seep"

    def report(*words, status=0, cost="live"):
        done = subprocess.run(
            [SEEP, "report", "--cost", cost, *words, file],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    for memory, bytes_, count in (
        ("heap", 2 << 20, 2),
        ("mmap", 32 << 20, 32),
        ("both", 34 << 20, 34),
    ):
        table = report("--memory", memory, "--group-by", "function", "--csv").splitlines()
        assert f"main,{memory},{bytes_},{count}" in table, table
        assert report("--memory", memory).splitlines()[0].endswith(f": {bytes_:,}B")
    # The peak of the two together is not known, and is not claimed to be.
    assert report("--memory", "both", cost="peak").startswith(
        "when the heap was at its peak, heap and mmap: ")
    assert "not freed, heap and mmap: " in report(
        "--memory", "both"
    ) and "mapped by mmap: 1 stack" in report("--memory", "mmap", "--flat")
    assert "--memory is for --tree" in report("--memory", "both", "--types", status=2)
    assert "heap, mmap or both" in report("--memory", "stack", status=2)


def test_what_was_never_resident_as_a_whole_comes_last(recorder, compiler):
    """4 GiB without access, 24 MiB that are used, and a heap that is smaller still."""
    seen = recorder.record(compiler.build("reserve.c"))
    facts = seen.truth.facts
    assert facts["fill_pages"] < facts["resident"] < facts["keep_back"]
    done = subprocess.run(
        [SEEP, "report", "--cost", "live", seen.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    used, heap, reserved = done.stdout.split("\n\n")
    assert (
        used.startswith("mapped by mmap, live: 25,165,824B")
        and "fill_pages" in used
        and "keep_back" not in used
    )
    assert "fill_pages" not in heap and "keep_back" not in heap
    assert (
        reserved.startswith(
            "address space reserved by mmap, more than was ever resident: 4,294,967,296B"
        )
        and "keep_back" in reserved
    )
    flat = subprocess.run(
        [SEEP, "report", "--flat", "--memory", "mmap", "--cost", "live", seen.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    ).stdout
    assert flat.count("by mmap (more than was ever resident)") == 1
    both = subprocess.run(
        [SEEP, "report", "--memory", "both", "--cost", "live", seen.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    ).stdout
    counted = seen.profile.totals["live_bytes"] + facts["fill_pages"]
    assert (
        both.startswith(f"not freed, heap and mmap: {counted:,}B")
        and both.split("\n\n")[-1] == reserved
    )
    view = pages.data_of(pages.answer("-o", "-", seen.folder / "out.seep").stdout)["recordings"][0]
    sites = {
        key: column if isinstance(column, list) else [column] * view["sites"]["count"]
        for key, column in view["sites"].items()
        if key != "count"
    }
    assert (
        sum(
            bytes_
            for bytes_, left_out in zip(sites["live_bytes"], sites["reserved"])
            if not left_out
        )
        == counted
    )
