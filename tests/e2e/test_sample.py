# SPDX-License-Identifier: MIT
"""record --sample: estimates from a few blocks, right on average; what needs every block says
so."""
import csv
import json
import math

import pytest

from harness import SEEP, run
from plain import find_reports, run_plain, seep

MEAN = 16 << 10


@pytest.fixture
def sampled(compiler):
    return compiler.build("sampled.c")


@pytest.fixture
def seen(sampled, recorder):
    return recorder.record(sampled, options=["--sample=16K"])


def truth_of(seen):
    rows = [line.split() for line in seen.stdout.decode().splitlines()]
    return {
        name: dict(
            zip(("allocations", "bytes_allocated", "live_blocks", "live_bytes"), map(int, numbers))
        )
        for name, *numbers in rows
    }


def tolerance(size_sum):
    """Six standard deviations of an estimate that about size_sum / MEAN sample points made."""
    return 6 / math.sqrt(max(size_sum / MEAN, 1))


def check_near(got, wanted, bytes_seen):
    assert abs(got - wanted) <= tolerance(bytes_seen) * max(wanted, 1) + 1, (got, wanted)


def test_estimates_are_near_the_truth(seen):
    assert seen.status == 0
    got = seen.profile.by_function()
    for name, truth in truth_of(seen).items():
        for field, wanted in truth.items():
            check_near(
                got[name][field],
                wanted,
                truth["live_bytes" if field.startswith("live") else "bytes_allocated"],
            )


def test_books_balance(seen):
    totals = seen.profile.json["totals"]
    assert totals["allocations"] - totals["frees"] == totals["live_blocks"]
    assert sum(s["live_bytes"] for s in seen.profile.heap_sites()) == totals["live_bytes"]
    assert totals["peak_bytes"] >= totals["live_bytes"]
    threads = seen.profile.json["threads"]
    assert sum(t["live_bytes"] for t in threads) == totals["live_bytes"]
    assert sum(t["allocations"] for t in threads) == totals["allocations"]


def test_a_range_between_marks_is_estimated_too(seen):
    done = seep("report", "--json", "--range", "half..end", seen.folder / "out.seep")
    report = json.loads(done.stdout)
    truth = truth_of(seen)
    live = {}
    for site in report["sites"]:
        name = report["frames"][site["stack"][0]]["function"]
        live[name] = live.get(name, 0) + site["live_bytes"]
    for name in ("small", "middle", "large"):
        check_near(live[name], truth[name]["live_bytes"] // 2, truth[name]["live_bytes"] // 2)


def test_lists_of_blocks_and_sizes_tell_the_same_sums(seen):
    live = seen.profile.json["totals"]
    file = seen.folder / "out.seep"
    said = seep("report", "--blocks", file).stdout.decode().splitlines()[0]
    assert said.startswith(
        f"{live['live_blocks']:,} blocks not freed, {live['live_bytes']:,} B: estimates from "
    )
    rows = list(
        csv.DictReader(seep("report", "--blocks", "--csv", file).stdout.decode().splitlines())
    )
    assert sum(int(r["times"]) for r in rows if r["kind"] != "mmap") == live["live_blocks"]
    assert (
        sum(int(r["times"]) * int(r["size"]) for r in rows if r["kind"] != "mmap")
        == live["live_bytes"]
    )
    assert (
        f" {live['live_blocks']:,} of ".encode()
        in seep("report", "--sizes", "--cost=live", file).stdout
    )


def test_that_no_release_went_wrong_is_not_claimed(seen):
    file = seen.folder / "out.seep"
    assert (
        seep("report", "--errors", file).stdout
        == b"invalid frees are not known: it was recorded with --sample\n"
    )
    done = seep("check", "--max-bad-frees=0", file)
    assert done.returncode == 1 and b"invalid frees are not known" in done.stdout


def test_that_a_function_did_not_allocate_is_not_claimed(seen):
    done = seep("check", "--no-alloc-in=truth", seen.folder / "out.seep")
    assert done.returncode == 1 and b"most allocations are not known" in done.stdout


def test_it_says_that_numbers_are_estimates_and_leaks_are_not_searched(seen):
    assert any("estimates" in w and "--sample" in w for w in seen.profile.json["warnings"])
    assert seen.profile.json["leaks"]["scanned"] is False
    done = seep("leaks", seen.folder / "out.seep")
    assert b"recorded with --sample" in done.stdout + done.stderr


def test_releases_of_blocks_that_were_not_taken_are_no_fault(seen):
    totals = seen.profile.json["totals"]
    assert (totals["unknown_frees"], totals["double_frees"], totals["mismatched"]) == (0, 0, 0)
    assert seen.profile.errors == []


@pytest.mark.parametrize("size", ["1", "1G"])
def test_any_distance_is_possible(sampled, recorder, size):
    """With a byte every block is taken, and nothing is estimated; with a gigabyte next to
    nothing is."""
    seen = recorder.record(sampled, options=[f"--sample={size}"])
    got = seen.profile.by_function()
    if size == "1":
        for name, truth in truth_of(seen).items():
            assert {k: got[name][k] for k in truth} == truth
    else:
        assert len(got) <= 4


def test_sample_0_records_every_block(sampled, recorder):
    seen = recorder.record(sampled, options=["--sample=0"])
    got = seen.profile.by_function()
    assert all(
        got[name][k] == v for name, truth in truth_of(seen).items() for k, v in truth.items()
    )
    assert seen.profile.json["leaks"]["scanned"] is True


@pytest.mark.parametrize("other", [["--events"], ["--limit-heap=1M"], ["--snapshot-at-heap=1M"]])
def test_what_needs_every_block_is_refused(recorder, other):
    done = run([SEEP, "record", "--sample", *other, "--", "true"], folder=recorder.folder())
    assert (
        done.status == 2
        and other[0].split("=")[0].encode() in done.stderr
        and b"--sample" in done.stderr
    )


@pytest.mark.parametrize("size", ["x", "-1", "17G"])
def test_a_wrong_distance_is_told(recorder, size):
    done = run([SEEP, "record", f"--sample={size}", "--", "true"], folder=recorder.folder())
    assert done.status == 2 and b"--sample" in done.stderr


def test_plain_preload_takes_it_from_the_environment(sampled, recorder):
    folder = recorder.folder()
    done = run_plain(folder, sampled, env={"SEEP_OPTIONS": "--sample=16K"})
    assert done.status == 0
    live = find_reports(folder, "sampled")[0].by_function()
    for name, truth in truth_of(done).items():
        check_near(live.get(name, 0), truth["live_bytes"], truth["live_bytes"])
