# SPDX-License-Identifier: MIT
"""Commands for recorded processes attach to others: when told to, or when the user at the
terminal agrees."""
import json
import os
import pty
import subprocess

import pytest

from harness import DEADLINE, SEEP, ask, clean_environment
from test_older import COUNT, check, found, started


def is_recorded(pid, folder):
    return pid in [
        p["pid"] for p in json.loads(ask("ps", "--json", cwd=folder).stdout)["processes"]
    ]


def recordings(folder):
    return [name for name in os.listdir(folder) if name.endswith(".seep")]


def ask_at_terminal(answer, folder, *words):
    """What is said, and the exit status."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SEEP, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=clean_environment({"TERM": "dumb"}),
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    while b"[y/N] " not in said:
        said += os.read(ours, 4096)
    os.write(ours, answer)
    try:
        while chunk := os.read(ours, 4096):
            said += chunk
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return said.decode(), process.wait(DEADLINE)


def test_a_snapshot_attaches_when_told_to_and_the_recording_goes_on(compiler, tmp_path):
    with started(compiler, 40) as program:
        done = ask("snapshot", "--attach", program.pid, "first", cwd=tmp_path)
        assert (
            "snapshot 1 'first'" in done.stdout
            and f"'seep detach {program.pid}' ends that" in done.stderr
        )
        assert is_recorded(program.pid, tmp_path)
        # it is recorded already
        assert ask("snapshot", "--attach", program.pid, cwd=tmp_path).stderr == ""
        ask("detach", program.pid, cwd=tmp_path)
        assert program.go_on(40) and program.end() == 0
    assert len(recordings(tmp_path)) == 1


def test_leaks_attaches_when_told_to(compiler, tmp_path):
    with started(compiler) as program:
        ask("leaks", "--attach", "-q", program.pid, cwd=tmp_path)
        truth = program.go_on(COUNT)
        blocks, _ = found(program.pid)
        check(blocks, truth)
        ask("detach", program.pid, cwd=tmp_path)
        assert program.end() == 0


def test_a_view_attaches_for_as_long_as_it_is_shown(compiler, tmp_path):
    with started(compiler, 40) as program:
        assert "heap" in ask("top", "--batch", "1", "--attach", program.pid, cwd=tmp_path).stdout
        assert not is_recorded(program.pid, tmp_path)
        assert program.go_on(40) and program.end() == 0
    (file,) = recordings(tmp_path)
    assert (
        json.loads(ask("info", "--json", tmp_path / file, cwd=tmp_path).stdout)["pid"]
        == program.pid
    )


@pytest.mark.parametrize("answer", [b"y\n", b"\n"])
def test_at_a_terminal_the_user_is_asked(compiler, tmp_path, answer):
    with started(compiler, 40) as program:
        said, status = ask_at_terminal(answer, tmp_path, "snapshot", program.pid)
        assert f"process {program.pid} is not being recorded. Attach to it? [y/N] " in said
        if answer == b"y\n":
            assert status == 0 and "snapshot 1 of PID" in said
            ask("detach", program.pid, cwd=tmp_path)
        else:
            assert status == 3 and "'seep attach" in said and not is_recorded(program.pid, tmp_path)
        assert program.go_on(40) and program.end() == 0
    assert len(recordings(tmp_path)) == (answer == b"y\n")


def test_a_script_is_not_asked(compiler, tmp_path):
    with started(compiler, 40) as program:
        done = ask("snapshot", program.pid, cwd=tmp_path, status=3)
        assert "Attach to it?" not in done.stderr and f"'seep attach {program.pid}'" in done.stderr
        ask("top", "--batch", "1", program.pid, cwd=tmp_path, status=3)


def test_what_cannot_be_attached_to_is_told(tmp_path):
    process = subprocess.Popen(["true"])
    # it has ended, and nobody has asked how
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    done = ask("snapshot", "--attach", process.pid, cwd=tmp_path, status=3)
    assert (
        done.stderr.startswith(f"seep: process {process.pid} cannot be attached to: ")
        and done.stderr.count("\n") == 1
    )
    assert recordings(tmp_path) == [] and process.wait() == 0
