# SPDX-License-Identifier: MIT
"""Snapshots by command, by the program, by the clock and at a threshold; and the differences
between them."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness import SEEP, Profile, Recording, check_clean, plain_name, wait_until
from plain import (
    Started, child_of, difference, find_reports, live, own, run_plain, seep, start_recorded,
    sum_of,
)


def diff(old, new):
    """Signed live bytes and blocks by function."""
    done = seep("diff", "--json", old, new)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    sums = {}
    for site in found["sites"]:
        name = plain_name(found["frames"][site["stack"][0]]["function"])
        for key in ("live_bytes", "live_blocks", "allocations"):
            sums[name, key] = sums.get((name, key), 0) + site[key]
    return {key: value for key, value in sums.items() if value}


def wanted_diff(new, old):
    zero = dict.fromkeys(("live_bytes", "live_blocks", "allocs"), 0)
    names = {"live_bytes": "live_bytes", "live_blocks": "live_blocks", "allocs": "allocations"}
    return {
        (site, name): new[site][key] - old.get(site, zero)[key]
        for site in new
        for key, name in names.items()
        if new[site][key] != old.get(site, zero)[key]
    }


def test_a_snapshot_by_command_in_a_recording(steps, recorder):
    folder = recorder.folder()
    script = (
        "+red:10:100", "moment:a", "ready", "wait", "-red:5", "+green:3:1000", "moment:b", "ready",
        "wait", "+blue:1:1",
    )
    with start_recorded(folder, steps, *script) as program:
        for i, label in enumerate(("first", None)):
            program.said(b"ready\n", i + 1)
            pid = child_of(program)
            done = seep("snapshot", pid, *([label] if label else []))
            assert done.returncode == 0, done.stderr
            assert (folder / f"steps-{pid}-{i + 1}.memlog").exists()
            program.say()
        truth = program.finish().truth
    reports = find_reports(folder)
    assert own(reports[0].by_function(), truth) == live(truth.moments["a"])
    assert own(reports[1].by_function(), truth) == difference(
        truth.moments["b"], truth.moments["a"]
    )
    profile = Profile(folder / "out.seep")
    check_clean(profile)
    snapshots = profile.json["snapshots"]
    assert [s["seq"] for s in snapshots][:2] == [1, 2] and snapshots[0]["label"] == "first"
    assert [s["live_bytes"] for s in snapshots][:2] == [1000, 3500]
    assert diff(f"{folder}/out.seep@1", f"{folder}/out.seep@2") == wanted_diff(
        truth.moments["b"], truth.moments["a"]
    )
    assert diff(f"{folder}/out.seep@first", f"{folder}/out.seep") == wanted_diff(
        truth.moments["end"], truth.moments["a"]
    )


def test_a_snapshot_by_command_of_a_program_with_the_library_alone(steps, recorder):
    folder = recorder.folder()
    with Started(folder, steps, "+red:10:100", "ready", "wait", "-red:1", "+blue:2:50") as program:
        program.said(b"ready\n")
        done = seep("snapshot", program.pid, "by hand")
        assert done.returncode == 0, done.stderr
        assert (
            program.path(1).exists()
            and os.fsencode(program.path(1).name) in done.stdout + done.stderr
        )
        program.say()
        truth = program.finish().truth
    assert own(program.report(1).by_function(), truth) == {"red": 1000}
    assert own(program.report(2).by_function(), truth) == {"red": -100, "blue": 100}


def test_the_command_says_why_there_is_no_snapshot(recorder):
    gone = subprocess.Popen(["true"])
    gone.wait()
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    try:
        for pid in (gone.pid, stranger.pid, os.getpid(), 1, 2 ** 22 + 5):
            done = seep("snapshot", pid)
            assert (
                done.returncode == 3
                and str(pid).encode() in done.stderr
                and done.stderr.startswith(b"seep: ")
            ), (pid, done)
        assert stranger.poll() is None
        for argv in ((), ("nonsense",), ("-5",), ("12x",), ("1", "label", "more"), ("0",)):
            assert seep("snapshot", *argv).returncode == 2, argv
    finally:
        stranger.stdin.close()
        stranger.wait()


def test_the_report_of_a_snapshot_in_the_program_is_there_when_the_call_returns(steps, recorder):
    folder = recorder.folder()
    script = (
        "+red:3:100", "moment:a", "there:1", "snapshot:one", "there:1", "there:2", "-red:1",
        "+green:4:5", "moment:b", "snapshot:two", "there:2",
    )
    seen = run_plain(folder, steps, *script)
    assert (
        seen.stdout == b"report 1: no\nreport 1: yes\nreport 2: no\nreport 2: yes\n"
        and seen.status == 0
    )
    reports = find_reports(folder)
    assert [own(m.by_function(), seen.truth) for m in reports[:2]] == [
        live(seen.truth.moments["a"]),
        {"red": -100, "green": 20},
    ]
    assert own(sum_of(m.by_function() for m in reports), seen.truth) == live(seen.truth.sites)


def test_a_snapshot_in_a_recorded_program(steps, recorder):
    folder = recorder.folder()
    with start_recorded(
        folder, steps, "+red:3:100", "snapshot:one", "there:1", "-red:1", "+green:64:1",
        "snapshot:two", "there:2",
    ) as program:
        seen = Recording(program.finish(), folder)
    assert seen.stdout == b"report 1: yes\nreport 2: yes\n"
    marks = [(s["seq"], s["label"], s["live_bytes"]) for s in seen.profile.json["snapshots"][:2]]
    assert marks == [(1, "one", 300), (2, "two", 264)]
    file = seen.folder / "out.seep"
    wanted = {
        ("red", "live_bytes"): -100,
        ("red", "live_blocks"): -1,
        ("green", "live_bytes"): 64,
        ("green", "live_blocks"): 64,
        ("green", "allocations"): 64,
    }
    assert diff(f"{file}@one", f"{file}@two") == diff(f"{file}@1", f"{file}@2") == wanted
    check_clean(seen.profile)


def test_snapshots_by_the_clock(steps, recorder):
    folder = recorder.folder()
    seen = recorder.record(
        steps, "+red:1:100", "spin:1200", options=["--snapshot-every", "100ms"], cwd=folder
    )
    parts = [s["ms"] // 100 for s in seen.profile.json["snapshots"] if s["type"] == "outside"]
    assert len(parts) >= 2 and parts == sorted(set(parts))  # at most one in each 100 ms
    assert all(s["live_bytes"] in (100, 124) for s in seen.profile.json["snapshots"])
    assert find_reports(folder) == []  # nobody asked for these
    check_clean(seen.profile)


@pytest.mark.parametrize("wrong", ["0", "x", "-1s", ""])
def test_a_wrong_interval_or_threshold_is_refused(steps, recorder, wrong):
    for option in ("--snapshot-every", "--snapshot-at-rss", "--snapshot-at-heap"):
        seen = recorder.record(steps, "ready", options=[f"{option}={wrong}"])
        assert seen.status == 2 and option.encode() in seen.stderr and seen.stdout == b""


def test_a_snapshot_when_the_heap_passes_a_size_once(steps, recorder):
    again = ("+red:150:10000", "-red") * 3
    seen = recorder.record(
        steps, *again, options=["--snapshot-at-heap", "1M"], cwd=recorder.folder()
    )
    passed = [
        s for s in seen.profile.json["snapshots"] if 1 << 20 <= s["live_bytes"] < (1 << 20) + 10000
    ]
    assert len(passed) == 1 and passed[0]["type"] == "heap"
    never = recorder.record(
        steps, *again, options=["--snapshot-at-heap", "1G"], cwd=recorder.folder()
    )
    assert len(never.profile.json["snapshots"]) == len(seen.profile.json["snapshots"]) - 1


def test_a_snapshot_when_resident_memory_passes_a_size_once(steps, recorder):
    again = ("+red:3000:20000", "spin:1000", "-red") * 2
    seen = recorder.record(
        steps, *again, options=["--snapshot-at-rss", "40M"], cwd=recorder.folder()
    )
    never = recorder.record(
        steps, *again, options=["--snapshot-at-rss", "10G"], cwd=recorder.folder()
    )
    assert len(seen.profile.json["snapshots"]) == len(never.profile.json["snapshots"]) + 1
    (taken,) = [
        s for s in seen.profile.json["snapshots"] if s not in never.profile.json["snapshots"]
    ]
    assert taken["type"] == "outside"
    assert 20 << 20 < taken["live_bytes"] <= 60000024


def test_two_snapshots_around_a_leak_of_64_bytes(steps, recorder):
    seen = recorder.record(
        steps, "+green:10:10", "snapshot:before", "+red:1:64", "snapshot:after", "-green",
        cwd=recorder.folder(),
    )
    file = seen.folder / "out.seep"
    assert diff(f"{file}@before", f"{file}@after") == {
        ("red", "live_bytes"): 64,
        ("red", "live_blocks"): 1,
        ("red", "allocations"): 1,
    }
    text = seep("diff", "--memlog", f"{file}@before", f"{file}@after")
    assert text.stdout.startswith(b"+64\n\tred\t(") and text.stdout.count(b"\n+") == 0


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_seep_that_a_shell_started_stands_for_its_program(steps, recorder, shell):
    folder = recorder.folder()
    for i in range(4):  # the shell may have forked only, seep or the program may be on their way
        script = (f"exec 4<&0; '{SEEP}' -q -o {i}.seep -- '{steps}' +red:10:100 wait <&4 & "
                  f"'{SEEP}' snapshot $! first; echo; wait")
        with Started(folder, shell, "-c", script, library=None) as program:
            wait_until(program.stdout, "an answer", process=program.process)
            program.say()
            assert (program.finish().status, program.stderr()) == (0, b"")
    assert len(find_reports(folder, "steps")) == 4


def test_a_child_can_be_asked_too(steps, recorder):
    folder = recorder.folder()
    with start_recorded(
        folder, "/bin/sh", "-c", f"{steps} +red:1:64 ready wait; exit 2"
    ) as program:
        program.said(b"ready\n")
        shell = child_of(program)
        child = int(
            (Path("/proc") / str(shell) / "task" / str(shell) / "children").read_text().split()[0]
        )
        done = seep("snapshot", child, "of the child")
        assert done.returncode == 0, done.stderr
        (report,) = find_reports(folder, pid=child)
        assert report.by_function() == {"red": 64}
        assert seep("snapshot", shell).returncode == 0
        program.say()
        assert program.finish().status == 2
    labels = [s["label"] for f in folder.rglob("*.seep") for s in Profile(f).json["snapshots"]]
    assert "of the child" in labels


def orphan_of(program):
    """A process whose parent has ended, in a session of its own."""
    def look():
        return re.search(rb"orphan (\d+)\n", program.stdout())
    return int(wait_until(look, "the orphan")[1])


@pytest.mark.parametrize("mode", ["plain", "recorded"])
def test_a_daemon_can_be_asked_when_its_parent_is_gone(steps, recorder, mode):
    folder = recorder.folder()
    script = [steps, "+red:1:64", "orphan", "+green:1:10", "ready", "wait"]
    start = (
        Started(folder, *script, env={"SEEP_OPTIONS": "--follow=all"})
        if mode == "plain"
        else start_recorded(folder, *script, options=["--follow=all"])
    )
    with start as program:
        daemon = orphan_of(program)
        wait_until(lambda: b"ready" in program.stdout(), "it is ready")
        done = seep("snapshot", daemon, "later")
        assert done.returncode == 0, done.stderr
        (report,) = find_reports(folder, pid=daemon)
        assert report.by_function() == {"red": 64, "green": 10}
        program.say()
        assert program.finish().status == 0


def test_a_seep_whose_program_has_ended_is_told_apart(steps, recorder):
    with start_recorded(
        recorder.folder(), steps, "orphan", "ready", "wait", options=["--follow=all"]
    ) as program:
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        orphan_of(program)
        wait_until(lambda: not children.read_text(), "the end of the program")
        done = seep("snapshot", program.pid)
        assert (
            done.returncode == 3
            and b"is seep itself and records no child of its own now" in done.stderr
        )
        program.say()


def test_a_daemon_that_is_not_followed_is_told_apart(steps, recorder):
    with Started(recorder.folder(), steps, "+red:1:64", "orphan", "ready", "wait") as program:
        daemon = orphan_of(program)
        done = seep("snapshot", daemon)
        assert (
            done.returncode == 3
            and f"process {daemon} is not being recorded".encode() in done.stderr
            and b"--follow=all" in done.stderr
        )
        program.say()
        assert program.finish().status == 0


def test_another_seep_that_is_stopped_holds_nobody_up(steps, recorder):
    """Who records a process is asked of everybody, and of one that does not answer only once."""
    with start_recorded(recorder.folder(), steps, "ready", "wait") as other:
        other.said(b"ready\n")
        with Started(recorder.folder(), steps, "+red:1:64", "orphan", "ready", "wait") as program:
            daemon = orphan_of(program)
            other.signal(signal.SIGSTOP)
            try:
                done = seep("snapshot", daemon)
            finally:
                other.signal(signal.SIGCONT)
            assert (
                done.returncode == 3
                and f"process {daemon} is not being recorded".encode() in done.stderr
            )
            program.say()
            assert program.finish().status == 0
        other.say()
        assert other.finish().status == 0
