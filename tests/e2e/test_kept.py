# SPDX-License-Identifier: MIT
"""Searches for leaks on request stay in the recording: the last one, and those of snapshots."""
import json
import os
import re

import pytest

from harness import ask
from plain import child_of, start_recorded

SCRIPT = (
    "+red:10:100", "ready", "wait", "+green:3:1000", "ready", "wait", "+blue:2:70", "ready",
    "wait", "-red:10", "-green:3", "-blue:2", "ready", "wait",
)


def sizes(*words):
    """Of the blocks that the program made: how many of which size the search saw."""
    done = ask("leaks", "--json", "--blocks", "--show=all", "-q", *words)
    said = json.loads(done.stdout)
    blocks = {int(b["address"], 16): b["size"] for s in said["sites"] for b in s["blocks"]}
    return {size: list(blocks.values()).count(size) for size in (100, 1000, 70)}, blocks


@pytest.fixture
def recorded(steps, recorder):
    """A run that was searched three times, and what each search said then."""
    folder, then = recorder.folder(), {}
    with start_recorded(folder, steps, *SCRIPT, options=("-o", "run.seep")) as program:
        program.said(b"ready\n")
        pid = child_of(program)
        first = ask("snapshot", "--leaks", "--json", pid, "early").stdout
        program.say()
        program.said(b"ready\n", 2)
        ask("leaks", "-q", pid)
        program.say()
        program.said(b"ready\n", 3)
        then["asked"] = sizes(pid)
        program.say()
        program.said(b"ready\n", 4)
        program.say()
        program.finish()
    return os.path.join(folder, "run.seep"), json.loads(first)["seq"], then


def test_the_search_of_a_snapshot_is_kept(recorded):
    path, seq, _ = recorded
    assert (
        sizes("--at", seq, path)[0] == sizes("--at", "early", path)[0] == {100: 10, 1000: 0, 70: 0}
    )


def test_the_last_one_on_request_is_kept(recorded):
    path, _, then = recorded
    assert sizes("--at", "1h", path) == then["asked"]
    assert then["asked"][0] == {100: 10, 1000: 3, 70: 2}
    assert sizes(path)[0] == sizes("--at", "end", path)[0] == {100: 0, 1000: 0, 70: 0}


def test_why_and_owners_work_for_that_moment(recorded):
    path, _, then = recorded
    address = next(a for a, size in then["asked"][1].items() if size == 1000)
    assert json.loads(ask("why", "--json", "--at", "1h", path, hex(address)).stdout)["held"] is True
    assert ask("why", path, hex(address), status=2).stdout == ""
    now = ask("report", "--retained", "--at", "1h", path).stdout
    assert (
        re.search(r"in all .* in \d+ blocks", now)
        and now != ask("report", "--retained", path).stdout
    )
    assert ask("report", "--blocks", "--at", "early", "--csv", path).stdout.count(",100,") == 10


def test_what_was_not_searched_is_refused_by_name(recorded):
    path, seq, _ = recorded
    said = ask("leaks", "--at", "peak", path, status=2).stderr
    assert (
        f"{seq} (snapshot, at " in said and "--at peak: there was no search for leaks then" in said
    )
    assert (
        "only a recording has earlier searches"
        in ask("leaks", "--at", "1s", os.getpid(), status=2).stderr
    )
    assert "no moment 'nothing'" in ask("why", "--at", "nothing", path, "0x10", status=2).stderr


def test_the_file_is_whole_and_stays_so(recorded, tmp_path):
    path, seq, then = recorded
    info = json.loads(ask("info", "--json", path).stdout)
    assert [s["whole"] for s in info["sections"] if s["name"] == "searches"] == [True, True]
    ask("symbolize", path, "-o", tmp_path / "named.seep")
    assert sizes("--at", "1h", tmp_path / "named.seep") == then["asked"]
    cut = tmp_path / "cut.seep"
    cut.write_bytes(open(path, "rb").read()[:-200])
    assert sizes("--at", seq, cut)[0][100] == 10


def test_a_recording_without_a_search_at_its_end_tells_of_the_others(steps, recorder):
    folder = recorder.folder()
    with start_recorded(
        folder, steps, *SCRIPT, options=("-o", "run.seep", "--no-leak-scan")
    ) as program:
        program.said(b"ready\n")
        ask("leaks", "-q", child_of(program))
        for i in range(2, 5):
            program.say()
            program.said(b"ready\n", i)
        program.say()
        program.finish()
    done = ask("leaks", os.path.join(folder, "run.seep"), status=3)
    assert "it was searched for leaks as it ran: --at shows what was found at " in done.stderr
