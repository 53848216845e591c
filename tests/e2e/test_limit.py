# SPDX-License-Identifier: MIT
"""--limit-heap: a runaway program is stopped, refused or photographed."""
import signal

import pytest

from harness import DEADLINE, check_clean, check_sites, run
from plain import find_reports, live, own, run_plain

MIB = 1 << 20


@pytest.fixture
def limit(compiler):
    return compiler.build("limit.cpp")


def limited(recorder, program, *argv, action=None, size="10M", **how):
    options = ["--limit-heap", size, *([f"--limit-action={action}"] if action else [])]
    return recorder.record(program, *argv, options=options, cwd=recorder.folder(), **how)


@pytest.mark.parametrize("action", [None, "abort"])
def test_a_program_that_passes_the_limit_ends_by_abort_with_a_report(limit, recorder, action):
    seen = limited(recorder, limit, action=action)
    assert seen.status == 128 + signal.SIGABRT and seen.stdout == b""
    said = told(seen)
    assert len(said) == 1 and b"--limit-heap 10M" in said[0] and b".memlog" in said[0]
    take = seen.profile.by_function()["take"]
    assert 9 * MIB <= take["live_bytes"] <= 11 * MIB
    assert seen.profile.json["exit"] == {"code": None, "signal": signal.SIGABRT}
    assert any(s["live_bytes"] >= 9 * MIB for s in seen.profile.json["snapshots"])
    check_clean_but_warnings(seen.profile)


def told(seen):
    """What was said about the limit."""
    return [
        line
        for line in seen.stderr.splitlines()
        if line.startswith(b"seep: ") and b"--limit-heap" in line
    ]


def check_clean_but_warnings(profile):
    assert (
        profile.errors == []
        and profile.totals["lost_events"] == 0
        and profile.json["complete"] is True
    )


def test_with_enomem_every_entry_point_fails_as_when_memory_is_short(limit, recorder):
    """What shortage looks like is learnt from the kernel, with a limit on the address space."""
    short = run(
        ["/bin/sh", "-c", 'ulimit -v 30000; exec "$0" entries', limit], folder=recorder.folder()
    )
    assert b"malloc: ENOMEM" in short.stdout and b"new: bad_alloc" in short.stdout
    seen = limited(recorder, limit, "entries", action="enomem")
    assert (seen.stdout, seen.status) == (short.stdout, 0)
    assert seen.truth.facts["filled"] in (9, 10)
    check_sites(seen.truth, seen.profile, temporary=False)
    assert seen.profile.totals["peak_bytes"] <= 10 * MIB
    check_clean_but_warnings(seen.profile)


def test_a_new_handler_can_make_room(limit, recorder):
    seen = limited(recorder, limit, "handler", action="enomem", timeout=DEADLINE)
    assert (seen.stdout, seen.status) == (b"filled: ENOMEM\nhandler\nnew: memory\n", 0)


def test_after_freeing_as_much_can_be_had_again(limit, recorder):
    seen = limited(recorder, limit, "twice", action="enomem")
    assert (seen.stdout, seen.status) == (b"filled: ENOMEM\n" * 2, 0)
    check_sites(seen.truth, seen.profile, temporary=False)


def test_below_the_limit_nothing_happens(limit, recorder):
    bare = run([limit, "fill", "5"], folder=recorder.folder())
    for action in ("abort", "enomem", "snapshot"):
        seen = limited(recorder, limit, "fill", "5", action=action)
        assert (seen.stdout, seen.status) == (bare.stdout, 0)
        assert told(seen) == []
        check_clean(seen.profile)


def test_a_snapshot_is_taken_once_and_the_program_goes_on(limit, recorder):
    seen = limited(recorder, limit, "twice", action="snapshot")
    assert (seen.stdout, seen.status) == (b"filled: no limit\n" * 2, 0)
    passed = [
        s for s in seen.profile.json["snapshots"] if 10 * MIB < s["live_bytes"] <= 11 * MIB + 80000
    ]
    assert len(passed) == 1 and passed[0]["type"] == "limit"
    assert len(find_reports(seen.folder)) == 1
    check_sites(seen.truth, seen.profile, temporary=False)


@pytest.mark.parametrize("action", ["enomem", "snapshot"])
def test_threads_share_the_limit(limit, recorder, action):
    seen = limited(recorder, limit, "threads", action=action)
    assert (seen.stdout, seen.status) == (b"joined\n", 0)
    check_sites(seen.truth, seen.profile, peak=False, temporary=False)
    live_bytes = seen.truth.sites["take"]["live_bytes"]
    if action == "enomem":
        error = seen.profile.totals["peak_error_bytes"]
        assert live_bytes <= 10 * MIB + error and error < MIB
    else:
        assert live_bytes == 8 * 2000 * 16384


def test_threads_that_pass_the_limit_abort_once(limit, recorder):
    seen = limited(recorder, limit, "threads", action="abort")
    assert seen.status == 128 + signal.SIGABRT
    assert 9 * MIB <= seen.profile.by_function()["take"]["live_bytes"] <= 12 * MIB


def test_the_library_alone_keeps_the_limit_too(limit, recorder):
    folder = recorder.folder()
    seen = run_plain(folder, limit, env={"SEEP_OPTIONS": "--limit-heap=10M"})
    assert seen.status == 128 + signal.SIGABRT
    (first, *_) = find_reports(folder)
    assert 9 * MIB <= first.by_function()["take"] <= 11 * MIB
    assert len(told(seen)) == 1
    folder = recorder.folder()
    seen = run_plain(
        folder, limit, "entries", env={"SEEP_OPTIONS": "--limit-heap=10M --limit-action=enomem"}
    )
    assert (
        seen.status == 0
        and b"realloc: ENOMEM, old kept\nshrink: fine\nafter freeing: memory\n" in seen.stdout
    )
    totals = {}
    for report in find_reports(folder):
        for name, amount in report.by_function().items():
            totals[name] = totals.get(name, 0) + amount
    assert own(totals, seen.truth) == live(seen.truth.sites)


@pytest.mark.parametrize(
    "options",
    [["--limit-heap=0"], ["--limit-heap=x"], ["--limit-heap=10M", "--limit-action=explode"]],
)
def test_wrong_limits_are_refused(limit, recorder, options):
    seen = recorder.record(limit, options=options)
    assert seen.status == 2 and b"--limit-" in seen.stderr and seen.stdout == b""
