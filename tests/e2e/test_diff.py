# SPDX-License-Identifier: MIT
"""`seep diff`: what changed between two recordings or two moments of one, against what the
programs say."""
import csv
import io
import json
import re
import shutil
import subprocess

import pytest

from harness import DEADLINE, PLAIN, SEEP, clean_environment, plain_name
from plain import parse_memlog, sum_by_function

FIELDS = {
    "live_bytes": "live_bytes",
    "live_blocks": "live_blocks",
    "allocations": "allocs",
    "bytes_allocated": "bytes",
    "frees": "frees",
}
OLD = ("+red:10:100", "+green:4:50", "-green:1", "+blue:3:7")
NEW = ("+red:12:100", "-red:5", "+green:4:50", "-green:1")


def answer(*argv, cwd=None):
    return subprocess.run(
        [SEEP, "diff", *map(str, argv)],
        capture_output=True,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
        cwd=cwd,
    )


def diff(*argv, cwd=None):
    done = answer(*argv, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def changes(*argv, cwd=None):
    """By function, the signed differences of `diff --json`."""
    data = json.loads(diff("--json", *argv, cwd=cwd))
    found = {}
    for site in data["sites"]:
        name = plain_name(data["frames"][site["stack"][0]]["function"])
        sums = found.setdefault(name, dict.fromkeys(FIELDS, 0))
        for field in FIELDS:
            sums[field] += site[field]
    return {name: sums for name, sums in found.items() if any(sums.values())}


def truly(old, new):
    """The same from what the two runs said."""
    found = {}
    for name in {*old.sites, *new.sites}:
        a, b = old.sites.get(name, {}), new.sites.get(name, {})
        found[name] = {field: b.get(word, 0) - a.get(word, 0) for field, word in FIELDS.items()}
    return {name: sums for name, sums in found.items() if any(sums.values())}


@pytest.fixture(scope="module")
def steps(compiler):
    return compiler.build("steps.c")


@pytest.fixture(scope="module")
def rebuilt(compiler):
    """The same functions at other places of another build."""
    return compiler.build("steps.c", flags=(*PLAIN, "-falign-functions=128"))


def record(recorder, program, *words):
    seen = recorder.record(program, *words, cwd=recorder.folder())
    assert seen.status == 0, seen.stderr
    return seen, seen.folder / "out.seep"


def test_two_runs_of_one_build(steps, recorder):
    (old, a), (new, b) = record(recorder, steps, *OLD), record(recorder, steps, *NEW)
    assert changes(a, b) == truly(old.truth, new.truth)
    assert changes(b, a) == truly(new.truth, old.truth)
    assert changes(a, a) == {}
    assert b"build id" not in answer(a, b).stderr


def test_functions_of_another_build_match_by_name_and_that_is_said(steps, rebuilt, recorder):
    (old, a), (new, b) = record(recorder, steps, *OLD), record(recorder, rebuilt, *NEW)
    done = answer("--json", a, b)
    assert b"build ids of steps differ" in done.stderr and b"matched by name" in done.stderr
    assert changes(a, b) == truly(old.truth, new.truth)
    assert json.loads(done.stdout)["rebuilt"] == [str(rebuilt)]
    assert answer("-q", a, b).stderr == b""


def test_stacks_of_gone_and_new_functions_have_names(steps, rebuilt, recorder):
    for program in (steps, rebuilt):
        (_, a), (_, b) = record(recorder, steps, "+blue:1:5"), record(recorder, program, "+red:1:9")
        data = json.loads(diff("--json", a, b))
        seen = {
            (s["change"], s["of"], *[data["frames"][i]["function"] for i in s["stack"][:2]])
            for s in data["sites"]
        }
        assert seen == {("new", "new", "red", "shelf_put"), ("gone", "old", "blue", "shelf_put")}


def test_the_totals_stand_first_then_the_largest_change(steps, recorder):
    (_, a), (_, b) = record(recorder, steps, *OLD), record(recorder, steps, *NEW)
    text = diff(a, b)
    lines = text.splitlines()
    # red: 1000 to 700, blue: 21 to nothing
    assert lines[1] == "heap: -321 B, 1.1 KiB to 850 B live, -6 blocks, -1 call"
    assert lines[2] == "stacks: 0 new, 1 gone, 0 grown, 1 shrunk, 1 unchanged"
    assert re.findall(r"^ +\d+\. (\S+ \S+) +(\w+)", text, re.M) == [
        ("-300 B", "shrunk"),
        ("-21 B", "gone"),
    ]


COSTS = {
    "live": ("live_bytes", "live-bytes"),
    "total": ("bytes", "alloc-bytes"),
    "allocs": ("allocs", "allocs"),
}


@pytest.mark.parametrize("cost", COSTS)
def test_memlog_of_each_cost(steps, recorder, cost):
    (old, a), (new, b) = record(recorder, steps, *OLD), record(recorder, steps, *NEW)
    word = COSTS[cost][0]
    before, after = old.truth.sites, {
        **dict.fromkeys(old.truth.sites, {word: 0}),
        **new.truth.sites,
    }
    wanted = {name: after[name][word] - before[name][word] for name in after}
    entries = parse_memlog(diff("--memlog", "--cost", cost, a, b))
    assert sum_by_function(entries) == {name: amount for name, amount in wanted.items() if amount}
    amounts = [amount for amount, _ in entries]
    assert amounts == sorted(amounts, reverse=True)
    by_size = parse_memlog(diff("--memlog", "--abs", "--cost", cost, a, b))
    assert sorted(by_size) == sorted(entries) and [abs(n) for n, _ in by_size] == sorted(
        map(abs, amounts), reverse=True
    )
    assert diff("--memlog", "--sort", COSTS[cost][1], "--cost", cost, a, b) == diff(
        "--memlog", "--cost", cost, a, b
    )


def test_peaks_of_two_runs(steps, recorder):
    (old, a), (new, b) = record(recorder, steps, "+red:50:100", "-red:49"), record(
        recorder, steps, "+red:80:100", "-red:79"
    )
    entries = parse_memlog(diff("--memlog", "--cost=peak", a, b))
    assert (
        sum_by_function(entries)
        == {"red": new.truth.sites["red"]["peak"] - old.truth.sites["red"]["peak"]}
        == {"red": 3000}
    )


MOMENTS = (
    "+red:3:10", "tag:a", "moment:a", "+red:4:100", "+blue:1:1", "snapshot:one", "moment:one",
    "-red:5", "+green:2:30", "tag:a", "moment:again", "snapshot:two", "-blue",
)


def live(sites):
    return {name: counts["live_bytes"] for name, counts in sites.items()}


@pytest.mark.parametrize(
    "words, moments",
    [
        (("@a", "@one"), ("a", "one")),
        (("@1", "@a:2"), ("one", "again")),
        (("@one", "@two"), ("one", "again")),
        (("@a:1", "@end"), ("a", "end")),
        (("@start", "@2"), (None, "again")),
        (("@2", ""), ("again", "end")),
        (("@end", "@1"), ("end", "one")),
    ],
)
def test_two_moments_of_one_run(steps, recorder, words, moments):
    seen, file = record(recorder, steps, *MOMENTS)
    old, new = (live(seen.truth.moments[m]) if m else {} for m in moments)
    wanted = {name: new.get(name, 0) - old.get(name, 0) for name in {*old, *new}}
    found = {
        name: sums["live_bytes"]
        for name, sums in changes(*(f"{file}{w}" for w in words)).items()
        if sums["live_bytes"]
    }
    assert found == {name: amount for name, amount in wanted.items() if amount}


def test_the_file_need_be_named_once_or_is_the_newest(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    assert diff("--memlog", f"{file}@a", "@2") == diff("--memlog", f"{file}@a", f"{file}@2") != ""
    assert diff("--memlog", "@a", "@2", cwd=seen.folder) == diff(
        "--memlog", f"{file}@a", f"{file}@2"
    )


def test_a_file_with_an_at_sign_in_its_name_is_that_file(steps, recorder):
    seen, file = record(recorder, steps, *MOMENTS)
    shutil.copy(file, seen.folder / "out.seep@1")
    assert diff("--memlog", seen.folder / "out.seep@1", file) == ""
    assert diff("--memlog", f"{seen.folder / 'out.seep@1'}@a", f"{file}@2") == diff(
        "--memlog", f"{file}@a", f"{file}@2"
    )


def test_filters_limit_and_merged_stacks(steps, recorder):
    (old, a), (new, b) = record(recorder, steps, *OLD), record(recorder, steps, *NEW)
    assert set(changes("-i", "^red$", a, b)) == {"red"}
    assert set(changes("-x", "^red$", a, b)) == {"blue"}
    assert changes("--module", "no_such_module", a, b) == {}
    assert b"no stack matches" in answer("--module", "no_such_module", a, b).stderr
    assert len(parse_memlog(diff("--memlog", "-n", "1", a, b))) == 1
    merged = parse_memlog(diff("--memlog", "--depth-merge", "1", a, b))
    assert [(amount, len(stack)) for amount, stack in merged] == [(-21, 1), (-300, 1)]
    by_blocks = diff("-s", "live-blocks", a, b)
    assert by_blocks.index(" red ") < by_blocks.index(" blue ")


def test_csv_has_a_signed_row_per_stack(steps, recorder):
    (old, a), (new, b) = record(recorder, steps, *OLD), record(recorder, steps, *NEW)
    rows = list(csv.DictReader(io.StringIO(diff("--csv", a, b), newline="")))
    found = {
        row["stack"].split(" ")[0]: (
            row["change"], int(row["live_bytes"]), int(row["live_blocks"]), int(row["allocs"]),
        )
        for row in rows
        if row["change"] != "unchanged"
    }
    assert found == {"red": ("shrunk", -300, -3, 2), "blue": ("gone", -21, -3, -3)}


def test_wrong_use_and_damaged_files(steps, recorder, tmp_path):
    seen, file = record(recorder, steps, *MOMENTS)
    for argv in (
        (),
        (file,),
        (file, file, file),
        ("--cost=temporary", file, file),
        ("--sort=age", file, file),
        ("--json", "--memlog", file, file),
        (f"{file}@nowhere", file),
        (f"{file}@9", file),
        ("--cost=peak", f"{file}@1", file),
        ("--nonsense", file, file),
    ):
        done = answer(*argv)
        assert (done.returncode, done.stdout) == (2, b"") and done.stderr.startswith(
            b"seep: "
        ), argv
    assert (
        b"tag a" in answer(f"{file}@nowhere", file).stderr
        and b"snapshot 1 (one)" in answer(f"{file}@9", file).stderr
    )
    broken = tmp_path / "broken.seep"
    broken.write_bytes(b"not a recording" * 10)
    assert answer(broken, file).returncode == answer(file, broken).returncode == 4
    short = tmp_path / "short.seep"
    for part in range(1, 20):
        short.write_bytes(file.read_bytes()[:file.stat().st_size * part // 20])
        assert answer(short, file).returncode in (0, 4)


def test_an_output_file_is_not_replaced_unless_told(steps, recorder, tmp_path):
    seen, file = record(recorder, steps, *MOMENTS)
    out = tmp_path / "diff.txt"
    assert diff("-o", out, f"{file}@a", "@2") == "" and out.read_text().startswith("from ")
    assert answer("-o", out, f"{file}@a", "@2").returncode == 2
    assert diff("-f", "-o", out, "--memlog", f"{file}@a", "@2") == "" and out.read_text()[0] in "+-"


@pytest.mark.parametrize(
    "command", [["diff", "1@a", "1@b"], ["export", "--to", "csv", "1"], ["sql", "1", "SELECT 1"]]
)
def test_a_process_that_is_not_recorded_is_told_what_would_help(command, tmp_path):
    done = subprocess.run(
        [SEEP, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 3 and "seep attach 1" in " ".join(done.stderr.split()), done.stderr
