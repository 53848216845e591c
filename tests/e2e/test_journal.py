# SPDX-License-Identifier: MIT
"""The journal: the library alone beside the program, and a reader elsewhere that comes to the same report as a local recording."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, PLAIN, SEEP, Profile, check_sites, check_total, clean_environment, run
from plain import run_plain

KEYS = ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes", "peak_blocks", "temporary",
        "unknown_frees", "double_frees", "mismatched", "mmap_calls", "mmap_bytes", "mmap_live_bytes", "truncated_stacks",
        "lost_events")


def journalled(folder, *argv, to="out.journal", options="", **how):
    """Run with nothing but the library, which writes to a file."""
    return run_plain(folder, *argv, env={"SEEP_OPTIONS": f"--journal={folder / to} {options}"}, **how)


def sites_of(profile):
    """Everything that is told of each stack; the environment variables that differ between the two runs are the program's."""
    found = {}
    for site in profile.json["sites"]:
        frames = [profile.frame(i) for i in site["stack"]]
        key = (site["kind"], tuple((f["function"], f["module"], f["line"]) for f in frames))
        counts = [site[k] for k in ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes", "temporary")]
        found[key] = [a + b for a, b in zip(found.get(key, [0] * len(counts)), counts)]
    return found


def faults_of(profile):
    return sorted((f["type"], f["count"], profile.names(f["stack"]), profile.names(f["alloc_stack"] or [])) for f in profile.errors)


def check_same(local, remote, *, peak=True):
    keys = [k for k in KEYS if k in local.totals and (peak or not k.startswith("peak"))]
    assert {k: remote.totals[k] for k in keys} == {k: local.totals[k] for k in keys}
    ours, theirs = sites_of(remote), sites_of(local)
    assert {k: v for k, v in ours.items() if theirs.get(k) != v} == {} and set(ours) == set(theirs)
    assert faults_of(remote) == faults_of(local)
    assert remote.json["exit"] == local.json["exit"]


PROGRAMS = {
    "known.c": (),
    "realloc_forms.c": (),
    "temporaries.c": (),
    "pools.c": (),
    "resources.c": (),
    "operators.cpp": (),
    "lifecycle.cpp": (),
    "mappings.c": (),
}


@pytest.mark.parametrize("source", PROGRAMS)
def test_a_journal_comes_to_the_report_of_a_local_recording(compiler, recorder, source):
    program = compiler.build(source)
    local = recorder.record(program, *PROGRAMS[source], options=["--no-leak-scan"])
    folder = recorder.folder()
    done = journalled(folder, program, *PROGRAMS[source])
    assert done.status == local.status and done.stdout == local.stdout and done.stderr == b""
    remote = Profile(folder / "out.journal")
    check_same(local.profile, remote)
    assert remote.json["warnings"] == local.profile.json["warnings"]
    assert remote.json["complete"] is True and [p.name for p in folder.glob("out.journal*")] == ["out.journal"]


@pytest.fixture
def program(compiler):
    return compiler.build("journalled.c")


def journals(folder):
    return {p.name: Profile(p) for p in sorted(folder.glob("out.journal*"))}


@pytest.mark.parametrize("way,status", [("exit", 9), ("_exit", 9), ("segv", 128 + signal.SIGSEGV)])
def test_every_way_to_end_is_told_with_all_events(program, recorder, way, status):
    folder = recorder.folder()
    done = journalled(folder, program, way, 20000)
    only = Profile(folder / "out.journal")
    assert done.status == status and only.json["complete"] is True and only.json["warnings"] == []
    assert only.json["exit"] == ({"code": 9, "signal": None} if status == 9 else {"code": None, "signal": signal.SIGSEGV})
    check_sites(done.truth, only)


FLUSHED = 4096


def test_of_a_killed_program_only_the_last_buffer_is_missing(program, recorder):
    folder, pairs = recorder.folder(), 30000
    done = journalled(folder, program, "kill", 2 * pairs)
    only = Profile(folder / "out.journal")
    counts = only.by_function()["churn"]
    assert done.status == 128 + signal.SIGKILL
    assert 2 * pairs - FLUSHED <= counts["allocations"] + counts["frees"] <= 2 * pairs
    assert only.by_function()["made_by_parent"]["live_blocks"] == 50
    assert only.json["complete"] is False and "does not tell the end" in only.json["warnings"][0]


def test_a_forked_child_has_a_journal_that_begins_with_what_it_inherits(program, recorder):
    folder = recorder.folder()
    done = journalled(folder, program, "fork", options="--follow=all")
    found = journals(folder)
    assert done.status == 7 and len(found) == 2
    parent = found.pop("out.journal")
    (child,) = found.values()
    assert parent.by_function()["made_by_parent"]["live_blocks"] == 50
    assert child.json["exit"] == {"code": 7, "signal": None}
    check_sites(done.truth, child)  # nothing of it was freed before the fork


@pytest.mark.parametrize("way", ["exec", "spawn"])
def test_another_program_has_a_journal_of_its_own(program, recorder, way):
    folder = recorder.folder()
    done = journalled(folder, program, way)
    found = journals(folder)
    assert done.stdout.replace(b"worked\n", b"") == b"another\n"
    first = found.pop("out.journal")
    (second,) = found.values()
    assert first.by_function()["made_by_parent"]["live_blocks"] == 50
    assert second.json["program"].endswith("echo") and second.json["exit"]["code"] == 0
    assert first.json["complete"] is True


def test_a_file_that_exists_is_left_as_it_is(program, recorder):
    folder = recorder.folder()
    (folder / "out.journal").write_text("mine")
    journalled(folder, program, "exit")
    (made,) = [p for p in folder.glob("out.journal.*")]
    assert (folder / "out.journal").read_text() == "mine" and Profile(made).by_function()["made_by_parent"]["live_blocks"] == 50
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("options", ["--journal=/nowhere/at/all", "--journal=out --sample", "--journal=tcp:nobody:1",
                                     "--journal=out --follow=none"])
def test_options_that_cannot_hold_are_told_and_nothing_is_recorded(program, recorder, options):
    folder = recorder.folder()
    done = run_plain(folder, program, "exit", env={"SEEP_OPTIONS": options})
    assert done.status == 9 and done.stdout == b"worked\n"
    assert done.stderr.startswith(b"seep: ") and b"nothing is recorded\n" in done.stderr
    assert not list(folder.glob("out*"))


def test_leaks_say_why_they_are_not_known(program, recorder):
    folder = recorder.folder()
    journalled(folder, program, "exit")
    done = subprocess.run([SEEP, "leaks", folder / "out.journal"], capture_output=True, text=True, env=clean_environment(),
                          timeout=DEADLINE)
    assert "was made from a journal" in done.stdout + done.stderr


def test_a_journal_of_another_version_is_refused_with_both_numbers(program, recorder):
    folder = recorder.folder()
    journalled(folder, program, "exit")
    later = bytearray((folder / "out.journal").read_bytes())
    later[8] = 7
    (folder / "later").write_bytes(later)
    done = subprocess.run([SEEP, "report", folder / "later"], capture_output=True, text=True, env=clean_environment(),
                          timeout=DEADLINE)
    assert done.returncode == 4 and "version 7" in done.stderr and "version 1" in done.stderr
