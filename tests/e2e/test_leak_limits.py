# SPDX-License-Identifier: MIT
"""Calls with a time limit end by it, also when the process is searched again and again
meanwhile; and a search waits for nobody who stands still for it."""
import time

import pytest

from leaks import build_for
from plain import child_of, seep, start_recorded

DEADLINE_S = 60


def test_time_limits_are_kept_during_searches(recorder, compiler):
    program = build_for("seep", compiler, "leak_limits.c", ("gcc", "-O2"))
    with start_recorded(recorder.folder(), program) as it:
        pid, end, searches = child_of(it), time.monotonic() + DEADLINE_S, 0
        while it.process.poll() is None and time.monotonic() < end:
            searches += seep("leaks", pid).returncode == 0
        assert time.monotonic() < end
        done = it.finish()
    assert searches > 4
    assert done.stdout.decode().splitlines() == [
        f"{name} ended by its limit" for name in ("epoll", "signal", "semaphore", "socket")
    ]


def test_nobody_waits_for_pages_that_userfaultfd_watches(recorder, compiler):
    seen = recorder.record(compiler.build("watched.c"))
    facts, leaks = seen.truth.facts, seen.profile.json["leaks"]
    if not facts["may"]:
        pytest.skip("userfaultfd() is not allowed here")
    assert seen.status == 0 and leaks["scanned"]
    assert leaks["definite"]["bytes"] == facts["lost"]
    assert leaks["reachable"]["bytes"] == facts["reachable"]
