# SPDX-License-Identifier: MIT
"""`seep export --at` and `--range` for forms of what happened over time: what their real readers
make of it is what the report of that part says."""
import json
import subprocess

import pytest

from harness import DEADLINE, SEEP, ask, clean_environment
from test_export_tools import (
    Massif, dhat, export, heaptrack, profiler, rows_of,
)  # noqa: F401  (a fixture)

# The peak is between a and b; old blocks are freed in every range.
STEPS = (
    "+red:50:100", "tag:a", "+green:20:1000", "-red:30", "+blue:1:5", "-blue:1", "tag:b",
    "-green:15", "+red:3:7", "-red:2", "tag:c", "+blue:2:3", "-green:1",
)
PEAK = 50 * 100 + 20 * 1000
MOMENTS = {"a": (5000, 50), "b": (22000, 40), "c": (6821, 26)}  # live bytes and blocks
# calls, their bytes, what is left of these
RANGES = {
    "a..b": (21, 20005, 20000),
    "b..c": (3, 21, 21),
    "a..c": (24, 20026, 5021),
    "b..end": (5, 27, 27),
}


@pytest.fixture
def parts(steps, recorder):
    made = recorder.record(steps, *STEPS, options=["--events"])
    assert made.status == 0, made.stderr
    return made.folder / "out.seep"


def asked(*words):
    return json.loads(ask(*words).stdout)


def sums(file, *options):
    """Of the report's stacks: calls, bytes allocated, live bytes, live blocks."""
    sites = [
        s
        for s in asked("report", "--json", *options, file)["sites"]
        if s["kind"] not in ("mmap", "mremap")
    ]
    return tuple(
        sum(s[key] for s in sites)
        for key in ("allocations", "bytes_allocated", "live_bytes", "live_blocks")
    )


def known_moments(file):
    """(ms, live bytes) of all slices, and of the peak."""
    totals = asked("report", "--json", file)["totals"]
    slices = asked("sql", "--json", file, "SELECT ms, live_bytes FROM timeline")
    return {(s["ms"], s["live_bytes"]) for s in slices}, (totals["peak_ms"], totals["peak_bytes"])


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_report_knows_the_moments(parts, moment):
    assert sums(parts, "--at", moment)[2:] == MOMENTS[moment]


@pytest.mark.parametrize("span", RANGES)
def test_the_report_knows_the_ranges(parts, span):
    assert sums(parts, "--range", span)[:3] == RANGES[span]


# ---- Massif ----

@pytest.mark.parametrize("moment", MOMENTS)
def test_massif_ends_at_a_moment(parts, moment, need):
    need("ms_print")
    found = Massif(export("massif", parts, "--at", moment))
    assert found.snapshots[-1][2] == sums(parts, "--at", moment)[2]
    assert found.snapshots[-1][0] in found.detailed and len(found.peaks) == 1
    assert found.snapshots[found.peaks[0]][2] == (5000 if moment == "a" else PEAK)


@pytest.mark.parametrize("span", ["a..b", "b..c", "a..c"])
def test_massif_has_the_moments_of_a_range(parts, span, need):
    need("ms_print")
    found, (begin, end) = Massif(export("massif", parts, "--range", span)), span.split("..")
    assert (found.snapshots[0][2], found.snapshots[-1][2]) == (MOMENTS[begin][0], MOMENTS[end][0])
    assert (
        found.snapshots[-1][2] - found.snapshots[0][2]
        == sums(parts, "--range", span, "--cost", "change")[2]
    )
    assert {0, found.snapshots[-1][0]} <= set(found.detailed)
    assert (
        [found.snapshots[n][2] for n in found.peaks]
        == [max(s[2] for s in found.snapshots)]
        == [22000 if span == "b..c" else PEAK]
    )
    slices, peak = known_moments(parts)
    assert {(s[1], s[2]) for s in found.snapshots} <= slices | {peak}


def test_a_moment_has_one_time_however_fast_marks_come(steps, recorder, need):
    """Each mark raises the ledger's clock, which the peak has its time from; slices have the
    time since the start."""
    need("ms_print")
    file = recorder.record(steps, *(f"tag:t{n}" for n in range(12)), *STEPS).folder / "out.seep"
    whole, (slices, peak) = Massif(export("massif", file)), known_moments(file)
    times = [s[1] for s in whole.snapshots]
    assert times == sorted(times)
    assert {(s[1], s[2]) for s in whole.snapshots[1:-1]} <= slices | {peak}
    for span in ("a..b", "b..c", "a..c", "t5..b"):
        found = Massif(export("massif", file, "--range", span))
        assert {(s[1], s[2]) for s in found.snapshots} <= slices | {peak}, span
    assert [s[1:3] for s in whole.snapshots if s[0] in whole.peaks] == [peak]


def test_massif_at_the_peak_and_the_end(parts, need):
    need("ms_print")
    found = Massif(export("massif", parts, "--at", "peak"))
    assert found.snapshots[-1][2] == PEAK and found.peaks == [len(found.snapshots) - 1]
    assert (
        export("massif", parts, "--at", "end").read_text()
        == export("massif", parts).read_text()
        == export("massif", parts, "--range", "..").read_text()
    )


# ---- heaptrack ----

@pytest.mark.parametrize(
    "options", [("--at", m) for m in MOMENTS] + [("--range", r) for r in RANGES]
)
def test_heaptrack_has_the_events_of_a_part(parts, options, need, tmp_path):
    need("heaptrack_print")
    path, (calls, _, left, _) = export("heaptrack", parts, *options), sums(parts, *options)
    assert heaptrack(path, "allocations", tmp_path)[0] == calls
    assert heaptrack(path, "leaked", tmp_path)[0] == left


def test_heaptrack_at_the_peak_ends_there(parts, need, tmp_path):
    need("heaptrack_print")
    path = export("heaptrack", parts, "--at", "peak")
    assert (
        heaptrack(path, "leaked", tmp_path)
        == heaptrack(path, "peak", tmp_path)
        == (PEAK, {"red": 5000, "green": 20000})
    )


def test_threads_and_times_go_together_where_every_event_is_known(
    compiler, recorder, need, tmp_path
):
    need("heaptrack_print")
    file = recorder.record(compiler.build("known.c"), options=["--events"]).folder / "out.seep"
    words = ("--thread", "seep-worker", "-i", "worker")
    assert (
        heaptrack(export("heaptrack", file, *words, "--range", "start..1h"), "leaked", tmp_path)[0]
        == 5 * 777
    )
    assert (
        heaptrack(export("heaptrack", file, *words, "--range", "1h..2h"), "allocations", tmp_path)[
            0
        ]
        == 0
    )
    assert "--thread" in export("dhat", file, *words, "--at", "1h", status=2)


def test_a_realloc_of_what_was_there_before_is_an_allocation_of_the_range(
    compiler, recorder, need, tmp_path
):
    need("heaptrack_print")
    file = (
        recorder.record(compiler.build("realloc_forms.c"), options=["--events"]).folder / "out.seep"
    )
    slices = asked("sql", "--json", file, "SELECT ms FROM timeline ORDER BY slice")
    middle = slices[len(slices) // 2]["ms"]
    for span in (f"..{middle}ms", f"{middle}ms.."):
        live = {}
        rows = rows_of(export("firefox", file, "--range", span))
        # nothing goes that has not come
        for weight, address in zip(rows["weight"], rows["memoryAddress"]):
            if weight < 0:
                assert live.pop(address) == -weight
            elif weight or address not in live:
                live[address] = weight
        assert (
            heaptrack(export("heaptrack", file, "--range", span), "leaked", tmp_path)[0]
            == sum(rows["weight"])
            >= 0
        )


# ---- Firefox Profiler ----

@pytest.mark.parametrize("options", [("--at", "b"), ("--range", "a..c")])
def test_the_firefox_profiler_has_a_part(parts, options, profiler):  # noqa: F811
    calls, allocated, left, _ = sums(parts, *options)
    path = export("firefox", parts, *options)
    profiler.load(path)
    assert profiler.total("native-retained-allocations")[0] == left
    assert profiler.total("native-allocations")[0] == allocated
    assert sum(w > 0 for w in rows_of(path)["weight"]) == calls
    thread = json.loads(path.read_text())["threads"][0]
    assert [thread["stringArray"][n] for n in thread["markers"]["name"]] == (
        ["tag a", "tag b"] if "b" in options else ["tag a", "tag b", "tag c"]
    )
    counter = json.loads(path.read_text())["counters"][0]["samples"]["count"]
    assert sum(counter) == MOMENTS[options[1][-1]][0] and counter[0] == (
        5000 if "--range" in options else 0
    )


def test_firefox_without_a_log_has_the_moments_of_a_part(steps, recorder):
    file = recorder.record(steps, *STEPS).folder / "out.seep"
    for moment in MOMENTS:
        calls, allocated, left, _ = sums(file, "--at", moment)
        weights = rows_of(export("firefox", file, "--at", moment))["weight"]
        assert (sum(w for w in weights if w > 0), sum(weights)) == (allocated, left)
    assert sum(rows_of(export("firefox", file, "--at", "peak"))["weight"]) == PEAK
    for span in ("a..b", "b..c", "a..c"):
        weights = rows_of(export("firefox", file, "--range", span))["weight"]
        assert sum(w for w in weights if w > 0) == sums(file, "--range", span)[1] and 0 <= sum(
            weights
        )


# ---- DHAT ----

@pytest.mark.parametrize("moment", MOMENTS)
def test_dhat_ends_at_a_moment(parts, moment, need):
    found, (calls, allocated, left, blocks) = dhat(
        export("dhat", parts, "--at", moment), need
    ), sums(parts, "--at", moment)
    assert (found["tb"], found["tbk"], found["eb"], found["ebk"]) == (
        allocated, calls, left, blocks,
    )
    assert (found["gb"], found["gbk"]) == ((5000, 50) if moment == "a" else (PEAK, 70))


def test_dhat_says_when_the_peak_came_later(parts):
    def said(moment):
        return subprocess.run(
            [SEEP, "export", "--to", "dhat", "--at", moment, parts],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        ).stderr
    assert "t-gmax is the largest" in said("a") and "t-gmax" not in said("b")


def test_dhat_lifetimes_are_how_long_blocks_were_there(steps, recorder, need):
    script = ("+red:10:10", "tag:red", "spin:60", "+green:1:1", "tag:green", "spin:60", "tag:end")
    file = recorder.record(steps, *script).folder / "out.seep"
    leaves = {
        leaf["frames"][1].split(" ")[1]: leaf["lifetimes"] / 1000
        for leaf in dhat(export("dhat", file, "--at", "end"), need)["leaves"]
    }
    at = {
        row["label"]: row["ms"]
        for row in asked(
            "sql", "--json", file, "SELECT label, t.ms FROM mark JOIN timeline t USING (slice)"
        )
    }
    # ten blocks; other slices may have seen them before
    assert leaves["red"] >= 10 * (at["end"] - at["red"])
    assert at["end"] - at["red"] >= leaves["green"] >= at["end"] - at["green"] > 0


# ---- what cannot be ----

@pytest.mark.parametrize("form, options, word", [
    ("dhat", ("--range", "a..b"), "--range is for pprof, "),
    ("dhat", ("--at", "peak"), "t-gmax"),
    ("dhat", ("--cost", "live"), "all costs"),
    ("massif", ("--cost", "live"), "--cost is for pprof, "),
    ("heaptrack", ("--cost", "live"), "--cost is for pprof, "),
    ("sqlite", ("--at", "a"), "whole run: --at is for pprof, "),
    ("junit", ("-i", "red"), "cannot be filtered: -i 'red' is for pprof, "),
    ("massif", ("--range", "b..a"), "before the start"),
    ("firefox", ("--at", "nowhere"), "nowhere"),
])
def test_what_a_form_cannot_follow_is_refused_with_those_that_can(parts, form, options, word):
    assert word in export(form, parts, *options, status=2)
    assert not parts.with_suffix("." + form).exists()


@pytest.mark.parametrize("form", ["dhat", "massif", "heaptrack", "firefox"])
def test_the_start_has_nothing(parts, form):
    assert export(form, parts, "--at", "start").stat().st_size > 0
