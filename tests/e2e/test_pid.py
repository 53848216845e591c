# SPDX-License-Identifier: MIT
"""A process that is being recorded, in the place of a file."""
import json
import os
import subprocess

import pytest

from harness import SEEP, clean_environment, plain_name, wait_until
from pages import data_of
from plain import child_of, live, seep, start_recorded

SCRIPT = (
    "+red:10:100", "+green:3:1000", "-red:4", "moment:a", "ready", "wait", "+blue:2:70",
    "moment:b", "ready", "wait",
)


@pytest.fixture
def running(steps, recorder):
    """A recorded program that has said what it did and waits; its number."""
    folder = recorder.folder()
    with start_recorded(folder, steps, *SCRIPT, options=("--events",)) as program:
        program.said(b"ready\n")
        yield program, child_of(program), folder


def good(*argv):
    done = seep(*argv)
    assert done.returncode == 0, (argv, done)
    return done.stdout.decode()


def by_function(found):
    """Live bytes of a report in JSON."""
    sums = {}
    for site in found["sites"]:
        name = plain_name(found["frames"][site["stack"][0]]["function"])
        sums[name] = sums.get(name, 0) + site["live_bytes"]
    return {
        name: amount for name, amount in sums.items() if name in ("red", "green", "blue") and amount
    }


def test_reports_of_a_process_tell_what_the_program_tells(running):
    program, pid, _ = running
    first = json.loads(good("report", "--json", pid))
    assert by_function(first) == {"red": 600, "green": 3000}
    assert first["pid"] == pid and first["leaks"]["scanned"] and not first["complete"]
    assert by_function(json.loads(good("export", "--to", "json", pid))) == {
        "red": 600,
        "green": 3000,
    }
    assert json.loads(
        good(
            "sql",
            "--json",
            pid,
            "SELECT size, count(*) AS n FROM block WHERE size IN (100, 1000) "
            "GROUP BY size ORDER BY size",
        )
    ) == [{"size": 100, "n": 6}, {"size": 1000, "n": 3}]
    assert good("report", "--flat", pid).count("green") == 1
    assert good("report", "--blocks", "--csv", "-q", pid).count(",1000,") == 3
    program.say()
    program.said(b"ready\n", 2)
    assert by_function(json.loads(good("report", "--json", program.pid))) == {
        "red": 600,
        "green": 3000,
        "blue": 140,
    }
    program.say()
    truth = program.finish().truth
    assert live(truth.moments["a"]) == {"red": 600, "green": 3000}


def test_two_moments_of_a_process_and_a_file_are_compared(running):
    program, pid, folder = running
    good("snapshot", pid)
    assert f'{pid}' in json.dumps(data_of(good("html", "-o", "-", pid).encode()))
    program.say()
    program.said(b"ready\n", 2)
    assert by_function(json.loads(good("diff", "--json", f"{pid}@1", pid))) == {"blue": 140}
    program.say()
    program.finish()


def test_events_of_a_process_have_names(running):
    program, pid, _ = running
    rows = wait_until(
        lambda: [
            line
            for line in seep("events", "--csv", "-q", pid).stdout.decode().splitlines()
            if line.count("red") and "alloc" in line or None
        ],
        "events of the log",
        process=program.process,
    )
    assert len([line for line in rows if "red" in line]) >= 1
    assert "green" in good("events", "-q", pid)


def test_info_and_check_take_a_process(running, tmp_path):
    _, pid, _ = running
    text = good("info", pid)
    assert text.startswith(f"process {pid}: ") and "being recorded" in text.splitlines()[0]
    assert json.loads(good("info", "--json", pid))["pid"] == pid
    assert seep("check", pid).returncode == 0
    broken = seep("check", "--max-live", "3K", pid)
    assert broken.returncode == 1 and b"live" in broken.stdout


def test_events_where_none_are_recorded_and_processes_that_are_not(steps, recorder):
    folder = recorder.folder()
    with start_recorded(folder, steps, "ready", "wait") as program:
        program.said(b"ready\n")
        done = seep("events", child_of(program))
        assert (
            done.returncode == 2
            and b"without an event log" in done.stderr
            and b"--events" in done.stderr
        )
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    for command in (
        ["export", "--to", "csv"],
        ["sql", "--schema"],
        ["diff", "1"],
        ["info"],
        ["events"],
        ["check"],
    ):
        done = seep(*command, stranger.pid)
        assert (
            done.returncode == 3 and b"is not being recorded" in done.stderr and not done.stdout
        ), (command, done)
    stranger.communicate()


def test_a_file_with_such_a_name_is_a_file(recorder, steps):
    done = recorder.record(steps, "+red:1:5")
    folder = done.folder
    (folder / "1").write_bytes((folder / "out.seep").read_bytes())
    for name in ("1", "./1"):
        done = subprocess.run(
            [SEEP, "info", "--json", name], cwd=folder, capture_output=True, env=clean_environment()
        )
        assert done.returncode == 0 and json.loads(done.stdout)["file"] == name, done
    assert seep("info", f"./{os.getpid()}").returncode == 4
