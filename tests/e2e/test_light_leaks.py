# SPDX-License-Identifier: MIT
"""Light targets: the host searches their memory, and finds what the programs know; snapshots,
control and views as of any target."""
import contextlib
import json
import os
import re
import signal
import time

import pytest

from harness import Truth, wait_until
from leaks import BUILDS, build_for, check_verdicts, seep_verdicts
from plain import seep
from remote import Between, Light, fetch, fetched
from test_leak_api import COUNTS
from test_leak_roots import ROOTS, THREADS, libraries, roots_program  # noqa: F401
from test_leaks import CLASSES, OBJECTS


@pytest.mark.parametrize(
    "source,cases",
    [("leak_classes.c", CLASSES), ("leak_cxx.cpp", OBJECTS), ("leak_threads.c", THREADS)],
)
def test_the_last_search_is_the_hosts(compiler, recorder, source, cases):
    """The program waits at its end until its memory has been read over the wire."""
    folder, program = recorder.folder(), build_for("seep", compiler, source, BUILDS[0])
    with Light(folder, program, *cases, listen="localhost:0", options=["--wait"]) as target:
        target.fetch(folder)
        done = target.finish()
    (file,) = folder.glob("out.*.seep")
    assert done.status == 0 and done.truth.leaks
    check_verdicts("seep", seep_verdicts(file, done.truth.leaks), done.truth.leaks)


def test_the_last_search_has_the_time_of_the_end(compiler, recorder):
    """Also when the program was idle before, and made no event that tells the time."""
    folder, program = recorder.folder(), compiler.build("steps.c")
    with Light(folder, program, "+red:5:100", "ready", "wait", options=["--wait"]) as target:
        host = fetch(target, folder / "out.seep")
        target.said(b"ready\n")
        idle = time.monotonic()
        wait_until(
            lambda: time.monotonic() > idle + 1.5, "it is idle for a while", process=target.process
        )
        target.say()
        fetched(host)
        target.finish()
    assert (
        json.loads(seep("leaks", "--json", folder / "out.seep").stdout)["leaks"]["scan"]["ms"]
        >= 1500
    )


def test_the_last_search_knows_every_kind_of_root(compiler, recorder, libraries, monkeypatch):
    folder, program = recorder.folder(), roots_program("seep", compiler, libraries, BUILDS[0])
    monkeypatch.setenv("LEAK_FOLDER", str(libraries))
    with Light(folder, program, *ROOTS, options=["--wait"]) as target:
        target.fetch(folder)
        done = target.finish()
    (file,) = folder.glob("out.*.seep")
    assert done.status == 0
    check_verdicts("seep", seep_verdicts(file, done.truth.leaks), done.truth.leaks)


@pytest.mark.parametrize("case", ["ignores", "roots", "checks"])
def test_what_the_program_said_about_leaks_holds(compiler, recorder, case):
    """SEEP_IGNORE, SEEP_ROOT and SEEP_LEAK_CHECK, as of a local recording."""
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_api.c", BUILDS[0])
    with Light(folder, program, case, options=["--wait"]) as target:
        target.fetch(folder)
        done = target.finish()
    (file,) = folder.glob("out.*.seep")
    check_verdicts("seep", seep_verdicts(file, done.truth.leaks), done.truth.leaks)
    assert case != "checks" or {key: done.truth.facts[key] for key in COUNTS} == COUNTS


@pytest.mark.parametrize("source,cases", [("leak_classes.c", CLASSES), ("leak_threads.c", THREADS)])
def test_a_running_program_is_searched_in_a_copy_and_goes_on(compiler, recorder, source, cases):
    folder, program = recorder.folder(), build_for("seep", compiler, source, BUILDS[0])
    with Light(folder, program, *cases, "wait", options=["--hold=0"]) as target:
        target.said(b"ready\n")
        truth = Truth(target.told.read_text()).leaks
        for _ in range(2):
            told = json.loads(seep("connect", target.where, "leaks", "--json").stdout)
            sums = {
                kind: [
                    sum(column)
                    for column in zip(
                        (0, 0), *(kinds[kind] for kinds in truth.values() if kind in kinds)
                    )
                ]
                for kind in ("definite", "indirect", "possible")
            }
            assert {
                kind: [told["leaks"][kind]["bytes"], told["leaks"][kind]["blocks"]] for kind in sums
            } == sums
            assert told["leaks"]["scan"]["copy"] is True
        done = target.finish()
    assert (done.status, done.stdout) == (0, b"ready\n")


@pytest.fixture
def waiting(compiler, recorder):
    folder, program = recorder.folder(), compiler.build("journalled.c")
    with Light(folder, program, "pause", 2000, options=["--hold=0"]) as target:
        target.said(b"worked")
        yield target, folder
        pid = json.loads(seep("connect", target.where, "ps", "--json").stdout)["processes"][0][
            "pid"
        ]
        os.kill(pid, signal.SIGTERM)
        assert target.finish().status == 128 + signal.SIGTERM


def test_snapshots_get_their_reports_on_the_host(waiting, monkeypatch):
    target, folder = waiting
    monkeypatch.chdir(folder)
    done = seep("connect", target.where, "snapshot", "first")
    assert done.returncode == 0, done
    (name,) = re.findall(r"report in (\S+)", done.stdout.decode())
    assert "made_by_parent" in (folder / name).read_text()


def test_recording_is_switched_and_reset_from_the_host(waiting):
    target, _ = waiting

    def state(*words):
        done = seep("connect", target.where, *words)
        assert done.returncode == 0, done
        return done.stdout.decode()

    assert ": off" in state("control", "stop") and '"state": "off"' in state("ps", "--json")
    assert ": on" in state("control", "start") and '"state": "on"' in state("ps", "--json")
    assert "0 B in 0 blocks, 0 events" in state("control", "reset")


def test_views_of_a_running_program(waiting):
    target, _ = waiting
    for words in (
        ["report"],
        ["why", "made_by_parent"],
        ["top", "--batch", "1"],
        ["info"],
        ["export", "--to", "csv"],
    ):
        done = seep("connect", target.where, *words)
        assert done.returncode == 0 and done.stdout, (words, done)


def leaks_of(where):
    done = seep("connect", where, "leaks", "--json")
    assert done.returncode == 1, done
    return json.loads(done.stdout)["leaks"]


@pytest.fixture
def afar(compiler, recorder):
    """Starts a program with so many nodes in a list, held texts, and lost blocks."""
    program = compiler.build("afar.c")

    @contextlib.contextmanager
    def start(*counts):
        with Light(
            recorder.folder(),
            program,
            *counts,
            listen="localhost:0",
            options=["--hold=0", "--no-leak-scan"],
        ) as target:
            target.said(b"ready\n")
            yield target
            target.say()
            assert target.finish().status == 0
    return start


@pytest.mark.parametrize("nodes,texts,share", [(0, 4000, 0.05), (50000, 0, 0.2)])
def test_only_words_that_lead_somewhere_come_over_the_wire(afar, nodes, texts, share):
    with afar(nodes, texts, 7) as target, Between(target.where) as between:
        told = seep("connect", between.where, "report", "--summary")
        without = between.bytes
        leaks = leaks_of(between.where)
        searched = between.bytes - 2 * without  # the state was told twice
    assert told.returncode == 0 and leaks["definite"] == {"blocks": 7, "bytes": 700}
    assert searched < share * (nodes * 64 + texts * 4000)


def test_a_target_that_does_not_know_pointers_is_read_as_a_whole(afar):
    expect = 36
    with afar(2000, 500, 7) as target, Between(target.where, unknown=expect) as between:
        leaks = leaks_of(between.where)
        assert between.changed == 1 and between.bytes > 2000 * 64 + 500 * 4000
    assert leaks["definite"] == {"blocks": 7, "bytes": 700}


def test_more_blocks_than_fit_into_many_packets_are_told_to_a_late_host(afar):
    with afar(700000, 0, 7) as target:
        leaks = leaks_of(target.where)
    assert (
        leaks["definite"] == {"blocks": 7, "bytes": 700}
        and leaks["indirect"]["blocks"] == leaks["possible"]["blocks"] == 0
    )
    assert leaks["reachable"]["blocks"] >= 700000


def test_nobody_waits_for_a_search_without_a_host(compiler, recorder):
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_classes.c", BUILDS[0])
    with Light(folder, program, "block", options=["--hold=0"]) as target:
        assert target.finish().status == 0
