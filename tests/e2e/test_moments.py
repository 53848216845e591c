# SPDX-License-Identifier: MIT
"""All numbers of one document are of one moment or range, which it names; what is not known of
it is null."""
import csv
import io
import json

import pytest

from harness import SEEP, run

FIELDS = {
    "allocs": "allocations",
    "frees": "frees",
    "bytes": "bytes_allocated",
    "live": "live_bytes",
    "blocks": "live_blocks",
}
CALLS = ("allocations", "frees", "bytes_allocated")
LEAKED = ("leaked_blocks", "leaked_bytes")


@pytest.fixture(scope="module")
def recorded(compiler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("moments")
    done = run(
        [SEEP, "record", "-q", "-o", folder / "run.seep", compiler.build("moments.c")], cwd=folder
    )
    assert done.status == 0, done.stderr
    done.file = folder / "run.seep"
    return done


def told(*words):
    done = run([SEEP, *words], cwd=words[-1].parent)
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)


def truth_at(recorded, name):
    return {field: recorded.truth.facts[f"{name}_{word}"] for word, field in FIELDS.items()}


def sums(document, fields):
    return {f: sum(s[f] for s in document["sites"]) for f in fields}


@pytest.mark.parametrize(
    "command", [["report", "--json"], ["export", "--to", "json", "-o", "-"]], ids=" ".join
)
@pytest.mark.parametrize("tag", ["a", "b"])
def test_a_tag_has_the_numbers_of_its_moment(recorded, command, tag):
    found, truth = told(*command, f"--at={tag}", recorded.file), truth_at(recorded, tag)
    assert found["moment"] == {"at": "tag", "ms": found["moment"]["ms"], "label": tag}
    assert found["moment"]["ms"] in [t["ms"] for t in found["tags"] if t["label"] == tag]
    assert {f: found["totals"][f] for f in truth} == truth == sums(found, truth)
    unknown = (
        "peak_bytes", "peak_blocks", "temporary", "double_frees", "unknown_frees", "mismatched",
        "rss_peak_bytes", "lost_events",
    )
    assert all(found["totals"][f] is None for f in unknown)
    assert all(
        s[f] is None
        for s in found["sites"]
        for f in (*LEAKED, "peak_bytes", "temporary", "lifetime_ms")
    )
    assert (found["leaks"]["scanned"], found["leaks"]["definite"]) == (False, None)
    assert [(t["name"], t["allocations"], t["live_bytes"]) for t in found["threads"]] == [
        ("moments", None, None)
    ]


def test_filters_do_not_change_the_totals(recorded):
    found = told("report", "--json", "--at=b", "--exclude=take", recorded.file)
    assert (
        found["sites"] == []
        and found["totals"]["live_bytes"] == truth_at(recorded, "b")["live_bytes"]
    )


def test_a_range_has_what_happened_in_it(recorded):
    found, a, b = (
        told("report", "--json", "--range=a..b", recorded.file),
        truth_at(recorded, "a"),
        truth_at(recorded, "b"),
    )
    assert [m["label"] for m in found["moment"]["range"]] == ["a", "b"] and found["moment"][
        "survivors"
    ]
    # none of them was freed before b
    new = {**{f: b[f] - a[f] for f in ("allocations", "bytes_allocated")}, "frees": 0}
    assert {f: found["totals"][f] for f in CALLS} == new == sums(found, CALLS)
    assert (
        found["totals"]["live_bytes"]
        == new["bytes_allocated"]
        == sums(found, ["live_bytes"])["live_bytes"]
    )
    changed = told("report", "--json", "--range=a..b", "--cost=change", recorded.file)
    assert not changed["moment"]["survivors"]
    assert {f: changed["totals"][f] for f in a} == {f: b[f] - a[f] for f in a} == sums(changed, a)
    assert found["totals"]["peak_bytes"] is None and all(
        s["leaked_bytes"] is None for s in found["sites"]
    )


def test_the_peak_has_what_was_live_then(recorded):
    found, run_ = told("report", "--json", "--at=peak", recorded.file), told(
        "report", "--json", recorded.file
    )
    assert found["moment"] == {"at": "peak", "ms": run_["totals"]["peak_ms"]}
    assert (
        found["totals"]["live_bytes"]
        == found["totals"]["peak_bytes"]
        == run_["totals"]["peak_bytes"]
    )
    assert (
        found["totals"]["live_blocks"]
        == run_["totals"]["peak_blocks"]
        == sums(found, ["live_blocks"])["live_blocks"]
    )
    assert all(found["totals"][f] is None for f in CALLS) and all(
        s[f] is None for s in found["sites"] for f in CALLS
    )


def test_the_start_has_nothing(recorded):
    found = told("report", "--json", "--at=start", recorded.file)
    assert found["moment"] == {"at": "start", "ms": 0} and found["sites"] == []
    assert (found["totals"]["allocations"], found["totals"]["live_bytes"]) == (0, 0)


@pytest.mark.parametrize("words", [[], ["--at=end"]], ids=["run", "end"])
def test_the_end_has_everything(recorded, words):
    found, truth = told("report", "--json", *words, recorded.file), truth_at(recorded, "end")
    assert found["moment"] == {"at": "end", "ms": found["duration_ms"]}
    assert {f: found["totals"][f] for f in truth} == truth
    assert found["leaks"]["definite"] == {"blocks": 1, "bytes": truth["live_bytes"]}
    assert sums(found, LEAKED) == {"leaked_blocks": 1, "leaked_bytes": truth["live_bytes"]}
    assert told("report", "--json", *words, recorded.file) == found


def test_leaks_name_the_moment(recorded):
    done = run([SEEP, "leaks", "--json", recorded.file], cwd=recorded.file.parent)
    found = json.loads(done.stdout)
    assert (done.status, found["moment"]["at"]) == (1, "end")


def test_a_difference_names_both(recorded):
    found = told(
        "diff", "--json", f"{recorded.file}@a", recorded.file.with_name(recorded.file.name + "@b")
    )
    a, b = truth_at(recorded, "a"), truth_at(recorded, "b")
    assert (found["old"]["moment"]["label"], found["new"]["moment"]["label"]) == ("a", "b")
    assert {f: found["totals"][f] for f in a} == {f: b[f] - a[f] for f in a} == sums(found, a)
    assert found["totals"]["peak_bytes"] is None and all(
        s["peak_bytes"] is None for s in found["sites"]
    )
    assert (
        all(s["leaked_bytes"] is None for s in found["sites"])
        and found["leaks"]["definite"] is None
    )


@pytest.mark.parametrize(
    "words,name,empty",
    [
        ([], "end", ()),
        (["--at=a"], "a", ("peak_bytes", "temporary", "lifetime_ms")),
        (["--at=peak"], "peak", ("alloc_bytes", "allocs", "frees", "temporary", "lifetime_ms")),
        (["--range=a..b"], "a..b", ("peak_bytes", "temporary", "lifetime_ms")),
    ],
)
def test_tables_name_the_moment(recorded, words, name, empty):
    done = run([SEEP, "report", "--csv", *words, recorded.file], cwd=recorded.file.parent)
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    assert rows and {r["moment"] for r in rows} == {name}
    known = (
        "live_bytes", "live_blocks", "peak_bytes", "alloc_bytes", "allocs", "frees", "temporary",
        "lifetime_ms",
    )
    assert all((r[f] == "") == (f in empty) for r in rows for f in known)


def test_a_table_of_differences_names_both(recorded):
    done = run(
        [SEEP, "diff", "--csv", f"{recorded.file}@a", f"{recorded.file}@b"],
        cwd=recorded.file.parent,
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    assert rows and {(r["old_moment"], r["new_moment"], r["peak_bytes"]) for r in rows} == {
        ("a", "b", "")
    }


def test_no_slice_from_before_a_block_lies_behind_its_birth(compiler, recorder):
    """The clock of blocks and the times of slices are one, also where slices are a millisecond
    apart.  (Else the peak stands in front of slices that are lower.)"""
    def sql(text):
        done = run([SEEP, "sql", "--json", seen.folder / "out.seep", text], cwd=seen.folder)
        return json.loads(done.stdout)

    growth = [step for _ in range(7) for step in ("spin:3", "+green:1:1000000")]
    seen = recorder.record(compiler.build("steps.c"), *growth)
    births = [row["birth_ms"] for row in sql(
        "SELECT birth_ms FROM block WHERE size = 1000000 ORDER BY birth_ms")]
    assert len(births) == 7
    before = [
        sql(f"SELECT max(ms) AS ms FROM timeline WHERE live_bytes < {(i + 1) * 1000000}")[0]["ms"]
        for i in range(7)
    ]
    # A slice may be cut while a block has its birth and is not counted yet.
    assert sum((ms or 0) > birth for ms, birth in zip(before, births)) <= 2, (before, births)
