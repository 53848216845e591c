# SPDX-License-Identifier: MIT
"""SIGUSR1 to a program that waits in a system call: a report, and the call does not notice."""
import itertools
import os
import re
import signal

import pytest

from harness import PROGRAMS, Profile, check_clean, wait_until
from plain import LIBRARY, Started, child_of, find_reports, sum_of, start_recorded

TABLE = re.findall(r'^\s+\{"(\w+)", do_\w+, (\w+)\},', (PROGRAMS / "idle.c").read_text(), re.M)
LIMITED = [name for name, wake in TABLE if wake == "NULL"]
ENDLESS = [name for name, wake in TABLE if wake != "NULL"]


def wait_ms(call):
    return 400 if call.endswith("_alarm") else 1000 if call == "sleep" else 700


@pytest.fixture
def idle(compiler):
    return compiler.build("idle.c", libs=["-lrt"])


def bare_words(idle, recorder, *argv):
    """What the program says when nobody disturbs it."""
    with Started(recorder.folder(), idle, *argv, library=None) as program:
        program.said(b"ready\n")
        if argv[0] in ENDLESS:
            program.asleep()
            program.say()
        return program.finish().stdout


def check_reports(folder, truth):
    found = find_reports(folder, "idle")
    assert [m.seq for m in found] == list(range(1, len(found) + 1)) and len(found) >= 2
    assert (
        sum_of(m.by_function() for m in found)["keep"] == truth.sites["keep"]["live_bytes"] == 12345
    )
    assert found[0].by_function()["keep"] == 12345


def check_time(call, truth):
    for key, took in truth.facts.items():
        if key.startswith("took_ms"):
            assert wait_ms(call) <= took


def signal_until_it_ends(program):
    """One signal after the other, each after the report of the one before.  A call that each of
    them begins anew does not end."""
    reports = itertools.count(1)

    def has_ended():
        seq = next(reports)
        program.signal(signal.SIGUSR1)
        wait_until(
            lambda: program.path(seq).exists() or program.process.poll() is not None,
            f"report {seq}",
        )
        return program.process.poll() is not None

    wait_until(has_ended, "the end of the call")


def check_limit(idle, recorder, call, library=LIBRARY):
    bare = bare_words(idle, recorder, call)
    folder = recorder.folder()
    with Started(folder, idle, call, library=library) as program:
        program.said(b"ready\n")
        signal_until_it_ends(program)
        done = program.finish()
    assert (done.status, done.stdout) == (0, bare)
    check_reports(folder, done.truth)
    check_time(call, done.truth)


@pytest.mark.parametrize("call", LIMITED)
def test_a_call_with_a_time_limit_ends_at_its_time(idle, recorder, call):
    check_limit(idle, recorder, call)


@pytest.mark.parametrize("call", ENDLESS)
def test_a_call_without_a_limit_goes_on(idle, recorder, call):
    bare = bare_words(idle, recorder, call)
    folder = recorder.folder()
    with Started(folder, idle, call) as program:
        program.said(b"ready\n")
        program.asleep()
        for seq in (1, 2, 3):
            program.signal(signal.SIGUSR1)
            program.report(seq)
            assert program.stdout() == b"ready\n"
        program.say()
        done = program.finish()
    assert (done.status, done.stdout) == (0, bare)
    check_reports(folder, done.truth)


@pytest.mark.parametrize(
    "call", ["poll", "epoll_wait", "nanosleep", "semtimedop", "sem_timedwait", "recv_timeout"]
)
def test_no_thread_of_several_is_disturbed(idle, recorder, call):
    bare = bare_words(idle, recorder, call, "4")
    folder = recorder.folder()
    with Started(folder, idle, call, "4") as program:
        program.said(b"ready\n")
        signal_until_it_ends(program)
        done = program.finish()
    assert (done.status, done.stdout) == (0, bare)
    check_reports(folder, done.truth)
    check_time(call, done.truth)


@pytest.mark.parametrize("call", ["epoll_wait_for_ever", "semop", "sigwaitinfo", "read"])
def test_under_record_the_call_goes_on_too(idle, recorder, call):
    bare = bare_words(idle, recorder, call)
    folder = recorder.folder()
    with start_recorded(folder, idle, call, options=["--signal=USR1"]) as program:
        program.said(b"ready\n")
        pid = child_of(program)
        for seq in (1, 2):
            os.kill(pid, signal.SIGUSR1)
            wait_until(
                (folder / f"idle-{pid}-{seq}.memlog").exists,
                f"report {seq}",
                process=program.process,
            )
        program.say()
        done = program.finish()
    assert (done.status, done.stdout) == (0, bare)
    profile = Profile(folder / "out.seep")
    check_clean(profile)
    assert [s["live_bytes"] >= 12345 for s in profile.json["snapshots"][:2]] == [True, True]


def check_hammer(done, sums):
    assert (done.status, done.stdout) == (17, b"ready\ndone\n")
    assert sums.get("keeper", 0) == done.truth.facts["kept_bytes"] > 0
    assert sums.get("strike", 0) == 0


def test_a_thousand_signals_while_all_threads_allocate(compiler, recorder):
    folder = recorder.folder()
    with Started(folder, compiler.build("hammer.c"), "4") as program:
        program.said(b"ready\n")
        for _ in range(1000):
            program.signal(signal.SIGUSR1)
        program.report(1)
        done = program.finish(deadline=120)
    found = find_reports(folder, "hammer")
    assert [m.seq for m in found] == list(range(1, len(found) + 1)) and len(found) >= 2
    check_hammer(done, sum_of(m.by_function() for m in found))
    assert not [line for line in done.stderr.splitlines() if not line.startswith(b"seep: ")]


def test_a_thousand_signals_lose_no_event(compiler, recorder):
    folder = recorder.folder()
    with start_recorded(
        folder, compiler.build("hammer.c"), "4", options=["--signal=USR1"]
    ) as program:
        program.said(b"ready\n")
        pid = child_of(program)
        for _ in range(1000):
            os.kill(pid, signal.SIGUSR1)
        done = program.finish(deadline=120)
    profile = Profile(folder / "out.seep")
    check_clean(profile)
    functions = profile.by_function()
    assert (
        functions["strike"]["allocations"]
        == functions["strike"]["frees"]
        == done.truth.facts["made"]
    )
    assert functions["keeper"]["live_blocks"] == done.truth.facts["kept"]
    check_hammer(done, {name: counts["live_bytes"] for name, counts in functions.items()})
    assert len(profile.json["snapshots"]) >= 1
