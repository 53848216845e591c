# SPDX-License-Identifier: MIT
"""The observer: who may ask it, what it bears, how long it lives, and when it stops."""
import json
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment, run, wait_until
from plain import Started, find_reports, run_plain

ASK = 0x6B7341  # WIRE_REQUEST_MAGIC


@pytest.fixture
def steps(compiler):
    return compiler.build("steps.c")


def seep(*argv, user=None):
    drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    return subprocess.run(
        [*drop, SEEP, *map(str, argv)],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )


def door(pid):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(f"\0seep-{pid}")
    connection.settimeout(60)
    return connection


def observer_of(pid):
    """The process that watches PID: it holds the door."""
    with door(pid) as connection:
        return struct.unpack(
            "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        )[0]


def is_gone(pid):
    return not Path(f"/proc/{pid}").exists()


@pytest.fixture
def waiting(steps, recorder):
    """A program with the library alone that waits for a line of input."""
    with Started(recorder.folder(), steps, "+red:10:100", "ready", "wait", "+blue:1:7") as program:
        program.said(b"ready\n")
        yield program
        program.process.kill()


def check_alive(program):
    """It still answers, and its program ends as it should, with its last report."""
    done = seep("snapshot", "--json", program.pid, "later")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["label"] == "later" and Path(told["report"]).exists()
    before = len(find_reports(program.folder))
    program.say()
    assert program.finish().status == 0
    last = program.report(before + 1)
    assert last.by_function()["blue"] == 7


def test_words_that_are_none_change_nothing(waiting):
    for words in (
        b"", b"x", bytes(16), bytes(24), bytes(144), os.urandom(144), os.urandom(100_000),
        struct.pack("<Q", ASK),
    ):
        with door(waiting.pid) as connection:
            connection.send(words)
            assert connection.recv(4096) == b"", words
    check_alive(waiting)


def test_requests_of_unknown_types_and_about_others_are_refused(waiting):
    for kind, pid in (
        (0, waiting.pid),
        (77, waiting.pid),
        (1, os.getpid()),
        (1, 0),
        (1, 2**32 - 1),
    ):
        with door(waiting.pid) as connection:
            connection.send(struct.pack("<QIIII128s", ASK, kind, pid, 0, 0, b"\xff" * 128))
            magic, status, seq = struct.unpack_from("<QII", connection.recv(4096))
            assert (magic, status, seq) == (ASK, 3, 0)
    assert find_reports(waiting.folder) == []
    check_alive(waiting)


def test_visitors_who_say_nothing_hold_up_nobody(waiting):
    silent = [door(waiting.pid) for _ in range(100)]
    check_alive(waiting)
    for connection in silent:
        connection.close()


def test_who_asks_and_leaves_does_no_harm(waiting):
    for _ in range(20):
        with door(waiting.pid) as connection:
            connection.send(struct.pack("<QIIII128s", ASK, 1, waiting.pid, 0, 0, b"left"))
    check_alive(waiting)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(waiting):
    tool = seep("--version", user=65534)
    if tool.returncode != 0:
        pytest.skip("another user cannot run the tool in this place")
    done = seep("snapshot", waiting.pid, user=65534)
    assert done.returncode == 3 and b"another user" in done.stderr
    assert find_reports(waiting.folder) == []
    check_alive(waiting)


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGPIPE],
)
def test_signals_do_not_end_the_observer_before_the_program(waiting, number):
    os.kill(observer_of(waiting.pid), number)
    check_alive(waiting)


def test_without_its_observer_the_program_goes_on(steps, recorder):
    with Started(
        recorder.folder(), steps, "+red:10:100", "ready", "wait", "snapshot:lost", "tag:lost",
        "+blue:1:7", "usr1",
    ) as program:
        program.said(b"ready\n")
        observer = observer_of(program.pid)
        os.kill(observer, signal.SIGKILL)
        wait_until(lambda: is_gone(observer), "the observer is gone")
        program.say()
        assert program.finish().status == 0


def test_the_observer_ends_with_the_program(waiting):
    observer = observer_of(waiting.pid)
    waiting.process.kill()
    waiting.process.wait()
    wait_until(lambda: is_gone(observer), "the observer is gone")
    assert [m.by_function()["red"] for m in find_reports(waiting.folder)] == [1000]


def test_after_the_duration_the_program_goes_on_alone(steps, recorder):
    folder = recorder.folder()
    command = [
        SEEP, "record", "-o", "out.seep", "--duration", "100ms", "--", steps, "+red:10:100",
        "wait", "+blue:1:7", "exit:5",
    ]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()
    ) as process:
        wait_until((folder / "out.seep").exists, "the recording", process=process)
        process.stdin.write(b"\n")
        said = process.communicate(timeout=DEADLINE)[1]
    assert process.returncode == 5 and b"peak heap" in said
    profile = Profile(folder / "out.seep")
    assert profile.totals["live_bytes"] == 1000 and any(
        "still running" in w for w in profile.json["warnings"]
    )


def recorded_for_a_while(folder, program, gate):
    """(live blocks by the totals, by the call stacks, in the list of them)"""
    (folder / "made").write_bytes(bytes(4096))
    command = [
        SEEP, "record", "-q", "-f", "-o", "out.seep", "--no-leak-scan", "--duration", "300ms",
        "--", program,
        folder / "made",
    ]
    env = clean_environment(
        {"LD_PRELOAD": str(gate), "GATE_FILE": str(folder / "made"), "GATE_MS": "300"}
    )
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, env=env) as process:
        wait_until((folder / "out.seep").exists, "the recording", process=process)
        process.stdin.close()
        assert process.wait(DEADLINE) == 0
    query = "SELECT (SELECT sum(live_blocks) FROM site WHERE heap), (SELECT count(*) FROM block)"
    told, totals = (
        run([SEEP, "sql", "--csv", "--no-header", "out.seep", query], cwd=folder),
        Profile(folder / "out.seep").totals,
    )
    (folder / "out.seep").unlink()
    return totals["live_blocks"], *map(int, told.stdout.decode().strip().split(","))


def test_what_is_known_at_the_end_of_the_duration_is_of_one_moment(compiler, recorder):
    """A program that only allocates: seep waits for it to go on between the totals and the blocks
    (gate.c), so that they never agree unless
    it stands still.  A machine that is very busy may not have it started by then, or let it go
    before all is read: once of six times will do."""
    folder, program, gate = (
        recorder.folder(),
        compiler.build("swells.c"),
        compiler.library("gate.c", name="gate.so"),
    )
    found = []
    for _ in range(6):
        found.append(recorded_for_a_while(folder, program, gate))
        totals, stacks, listed = found[-1]
        if totals == stacks == listed > 50:
            return
    raise AssertionError(found)


def test_with_an_output_a_recording_is_written_too_and_names_do_not_meet(steps, recorder):
    folder = recorder.folder()
    for size in (11, 22):
        assert (
            run_plain(folder, steps, f"+red:1:{size}", env={"SEEP_OPTIONS": "-o kept.seep"}).status
            == 0
        )
        wait_until(
            lambda: (folder / ("kept.seep" if size == 11 else "kept.2.seep")).stat().st_size,
            "the recording",
        )
    live = [Profile(folder / name).totals["live_bytes"] for name in ("kept.seep", "kept.2.seep")]
    assert live == [11, 22] and len(find_reports(folder, "steps")) == 2


def test_a_report_in_the_way_is_not_replaced(steps, recorder):
    folder = recorder.folder()
    with Started(folder, steps, "+red:1:10", "ready", "wait") as program:
        program.said(b"ready\n")
        program.path(1).write_text("mine")
        assert seep("snapshot", program.pid).returncode == 0
        assert program.path(1).read_text() == "mine" and program.path(2).exists()
        program.say()
        program.finish()
