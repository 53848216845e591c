# SPDX-License-Identifier: MIT
"""report --memlog, --csv, --resources and words for moments, against what programs say about
themselves."""
import csv
import io
import re
import subprocess

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment
from plain import difference, live, own, parse_memlog, sum_by_function

AMOUNT = re.compile(r"[+-]\d+")
FRAME = re.compile(r"\t[^\t]+\t\([^\t]+\)(\t[^\t]+:\d+)?")
OBJECT = re.compile(r"\t/[^\t]+")
MOMENTS = (
    "+red:3:10", "tag:a", "moment:a", "+red:4:100", "+blue:1:1", "snapshot:one", "moment:one",
    "-red:5", "+green:2:30", "tag:b", "moment:b", "snapshot:", "-blue", "+red:2:1000",
)


def answer(file, *argv):
    return subprocess.run(
        [SEEP, "report", *map(str, argv), str(file)],
        capture_output=True,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
    )


def report(file, *argv):
    done = answer(file, *argv)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def memlog(file, *argv):
    return sum_by_function(parse_memlog(report(file, "--memlog", *argv)))


@pytest.fixture(scope="module")
def steps(compiler):
    return compiler.build("steps.c")


def record(recorder, program, *words):
    seen = recorder.record(program, *words, cwd=recorder.folder())
    assert seen.status == 0, seen.stderr
    return seen, seen.folder / "out.seep"


def test_the_format_is_mtraces(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    lines = report(file, "--memlog").splitlines()
    assert lines and all(AMOUNT.fullmatch(line) or FRAME.fullmatch(line) for line in lines)
    amounts = [int(line) for line in lines if AMOUNT.fullmatch(line)]
    assert amounts == sorted(amounts, reverse=True)
    for _, stack in parse_memlog(report(file, "--memlog")):
        assert [name for name, _, _ in stack] == [
            stack[0][0],
            "shelf_put", "allocate", "step", "main",
        ]
        assert {module for _, module, _ in stack} == {str(steps)}
        assert all(re.fullmatch(r".*/steps\.c:\d+", place) for _, _, place in stack)


def test_without_symbols_objects_are_left(compiler, recorder):
    stripped = compiler.build("steps.c", flags=("-O0", "-fno-builtin", "-s"))
    seen, file = record(recorder, stripped, *MOMENTS)
    lines = report(file, "--memlog").splitlines()
    assert lines and all(
        AMOUNT.fullmatch(line) or FRAME.fullmatch(line) or OBJECT.fullmatch(line) for line in lines
    )
    assert f"\t{stripped}" in lines
    assert (
        sum(int(line) for line in lines if AMOUNT.fullmatch(line)) == seen.truth.total["live_bytes"]
    )


def test_each_moment_by_each_of_its_names(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    moments = seen.truth.moments
    for word, moment in (
        ("a", "a"),
        ("a:1", "a"),
        ("one", "one"),
        ("1", "one"),
        ("b", "b"),
        ("2", "b"),
        ("end", "end"),
    ):
        assert own(memlog(file, "--at", word), seen.truth) == live(moments[moment]), word
    assert report(file, "--memlog", "--at", "start") == ""


def test_changes_between_moments_add_up(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    moments = seen.truth.moments
    for words, old, new in (
        ("a..one", "a", "one"),
        ("one..b", "one", "b"),
        ("1..2", "one", "b"),
        ("a..", "a", "end"),
        ("2..end", "b", "end"),
    ):
        assert memlog(file, "--cost=change", "--range", words) == difference(
            moments[new], moments[old]
        ), words
    assert memlog(file, "--range", "..b") == live(moments["b"])


def test_merged_stacks_filters_and_limit(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    assert report(file, "--memlog", "-x", "^(red|green|blue)$") == ""
    merged = parse_memlog(report(file, "--memlog", "--depth-merge=2"))
    assert all(len(stack) == 2 for _, stack in merged) and sum_by_function(merged) == live(
        seen.truth.sites
    )
    assert set(memlog(file, "-i", "^green$")) == {"green"}
    assert len(parse_memlog(report(file, "--memlog", "-n", "1"))) == 1


def test_what_cannot_be_combined_is_refused(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    for argv in (
        ["--at=nowhere"],
        ["--at=3"],
        ["--at=a:2"],
        ["--range=b..a"],
        ["--range=a"],
        ["--range=peak..end"],
        ["--range=a..nowhere"],
        ["--cost=change"],
        ["--at=a", "--range=a..b"],
        ["--memlog", "--json"],
        ["--csv", "--tree"],
        ["--csv", "--resources"],
        ["--csv", "--memlog"],
    ):
        done = answer(file, *argv)
        assert (done.returncode, done.stdout) == (2, b"") and done.stderr.startswith(
            b"seep: "
        ), argv
    assert b"tag b" in answer(file, "--at=nowhere").stderr


def test_csv_holds_the_numbers_of_json(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    text = report(file, "--csv", "--cost=total")
    assert text.count("\r\n") == text.count("\n")
    rows = {
        row["stack"].split(" ")[0]: row for row in csv.DictReader(io.StringIO(text, newline=""))
    }
    profile = Profile(file)
    for name, sums in profile.by_function().items():
        row = rows[name]
        assert [
            int(row[k])
            for k in (
                "live_bytes", "live_blocks", "peak_bytes", "alloc_bytes", "allocs", "frees",
                "temporary",
            )
        ] == [
            sums[k]
            for k in (
                "live_bytes", "live_blocks", "peak_bytes", "bytes_allocated", "allocations",
                "frees", "temporary",
            )
        ]
        assert [part.split(" ")[0] for part in row["stack"].split(";")] == [
            name, "shelf_put", "allocate", "step", "main",
        ]
    assert {*rows} == {*profile.by_function()}


def table(file, *argv):
    return list(csv.DictReader(io.StringIO(report(file, "--csv", *argv), newline="")))


def test_csv_of_blocks_threads_and_groups(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    blocks = table(file, "--blocks")
    assert (len(blocks), sum(int(b["size"]) for b in blocks)) == (
        seen.truth.total["live_blocks"],
        seen.truth.total["live_bytes"],
    )
    sums = {}
    for block in blocks:
        name = block["stack"].split(" ")[0]
        sums[name] = sums.get(name, 0) + int(block["size"])
    assert sums == live(seen.truth.sites)
    (thread,) = table(file, "--threads")
    assert [int(thread[k]) for k in ("allocations", "bytes_allocated", "live_bytes")] == [
        seen.truth.total[k] for k in ("allocs", "bytes", "live_bytes")
    ]
    groups = {
        row["function"]: (int(row["bytes"]), int(row["count"]))
        for row in table(file, "--group-by=function", "--cost=total")
    }
    assert groups == {
        name: (counts["bytes"], counts["allocs"]) for name, counts in seen.truth.sites.items()
    }


def test_resources_are_told_with_their_handles(compiler, recorder):
    seen = recorder.record(compiler.build("resources.c"), "plain")
    text = report(seen.folder / "out.seep", "--resources")
    held = {}
    for kind, _, handle, _ in seen.truth.held:
        held.setdefault(kind, set()).add(handle)
    assert held
    for kind, handles in held.items():
        part = re.search(rf"^{kind}: (\d+) not released.*?(?=^\S|\Z)", text, re.M | re.S)
        assert int(part[1]) == len(handles)
        listed = {
            int(h, 0)
            for line in re.findall(r"^ +handles? (.*)$", part[0], re.M)
            for h in line.split(" and ")[0].split(", ")
        }
        assert listed <= handles and (listed == handles or "more" in part[0])
    line = re.search(
        r"RESOURCES NOT RELEASED: (.*)", report(seen.folder / "out.seep", "--summary")
    )[1]
    assert dict(reversed(item.split(" ", 1)) for item in line.split(", ")) == {
        kind: str(len(h)) for kind, h in held.items()
    }


def test_a_program_without_resources_says_so(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    assert report(file, "--resources").startswith("no resources")
    assert "RESOURCES" not in report(file, "--summary")
