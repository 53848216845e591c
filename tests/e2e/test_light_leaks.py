# SPDX-License-Identifier: MIT
"""Light targets: the host searches their memory, and finds what the programs know; snapshots, control and views as of any
target."""
import json
import os
import re
import signal

import pytest

from harness import Truth
from leaks import BUILDS, build_for, check_verdicts, seep_verdicts
from plain import seep
from remote import Light
from test_leak_api import COUNTS
from test_leak_roots import ROOTS, THREADS, libraries, roots_program  # noqa: F401
from test_leaks import CLASSES, OBJECTS


@pytest.mark.parametrize("source,cases", [("leak_classes.c", CLASSES), ("leak_cxx.cpp", OBJECTS), ("leak_threads.c", THREADS)])
def test_the_last_search_is_the_hosts(compiler, recorder, source, cases):
    """The program waits at its end until its memory has been read over the wire."""
    folder, program = recorder.folder(), build_for("seep", compiler, source, BUILDS[0])
    with Light(folder, program, *cases, listen="localhost:0", options=["--wait"]) as target:
        target.fetch(folder)
        done = target.finish()
    (file,) = folder.glob("out.*.seep")
    assert done.status == 0 and done.truth.leaks
    check_verdicts("seep", seep_verdicts(file, done.truth.leaks), done.truth.leaks)


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
            sums = {kind: [sum(column) for column in zip((0, 0), *(kinds[kind] for kinds in truth.values() if kind in kinds))]
                    for kind in ("definite", "indirect", "possible")}
            assert {kind: [told["leaks"][kind]["bytes"], told["leaks"][kind]["blocks"]] for kind in sums} == sums
            assert told["leaks"]["scan"]["copy"] is True
        done = target.finish()
    assert (done.status, done.stdout) == (0, b"ready\n")


@pytest.fixture
def waiting(compiler, recorder):
    folder, program = recorder.folder(), compiler.build("journalled.c")
    with Light(folder, program, "pause", 2000, options=["--hold=0"]) as target:
        target.said(b"worked")
        yield target, folder
        pid = json.loads(seep("connect", target.where, "ps", "--json").stdout)["processes"][0]["pid"]
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
    for words in (["report"], ["why", "made_by_parent"], ["top", "--batch", "1"], ["info"], ["export", "--to", "csv"]):
        done = seep("connect", target.where, *words)
        assert done.returncode == 0 and done.stdout, (words, done)


def test_nobody_waits_for_a_search_without_a_host(compiler, recorder):
    folder, program = recorder.folder(), build_for("seep", compiler, "leak_classes.c", BUILDS[0])
    with Light(folder, program, "block", options=["--hold=0"]) as target:
        assert target.finish().status == 0
